"""The soak test: hours of mixed load on `ingot serve`, and the properties that must not drift meanwhile.

  soak.py --ingot build/bin/ingot --checkpoints build/checkpoints --work build/soak --report build/soak/soak.json [--minutes 120]

Clients send requests without a pause, each in a closed loop: chat, completions, embeddings (some of 40 inputs, which
take turns), streamed or not, several choices, beam and contrastive searches, schemas, forced tools. 5 % disconnect
in the middle, 1 % send invalid requests. Now and then the load stops, and these are measured at rest:

  memory      the resident set, with a line fitted through its values after the warm-up (a fifth of the time, at
              least ten minutes)
  descriptors, threads, KV pages in use, requests in progress: their values at the start, or zero
  speed       the same burst (`bench-serve`, whose client costs little) on this server and on a freshly started one,
              alternating: the machine's own speed drifts by more than the effect, and affects both
  answers     a fixed set of greedy requests, also part of the load: each answer equals the first one, byte for byte

The report has every sample. A slope comes with its 95 % interval (as if rests were
independent): the check fails if the whole interval is beyond the limit, and reports `open` if the interval contains the
limit, as after short runs and on busy machines.
"""
import argparse
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import threading
import time

from server import Server, Stream
from suite import Ingot

CLIENTS = 8
HANGS = 900  # seconds without an answer; the machine may be suspended for some minutes
LEAVING, BAD, FIXED = 0.05, 0.01, 0.25
SLOPE_BAR, DRIFT_BAR = 1.0, 0.03  # MiB per hour; fraction of the speed, over the whole run
# The pages are so few that the warm-up uses all of them, because memory touched for the first time is not a leak.
LIMITS = ("--kv-memory", "96M", "--swap", "64M", "--max-seqs", 16, "--log", "none")
WORDS = "alpha beta gamma delta one two three red green blue cat dog house tree sky river stone".split()
SCHEMA = {"type": "object", "additionalProperties": False, "required": ["name", "age", "kind"],
          "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0, "maximum": 150},
                         "kind": {"enum": ["cat", "dog"]}}}
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "The weather of a city", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "maxLength": 12}, "unit": {"enum": ["C", "F"]}},
    "required": ["city", "unit"], "additionalProperties": False}}}
BAD_REQUESTS = [
    ("/v1/completions", {"prompt": "a", "temperature": -1}), ("/v1/completions", "{\"prompt\": "), ("/v1/completions", {"prompt": "a", "max_tokens": 10 ** 6}),
    ("/v1/chat/completions", {"messages": []}), ("/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}], "n": 99}),
    ("/v1/embeddings", {"input": []}), ("/v1/completions", {"prompt": "a", "guided_regex": "(a"}),
    ("/v1/completions", {"prompt": "a", "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "wat"}}}}),
]


def words(source, least, most):
    return " ".join(source.choice(WORDS) for _ in range(source.randint(least, most)))


def said(text):
    return [{"role": "user", "content": text}]


def drawn_request(source):
    """The (path, body) of a random kind of request; the sampling seed is derived from the request."""
    kind = source.random()
    sampling = {"temperature": source.choice([0, 0.7, 1]), "seed": source.randrange(1 << 30), "max_tokens": source.randint(4, 48)}
    if kind < 0.04:
        return "/v1/completions", {"prompt": words(source, 4, 60), "max_tokens": source.randint(4, 32), "use_beam_search": True,
                                   "beam_width": source.randint(2, 4), "n": source.randint(1, 2)}
    if kind < 0.08:
        return "/v1/completions", {"prompt": words(source, 4, 60), "max_tokens": source.randint(4, 32), "penalty_alpha": 0.6, "top_k": source.randint(2, 4)}
    if kind < 0.11:
        return "/v1/embeddings", {"input": [words(source, 2, 12) for _ in range(40)]}
    if kind < 0.36:
        body = {"prompt": words(source, 4, 120), **sampling}
        if source.random() < 0.3:
            body["n"] = source.randint(2, 4)
        if source.random() < 0.3:
            body["logprobs"] = source.randint(0, 3)
        return "/v1/completions", body
    if kind < 0.62:
        return "/v1/chat/completions", {"messages": said(words(source, 4, 80)), "n": source.choice([1, 1, 1, 2]), **sampling}
    if kind < 0.72:
        return "/v1/embeddings", {"input": [words(source, 2, 30) for _ in range(source.randint(1, 6))], "pooling": source.choice(["last", "mean"])}
    if kind < 0.87:
        return "/v1/chat/completions", {"messages": said("Describe a pet as JSON. " + words(source, 1, 6)), **{**sampling, "max_tokens": 120},
                                        "response_format": {"type": "json_schema", "json_schema": {"name": "pet", "schema": SCHEMA, "strict": True}}}
    if kind < 0.95:
        return "/v1/chat/completions", {"messages": said("What is the weather in " + words(source, 1, 2) + "?"), **{**sampling, "max_tokens": 160},
                                        "tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "get_weather"}}}
    return "/v1/responses", {"input": words(source, 4, 40), "temperature": 0, "max_output_tokens": source.randint(4, 24)}


def fixed_requests():
    source = random.Random(10)
    found = []
    while len(found) < 32:
        path, body = drawn_request(source)
        body.pop("seed", None)
        if "temperature" in body:
            body["temperature"] = 0
        found.append((path, body))
    return found


def content(path, answer):
    """The part of an answer that must be the same each time, without ids and times."""
    if path == "/v1/embeddings":
        return [one["embedding"] for one in answer["data"]]
    if path == "/v1/responses":
        return [[part["text"] for part in item["content"]] for item in answer["output"] if item["type"] == "message"]
    found = []
    for choice in answer["choices"]:
        message = choice.get("message") or {}
        calls = [call["function"] for call in message.get("tool_calls") or []]
        found.append([choice.get("text"), message.get("content"), calls, choice["finish_reason"]])
    return found


def checked(path, body, answer):
    """Checks what must hold of any answer; returns a message if it does not."""
    if "response_format" in body:
        choice = answer["choices"][0]
        if choice["finish_reason"] != "stop":
            return None  # cut off by max_tokens
        pet = json.loads(choice["message"]["content"])
        if set(pet) != {"name", "age", "kind"} or pet["kind"] not in ("cat", "dog") or not 0 <= pet["age"] <= 150:
            return f"no pet: {pet}"
    elif "tools" in body:
        for call in answer["choices"][0]["message"].get("tool_calls") or []:
            if answer["choices"][0]["finish_reason"] != "length" and set(json.loads(call["function"]["arguments"])) != {"city", "unit"}:
                return f"no call: {call}"
    elif path == "/v1/embeddings":
        for one in answer["data"]:
            if abs(math.fsum(x * x for x in one["embedding"]) - 1) > 1e-3:
                return "an embedding that is not of length 1"
    elif "choices" in answer and len(answer["choices"]) != body.get("n", 1):
        return f"{len(answer['choices'])} choices"
    return None


class Load:
    """The clients. pause() returns when none has a request in progress."""

    def __init__(self, server, fixed, expected):
        self.server, self.fixed, self.expected = server, fixed, expected
        self.counts = {"answered": 0, "equal": 0, "left": 0, "bad": 0}
        self.wrong = []
        self.lock, self.go, self.over = threading.Lock(), threading.Event(), False
        self.busy = 0
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True) for i in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def count(self, what, wrong=None):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1
            if wrong:
                self.wrong.append(wrong[:500])

    def run(self, number):
        source = random.Random(number * 1_000_003)
        while not self.over:
            self.go.wait()
            with self.lock:
                if not self.go.is_set() or self.over:
                    continue
                self.busy += 1
            try:
                self.ask(source)
            except Exception as error:  # any exception is an error here
                self.count("errors", f"{type(error).__name__}: {error}")
            with self.lock:
                self.busy -= 1

    def ask(self, source):
        dice = source.random()
        if dice < BAD:
            path, body = source.choice(BAD_REQUESTS)
            status, _, answer = self.server.post(path, body)
            fine = status == 400 and isinstance(answer, dict) and "error" in answer
            return self.count("bad" if fine else "errors", None if fine else f"{path} {body}: {status} {answer}")
        if dice < BAD + LEAVING:
            stream = Stream(self.server, words(source, 4, 60), source.choice(["/v1/completions", "/v1/chat/completions"]), max_tokens=400, ignore_eos=True)
            time.sleep(source.uniform(0, 0.5))
            stream.leave()
            return self.count("left")
        index = source.randrange(len(self.fixed)) if dice < BAD + LEAVING + FIXED else None
        path, body = self.fixed[index] if index is not None else drawn_request(source)
        if index is None and path in ("/v1/completions", "/v1/chat/completions") and len(body) <= 5 and source.random() < 0.4:
            stream = Stream(self.server, body.get("prompt") or body["messages"][0]["content"], path,
                            **{key: value for key, value in body.items() if key not in ("prompt", "messages")})
            stream.text()
            return self.count("answered")
        status, _, answer = self.server.post(path, body)
        if status != 200:
            return self.count("errors", f"{path} {str(body)[:200]}: {status} {answer}")
        problem = checked(path, body, answer)
        if index is not None and not problem:
            if content(path, answer) != self.expected[index]:
                problem = f"answer {index} differs: {content(path, answer)!r}, first {self.expected[index]!r}"
            self.count("equal" if not problem else "errors")
        return self.count("answered" if not problem else "errors", problem)

    def pause(self):
        self.go.clear()
        deadline = time.monotonic() + HANGS
        while self.busy:
            assert time.monotonic() < deadline, f"{self.busy} requests are not answered within {HANGS} s: a hang"
            time.sleep(0.02)

    def end(self):
        self.over = True
        self.go.set()
        for thread in self.threads:
            thread.join(60)


def process_figures(server):
    """Figures of the server's process: KiB, counts, seconds of processor time."""
    pid = server.process.pid
    status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    ticks = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return {"rss_kib": int(status["VmRSS"].split()[0]), "anonymous_kib": int(status["RssAnon"].split()[0]), "threads": int(status["Threads"]),
            "descriptors": len(os.listdir(f"/proc/{pid}/fd")), "cpu_seconds": (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")}


def burst(ingot, server, seed):
    """Tokens per second of a fixed load, by wall-clock time and by the server's processor time."""
    before = process_figures(server)["cpu_seconds"]
    done = subprocess.run([ingot.path, "bench-serve", f"http://127.0.0.1:{server.port}", "--users", "8", "--requests", "24", "--prompt-tokens", "48",
                           "--output-tokens", "48", "--ignore-eos", "--seed", str(seed), "--quiet", "--json", "-"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["failed"] == 0 and result["completed"] == 24, result
    spent = process_figures(server)["cpu_seconds"] - before
    return {"tokens_per_s": result["output_throughput"], "tokens_per_cpu_s": result["total_output_tokens"] / spent}


def rest(server, began, connections):
    """Measures an idle server."""
    server.idle(60)
    deadline = time.monotonic() + 10
    while server.metric("ingot:connections") > connections and time.monotonic() < deadline:
        time.sleep(0.05)
    looked = process_figures(server)
    for _ in range(20):  # the connection of the last request may still be closing
        time.sleep(0.02)
        looked["descriptors"] = min(looked["descriptors"], process_figures(server)["descriptors"])
    sample = {"minute": (time.monotonic() - began) / 60, **looked, "kv_pages_used": server.metric("ingot:kv_pages_used"),
              "connections": server.metric("ingot:connections"), "swap_bytes_used": server.metric("ingot:swap_bytes_used"),
              "new_tokens": server.metric("vllm:generation_tokens_total"), "preemptions": server.metric("vllm:num_preemptions_total")}
    return sample


def compared(ingot, server, fresh, number):
    """Measures the speed of both, alternating: steady changes of the machine affect both alike."""
    taken = {"aged": [], "fresh": []}
    for turn, name in enumerate(("aged", "fresh", "fresh", "aged")):
        taken[name].append(burst(ingot, server if name == "aged" else fresh, 2 * number + (turn in (1, 3))))
    return {name: {by: statistics.harmonic_mean([one[by] for one in both]) for by in both[0]} for name, both in taken.items()}


STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23, 15: 2.13, 20: 2.09, 30: 2.04, 60: 2.00}


def fitted(points):
    """The slope of a line through (x, y) with its 95 % interval, by least squares."""
    n = len(points)
    if n < 4:
        return {"samples": n, "slope": None}
    x0, y0 = statistics.fmean(x for x, _ in points), statistics.fmean(y for _, y in points)
    spread = sum((x - x0) ** 2 for x, _ in points)
    slope = sum((x - x0) * (y - y0) for x, y in points) / spread
    residual = math.sqrt(sum((y - y0 - slope * (x - x0)) ** 2 for x, y in points) / (n - 2))
    t = STUDENT[max(k for k in STUDENT if k <= n - 2)]
    half = t * residual / math.sqrt(spread)
    return {"samples": n, "slope": slope, "low": slope - half, "high": slope + half, "residual": residual}


def verdict(line, bar):
    if line["slope"] is None:
        return "open"
    return "fails" if line["low"] > bar else "holds" if line["high"] < bar else "open"


def judge(samples, minutes, load):
    """The report: figures, and for each limit `holds`, `open` or `fails`."""
    warm = [s for s in samples if s["minute"] >= max(minutes / 5, min(10, minutes / 2))]
    memory = fitted([(s["minute"] / 60, s["rss_kib"] / 1024) for s in warm])
    anonymous = fitted([(s["minute"] / 60, s["anonymous_kib"] / 1024) for s in warm])
    hours = minutes / 60
    report = {"minutes": minutes, "counts": load.counts, "rss_mib_per_hour": memory, "anonymous_mib_per_hour": anonymous}
    results = {"memory": verdict(memory, SLOPE_BAR)}
    for by in ("tokens_per_s", "tokens_per_cpu_s"):
        # The logarithm of the aged server's speed over the fresh one's: its slope is the
        # fraction lost (or gained) per hour.
        line = fitted([(s["minute"] / 60, math.log(s["aged"][by] / s["fresh"][by])) for s in warm if "aged" in s])
        control = [s["fresh"][by] for s in warm if "fresh" in s]
        loss = {key: (None if value is None else -value * hours) if key in ("slope", "low", "high") else value for key, value in line.items()}
        if "low" in loss:
            loss["low"], loss["high"] = loss["high"], loss["low"]
        report["loss_" + by] = loss
        report["control_" + by] = {"median": statistics.median(control), "spread": (max(control) - min(control)) / statistics.median(control)} if control else None
        report["aged_over_fresh_" + by] = statistics.median(s["aged"][by] / s["fresh"][by] for s in warm if "aged" in s) if control else None
    # Wall-clock time includes the load of this machine's neighbours; processor time is what the server itself uses.
    results["speed"] = verdict(report["loss_tokens_per_cpu_s"], DRIFT_BAR)
    first = samples[0]
    for name in ("descriptors", "threads"):
        worst = max(s[name] for s in samples)
        results[name] = "holds" if worst <= first[name] else "fails"
        report[name] = {"first": first[name], "most": worst}
    for name in ("kv_pages_used", "swap_bytes_used"):
        results[name] = "holds" if max(s[name] for s in samples) == 0 else "fails"
    results["errors"] = "fails" if load.wrong else "holds"
    report["wrong"] = load.wrong[:20]
    report["results"] = results
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ingot", required=True, type=pathlib.Path)
    parser.add_argument("--checkpoints", type=pathlib.Path, help="has smollm2.gguf")
    parser.add_argument("--engine", type=pathlib.Path, help="an engine of it that is there already")
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--report", required=True, type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=120)
    options = parser.parse_args()
    ingot = Ingot(options.ingot.resolve(), options.work.resolve())
    engine = options.engine
    if not engine:
        engine = ingot.work / "soak.ingot"
        ingot("compile", options.checkpoints / "smollm2.gguf", "-o", engine, "--quiet")
    (ingot.work / "control").mkdir(exist_ok=True)
    control = Ingot(ingot.path, ingot.work / "control")
    pause_every = max(30.0, min(240.0, options.minutes * 60 / 24))

    fixed = fixed_requests()
    with Server(ingot, engine, *LIMITS) as server:
        server.patience = HANGS
        expected = []
        for path, body in fixed:
            status, _, answer = server.post(path, body)
            assert status == 200, f"{path} {body}: {status} {answer}"
            expected.append(content(path, answer))
        began = time.monotonic()
        samples = [rest(server, began, 1)]
        load = Load(server, fixed, expected)
        try:
            number = 0
            while time.monotonic() - began < options.minutes * 60:
                load.go.set()
                time.sleep(pause_every)
                load.pause()
                sample = rest(server, began, 1)
                number += 1
                with Server(control, engine, *LIMITS) as fresh:
                    for path, body in fixed[:4]:
                        fresh.post(path, body)
                    sample.update(compared(ingot, server, fresh, number))
                samples.append(sample)
                print(f"{sample['minute']:6.1f} min  {sample['rss_kib'] / 1024:.2f} MiB resident, {sample['anonymous_kib'] / 1024:.2f} its own, {sample['descriptors']} descriptors, "
                      f"{load.counts}, {sample['aged']['tokens_per_s']:.0f} tokens/s, just started {sample['fresh']['tokens_per_s']:.0f}; "
                      f"a second of processor {sample['aged']['tokens_per_cpu_s']:.1f}, {sample['fresh']['tokens_per_cpu_s']:.1f}", flush=True)
                if load.wrong:
                    print("    " + load.wrong[-1], flush=True)
        finally:
            load.end()
        final = rest(server, began, 1)
        samples.append(final)
    report = judge(samples, options.minutes, load)
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps({**report, "samples": samples}, indent=1) + "\n")
    memory, speed = report["rss_mib_per_hour"], report["loss_tokens_per_cpu_s"]
    for name, line, unit in (("resident memory", memory, "MiB an hour"), ("speed lost", speed, "of it")):
        if line["slope"] is not None:
            print(f"{name}: {line['slope']:.3f} ({line['low']:.3f} to {line['high']:.3f} at 95 %) {unit}, {line['samples']} samples")
    for name, result in report["results"].items():
        print(f"{result:6} {name}")
    return 1 if "fails" in report["results"].values() else 0


if __name__ == "__main__":
    sys.exit(main())

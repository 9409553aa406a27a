"""Replicas behind a router, measured and predicted: is `ingot simulate --replicas` right on this machine?

    replicas.py --ingot build/bin/ingot --engine build/bench/smollm2.ingot --json build/bench/replicas.json

1. Step costs are measured by as many concurrent `ingot bench --threads 1` as there are replicas, since they share the
memory bandwidth; the time that HTTP and the router add to a request is measured on idle replicas. 2. A trace of
conversations over shared system prompts is made from a seed.
3. For each policy, fresh replicas (`ingot serve --threads 1`) behind replica_router.py answer the trace.
4. `ingot simulate` simulates the same trace with the costs of step 1, which were measured before step 3 and with other
requests.

The trace, the costs and the router's parameters are the only input of the simulation. docs/many-machines.md has the
figures.
"""
import argparse
import asyncio
import contextlib
import json
import math
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import time

from measure import Failed, run, say
from servers import Contestant, free_port, serving

HERE = pathlib.Path(__file__).parent
CONTEXT, ROWS = 2048, 16
BAR = 0.15


# ---------------------------------------------------------------- costs

def at_once(commands):
    """Runs the commands concurrently; returns their outputs."""
    started = [subprocess.Popen([str(part) for part in one], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for one in commands]
    outputs = [one.communicate(timeout=300) for one in started]
    for one, (_, error) in zip(started, outputs):
        if one.returncode:
            raise Failed(error)
    return [output for output, _ in outputs]


def step_costs(ingot, engine, replicas):
    """A table for `ingot simulate --cost`, from the means of the concurrent runs."""
    deep, new = 512, 32
    common = [ingot, "bench", engine, "--threads", 1, "-r", 3, "--format", "json", "--quiet"]
    decode = [common + ["-p", 0, "-n", new, "--batch", "1,2,4,8,16", "-d", f"0,{deep}"]] * replicas
    prompt = [common + ["-n", 0, "-p", "16,32,64,128,256", "-d", f"0,{deep}"]] * replicas
    rows = [row for output in at_once(decode) + at_once(prompt) for row in json.loads(output)]

    def seconds(prompt, sequences, depth):
        """The seconds of a step."""
        found = [row["tokens_per_s"] for row in rows
                 if (row["prompt"], row["sequences"], row["depth"]) == (prompt, sequences, depth)]
        return (prompt or sequences) / statistics.mean(found)

    # These are the costs of attention per pair of positions and per position read, with 8 decoding sequences, and with
    # a prompt of 256 after 512.
    decode_pair = (seconds(0, 8, deep) - seconds(0, 8, 0)) / (8 * (deep - 8))
    prompt_more = seconds(256, 1, deep) - seconds(256, 1, 0)
    per_position = max(0.0, (prompt_more - decode_pair * deep) / (256 * deep - deep))
    per_read = max(0.0, decode_pair - per_position)

    def without_attention(prompt, sequences):
        pairs = sequences * (8 + new / 2) if not prompt else prompt * (prompt + 1) / 2
        reads = pairs if not prompt else prompt
        return seconds(prompt, sequences, 0) - pairs * per_position - reads * per_read

    per_row = max(0.0, (without_attention(0, 16) - without_attention(16, 1)) / 15)
    points = [[n, without_attention(0, n) - n * per_row] for n in (1, 2, 4, 8, 16)]
    points += [[n, without_attention(n, 1) - per_row] for n in (32, 64, 128, 256)]
    for before, here in zip(points, points[1:]):
        here[1] = max(here[1], before[1])
    return {"points": points, "per_row": per_row, "per_position": per_position, "per_read": per_read}


def predict(cost, tokens):
    """The predicted seconds of a prompt step with that many tokens, at the table's points."""
    return dict(map(tuple, cost["points"]))[tokens] + cost["per_row"]


# ---------------------------------------------------------------- load

def conversations(options):
    """Requests in the trace's format, with `follows`: the number of the previous turn."""
    draw = random.Random(options.seed)
    weights = [1 / k for k in range(1, options.prompts + 1)]
    requests, now = [], 0.0

    def length(mean):
        return max(1, round(mean * math.exp(0.3 * draw.gauss(0, 1) - 0.045)))

    session = 0
    while len(requests) < options.requests:
        now += draw.expovariate(options.rate / options.turns)
        prefix = draw.choices(range(options.prompts), weights)[0]
        turns = min(8, 1 + int(math.log(1 - draw.random()) / math.log(1 - 1 / options.turns)))
        prompt = options.prompt_tokens
        for turn in range(turns):
            prompt += length(options.question_tokens)
            answer = length(options.answer_tokens)
            requests.append({"arrival_s": now, "prompt_tokens": prompt, "output_tokens": answer, "prefix_id": prefix,
                             "prefix_tokens": options.prompt_tokens, "session": session,
                             "think_s": draw.expovariate(1 / options.think) if turn else 0,
                             "follows": len(requests) - 1 if turn else None})
            prompt += answer
        session += 1
    return requests


class Client:
    """Sends the requests of the trace at their times."""

    def __init__(self, port, requests, seed):
        self.port, self.requests, self.seed, self.outcomes = port, requests, seed, {}

    def fresh(self, salt, count):
        draw = random.Random(f"{self.seed} {salt}")
        return [draw.randrange(1000, 40000) for _ in range(count)]

    async def ask(self, prompt, count):
        body = json.dumps({"model": "m", "prompt": prompt, "max_tokens": count, "temperature": 0, "ignore_eos": True,
                           "stream": True, "return_token_ids": True, "stream_options": {"include_usage": True}})
        begun = time.perf_counter()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write((f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                      f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode())
        ids, first, last, usage = [], None, None, None
        async for line in reader:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            if event.get("error"):
                raise Failed(str(event["error"]))
            usage = event.get("usage") or usage
            for choice in event["choices"]:
                if choice.get("token_ids"):
                    last = time.perf_counter()
                    first = first or last
                    ids += choice["token_ids"]
        writer.close()
        if len(ids) != count or not usage:
            raise Failed(f"{len(ids)} of {count} ids came")
        return {"ids": ids, "ttft": first - begun, "e2e": last - begun, "end": last,
                "tpot": (last - first) / (count - 1) if count > 1 else None,
                "prompt": usage["prompt_tokens"],
                "cached": (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0}

    async def talk(self, turns, start):
        """One conversation."""
        prompt = self.fresh(f"prefix {turns[0]['prefix_id']}", turns[0]["prefix_tokens"])
        for turn in turns:
            due = start + turn["arrival_s"]
            if turn["follows"] is not None:
                due = max(due, self.outcomes[turn["follows"]]["end"] + turn["think_s"])
            await asyncio.sleep(max(0, due - time.perf_counter()))
            number = turn["number"]
            prompt = prompt + self.fresh(f"turn {number}", turn["prompt_tokens"] - len(prompt))
            self.outcomes[number] = await self.ask(prompt, turn["output_tokens"])
            prompt = prompt + self.outcomes[number]["ids"]

    async def replay(self):
        start = time.perf_counter()
        by_session = {}
        for number, one in enumerate(self.requests):
            by_session.setdefault(one["session"], []).append({**one, "number": number})
        await asyncio.gather(*(self.talk(turns, start) for turns in by_session.values()))
        return time.perf_counter() - start


@contextlib.contextmanager
def routed(policy, urls):
    """Yields the router's port, and a dict that gets the router's statistics at its end."""
    port, account = free_port(), {}
    process = subprocess.Popen([sys.executable, str(HERE / "replica_router.py"), "--port", str(port), "--policy",
                                policy, *urls], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        process.stdout.readline()
        yield port, account
    finally:
        process.terminate()
        account.update(json.loads(process.communicate(timeout=20)[0]))


@contextlib.contextmanager
def replicas_of(options, page_bytes):
    """URLs of fresh replicas."""
    def command(port, sequences, positions):
        return [options.ingot, "serve", options.engine, "--port", port, "--model-name", "m", "--threads", 1,
                "--max-seqs", sequences, "--context", positions, "--log", "none",
                "--kv-memory", page_bytes * sequences * positions // 32]
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(serving(Contestant(f"replica {i}", command), options.work / f"replica{i}.log", ROWS,
                                           CONTEXT))[0] for i in range(options.replicas)]


def added(options, cost, page_bytes):
    """Seconds that HTTP and the router add to a request's first id if there are no other requests: the median of 20
    prompts of 16 ids, less the time of their step."""
    with replicas_of(options, page_bytes) as urls, routed("prefix", urls) as (port, _):
        client = Client(port, [], options.seed)

        async def probes():
            return [(await client.ask(client.fresh(f"probe {i}", 16), 1))["ttft"] for i in range(24)][4:]
        return max(0.0, statistics.median(asyncio.run(probes())) - predict(cost, 16))


# ---------------------------------------------------------------- figures

def measured(options, policy, requests, page_bytes):
    with replicas_of(options, page_bytes) as urls, routed(policy, urls) as (port, account):
        client = Client(port, requests, options.seed)
        before = resource.getrusage(resource.RUSAGE_SELF)
        seconds = asyncio.run(client.replay())
        after = resource.getrusage(resource.RUSAGE_SELF)
    all_of = list(client.outcomes.values())
    tokens = sum(one["output_tokens"] for one in requests)
    return {"seconds": seconds, "tokens_per_s": tokens / seconds,
            "ttft_mean_ms": 1e3 * statistics.mean(one["ttft"] for one in all_of),
            "tpot_mean_ms": 1e3 * statistics.mean(one["tpot"] for one in all_of if one["tpot"]),
            "e2e_mean_ms": 1e3 * statistics.mean(one["e2e"] for one in all_of),
            "cached_tokens": sum(one["cached"] for one in all_of),
            "cache_hit_rate": sum(one["cached"] for one in all_of) / sum(one["prompt"] for one in all_of),
            "requests": account["requests"], "router_cores": account["cpu_s"] / seconds,
            "client_cores": (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / seconds}


def simulated(options, policy, trace, cost_file, overhead):
    output = run(options.ingot, "simulate", "--cost", cost_file, "--trace", trace, "--replicas", options.replicas,
                 "--router", policy, "--max-seqs", ROWS, "--context", CONTEXT, "--router-ms", 1e3 * overhead, "--json")
    figures = json.loads(output)[0]
    return {"seconds": figures["seconds"], "tokens_per_s": figures["tokens_per_s"],
            "ttft_mean_ms": figures["ttft_mean_ms"], "tpot_mean_ms": figures["tpot_ms"]["mean"],
            "e2e_mean_ms": figures["e2e_ms"]["mean"], "cached_tokens": figures["prefix_hits"],
            "cache_hit_rate": figures["cache_hit_rate"], "requests": [one["requests"] for one in figures["each"]],
            "busy": [one["busy"] for one in figures["each"]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--ingot", required=True, type=pathlib.Path)
    add("--engine", required=True, type=pathlib.Path, help="a small model's, SmolLM2's for the figures of the docs")
    add("--work", type=pathlib.Path, default=pathlib.Path("build/bench/replicas"))
    add("--json", type=pathlib.Path, help="all figures, into this file")
    add("--cost", type=pathlib.Path, help="costs of an earlier run, instead of measuring them")
    add("--policies", default="random,least,prefix")
    add("--replicas", type=int, default=2)
    add("--requests", type=int, default=170)
    add("--rate", type=float, default=5.0, help="of all turns together, a second")
    add("--turns", type=float, default=4)
    add("--think", type=float, default=2)
    add("--prompts", type=int, default=4, help="system prompts, of which the k-th is chosen in proportion to 1/k")
    add("--prompt-tokens", type=int, default=256)
    add("--question-tokens", type=int, default=40)
    add("--answer-tokens", type=int, default=50)
    add("--seed", type=int, default=1)
    add("--calibrate-only", action="store_true", help="measure costs, write them, and end")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    cost_file, trace = options.work / "cost.json", options.work / "trace.jsonl"
    if options.cost:
        cost = json.loads(options.cost.read_text())
    else:
        say("costs of a step")
        cost = step_costs(options.ingot, options.engine, options.replicas)
    cost_file.write_text(json.dumps(cost))
    if options.calibrate_only:
        print(json.dumps(cost))
        return
    requests = conversations(options)
    trace.write_text("".join(json.dumps({key: value for key, value in one.items() if key != "follows"}) + "\n"
                             for one in requests))
    inspected = json.loads(run(options.ingot, "inspect", options.engine, "--json"))
    page_bytes = inspected["programs"][0]["memory"]["bytes_per_page"]
    overhead = added(options, cost, page_bytes)
    result = {"cost": cost, "overhead_ms": 1e3 * overhead, "load": {
        key: value for key, value in vars(options).items() if isinstance(value, (int, float)) and value is not None},
        "policies": {}}
    print("| policy | | tokens/s | mean TTFT ms | mean TPOT ms | cached tokens |\n|---|---|---:|---:|---:|---:|")
    worst = 0.0
    for policy in options.policies.split(","):
        say(policy)
        seen = measured(options, policy, requests, page_bytes)
        told = simulated(options, policy, trace, cost_file, overhead)
        keys = ("tokens_per_s", "ttft_mean_ms", "tpot_mean_ms", "cached_tokens")
        off = {key: told[key] / seen[key] - 1 for key in keys}
        result["policies"][policy] = {"measured": seen, "simulated": told, "off": off}
        worst = max(worst, *(abs(one) for one in off.values()))
        for name, figures in (("measured", seen), ("simulated", told)):
            print(f"| {policy} | {name} | " + " | ".join(f"{figures[key]:.1f}" for key in keys) + " |")
        print(f"| {policy} | off | " + " | ".join(f"{100 * off[key]:+.1f} %" for key in keys) + " |", flush=True)
    result["worst"] = worst
    beside = max(one["measured"]["router_cores"] + one["measured"]["client_cores"] for one in result["policies"].values())
    print(f"largest difference: {100 * worst:.1f} % (the bar: {100 * BAR:.0f} %); beside the replicas, router and client "
          f"took {beside:.2f} cores")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))
    sys.exit(worst > BAR)


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(f"{failed}")

"""Compares Ingot's server with the peers' on the same requests, interleaved in one run: `dev bench --servers`.
docs/benchmarks.md explains the rows.

A round starts each server once for each group of loads and loads it with `ingot bench-serve`; every other round uses
the servers in reverse order. Prompts are random words, different in every measurement, so that no prefix cache helps.
"""
import json
import os
import pathlib
import statistics
import subprocess
import time
from dataclasses import dataclass
from typing import Callable

import servers
from measure import Failed, run, say

PROMPT, NEW = 128, 64  # tokens
LONG_PROMPT = 2048
RUNNING, QUEUED, TIMES_OVER, OVER_SECONDS = 32, 32, 10, 8  # overload
MARKERS = "<!-- dev bench --servers: the last run -->", "<!-- dev bench --servers: end -->"


class Client:
    """`ingot bench-serve`, with vLLM's fields for one load. The model's name is "m" if the server lets us choose."""

    def __init__(self, ingot, work):
        self.ingot, self.work, self.seed = ingot, work, 0

    def command(self, url, file, *flags, **options):
        self.seed += 1  # different prompts each time
        options = {"prompt_tokens": PROMPT, "output_tokens": NEW, "temperature": 0, "percentiles": "50,99",
                   "seed": self.seed, **options}
        given = [str(part) for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]
        return [str(self.ingot), "bench-serve", url, *given, *flags, "--ignore-eos", "--quiet", "--json", str(file)]

    def load(self, url, *flags, may_fail=False, **options):
        file = self.work / "load.json"
        run(*self.command(url, file, *flags, **options))
        figures = json.loads(file.read_text())
        if figures["failed"] and not may_fail:
            raise Failed(f"{figures['failed']} of {figures['num_prompts']} requests failed")
        return figures


def throughput(users):
    """That many clients, each with two requests, one after the other."""
    def measured(client, url):
        figures = client.load(url, users=users, requests=max(2 * users, 4))
        return {"tokens_per_s": figures["output_throughput"], "ttft_p50": figures["p50_ttft_ms"],
                "ttft_p99": figures["p99_ttft_ms"],
                "itl_p50": figures["p50_itl_ms"], "itl_p99": figures["p99_itl_ms"]}
    return measured


def disturbed(users, new):
    """Gaps between the tokens of `users` clients, first undisturbed, then while prompts of LONG_PROMPT tokens arrive
    continuously, one after the other."""
    def measured(client, url):
        alone = client.load(url, users=users, requests=users, output_tokens=new)
        command = client.command(url, client.work / "long.json", users=1, requests=10 ** 6, prompt_tokens=LONG_PROMPT,
                                 output_tokens=1)
        long = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.5)
            beside = client.load(url, users=users, requests=users, output_tokens=new)
            if long.poll() is not None:
                raise Failed("the client with long prompts ended before the others")
        finally:
            long.terminate()
            long.wait()
        return {"tokens_per_s": beside["output_throughput"], "itl_p50": beside["p50_itl_ms"],
                "itl_p99": beside["p99_itl_ms"],
                "alone_itl_p99": alone["p99_itl_ms"], "times": beside["p99_itl_ms"] / alone["p99_itl_ms"]}
    return measured


def overload(client, url):
    """First as many clients as run and wait; then requests arrive at ten times the rate at which those were answered,
    whether the queue is full or not."""
    full = client.load(url, users=RUNNING + QUEUED, requests=3 * (RUNNING + QUEUED))
    over = client.load(url, "--details", may_fail=True, rate=TIMES_OVER * full["request_throughput"],
                       duration=OVER_SECONDS, users=4000,
                       requests=10 ** 6)
    refusals = sorted(1000 * seconds for seconds, error in zip(over["latencies"], over["errors"]) if "429" in error)
    if over["completed"] < RUNNING + QUEUED or not refusals or len(refusals) != over["failed"]:
        raise Failed(f"{over['completed']} requests were answered, {len(refusals)} refused, "
                     f"{over['failed'] - len(refusals)} failed otherwise")
    return {"tokens_per_s": over["output_throughput"], "ttft_p50": over["p50_ttft_ms"], "ttft_p99": over["p99_ttft_ms"],
            "full_ttft_p99": full["p99_ttft_ms"], "times": over["p99_ttft_ms"] / full["p99_ttft_ms"],
            "answered": over["completed"],
            "refused": len(refusals), "refused_p50": statistics.median(refusals),
            "refused_p99": refusals[int(0.99 * len(refusals))],
            "refused_most": refusals[-1]}


@dataclass(frozen=True)
class Bar:
    """`met` takes {contestant: its figures in a round} and returns the figure; the median over the rounds is
    checked against `limit`."""
    text: str
    figure: Callable
    limit: float
    at_least: bool = False

    def met(self, value):
        return value >= self.limit if self.at_least else value <= self.limit


def over(peer, limit):
    return Bar(f"≥ {limit:g} × {peer}", lambda round_: round_["Ingot"]["tokens_per_s"] / round_[peer]["tokens_per_s"],
               limit, True)


def first_token(limit, text):
    """The ratio to the better peer of the round; both peers must have a figure."""
    def figure(round_):
        return round_["Ingot"]["ttft_p99"] / min(round_[peer]["ttft_p99"] for peer in ("llama.cpp", "vLLM bf16"))
    return Bar(f"TTFT p99 ≤ {text} of the better peer's", figure, limit)


def own(text, key, limit):
    return Bar(text, lambda round_: round_["Ingot"][key], limit)


@dataclass(frozen=True)
class Load:
    name: str
    work: str
    measured: Callable
    bars: tuple = ()
    alone: bool = False  # only Ingot: the peers have no such limit, or need minutes


@dataclass(frozen=True)
class Group:
    """Loads for which a server is started once."""
    sequences: int  # concurrent
    positions: int  # of each
    loads: tuple


GROUPS = (
    Group(32, 512, (
        Load("users1", "1 user", throughput(1)),
        Load("users8", "8 users", throughput(8)),
        Load("users32", "32 users", throughput(32),
             (over("llama.cpp", 8), over("vLLM bf16", 3.5), first_token(1 / 3, "a third"))),
        Load("overload", f"{TIMES_OVER} times what can be answered ({RUNNING} run, {QUEUED} wait)", overload,
             (own("refused in ≤ 50 ms", "refused_most", 50),
              own("TTFT p99 of the admitted ≤ 1.2 × that of as many as fit", "times", 1.2)), alone=True))),
    Group(9, 4096, (
        Load("disturbed8", f"8 users, and prompts of {LONG_PROMPT:,} all the time", disturbed(8, 512),
             (own("ITL p99 ≤ 2.5 × the undisturbed one", "times", 2.5),), alone=True),)),
)


def contestants(bench, python, options):
    """Ingot first. `python` has xllamacpp."""
    found = [servers.ingot(bench.ingot, bench.engine("smollm2"), QUEUED)]
    if not options.no_peers:
        found.append(servers.llama(python, bench.checkpoint("smollm2")))
    if "vllm" in bench.peers:
        folder = bench.work / "smollm2-hf"
        if not folder.exists():
            say(f"==> making {folder}")
            run(bench.peers["vllm"], pathlib.Path(__file__).parent / "peers" / "hf_folder.py",
                bench.checkpoint("smollm2"), folder)
        found.append(servers.vllm(bench.peers["vllm"], folder, "vLLM bf16"))
        found.append(servers.vllm(bench.peers["vllm"], folder, "vLLM bf16, bound",
                                  VLLM_CPU_OMP_THREADS_BIND=f"0-{os.cpu_count() - 1}"))
    return found


def measure_group(group, contestant, client, only, round_, missing):
    loads = [load for load in group.loads if (not only or load.name in only)
             and (contestant.name == "Ingot" or not load.alone)]
    if not loads:
        return
    try:
        with servers.serving(contestant, client.work / "server.log", group.sequences, group.positions) as (url, ready):
            client.load(url, users=2, requests=2,
                        output_tokens=8)  # the first request of a process is slower than the others
            round_.setdefault("ready", {}).setdefault(contestant.name, ready)
            for load in loads:
                say(f"    {contestant.name}: {load.work}")
                try:
                    round_.setdefault(load.name, {})[contestant.name] = load.measured(client, url)
                except Failed as failed:
                    note(missing, f"{load.work}, {contestant.name}", failed)
    except Failed as failed:
        note(missing, contestant.name, failed)


def note(missing, what, failed):
    say(f"    {what}: no figure: {failed}")
    missing.setdefault(what, (str(failed).splitlines() or ["no reason given"])[-1])


def measure(bench, python, options, rounds, keep):
    """The samples: for each round {load: {contestant: figures}}. After every round, `keep` gets the samples so far and
    {what is missing: why}."""
    found, client, samples, missing = contestants(bench, python, options), Client(bench.ingot, bench.work), [], {}
    start = time.monotonic()
    for number in range(rounds):
        samples.append({})
        say(f"==> round {number + 1} of {rounds}, {time.monotonic() - start:.0f} s")
        for contestant in reversed(found) if number % 2 else found:
            for group in GROUPS:
                measure_group(group, contestant, client, options.only, samples[-1], missing)
        keep(samples, missing)
    return samples


# ---------------------------------------------------------------- the table

COLUMNS = (("tokens_per_s", "tok/s"), ("ttft_p50", "TTFT p50"), ("ttft_p99", "p99, ms"), ("itl_p50", "ITL p50"),
           ("itl_p99", "p99, ms"))


def middle(samples, load, contestant, key):
    values = [round_[load][contestant][key] for round_ in samples if key in round_.get(load, {}).get(contestant, {})]
    return statistics.median(values) if values else None


def number(value):
    if value is None:
        return ""
    if abs(value) >= 100 or isinstance(value, int):
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def verdict(bar, samples, load):
    """("text: figure", met or None)"""
    values = []
    for round_ in samples:
        try:
            values.append(bar.figure(round_[load]))
        except KeyError:  # a contestant has no figure in this round
            pass
    if not values:
        return f"{bar.text}: ?", None
    value = statistics.median(values)
    return f"{bar.text}: {number(value)}, {'yes' if bar.met(value) else '**no**'}", bar.met(value)


def table(results):
    samples = results["samples"]
    lines = [f"{results['machine']}; {results['date']}; {results['ingot']}; medians of {len(samples)} "
             f"round{'s' if len(samples) > 1 else ''}, interleaved in one run; SmolLM2, prompts of {PROMPT} tokens, "
             f"answers of {NEW}, greedy, streamed; the client shares the processors.", "",
             "| load | server | " + " | ".join(text for _, text in COLUMNS) + " |",
             "|---|---|" + "---:|" * len(COLUMNS)]
    for load in (load for group in GROUPS for load in group.loads):
        work = load.work
        for name in dict.fromkeys(name for round_ in samples for name in round_.get(load.name, {})):
            cells = [number(middle(samples, load.name, name, key)) for key, _ in COLUMNS]
            lines.append(f"| {work} | {name} | " + " | ".join(cells) + " |")
            work = ""
    ready = {name: statistics.median(round_["ready"][name] for round_ in samples if name in round_.get("ready", {}))
             for name in dict.fromkeys(name for round_ in samples for name in round_.get("ready", {}))}
    lines += ["", "Start to ready: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in ready.items()) + ".",
              ""]
    for load in (load for group in GROUPS for load in group.loads):
        if load.bars and any(load.name in round_ for round_ in samples):
            lines.append(f"- {load.work}: " + "; ".join(verdict(bar, samples, load.name)[0] for bar in load.bars)
                         + extra(samples, load.name))
    lines += [f"- Not measured: {what}: {why}" for what, why in results["missing"].items()]
    return "\n".join(lines) + "\n"


def extra(samples, load):
    """The figures of a verdict that no column shows."""
    texts = {"answered": "{} answered", "refused": "{} refused", "refused_p50": "in {} ms (median)",
             "refused_p99": "{} ms (p99)",
             "full_ttft_p99": "TTFT p99 of as many as fit {} ms",
             "alone_itl_p99": "undisturbed {} ms"}
    said = [text.format(number(value)) for key, text in texts.items()
            if (value := middle(samples, load, "Ingot", key)) is not None]
    return f" ({', '.join(said)})" if said else ""

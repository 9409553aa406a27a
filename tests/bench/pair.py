"""Measures two builds of Ingot alternately on the same machine, task by task: is the new one as fast as the old one?

  pair.py OLD_BUILD NEW_BUILD [--pairs 15] [--most 60] [--least 0.97] [--only WORK]… [--model smollm2] [--json FILE]

A build is a folder with bin/ingot. Each compiles its own engines from the same checkpoint, so their formats may
differ. A pair measures both, one right after the other, every other pair in the other order; its ratio is new to old,
above 1 where the new build is faster. The figure of a task is the median of the ratios, with the bound above which the
true ratio lies with a confidence of 95 %: Wilcoxon's signed ranks (the k-th smallest mean of two ratios, k from the
exact distribution), which tolerates some spoilt pairs and assumes only that the noise favours neither build. If the
bound is below --least after --pairs, pairs are added up to --most; so that three tests do not weaken the bound, each
has a third of the 5 %. Exit code 1 if a bound stays below --least, 2 for wrong usage. "unsure" next to such a bound
says that the new build may also be faster: the machine is too noisy for the question.

docs/benchmarks.md describes each task (WORK).
"""
import argparse
import json
import math
import pathlib
import statistics
import sys

import measure
from measure import say

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONFIDENCE = 0.95
LOOKS = 3  # after --pairs, after twice as many, and after --most
# Phases of `ingot compile` in which the reference interpreter or the plan interpreter runs.
CHECKS = ("fuse", "plan check", "gpu plan check")


class Build:
    def __init__(self, folder, work, checkpoint):
        self.ingot = folder / "bin" / "ingot"
        if not self.ingot.exists():
            raise measure.Failed(f"{folder} has no bin/ingot")
        work.mkdir(parents=True, exist_ok=True)
        self.checkpoint, self.scratch, self.engine = checkpoint, work / "compiled.ingot", work / "engine.ingot"
        measure.run(self.ingot, "compile", checkpoint, "-o", self.engine, "--quiet")

    def bench(self, *arguments):
        """Tokens per second of the best measurement: disturbances only slow one down."""
        rows = json.loads(measure.run(self.ingot, "bench", self.engine, "--format", "json", "--quiet", *arguments))
        return rows[0]["max"]

    def start(self):
        """Starts per second, the best of seven: from the start of the process to its end after one new id."""
        command = (self.ingot, "run", self.engine, "--prompt-ids", ",".join(["504"] * measure.START_PROMPT), "-n", "1",
                   "--greedy", "--quiet")
        return 1 / min(measure.run_counted(*command)[0] for _ in range(7))

    def compile(self):
        """Compilations per second, without the phases that check."""
        summary = json.loads(measure.run(self.ingot, "compile", self.checkpoint, "-o", self.scratch, "--json"))
        self.scratch.unlink()
        return 1 / sum(seconds for phase, seconds in summary["phases"].items() if phase not in CHECKS)


WORKS = {
    "decode": lambda build: build.bench("-p", "0", "-n", "128", "-r", "5"),
    "prefill": lambda build: build.bench("-p", "512", "-n", "0", "-r", "5"),
    "parallel8": lambda build: build.bench("-p", "0", "-n", "0", "--parallel", "8", "-r", "3"),
    "parallel32": lambda build: build.bench("-p", "0", "-n", "0", "--parallel", "32", "-r", "2"),
    "start": Build.start,
    "compile": Build.compile,
}


# ---------------------------------------------------------------- statistics

def signed_rank_place(count, chance):
    """The largest k for which the k-th smallest mean of two is above the true median with at most this probability; 0
    if there is none."""
    ways = [1]  # number of subsets of the ranks 1 … count, per sum
    for rank in range(1, count + 1):
        longer = ways + [0] * rank
        for total, number in enumerate(ways):
            longer[total + rank] += number
        ways = longer
    limit, below, place = chance * 2 ** count, 0, 0
    while below + ways[place] <= limit:
        below += ways[place]
        place += 1
    return place


def lower_bound(ratios, chance):
    """A lower bound of the median of the ratios' distribution, computed from logarithms. 0 if there are too few."""
    logs = [math.log(ratio) for ratio in ratios]
    means = sorted((a + b) / 2 for i, a in enumerate(logs) for b in logs[i:])
    place = signed_rank_place(len(logs), chance)
    return math.exp(means[place - 1]) if place else 0.0


def looks(pairs, most):
    """The numbers of pairs after which the bound is tested."""
    return sorted({min(count, max(most, pairs)) for count in (pairs, 2 * pairs, max(most, pairs))})


def judged(next_ratio, pairs, most, least):
    """Takes pairs until the bound is good enough or there are `most`: (ratios, bound)."""
    ratios = []
    for count in looks(pairs, most):
        while len(ratios) < count:
            ratios.append(next_ratio(len(ratios)))
        bound = lower_bound(ratios, (1 - CONFIDENCE) / LOOKS)
        if bound >= least:
            break
    return ratios, bound


# ---------------------------------------------------------------- the program

def compare(work, old, new, options):
    samples = []

    def pair(number):
        both = {}
        for name in ("old", "new") if number % 2 == 0 else ("new", "old"):
            both[name] = WORKS[work]({"old": old, "new": new}[name])
        samples.append(both)
        return both["new"] / both["old"]

    for build in (old, new):
        WORKS[work](build)  # warms the page cache and loads code
    ratios, bound = judged(pair, options.pairs, options.most, options.least)
    return {"work": work, "pairs": len(ratios), "median": statistics.median(ratios), "bound": bound,
            "upper": 1 / lower_bound([1 / ratio for ratio in ratios], (1 - CONFIDENCE) / LOOKS),
            "met": bound >= options.least,
            "old": statistics.median(sample["old"] for sample in samples),
            "new": statistics.median(sample["new"] for sample in samples),
            "samples": samples}


def line(row):
    return (f"{row['work']:<11}{row['median']:>8.3f}{row['bound']:>8.3f}{row['old']:>12.4g}{row['new']:>12.4g}"
            f"{row['pairs']:>7}  {'yes' if row['met'] else 'NO' if row['upper'] < 1 else 'unsure'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--most", type=int, default=60)
    parser.add_argument("--least", type=float, default=0.97)
    parser.add_argument("--only", action="append", default=[], metavar="WORK", help=", ".join(WORKS))
    parser.add_argument("--model", default="smollm2", help="the checkpoint's name")
    parser.add_argument("--checkpoints", type=pathlib.Path, default=ROOT / "build" / "checkpoints")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "bench" / "pair")
    parser.add_argument("--json", type=pathlib.Path, help="default: pair.json in the work folder")
    options = parser.parse_args()
    unknown = [work for work in options.only if work not in WORKS]
    if unknown:
        parser.error(f"there is no work {unknown[0]}; there are: {' '.join(WORKS)}")
    if signed_rank_place(options.pairs, (1 - CONFIDENCE) / LOOKS) == 0:
        parser.error(f"{options.pairs} pairs have no bound of {CONFIDENCE:.0%}")
    checkpoint = (options.checkpoints / f"{options.model}.gguf").resolve()
    if not checkpoint.exists():
        parser.error(f"there is no {checkpoint}: ./dev bench fetches it")
    results = options.json or options.work / "pair.json"
    rows = []
    try:
        old, new = (Build(folder.resolve(), options.work / name, checkpoint)
                    for folder, name in ((options.old, "old"), (options.new, "new")))
        print(f"{'work':<11}{'median':>8}{'bound':>8}{'old /s':>12}{'new /s':>12}{'pairs':>7}  ≥ {options.least:g}",
              flush=True)
        for work in options.only or WORKS:
            rows.append(compare(work, old, new, options))
            print(line(rows[-1]), flush=True)
            results.parent.mkdir(parents=True, exist_ok=True)
            results.write_text(json.dumps({"old": str(options.old), "new": str(options.new), "model": options.model,
                                           "least": options.least,
                                           "confidence": CONFIDENCE, "rows": rows}, indent=1) + "\n")
    except measure.Failed as failed:
        say(f"pair.py: {failed}")
        return 2
    say(f"==> every sample: {results}")
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

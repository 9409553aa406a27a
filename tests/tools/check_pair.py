"""Tests the statistics of `dev bench --pair` on invented ratios, and the program with scripts as builds:
check_pair.py TESTS_BENCH WORK"""
import itertools
import json
import math
import pathlib
import random
import subprocess
import sys

bench, work = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(bench))
import pair  # noqa: E402

# The rank follows the table of Wilcoxon's test: for 15 pairs and 5 %, the sum of ranks may
# be 30, so the 31st mean is the bound.
assert pair.signed_rank_place(15, 0.05) == 31 and pair.signed_rank_place(4, 0.05) == 0
# For few pairs, an enumeration checks the rank: all choices of signs are equally likely.
for count, chance in ((6, 0.05), (9, 0.02)):
    sums = [sum(rank for rank, sign in zip(range(1, count + 1), signs) if sign) for signs in itertools.product((0, 1), repeat=count)]
    place = pair.signed_rank_place(count, chance)
    assert sum(total < place for total in sums) <= chance * len(sums) < sum(total <= place for total in sums)
assert abs(pair.lower_bound([1.1] * 15, 0.05) - 1.1) < 1e-12
# Three outliers among 15 pairs move the bound only a little.
assert pair.lower_bound([1.0] * 12 + [0.2, 0.3, 0.4], 0.05) > 0.6 and pair.lower_bound([1.0] * 14 + [0.1], 0.05) == 1.0
assert pair.looks(15, 60) == [15, 30, 60] and pair.looks(15, 15) == [15] and pair.looks(15, 20) == [15, 20]


# Builds of equal speed on a noisy machine give no false alarm; a build at 0.94 is found;
# the true ratio is below the bound in at most 5 %.
def verdicts(true, noise, runs, least):
    source, passed, above = random.Random(1), 0, 0
    for _ in range(runs):
        def ratio(number):
            spoilt = source.choice((0.6, 1.7)) if source.random() < 0.05 else 1
            return true * spoilt * math.exp(source.gauss(0, noise))
        _, bound = pair.judged(ratio, 15, 60, least)
        passed += bound >= least
        above += bound > true
    return passed / runs, above / runs


same, above = verdicts(1.0, 0.04, 100, 0.97)
assert same >= 0.97 and above <= 0.05, (same, above)
slower, above = verdicts(0.94, 0.04, 100, 0.97)
assert slower <= 0.02 and above <= 0.05, (slower, above)
edge, _ = verdicts(0.969, 0.04, 100, 0.97)
assert edge <= 0.06, edge

# The program: the builds answer like `ingot`, and one of them is slower at one task.
SCRIPT = """#!{python}
import json, sys
command = sys.argv[1]
if command == "compile":
    open(sys.argv[sys.argv.index("-o") + 1], "w").write("engine")
    print(json.dumps({{"phases": {{"read": 0.5, "fuse": {fuse}, "kernels": 0.5}}}}))
elif command == "bench":
    print(json.dumps([{{"tokens_per_s": 1.0, "max": {decode} if "-n" in sys.argv and "128" in sys.argv else 100.0}}]))
"""
checkpoints = work / "checkpoints"
checkpoints.mkdir(parents=True, exist_ok=True)
(checkpoints / "smollm2.gguf").write_text("checkpoint")


def build(name, decode, fuse):
    program = work / name / "bin" / "ingot"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(SCRIPT.format(python=sys.executable, decode=decode, fuse=fuse))
    program.chmod(0o755)
    return work / name


def compared(*builds, more=()):
    works = [option for name in ("decode", "prefill", "parallel8", "compile") for option in ("--only", name)]
    done = subprocess.run([sys.executable, bench / "pair.py", *builds, "--checkpoints", checkpoints, "--work", work / "pair", "--pairs", "7",
                           "--most", "8", *works, *more], capture_output=True, text=True)
    results = json.loads((work / "pair" / "pair.json").read_text()) if done.returncode in (0, 1) else None
    return done.returncode, results and {row["work"]: row for row in results["rows"]}, done


code, rows, done = compared(build("a", 100.0, 0.1), build("b", 90.0, 5.0))
assert code == 1 and not rows["decode"]["met"] and abs(rows["decode"]["bound"] - 0.9) < 1e-9 and rows["decode"]["pairs"] == 8, done
assert abs(rows["decode"]["upper"] - 0.9) < 1e-9 and "NO" in done.stdout and "unsure" not in done.stdout, done
assert rows["prefill"]["met"] and rows["prefill"]["pairs"] == 7 and rows["compile"]["median"] == 1, done  # checks do not compile
assert [list(sample) for sample in rows["decode"]["samples"][:2]] == [["old", "new"], ["new", "old"]], rows["decode"]
assert compared(work / "a", work / "b", more=("--least", "0.85"))[0] == 0
assert compared(work / "a", work / "a")[0] == 0
assert compared(work / "a", work / "nowhere")[0] == 2 and compared(work / "a", work / "b", more=("--only", "nothing"))[0] == 2
assert compared(work / "a", work / "b", more=("--pairs", "3"))[0] == 2

"""Guards bit-exactness: checks that models' answers equal the stored list (bits.json), byte for byte.

  run.py --check [--long] [--filter TEXT] [--junit FILE]     exit code 1 if a case changed
  run.py --write [--long] [--filter TEXT] [--missing]        stores the current results of those cases
         --ingot BIN --checkpoints DIR --work DIR            (default: those of ./dev)

A case is a model compiled with some options. The list stores a hash of the logits of a long prompt (longer than a
step, a page, an attention block and a window), a hash of `score`, and the ids of four prompts of different lengths,
answered together, both greedy and sampled with a seed. Each result is computed at every CPU level that this machine
has, with several numbers of threads, tokens per step and concurrent sequences. All of them must agree, except float
matrices in `fast`, whose bits differ by level. So the list may be written on a machine without AVX-512: it then
lacks the rows of float matrices at that level, and --check reports that. docs/numerics.md has the guarantees.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import struct
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import cases as listed  # noqa: E402
import models as made  # noqa: E402
from suite import Ingot, Skip, Suite  # noqa: E402

LIST = HERE / "bits.json"
PROMPTS = (1, 17, 40, 53)  # number of ids of each


def digest(data):
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def ids_of(model, count, salt=0):
    return [(7 * i * i + 3 * i + 31 * salt) % (model.vocabulary - 3) + 3 for i in range(count)]


class Run:
    """One way to compute a case. Its answers must not depend on it, except on the level."""

    def __init__(self, level, threads, tokens, sequences):
        self.level, self.sequences = level, sequences
        self.options = ["--threads", threads, "--max-batch-tokens", tokens]
        self.options += ["--device", "cuda-emulator"] if level == "emulator" else ["--isa", level]

    def __str__(self):
        return f"{self.level}, {self.options[1]} threads, steps of {self.options[3]}, {self.sequences} sequences"


def ways(case, levels, long):
    if case.emulator:
        return [Run("emulator", 2, 64, 4)]
    runs = [Run("avx2", 2, 64, 4), *(Run(level, 1, 33, 3) for level in levels[1:] or levels)]
    if long and case.model != "gemma3":  # a row of its logits is a megabyte
        runs += [Run(level, threads, tokens, sequences) for level in levels for threads, tokens, sequences in ((2, 16, 1), (1, 7, 4))]
    return runs


def logits(ingot, engine, model, run, count):
    out, ids = ingot.work / "logits.npy", ingot.work / "ids.json"
    ids.write_text(json.dumps(ids_of(model, count)))
    ingot("logits", engine, "--ids-file", ids, "--out", out, "--context", count, "--quiet", *run.options)
    data = out.read_bytes()
    out.unlink()
    head = 10 + struct.unpack("<H", data[8:10])[0]
    assert len(data) - head >= 4 * count * model.vocabulary, f"{len(data)} bytes of logits"
    return digest(data[head:])


def answers(ingot, engine, model, run, count, *options):
    """The new ids of each prompt, as the list writes them: "5 6 7 | 8 9 10 | …"."""
    lengths = [length for length in PROMPTS if length + count <= model.positions]
    prompts = ingot.file("prompts.jsonl", [{"prompt_ids": ids_of(model, length, length)} for length in lengths])
    lines = ingot.json_lines("run", engine, "--prompts-file", prompts, "-n", count, "--ignore-eos", "--max-seqs", run.sequences,
                             "--context", max(lengths) + count, *run.options, *options)
    return " | ".join(" ".join(map(str, line["ids"])) for line in lines)


def score(ingot, engine, model, run, count):
    ids = ingot.work / "ids.json"
    ids.write_text(json.dumps(ids_of(model, count, 5)))
    nll = ingot.json("score", engine, "--ids-file", ids, "--context", count, *run.options)["nll"]
    return digest(json.dumps(nll).encode())


def computed(ingot, case, model, long):
    """Returns {what: {level: value}}; fails if two runs at the same level differ."""
    path = model.make(ingot.work)
    if path is None:
        raise Skip(f"{model.name} is not on this machine")
    engine = ingot.work / "engine.ingot"
    target = () if case.emulator else ("--target", "cpu" if len(ingot.host_levels()) > 1 else "cpu:avx2")
    ingot("compile", path, "-o", engine, "--quiet", "-j", 1, *target, *model.compile, *case.options)
    levels = [] if case.emulator else ingot.levels(engine)
    length, new = (40, 3) if case.emulator else (model.positions - 8, 8)
    seen = {}
    for number, run in enumerate(ways(case, levels, long)):
        found = {"logits": logits(ingot, engine, model, run, length),
                 "greedy": answers(ingot, engine, model, run, new, "--greedy"),
                 "drawn": answers(ingot, engine, model, run, new, "--temp", 0.9, "--top-k", 50, "--top-p", 0.95, "--seed", 5)}
        if not case.emulator:
            found["score"] = score(ingot, engine, model, run, min(length, 60))
        for what, value in found.items():
            first = seen.setdefault(what, {}).setdefault(run.level, (run, value))
            assert first[1] == value, f"{what} depend on more than the level: {run} gives {value}, {first[0]} {first[1]}"
    engine.unlink()
    return {what: {level: value for level, (_, value) in by_level.items()} for what, by_level in seen.items()}


def checked_levels(case, found):
    """Checks that all levels agree, unless the case may differ by level."""
    for what, by_level in found.items():
        assert case.by_level or len(set(by_level.values())) == 1, f"{what} differ by level: {by_level}"


def folded(case, found, old):
    """The list's representation: one value for all levels, or {level: value} for float matrices. A level that
    this machine lacks keeps its old value if nothing else of the case changed."""
    if not case.by_level:
        return {what: next(iter(by_level.values())) for what, by_level in found.items()}
    kept = old and all(old.get(what, {}).get(level) == value for what, by_level in found.items() for level, value in by_level.items())
    return {what: {**(old[what] if kept else {}), **by_level} for what, by_level in found.items()}


def first_difference(what, stored, found):
    """Describes the first difference of two values of the list."""
    if what in ("logits", "score"):
        return f"the hash of the {what} is {found}, the list has {stored}"
    for prompt, (old, new) in enumerate(zip(stored.split(" | "), found.split(" | "))):
        for at, (a, b) in enumerate(zip(old.split(), new.split())):
            if a != b:
                return f"{what}: prompt {prompt}, id {at} is {b}, the list has {a}"
    return f"{what}: {found}, the list has {stored}"


def compare(entry, found):
    """Returns (changes, one line each; levels that the list lacks)."""
    moved, lacks = [], set()
    for what, by_level in found.items():
        for level, value in by_level.items():
            stored = entry.get(what, "")
            stored = stored.get(level) if isinstance(stored, dict) else stored
            if stored is None:
                lacks.add(level)
            elif stored != value:
                moved.append(f"{level}: {first_difference(what, stored, value)}")
    return moved, lacks


def read_list():
    return json.loads(LIST.read_text())["cases"] if LIST.exists() else {}


def write_list(entries):
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entries[name])}" for name in sorted(entries))
    about = "what each case answers, by tests/bits/run.py --write --long; docs/numerics.md says what it promises"
    LIST.write_text(f'{{"about": {json.dumps(about)},\n "cases": {{\n{lines}\n }}\n}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--write", action="store_true")
    parser.add_argument("--ingot", type=pathlib.Path, default=ROOT / "build" / "bin" / "ingot")
    parser.add_argument("--checkpoints", type=pathlib.Path, default=ROOT / "build" / "checkpoints")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "bits")
    parser.add_argument("--junit", type=pathlib.Path)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--filter", default="", metavar="TEXT", help="cases whose name holds it")
    parser.add_argument("--missing", action="store_true", help="cases alone that the list lacks")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()

    every = listed.cases()
    names = [case.name for case in every]
    assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
    entries = read_list()
    chosen = [case for case in every if options.filter.lower() in case.name and (options.long or not case.long) and
              not (options.missing and case.name in entries)]
    if not chosen and not options.junit:
        sys.exit(f"run.py: no case holds {options.filter!r}{'' if options.long else '; --long has more'}")
    known = made.models(options.checkpoints)
    ingot_path, work = options.ingot.resolve(), options.work.resolve()
    shutil.rmtree(work, ignore_errors=True)

    def compute(case):
        folder = work / case.name.replace(" ", "_").replace(":", "")
        try:
            return computed(Ingot(ingot_path, folder), case, known[case.model], options.long)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    # The slowest cases begin first: real checkpoints and the emulator.
    order = sorted(chosen, key=lambda case: not (case.emulator or case.model in ("smollm2", "gemma3")))
    start, suite = time.monotonic(), Suite()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as workers:
        futures = {case: workers.submit(compute, case) for case in order}
        for case in order:
            def check(case=case):
                found = futures[case].result()
                checked_levels(case, found)
                if options.write:
                    old = entries.get(case.name)
                    entries[case.name] = folded(case, found, old)
                    write_list({name: entry for name, entry in entries.items() if name in names})
                    return "" if old == entries[case.name] else "new" if old is None else "moved"
                assert case.name in entries, "the list has no such case: run.py --write makes one"
                moved, lacks = compare(entries[case.name], found)
                assert not moved, "\n".join(moved)
                return f"not in the list: {', '.join(lacks)}; run.py --write on this machine adds it" if lacks else ""
            suite.check(f"bits {case.name}", check)
    if options.check and not options.filter:
        stale = sorted(set(entries) - set(names))
        if stale:
            suite.check("bits: the list has no other cases", lambda: (_ for _ in ()).throw(AssertionError(", ".join(stale))))
    if options.junit:
        suite.write_junit(options.junit)
    failures = suite.failures()
    print(f"{len(chosen) - len(failures)} of {len(chosen)} cases {'written' if options.write else 'have the bits of the list'}, "
          f"{len(suite.skipped)} of them skipped, {time.monotonic() - start:.0f} s")
    if failures and options.check:
        print("Bits are a promise (docs/numerics.md). If the change is meant: run.py --write --long, and say why in the commit.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

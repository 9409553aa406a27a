"""End-to-end tests: real checkpoints through the command line, as a user would.

  run.py --ingot build/bin/ingot --checkpoints build/checkpoints --work build/e2e --junit e2e.xml
         [--long] [--only NAME] [--filter TEXT]…

--long runs the whole matrices (many minutes); --only runs one checkpoint; --filter, which may be repeated, runs the
checks whose name contains TEXT (and compiles what they may need). Needs numpy.
"""
import argparse
import concurrent.futures
import json
import pathlib
import sys

import determinism
import embed
import engine_page
import files
import fp8
import goldens
import gpu
import page
import quantised
import readme
import resources
import scripted
import seed
import service
import terminal
import tiny
from suite import Checkpoint, Ingot, Suite

HERE = pathlib.Path(__file__).parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ingot", required=True, type=pathlib.Path)
    parser.add_argument("--checkpoints", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--junit", required=True, type=pathlib.Path)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", choices=["smollm2", "gemma3"])
    parser.add_argument("--filter", action="append", default=[], metavar="TEXT")
    options = parser.parse_args()

    suite, ingot = Suite(*options.filter), Ingot(options.ingot.resolve(), options.work.resolve())
    of_tiny = ("tiny", "fp8", "seed", "gpu", "quantised", "scripted")
    tiny_alone = options.filter and all(text.lower().startswith(of_tiny) for text in options.filter)
    for name in () if tiny_alone else ("smollm2", "gemma3"):
        if options.only not in (None, name):
            continue
        golden = json.loads((HERE / "goldens" / f"{name}.json").read_text())
        checkpoint = Checkpoint(name, (options.checkpoints / f"{name}.gguf").resolve(), golden)
        goldens.add(suite, ingot, checkpoint, options.long)
        determinism.add(suite, ingot, checkpoint, options.long)
        if name == "smollm2":
            readme.add(suite, ingot, checkpoint)
            terminal.add(suite, ingot, checkpoint)
            files.add(suite, ingot, checkpoint, options.long)
            resources.add(suite, ingot, checkpoint, options.long)
            service.add(suite, ingot, checkpoint, options.long)
            embed.add(suite, ingot, checkpoint, options.long)
            page.add(suite, ingot, checkpoint, options.junit.parent.resolve() / "page")
            engine_page.add(suite, ingot, checkpoint, options.junit.parent.resolve() / "page")
    if options.only is None:
        # In parallel: each part is mostly one process with one thread, and none measures time.
        parts = {"gpu": gpu, "gpu-real": gpu.Real(options.checkpoints), "tiny": tiny, "fp8": fp8, "seed": seed, "quantised": quantised,
                 "scripted": scripted}
        with concurrent.futures.ThreadPoolExecutor(2) as workers:
            done = [workers.submit(part.add, suite, Ingot(options.ingot.resolve(), options.work.resolve() / name), options.long)
                    for name, part in parts.items()]
        for part in done:
            part.result()
    suite.write_junit(options.junit)
    return 1 if suite.failures() else 0


if __name__ == "__main__":
    sys.exit(main())

"""End to end: real checkpoints through the command line, as a user would.

  run.py --ingot build/bin/ingot --checkpoints build/checkpoints --work build/e2e --junit e2e.xml [--long] [--only NAME]

--long takes the whole matrices (many minutes); --only takes one checkpoint. Needs numpy.
"""
import argparse
import json
import pathlib
import sys

import determinism
import embed
import files
import fp8
import goldens
import gpu
import page
import readme
import resources
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
    options = parser.parse_args()

    suite, ingot = Suite(), Ingot(options.ingot.resolve(), options.work.resolve())
    for name in ("smollm2", "gemma3"):
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
            suite.check("gpu smollm2: the first ids on the emulator", lambda: gpu.greedy(ingot, checkpoint))
            suite.check("gpu smollm2: a KV cache of fp8 on the emulator", lambda: gpu.scaled_kv(ingot, checkpoint))
    if options.only is None:
        tiny.add(suite, ingot)
        fp8.add(suite, ingot)
        seed.add(suite, ingot)
        gpu.add(suite, ingot)
    suite.write_junit(options.junit)
    return 1 if suite.failures() else 0


if __name__ == "__main__":
    sys.exit(main())

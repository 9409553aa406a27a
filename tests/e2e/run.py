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


class Real:
    """The real checkpoints: their answers, and with SmolLM2 also everything else a user meets."""

    def __init__(self, options):
        self.only, self.checkpoints = options.only, options.checkpoints.resolve()
        self.pictures = options.junit.parent.resolve() / "page"
        self.last = None

    def add(self, suite, ingot, long):
        for name in ("smollm2", "gemma3"):
            if self.only not in (None, name):
                continue
            golden = json.loads((HERE / "goldens" / f"{name}.json").read_text())
            checkpoint = Checkpoint(name, self.checkpoints / f"{name}.gguf", golden)
            goldens.add(suite, ingot, checkpoint, long)
            determinism.add(suite, ingot, checkpoint, long)
            if name == "smollm2":
                self.last = (suite, ingot, checkpoint)
                readme.add(*self.last)
                files.add(*self.last, long)
                embed.add(*self.last, long)
                page.add(*self.last, self.pictures)
                engine_page.add(*self.last, self.pictures)

    def add_alone(self, long):
        """Checks that limit how long something may take, or that send signals: nothing else may run."""
        if self.last:
            terminal.add(*self.last)
            resources.add(*self.last, long)
            service.add(*self.last, long)


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

    suite = Suite(*options.filter)
    of_tiny = ("tiny", "fp8", "seed", "gpu", "quantised", "scripted")
    tiny_alone = options.filter and all(text.lower().startswith(of_tiny) for text in options.filter)
    real = Real(options)
    parts = {} if tiny_alone else {"real": real}
    if options.only is None:
        parts |= {"gpu": gpu, "gpu-real": gpu.Real(options.checkpoints), "tiny": tiny, "fp8": fp8, "seed": seed, "quantised": quantised,
                  "scripted": scripted}
    # Runs two parts at once, because none of them measures time.
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        done = [workers.submit(part.add, suite, Ingot(options.ingot.resolve(), options.work.resolve() / name), options.long)
                for name, part in parts.items()]
    for part in done:
        part.result()
    real.add_alone(options.long)
    suite.write_junit(options.junit)
    return 1 if suite.failures() else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs everything worth measuring on a GPU within at most ten minutes, most valuable first; writes JSON lines.

Needs an NVIDIA driver (release 580 or newer) and Python 3.8 or later; torch and triton are used if installed.
`./dev gpu-bundle` makes the folder that contains this script.

    python3 run.py [--results FILE] [--budget SECONDS] [--only PART]      then: python3 report.py FILE
    python3 run.py --dry-run          tiny shapes on the emulator, in a bundle made for that
"""
import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

from parts import DRY, FULL, HERE, Parts
from runner import Runner


def environment():
    """The environment of our programs: the libraries of this folder, and its GCC libraries
    if the machine's own are too old."""
    for folders in (("lib", ), ("lib/gcc", "lib")):
        own = os.pathsep.join(
            [*(str(HERE / folder) for folder in folders), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
        found = {**os.environ, "LD_LIBRARY_PATH": own}
        done = subprocess.run([HERE / "bin" / "ingot", "--version"], env=found, capture_output=True, text=True)
        if done.returncode == 0:
            return found, done.stdout.strip()
    raise SystemExit(f"run.py: bin/ingot does not start here: {done.stderr.strip()}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results",
                        type=pathlib.Path,
                        default=pathlib.Path("results.jsonl"),
                        help="(default: results.jsonl)")
    parser.add_argument("--budget", type=float, default=540, help="seconds for everything (default: 540)")
    parser.add_argument("--only", action="append", metavar="PART", help="this part alone (repeatable)")
    parser.add_argument("--patience",
                        type=float,
                        default=1,
                        metavar="F",
                        help="F times the limits of parts and commands: more for a slower GPU")
    parser.add_argument("--dry-run", action="store_true", help="tiny shapes on the emulator")
    parser.add_argument("--torch-device", help="what torch is told (default: cuda; cpu in a dry run)")
    parser.add_argument("--libcuda", help="this library instead of libcuda.so.1, for the driver's ceilings")
    return parser.parse_args()


def main():
    options = arguments()
    os.chdir(options.results.resolve().parent)
    own, version = environment()
    bundle = HERE / "bundle.json"
    with open(options.results.resolve(), "w") as file, tempfile.TemporaryDirectory() as work:
        runner = Runner(file, options.budget, own, options.patience)
        parts = Parts(DRY if options.dry_run else FULL, pathlib.Path(work), dict(os.environ), options.libcuda,
                      options.torch_device)
        chosen = [part for part in parts.list() if not options.only or part.name in options.only]
        unknown = set(options.only or ()) - {part.name for part in parts.list()}
        if unknown:
            raise SystemExit(
                f"run.py: no part {', '.join(sorted(unknown))}; "
                f"there are {', '.join(part.name for part in parts.list())}"
            )
        runner.write(part="run",
                     version=version,
                     bundle=json.loads(bundle.read_text()) if bundle.exists() else None,
                     date=time.strftime("%Y-%m-%d %H:%M"),
                     machine=platform.machine(),
                     system=platform.release(),
                     processors=os.cpu_count(),
                     python=platform.python_version(),
                     device=parts.plan.device,
                     budget_s=options.budget,
                     parts=[part.name for part in chosen])
        ends = [runner.run(part) for part in chosen]
        parts.clocks(runner, "after")
        runner.write(part="run", end="done", seconds=round(time.monotonic() - runner.begin, 1))
    print(f"wrote {options.results.resolve()}; python3 {HERE / 'report.py'} {options.results.resolve()}",
          file=sys.stderr)
    return 1 if "failed" in ends else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks the SASS of three models' kernels against rules.py and figures.json (docs/gpu-kernels.md, What SASS must show).

    sass_test.py BUILD              compiles, disassembles, compares; exit 77 if NVRTC or nvdisasm is missing
    sass_test.py BUILD --self-test  tests each rule on a kernel that breaks it (broken.cu)
    sass_test.py BUILD --table      prints the figures of all kernels and compares nothing
    sass_test.py BUILD --store      rewrites figures.json, but keeps its exceptions
        --kernels GLOB …            with any of these: only these kernels, such as 8b-q4_k-*

BUILD is the build folder, with bin/write-cuda-kernels and a venv with the wheels of
tests/requirements.txt. No GPU is needed.
"""
import argparse
import concurrent.futures
import fnmatch
import glob
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[3]
sys.path[:0] = [str(HERE), str(SOURCE / "tests" / "gpu")]

import nvrtc  # noqa: E402
import rules  # noqa: E402
import sass  # noqa: E402

HEADERS = SOURCE / "codegen" / "cuda" / "device"
FIGURES = HERE / "figures.json"
SKIPPED = 77
NO_STEPS = 1  # wgmmas, if the groups are unknown
# The compared kernels take a minute on two processors. Other kernels differ from one of
# these in K or N, or in the format.
COMPARED = ("8b-bf16-*", "8b-fp8-*", "8b-int4_g64-*", "8b-*-gate_up*", "8b-*-down", "1b-*-attention", "1b-bf16-qkv*",
            "1b-bf16-down", "1b-int4_g64-gate_up*", "1b-int4_g64-head*", "moe-*")


def cached(key, made):
    """`made()`, two texts, from the folder that test runs share (INGOT_DEV_CACHE) if it is there."""
    folder = os.environ.get("INGOT_DEV_CACHE")
    if not folder:
        return made()
    path = pathlib.Path(folder) / "code" / f"sass-{hashlib.sha256(key.encode()).hexdigest()}.json"
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        texts = made()
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(f".{os.getpid()}")
    whole.write_text(json.dumps(texts))
    whole.rename(path)
    return texts


def disassembled(tools, name, source, options):
    """The log of ptxas, the output of nvdisasm."""
    library, disassembler = tools
    cubin, log = nvrtc.Nvrtc(library).compile(source, name, [*options, "-I", str(HEADERS)])
    if cubin is None:
        raise RuntimeError(f"{name} does not compile\n{log}")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([disassembler, "-c", file.name], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"nvdisasm fails on {name}\n{done.stderr}")
    return log, done.stdout


def measure(tools, name, source, options):
    """{symbol: figures} of one program."""
    headers = [path.read_text() for path in sorted(HEADERS.glob("*"))]
    versions = [f"{tool} {os.stat(tool).st_size}" for tool in tools]
    log, code = cached("\0".join([*versions, name, source, *options, *headers]), lambda: disassembled(tools, name, source, options))
    used = nvrtc.resources(log)
    # "Potential Performance Loss: wgmma.mma_async instructions are serialized due to … in function 'NAME'"
    serialised = re.findall(r"Performance Loss.*function '(\w+)'", log)
    return {kernel.symbol: {**rules.figures(kernel), "registers": used[kernel.symbol]["registers"],
                            "serialised": kernel.symbol in serialised}
            for kernel in sass.parse(code)}


def passes_of(variant):
    """The number of passes over the epilogue per thread of a few-token kernel; None for
    others. A block makes 16 rows."""
    block = re.search(r"_(few|t\d+)$", variant["symbol"])
    if not block:
        return None
    of_block = variant["grid"][1]["divide"] if block[1] == "few" else int(block[1][1:])
    tokens = -(-of_block // 8) * 8
    return -(-16 * tokens // variant["threads"])


def steps_of(kernel, symbol):
    """The number of wgmmas of a group: of 16 k each (fp8 products: 32), at most those of a chunk of 64 k."""
    if symbol.endswith("_wgmma_fp8"):
        return 4
    groups = [operand["group"] or 64 for operand in kernel["operands"] if operand["kind"] == "weight"]
    return min([64, *groups]) // 16


def measure_all(build, tools, globs):
    """{"KERNEL SYMBOL": (figures, steps of a group)} of the matching kernels, in order."""
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([build / "bin" / "write-cuda-kernels", work, "8b", "1b", "moe"], check=True)
        described = json.loads((pathlib.Path(work) / "kernels.json").read_text())
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
            jobs = []
            for kernel in described["kernels"]:
                if any(fnmatch.fnmatch(kernel["name"], glob) for glob in globs):
                    text = (pathlib.Path(work) / kernel["text"]).read_text()
                    jobs.append((kernel, pool.submit(measure, tools, kernel["name"], text, described["options"])))
            found = {}
            for kernel, job in jobs:
                of_symbol = job.result()
                for variant in kernel["variants"]:
                    symbol, passes = variant["symbol"], passes_of(variant)
                    figures = of_symbol[symbol] if passes is None else rules.once(of_symbol[symbol], passes)
                    found[f"{kernel['name']} {symbol}"] = (figures, steps_of(kernel, symbol))
    return found


def excepted(exceptions, name, rule, figure):
    """The first exception that allows the figure; counts its use."""
    for exception in exceptions:
        if exception["rule"] == rule and fnmatch.fnmatch(name, exception["kernels"]) and figure <= exception["most"]:
            exception["used"] = exception.get("used", 0) + 1
            return exception
    return None


def hold(found, stored, complete):
    """Prints violations; True if there are none. complete: kernels that were not found no longer exist."""
    wrong, lower, exceptions = [], [], [dict(e) for e in stored["exceptions"]]
    for name, (figures, steps) in found.items():
        for rule, figure, what in rules.broken(figures, steps):
            if not excepted(exceptions, name, rule, figure):
                wrong.append(f"{rule}  {name}: {what}")
        if name not in stored["kernels"]:
            wrong.append(f"R6  {name}: no stored figures")
            continue
        more, less = rules.above(figures, dict(zip(("registers", "slots"), stored["kernels"][name])))
        wrong += [f"{rule}  {name}: {what}" for rule, _, what in more]
        lower += [f"{name}: {what}" for what in less]
    wrong += [f"R6  {name}: stored figures of a kernel that is no more"
              for name in stored["kernels"] if complete and name not in found]
    for exception in exceptions:
        used = exception.get("used", 0)
        print(f"known: {exception['rule']} of {exception['kernels']}, {used} kernels: {exception['reason']}"
              + (" (mended: take it out of figures.json)" if complete and not used else ""))
    for line in lower:
        print(f"lower: {line}")
    for line in wrong:
        print(f"wrong: {line}")
    print(f"{len(found)} kernels, {len(wrong)} findings, {len(lower)} figures lower than stored")
    if wrong:
        print(f"after a change that is meant: {pathlib.Path(__file__).name} BUILD --store")
    return not wrong


def print_table(found):
    print(f"{'kernel':46} {'registers':>9} {'slots':>7} {'fences':>6} {'round trips':>11} {'narrow':>6} "
          f"{'per wait':>8} {'spills':>6} {'split':>5}")
    for name, (f, _) in found.items():
        slots = "" if f["slots"] is None else f"{f['slots']:.1f}"
        per_wait = "" if f["per_wait"] is None else f"{f['per_wait']:.1f}"
        print(f"{name:46} {f['registers']:9} {slots:>7} {f['fences']:6} {f['round_trips']:11} {f['narrow']:6} "
              f"{per_wait:>8} {f['spills']:6} {f['split_stores']:5}")


def write_figures(kernels, exceptions):
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(figures)}" for name, figures in kernels.items())
    known = ",\n".join(f"  {json.dumps(exception)}" for exception in exceptions)
    FIGURES.write_text('{"exceptions": [\n%s\n ],\n "kernels": {\n%s\n }}\n' % (known, rows))


def self_test(tools):
    options = ["--gpu-architecture=sm_90a", "--std=c++17", "-default-device", "--fmad=false", "--ptxas-options=-v"]
    failed = []
    for symbol, figures in measure(tools, "broken", (HERE / "broken.cu").read_text(), options).items():
        steps = 4 if symbol.startswith("r3") else NO_STEPS
        found = [rule for rule, _, _ in rules.broken(figures, steps)]
        wanted = [] if symbol == "sound" else [f"R{symbol[1]}"]
        print(f"{symbol}: {', '.join(found) or 'nothing'}")
        if found != wanted:
            failed.append(f"{symbol}: found {found}, wanted {wanted}: {figures}")
        if symbol == "sound":
            for name in ("registers", "slots"):
                lowered = {"registers": 10000, "slots": 10000, name: (figures[name] or 1) - 1}
                seen = rules.above({**figures, "slots": figures["slots"] or 1}, lowered)[0]
                if [rule for rule, _, _ in seen] != ["R6"]:
                    failed.append(f"R6 of {name}: found {seen}")
    for line in failed:
        print(f"wrong: {line}")
    return not failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    for mode in ("--self-test", "--table", "--store"):
        parser.add_argument(mode, action="store_true")
    parser.add_argument("--kernels", nargs="+")
    chosen = parser.parse_args()
    packages = glob.glob(str(chosen.build / "venv/lib/python*/site-packages"))
    sys.path += packages
    disassembler = glob.glob(str(chosen.build / "venv/lib/python*/site-packages/nvidia/*/bin/nvdisasm"))
    try:
        library = nvrtc.Nvrtc().path
    except OSError as error:
        print(f"skipped: {error}")
        return SKIPPED
    if not disassembler:
        print("skipped: no nvdisasm; `./dev setup` installs the wheel (tests/requirements.txt)")
        return SKIPPED
    tools = (library, disassembler[0])
    if chosen.self_test:
        return 0 if self_test(tools) else 1
    globs = chosen.kernels or (["*"] if chosen.table else COMPARED)
    found = measure_all(chosen.build, tools, globs)
    stored = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"exceptions": [], "kernels": {}}
    if chosen.table:
        print_table(found)
    if chosen.store:
        now = {name: [f["registers"], f["slots"]] for name, (f, _) in found.items()}
        kept = {name: figures for name, figures in stored["kernels"].items()
                if chosen.kernels and not any(fnmatch.fnmatch(name.split()[0], glob) for glob in globs)}
        write_figures(dict(sorted({**kept, **now}.items())), stored["exceptions"])
        stored = json.loads(FIGURES.read_text())
    return 0 if chosen.table or hold(found, stored, complete=not chosen.kernels) else 1


if __name__ == "__main__":
    sys.exit(main())

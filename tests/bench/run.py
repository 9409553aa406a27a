"""Ingot beside its peers on the same checkpoints, interleaved in one run: `dev bench`.

  run.py --ingot BIN --checkpoints DIR --work DIR --peers DIR [--rounds 3] [--no-peers] [--model NAME]

Every round measures the machine's limits (peers/limits.c), then for each checkpoint llama.cpp (peers/peers.py
in a Python environment of its own) and Ingot, one after the other, so that all see the same machine. The
table holds medians over the rounds, the ratio to llama.cpp and the share of the limit; results.json holds
everything. Run nothing else meanwhile.
"""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
PEERS = ["llama-cpp-python==0.3.36"]
START_PROMPT = 16  # tokens of the start-to-first-token measurement


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(*command, **options):
    done = subprocess.run([str(x) for x in command], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def install_peers(folder):
    python = folder / "bin/python"
    stamp = folder / "installed"
    wanted = "\n".join(PEERS)
    if not stamp.exists() or stamp.read_text() != wanted:
        say(f"==> installing {', '.join(PEERS)} into {folder} (llama.cpp is compiled for this CPU: some minutes)")
        run(sys.executable, "-m", "venv", folder)
        run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PEERS)
        stamp.write_text(wanted)
    return python


def build_limits(work):
    program = work / "limits"
    source = HERE / "peers" / "limits.c"
    if "avx512_vnni" not in pathlib.Path("/proc/cpuinfo").read_text():
        return None  # its loops are AVX-512
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        run("clang-22", "-O3", "-march=native", "-funroll-loops", "-pthread", source, "-o", program)
    return program


def limits(program, work):
    """The line for all processors."""
    return json.loads(run(program, cwd=work).splitlines()[-1])


def llama(python, checkpoint):
    """{test: tokens per second} as ingot bench names them."""
    figures = {}
    for line in run(python, HERE / "peers" / "peers.py", "llama", checkpoint).splitlines():
        row = json.loads(line)
        if "parallel" in row:
            figures[f"parallel{row['parallel']}"] = row["new_tokens_per_s"]
        else:
            figures.update(pp512=row["pp512"], tg128=row["tg128"])
    return figures


def ingot_figures(ingot, engine):
    rows = json.loads(run(ingot, "bench", engine, "--parallel", "8,32", "-r", "3", "--format", "json", "--quiet"))
    return {row["test"]: row["tokens_per_s"] for row in rows}


def first_token_seconds(ingot, engine):
    """Process start to the end of a one-token answer, page cache warm."""
    prompt = " ".join(["one"] * (START_PROMPT - 1))
    start = time.monotonic()
    run(ingot, "run", engine, prompt, "-n", "1", "--greedy", "--quiet")
    return time.monotonic() - start


def compile_engine(ingot, checkpoint, engine):
    start = time.monotonic()
    run(ingot, "compile", checkpoint, "-o", engine, "--quiet")
    return time.monotonic() - start


def collect(store, name, figures):
    for test, value in figures.items():
        store.setdefault(name, {}).setdefault(test, []).append(value)


def medians(store):
    return {name: {test: statistics.median(values) for test, values in tests.items()} for name, tests in store.items()}


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    return f"{model}, {os.cpu_count()} threads, {platform.system()} {platform.release()}"


def table(results, engine_bytes):
    limit = results["limits"]
    lines = [f"{results['machine']}; medians of {results['rounds']} rounds, everything interleaved in one run; `fast`."]
    if limit:
        lines.append(f"Limits measured beside it: mapped read {limit['mapped_read_GBps']:.1f} GB/s, "
                     f"int8 {limit['int8_TOPS']:.2f} TOPS.")
    lines += ["", "| checkpoint | test | Ingot tok/s | llama.cpp tok/s | ratio | of the limit |", "|---|---|---:|---:|---:|---:|"]
    for name, model in results["models"].items():
        for test, value in model["ingot"].items():
            peer = model.get("llama.cpp", {}).get(test)
            share = ""
            if limit and test == "tg128":  # each token reads every weight once
                share = f"{value * engine_bytes[name] / (limit['mapped_read_GBps'] * 1e9):.0%} of read"
            peer_text, ratio = (f"{peer:.1f}", f"{value / peer:.2f}") if peer else ("", "")
            lines.append(f"| {name} | {test} | {value:.1f} | {peer_text} | {ratio} | {share} |")
        lines.append(f"| {name} | start to first token | {model['start']['first_token_s'] * 1000:.0f} ms | | | |")
        lines.append(f"| {name} | compile | {model['compile_s']:.1f} s | | | |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("ingot", "checkpoints", "work", "peers"):
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--model", choices=["smollm2", "gemma3"], action="append")
    options = parser.parse_args()
    names = options.model or ["smollm2", "gemma3"]
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)

    python = None if options.no_peers else install_peers(options.peers.resolve())
    limits_program = build_limits(work)
    checkpoints = {name: (options.checkpoints / f"{name}.gguf").resolve() for name in names}
    engines = {name: work / f"{name}.ingot" for name in names}
    compile_seconds = {name: compile_engine(options.ingot, checkpoints[name], engines[name]) for name in names}

    limit_rounds, stores = [], {name: {} for name in names}
    for round_number in range(options.rounds):
        say(f"==> round {round_number + 1} of {options.rounds}")
        if limits_program:
            limit_rounds.append(limits(limits_program, work))
        for name in names:
            if python:
                collect(stores[name], "llama.cpp", llama(python, checkpoints[name]))
            collect(stores[name], "ingot", ingot_figures(options.ingot, engines[name]))
            collect(stores[name], "start", {"first_token_s": first_token_seconds(options.ingot, engines[name])})

    results = {
        "machine": machine(),
        "rounds": options.rounds,
        "limits": {key: statistics.median(r[key] for r in limit_rounds) for key in limit_rounds[0]} if limit_rounds else None,
        "models": {name: {**medians(stores[name]), "compile_s": compile_seconds[name],
                          "engine_bytes": engines[name].stat().st_size} for name in names},
        "samples": stores,
    }
    (work / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    weights = {name: json.loads(run(options.ingot, "inspect", engines[name], "--json"))["statement"]["weights"] for name in names}
    text = table(results, weights)
    (work / "results.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

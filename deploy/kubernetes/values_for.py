"""values_for.py ENGINE [--context N] [--max-seqs N] [--kv-memory SIZE] [--cpus N] [--ingot PROGRAM]: prints values
of the chart for an engine, with the memory that its memory plan states.

A pod's memory is known before it starts. It is the sum of the KV pages and working memory
of the engine's memory plan, the mapped file (page cache, charged to the pod that read it
first; it can be evicted, but must then be read again), and the program's own memory. So
requests and limits are equal, and no pod is killed within the memory it was promised.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys

PROGRAM = 96 << 20  # code, thread stacks, connections, request bodies: an allowance (10 MiB when idle)
MIB = 1 << 20


def statement(ingot, engine, limits):
    done = subprocess.run([ingot, "inspect", engine, "--json", *limits], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)["programs"][0]["statement"]  # of an engine for CPUs and GPUs, the CPU program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", type=pathlib.Path)
    parser.add_argument("--context", type=int, default=4096)
    parser.add_argument("--max-seqs", type=int, default=32)
    parser.add_argument("--cpus", type=int, default=4)
    parser.add_argument("--kv-memory", type=int, metavar="MIB", help="default: what --max-seqs of --context take")
    parser.add_argument("--ingot", default="ingot")
    options = parser.parse_args()
    memory = statement(options.ingot, options.engine, ["--context", str(options.context), "--max-seqs", str(options.max_seqs),
                                                                   "--threads", str(options.cpus), "--swap", "0"])
    kv = options.kv_memory or math.ceil(memory["kv"] / MIB)
    file = options.engine.stat().st_size
    total = kv * MIB + memory["allocated"] - memory["kv"] + file + PROGRAM
    size = math.ceil(total / MIB)
    print(f"# {options.engine.name}: {kv} MiB KV, {math.ceil((memory['allocated'] - memory['kv']) / MIB)} MiB working memory, "
          f"{math.ceil(file / MIB)} MiB mapped file, {PROGRAM // MIB} MiB program\n"
          f"model: {{name: {options.engine.stem}, engine: {options.engine.name}}}\n"
          f"server: {{context: {options.context}, maxSeqs: {options.max_seqs}, kvMemory: {kv}Mi, threads: {options.cpus}}}\n"
          f"resources:\n  requests: {{cpu: \"{options.cpus}\", memory: {size}Mi}}\n  limits: {{memory: {size}Mi}}")


if __name__ == "__main__":
    main()

"""Compares Ingot with its peers on the same checkpoints, interleaved in one run: `dev bench`. docs/benchmarks.md
explains the rows.

  run.py --ingot BIN --checkpoints DIR --work DIR --peers DIR [--rounds 3] [--only ROW]… [--quick] [--no-peers] [--vllm]
  run.py … --formats [--ik DIR] [--isa LEVEL] [--rounds 3] [--only ROW]…      the 1B shape in each format
  run.py … --servers [--rounds 3] [--only LOAD]… [--no-peers] [--vllm]      ingot serve and the peers' servers
  (serving.py) run.py --work DIR --docs DIR --write-docs      measures nothing: the last runs' tables go into
  benchmarks.md, their
                                                 picture beside it

A round goes through the rows; a row measures Ingot and its peers one after the other, in reverse order in every other
round, with the machine's limits measured before and after each of them. Run nothing else meanwhile.
"""
import argparse
import json
import os
import pathlib
import platform
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))

import install  # noqa: E402  (of peers/)
import measure  # noqa: E402
import picture  # noqa: E402
import report  # noqa: E402
import rows as table_rows  # noqa: E402
import serving  # noqa: E402
from measure import PEER_NAMES, say  # noqa: E402


def wrong(text):
    say(f"run.py: {text}")
    sys.exit(2)


def machine():
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    first = {line.split("\t")[0]: line.split(":", 1)[1].strip() for line in reversed(cpuinfo) if ":" in line}
    model = first.get("model name", platform.machine())
    if "cpu family" in first:  # hypervisors shorten the name
        model += f" (family {first['cpu family']}, model {first['model']})"
    return f"{model}, {os.cpu_count()} threads, {platform.system()} {platform.release()}"


def installed_peers(options):
    peers = {}
    if not (options.servers or options.no_peers):
        python = install.ensure(options.peers.absolute(), install.SHAPES + install.PEERS)
        peers = {"llama": python, "openvino": python}
    if options.ik:
        program = options.ik / "llama-bench"
        if not os.access(program, os.X_OK):
            wrong(f"--ik {options.ik}: there is no llama-bench; give the folder of programs that ik_llama.cpp's build made")
        peers["ik"] = options.ik.resolve()
    if options.vllm:
        peers["vllm"] = install.ensure_vllm(options.peers.absolute().parent / "peers-vllm")
    return peers


def measure_row(bench, row, backwards, missing):
    """One sample: every contestant, with the limits before and after it. None without Ingot's figure."""
    contestants = {"ingot": row.ingot,
                   **{peer: function for peer, function in row.peers.items() if peer in bench.peers}}
    figures, before = {}, bench.limits()
    for name in reversed(contestants) if backwards else contestants:
        try:
            figure = contestants[name](bench)
        except measure.Failed as failed:
            who = PEER_NAMES.get(name, "Ingot")
            say(f"    {who} has no figure: {failed}")
            missing.setdefault(f"{row.work}, {who}", str(failed).splitlines()[-1])
            before = bench.limits()
            continue
        after = bench.limits()
        figures[name] = {"value": figure.value, "also": figure.also, "before": before, "after": after}
        before = after
    return {"figures": figures} if "ingot" in figures else None


def prepare(bench, rows):
    """Makes the checkpoints and engines of the rows, so that no row waits for them in its first round."""
    for row in rows:
        if row.name.startswith("deep-prefill-"):
            bench.engine("1b-q4_0", row.name.removeprefix("deep-prefill-"))
        for name in ("1b-q4_0", "1b-q8_0", "smollm2", "gemma3"):
            if name in row.name or (name == "1b-q4_0" and row.name in ("batch8", "start-1b", "compile-1b")):
                bench.engine(name)
    bench.engine("smollm2")
    os.sync()


def summaries(bench, rows, samples):
    return [report.summarise(row, row.per_token(bench) if row.per_token else None, samples[row.name])
            for row in rows if samples[row.name]]


def limits_seen(samples):
    """{key: every value}"""
    seen = {}
    for figures in (sample["figures"] for row in samples.values() for sample in row):
        for figure in figures.values():
            for key in ("mapped_read_GBps", "int8_TOPS") if figure["before"] else ():
                seen.setdefault(key, []).extend((figure["before"][key], figure["after"][key]))
    return seen


def select(rows, options):
    names = [row.name for row in rows]
    for name in options.only:
        if name not in names:
            wrong(f"there is no row {name}; there are: {' '.join(names)}")
    return [row for row in rows if (row.name in options.only if options.only else row.small or not options.quick)]


def write_docs(work, docs):
    tables = [(work / f"{name}.json", table, markers)
              for name, table, markers in (("results", report.table, report.MARKERS),
                                           ("formats", report.table, report.FORMATS_MARKERS),
                                           ("formats-avx2", report.table, report.AVX2_MARKERS),
                                           ("servers", serving.table, serving.MARKERS))
              if (work / f"{name}.json").exists()]
    if not tables:
        sys.exit(f"run.py: there is no {work / 'results.json'}: run ./dev bench first")
    try:
        for file, table, markers in tables:
            results = json.loads(file.read_text())
            report.write_between(docs / "benchmarks.md", table(results), *markers)
            say(f"==> {docs / 'benchmarks.md'} has the table of {file}")
            if markers == report.MARKERS:
                (docs / "speed.svg").write_text(picture.svg(results))
                say(f"==> {docs / 'speed.svg'} is the picture of it")
    except ValueError as error:
        sys.exit(f"run.py: {error}")
    return 0


def measure_servers(bench, options, rounds):
    """Writes servers.md and servers.json; exit code 1 if Ingot has no figure."""
    loads = [load.name for group in serving.GROUPS for load in group.loads]
    for name in options.only:
        if name not in loads:
            wrong(f"there is no load {name}; there are: {' '.join(loads)}")
    python = None if options.no_peers else install.ensure(options.peers.absolute(), install.SERVERS)
    name = "servers-part" if options.only else "servers"

    def keep(samples, missing):  # after every round, so that an interrupted run leaves a table
        results = {**facts(bench), "samples": samples, "missing": missing}
        (bench.work / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")
        (bench.work / f"{name}.md").write_text(serving.table(results))

    samples = serving.measure(bench, python, options, rounds, keep)
    print((bench.work / f"{name}.md").read_text())
    return 0 if all("Ingot" in round_.get(load, {}) for round_ in samples for load in options.only or loads) else 1


def facts(bench):
    return {"machine": machine() + (f"; Ingot at {bench.isa}" if bench.isa else ""), "date": report.today(),
            "ingot": measure.run(bench.ingot, "--version").split(",")[0].strip()}


def results_name(options):
    """The name of the results: a partial run does not overwrite the last complete table."""
    name = ("formats" if options.formats else "results") + (f"-{options.isa}" if options.isa else "")
    return f"{name}-part" if options.only or options.quick else name


def write(bench, options, rows, samples, missing, rounds):
    """After every round, so that an interrupted run leaves a table."""
    results = {**facts(bench),
               "rounds": rounds, "limits": limits_seen(samples), "rows": summaries(bench, rows, samples),
               "missing": [f"{what}: {why}" for what, why in missing.items()], "samples": samples}
    (bench.work / f"{results_name(options)}.json").write_text(json.dumps(results, indent=1) + "\n")
    (bench.work / f"{results_name(options)}.md").write_text(report.table(results))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("ingot", "checkpoints", "work", "peers", "docs"):
        parser.add_argument(f"--{name}", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, help="default: 3, with --quick 1")
    parser.add_argument("--only", action="append", default=[], metavar="ROW", help="this row alone (repeatable)")
    parser.add_argument("--quick", action="store_true", help="the rows of SmolLM2")
    parser.add_argument("--no-peers", action="store_true", help="Ingot and the limits alone, beside what --ik and --vllm name")
    parser.add_argument("--vllm", action="store_true", help="install and measure vLLM too (several gigabytes)")
    parser.add_argument("--ik", type=pathlib.Path, metavar="DIR", help="the folder of ik_llama.cpp's programs")
    parser.add_argument("--isa", metavar="LEVEL", help="the CPU level of Ingot's figures (default: the best one)")
    parser.add_argument("--formats", action="store_true", help="the 1B shape in each format")
    parser.add_argument("--servers", action="store_true", help="ingot serve beside the peers' servers")
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    work = options.work.resolve()
    if options.write_docs:
        return write_docs(work, options.docs)
    rounds = options.rounds if options.rounds is not None else 1 if options.quick else 3
    if rounds < 1:
        wrong(f"--rounds {rounds}: 1 or more")
    work.mkdir(parents=True, exist_ok=True)

    bench = measure.Bench(options.ingot, options.checkpoints, work, installed_peers(options),
                          lambda: install.ensure(options.peers.absolute(), install.SHAPES), options.isa)
    if options.servers:
        return measure_servers(bench, options, rounds)
    rows = select(table_rows.formats() if options.formats else table_rows.rows(bench), options)
    if not options.formats:
        prepare(bench, rows)
    samples, missing, start = {row.name: [] for row in rows}, {}, time.monotonic()
    for number in range(rounds):
        for row in rows:
            if row.once and number + 1 < rounds:
                continue
            say(f"==> round {number + 1} of {rounds}, {time.monotonic() - start:.0f} s: {row.name}")
            if sample := measure_row(bench, row, number % 2 == 1, missing):
                samples[row.name].append(sample)
        write(bench, options, rows, samples, missing, number + 1)
    print((work / f"{results_name(options)}.md").read_text())
    return 0 if all(samples.values()) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except measure.Failed as failed:
        sys.exit(f"run.py: {failed}")

#!/usr/bin/env python3
"""Makes tables from a run's lines and compares them with predictions; also works on a run that ended early.

    report.py RESULTS.jsonl [--predictions FILE] [-o REPORT.md]

Errors come first, then predictions that were off by more than a quarter, then the tables.
"""
import argparse
import json
import pathlib
import re
import sys

MISS = 0.25
# A Llama engine's kernels, by name.
ROLES = {
    "qkv": r"projections_0", "o": r"residual_0", "gate_up": r"gate_up_0", "down": r"residual_1", "head": r"linear_0",
    "attention": r"attention_0"
}
PRODUCTS = ("qkv", "o", "gate_up", "down", "head")
PARTS = ("ceilings", "replay", "check", "answers", "serve", "kernels", "bench", "knobs", "peers")


def read(text):
    """The lines, and the number of invalid ones: a killed run may leave a partial line."""
    lines, broken = [], 0
    for line in text.splitlines():
        try:
            found = json.loads(line)
            lines.append(found) if isinstance(found, dict) else None
        except ValueError:
            broken += 1
    return lines, broken


def role_of(kernel):
    return next((role for role, name in ROLES.items() if re.match(rf"{name}(_|$)", str(kernel))), None)


def number(value):
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.01 else f"{value:.2g}"


def table(head, rows):
    if not rows:
        return []
    return [
        "| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1),
        *("| " + " | ".join(map(number, row)) + " |" for row in rows), ""
    ]


class Run:
    def __init__(self, lines):
        self.lines = lines

    def of(self, part, **fields):
        """The lines of a part with these fields."""
        return [
            line for line in self.lines
            if line.get("part") == part and all(line.get(name) == value for name, value in fields.items())
        ]

    def printed(self, part, **fields):
        """The output of the part's programs, with the fields that the run added: {"engine", ...}."""
        found = [{**line["line"], **line} for line in self.of(part) if "line" in line]
        return [line for line in found if all(line.get(name) == value for name, value in fields.items())]

    def ends(self):
        """{part: how it ended}; a part that was started and has no end was running when the run ended."""
        ended = {
            line["part"]: line for line in self.lines
            if "end" in line and "command" not in line and line.get("part") != "run"
        }
        begun = next((line.get("parts") for line in self.of("run") if "parts" in line), None) or PARTS
        return {part: ended.get(part) for part in dict.fromkeys((*begun, *ended))}

    def kernels(self, engine, tokens=None):
        """One line per kernel, variant and context; if there are both kinds of edges, those of programmatic
        edges."""
        chosen = {}
        for line in self.printed("kernels", engine=engine):
            if "us" in line and line.get("kernel") and tokens in (None, line.get("tokens")):
                key = line["kernel"], line.get("tokens"), line.get("context")
                if key not in chosen or line.get("edges") == "programmatic":
                    chosen[key] = line
        return list(chosen.values())

    def shortest(self, engine, tokens, context=None):
        """{kernel: its line} for one context: the shortest, or the given one (products have none)."""
        found = {}
        for line in sorted(self.kernels(engine, tokens), key=lambda line: line.get("context") or 0):
            if context is None or line.get("context") == context:
                found.setdefault(line["kernel"], line)
        return found


# ----------------------------------------------------------------------- errors


def problems(run, broken):
    found = []
    for part, end in run.ends().items():
        if end is None:
            found.append(f"**{part}**: not in the file: the run ended before or in it")
        elif end["end"] != "done":
            found.append(f"**{part}**: {end['end']}: {last_line(end.get('why', ''))}")
    for line in run.lines:
        if "command" in line and line.get("end") in ("failed", "timeout"):
            words = last_line(line.get("error") or line.get("text") or "")
            found.append(
                f"{line['part']}, {line['command']}: {line['end']} after {number(line.get('seconds'))} s, "
                f"exit {line.get('exit')}{': ' + words if words else ''}"
            )
    lost = [
        line for line in (*run.printed("replay"), *run.printed("check"), *run.printed("kernels"))
        if line.get("ok") is False or "error" in line["line"]
    ]
    for line in lost[:40]:
        name = line.get("symbol") or line.get("kernel") or line.get("command")
        what = line["line"].get("error") or ", ".join(
            f"{key} {number(value)}" for key, value in line["line"].items()
            if key not in ("ok", "symbol") and not isinstance(value, (list, dict)))
        found.append(f"{line['part']}: {name}: {what}")
    if len(lost) > 40:
        found.append(f"replay and check: {len(lost) - 40} more lines are not ok")
    for line in run.of("answers"):
        if line.get("different"):
            found.append(
                f"answers: {line['engine']}, {line['way']}: {line['different']} of {line['answers']} differ from the "
                f"first, from id {line.get('at')} on"
            )
    for line in run.printed("serve"):
        if line.get("failed"):
            found.append(f"serve: {line['engine']}, {line.get('users')} users: {line['failed']} requests failed")
    if broken:
        found.append(f"{broken} lines of the file are none")
    return found


def last_line(text):
    return (text.strip().splitlines() or [""])[-1][:300]


# ---------------------------------------------------------------- predictions


def measured(run, prediction):
    """The figure that a prediction is about; None if it is missing."""
    source, value = dict(prediction["from"]), prediction["value"]
    part, roles = source.pop("part"), source.pop("roles", None)
    if roles is not None:
        roles = PRODUCTS if roles == "products" else roles
        by_role = {
            role_of(kernel): line for kernel, line in run.shortest(**source).items() if role_of(kernel) in roles
        }
        if set(by_role) != set(roles):
            return None
        us = sum(line["us"] * line.get("launches", 1) for line in by_role.values())
        if value == "tflops":  # an engine may not know how many operations its kernels do
            return sum((line.get("flops") or 0) * line.get("launches", 1) for line in by_role.values()) / us / 1e6 or None
        return us if value == "sum_us" else sum(line["us"] for line in by_role.values())
    for line in run.printed(part, **source):
        if value == "step_us" and line.get("tokens_per_s") and line.get("new"):
            return 1e6 * line["sequences"] / line["tokens_per_s"]
        if value in line:
            return line[value]
    return None


def off(prediction, figure):
    """How far the figure is outside the predicted range, relative to the nearer end; 0
    within. Positive: more than predicted."""
    if figure > prediction["high"]:
        return figure / prediction["high"] - 1
    if figure < prediction["low"]:
        return figure / prediction["low"] - 1
    return 0.0


def predictions_table(run, predictions):
    rows, misses, missing = [], [], []
    for one in predictions["predictions"]:
        figure = measured(run, one)
        if figure is None:
            missing.append(one["name"])
            continue
        far = off(one, figure)
        span = number(one["low"]) + ("" if one["low"] == one["high"] else f"-{number(one['high'])}")
        rows.append([
            one["name"], span, one["unit"], figure, f"{far:+.0%}" if far else "within",
            one.get("goal", ""),
            one.get("others", "")
        ])
        if abs(far) > MISS:
            more_is_better = not one["unit"].startswith("us")
            better = (far > 0) == more_is_better
            text = f"{number(figure)} {one['unit']}, predicted {span}: {far:+.0%}, {'better' if better else 'worse'}"
            misses.append((abs(far), f"{one['name']}: {text}"))
    lines = ["## Beside the predictions", "", f"Predicted: {predictions['of']}.", ""]
    lines += [f"Missed by more than {MISS:.0%}:", "", *(f"- {text}" for _, text in sorted(misses, reverse=True)), ""
              ] if misses else []
    if rows and not misses:
        lines += [f"None missed by more than {MISS:.0%}.", ""]
    lines += table(["what", "predicted", "unit", "measured", "off", "goal", "others"], rows)
    lines += [f"Not measured ({len(missing)}): {'; '.join(missing)}.", ""] if missing else []
    return lines


# ---------------------------------------------------------------- tables


def overview(run):
    rows = [[part, end["end"] if end else "missing",
             end.get("seconds") if end else None] for part, end in run.ends().items()]
    return table(["part", "end", "s"], rows)


def ceilings(run):
    rows = []
    for line in run.printed("ceilings"):
        if line.get("ceiling") == "clusters" and "blocks" in line:
            rows.append([
                f"clusters of {line['blocks']} blocks of {line['shared_bytes'] // 1024} KB at once", line["at_once"],
                f"{line['processors_used']} processors"
            ])
        elif "gb_s" in line:
            rows.append([line["ceiling"], line["gb_s"], "GB/s"])
        elif "limit" in line:
            rows.append([f"{line['limit']} products of a library, {line['n']}", line["tflops"], "TFLOPS"])
    for line in run.lines:
        if line.get("gpu"):
            rows.append([
                f"clock {line['when']}, of at most {line['gpu'].get('clocks.max.sm')}", line["gpu"].get(
                    "clocks.sm", ""), "MHz"
            ])
    return table(["ceiling", "figure", "unit"], rows)


def replay(run):
    rows = [[
        "replayed launches", line["summary"].get("launches"), line["summary"].get("bit_equal"),
        line["summary"].get("failed"), line["summary"].get("lost_symbols")
    ] for line in run.printed("replay", command="all launches") if isinstance(line.get("summary"), dict)]
    for engine in dict.fromkeys(line["engine"] for line in run.printed("check")):
        lines = run.printed("check", engine=engine)
        held = [line for line in lines if "ok" in line]
        rows.append([
            f"{engine} beside naive kernels",
            len(held), "",
            sum(not line["ok"] for line in held),
            sum("error" in line["line"] for line in lines)
        ])
    worst = {}
    for line in run.printed("check"):
        if line.get("limit") and line.get("worst") is not None:
            worst[line["engine"]] = max(worst.get(line["engine"], (0, "")),
                                        (line["worst"] / line["limit"],
                                         f"{line.get('variant') or line['kernel']}, {line.get('tokens')} tokens"))
    return table(["what", "launches", "bit-equal", "wrong", "lost"], rows) + \
        [f"- {engine}: the nearest to its limit has {share:.0%} of it: {what}"
         for engine, (share, what) in worst.items()] + [""] * bool(worst)


def answers(run):
    ways = dict.fromkeys(line["way"] for line in run.of("answers") if "different" in line)
    cells = {}
    for line in run.of("answers"):
        if "different" in line:
            cells.setdefault(line["engine"], {})[
                line["way"]] = "equal" if not line["different"] else f"**{line['different']} of {line['answers']}**"
        elif "beside_cpu" in line:
            cells.setdefault(line["engine"], {})["nll beside the CPU's"] = line["beside_cpu"]
    load = {}
    for line in run.printed("answers"):
        if isinstance(line.get("timings"), dict):
            load.setdefault(line["engine"], line["timings"].get("load_ms"))
    head = [*ways, "nll beside the CPU's"]
    return table(["engine", *head, "load, ms"],
                 [[engine, *(found.get(way, "")
                             for way in head), load.get(engine)] for engine, found in cells.items()])


def serve(run):
    means = {(line["engine"], line["users"]): line["server"] for line in run.of("serve") if "server" in line}
    rows = []
    for line in run.printed("serve"):
        if "output_throughput" in line:
            server = means.get((line["engine"], line["users"]), {})
            rows.append([
                f"{line['engine']}, {line['users']} users, {line['prompt']} in, {line['new']} out",
                line["output_throughput"],
                line.get("completed"),
                line.get("failed"),
                line.get("p50_e2el_ms"),
                server.get("ttft_ms"),
                server.get("itl_ms"),
                server.get("step_ms")
            ])
    return table(["load", "tok/s", "answered", "failed", "p50 of all, ms", "mean TTFT", "mean ITL", "mean step"], rows)


def kernels(run):
    lines = []
    for engine in dict.fromkeys(line["engine"] for line in run.printed("kernels")):
        found = run.kernels(engine)
        tokens = sorted({line["tokens"] for line in found if line.get("tokens") is not None})
        rows = dict.fromkeys((line["kernel"], line.get("context")) for line in found)
        at = {(line["kernel"], line.get("context"), line.get("tokens")): line for line in found}

        def cell(line):
            if line is None:
                return ""
            rate = f", {number(line['tflops'])} TF" if (line.get("tokens") or 0) > 64 and line.get(
                "tflops") else f", {number(line['gb_s'])} GB/s" if line.get("gb_s") else ""
            share = f", {line['of_bound']:.0%}" if line.get("of_bound") else ""
            return f"{number(line['us'])}{rate}{share}"

        body = [[
            f"{role_of(kernel) or kernel}" +
            (f" @ {number(context)}" if context and len({c for k, c in rows if k == kernel}) > 1 else ""),
            *(cell(at.get((kernel, context, count))) for count in tokens)
        ] for kernel, context in rows]
        lines += [
            f"### {engine}", "", "us of a launch, rate, share of its bound, by tokens of the step.", "",
            *table(["kernel", *map(number, tokens)], body)
        ]
    return lines


def step_against_sum(run):
    """The bench time of a one-token step, the sum of its kernels' times, and the time of
    the step's graph replayed repeatedly."""
    rows = []
    for engine in dict.fromkeys(line["engine"] for line in run.printed("kernels")):
        steps = [
            line["line"]["step"] for line in run.printed("kernels", engine=engine)
            if isinstance(line["line"].get("step"), dict)
        ]
        for step in steps:
            if step.get("without"):
                continue
            tokens, context, edges = step.get("tokens"), step.get("context"), step.get("edges")
            timed = [
                line for line in run.printed("bench", engine=engine, prompt=0, sequences=tokens)
                if line.get("tokens_per_s") and line["depth"] <= (context or 0)
            ]
            bench = 1e6 * tokens / max(timed, key=lambda line: line["depth"])["tokens_per_s"] if timed else None
            graph, total = step.get("us_step_graph"), step.get("us_sum_of_kernels")
            rows.append([
                f"{engine}, {tokens} tokens at {number(context)}{', ' + edges if edges else ''}", total, graph,
                f"{graph / total - 1:+.0%}" if graph and total else "",
                step.get("host_us"), bench, f"{bench / graph - 1:+.0%}" if bench and graph else ""
            ])
    return table(["step", "sum of kernels, us", "graph on end, us", "over sum", "host, us", "bench, us", "over graph"],
                 rows)


def without(run):
    """The time that a step saves when one kernel is left out, and the time of that kernel measured by itself."""
    rows = []
    for line in run.printed("kernels"):
        step = line["line"].get("step")
        if isinstance(step, dict) and step.get("without"):
            key = {name: step.get(name) for name in ("tokens", "context", "edges")}
            whole = next(
                (other["line"]["step"] for other in run.printed("kernels", engine=line["engine"])
                 if isinstance(other["line"].get("step"), dict) and not other["line"]["step"].get("without") and all(
                     other["line"]["step"].get(name) == value for name, value in key.items())), None)
            alone = [
                one for one in run.kernels(line["engine"], step.get("tokens"))
                if one["kernel"] == step["without"] and one.get("context") in (None, step.get("context"))
            ]
            if whole and whole.get("us_step_graph") and step.get("us_step_graph"):
                took = sum(one["us"] * one.get("launches", 1) for one in alone) or None
                rows.append([
                    f"{line['engine']}, {step['tokens']} tokens at {number(step.get('context'))}: "
                    f"{role_of(step['without']) or step['without']}",
                    whole["us_step_graph"] - step["us_step_graph"], took
                ])
    return table(["step without", "less, us", "alone, us"], rows)


def bench(run):
    rows = {}
    for line in run.printed("bench"):
        if "tokens_per_s" in line:
            rows.setdefault(line["test"], {})[line["engine"]] = line
    engines = list(dict.fromkeys(engine for found in rows.values() for engine in found))

    def cell(line):
        if line is None:
            return ""
        step = f" ({number(1e6 * line['sequences'] / line['tokens_per_s'])} us)" if line.get("new") else ""
        return number(line["tokens_per_s"]) + step

    return table(["test, tok/s (us a step)", *engines],
                 [[test, *(cell(found.get(engine)) for engine in engines)] for test, found in rows.items()])


def knobs(run):
    rows = {}
    for line in run.printed("knobs"):
        if "tokens_per_s" in line:
            rows.setdefault((line["engine"], line["test"]), {})[line["knob"]] = line["tokens_per_s"]
    names = list(dict.fromkeys(knob for found in rows.values() for knob in found))
    body = []
    for (engine, test), found in rows.items():
        first = found.get(names[0])
        body.append([
            f"{engine}, {test}",
            *(number(found[name]) +
              (f" ({found[name] / first - 1:+.1%})" if first and name != names[0] else "") if name in found else ""
              for name in names)
        ])
    return table(["tok/s", *names], body)


def peers(run):
    """The times of torch's and triton's products and attention in us, and ours at the same
    shape and number of tokens."""
    out, groups = [], {}
    for line in run.printed("peers"):
        if "us" in line:
            name = line["kernel"] + (f" at {number(line['context'])}" if line.get("context") else "")
            groups.setdefault((line["shape"], line["peer"]), {}).setdefault(name, {})[line["tokens"]] = line
    for (shape, peer), rows in groups.items():
        mine = {}
        for line in run.kernels(shape + ("-fp8" if peer == "torch._scaled_mm" else "")):
            mine.setdefault((role_of(line["kernel"]), line.get("tokens")), []).append(line)

        def cell(line):
            if line is None:
                return ""
            ours = [
                one for one in mine.get((line["kernel"], line["tokens"]), [])
                if not line.get("context") or one.get("context") == line["context"]
            ]
            rate = f"{number(line['tflops'])} TF" if line["tokens"] > 64 else f"{number(line['gb_s'])} GB/s"
            return f"{number(line['us'])}, {rate}" + (
                f"; ours {number(ours[0]['us'])}, {ours[0]['us'] / line['us']:.2f} times" if ours else "")

        tokens = sorted({count for found in rows.values() for count in found})
        out += [
            f"### {shape}, {peer}", "",
            *table(["us, rate; ours, by tokens", *map(number, tokens)],
                   [[name, *(cell(found.get(count)) for count in tokens)] for name, found in rows.items()])
        ]
    return out


SECTIONS = (("What this GPU can do", ceilings), ("Numbers", replay),
            ("Answers, whichever way they are launched", answers), ("A server under load", serve), ("Speed", bench),
            ("A step against its kernels", step_against_sum), ("A step without one of its kernels", without),
            ("Knobs", knobs), ("Kernels", kernels), ("Beside torch and triton, kernel by kernel", peers))


def report(text, predictions):
    lines, broken = read(text)
    run = Run(lines)
    head = next(iter(run.of("run")), {})
    gpu = next((line["gpu"].get("name") for line in lines if line.get("gpu")), None) or \
        next((line["name"] for line in run.printed("ceilings", ceiling="device")), head.get("device", "?"))
    seconds = next((line.get("seconds") for line in run.of("run") if "end" in line), None)
    out = [
        f"# A run on {gpu}", "", f"{head.get('version', '?')}; {head.get('date', '?')}; "
        f"{number(seconds) or '?'} s of {number(head.get('budget_s'))}.",
        ""
    ]
    wrong = problems(run, broken)
    out += ["## Wrong", "", *(f"- {text}" for text in wrong), ""] if wrong else ["Nothing failed.", ""]
    out += predictions_table(run, predictions)
    out += ["## Parts", "", *overview(run)]
    for title, section in SECTIONS:
        body = section(run)
        out += [f"## {title}", "", *(body or ["No figures.", ""])]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--predictions",
                        type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent / "predictions.json")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    text = report(options.results.read_text(errors="replace"), json.loads(options.predictions.read_text()))
    if options.output:
        options.output.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()

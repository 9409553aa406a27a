"""Makes a table of samples: medians, shares of the limits, ratios to the peers, verdicts.

A sample is one round of one row: {"figures": {"ingot": {"value", "also", "before", "after"}, "llama": …}}, where
before and after are the limits measured around it. Shares and ratios are computed within a round, then the median over
the rounds, because the speed of the machine changes from minute to minute.
"""
import datetime
import re
import statistics

from measure import PEER_NAMES
from rows import GIB

MARKERS = "<!-- dev bench: the last run -->", "<!-- dev bench: end -->"
FORMATS_MARKERS = "<!-- dev bench --formats: the last run -->", "<!-- dev bench --formats: end -->"
AVX2_MARKERS = "<!-- dev bench --formats --isa avx2: the last run -->", "<!-- dev bench --formats --isa avx2: end -->"


def middle(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def share_of(row, per_token, figure):
    """The share of the limit measured just before and after; None if there is none."""
    if not row.limit or not figure["before"]:
        return None
    limit = (figure["before"][row.limit] + figure["after"][row.limit]) / 2
    return figure["value"] * per_token / limit


def ratios_of(row, figures):
    """How many times better Ingot is than each peer of the round."""
    mine = figures["ingot"]["value"]
    return {peer: figure["value"] / mine if row.lower_is_better else mine / figure["value"]
            for peer, figure in figures.items() if peer != "ingot"}


def summarise(row, per_token, samples):
    rounds = [sample["figures"] for sample in samples]
    ratios = [ratios_of(row, figures) for figures in rounds]
    values = [figures["ingot"]["value"] for figures in rounds]
    shares = [share_of(row, per_token, figures["ingot"]) for figures in rounds]
    peers = sorted({peer for figures in rounds for peer in figures if peer != "ingot"})
    summary = {
        "name": row.name, "work": row.work, "unit": row.unit, "rounds": len(rounds),
        "value": statistics.median(values), "least": min(values), "most": max(values), "values": values,
        "also": {key: middle(figures["ingot"]["also"][key] for figures in rounds)
                 for key in rounds[0]["ingot"]["also"]},
        "share": middle(shares), "shares": shares, "limit": row.limit,
        "peers": {peer: middle(figures[peer]["value"] for figures in rounds if peer in figures) for peer in peers},
        "ratios": {peer: middle(ratio.get(peer) for ratio in ratios) for peer in peers},
        "best_ratio": middle(min(ratio.values()) for ratio in ratios if ratio),
    }
    summary["bars"] = [{"text": bar.text, "met": bar.met(summary)} for bar in row.bars]
    return summary


def number(value, unit):
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
    return f"{text} {unit}" if unit in ("s", "×", "%") else text


def verdict(bars):
    verdicts = [bar["met"] for bar in bars]
    return "**no**" if False in verdicts else "?" if None in verdicts else "yes"


def cells(summary, peers):
    unit = summary["unit"]
    mine = number(summary["value"], unit)
    if "peak_bytes" in summary["also"]:
        mine += f", {summary['also']['peak_bytes'] / GIB:.2f} GiB"
    spread = f"{number(summary['least'], '')}–{number(summary['most'], '')}" if summary["rounds"] > 1 else ""
    limit = {"mapped_read_GBps": "read", "int8_TOPS": "int8", None: ""}[summary["limit"]]
    others = [f"{number(summary['peers'][peer], unit)} ({summary['ratios'][peer]:.2f})" if peer in summary["peers"]
              else ""
              for peer in peers]
    best = f"{summary['best_ratio']:.2f}" if summary["best_ratio"] is not None else ""
    share = f"{summary['share']:.0%} of {limit}" if summary["share"] is not None else ""
    return [summary["work"], mine, spread, *others, best, share, "; ".join(bar["text"] for bar in summary["bars"]),
            verdict(summary["bars"])]


def table(results):
    peers = [peer for peer in PEER_NAMES if any(peer in row["peers"] for row in results["rows"])]
    head = ["work", "Ingot", "least–most", *(PEER_NAMES[peer] for peer in peers), "to the best", "of the limit", "bar",
            "met"]
    lines = [f"{results['machine']}; {results['date']}; {results['ingot']}; medians of {results['rounds']} "
             f"round{'s' if results['rounds'] > 1 else ''}, interleaved in one run, tokens per second where no unit "
             "stands."]
    if results["limits"]:
        spans = {key: (min(values), statistics.median(values), max(values))
                 for key, values in results["limits"].items()}
        lines.append("Limits measured before and after each figure: " + ", ".join(
            f"{name} {spans[key][1]:.{digits}f} {unit} ({spans[key][0]:.{digits}f}–{spans[key][2]:.{digits}f})"
            for key, name, unit, digits in (("mapped_read_GBps", "mapped read", "GB/s", 1),
                                            ("int8_TOPS", "int8", "TOPS", 2))) + ".")
    lines += ["", "| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 3) + "---|---|"]
    lines += ["| " + " | ".join(cells(row, peers)) + " |" for row in results["rows"]]
    if peers:
        lines += ["", "In brackets: how many times better Ingot was in the same round."]
    for kind in ("decode", "batch8", "prefill"):
        means = {peer: [row["ratios"][peer] for row in results["rows"]
                        if row["name"].startswith(f"{kind}-") and peer in row["ratios"]] for peer in peers}
        said = [f"{statistics.geometric_mean(ratios):.2f} × {PEER_NAMES[peer]} ({len(ratios)} rows)"
                for peer, ratios in means.items() if len(ratios) > 1]
        if said:
            lines.append(f"Geometric means, {kind}: {', '.join(said)}.")
    lines += ["", *(f"Not measured: {missing}" for missing in results["missing"])] if results["missing"] else []
    return "\n".join(lines) + "\n"


def write_between(page, text, begin, end):
    """Puts the table between the markers of the page. ValueError if they are missing."""
    old = page.read_text()
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
    if len(pattern.findall(old)) != 1:
        raise ValueError(f"{page} does not have '{begin}' and '{end}' once")
    page.write_text(pattern.sub(lambda _: f"{begin}\n{text.strip()}\n{end}", old))


def today():
    return datetime.date.today().isoformat()

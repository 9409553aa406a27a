"""The picture of the first screen: four kinds of work, a bar for Ingot and for each peer, as an SVG of the last run.

Bars of a kind are scaled to its largest figure; the number follows each bar. The colours follow the reader's scheme,
light or dark, and the text needs no special font.
"""
from xml.sax.saxutils import escape

from measure import PEER_NAMES

# (row of `dev bench`, its name in the picture)
KINDS = (("decode-smollm2", "one user: new tokens per second"),
         ("prefill-smollm2", "reading a prompt of 512 tokens: tokens per second"),
         ("parallel8", "8 requests at once: new tokens per second"),
         ("parallel32", "32 requests at once: new tokens per second"))
WIDTH, LABEL, ROOM = 820, 150, 110  # widths of the picture, of the names before the bars, of the numbers after them
BAR, GAP, HEAD = 16, 5, 24

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f } .head { font-weight: 600 }
  .small { font-size: 11px; fill: #57606a } .ingot { fill: #c2571a } .peer { fill: #8c959f }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 } .ingot { fill: #f0883e } .peer { fill: #6e7681 }
  }
"""


def bars_of(row):
    """[(name, figure)], Ingot first."""
    return [("Ingot", row["value"])] + [(PEER_NAMES[peer], row["peers"][peer]) for peer in PEER_NAMES
                                        if peer in row["peers"]]


def svg(results):
    """The picture; ValueError if the run lacks one of its rows."""
    rows = {row["name"]: row for row in results["rows"]}
    if missing := [name for name, _ in KINDS if name not in rows]:
        raise ValueError(f"the last run has no row {', '.join(missing)}")
    parts, y = [], 8
    for name, title in KINDS:
        bars = bars_of(rows[name])
        largest = max(figure for _, figure in bars)
        parts.append(f'<text class="head" x="0" y="{y + 14}">{escape(title)}</text>')
        y += HEAD
        for who, figure in bars:
            length = (WIDTH - LABEL - ROOM) * figure / largest
            parts += [f'<text x="{LABEL - 8}" y="{y + 13}" text-anchor="end">{escape(who)}</text>',
                      f'<rect class="{"ingot" if who == "Ingot" else "peer"}" x="{LABEL}" y="{y}" '
                      f'width="{length:.1f}" height="{BAR}" rx="2"/>',
                      f'<text x="{LABEL + length + 6:.1f}" y="{y + 13}">{figure:,.0f}</text>']
            y += BAR + GAP
        y += 8
    rounds = results["rounds"]
    said = (f"SmolLM2 135M, the same file, in turns in one run; medians of {rounds} round{'s' if rounds > 1 else ''}; "
            f"{results['machine']}; {results['date']}; {results['ingot']}")
    parts.append(f'<text class="small" x="0" y="{y + 6}">{escape(said)}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 16}" width="{WIDTH}" role="img" '
            f'aria-label="Ingot beside its peers">\n<style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n")

"""Merges the metrics of many replicas into one page, in which each sample has a replica label."""
from __future__ import annotations

from typing import Dict, List, Tuple


def merged(pages: List[Tuple[str, str]]) -> str:
    """Merges (replica, page in Prometheus' text format) pairs. The samples of a family are kept together."""
    heads: Dict[str, List[str]] = {}
    samples: Dict[str, List[str]] = {}
    for replica, page in pages:
        family = ""
        for line in page.splitlines():
            if line.startswith("# "):
                family = line.split(" ", 3)[2]
                head = heads.setdefault(family, [])
                if line not in head:
                    head.append(line)
            elif line:
                samples.setdefault(family, []).append(_labelled(line, replica))
    return "".join(line + "\n" for family in heads for line in [*heads[family], *samples.get(family, [])])


def _labelled(line: str, replica: str) -> str:
    label = f'replica="{replica}"'
    name, rest = line.split(" ", 1) if "{" not in line.split(" ", 1)[0] else (line, "")
    if rest:
        return f"{name}{{{label}}} {rest}"
    at = line.index("{") + 1
    return f"{line[:at]}{label}{'' if line[at] == '}' else ','}{line[at:]}"

"""Writes tuning rows for every matmul of an engine, all with one schedule:  make_rows.py
ENGINE.json OUT TILES BLOCK PREFETCH

ENGINE.json is the output of `ingot inspect --json`: shapes are texts like "q8 x q4_0 64x64, 2 * q4_0 32x64 pair".
"""
import json
import sys

engine, out, tiles, block, prefetch = sys.argv[1:]
rows = {}
for kernel in json.load(open(engine))["programs"][0]["kernels"]:
    for schedule in kernel["schedules"]:
        text = schedule["shape"]
        pair = text.endswith(" pair")
        x, weights = text.removesuffix(" pair").split(" x ", 1)
        names = []
        for part in weights.split(", "):
            count, _, name = part.rpartition(" * ")
            names += [name] * int(count or 1)
        level = schedule["target"].removeprefix("cpu:")
        rows[level, text] = {"level": level, "x": x, "weights": names, "pair": pair, "tiles": json.loads(tiles),
                             "block": int(block), "prefetch": int(prefetch)}
assert rows, "the engine has no matmul"
json.dump({"cpu": {"name": "test", "vendor": "test", "family": 0}, "rows": list(rows.values())}, open(out, "w"))

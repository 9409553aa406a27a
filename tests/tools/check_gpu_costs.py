"""Checks the costs of a GPU engine's launches against its plan and its weights:
check_gpu_costs.py PLAN INSPECT ROOFLINE"""
import collections
import json
import re
import sys

text = open(sys.argv[1]).read()
_, per_token, per_row = map(int, re.search(r"bytes_per_step = array<i64: (\d+), (\d+), (\d+)>", text).groups())
(engine,) = json.load(open(sys.argv[2]))["programs"]
roofline = {row["kernel"]: row for row in json.load(open(sys.argv[3]))}
kernels = {kernel["name"]: kernel for kernel in engine["kernels"]}
launches = collections.Counter(launch["kernel"] for step in engine["entries"][0]["steps"]
                               for launch in engine["sections"][step["section"]]["cases"][-1]["launches"])
costs = {}
for name, kernel in kernels.items():
    (costs[name],) = kernel["costs"]
    assert costs[name]["target"] == "cuda-emulator:sm_90a", kernel

moved = {True: 0, False: 0}
for name, count in launches.items():
    if kernels[name]["family"] != "gather":  # the plan counts the row of a gather in the CPU layout
        moved[costs[name]["per_row"]] += count * costs[name]["bytes_per_unit"]
gather = sum(n * costs[k]["bytes_per_unit"] for k, n in launches.items() if kernels[k]["family"] == "gather")
assert moved[True] == per_row, (moved, per_row)
assert 0 < gather and abs(moved[False] + gather - per_token) <= 4 * 64, (moved, gather, per_token)

# Matrices count once, except embeddings, which are read row by row; vectors count if they
# are norms fused into projections.
stored = sum(w["size"] for w in engine["weights"] if len(w["shape"]) == 2)
vectors = sum(w["size"] for w in engine["weights"] if len(w["shape"]) == 1)
weights = 0
for name, cost in costs.items():
    multiplies = kernels[name]["family"] == "matmul"
    assert bool(cost["predicted"]) == multiplies and (cost["arithmetic"] == "Bf16") == (
        multiplies or kernels[name]["family"] == "attention"), (name, cost)
    if multiplies:
        first = cost["predicted"][0]
        weights += launches[name] * (first["bytes"] - first["tokens"] * cost["bytes_per_unit"])
        assert all(a["bytes"] < b["bytes"] and a["core_ns"] <= b["core_ns"]
                   for a, b in zip(cost["predicted"], cost["predicted"][1:])), cost
embeddings = max(w["size"] for w in engine["weights"])
heads = [s for s in (stored, stored - embeddings) if s <= weights <= s + vectors]
assert len(heads) == 1 and embeddings > vectors, (weights, stored, embeddings, vectors)

# Each specialisation has its own kernels: a kernel that is not in the decode step is in the prompt's.
for name, row in roofline.items():
    phase = "decode" if row["decode_bytes"] > 0 else "prompt512"
    assert row[f"{phase}_bytes"] > 0 and row[f"{phase}_limit_us"] > 0 and row[f"{phase}_predicted_us"] > 0, row
    assert row["limit_read_gb_per_s"] == 4200, row
assert roofline["residual_0"]["decode_operations"] == 2 * 2 * 64 * 64, roofline["residual_0"]
assert roofline["attention_0"]["decode_bytes"] > 0

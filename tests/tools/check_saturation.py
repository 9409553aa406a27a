"""check_saturation.py INGOT FOLDER: `score` counts the values of V that saturate an f16 KV
cache. Standard library only."""
import json
import subprocess
import sys

from check_activations import HIDDEN, IDS, multiply, norm, weights, write

ingot, folder = sys.argv[1:]
VALUES = "model.layers.0.self_attn.v_proj.weight"
tensors = weights()
rows, columns, values = tensors[VALUES]
tensors[VALUES] = (rows, columns, [v * 2.0**15 for v in values])
write(folder, "silu", tensors)
ids = (IDS * 9)[:50]  # one page and part of a second; the last id is only an answer
embedding = tensors["model.embed_tokens.weight"][2]
stored = [abs(v) for id in ids[:-1] for v in multiply(tensors[VALUES], norm(embedding[id * HIDDEN : (id + 1) * HIDDEN]))]
many = sum(v >= 65488 for v in stored)  # values that round to 65504 or exceed it
assert 0 < many < len(stored) and not any(65400 < v < 65600 for v in stored), many  # no value near the limit
for kv, expected in (("f16", many), ("bf16", 0)):
    engine = f"{folder}/{kv}.ingot"
    subprocess.run([ingot, "compile", folder, "--target", "cpu:avx2", "--precision", "exact", "--kv", kv, "--quiet", "-o", engine], check=True)
    command = [ingot, "score", engine, "--ids", ",".join(map(str, ids)), "--max-batch-tokens", "7"]
    counted = json.loads(subprocess.run([*command, "--json"], check=True, capture_output=True).stdout)["kv_saturated"]
    assert counted == expected, (kv, counted, expected)
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert ("exceeded f16's maximum, 65,504" in said and "--kv bf16" in said) == (expected > 0), said

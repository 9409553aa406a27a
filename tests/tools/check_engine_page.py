"""check_engine_page.py PAGE.html [--without-ops] [--measured]: checks the data in the tiny
checkpoint's engine page."""
import base64
import json
import pathlib
import re
import sys
import zlib

text = pathlib.Path(sys.argv[1]).read_text()
without_ops, measured = "--without-ops" in sys.argv, "--measured" in sys.argv


def data(name):
    return json.loads(re.search(f'<script type="application/json" id="{name}">(.*?)</script>', text, re.S).group(1))


engine, listing, more = data("engine"), data("listing"), data("more")
program, kernels, figures = engine["programs"][0], listing["programs"][0], more["programs"][0]

# Kernels, in the table's order, with the effect of each on its operands.
assert [kernel["name"] for kernel in kernels["kernels"]] == [kernel["name"] for kernel in program["kernels"]]
for kernel, own in zip(kernels["kernels"], program["kernels"]):
    assert kernel["ir"].startswith(f"kernel.func @{kernel['name']}("), kernel["ir"]
    assert len(kernel["effects"]) == own["args"] and set(kernel["effects"]) <= {"r", "w", "rw"}, kernel
by_name = {kernel["name"]: kernel for kernel in kernels["kernels"]}
assert by_name["gate_up_0"]["effects"] == ["r", "r", "r", "w"], by_name["gate_up_0"]
assert "rw" in by_name["rope_append_0"]["effects"], by_name["rope_append_0"]

# The lm ops that each launch implements.
shape = [[len(case["launches"]) for case in section["cases"]] for section in program["sections"]]
assert [[len(case) for case in section] for section in kernels["launches"]] == shape, kernels["launches"]
ops = {}
for section, numbers in zip(program["sections"], kernels["launches"]):
    for case, of_case in zip(section["cases"], numbers):
        for launch, number in zip(case["launches"], of_case):
            ops[section["name"], launch["kernel"]] = kernels["ops"][number] if number >= 0 else None
if without_ops:
    assert not kernels["ops"] and set(ops.values()) == {None}, ops
else:
    assert re.match(r'%\w+ = lm\.fused "gate_up".*lm\.linear.*lm\.activation silu.*lm\.mul', ops["layer", "gate_up_0"], re.S), ops
    assert "%attn_norm" in ops["layer", "norm_0"] or "%ffn_norm" in ops["layer", "norm_0"], ops["layer", "norm_0"]
    assert ops["begin", "rope_table_0"] is None, "no op of lm is a table"
    # Norms before and after attention are one kernel and two launches.
    numbers = [number for launch, number in zip(program["sections"][1]["cases"][0]["launches"], kernels["launches"][1][0]) if launch["kernel"] == "norm_0"]
    assert len(numbers) == len(set(numbers)) == 2, numbers

# Code, and the predictions for three steps.
assert [target["target"] for target in figures["targets"]] == [target["target"] for target in program["targets"]]
for target in figures["targets"]:
    code = json.loads(zlib.decompress(base64.b64decode(target["code"])))
    assert set(code) == set(by_name), (set(code), set(by_name))
    lines = code["gate_up_0"].splitlines()
    assert lines[-1].strip() == "retq" or any(line.strip() == "retq" for line in lines), lines[-3:]
    assert "  (bad)" not in lines and any(re.match(r"  v\w+ .*%[yz]mm", line) for line in lines), target["target"]
    labels = {line[:-1] for line in lines if re.fullmatch(r"\.\d+:", line)}
    jumps = {line.split()[1] for line in lines if re.match(r"  j\w+ \.\d+$", line)}
    assert jumps and jumps <= labels, (jumps, labels)
    assert [[[len(launch) for launch in case] for case in section] for section in target["work"]] == [[[3] * n for n in section] for section in shape]
    for section, cases in zip(program["sections"], target["work"]):
        for case, works in zip(section["cases"], cases):
            for launch, (one, prompt, eight) in zip(case["launches"], works):
                for size, weights, kv, operations, us in (one, prompt, eight):
                    assert size >= weights + kv >= 0 and operations >= 0 and us >= 0, (launch["kernel"], size, weights, kv)
                assert prompt[0] >= one[0] and eight[0] >= one[0], launch["kernel"]
                assert target["limits"] is None or launch["kernel"] != "gate_up_0" or 0 < one[4] < prompt[4], (one, prompt)
assert [load["name"] for load in more["loads"]] == ["decode", "prompt", "batch"]
assert all(len(chosen) == len(shape) for chosen in figures["chosen"])
if measured:
    assert {row["kernel"] for row in more["measured"]} <= set(by_name) and any(row["decode_us"] > 0 for row in more["measured"]), more["measured"]
else:
    assert more["measured"] is None
assert len(text) < 400_000, len(text)

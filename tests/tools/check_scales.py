"""check_scales.py INGOT FOLDER: matrices whose scales f16 cannot hold stay bf16, and small
groups in other matrices are not lost.

Both models are the same function: dividing `up` and multiplying `down` by a power of two changes no logit, only the
range of the numbers. Standard library only.
"""
import math
import subprocess
import sys

from check_activations import logits, weights, write

UP, DOWN = ("model.layers.0.mlp.%s_proj.weight" % name for name in ("up", "down"))


def moved(factor):
    tensors = weights()
    for name, by in ((UP, 1 / factor), (DOWN, factor)):
        rows, columns, values = tensors[name]
        tensors[name] = (rows, columns, [v * by for v in values])
    return tensors


def compiled(ingot, folder, tensors, quantize):
    write(folder, "silu", tensors)
    engine = f"{folder}/{quantize}.ingot"
    ran = subprocess.run([ingot, "compile", folder, "--target", "cpu:avx2", "--precision", "exact", "--quantize", quantize, "--cache", f"{folder}/..", "-o", engine], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    rows = logits(ingot, engine, f"{folder}/{quantize}.npy")
    return [line for line in ran.stderr.splitlines() if "stays bf16" in line], [v for row in rows for v in row]


def difference(a, b):
    assert all(map(math.isfinite, a)), a
    return max(abs(x - y) for x, y in zip(a, b)) / max(map(abs, b))


def main(ingot, folder):
    for quantize, most, factors in (("int8", 0.05, (-17, 24, -6)), ("int4-g32", 0.6, (24,))):
        plain = compiled(ingot, f"{folder}/plain", weights(), quantize)
        assert plain[0] == [], plain[0]
        for power in factors:  # down too small for f16; both out of range; neither
            warnings, got = compiled(ingot, f"{folder}/moved", moved(2.0**power), quantize)
            named = [name for name in ("ffn_up", "ffn_down") if any(f"blk.0.{name} " in line for line in warnings)]
            assert named == {-17: ["ffn_down"], 24: ["ffn_up", "ffn_down"], -6: []}[power], (quantize, power, warnings)
            assert len(warnings) == len(named) and difference(got, plain[1]) < most, (quantize, power, difference(got, plain[1]))

    # One outlier: only its matrix stays bf16.
    tensors = weights()
    rows, columns, values = tensors[DOWN]
    tensors[DOWN] = (rows, columns, [2e7, *values[1:]])
    warnings, got = compiled(ingot, f"{folder}/out", tensors, "int8")
    assert len(warnings) == 1 and "blk.0.ffn_down stays bf16: its largest value, 2e+07, needs a scale of 157480" in warnings[0], warnings
    assert all(map(math.isfinite, got)), got


main(*sys.argv[1:])

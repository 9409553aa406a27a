"""check_scales.py INGOT FOLDER: matrices whose scales f16 cannot hold stay bf16, and small groups of others are not lost.

The same function twice: `up` divided and `down` multiplied by a power of two changes no logit of the model, only where its numbers
lie. Standard library only.
"""
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
    ran = subprocess.run([ingot, "compile", folder, "--precision", "exact", "--quantize", quantize, "-o", engine], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    rows = logits(ingot, engine, f"{folder}/{quantize}.npy")
    return [line for line in ran.stderr.splitlines() if "stays bf16" in line], [v for row in rows for v in row]


def difference(a, b):
    return max(abs(x - y) for x, y in zip(a, b)) / max(map(abs, b))  # NaN is no largest


def main(ingot, folder):
    for quantize, most in (("int8", 0.05), ("int4-g32", 0.6)):
        plain = compiled(ingot, f"{folder}/plain", weights(), quantize)
        assert plain[0] == [], plain[0]
        for factor, expected in ((2.0**-17, ["ffn_down"]), (2.0**24, ["ffn_up", "ffn_down"]), (2.0**-6, [])):
            warnings, got = compiled(ingot, f"{folder}/moved", moved(factor), quantize)
            named = [name for name in ("ffn_up", "ffn_down") if any(f"blk.0.{name} " in line for line in warnings)]
            print(quantize, factor, warnings, difference(got, plain[1]))
            assert named == expected and len(warnings) == len(expected), (quantize, factor, warnings)
            assert all(abs(v) < 1e3 for v in got) and difference(got, plain[1]) < most, (quantize, factor)

    # One value far out: its matrix alone stays bf16.
    tensors = weights()
    rows, columns, values = tensors[DOWN]
    tensors[DOWN] = (rows, columns, [2e7, *values[1:]])
    warnings, got = compiled(ingot, f"{folder}/out", tensors, "int8")
    assert len(warnings) == 1 and "blk.0.ffn_down stays bf16: its largest value, 2e+07, needs a scale of 157480" in warnings[0], warnings
    assert all(abs(v) < 1e9 for v in got), got


main(*sys.argv[1:])

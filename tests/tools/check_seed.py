"""check_seed.py INGOT MODEL WORK: engines with `--weights random` and `--weights seed` compute the same bits in
every format that can be requested, and a seed engine contains no matrix. Standard library only."""
import json
import os
import subprocess
import sys

ingot, model, work = sys.argv[1:]
os.makedirs(work, exist_ok=True)


def run(*arguments):
    done = subprocess.run([ingot, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.returncode, done.stderr)
    return done.stdout


def compiled(kind, seed, *options):
    path = os.path.join(work, f"{kind}{seed}.ingot")
    run("compile", model, "-o", path, "--weights", kind, "--seed", seed, "--quiet", "--target", "cpu:avx2", *options)
    return path


def logits(engine, *options):
    out = os.path.join(work, "logits.npy")
    run("logits", engine, "--ids", "5,6,7,200,9,0,33", "--out", out, "--quiet", *options)
    with open(out, "rb") as file:
        data = file.read()
    assert any(data[128:])
    return data


for options in ([], ["--precision", "exact"], *(["--quantize", kind] for kind in ("int8", "int4-g32", "int4-g64", "int4-g128", "fp8")),
                ["--quantize", "int4-g64", "--precision", "exact"]):
    packed, made = compiled("random", "7", *options), compiled("seed", "7", *options)
    expected = logits(packed)
    assert logits(made) == expected, options
    assert logits(made, "--threads", "1") == expected, options
    if not options:
        assert logits(compiled("seed", "8")) != expected, "another seed, the same logits"
    weights = sum(weight["size"] for weight in json.loads(run("inspect", packed, "--json"))["programs"][0]["weights"])
    program = json.loads(run("inspect", made, "--json"))["programs"][0]
    assert program["seed_weights"]["seed"] == 7, program["seed_weights"]
    assert weights - 4096 < program["seed_weights"]["bytes"] <= weights, (weights, program["seed_weights"])
    assert program["statement"]["seeded"] == program["seed_weights"]["bytes"]
    assert os.path.getsize(packed) - os.path.getsize(made) > weights - 8 * 4096, options
    assert run("inspect", packed, "--json").count("seed_weights") == 0

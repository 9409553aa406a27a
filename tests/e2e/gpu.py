"""One engine with code for CPUs and for the CUDA emulator: the same checkpoint gives the same model on both.

The GPU program computes in bf16 where the CPU's rounds to int8 or bf16, so numbers are compared with HF's within what one
rounding per projection costs, and greedy ids with the CPU's wherever their lead is larger than that.
"""
import json

import numpy

from tiny import FOLDER

EMULATOR = "cuda-emulator:sm_90a"
TEXT = "The river rises in the hills north of the town and reaches the sea after sixty miles."


def logits(ingot, engine, ids, device):
    out = ingot.work / "gpu.npy"
    ingot("logits", engine, "--ids", ",".join(map(str, ids)), "--out", out, "--device", device)
    return numpy.load(out)


def tiny(ingot, model, ids, expected):
    engine = ingot.work / "gpu.ingot"
    ingot("compile", model, "-o", engine, "--target", "cpu", "--target", EMULATOR, "--quiet")
    ingot("verify", engine)
    targets = [code["target"] for code in ingot.json("inspect", engine)["programs"][0]["targets"]]
    assert targets == [EMULATOR], targets
    cpu, gpu = logits(ingot, engine, ids, "cpu"), logits(ingot, engine, ids, "cuda-emulator")
    assert numpy.isfinite(gpu).all()
    worst, bound = abs(gpu - expected).max(), max(0.05 * expected.std(), 2 * abs(cpu - expected).max())
    assert worst <= bound, f"largest difference from HF {worst:.2e}, the CPU's {abs(cpu - expected).max():.2e}"
    return f"largest difference from HF {worst:.1e}, the CPU's {abs(cpu - expected).max():.1e}"


def seeded(ingot, model):
    outputs = []
    for kind in ("random", "seed"):
        engine = ingot.work / "gpu.ingot"
        ingot("compile", model, "-o", engine, "--weights", kind, "--seed", 5, "--target", "cpu", "--target", EMULATOR, "--quiet")
        outputs.append(logits(ingot, engine, [1, 2, 3, 40, 5, 6], "cuda-emulator"))
    assert numpy.array_equal(*outputs), "random and seed differ"
    cpu = logits(ingot, engine, [1, 2, 3, 40, 5, 6], "cpu")
    worst = abs(outputs[0] - cpu).max()
    assert worst <= 0.1 * cpu.std(), f"largest difference from the CPU {worst:.2e}, logits deviate {cpu.std():.2e}"
    return f"largest difference from the CPU {worst:.1e}, logits deviate {cpu.std():.1e}"


def greedy(ingot, checkpoint, tokens=4):
    """The first ids of a real model, decoded one by one, against the CPU's exact ones."""
    exact, engine = ingot.work / "gpu-exact.ingot", ingot.work / "gpu-real.ingot"
    ingot("compile", checkpoint.path, "-o", exact, "--precision", "exact", "--target", "cpu:avx2", "--quiet")
    ingot("compile", checkpoint.path, "-o", engine, "--target", EMULATOR, "--quiet")
    prompt = "The capital of France is"
    options = ["-n", tokens, "--greedy", "--context", 64, "--ignore-eos"]
    wanted = ingot.json("run", exact, prompt, *options)["ids"]
    found = ingot.json("run", engine, prompt, "--device", "cuda-emulator", *options)
    assert found["ids"] == wanted, f"{found['ids']} instead of {wanted}"
    return f"{found['text']!r} as on the CPU"


def scaled_kv(ingot, checkpoint):
    """A KV cache of fp8 beside one of bf16, on one text: as sane, and as near as docs/numerics.md says. (Behind `greedy`.)"""
    wide, scaled = ingot.work / "gpu-real.ingot", ingot.work / "gpu-kv8.ingot"
    ingot("compile", checkpoint.path, "-o", scaled, "--target", EMULATOR, "--kv", "fp8", "--quiet")
    pages = [ingot.json("inspect", engine)["memory"]["bytes_per_page"] for engine in (wide, scaled)]
    assert pages[1] * 128 == pages[0] * 68, pages  # heads of 64: 2 * 64 + 8 bytes instead of 4 * 64
    ids = ingot.work / "text.json"
    ids.write_text(json.dumps(ingot.json("tokenize", scaled, "--text", TEXT)["ids"]))
    nll = [numpy.array(ingot.json("score", engine, "--ids-file", ids, "--device", "cuda-emulator", "--context", 128)["nll"])
           for engine in (wide, scaled)]
    difference, change = abs(nll[1] - nll[0]).mean(), nll[1].mean() - nll[0].mean()
    assert 0 < difference < 0.1 and abs(change) < 0.05, f"{difference:.4f}, {change:+.4f}"
    return f"{len(nll[0])} tokens: mean abs. difference of nll {difference:.4f}, mean {change:+.4f}"


def add(suite, ingot):
    for folder in sorted(path for path in FOLDER.iterdir() if path.is_dir()):
        ids = json.loads((folder / "ids.json").read_text())
        ids = ids["ids"] if isinstance(ids, dict) else ids
        gguf = folder / "model.gguf"
        model = gguf if gguf.exists() else folder
        suite.check(f"gpu {folder.name}: on the emulator", lambda: tiny(ingot, model, ids, numpy.load(folder / "expected.npy")))
        if not gguf.exists():
            suite.check(f"gpu {folder.name}: made-up weights", lambda: seeded(ingot, model))

"""Weights generated from a seed: packed (`--weights random`) and generated at load (`--weights seed`), they are the
same numbers; an engine of a billion parameters is a file of a few megabytes; and it takes the stated memory.
"""
import json
import shutil
import subprocess
import time

import numpy

import files
from tiny import FOLDER

# Llama 3.2 1B.
BILLION = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16", "hidden_size": 2048,
    "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
    "vocab_size": 128256, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
    "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
                     "rope_type": "llama3"},
    "hidden_act": "silu", "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True, "bos_token_id": 128000,
    "eos_token_id": 128001,
}


def same_logits(ingot, model, *options):
    outputs = []
    for kind in ("random", "seed"):
        engine, out = ingot.work / "made-up.ingot", ingot.work / "made-up.npy"
        ingot("compile", model, "-o", engine, "--weights", kind, "--seed", 5, "--quiet", *options)
        ingot("logits", engine, "--ids", "1,2,3,40,5,6", "--out", out)
        outputs.append(numpy.load(out))
        engine.unlink()
    assert numpy.isfinite(outputs[0]).all() and outputs[0].std() > 0
    assert numpy.array_equal(*outputs), f"{options}: random and seed differ"


def billion(ingot):
    folder = ingot.work / "billion"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    config, engine = folder / "config.json", folder / "e.ingot"
    config.write_text(json.dumps(BILLION))
    start = time.monotonic()
    ingot("compile", config, "-o", engine, "--weights", "seed", "--seed", 1, "--quantize", "int4-g64", "--quiet")
    seconds, size = time.monotonic() - start, engine.stat().st_size
    assert size < 4_000_000, f"the engine has {size} bytes"
    ingot("verify", engine)
    prompts = ingot.file("billion.jsonl", [{"prompt_ids": list(range(100, 292))}])
    limits = ["--context", "256", "--max-batch-tokens", "192"]
    total = ingot.json("inspect", engine, *limits)["programs"][0]["statement"]["total"]
    child = subprocess.Popen([ingot.path, "run", str(engine), "--prompts-file", str(prompts), *limits, "-n", "64", "--ignore-eos",
                              "--quiet"], stdout=subprocess.DEVNULL)
    held = 0
    while child.poll() is None:
        held = max(held, files.resident(child.pid, str(engine)))
        time.sleep(0.02)
    assert child.returncode == 0
    shutil.rmtree(folder)
    remark = (f"{size / 1e6:.1f} MB in {seconds:.1f} s; stated {total / 2**20:.1f} MiB, held {held / 2**20:.1f} MiB "
              f"({100 * (held / total - 1):+.1f} %)")
    assert abs(held / total - 1) <= 0.03, remark
    return remark


def add(suite, ingot, long):
    # tests/tools/seed.test covers every format on one shape; this covers the families and their layers.
    for folder in sorted(path for path in FOLDER.iterdir() if path.is_dir()):
        if not long and folder.name not in ("gemma3-layer-types", "llama-biases-sharded", "llama-gguf-mixed"):
            continue
        gguf = folder / "model.gguf"
        model = gguf if gguf.exists() else folder
        suite.check(f"seed {folder.name}: as packed", lambda: same_logits(ingot, model))
        suite.check(f"seed {folder.name}: as packed, exact", lambda: same_logits(ingot, model, "--precision", "exact"))
    suite.check("seed: a shape of a billion parameters", lambda: billion(ingot))

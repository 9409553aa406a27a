"""One engine with code for CPUs and for the CUDA emulator: the same checkpoint gives the same model on both.

The GPU program computes in bf16, while the CPU's rounds to int8, to bf16 or not at all (depending on the level).
So numbers are compared with HF's within the error of one rounding per projection, and greedy ids with the CPU's
wherever their margin is larger.
"""
import json

import numpy

from suite import Checkpoint
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
    program = ingot.json("inspect", engine)["programs"][-1]
    targets = [code["target"] for code in program["targets"]]
    assert targets == [EMULATOR], targets
    cpu, gpu = logits(ingot, engine, ids, "cpu"), logits(ingot, engine, ids, "cuda-emulator")
    assert numpy.isfinite(gpu).all()
    # With bf16 in models of 36 to 64 channels, logits differ by 0.2 to 1.9 % on average, and one of 3,700 differs by
    # 12 %. Routers do not round, but their inputs are rounded. So up to two of a prompt's 45 tokens may go to other
    # experts, whose scores are nearly the same.
    most = 2 if any(kernel["family"] == "route" for kernel in program["kernels"]) else 0
    difference, unit = abs(gpu - expected), expected.std()
    said = f"difference from HF {difference.mean():.1e}, at most {difference.max():.1e}, the CPU's at most {abs(cpu - expected).max():.1e}"
    elsewhere = (difference.max(axis=-1) > 0.15 * unit).sum()
    assert difference.mean() <= 0.02 * unit and elsewhere <= most, f"{said}, in {elsewhere} tokens by more than 15 % of {unit:.1f}"
    return said


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
    """Compares the first ids of a real model, decoded one by one, with the CPU's exact ones."""
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
    """Compares an fp8 KV cache with a bf16 one on a text of 17 tokens: they differ by 0.052 on average; twice
    that would mean different arithmetic."""
    wide, scaled = ingot.work / "gpu-real.ingot", ingot.work / "gpu-kv8.ingot"
    ingot("compile", checkpoint.path, "-o", wide, "--target", EMULATOR, "--quiet")
    ingot("compile", checkpoint.path, "-o", scaled, "--target", EMULATOR, "--kv", "fp8", "--quiet")
    pages = [ingot.json("inspect", engine)["programs"][0]["memory"]["bytes_per_page"] for engine in (wide, scaled)]
    assert pages[1] * 128 == pages[0] * 68, pages  # head size 64: 2 * 64 + 8 bytes instead of 4 * 64
    ids = ingot.work / "text.json"
    ids.write_text(json.dumps(ingot.json("tokenize", scaled, "--text", TEXT)["ids"]))
    nll = [numpy.array(ingot.json("score", engine, "--ids-file", ids, "--device", "cuda-emulator", "--context", 128)["nll"])
           for engine in (wide, scaled)]
    difference, change = abs(nll[1] - nll[0]).mean(), nll[1].mean() - nll[0].mean()
    assert 0 < difference < 0.1 and abs(change) < 0.05, f"{difference:.4f}, {change:+.4f}"
    return f"{len(nll[0])} tokens: mean abs. difference of nll {difference:.4f}, mean {change:+.4f}"


SHAPE = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16", "hidden_size": 160, "intermediate_size": 512,
         "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 64, "vocab_size": 320,
         "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "attention_bias": False,
         "mlp_bias": False, "tie_word_embeddings": True, "bos_token_id": 1, "eos_token_id": 2}
# With 150 tokens each expert gets more than 64 rows on average.
EXPERTS = {key: value for key, value in SHAPE.items() if key != "mlp_bias"} | {
    "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "intermediate_size": 72, "num_local_experts": 4,
    "num_experts_per_tok": 2, "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 128,
    "swiglu_limit": 7.0, "attention_bias": True, "tie_word_embeddings": False}


def long_prompt(ingot, shape, quantize):
    """A prompt of more than 64 tokens, with heads whose total width exceeds the hidden size: inputs of different
    projections share an address but differ in width. On the emulator wgmma gives the same bits as mma.sync, so
    engines with and without it agree."""
    config, prompts, answers = ingot.work / "wide.json", ingot.work / "wide.jsonl", []
    config.write_text(json.dumps(shape))
    prompts.write_text(json.dumps({"prompt_ids": [(7 * i * i + 3 * i) % 317 + 3 for i in range(150)]}) + "\n")
    for more in ([], ["--batch-invariant"]):
        engine = ingot.work / "gpu.ingot"
        ingot("compile", config, "-o", engine, "--weights", "seed", "--seed", 3, "--target", "cpu", "--target", EMULATOR, "--quiet", *quantize, *more)
        answers.append(ingot.json("run", engine, "--prompts-file", prompts, "-n", 3, "--greedy", "--ignore-eos", "--logprobs", 5, "--device", "cuda-emulator"))
    wgmma, plain = ([answer["ids"], answer["logprobs"]] for answer in answers)
    assert wgmma == plain, f"{wgmma} instead of {plain}"
    cpu = ingot.json("run", engine, "--prompts-file", prompts, "-n", 1, "--greedy", "--ignore-eos", "--logprobs", 5, "--device", "cpu")
    return f"ids {wgmma[0]}, on the CPU {cpu['ids']}"


QUICK = ("gemma3-layer-types", "llama3-tied")  # two of the tiny checkpoints; the bit list (tests/bits) has more


def add(suite, ingot, long):
    for quantize in ([], ["--quantize", "int4-g64"]) if long else ([],):
        suite.check(f"gpu long prompt {' '.join(quantize)}: the same bits with and without wgmma", lambda: long_prompt(ingot, SHAPE, quantize))
    suite.check("gpu long prompt, experts: the same bits with and without wgmma", lambda: long_prompt(ingot, EXPERTS, ["--quantize", "int8"]))
    for folder in sorted(path for path in FOLDER.iterdir() if path.is_dir()):
        ids = json.loads((folder / "ids.json").read_text())
        ids = ids["ids"] if isinstance(ids, dict) else ids
        if not long and folder.name not in QUICK:
            continue
        gguf = folder / "model.gguf"
        model = gguf if gguf.exists() else folder
        suite.check(f"gpu {folder.name}: on the emulator", lambda: tiny(ingot, model, ids, numpy.load(folder / "expected.npy")))
        if not gguf.exists() and (long or folder.name == QUICK[1]):
            suite.check(f"gpu {folder.name}: dummy weights", lambda: seeded(ingot, model))


class Real:
    """The checks of a real model, which need its checkpoint."""

    def __init__(self, checkpoints):
        self.checkpoint = Checkpoint("smollm2", (checkpoints / "smollm2.gguf").resolve(), {})

    def add(self, suite, ingot, long):
        suite.check("gpu smollm2: the first ids on the emulator", lambda: greedy(ingot, self.checkpoint))
        if long:
            suite.check("gpu smollm2: a KV cache of fp8 on the emulator", lambda: scaled_kv(ingot, self.checkpoint))

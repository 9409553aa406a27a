"""Tests the cells of the compatibility matrix (`ingot doctor --mixes`):  check_compatibility.py INGOT CHECKPOINTS [--all]

For each cell, a tiny model with the feature is compiled with the options of the column. A cell that the matrix
rejects must be rejected with that code, before code generation; a cell that it allows must compile. Without
--all, the allowed cells that are tested are those of the first row and of the first two columns.
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

ingot, checkpoints = sys.argv[1:3]
everything = "--all" in sys.argv

# Each feature has a checkpoint, additional configuration, and options.
FEATURES = {
    "attention to all": ("llama3-tied", {}, []),
    "windows": ("gemma3-layer-types", {}, []),
    "softcaps": ("gemma2-softcaps", {}, []),
    "sinks": ("gpt-oss-old-config", {}, []),
    "learned positions": ("gpt2-old-config", {}, []),
    "fixed states": ("lfm2-biases-untied", {}, []),
    "experts": ("mixtral-fused", {}, []),
    "weights as codes": ("mixtral-gptq-act-order", {}, []),
    "heads of 6": ("llama3-tied", {"head_dim": 6}, []),
    "heads of 20": ("llama3-tied", {"head_dim": 20}, []),
    "heads of 320": ("llama3-tied", {"head_dim": 320}, []),
    "1,500 experts": ("mixtral-fused", {"num_local_experts": 1500}, []),
    "3,000 experts": ("mixtral-fused", {"num_local_experts": 3000}, []),
    "40 experts a token": ("mixtral-fused", {"num_local_experts": 64, "num_experts_per_tok": 40}, []),
    "--precision exact": ("mixtral-gptq-act-order", {}, ["--precision", "exact"]),
    "--verify": ("mixtral-gptq-act-order", {}, ["--verify"]),
}
CPU, CUDA = ["--target", "cpu:avx2"], ["--target", "cuda:sm_90a"]
CHOICES = {
    "cpu": CPU,
    "cuda": CUDA,
    "cuda, kv fp8": CUDA + ["--kv", "fp8"],
    "cuda, kv f16": CUDA + ["--kv", "f16"],
    **{f"kv {kv}": CPU + ["--kv", kv] for kv in ("f32", "bf16", "f16", "int8", "int4", "fp8")},
    "kv 1-=int4": CPU + ["--kv", "1-=int4"],
    "cuda, kv 1-=fp8": CUDA + ["--kv", "1-=fp8"],
    "cuda, kv 1-=int8": CUDA + ["--kv", "1-=int8"],
    "exact": CPU + ["--precision", "exact"],
    "int4-g32": CPU + ["--quantize", "int4-g32"],
    "fp8": CPU + ["--quantize", "fp8"],
    "seeded": CPU + ["--weights", "seed"],
}


# Tiny models have odd head sizes. KV types whose scales are shared need heads of 32 values,
# unless the feature is about heads.
HEADS = {"gpt2-old-config": {"n_embd": 64, "n_head": 2}, "mixtral-gptq-act-order": {}}


def compile_cell(cell, work):
    """Returns the error of a cell, or nothing."""
    name, overrides, extra = FEATURES[cell["feature"]]
    model = os.path.join(checkpoints, name)
    options = CHOICES[cell["with"]]
    options = options + (extra if extra[:1] != options[2:3] else [])  # never gives --precision twice
    if cell["with"] in ("kv int8", "kv int4", "kv 1-=int4"):
        overrides = HEADS.get(name, {"head_dim": 32}) | overrides
    if overrides:
        with open(os.path.join(model, "config.json")) as file:
            config = json.load(file) | overrides
        model = os.path.join(work, f"{id(cell)}.json")
        with open(model, "w") as file:
            json.dump(config, file)
        if "--weights" not in options:
            options = options + ["--weights", "seed"]
    text = "cuda" if CUDA[1] in options else "llvm"
    done = subprocess.run([ingot, "compile", model, "--emit", text, *options], capture_output=True, text=True)
    code = done.stderr.partition("error[")[2].partition("]")[0]
    if code != cell["code"]:
        return f"{cell['feature']} with {cell['with']}: expected {cell['code'] or 'to compile'}, got {code}\n{done.stderr}"
    if code and cell["why"] not in done.stderr:
        return f"{cell['feature']} with {cell['with']}: expected \"{cell['why']}\", got\n{done.stderr}"
    if code and done.returncode != 2:
        return f"{cell['feature']} with {cell['with']}: exit {done.returncode}"
    return None


cells = json.loads(subprocess.run([ingot, "doctor", "--mixes", "--json"], check=True, capture_output=True).stdout)
assert {cell["feature"] for cell in cells} == set(FEATURES), "the table has other features than this test"
assert {cell["with"] for cell in cells} == set(CHOICES), "the table has other choices than this test"
chosen = [cell for cell in cells if everything or cell["code"] or cell["feature"] == "attention to all"
          or cell["with"] in ("cpu", "cuda")]
assert any(cell["code"] for cell in chosen)
with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(2) as pool:
    wrong = [text for text in pool.map(lambda cell: compile_cell(cell, work), chosen) if text]
print(f"{len(chosen)} of {len(cells)} cells, {sum(bool(cell['code']) for cell in chosen)} of them refused")
sys.exit("\n".join(wrong) or 0)

"""check_activations.py INGOT FOLDER NAME…: compares a one-layer Llama's logits for each
hidden_act with the same computed in doubles.

The model's attention adds nothing, so the logits are those of the gated MLP. Standard library only.
"""
import json
import math
import os
import random
import struct
import subprocess
import sys

HIDDEN, FEED_FORWARD, HEADS, VOCABULARY, IDS = 32, 48, 2, 24, [1, 5, 9, 23, 0, 7]


def gelu_tanh(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


FUNCTIONS = {
    "gelu_new": gelu_tanh,
    "gelu_fast": lambda x: 0.5 * x * (1 + math.tanh(x * 0.7978845608 * (1 + 0.044715 * x * x))),
    "quick_gelu": lambda x: x / (1 + math.exp(-1.702 * x)),
    "relu": lambda x: max(x, 0.0),
    "relu2": lambda x: max(x, 0.0) ** 2,
    "mish": lambda x: x * math.tanh(math.log1p(math.exp(x))),
}


def weights():
    rng = random.Random(17)

    def matrix(rows, columns, deviation):  # multiples of 1/64, exact in bf16
        return rows, columns, [round(rng.gauss(0, deviation) * 64) / 64 for _ in range(rows * columns)]

    kv = HIDDEN
    layer = "model.layers.0."
    tensors = {"model.embed_tokens.weight": matrix(VOCABULARY, HIDDEN, 0.5), "lm_head.weight": matrix(VOCABULARY, HIDDEN, 0.5)}
    for name, rows in (("q", HIDDEN), ("k", kv), ("v", kv)):
        tensors[layer + f"self_attn.{name}_proj.weight"] = matrix(rows, HIDDEN, 0.2)
    tensors[layer + "self_attn.o_proj.weight"] = (HIDDEN, HIDDEN, [0.0] * (HIDDEN * HIDDEN))
    tensors[layer + "mlp.gate_proj.weight"] = matrix(FEED_FORWARD, HIDDEN, 0.7)  # values of up to about 12
    tensors[layer + "mlp.up_proj.weight"] = matrix(FEED_FORWARD, HIDDEN, 0.2)
    tensors[layer + "mlp.down_proj.weight"] = matrix(HIDDEN, FEED_FORWARD, 0.2)
    for name in (layer + "input_layernorm.weight", layer + "post_attention_layernorm.weight", "model.norm.weight"):
        tensors[name] = (HIDDEN, 0, [1.0] * HIDDEN)
    return tensors


def write(folder, name, tensors):
    os.makedirs(folder, exist_ok=True)
    config = dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=HIDDEN, intermediate_size=FEED_FORWARD,
                  num_hidden_layers=1, num_attention_heads=HEADS, num_key_value_heads=HEADS, vocab_size=VOCABULARY,
                  max_position_embeddings=64, rms_norm_eps=1e-6, hidden_act=name, tie_word_embeddings=False)
    with open(folder + "/config.json", "w") as file:
        json.dump(config, file)
    header, data = {}, b""
    for key, (rows, columns, values) in tensors.items():
        piece = struct.pack(f"<{len(values)}f", *values)
        header[key] = dict(dtype="F32", shape=[rows, columns] if columns else [rows], data_offsets=[len(data), len(data) + len(piece)])
        data += piece
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder + "/model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def multiply(tensor, x):
    rows, columns, values = tensor
    return [math.fsum(values[r * columns + c] * x[c] for c in range(columns)) for r in range(rows)]


def norm(x):
    scale = 1 / math.sqrt(math.fsum(v * v for v in x) / len(x) + 1e-6)
    return [v * scale for v in x]


def expected(tensors, function, id):
    mlp = "model.layers.0.mlp."
    x = tensors["model.embed_tokens.weight"][2][id * HIDDEN : (id + 1) * HIDDEN]
    y = norm(x)
    gate, up = (multiply(tensors[mlp + f"{name}_proj.weight"], y) for name in ("gate", "up"))
    down = multiply(tensors[mlp + "down_proj.weight"], [function(g) * u for g, u in zip(gate, up)])
    return multiply(tensors["lm_head.weight"], norm([a + b for a, b in zip(x, down)]))


def logits(ingot, engine, path, *more):
    subprocess.run([ingot, "logits", engine, "--ids", ",".join(map(str, IDS)), "--out", path, "--quiet", *more], check=True)
    data = open(path, "rb").read()
    start = 10 + struct.unpack_from("<H", data, 8)[0]
    return [struct.unpack_from(f"<{VOCABULARY}f", data, start + 4 * VOCABULARY * row) for row in range(len(IDS))]


def levels(ingot):
    """The CPU levels of this machine."""
    best = subprocess.run([ingot, "--version"], check=True, capture_output=True, text=True).stdout
    return ["avx2", "avx512"] if "avx512" in best else ["avx2"]


def main(ingot, folder, *names):
    emulator = "--emulator" in names
    tensors = weights()
    for name in names:
        if name.startswith("--"):
            continue
        write(folder, name, tensors)
        want = [expected(tensors, FUNCTIONS[name], id) for id in IDS]
        largest = max(abs(v) for row in want for v in row)
        how = ["--target", "cuda-emulator:sm_90a"] if emulator else ["--precision", "exact"]
        engine = f"{folder}/{name}.ingot"
        subprocess.run([ingot, "compile", folder, *how, "--quiet", "-o", engine], check=True)
        for level in [None] if emulator else levels(ingot):
            got = logits(ingot, engine, f"{folder}/{name}.npy", *(["--isa", level] if level else []))
            worst = max(abs(a - b) for x, y in zip(got, want) for a, b in zip(x, y)) / largest
            print(f"{name} {level or 'emulator'}: {worst:.1e} of the largest logit")
            # The emulator's activations are bf16, as on a GPU.
            assert worst < (2e-2 if emulator else 1e-4), (name, level, worst)


if __name__ == "__main__":
    main(*sys.argv[1:])

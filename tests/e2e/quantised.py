"""Quantised checkpoints of safetensors against the numbers that they stand for.

A small model whose matrices are codes and scales is written in each packing, and with the numbers themselves as f32. What
`--precision exact` computes from the packed one must be what it computes from the numbers, but for the order in which a
scale is multiplied; `fast` must be near. The packings are written here from their published layouts.
"""
import json
import struct

import numpy

HIDDEN, FFN, HEADS, KV_HEADS, HEAD, LAYERS, VOCABULARY, GROUP = 64, 96, 4, 2, 16, 2, 64, 32
IDS = [(5 * i * i + 3 * i) % VOCABULARY for i in range(24)]
MATRICES = {"self_attn.q_proj": (HEADS * HEAD, HIDDEN), "self_attn.k_proj": (KV_HEADS * HEAD, HIDDEN),
            "self_attn.v_proj": (KV_HEADS * HEAD, HIDDEN), "self_attn.o_proj": (HIDDEN, HEADS * HEAD), "mlp.gate_proj": (FFN, HIDDEN),
            "mlp.up_proj": (FFN, HIDDEN), "mlp.down_proj": (HIDDEN, FFN)}
TYPES = {"float32": "F32", "float16": "F16", "int32": "I32", "int64": "I64", "int8": "I8"}


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        raw = numpy.ascontiguousarray(values).tobytes()
        header[name] = {"dtype": TYPES[str(values.dtype)], "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def packed(codes, bits, axis):
    """Codes behind each other in words of 32 bits, the first in the lowest bits, along an axis."""
    codes = numpy.moveaxis(codes.astype(numpy.uint32), axis, -1)
    codes = codes.reshape(*codes.shape[:-1], -1, 32 // bits)
    words = numpy.zeros(codes.shape[:-1], numpy.uint32)
    for i in range(32 // bits):
        words |= codes[..., i] << numpy.uint32(bits * i)
    return numpy.moveaxis(words.view(numpy.int32), -1, axis)


class Matrix:
    """Codes [n][k], and of each group of k a zero [n][k / GROUP] and a scale of f16."""

    def __init__(self, random, shape, bits, symmetric):
        rows, columns = shape
        self.bits = bits
        self.q = random.integers(0, 1 << bits, shape)
        groups = (rows, columns // GROUP)
        self.z = numpy.full(groups, 1 << (bits - 1)) if symmetric else random.integers(1, (1 << bits) - 1, groups)
        self.s = (random.uniform(0.5, 1.5, groups) * 3 / columns**0.5 / (1 << bits)).astype(numpy.float16)

    def numbers(self):
        wide = lambda values: numpy.repeat(values, GROUP, axis=1)
        return wide(self.s.astype(numpy.float32)) * (self.q - wide(self.z)).astype(numpy.float32)


def gptq(name, m, version):
    zeros = m.z.T - (1 if version == 1 else 0)
    return {f"{name}.qweight": packed(m.q.T, m.bits, 0), f"{name}.qzeros": packed(zeros, m.bits, 1), f"{name}.scales": m.s.T,
            f"{name}.g_idx": (numpy.arange(m.q.shape[1]) // GROUP).astype(numpy.int32)}


def awq(name, m):
    order = [0, 2, 4, 6, 1, 3, 5, 7]  # which column is the i-th nibble
    turned = lambda values: values.T.reshape(values.shape[1], -1, 8)[:, :, order].reshape(values.shape[1], -1)
    return {f"{name}.qweight": packed(turned(m.q), 4, 1), f"{name}.qzeros": packed(turned(m.z), 4, 1), f"{name}.scales": m.s.T}


def compressed(name, m):
    return {f"{name}.weight_packed": packed(m.q, m.bits, 1), f"{name}.weight_scale": m.s,
            f"{name}.weight_shape": numpy.array(m.q.shape, numpy.int64)}


def settings(bits, symmetric, **more):
    return {"bits": bits, "group_size": GROUP, "sym": symmetric, "desc_act": False, **more}


CT = {"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["lm_head"], "config_groups": {"group_0": {
    "targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": GROUP, "symmetric": True}}}}
PACKINGS = {  # bits, symmetric, how a matrix is written, quantization_config
    "gptq 4 bits": (4, False, lambda name, m: gptq(name, m, 1), settings(4, False, quant_method="gptq")),
    "gptq 4 bits symmetric": (4, True, lambda name, m: gptq(name, m, 1), settings(4, True, quant_method="gptq")),
    "gptq v2 8 bits": (8, False, lambda name, m: gptq(name, m, 2), settings(8, False, quant_method="gptq", checkpoint_format="gptq_v2")),
    "awq": (4, False, awq, {"quant_method": "awq", "bits": 4, "group_size": GROUP, "zero_point": True, "version": "gemm"}),
    "compressed-tensors": (4, True, compressed, CT),
}


def write_model(folder, matrix, quantization):
    """`matrix`: what tensors there are for a matrix, by its name and shape."""
    folder.mkdir(parents=True)
    random = numpy.random.default_rng(7)
    noise = lambda *shape: random.standard_normal(shape).astype(numpy.float32)
    tensors = {"model.embed_tokens.weight": noise(VOCABULARY, HIDDEN), "model.norm.weight": 1 + noise(HIDDEN) / 4,
               "lm_head.weight": noise(VOCABULARY, HIDDEN) / 8}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        for norm in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{prefix}{norm}.weight"] = 1 + noise(HIDDEN) / 4
        for name, shape in MATRICES.items():
            tensors.update(matrix(prefix + name, shape))
    write_safetensors(folder / "model.safetensors", tensors)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": FFN,
              "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD, "num_hidden_layers": LAYERS,
              "vocab_size": VOCABULARY, "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "tie_word_embeddings": False,
              "torch_dtype": "float32"}
    if quantization:
        config["quantization_config"] = quantization
    (folder / "config.json").write_text(json.dumps(config))


def add(suite, ingot, long):
    for what, (bits, symmetric, write, quantization) in PACKINGS.items():
        def check(bits=bits, symmetric=symmetric, write=write, quantization=quantization, what=what):
            root = ingot.work / ("quantised " + what).replace(" ", "_")
            seeded = lambda: numpy.random.default_rng(11)
            random = seeded()
            write_model(root / "codes", lambda name, shape: write(name, Matrix(random, shape, bits, symmetric)), quantization)
            again = seeded()
            write_model(root / "numbers", lambda name, shape: {f"{name}.weight": Matrix(again, shape, bits, symmetric).numbers()}, None)

            def logits(folder, *options):
                ingot("compile", root / folder, "-o", root / "engine.ingot", "--quiet", *options)
                ingot("logits", root / "engine.ingot", "--ids", ",".join(map(str, IDS)), "--out", root / "logits.npy")
                return numpy.load(root / "logits.npy")

            expected = logits("numbers", "--precision", "exact")
            assert expected.std() > 0.1, f"logits deviate by {expected.std():.2g}"
            exact = abs(logits("codes", "--precision", "exact") - expected).max()
            assert exact <= 1e-5 * abs(expected).max(), f"exact is off by {exact:.2g} of {abs(expected).max():.2g}"
            fast = abs(logits("codes") - expected).mean() / expected.std()
            assert fast <= 0.05, f"fast is off by {fast:.3f} of the logits' deviation"
            return f"exact within {exact:.1e}, fast by {fast:.4f} of the logits' deviation"

        suite.check(f"quantised {what}", check)

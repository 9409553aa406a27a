"""Compares quantised safetensors checkpoints with the numbers that they represent.

A small model whose matrices are codes and scales is written in each packing, and with the numbers themselves as
f32. The results of `--precision exact` on the packed model must equal those on the numbers, except for the order
in which a scale is multiplied and the rounding that their table allows; `fast` must be close. The packings are
implemented here from their published layouts.
"""
import json
import shutil
import struct

import numpy

import gpu
import tiny

HIDDEN, FFN, HEADS, KV_HEADS, HEAD, LAYERS, VOCABULARY, GROUP = 64, 192, 4, 2, 16, 2, 64, 32
IDS = [(5 * i * i + 3 * i) % VOCABULARY for i in range(24)]
MATRICES = {"self_attn.q_proj": (HEADS * HEAD, HIDDEN), "self_attn.k_proj": (KV_HEADS * HEAD, HIDDEN),
            "self_attn.v_proj": (KV_HEADS * HEAD, HIDDEN), "self_attn.o_proj": (HIDDEN, HEADS * HEAD),
            "mlp.gate_proj": (FFN, HIDDEN),
            "mlp.up_proj": (FFN, HIDDEN), "mlp.down_proj": (HIDDEN, FFN)}
TYPES = {"float32": "F32", "float16": "F16", "int32": "I32", "int64": "I64", "int8": "I8", "uint8": "U8",
         "uint32": "U32", "|V1": "F8_E4M3"}
E2M1 = numpy.array([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6], numpy.float32)
NF4 = numpy.array([-1, -.6961928009986877, -.5250730514526367, -.39491748809814453, -.28444138169288635,
                   -.18477343022823334,
                   -.09105003625154495, 0, .07958029955625534, .16093020141124725, .24611230194568634,
                   .33791524171829224,
                   .44070982933044434, .5626170039176941, .7229568362236023, 1], numpy.float32)


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        raw = numpy.ascontiguousarray(values).tobytes()
        header[name] = {"dtype": TYPES[str(values.dtype)], "shape": list(values.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def packed(codes, bits, axis):
    """Packs codes contiguously into 32-bit words along an axis, the first in the lowest bits."""
    codes = numpy.moveaxis(codes.astype(numpy.uint32), axis, -1)
    codes = codes.reshape(*codes.shape[:-1], -1, 32 // bits)
    words = numpy.zeros(codes.shape[:-1], numpy.uint32)
    for i in range(32 // bits):
        words |= codes[..., i] << numpy.uint32(bits * i)
    return numpy.moveaxis(words.view(numpy.int32), -1, axis)


class Matrix:
    """Codes [n][k], and per group of k a zero point [n][k / GROUP] and an f16 scale."""

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


def e4m3(codes):
    exponent, mantissa = codes >> 3 & 15, codes & 7
    size = numpy.where(exponent, (8 + mantissa) * 2.0 ** (exponent - 10.0), mantissa * 2.0**-9)
    return numpy.where(codes & 128, -size, size).astype(numpy.float32)


class Nvfp4:
    """E2M1 codes, an E4M3 scale per 16, and one factor per matrix."""

    def __init__(self, random, shape):
        self.q = random.integers(0, 16, shape)
        self.s = random.integers(0x30, 0x40, (shape[0], shape[1] // 16))
        self.factor = numpy.float32(random.uniform(0.5, 1.5) / shape[1] ** 0.5)

    def numbers(self):
        return E2M1[self.q] * numpy.repeat(e4m3(self.s) * self.factor, 16, axis=1)

    def parts(self, name, codes, factors):
        pairs = (self.q[:, ::2] | self.q[:, 1::2] << 4).astype(numpy.uint8)
        scales = self.s.astype(numpy.uint8).view("V1")
        return {f"{name}.{codes}": pairs,
                f"{name}.weight_scale": scales} | {f"{name}.{key}": value for key, value in factors.items()}


class Fp8:
    """E4M3 codes and one scale per row."""

    def __init__(self, random, shape):
        self.q = random.integers(0, 0x48, shape) | random.integers(0, 2, shape) << 7
        self.s = (random.uniform(0.5, 1.5, shape[0]) / shape[1] ** 0.5).astype(numpy.float32)

    def numbers(self):
        return self.s[:, None] * e4m3(self.q)

    def parts(self, name):
        return {f"{name}.weight": self.q.astype(numpy.uint8).view("V1"), f"{name}.weight_scale": self.s}


class Mxfp8:
    """E4M3 codes and a power of two per 32, as MLX stores them: four codes per word, the first in the lowest
    byte."""

    def __init__(self, random, shape):
        self.q = random.integers(0, 0x48, shape) | random.integers(0, 2, shape) << 7
        self.power = random.integers(118, 122, (shape[0], shape[1] // 32))

    def numbers(self):
        return e4m3(self.q) * numpy.repeat(2.0 ** (self.power - 127), 32, axis=1).astype(numpy.float32)

    def parts(self, name):
        return {f"{name}.weight": packed(self.q, 8, 1).view(numpy.uint32),
                f"{name}.scales": self.power.astype(numpy.uint8)}


class Nf4:
    """NF4 codes in blocks of 64. The block scales are table values times a scale per 256 blocks."""

    def __init__(self, random, shape):
        self.shape, count = shape, shape[0] * shape[1]
        self.q, self.at = random.integers(0, 16, count), random.integers(0, 256, count // 64)
        self.map = numpy.linspace(-1, 1, 256, dtype=numpy.float32)
        self.scales = (random.uniform(0.5, 1, (count // 64 + 255) // 256) / shape[1] ** 0.5).astype(numpy.float32)
        self.offset = numpy.float32(2 / shape[1] ** 0.5)

    def numbers(self):
        largest = self.map[self.at] * self.scales[numpy.arange(len(self.at)) // 256] + self.offset
        return (NF4[self.q] * numpy.repeat(largest, 64)).reshape(self.shape)

    def parts(self, name):
        state = {"quant_type": "nf4", "blocksize": 64, "dtype": "float32", "shape": self.shape, "nested_blocksize": 256,
                 "nested_dtype": "float32", "nested_offset": float(self.offset)}
        text = numpy.frombuffer(json.dumps(state).encode(), numpy.uint8)
        return {f"{name}.weight": (self.q[::2] << 4 | self.q[1::2]).astype(numpy.uint8)[:, None],
                f"{name}.weight.absmax": self.at.astype(numpy.uint8), f"{name}.weight.quant_map": NF4,
                f"{name}.weight.nested_absmax": self.scales, f"{name}.weight.nested_quant_map": self.map,
                f"{name}.weight.quant_state.bitsandbytes__nf4": text}


class Ordered(Matrix):
    """Groups of permuted columns. Matrices of the same height share a permutation, as projections of one input
    do."""

    def __init__(self, random, shape):
        super().__init__(random, shape, 4, True)
        order = numpy.random.default_rng(shape[0] // 64)
        self.order = order.permutation(numpy.arange(shape[1]) // GROUP)

    def numbers(self):
        return self.s[:, self.order].astype(numpy.float32) * (self.q - 8).astype(numpy.float32)


class Mlx:
    """4-bit codes, and a scale and a bias per group of 64."""

    def __init__(self, random, shape):
        self.q = random.integers(0, 16, shape)
        groups = (shape[0], shape[1] // 64)
        self.s = (random.uniform(0.5, 1.5, groups) / shape[1] ** 0.5 / 4).astype(numpy.float16)
        self.b = (-7.3 * self.s.astype(numpy.float32)).astype(numpy.float16)

    def numbers(self):
        wide = lambda values: numpy.repeat(values.astype(numpy.float32), 64, axis=1)
        return wide(self.s) * self.q.astype(numpy.float32) + wide(self.b)

    def parts(self, name):
        return {f"{name}.weight": packed(self.q, 4, 1).view(numpy.uint32), f"{name}.scales": self.s,
                f"{name}.biases": self.b}


def gptq(name, m, version):
    zeros = m.z.T - (1 if version == 1 else 0)
    return {f"{name}.qweight": packed(m.q.T, m.bits, 0), f"{name}.qzeros": packed(zeros, m.bits, 1),
            f"{name}.scales": m.s.T,
            f"{name}.g_idx": (numpy.arange(m.q.shape[1]) // GROUP).astype(numpy.int32)}


def awq(name, m):
    order = [0, 2, 4, 6, 1, 3, 5, 7]  # the column of the i-th nibble
    turned = lambda values: values.T.reshape(values.shape[1], -1, 8)[:, :, order].reshape(values.shape[1], -1)
    return {f"{name}.qweight": packed(turned(m.q), 4, 1), f"{name}.qzeros": packed(turned(m.z), 4, 1),
            f"{name}.scales": m.s.T}


def compressed(name, m):
    return {f"{name}.weight_packed": packed(m.q, m.bits, 1), f"{name}.weight_scale": m.s,
            f"{name}.weight_shape": numpy.array(m.q.shape, numpy.int64)}


def settings(bits, symmetric, **more):
    return {"bits": bits, "group_size": GROUP, "sym": symmetric, "desc_act": False, **more}


CT = {"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["lm_head"],
      "config_groups": {"group_0": {
    "targets": ["Linear"],
    "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": GROUP, "symmetric": True}}}}
CT_NVFP4 = {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized", "ignore": ["lm_head"],
            "config_groups": {"group_0": {
    "targets": ["Linear"],
    "weights": {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16, "symmetric": True}}}}
integers = lambda bits, symmetric: lambda random, shape: Matrix(random, shape, bits, symmetric)
BNB = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4",
       "bnb_4bit_use_double_quant": True}
one = lambda number: numpy.array([number], numpy.float32)
# Matrix type, its writer, quantization_config, tolerance of exact (relative to the largest logit).
PACKINGS = {
    "gptq 4 bits": (integers(4, False), lambda name, m: gptq(name, m, 1), settings(4, False, quant_method="gptq"),
                    1e-5),
    "gptq 4 bits symmetric": (integers(4, True), lambda name, m: gptq(name, m, 1),
                              settings(4, True, quant_method="gptq"), 1e-5),
    "gptq v2 8 bits": (integers(8, False), lambda name, m: gptq(name, m, 2),
                       settings(8, False, quant_method="gptq", checkpoint_format="gptq_v2"), 1e-5),
    "gptq act-order": (Ordered, lambda name, m: gptq(name, m, 1) | {f"{name}.g_idx": m.order.astype(numpy.int32)},
                       settings(4, True, quant_method="gptq") | {"desc_act": True}, 1e-5),
    "awq": (integers(4, False), awq,
            {"quant_method": "awq", "bits": 4, "group_size": GROUP, "zero_point": True, "version": "gemm"}, 1e-5),
    "compressed-tensors": (integers(4, True), compressed, CT, 1e-5),
    "compressed-tensors nvfp4": (Nvfp4, lambda name, m: m.parts(name, "weight_packed",
                                                                {"weight_global_scale": one(1 / m.factor)}),
                                 CT_NVFP4, 1e-5),
    "modelopt nvfp4": (Nvfp4,
                       lambda name, m: m.parts(name, "weight", {"weight_scale_2": m.factor, "input_scale": one(1)}),
                       {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}, 1e-5),
    "modelopt fp8": (Fp8, lambda name, m: m.parts(name),
                     {"quant_method": "modelopt", "quant_algo": "FP8_PER_CHANNEL_PER_TOKEN"}, 1e-5),
    "mlx mxfp8": (Mxfp8, lambda name, m: m.parts(name), {"group_size": 32, "bits": 8, "mode": "mxfp8"}, 1e-5),
    "mlx": (Mlx, lambda name, m: m.parts(name), {"group_size": 64, "bits": 4}, 1e-5),
    "bitsandbytes nf4": (Nf4, lambda name, m: m.parts(name), BNB, 0.03),
}


def write_model(folder, matrix, quantization):
    """`matrix` returns the tensors of a matrix, from its name and shape."""
    shutil.rmtree(folder, ignore_errors=True)  # of a run that was ended
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
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN,
              "intermediate_size": FFN,
              "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD,
              "num_hidden_layers": LAYERS,
              "vocab_size": VOCABULARY, "max_position_embeddings": 128, "rms_norm_eps": 1e-5,
              "tie_word_embeddings": False,
              "torch_dtype": "float32"}
    if quantization:
        config["quantization_config" if "quant_method" in quantization else "quantization"] = quantization
    (folder / "config.json").write_text(json.dumps(config))


def add(suite, ingot, long):
    def emulated():
        root = ingot.work / "act-order"
        make, write, quantization, _ = PACKINGS["gptq act-order"]
        random = numpy.random.default_rng(11)
        write_model(root, lambda name, shape: write(name, make(random, shape)), quantization)
        cpu, emulator = ingot.work / "act-order-cpu.ingot", ingot.work / "act-order-gpu.ingot"
        ingot("compile", root, "-o", cpu, "--target", "cpu:avx2", "--precision", "exact", "--quiet")
        ingot("compile", root, "-o", emulator, "--target", gpu.EMULATOR, "--quiet")
        expected = tiny.logits(ingot, cpu, IDS, "avx2")
        worst = abs(gpu.logits(ingot, emulator, IDS, "cuda-emulator") - expected).max() / expected.std()
        assert worst <= 0.1, f"largest difference {worst:.2f} of the logits' deviation"
        return f"largest difference {worst:.1e} of the logits' deviation"

    suite.check("quantised gptq act-order on the CUDA emulator", emulated)
    for what, (make, write, quantization, bound) in PACKINGS.items():
        def check(make=make, write=write, quantization=quantization, bound=bound, what=what):
            root = ingot.work / ("quantised " + what).replace(" ", "_")
            seeded = lambda: numpy.random.default_rng(11)
            random = seeded()
            write_model(root / "codes", lambda name, shape: write(name, make(random, shape)), quantization)
            again = seeded()
            write_model(root / "numbers", lambda name, shape: {f"{name}.weight": make(again, shape).numbers()}, None)

            def logits(folder, *options):
                ingot("compile", root / folder, "-o", root / "engine.ingot", "--quiet", *options)
                ingot("logits", root / "engine.ingot", "--ids", ",".join(map(str, IDS)), "--out", root / "logits.npy")
                return numpy.load(root / "logits.npy")

            expected = logits("numbers", "--precision", "exact")
            assert expected.std() > 0.1, f"logits deviate by {expected.std():.2g}"
            exact = abs(logits("codes", "--precision", "exact") - expected).max()
            assert exact <= bound * abs(expected).max(), f"exact is off by {exact:.2g} of {abs(expected).max():.2g}"
            fast = abs(logits("codes") - expected).mean() / expected.std()
            assert fast <= 0.05, f"fast is off by {fast:.3f} of the logits' deviation"
            return f"exact within {exact:.1e}, fast by {fast:.4f} of the logits' deviation"

        suite.check(f"quantised {what}", check)

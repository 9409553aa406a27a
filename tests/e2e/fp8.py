"""Compares fp8 checkpoints of every layout with the same numbers stored as F32.

A small random Llama is written with its matrices as E4M3: with a scale per 128 x 128 block (as DeepSeek stores
them), per tensor (as vLLM does) and per row with bf16 scales (compressed-tensors), and for each of these also
with every scale multiplied out, as F32. In exact precision both are the same chain of products, so logits are
bit-identical; in fast precision they are close. N and K are not multiples of the block size."""
import json
import struct

import numpy

import gpu
import tiny

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 144, "intermediate_size": 300,
          "num_hidden_layers": 2, "num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 48, "hidden_act": "silu",
          "max_position_embeddings": 128, "vocab_size": 90, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
          "tie_word_embeddings": False, "torch_dtype": "bfloat16"}
GROUP = {"targets": ["Linear"], "output_activations": None,
         "input_activations": {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True, "symmetric": True},
         "weights": {"num_bits": 8, "type": "float", "strategy": "channel", "dynamic": False, "symmetric": True,
                     "observer": "minmax", "group_size": None, "block_structure": None}}
LAYOUTS = {
    "block": {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": [128, 128]},
    "tensor": {"quant_method": "fp8", "activation_scheme": "static", "ignored_layers": ["lm_head"]},
    "channel": {"quant_method": "compressed-tensors", "format": "float-quantized", "quantization_status": "compressed",
                "ignore": ["lm_head"], "kv_cache_scheme": None, "config_groups": {"group_0": GROUP}},
}
IDS = [3, 17, 88, 41, 0, 5, 63, 29, 29, 71, 12]


def numbers():
    """The value of each E4M3 code; NaN for the two NaN codes."""
    codes = numpy.arange(256)
    exponent, mantissa = codes >> 3 & 15, (codes & 7).astype(numpy.float64)
    size = numpy.where(exponent > 0, (8 + mantissa) * 2.0 ** (exponent - 10), mantissa * 2.0 ** -9)
    size[codes & 127 == 127] = numpy.nan
    return numpy.where(codes & 128, -size, size).astype(numpy.float32)


def to_codes(values):
    """The nearest code of each value (either one in a tie)."""
    table = numbers()[:127]  # ascending
    size = abs(values)
    above = numpy.clip(numpy.searchsorted(table, size), 1, 126)
    nearest = numpy.where(size - table[above - 1] < table[above] - size, above - 1, above)
    return (nearest | numpy.where(numpy.signbit(values), 128, 0)).astype(numpy.uint8)


def to_bf16(values):
    bits = numpy.ascontiguousarray(values, numpy.float32).view(numpy.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def from_bf16(bits):
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def write_folder(folder, config, tensors):
    """`tensors`: name -> (dtype in safetensors, array of its bytes, shape)."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    header, data = {}, b""
    for name, (dtype, array, shape) in tensors.items():
        content = numpy.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def scales_of(layout, w):
    """The scales per element, and as stored: (name suffix, dtype, array, shape)."""
    rows, columns = w.shape
    if layout == "tensor":
        scale = numpy.float32(abs(w).max() / 448)
        return numpy.full_like(w, scale), (".weight_scale", "F32", scale, [])
    if layout == "channel":
        stored = to_bf16(abs(w).max(axis=1, keepdims=True) / 448)
        return numpy.broadcast_to(from_bf16(stored), w.shape), (".weight_scale", "BF16", stored, [rows, 1])
    grid = numpy.array([[abs(w[r:r + 128, c:c + 128]).max() / 448 for c in range(0, columns, 128)]
                        for r in range(0, rows, 128)], numpy.float32)
    whole = numpy.repeat(numpy.repeat(grid, 128, 0), 128, 1)[:rows, :columns]
    return whole, (".weight_scale_inv", "F32", grid, grid.shape)


def write_pair(work, layout):
    """Writes the fp8 folder and its F32 twin."""
    random = numpy.random.default_rng(7)
    c = CONFIG
    q, kv, hidden, inner = (c["num_attention_heads"] * c["head_dim"], c["num_key_value_heads"] * c["head_dim"],
                            c["hidden_size"], c["intermediate_size"])
    packed, plain = {}, {}

    def both(name, array):
        packed[name] = plain[name] = ("F32", array.astype(numpy.float32), array.shape)

    both("model.embed_tokens.weight", random.standard_normal((c["vocab_size"], hidden)))
    both("model.norm.weight", 1 + 0.3 * random.standard_normal(hidden))
    both("lm_head.weight", random.standard_normal((c["vocab_size"], hidden)) / 8)
    for i in range(c["num_hidden_layers"]):
        for part in ("input_layernorm", "post_attention_layernorm"):
            both(f"model.layers.{i}.{part}.weight", 1 + 0.3 * random.standard_normal(hidden))
        for part, n, k in (("self_attn.q_proj", q, hidden), ("self_attn.k_proj", kv, hidden), ("self_attn.v_proj", kv, hidden),
                           ("self_attn.o_proj", hidden, q), ("mlp.gate_proj", inner, hidden), ("mlp.up_proj", inner, hidden),
                           ("mlp.down_proj", hidden, inner)):
            name = f"model.layers.{i}.{part}"
            w = (random.standard_normal((n, k)) * 1.5 / k ** 0.5).astype(numpy.float32)
            scale, (ending, dtype, stored, shape) = scales_of(layout, w)
            codes = to_codes(w / scale)
            packed[name + ".weight"] = ("F8_E4M3", codes, w.shape)
            packed[name + ending] = (dtype, stored, shape)
            if layout == "tensor":
                packed[name + ".input_scale"] = ("F32", numpy.float32(0.5), [])
            plain[name + ".weight"] = ("F32", scale * numbers()[codes], w.shape)
    write_folder(work / f"fp8-{layout}", {**CONFIG, "quantization_config": LAYOUTS[layout]}, packed)
    write_folder(work / f"fp8-{layout}-f32", CONFIG, plain)
    return work / f"fp8-{layout}", work / f"fp8-{layout}-f32"


def add(suite, ingot, long):
    def logits(model, *options):
        engine = ingot.work / "fp8.ingot"
        ingot("compile", model, "-o", engine, "--quiet", *options)
        return [tiny.logits(ingot, engine, IDS, isa) for isa in ingot.levels(engine)]

    for layout in LAYOUTS:
        def check(layout=layout):
            packed, plain = write_pair(ingot.work, layout)
            expected = logits(plain, "--precision", "exact")
            for got, want in zip(logits(packed, "--precision", "exact"), expected):
                assert numpy.array_equal(got, want), f"largest difference from F32 {abs(got - want).max():.1e}, allowed 0"
            if layout != "block":
                return "exact: the same bits"
            worst = max(abs(got - expected[0]).max() for got in logits(packed))
            assert worst <= 0.1 * expected[0].std(), f"fast: largest difference {worst:.2f}, logits deviate {expected[0].std():.2f}"
            return f"exact: the same bits; fast: largest difference {worst:.1e}, logits deviate {expected[0].std():.2f}"

        def emulated(layout=layout):
            packed, plain = write_pair(ingot.work, layout)
            engine, plain_engine = ingot.work / "fp8.ingot", ingot.work / "fp8-f32.ingot"
            ingot("compile", plain, "-o", plain_engine, "--target", "cpu:avx2", "--quiet", "--precision", "exact")
            expected = tiny.logits(ingot, plain_engine, IDS, "avx2")
            ingot("compile", packed, "-o", engine, "--target", gpu.EMULATOR, "--quiet")
            worst = abs(gpu.logits(ingot, engine, IDS, "cuda-emulator") - expected).max()
            assert worst <= 0.1 * expected.std(), f"largest difference {worst:.2f}, logits deviate {expected.std():.2f}"
            # In steps of more than 64 tokens, activations are rounded to fp8 too: the first new ids must have the
            # highest logit or nearly so.
            prompts = numpy.random.default_rng(3).integers(0, CONFIG["vocab_size"], (6, 80)).tolist()
            answers = ingot.json_lines("run", engine, "--prompts-file", ingot.file("fp8.jsonl", [{"prompt_ids": p} for p in prompts]), "-n", 1,
                                       "--greedy", "--ignore-eos", "--context", 128, "--device", "cuda-emulator")
            behind = 0
            for prompt, answer in zip(prompts, answers):
                exact = tiny.logits(ingot, plain_engine, prompt, "avx2")[-1]
                behind = max(behind, (exact.max() - exact[answer["ids"][0]]) / exact.std())
            assert behind <= 0.2, f"an id that is {behind:.2f} deviations behind the best one"
            return f"largest difference from the CPU's exact ones {worst:.1e}, logits deviate {expected.std():.2f}; after 80 tokens {behind:.2f} deviations behind the best id"

        suite.check(f"fp8 checkpoint, a scale per {layout}", check)
        if layout == "block":
            suite.check("fp8 checkpoint, a scale per block, on the CUDA emulator", emulated)

    def random():
        write_pair(ingot.work, "block")
        config = ingot.work / "fp8-block" / "config.json"
        packed = [logits(config, "--weights", how)[0] for how in ("random", "seed")]
        assert numpy.array_equal(*packed) and numpy.isfinite(packed[0]).all()

    suite.check("fp8 made up from a seed", random)

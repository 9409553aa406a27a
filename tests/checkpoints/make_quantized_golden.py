"""Writes quantized_golden.bin: quantised matrices as safetensors checkpoints store them, and their numbers.

Shares no code with the importer: codes are packed bit by bit with Python's integers, as
documented by the projects that write such files (AutoGPTQ, AutoAWQ, compressed-tensors,
bitsandbytes, OCP Microscaling). A number is scale * (code - zero point) in f32, rounded once.
Codes, scales and zero points are random, from a fixed seed. Run it again only to add a case:

    python3 make_quantized_golden.py quantized_golden.bin

Layout, per case: name | quantization_config (JSON) | u32 tensors | per tensor: name | dtype
| u32 dimensions | u64 extents | bytes | then: name of the resulting matrix | u64 values |
f32 values. Names and bytes have a u32 length first.
"""

import json
import struct
import sys

import numpy as np

random = np.random.default_rng(20261123)
DTYPES = {"I32": np.int32, "I64": np.int64, "I8": np.int8, "U8": np.uint8, "U32": np.uint32, "F8_E4M3": np.uint8,
          "F16": np.float16, "F32": np.float32}


def bf16(values):
    """Truncates to bf16; the result is f32."""
    return (values.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)


def stored(dtype, values):
    if dtype == "BF16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return np.ascontiguousarray(values).astype(DTYPES[dtype]).tobytes()


def some_scales(shape, dtype):
    values = random.uniform(0.001, 0.02, shape) * random.choice([1, 1, 1, -1], shape)
    if dtype == "F16":
        return values.astype(np.float16).astype(np.float32)
    # Makes bf16 scales too small for f16, to detect a reader that takes them for f16.
    return bf16(values / 1024) if dtype == "BF16" else values.astype(np.float32)


def stream(codes, bits):
    """Packs codes into 32-bit words, lowest bit first, without gaps."""
    whole = 0
    for place, code in enumerate(codes):
        whole |= int(code) << (bits * place)
    return [(whole >> (32 * i)) & 0xFFFFFFFF for i in range((len(codes) * bits + 31) // 32)]


def words(codes, bits):
    """Packs codes into 32-bit words, as many whole codes per word as fit; the last word is padded with zeros."""
    each = 32 // bits
    return [sum(int(code) << (bits * i) for i, code in enumerate(codes[at : at + each]))
            for at in range(0, len(codes), each)]


def signed(rows):
    return np.array(rows, np.uint32).view(np.int32)


def numbers(codes, zeros, scales, group):
    of = np.arange(codes.shape[1]) // group
    steps = codes.astype(np.int64) - zeros.astype(np.int64)[:, of]
    return (scales.astype(np.float32)[:, of] * steps.astype(np.float32)).astype(np.float32)


def gptq(n, k, bits, group, asymmetric, version, order=False, bias=False, dtype="F16"):
    size = k if group < 0 else group
    groups = (k + size - 1) // size
    codes = random.integers(0, 1 << bits, (n, k))
    # v1 never stores all ones.
    zeros = random.integers(1, (1 << bits) - 1, (n, groups)) if asymmetric else np.full((n, groups), 1 << (bits - 1))
    scales = some_scales((n, groups), dtype)
    less = 1 if version == "gptq" else 0
    tensors = [
        ("w.qweight", "I32", signed([stream(codes[row], bits) for row in range(n)]).T),
        ("w.qzeros", "I32", signed([stream(zeros[:, g] - less, bits) for g in range(groups)])),
        ("w.scales", dtype, scales.T),
    ]
    if order:
        tensors.append(("w.g_idx", "I32", np.arange(k) // size))
    if bias:
        tensors.append(("w.bias", "F16", np.zeros(n)))
    config = {"quant_method": "gptq", "bits": bits, "group_size": group, "sym": not asymmetric, "desc_act": False}
    if version != "gptq" or order:
        config["checkpoint_format"] = version
    return config, tensors, numbers(codes, zeros, scales, size)


def awq(n, k, group):
    groups = k // group
    codes, zeros = random.integers(0, 16, (n, k)), random.integers(0, 16, (n, groups))
    scales = some_scales((n, groups), "F16")

    def packed(columns):  # [rows][n] codes
        order = [0, 2, 4, 6, 1, 3, 5, 7]
        return signed([words([row[at + order[i]] for at in range(0, n, 8) for i in range(8)], 4) for row in columns])

    tensors = [("w.qweight", "I32", packed(codes.T)), ("w.qzeros", "I32", packed(zeros.T)),
               ("w.scales", "F16", scales.T)]
    config = {"quant_method": "awq", "bits": 4, "group_size": group, "zero_point": True, "version": "gemm"}
    return config, tensors, numbers(codes, zeros, scales, group)


def compressed(form, bits, strategy, group, asymmetric, dtype):
    n, k = (11, 192) if strategy == "group" else (9, 83)
    columns = k // group if strategy == "group" else 1
    shape = (1, 1) if strategy == "tensor" else (n, columns)
    low = -(1 << (bits - 1))
    codes = random.integers(low, -low, (n, k))
    zeros = random.integers(low, -low, shape) if asymmetric else np.zeros(shape, int)
    scales = some_scales(shape, dtype)
    if form == "pack-quantized":
        tensors = [("w.weight_packed", "I32", signed([words(row - low, bits) for row in codes])),
                   ("w.weight_shape", "I64", np.array([n, k]))]
        if asymmetric:
            tensors.append(("w.weight_zero_point", "I32", signed([words(column - low, bits) for column in zeros.T]).T))
    else:
        tensors = [("w.weight", "I8", codes)]
        if asymmetric:
            tensors.append(("w.weight_zero_point", "I8", zeros if strategy != "tensor" else zeros.ravel()))
    tensors.append(("w.weight_scale", dtype, scales if strategy != "tensor" else scales.ravel()))
    config = {"quant_method": "compressed-tensors", "format": form, "quantization_status": "compressed",
              "ignore": ["lm_head"],
              "kv_cache_scheme": None, "global_compression_ratio": 1.5, "version": "0.12.2", "sparsity_config": {},
              "transform_config": {}, "config_groups": {"group_0": {
                  "targets": ["Linear"], "input_activations": None, "output_activations": None, "weights": {
                      "num_bits": bits, "type": "int", "strategy": strategy,
                      "group_size": group if strategy == "group" else None,
                      "symmetric": not asymmetric, "dynamic": False, "actorder": None, "block_structure": None,
                      "observer": "minmax", "observer_kwargs": {}}}}}
    every = np.broadcast_to(zeros, (n, columns)), np.broadcast_to(scales, (n, columns))
    return config, tensors, numbers(codes, *every, group if strategy == "group" else k)


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def mxfp4(form):
    stack, n, k = (2, 4, 96) if form == "mxfp4" else (1, 5, 160)
    codes = random.integers(0, 16, (stack, n, k))
    powers = random.integers(100, 140, (stack, n, k // 32))
    powers[0, 0, :2] = 0, 1  # the smallest two
    packed = codes[..., ::2] | codes[..., 1::2] << 4
    values = E2M1[codes] * np.repeat(np.ldexp(np.float64(1), powers - 127), 32, axis=-1)
    if form == "mxfp4":
        return ({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]},
                [("e.gate_up_proj_blocks", "U8", packed.reshape(stack, n, k // 32, 16)),
                 ("e.gate_up_proj_scales", "U8", powers)],
                values.astype(np.float32))
    config = {"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized",
              "quantization_status": "compressed",
              "config_groups": {"group_0": {"targets": ["Linear"],
                                            "weights": {"num_bits": 4, "type": "float", "group_size": 32}}}}
    return config, [("w.weight_packed", "U8", packed[0]),
                    ("w.weight_scale", "U8", powers[0])], values[0].astype(np.float32)


def bitsandbytes():
    n, k = 5, 75
    codes, largest = random.integers(-127, 128, (n, k)), random.uniform(0.1, 3, n).astype(np.float32)
    tensors = [("w.weight", "I8", codes), ("w.SCB", "F32", largest), ("w.weight_format", "U8", np.array(0))]
    config = {"quant_method": "bitsandbytes", "load_in_8bit": True, "load_in_4bit": False, "llm_int8_threshold": 6.0,
              "bnb_4bit_quant_type": "fp4", "llm_int8_skip_modules": ["lm_head"]}
    return config, tensors, numbers(codes, np.zeros((n, 1), int), (largest / np.float32(127))[:, None], k)


# The table has all codes. Subnormals are multiples of 2^-9. The last code of each sign is NaN.
E4M3 = np.array([(-1) ** (q >> 7) * ((8 + q % 8) * 2.0 ** ((q >> 3 & 15) - 10) if q >> 3 & 15 else q % 8 * 2.0 ** -9)
                 for q in range(256)],
                np.float32)


def nvfp4(form, n, k, factor=None):
    """Uses f32 throughout, as modelopt's NVFP4QTensor.dequantize and compressed_tensors' dequantize do."""
    codes, scales = random.integers(0, 16, (n, k)), random.integers(1, 0x7F, (n, k // 16))
    scales[0, :3] = 0, 1, 0x7E  # zero, the smallest, the largest
    packed = (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)
    factor = np.float32(random.uniform(1e-4, 1e-3) if factor is None else factor)
    if form == "modelopt":
        scale = E4M3[scales] * factor
        tensors = [("w.weight", "U8", packed), ("w.weight_scale", "F8_E4M3", scales),
                   ("w.weight_scale_2", "F32", np.array(factor)),
                   ("w.input_scale", "F32", np.array(0.5))]
        config = {"quant_method": "modelopt", "quant_algo": "NVFP4",
                  "kv_cache_scheme": {"num_bits": 8, "type": "float"},
                  "ignore": ["lm_head"], "producer": {"name": "modelopt", "version": "0.40.0"},
                  "config_groups": {"group_0": {
                      "targets": ["Linear"],
                      "weights": {"dynamic": False, "num_bits": 4, "type": "float", "group_size": 16}}}}
    else:
        divisor = np.float32(1) / factor
        scale = E4M3[scales] / divisor
        tensors = [("w.weight_packed", "U8", packed), ("w.weight_scale", "F8_E4M3", scales),
                   ("w.weight_global_scale", "F32", np.array([divisor])),
                   ("w.input_global_scale", "F32", np.array([3.0]))]
        config = {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
                  "quantization_status": "compressed",
                  "config_groups": {"group_0": {"targets": ["Linear"], "format": "nvfp4-pack-quantized", "weights": {
                      "num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16,
                      "symmetric": True}}}}
    return config, tensors, E2M1[codes] * np.repeat(scale.astype(np.float32), 16, axis=1)


def mxfp8(codes):
    powers = random.integers(100, 140, (codes.shape[0], codes.shape[1] // 32))
    return powers, (E4M3[codes] * np.repeat(np.ldexp(np.float32(1), powers - 127), 32, axis=1)).astype(np.float32)


def compressed_mxfp8():
    """compressed-tensors' MXFP8 (compressors/mxfp8)."""
    codes = random.integers(0, 0x7F, (7, 96)) | random.integers(0, 2, (7, 96)) << 7
    powers, values = mxfp8(codes)
    config = {"quant_method": "compressed-tensors", "format": "mxfp8-quantized", "quantization_status": "compressed",
              "config_groups": {
        "group_0": {"targets": ["Linear"], "format": "mxfp8-quantized",
                    "input_activations": {"num_bits": 8, "dynamic": True}, "weights": {
            "num_bits": 8, "type": "float", "strategy": "group", "group_size": 32, "symmetric": True, "dynamic": False,
            "scale_dtype": "torch.uint8", "zp_dtype": "torch.uint8"}}}}
    return config, [("w.weight", "F8_E4M3", codes), ("w.weight_scale", "U8", powers)], values


def modelopt8(algorithm):
    n, k = 130 if algorithm == "FP8_PB_WO" else 12, 160
    codes = random.integers(0, 0x7F, (n, k)) | random.integers(0, 2, (n, k)) << 7
    config = {"quant_method": "modelopt", "quant_algo": algorithm,
              "exclude_modules": ["lm_head", "model.layers.*.mlp.router"]}
    if algorithm == "MXFP8":
        powers, values = mxfp8(codes)
        return config, [("w.weight", "F8_E4M3", codes), ("w.weight_scale", "U8", powers)], values
    shape = {"FP8": (), "FP8_PB_WO": (2, 1, 2, 1), "FP8_PER_CHANNEL_PER_TOKEN": (n,)}[algorithm]
    scales = random.uniform(0.001, 0.01, shape).astype(np.float32)
    wide = scales[:, None] if len(shape) == 1 else scales
    if len(shape) == 4:
        wide = np.repeat(np.repeat(scales[:, 0, :, 0], 128, 0), 128, 1)[:n, :k]
    tensors = [("w.weight", "F8_E4M3", codes), ("w.weight_scale", "F32", np.array(scales)),
               ("w.input_scale", "F32", np.array(0.5)),
               ("w.k_scale", "F32", np.array(1.0))]
    return config, tensors, (wide * E4M3[codes]).astype(np.float32)


# From bitsandbytes' functional.py, get_4bit_type.
NF4 = np.array([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
                -0.18477343022823334,
                -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634,
                0.33791524171829224,
                0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0], np.float32)
FP4 = (np.array([0, 0.0625, 8, 12, 4, 6, 2, 3, 0, -0.0625, -8, -12, -4, -6, -2, -3]) / 12).astype(np.float32)


def bitsandbytes4(kind, nested, block=64):
    n, k = 12, 192 if block == 64 else 256
    table, codes, blocks = NF4 if kind == "nf4" else FP4, random.integers(0, 16, n * k), n * k // block
    state = {"quant_type": kind, "blocksize": block, "dtype": "float32", "shape": [n, k]}
    tensors = [("w.weight", "U8", (codes[::2] << 4 | codes[1::2])[:, None]), ("w.weight.quant_map", "F32", table)]
    if nested:
        map, at = np.sort(random.uniform(-1, 1, 256)).astype(np.float32), random.integers(0, 256, blocks)
        scales, offset = random.uniform(0.01, 0.02, (blocks + 15) // 16).astype(np.float32), np.float32(0.0401)
        largest = map[at] * scales[np.arange(blocks) // 16] + offset  # two roundings
        state |= {"nested_blocksize": 16, "nested_dtype": "float32", "nested_offset": float(offset)}
        tensors += [("w.weight.absmax", "U8", at), ("w.weight.nested_absmax", "F32", scales),
                    ("w.weight.nested_quant_map", "F32", map)]
    else:
        largest = random.uniform(0.1, 3, blocks).astype(np.float32)
        tensors.append(("w.weight.absmax", "F32", largest))
    text = np.frombuffer(json.dumps(state).encode(), np.uint8)
    tensors.append((f"w.weight.quant_state.bitsandbytes__{kind}", "U8", text))
    config = {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False, "bnb_4bit_quant_type": kind,
              "bnb_4bit_use_double_quant": nested, "bnb_4bit_compute_dtype": "bfloat16",
              "llm_int8_skip_modules": ["lm_head"]}
    return config, tensors, (table[codes] * np.repeat(largest, block)).reshape(n, k)


def act_order(form, asymmetric, version="gptq"):
    """Groups whose columns are permuted."""
    n, k, group = 8, 160, 32
    order = random.permutation(np.arange(k) // group)
    codes = random.integers(0, 16, (n, k))
    zeros = random.integers(1, 15, (n, k // group)) if asymmetric else np.full((n, k // group), 8)
    scales = some_scales((n, k // group), "F16" if form == "gptq" else "BF16")
    exact = scales[:, order] * (codes - zeros[:, order]).astype(np.float32)
    if form == "gptq":
        less = 1 if version == "gptq" else 0
        tensors = [("w.qweight", "I32", signed([stream(row, 4) for row in codes]).T),
                   ("w.qzeros", "I32", signed([stream(zeros[:, g] - less, 4) for g in range(k // group)])),
                   ("w.scales", "F16", scales.T),
                   ("w.g_idx", "I32", order)]
        config = {"quant_method": "gptq", "bits": 4, "group_size": group, "sym": not asymmetric, "desc_act": True,
                  "checkpoint_format": version}
        return config, tensors, exact
    config = {"quant_method": "compressed-tensors", "format": "pack-quantized",
              "config_groups": {"group_0": {"targets": ["Linear"], "weights": {
        "num_bits": 4, "type": "int", "strategy": "group", "group_size": group, "symmetric": True,
        "actorder": "group"}}}}
    tensors = [("w.weight_packed", "I32", signed([words(row, 4) for row in codes])),
               ("w.weight_shape", "I64", np.array([n, k])),
               ("w.weight_scale", "BF16", scales), ("w.weight_g_idx", "I32", order)]
    return config, tensors, exact


def mlx(bits, group, dtype, mode="affine", own=None):
    """scales * q + biases in f32, each rounded once. `own`: this matrix has its own settings, and all others have
    different ones."""
    n, k = 6, 256
    said = {"group_size": group, "bits": bits} | ({"mode": mode} if mode != "affine" or own else {})
    whole = {"group_size": 64, "bits": 4, "w": said, "lm_head": False} if own else said
    config = {"quantization_key": "quantization", **whole}
    if mode == "mxfp8":
        codes = random.integers(0, 0x7F, (n, k)) | random.integers(0, 2, (n, k)) << 7
        powers, values = mxfp8(codes)
        return config, [("w.weight", "U32", np.array([words(row, 8) for row in codes], np.uint32)),
                        ("w.scales", "U8", powers)], values
    if mode != "affine":
        codes = random.integers(0, 16, (n, k))
        packed = np.array([words(row, 4) for row in codes], np.uint32)
        scales = random.integers(100, 120, (n, k // 32)) if mode == "mxfp4" else random.integers(0, 0x7F, (n, k // 16))
        wide = np.ldexp(np.float32(1), scales - 127).astype(np.float32) if mode == "mxfp4" else E4M3[scales]
        tensors = [("w.weight", "U32", packed), ("w.scales", "U8", scales)]
        return config, tensors, E2M1[codes] * np.repeat(wide, group, axis=1)
    codes = random.integers(0, 1 << bits, (n, k))
    scales, biases = some_scales((n, k // group), dtype), some_scales((n, k // group), dtype) * np.float32(8)
    packed = np.array([stream(row, bits) for row in codes], np.uint32)
    values = np.repeat(scales, group, 1) * codes.astype(np.float32) + np.repeat(biases, group, 1)
    return config, [("w.weight", "U32", packed), ("w.scales", dtype, scales),
                    ("w.biases", dtype, biases)], values.astype(np.float32)


def fp8_stack(form):
    """Experts in one tensor, as transformers and vLLM save models like DeepSeek."""
    experts, n, k = 2, 130, 20
    codes = random.integers(0, 0x7F, (experts, n, k))
    scales = random.uniform(0.001, 0.01, (experts, 2, 1) if form == "block" else (experts, 1, 1)).astype(np.float32)
    wide = np.repeat(np.repeat(scales, 128, 1), 128, 2)[:, :n, :k] if form == "block" else scales
    config = {"quant_method": "fp8",
              "activation_scheme": "dynamic"} | ({"weight_block_size": [128, 128]} if form == "block" else {})
    tensors = [("e.gate_up_proj", "F8_E4M3", codes), ("e.gate_up_proj_scale_inv", "F32", scales)]
    return config, tensors, (wide * E4M3[codes]).astype(np.float32)


CASES = {
    "gptq-2-g64": lambda: gptq(16, 192, 2, 64, True, "gptq"),
    "gptq-2-symmetric": lambda: gptq(16, 128, 2, 128, False, "gptq"),
    "gptq-3-g32": lambda: gptq(32, 160, 3, 32, True, "gptq"),
    "gptq-4-g128": lambda: gptq(8, 256, 4, 128, False, "gptq", order=True, bias=True),
    "gptq-4-g32-asymmetric": lambda: gptq(8, 160, 4, 32, True, "gptq"),
    "gptq-4-v2": lambda: gptq(8, 192, 4, 64, True, "gptq_v2", order=True),
    "gptq-4-row": lambda: gptq(8, 104, 4, -1, False, "gptq"),
    "gptq-4-bf16": lambda: gptq(8, 256, 4, 128, True, "gptq", dtype="BF16"),
    "gptq-4-f32": lambda: gptq(8, 192, 4, 96, True, "gptq", dtype="F32"),
    "gptq-8-g128": lambda: gptq(4, 256, 8, 128, False, "gptq"),
    "gptq-8-asymmetric": lambda: gptq(4, 96, 8, 32, True, "gptq"),
    "awq-g128": lambda: awq(16, 256, 128),
    "awq-g32": lambda: awq(16, 96, 32),
    "ct-pack-4-channel": lambda: compressed("pack-quantized", 4, "channel", 0, False, "BF16"),
    "ct-pack-4-group": lambda: compressed("pack-quantized", 4, "group", 32, False, "BF16"),
    "ct-pack-4-asymmetric": lambda: compressed("pack-quantized", 4, "group", 64, True, "BF16"),
    "ct-pack-4-f16": lambda: compressed("pack-quantized", 4, "group", 96, True, "F16"),
    "ct-pack-8-group": lambda: compressed("pack-quantized", 8, "group", 32, True, "F32"),
    "ct-int-channel": lambda: compressed("int-quantized", 8, "channel", 0, False, "BF16"),
    "ct-int-asymmetric": lambda: compressed("int-quantized", 8, "channel", 0, True, "F32"),
    "ct-naive-tensor": lambda: compressed("naive-quantized", 8, "tensor", 0, False, "F32"),
    "ct-mxfp4": lambda: mxfp4("mxfp4-pack-quantized"),
    "gpt-oss-mxfp4": lambda: mxfp4("mxfp4"),
    "bitsandbytes-int8": bitsandbytes,
    "ct-nvfp4": lambda: nvfp4("compressed-tensors", 5, 160),
    "modelopt-nvfp4": lambda: nvfp4("modelopt", 6, 528),
    "modelopt-nvfp4-uncalibrated": lambda: nvfp4("modelopt", 3, 48, 0),
    "modelopt-fp8": lambda: modelopt8("FP8"),
    "modelopt-fp8-block": lambda: modelopt8("FP8_PB_WO"),
    "modelopt-fp8-channel": lambda: modelopt8("FP8_PER_CHANNEL_PER_TOKEN"),
    "modelopt-mxfp8": lambda: modelopt8("MXFP8"),
    "bitsandbytes-nf4": lambda: bitsandbytes4("nf4", False),
    "bitsandbytes-nf4-nested": lambda: bitsandbytes4("nf4", True),
    "bitsandbytes-fp4": lambda: bitsandbytes4("fp4", False, 128),
    "gptq-act-order": lambda: act_order("gptq", False),
    "gptq-act-order-v2": lambda: act_order("gptq", True, "gptq_v2"),
    "ct-act-order": lambda: act_order("compressed-tensors", False),
    "mlx-4-g64": lambda: mlx(4, 64, "F16"),
    "mlx-4-g32-bf16": lambda: mlx(4, 32, "BF16"),
    "mlx-4-g128-bf16": lambda: mlx(4, 128, "BF16"),
    "mlx-2": lambda: mlx(2, 32, "F16"),
    "mlx-3": lambda: mlx(3, 64, "BF16"),
    "mlx-5": lambda: mlx(5, 64, "F16"),
    "mlx-6-own": lambda: mlx(6, 64, "BF16", own=True),
    "mlx-8": lambda: mlx(8, 32, "BF16"),
    "mlx-mxfp4": lambda: mlx(4, 32, "", "mxfp4"),
    "fp8-stack-block": lambda: fp8_stack("block"),
    "fp8-stack": lambda: fp8_stack("tensor"),
    "mlx-nvfp4": lambda: mlx(4, 16, "", "nvfp4"),
    "mlx-mxfp8": lambda: mlx(8, 32, "", "mxfp8"),
    "ct-mxfp8": compressed_mxfp8,
}


def main(path):
    with open(path, "wb") as file:
        def put(content):
            file.write(struct.pack("<I", len(content)) + content)

        for name, make in CASES.items():
            config, tensors, values = make()
            put(name.encode())
            put(json.dumps(config).encode())
            file.write(struct.pack("<I", len(tensors)))
            for tensor, dtype, content in tensors:
                put(tensor.encode())
                put(dtype.encode())
                file.write(struct.pack(f"<I{content.ndim}Q", content.ndim, *content.shape))
                put(stored(dtype, content))
            put(b"e.gate_up_proj" if tensors[0][0].startswith("e.") else b"w.weight")
            file.write(struct.pack("<Q", values.size) + values.astype(np.float32).tobytes())


main(sys.argv[1])

"""Writes quant_golden.bin: stored blocks of every format and the numbers they stand for.

The numbers come from gguf.quants.dequantize (PyPI: gguf), the reference arithmetic. The blocks are random bytes from
a fixed seed with finite scales, including denormal, negative, zero and maximal ones. gguf 0.19 does not implement
Q2_0 and Q1_0: theirs is implemented here after llama.cpp's dequantize_row_q2_0 and dequantize_row_q1_0
(ggml-quants.c), whose compiled code gave the same bits. Run it again only to add a format:

    python3 make_quant_golden.py quant_golden.bin

Layout: per format  u32 length of name | name | u64 bytes | blocks | u64 values | f32 values
"""

import struct
import sys

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

# Each entry has a name, a number of blocks, and the byte offsets of the f16 scales within a block.
FORMATS = [
    ("F32", 512, []),
    ("F16", 2048, [0]),
    ("BF16", 1024, []),
    ("Q4_0", 48, [0]),
    ("Q4_1", 48, [0, 2]),
    ("Q5_0", 48, [0]),
    ("Q5_1", 48, [0, 2]),
    ("Q8_0", 48, [0]),
    ("Q4_K", 8, [0, 2]),
    ("Q5_K", 8, [0, 2]),
    ("Q6_K", 8, [208]),
    ("Q2_K", 8, [80, 82]),
    ("Q3_K", 8, [108]),
    ("IQ4_NL", 48, [0]),
    ("IQ4_XS", 8, [0]),
    ("MXFP4", 48, []),
    ("IQ3_S", 8, [0]),
    ("IQ3_XXS", 8, [0]),
    ("IQ2_S", 8, [0]),
    ("IQ2_XS", 8, [0]),
    ("IQ2_XXS", 8, [0]),
    ("IQ1_S", 8, [0]),
    ("IQ1_M", 8, []),
    ("TQ2_0", 8, [64]),
    ("TQ1_0", 8, [52]),
    ("NVFP4", 20, []),
    ("Q2_0", 16, [0]),
    ("Q1_0", 8, [0]),
]
EXTREMES = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF]


def codes_times_scale(blocks, bits):
    """Blocks of an f16 scale and codes, the first code in the lowest bits of the first byte. A Q2_0 code q stands
    for q - 1, a Q1_0 code for 2 q - 1."""
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (blocks[:, 2:, None] >> shifts & ((1 << bits) - 1)).reshape(len(blocks), -1).astype(np.float32)
    return scale * (codes - 1 if bits == 2 else 2 * codes - 1)


# The bytes of a block, and the function that dequantises it.
WRITTEN_HERE = {"Q2_0": (18, lambda blocks: codes_times_scale(blocks, 2)),
                "Q1_0": (18, lambda blocks: codes_times_scale(blocks, 1))}


def blocks_of(name, count, scales, random):
    size = WRITTEN_HERE[name][0] if name in WRITTEN_HERE else GGML_QUANT_SIZES[GGMLQuantizationType[name]][1]
    blocks = random.integers(0, 256, (count, size), np.uint8)
    for place, offset in enumerate(scales):
        bits = random.integers(0, 0x7C00, count).astype(np.uint16)
        bits |= random.integers(0, 2, count).astype(np.uint16) << 15
        turn = np.roll(np.array(EXTREMES, np.uint16), 3 * place)
        bits[: len(turn)] = turn[:count]
        blocks[:, offset : offset + 2] = bits.view(np.uint8).reshape(count, 2)
    if name == "IQ1_M":  # bits 12 … 15 of four words form the scale: make it neither NaN nor infinite
        blocks[:, 55] &= 0xBF
    if name == "MXFP4":  # 255 is NaN, which ggml reads as 2^128
        blocks[:, 0] = np.minimum(blocks[:, 0], 254)
    if name == "NVFP4":  # scales have no sign
        blocks[:, :4] &= 0x7F
    if name in ("F32", "BF16"):  # no NaN: payloads are not tested
        kind, exponent = (np.uint32, 0x7F800000) if name == "F32" else (np.uint16, 0x7F80)
        words = blocks.view(kind)
        words[(words & exponent) == exponent] &= 0x7F
    return blocks


def main(path):
    random = np.random.default_rng(20260101)
    with open(path, "wb") as file:
        for name, count, scales in FORMATS:
            blocks = blocks_of(name, count, scales, random)
            with np.errstate(over="ignore"):
                if name in WRITTEN_HERE:
                    made = WRITTEN_HERE[name][1](blocks)
                else:
                    made = dequantize(blocks, GGMLQuantizationType[name])
                values = made.astype(np.float32).ravel()
            file.write(struct.pack("<I", len(name)) + name.lower().encode())
            file.write(struct.pack("<Q", blocks.size) + blocks.tobytes())
            file.write(struct.pack("<Q", values.size) + values.tobytes())


main(sys.argv[1])

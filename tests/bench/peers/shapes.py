"""Checkpoints in the shapes of known models, with dummy weights.

  shapes.py gguf   SHAPE TYPE OUT     a GGUF without a tokenizer: TYPE Q4_0|Q4_1|Q8_0|BF16, or of random codes
                                      Q2_K to Q6_K, IQ1_S to IQ4_XS, MXFP4, TQ1_0, TQ2_0, Q1_0 (needs the
                                      package gguf)
  shapes.py config SHAPE OUT [METHOD] a config.json, of quantised weights if METHOD is nf4

SHAPE is a Llama of 135m, 1b, 3b or 8b; 7b-a1b (OLMoE: 8 of 64 experts), 7b-a1b-qwen3moe (the same shape as Qwen3-MoE)
or 30b-a3b (Qwen3-MoE: 8 of 128).
"""
import json
import os
import sys

LLAMA = dict(arch="llama", model="LlamaForCausalLM", type="llama")
SHAPES = {
    "135m": dict(LLAMA, d=576, ff=1536, layers=30, h=9, kv=3, vocab=49152, hd=64),
    "1b": dict(LLAMA, d=2048, ff=8192, layers=16, h=32, kv=8, vocab=128256, hd=64),
    "3b": dict(LLAMA, d=3072, ff=8192, layers=28, h=24, kv=8, vocab=128256, hd=128),
    "8b": dict(LLAMA, d=4096, ff=14336, layers=32, h=32, kv=8, vocab=128256, hd=128, untied=True),
    "7b-a1b": dict(arch="olmoe", model="OlmoeForCausalLM", type="olmoe", d=2048, ff=1024, layers=16, h=16, kv=16,
                   vocab=50304,
                   hd=128, experts=64, used=8, untied=True, q_norm=2048, k_norm=2048),
    "7b-a1b-qwen3moe": dict(arch="qwen3moe", model="Qwen3MoeForCausalLM", type="qwen3_moe", d=2048, ff=1024, layers=16,
                            h=16, kv=16, vocab=50304, hd=128, experts=64, used=8, untied=True, q_norm=128, k_norm=128),
    "30b-a3b": dict(arch="qwen3moe", model="Qwen3MoeForCausalLM", type="qwen3_moe", d=2048, ff=768, layers=48, h=32,
                    kv=4,
                    vocab=151936, hd=128, experts=128, used=8, untied=True, q_norm=128, k_norm=128),
}
CONTEXT = 32768
# Types that the package cannot quantise to: blocks are random bytes, except for f16 scales at these offsets, so that
# the standard deviation of the numbers is about 0.02.
SCALES = {"Q2_K": {80: 1.6e-3, 82: 2.4e-3}, "Q3_K": {108: 4.7e-4}, "Q4_K": {0: 1.4e-4, 2: 1.1e-3},
          "Q5_K": {0: 7e-5, 2: 1.1e-3}, "Q6_K": {208: 1.5e-5}, "IQ4_XS": {0: 1.6e-5}, "IQ3_S": {0: 1.5e-4},
          "IQ3_XXS": {0: 1.5e-4}, "IQ2_XXS": {0: 4e-4}, "IQ2_XS": {0: 4e-4}, "IQ2_S": {0: 4e-4}, "IQ1_S": {0: 3e-3},
          "IQ1_M": {}, "MXFP4": {}, "TQ1_0": {52: 0.02}, "TQ2_0": {64: 0.02}, "Q1_0": {0: 0.02}}


def gguf(shape, kind, path):
    import gguf
    import numpy as np
    s = SHAPES[shape]
    experts = s.get("experts")
    part = f"{path}.part"  # an interrupted run leaves no file that looks complete
    # Written while it is generated: experts may be larger than the memory.
    writer = gguf.GGUFWriter(part, s["arch"], use_temp_file=bool(experts))
    writer.add_block_count(s["layers"])
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(s["d"])
    writer.add_feed_forward_length(s["ff"])
    writer.add_head_count(s["h"])
    writer.add_head_count_kv(s["kv"])
    writer.add_key_length(s["hd"])
    writer.add_value_length(s["hd"])
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(500000.0)
    writer.add_rope_dimension_count(s["hd"])
    writer.add_vocab_size(s["vocab"])
    writer.add_tokenizer_model("no_vocab")
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(s["used"])
        writer.add_expert_feed_forward_length(s["ff"])
    numbers, numeric = np.random.default_rng(0), getattr(gguf.GGMLQuantizationType, kind)

    def random_rows(rows, columns):
        values, size = gguf.GGML_QUANT_SIZES[numeric]
        blocks = numbers.integers(0, 256, (rows * columns // values, size), np.uint8)
        for place, scale in SCALES[kind].items():
            blocks[:, place : place + 2] = np.frombuffer(np.float16(scale).tobytes(), np.uint8)
        if kind == "MXFP4":  # a power of two
            blocks[:, 0] = 120
        if kind == "IQ1_M":  # four bits of the scale above each of four words of sub-scales
            for i in range(4):
                blocks[:, 49 + 2 * i] = blocks[:, 49 + 2 * i] & 15 | (0x1A24 >> 4 * i & 15) << 4
        return blocks.reshape(rows, -1)

    def rows_of(rows, columns):
        if kind in SCALES:
            return random_rows(rows, columns)
        values = numbers.standard_normal((rows, columns), dtype=np.float32) * np.float32(0.02)
        return gguf.quants.quantize(values, numeric)

    def matrix(name, rows, columns):
        writer.add_tensor(name, rows_of(rows, columns), raw_dtype=numeric)

    def stack(name, rows, columns):  # each expert has the rows of the first in a different order
        first = rows_of(rows, columns)
        writer.add_tensor(name, np.stack([np.roll(first, 7 * e, axis=0) for e in range(experts)]), raw_dtype=numeric)

    def vector(name, count):
        writer.add_tensor(name, np.ones(count, np.float32))

    matrix("token_embd.weight", s["vocab"], s["d"])
    vector("output_norm.weight", s["d"])
    if s.get("untied"):
        matrix("output.weight", s["vocab"], s["d"])
    for layer in (f"blk.{i}." for i in range(s["layers"])):
        vector(layer + "attn_norm.weight", s["d"])
        vector(layer + "ffn_norm.weight", s["d"])
        for norm in ("q_norm", "k_norm"):
            if norm in s:
                vector(f"{layer}attn_{norm}.weight", s[norm])
        for name, rows, columns in (("attn_q", s["h"] * s["hd"], s["d"]), ("attn_k", s["kv"] * s["hd"], s["d"]),
                                    ("attn_v", s["kv"] * s["hd"], s["d"]), ("attn_output", s["d"], s["h"] * s["hd"])):
            matrix(f"{layer}{name}.weight", rows, columns)
        if experts:
            router = numbers.standard_normal((experts, s["d"]), dtype=np.float32) * np.float32(0.02)
            writer.add_tensor(layer + "ffn_gate_inp.weight", router)
        for name, rows, columns in (("ffn_gate", s["ff"], s["d"]), ("ffn_up", s["ff"], s["d"]),
                                    ("ffn_down", s["d"], s["ff"])):
            if experts:
                stack(f"{layer}{name}_exps.weight", rows, columns)
            else:
                matrix(f"{layer}{name}.weight", rows, columns)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(part, path)


def config(shape, path, method=None):
    s = SHAPES[shape]
    keys = {"architectures": [s["model"]], "model_type": s["type"], "hidden_size": s["d"],
            "intermediate_size": s["ff"], "num_hidden_layers": s["layers"], "num_attention_heads": s["h"],
            "num_key_value_heads": s["kv"], "head_dim": s["hd"], "vocab_size": s["vocab"],
            "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "hidden_act": "silu",
            "tie_word_embeddings": not s.get("untied", False), "torch_dtype": "bfloat16", "bos_token_id": 1,
            "eos_token_id": 2}
    if method:
        keys["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_4bit": True,
                                       "bnb_4bit_quant_type": method}
    if "experts" in s:
        keys.update(num_experts=s["experts"], num_experts_per_tok=s["used"], norm_topk_prob=s["type"] == "qwen3_moe")
    if s["type"] == "qwen3_moe":
        keys.update(moe_intermediate_size=s["ff"], mlp_only_layers=[], decoder_sparse_step=1)
    with open(path, "w") as out:
        json.dump(keys, out, indent=1)


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("gguf", "config"):
        sys.exit(__doc__)
    globals()[sys.argv[1]](*sys.argv[2:])

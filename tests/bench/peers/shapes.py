"""Checkpoints in the shape of known models, with numbers made up.

  shapes.py gguf   SHAPE TYPE OUT   a GGUF without a tokenizer: SHAPE 135m|1b|3b|8b, TYPE Q4_0|Q8_0|BF16 (needs the package gguf)
  shapes.py config SHAPE OUT        a Llama config.json
"""
import json
import os
import sys

SHAPES = {
    "135m": dict(d=576, ff=1536, layers=30, h=9, kv=3, vocab=49152, hd=64),
    "1b": dict(d=2048, ff=8192, layers=16, h=32, kv=8, vocab=128256, hd=64),
    "3b": dict(d=3072, ff=8192, layers=28, h=24, kv=8, vocab=128256, hd=128),
    "8b": dict(d=4096, ff=14336, layers=32, h=32, kv=8, vocab=128256, hd=128),
}
CONTEXT = 32768


def gguf(shape, kind, path):
    import gguf
    import numpy as np
    s = SHAPES[shape]
    part = f"{path}.part"  # an interrupted one is not taken for a whole one
    writer = gguf.GGUFWriter(part, "llama")
    writer.add_block_count(s["layers"])
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(s["d"])
    writer.add_feed_forward_length(s["ff"])
    writer.add_head_count(s["h"])
    writer.add_head_count_kv(s["kv"])
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(500000.0)
    writer.add_rope_dimension_count(s["hd"])
    writer.add_vocab_size(s["vocab"])
    writer.add_tokenizer_model("no_vocab")
    numbers, numeric = np.random.default_rng(0), getattr(gguf.GGMLQuantizationType, kind)

    def matrix(name, rows, columns):
        values = numbers.standard_normal((rows, columns), dtype=np.float32) * np.float32(0.02)
        writer.add_tensor(name, gguf.quants.quantize(values, numeric), raw_dtype=numeric)

    def vector(name, count):
        writer.add_tensor(name, np.ones(count, np.float32))

    matrix("token_embd.weight", s["vocab"], s["d"])
    vector("output_norm.weight", s["d"])
    for layer in (f"blk.{i}." for i in range(s["layers"])):
        vector(layer + "attn_norm.weight", s["d"])
        vector(layer + "ffn_norm.weight", s["d"])
        for name, rows, columns in (("attn_q", s["h"] * s["hd"], s["d"]), ("attn_k", s["kv"] * s["hd"], s["d"]),
                                    ("attn_v", s["kv"] * s["hd"], s["d"]), ("attn_output", s["d"], s["h"] * s["hd"]),
                                    ("ffn_gate", s["ff"], s["d"]), ("ffn_up", s["ff"], s["d"]), ("ffn_down", s["d"], s["ff"])):
            matrix(f"{layer}{name}.weight", rows, columns)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(part, path)


def config(shape, path):
    s = SHAPES[shape]
    with open(path, "w") as out:
        json.dump({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": s["d"],
                   "intermediate_size": s["ff"], "num_hidden_layers": s["layers"], "num_attention_heads": s["h"],
                   "num_key_value_heads": s["kv"], "head_dim": s["hd"], "vocab_size": s["vocab"],
                   "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "hidden_act": "silu",
                   "tie_word_embeddings": shape != "8b", "torch_dtype": "bfloat16", "bos_token_id": 1, "eos_token_id": 2},
                  out, indent=1)


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("gguf", "config"):
        sys.exit(__doc__)
    globals()[sys.argv[1]](*sys.argv[2:])

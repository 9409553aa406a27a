"""Families that mix short-convolution layers and attention layers."""
import torch
from transformers import Lfm2Config, Lfm2ForCausalLM

from write_gguf import write_lfm2


def lfm2(out):
    # Resembles LiquidAI's first files: their own keys, and a computed MLP width.
    out.hf("lfm2-old-config", Lfm2ForCausalLM,
           {"architectures": ["Lfm2ForCausalLM"], "block_auto_adjust_ff_dim": True, "block_dim": 72,
            "block_ff_dim": 150, "block_ffn_dim_multiplier": 0.9, "block_mlp_init_scale": 1.0,
            "block_multiple_of": 8, "block_norm_eps": 1e-05, "block_out_init_scale": 1.0,
            "block_use_swiglu": True, "block_use_xavier_init": True, "bos_token_id": 1, "conv_L_cache": 3,
            "conv_bias": False, "conv_dim": 72, "conv_dim_out": 72, "conv_use_xavier_init": True,
            "eos_token_id": 7, "full_attn_idxs": [2, 4], "hidden_size": 72, "initializer_range": 0.02,
            "max_position_embeddings": 128, "model_type": "lfm2", "norm_eps": 1e-05,
            "num_attention_heads": 6, "num_heads": 6, "num_hidden_layers": 5, "num_key_value_heads": 2,
            "pad_token_id": 0, "rope_theta": 50000.0, "torch_dtype": "bfloat16",
            "transformers_version": "4.54.0.dev0", "use_cache": True, "use_pos_enc": True,
            "vocab_size": 109}, torch.bfloat16, 12)
    # This is the form that transformers 5 writes, with biases, a longer convolution and an untied head.
    out.hf("lfm2-biases-untied", Lfm2ForCausalLM,
           Lfm2Config(vocab_size=83, hidden_size=42, intermediate_size=75, num_hidden_layers=4,
                      num_attention_heads=3, num_key_value_heads=1, max_position_embeddings=128,
                      norm_eps=2e-5, layer_types=["conv", "full_attention", "conv", "conv"],
                      block_auto_adjust_ff_dim=False, conv_bias=True, conv_L_cache=4,
                      tie_word_embeddings=False, pad_token_id=0,
                      rope_parameters={"rope_type": "linear", "rope_theta": 1000000.0, "factor": 2.5}),
           torch.float32, 13)
    out.gguf("lfm2-gguf-mixed", Lfm2ForCausalLM,
             Lfm2Config(vocab_size=97, hidden_size=256, intermediate_size=96, num_hidden_layers=3,
                        num_attention_heads=8, num_key_value_heads=2, max_position_embeddings=128,
                        norm_eps=1e-5, layer_types=["conv", "full_attention", "conv"],
                        block_auto_adjust_ff_dim=False, pad_token_id=0, rope_parameters={
                            "rope_type": "default", "rope_theta": 1000000.0}), write_lfm2, 14)


FAMILIES = [lfm2]

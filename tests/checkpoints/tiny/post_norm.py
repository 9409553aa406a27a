"""Families that normalise the outputs of attention and the feed-forward network, with or
without normalising their inputs."""
import torch
from transformers import (Exaone4Config, Exaone4ForCausalLM, Gemma2Config, Gemma2ForCausalLM, Gemma3Config,
                          Gemma3ForCausalLM, Gemma3ForConditionalGeneration, Gemma3TextConfig, GemmaConfig,
                          GemmaForCausalLM, Glm4Config, Glm4ForCausalLM, GlmConfig, GlmForCausalLM, Olmo2Config,
                          Olmo2ForCausalLM, Olmo3Config, Olmo3ForCausalLM, SiglipVisionConfig)

from write_gguf import write_gemma3

BF16, F32 = torch.bfloat16, torch.float32
EPS = 3e-3  # large enough to show in the logits
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}


def gemma(out):
    # Resembles gemma-2b.
    out.hf("gemma-old-config", GemmaForCausalLM,
           {"architectures": ["GemmaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": 2, "eos_token_id": 1, "head_dim": 14, "hidden_act": "gelu",
            "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 39, "initializer_range": 0.02,
            "intermediate_size": 54, "max_position_embeddings": 128, "model_type": "gemma",
            "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 1, "pad_token_id": 0,
            "rms_norm_eps": 1e-06, "rope_scaling": None, "rope_theta": 10000.0, "torch_dtype": "bfloat16",
            "transformers_version": "4.38.0.dev0", "use_cache": True, "vocab_size": 67}, BF16, 201)
    sizes = dict(vocab_size=61, hidden_size=36, intermediate_size=50, num_hidden_layers=2, num_attention_heads=3,
                 num_key_value_heads=1, head_dim=14, max_position_embeddings=128, rms_norm_eps=EPS,
                 rope_parameters=PLAIN)
    out.converted("gemma-gguf", GemmaForCausalLM, GemmaConfig(**sizes), 202)


def gemma2(out):
    # Resembles gemma-2-2b.
    out.hf("gemma2-old-config", Gemma2ForCausalLM,
           {"architectures": ["Gemma2ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "attn_logit_softcapping": 50.0, "bos_token_id": 2, "cache_implementation": "hybrid",
            "eos_token_id": 1, "final_logit_softcapping": 30.0, "head_dim": 14,
            "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 33,
            "initializer_range": 0.02, "intermediate_size": 46, "max_position_embeddings": 128,
            "model_type": "gemma2", "num_attention_heads": 3, "num_hidden_layers": 3, "num_key_value_heads": 1,
            "pad_token_id": 0, "query_pre_attn_scalar": 14, "rms_norm_eps": 1e-06, "rope_theta": 10000.0,
            "sliding_window": 9, "torch_dtype": "bfloat16", "transformers_version": "4.42.4",
            "use_cache": True, "vocab_size": 61}, BF16, 203, matters=[{"sliding_window": 99}])
    sizes = dict(vocab_size=61, hidden_size=33, intermediate_size=46, num_attention_heads=3, num_key_value_heads=1,
                 head_dim=14, max_position_embeddings=128, rms_norm_eps=EPS, attn_logit_softcapping=2.0,
                 final_logit_softcapping=3.0, sliding_window=9, rope_parameters=PLAIN)
    matters = [{"attn_logit_softcapping": None}, {"final_logit_softcapping": None}, {"sliding_window": 99}]
    out.hf("gemma2-softcaps", Gemma2ForCausalLM, Gemma2Config(num_hidden_layers=2, query_pre_attn_scalar=9, **sizes),
           BF16, 204, matters=[*matters, {"query_pre_attn_scalar": 14}])
    # A GGUF has no query_pre_attn_scalar: readers use the head size.
    out.converted("gemma2-gguf", Gemma2ForCausalLM,
                  Gemma2Config(num_hidden_layers=3, query_pre_attn_scalar=14, **sizes), 205, matters=matters)


def gemma3(out):
    windows = ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]
    out.hf("gemma3-layer-types", Gemma3ForCausalLM,
           Gemma3TextConfig(vocab_size=101, hidden_size=40, intermediate_size=72, num_hidden_layers=4,
                            num_attention_heads=4, num_key_value_heads=1, head_dim=26,
                            query_pre_attn_scalar=20, sliding_window=9, layer_types=windows,
                            max_position_embeddings=128, final_logit_softcapping=20.0,
                            attn_logit_softcapping=30.0, rope_parameters={
                                "full_attention": {"rope_type": "linear", "factor": 8.0,
                                                   "rope_theta": 1000000.0},
                                "sliding_attention": {"rope_type": "default", "rope_theta": 9000.0}}),
           BF16, 6)
    out.hf("gemma3-old-config", Gemma3ForCausalLM,
           {"architectures": ["Gemma3ForCausalLM"], "attention_bias": True, "attention_dropout": 0.0,
            "attn_logit_softcapping": None, "bos_token_id": 2, "cache_implementation": "hybrid",
            "eos_token_id": 1, "final_logit_softcapping": None, "head_dim": 10,
            "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 33, "initializer_range": 0.02,
            "intermediate_size": 60, "max_position_embeddings": 96, "model_type": "gemma3_text",
            "num_attention_heads": 3, "num_hidden_layers": 3, "num_key_value_heads": 3,
            "pad_token_id": 0, "query_pre_attn_scalar": 10, "rms_norm_eps": 1e-06,
            "rope_local_base_freq": 10000.0, "rope_scaling": None, "rope_theta": 50000.0,
            "sliding_window": 7, "sliding_window_pattern": 2, "tie_word_embeddings": False,
            "torch_dtype": "float32", "transformers_version": "4.50.0", "use_cache": True,
            "vocab_size": 79}, F32, 7)
    # A GGUF has no layer pattern: every sixth layer has full attention.
    out.gguf("gemma3-gguf-mixed", Gemma3ForCausalLM,
             Gemma3TextConfig(vocab_size=103, hidden_size=64, intermediate_size=96,
                              num_hidden_layers=7, num_attention_heads=2, num_key_value_heads=1,
                              head_dim=32, query_pre_attn_scalar=32, sliding_window=9,
                              max_position_embeddings=128, rope_parameters={
                                  "full_attention": {"rope_type": "linear", "factor": 8.0,
                                                     "rope_theta": 1000000.0},
                                  "sliding_attention": {"rope_type": "default",
                                                        "rope_theta": 10000.0}}),
             write_gemma3, 8)
    # The text model is inside the wrapper that 4B and larger models ship as.
    text = dict(vocab_size=61, hidden_size=33, intermediate_size=40, num_hidden_layers=2, num_attention_heads=3,
                num_key_value_heads=1, head_dim=14, query_pre_attn_scalar=11, sliding_window=9,
                layer_types=["sliding_attention", "full_attention"], max_position_embeddings=128, rms_norm_eps=EPS,
                rope_parameters={"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
                                 "sliding_attention": PLAIN})
    out.hf("gemma3-wrapper", Gemma3ForConditionalGeneration,
           Gemma3Config(text_config=Gemma3TextConfig(**text), mm_tokens_per_image=4,
                        vision_config=SiglipVisionConfig(hidden_size=8, intermediate_size=8, num_hidden_layers=1,
                                                         num_attention_heads=1, image_size=8, patch_size=4)),
           BF16, 206, unseen=["vision_tower", "multi_modal_projector"])


def olmo(out):
    # Resembles OLMo-2-1B, with fewer KV heads, like the 32B model.
    out.hf("olmo2-old-config", Olmo2ForCausalLM,
           {"architectures": ["Olmo2ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "eos_token_id": 3, "hidden_act": "silu", "hidden_size": 40, "initializer_range": 0.02,
            "intermediate_size": 54, "max_position_embeddings": 128, "model_type": "olmo2",
            "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": 4,
            "rms_norm_eps": 1e-06, "rope_scaling": None, "rope_theta": 500000, "tie_word_embeddings": False,
            "torch_dtype": "bfloat16", "transformers_version": "4.50.0.dev0", "use_cache": True, "vocab_size": 67},
           BF16, 207)
    sizes = dict(vocab_size=61, hidden_size=30, num_attention_heads=3, num_key_value_heads=1,
                 max_position_embeddings=128, rms_norm_eps=EPS, bos_token_id=1, eos_token_id=3, pad_token_id=4)
    out.converted("olmo2-gguf", Olmo2ForCausalLM,
                  Olmo2Config(intermediate_size=50, num_hidden_layers=2, rope_parameters=PLAIN, **sizes), 208)
    # Resembles Olmo-3-7B, with yarn on full-attention layers only.
    yarn = {"attention_factor": 1.2079441541679836, "beta_fast": 32.0, "beta_slow": 1.0, "factor": 8.0,
            "original_max_position_embeddings": 16, "rope_type": "yarn"}
    windows = ["sliding_attention"] * 3 + ["full_attention"]
    out.hf("olmo3-old-config", Olmo3ForCausalLM,
           {"architectures": ["Olmo3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": 1, "eos_token_id": 3, "hidden_act": "silu", "hidden_size": 30,
            "initializer_range": 0.02, "intermediate_size": 34, "layer_types": windows,
            "max_position_embeddings": 128, "model_type": "olmo3", "num_attention_heads": 3,
            "num_hidden_layers": 4, "num_key_value_heads": 3, "pad_token_id": 4, "rms_norm_eps": 1e-06,
            "rope_scaling": yarn, "rope_theta": 500000, "sliding_window": 9, "tie_word_embeddings": False,
            "torch_dtype": "bfloat16", "transformers_version": "4.57.0.dev0", "use_cache": True, "vocab_size": 61},
           BF16, 209, matters=[{"sliding_window": 99}, {"layer_types": ["sliding_attention"] * 4}])
    out.hf("olmo3-windows", Olmo3ForCausalLM,
           Olmo3Config(intermediate_size=40, num_hidden_layers=3, sliding_window=7, attention_bias=True,
                       layer_types=["full_attention", "sliding_attention", "full_attention"],
                       rope_parameters={"full_attention": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 3.0},
                                        "sliding_attention": PLAIN}, **sizes),
           BF16, 210, matters=[{"sliding_window": 99}])
    # A GGUF has no layer pattern: every fourth layer has full attention.
    out.converted("olmo3-gguf", Olmo3ForCausalLM,
                  Olmo3Config(intermediate_size=30, num_hidden_layers=5, sliding_window=9,
                              rope_parameters={"full_attention": {**yarn, "rope_theta": 10000.0},
                                               "sliding_attention": PLAIN}, **sizes), 211,
                  matters=[{"sliding_window": 99}])


def exaone4(out):
    # Resembles EXAONE-4.0-1.2B.
    rope = {"factor": 16.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 16,
            "rope_type": "llama3"}
    out.hf("exaone4-old-config", Exaone4ForCausalLM,
           {"architectures": ["Exaone4ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
            "eos_token_id": 3, "head_dim": 14, "hidden_act": "silu", "hidden_size": 36,
            "initializer_range": 0.02, "intermediate_size": 50, "layer_types": ["full_attention"] * 2,
            "max_position_embeddings": 256, "model_type": "exaone4", "num_attention_heads": 4,
            "num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": 0, "rms_norm_eps": 1e-05,
            "rope_scaling": rope, "rope_theta": 1000000, "sliding_window": None, "sliding_window_pattern": None,
            "tie_word_embeddings": True, "torch_dtype": "bfloat16", "transformers_version": "4.54.0.dev0",
            "use_cache": True, "vocab_size": 67}, BF16, 212)
    # Resembles the 32B model: three layers with a window and rope, then one with neither.
    out.hf("exaone4-windows", Exaone4ForCausalLM,
           {"architectures": ["Exaone4ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
            "eos_token_id": 3, "head_dim": 10, "hidden_act": "silu", "hidden_size": 27,
            "initializer_range": 0.02, "intermediate_size": 40,
            "layer_types": ["sliding_attention"] * 3 + ["full_attention"], "max_position_embeddings": 256,
            "model_type": "exaone4", "num_attention_heads": 3, "num_hidden_layers": 4, "num_key_value_heads": 1,
            "pad_token_id": 0, "rms_norm_eps": 1e-05, "rope_scaling": rope, "rope_theta": 1000000,
            "sliding_window": 9, "sliding_window_pattern": "LLLG", "tie_word_embeddings": False,
            "torch_dtype": "bfloat16", "transformers_version": "4.54.0.dev0", "use_cache": True, "vocab_size": 61},
           BF16, 213, matters=[{"sliding_window": 99}])
    sizes = dict(vocab_size=61, hidden_size=27, num_attention_heads=3, num_key_value_heads=1, head_dim=10,
                 max_position_embeddings=128, sliding_window=9, rms_norm_eps=EPS, rope_parameters=PLAIN)
    out.converted("exaone4-gguf", Exaone4ForCausalLM,
                  Exaone4Config(intermediate_size=36, num_hidden_layers=5, sliding_window_pattern=4,
                                tie_word_embeddings=True, **sizes), 214, matters=[{"sliding_window": 99}])


def glm(out):
    # Resembles GLM-4-9B-0414.
    out.hf("glm4-old-config", Glm4ForCausalLM,
           {"architectures": ["Glm4ForCausalLM"], "attention_bias": True, "attention_dropout": 0.0,
            "eos_token_id": [3, 5, 6], "head_dim": 20, "hidden_act": "silu", "hidden_size": 36,
            "initializer_range": 0.02, "intermediate_size": 46, "max_position_embeddings": 128,
            "model_type": "glm4", "num_attention_heads": 3, "num_hidden_layers": 2, "num_key_value_heads": 1,
            "pad_token_id": 3, "partial_rotary_factor": 0.5, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
            "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.52.0.dev0",
            "use_cache": True, "vocab_size": 61}, BF16, 215)
    half = {**PLAIN, "partial_rotary_factor": 0.5}
    sizes = dict(vocab_size=61, hidden_size=33, intermediate_size=46, num_hidden_layers=2, num_attention_heads=3,
                 num_key_value_heads=1, head_dim=12, max_position_embeddings=128, rms_norm_eps=EPS,
                 eos_token_id=[3, 5], pad_token_id=3, rope_parameters=half)
    out.converted("glm4-gguf", Glm4ForCausalLM,
                  Glm4Config(attention_bias=True, tie_word_embeddings=False, **sizes), 216)
    # Resembles glm-4-9b-chat-hf: without the post-norms.
    out.hf("glm-old-config", GlmForCausalLM,
           {"architectures": ["GlmForCausalLM"], "attention_bias": True, "attention_dropout": 0.0,
            "eos_token_id": [3, 5, 6], "head_dim": 16, "hidden_act": "silu", "hidden_size": 42,
            "initializer_range": 0.02, "intermediate_size": 46, "max_position_embeddings": 128,
            "model_type": "glm", "num_attention_heads": 3, "num_hidden_layers": 2, "num_key_value_heads": 1,
            "pad_token_id": 3, "partial_rotary_factor": 0.5, "rms_norm_eps": 1.5625e-07, "rope_theta": 10000.0,
            "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.46.0.dev0",
            "use_cache": True, "vocab_size": 61}, BF16, 217)
    # The converter requires a head size of hidden_size / heads, and the first ChatGLM's keys.
    out.converted("glm-gguf", GlmForCausalLM,
                  GlmConfig(attention_bias=True, tie_word_embeddings=False, seq_length=128, layernorm_epsilon=EPS,
                            **{**sizes, "hidden_size": 36}), 218)


FAMILIES = [gemma, gemma2, gemma3, olmo, exaone4, glm]

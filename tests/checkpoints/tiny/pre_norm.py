"""Families that normalise before attention and before the feed-forward network, as Llama does."""
import torch
from transformers import (ApertusConfig, ApertusForCausalLM, ArceeConfig, ArceeForCausalLM, Ernie4_5Config,
                          Ernie4_5ForCausalLM, GraniteConfig, GraniteForCausalLM, GraniteMoeHybridForCausalLM,
                          HunYuanDenseV1Config, HunYuanDenseV1ForCausalLM, LlamaConfig, LlamaForCausalLM,
                          Ministral3Config, Ministral3ForCausalLM, MistralConfig, MistralForCausalLM, Phi3Config,
                          Phi3ForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM, SeedOssConfig,
                          SeedOssForCausalLM, SmolLM3Config, SmolLM3ForCausalLM)

from write_gguf import write_llama

EPS = 3e-3  # large enough to show in the logits
BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 5000.0, "factor": 4.0, "low_freq_factor": 1.0,
          "high_freq_factor": 3.0, "original_max_position_embeddings": 16}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16}


def llama(out):
    out.hf("llama3-tied", LlamaForCausalLM,
           LlamaConfig(vocab_size=97, hidden_size=42, intermediate_size=86, num_hidden_layers=2,
                       num_attention_heads=6, num_key_value_heads=2, head_dim=18,
                       max_position_embeddings=128, rms_norm_eps=1e-5, tie_word_embeddings=True,
                       rope_parameters=LLAMA3), F32, 1)
    out.hf("llama-biases-sharded", LlamaForCausalLM,
           LlamaConfig(vocab_size=131, hidden_size=56, intermediate_size=75, num_hidden_layers=3,
                       num_attention_heads=4, num_key_value_heads=4, head_dim=22,
                       max_position_embeddings=256, rms_norm_eps=1e-6, tie_word_embeddings=False,
                       attention_bias=True, mlp_bias=True,
                       rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.5}),
           BF16, 2, shard="60KB")
    # config.json has the form that transformers wrote before version 5.
    out.hf("llama-old-config", LlamaForCausalLM,
           {"architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 48,
            "initializer_range": 0.02, "intermediate_size": 100, "max_position_embeddings": 64,
            "mlp_bias": False, "model_type": "llama", "num_attention_heads": 3,
            "num_hidden_layers": 2, "num_key_value_heads": 1, "pretraining_tp": 1,
            "rms_norm_eps": 1e-05,
            "rope_scaling": {k: v for k, v in LLAMA3.items() if k != "rope_theta"},
            "rope_theta": 5000.0, "tie_word_embeddings": False, "torch_dtype": "float16",
            "transformers_version": "4.45.0", "use_cache": True, "vocab_size": 89}, F16, 3)
    out.gguf("llama-gguf-mixed", LlamaForCausalLM,
             LlamaConfig(vocab_size=97, hidden_size=256, intermediate_size=96, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, head_dim=24,
                         max_position_embeddings=128, rms_norm_eps=1e-5, tie_word_embeddings=False,
                         attention_bias=True, rope_parameters=LLAMA3), write_llama, 5)
    yarn = dict(vocab_size=67, hidden_size=36, intermediate_size=52, num_hidden_layers=2, num_attention_heads=3,
                num_key_value_heads=1, head_dim=14, max_position_embeddings=64, rms_norm_eps=EPS)
    out.hf("llama-yarn", LlamaForCausalLM,
           LlamaConfig(**yarn, rope_parameters={**YARN, "beta_fast": 8.0, "beta_slow": 0.5, "attention_factor": 1.3}),
           BF16, 101, matters=[{"rope_parameters": PLAIN}, {"rope_parameters": YARN}])
    out.converted("llama-yarn-gguf", LlamaForCausalLM, LlamaConfig(**yarn, rope_parameters=YARN), 102,
                  matters=[{"rope_parameters": PLAIN}])
    # Adds vLLM's names to yarn's. transformers and llama.cpp ignore them, but the converter writes the first one.
    passed = {**YARN, "attn_factor": 0.8782488562869419, "extrapolation_factor": 1.0}
    out.converted("llama-yarn-attn-factor-gguf", LlamaForCausalLM, LlamaConfig(**yarn, rope_parameters=passed), 104,
                  matters=[{"rope_parameters": PLAIN}, {"rope_parameters": {**YARN, "attention_factor": 1.0}}])
    old = {key: value for key, value in passed.items() if key != "rope_theta"}
    out.hf("llama-yarn-attn-factor", LlamaForCausalLM,
           {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "rope_scaling": old, "rope_theta": 10000.0,
            "torch_dtype": "bfloat16", **yarn}, BF16, 107,
           matters=[{"rope_parameters": PLAIN}, {"rope_parameters": {**YARN, "attention_factor": 1.0}}])
    # This is the complete factor, which the converter writes under the same name.
    out.converted("llama-yarn-whole-gguf", LlamaForCausalLM,
                  LlamaConfig(**yarn, rope_parameters={**YARN, "attention_factor": 1.3}), 108,
                  matters=[{"rope_parameters": PLAIN}, {"rope_parameters": YARN}])
    # Within the original context, dynamic rope equals the plain one.
    out.hf("llama-dynamic", LlamaForCausalLM,
           LlamaConfig(vocab_size=61, hidden_size=33, intermediate_size=50, num_hidden_layers=2,
                       num_attention_heads=3, num_key_value_heads=3, head_dim=10, max_position_embeddings=64,
                       rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}), BF16, 103)


def mistral(out):
    out.hf("mistral-window", MistralForCausalLM,
           MistralConfig(vocab_size=83, hidden_size=36, intermediate_size=70, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, head_dim=14,
                         max_position_embeddings=128, sliding_window=11, tie_word_embeddings=False), BF16, 4)
    # Resembles Mistral-Nemo.
    out.hf("mistral-old-config", MistralForCausalLM,
           {"architectures": ["MistralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
            "eos_token_id": 2, "head_dim": 14, "hidden_act": "silu", "hidden_size": 33,
            "initializer_range": 0.02, "intermediate_size": 50, "max_position_embeddings": 128,
            "model_type": "mistral", "num_attention_heads": 4, "num_hidden_layers": 2,
            "num_key_value_heads": 2, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0,
            "sliding_window": None, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
            "transformers_version": "4.43.0.dev0", "use_cache": True, "vocab_size": 67}, BF16, 104)
    out.converted("mistral-gguf", MistralForCausalLM,
                  MistralConfig(vocab_size=61, hidden_size=36, intermediate_size=50, num_hidden_layers=2,
                                num_attention_heads=4, num_key_value_heads=2, head_dim=14,
                                max_position_embeddings=128, rms_norm_eps=EPS, sliding_window=None,
                                rope_parameters=PLAIN), 105)


def ministral3(out):
    rope = {**YARN, "type": "yarn", "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
            "llama_4_scaling_beta": 0.1}
    sizes = dict(hidden_size=36, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=14,
                 max_position_embeddings=64, rms_norm_eps=EPS)
    matters = [{"rope_parameters": {**rope, "llama_4_scaling_beta": 0.0}}, {"rope_parameters": {**rope, "factor": 1.0}}]
    out.hf("ministral3-yarn", Ministral3ForCausalLM,
           Ministral3Config(vocab_size=67, intermediate_size=54, tie_word_embeddings=True, rope_parameters=rope,
                            **sizes),
           BF16, 106, matters=matters)
    out.converted("ministral3-gguf", Ministral3ForCausalLM,
                  Ministral3Config(vocab_size=61, intermediate_size=50, rope_parameters=rope, **sizes), 107,
                  matters=matters)


def qwen2(out):
    out.hf("qwen2-window", Qwen2ForCausalLM,
           Qwen2Config(vocab_size=67, hidden_size=30, intermediate_size=46, num_hidden_layers=3,
                       num_attention_heads=3, num_key_value_heads=1, max_position_embeddings=128, rms_norm_eps=EPS,
                       use_sliding_window=True, sliding_window=9, max_window_layers=1, tie_word_embeddings=False,
                       rope_parameters={"rope_type": "default", "rope_theta": 1000000.0}), BF16, 108,
           matters=[{"layer_types": ["full_attention"] * 3}, {"layer_types": ["sliding_attention"] * 3}])
    # Resembles Qwen2.5-0.5B.
    out.hf("qwen2-old-config", Qwen2ForCausalLM,
           {"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 3, "eos_token_id": 3,
            "hidden_act": "silu", "hidden_size": 42, "initializer_range": 0.02, "intermediate_size": 58,
            "max_position_embeddings": 128, "max_window_layers": 2, "model_type": "qwen2",
            "num_attention_heads": 3, "num_hidden_layers": 2, "num_key_value_heads": 1, "rms_norm_eps": 1e-06,
            "rope_theta": 1000000.0, "sliding_window": 13, "tie_word_embeddings": True,
            "torch_dtype": "bfloat16", "transformers_version": "4.40.1", "use_cache": True, "use_mrope": False,
            "use_sliding_window": False, "vocab_size": 71}, BF16, 109)
    out.converted("qwen2-gguf", Qwen2ForCausalLM,
                  Qwen2Config(vocab_size=61, hidden_size=36, intermediate_size=46, num_hidden_layers=2,
                              num_attention_heads=3, num_key_value_heads=1, max_position_embeddings=128,
                              rms_norm_eps=EPS, tie_word_embeddings=True, rope_parameters=PLAIN), 110)


def qwen3(out):
    out.hf("qwen3-qknorm", Qwen3ForCausalLM,
           Qwen3Config(vocab_size=67, hidden_size=33, intermediate_size=46, num_hidden_layers=2,
                       num_attention_heads=4, num_key_value_heads=2, head_dim=14, max_position_embeddings=128,
                       rms_norm_eps=EPS, attention_bias=True, tie_word_embeddings=False,
                       rope_parameters=PLAIN), BF16, 111)
    # Resembles Qwen3-0.6B, with the yarn that its card describes.
    out.hf("qwen3-old-config", Qwen3ForCausalLM,
           {"architectures": ["Qwen3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": 3, "eos_token_id": 5, "head_dim": 22, "hidden_act": "silu", "hidden_size": 36,
            "initializer_range": 0.02, "intermediate_size": 50, "max_position_embeddings": 64,
            "max_window_layers": 2, "model_type": "qwen3", "num_attention_heads": 3, "num_hidden_layers": 2,
            "num_key_value_heads": 1, "rms_norm_eps": 1e-06,
            "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
            "rope_theta": 1000000, "sliding_window": None, "tie_word_embeddings": True,
            "torch_dtype": "bfloat16", "transformers_version": "4.51.0", "use_cache": True,
            "use_sliding_window": False, "vocab_size": 71}, BF16, 112,
           matters=[{"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}])
    out.converted("qwen3-gguf", Qwen3ForCausalLM,
                  Qwen3Config(vocab_size=61, hidden_size=39, intermediate_size=46, num_hidden_layers=2,
                              num_attention_heads=4, num_key_value_heads=2, head_dim=14, max_position_embeddings=128,
                              rms_norm_eps=EPS, tie_word_embeddings=True, rope_parameters=PLAIN), 113)


def phi3(out):
    # Resembles phi-4.
    out.hf("phi3-old-config", Phi3ForCausalLM,
           {"architectures": ["Phi3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": 3, "embd_pdrop": 0.0, "eos_token_id": 5, "hidden_act": "silu", "hidden_size": 40,
            "initializer_range": 0.02, "intermediate_size": 54, "max_position_embeddings": 64,
            "model_type": "phi3", "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2,
            "original_max_position_embeddings": 64, "pad_token_id": 4, "resid_pdrop": 0.0, "rms_norm_eps": 1e-05,
            "rope_scaling": None, "rope_theta": 250000, "sliding_window": None, "tie_word_embeddings": False,
            "torch_dtype": "bfloat16", "transformers_version": "4.47.0", "use_cache": True, "vocab_size": 67},
           BF16, 114)
    # Resembles Phi-3-mini-4k: every layer has the window.
    out.hf("phi3-window", Phi3ForCausalLM,
           {"_name_or_path": "Phi-3-mini-4k-instruct", "architectures": ["Phi3ForCausalLM"],
            "attention_dropout": 0.0, "bos_token_id": 1, "embd_pdrop": 0.0, "eos_token_id": 2,
            "hidden_act": "silu", "hidden_size": 36, "initializer_range": 0.02, "intermediate_size": 50,
            "max_position_embeddings": 64, "model_type": "phi3", "num_attention_heads": 3,
            "num_hidden_layers": 2, "num_key_value_heads": 3, "original_max_position_embeddings": 64,
            "pad_token_id": 4, "resid_pdrop": 0.0, "rms_norm_eps": 1e-05, "rope_scaling": None,
            "rope_theta": 10000.0, "sliding_window": 11, "tie_word_embeddings": False,
            "torch_dtype": "bfloat16", "transformers_version": "4.40.2", "use_cache": True,
            "attention_bias": False, "vocab_size": 61}, BF16, 115, matters=[{"sliding_window": None}])
    # The prompt is longer than the original context, so every token uses the long factors.
    long = [1.0, 1.1, 1.7, 3.9, 8.5, 14.0]
    short = [1.0, 1.05, 1.2, 1.4, 1.9, 2.3]
    plain = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
    # Resembles Phi-3.5-mini.
    out.hf("phi3-longrope-long", Phi3ForCausalLM,
           {"_name_or_path": "Phi-3.5-mini-instruct", "architectures": ["Phi3ForCausalLM"],
            "attention_bias": False, "attention_dropout": 0.0,
            "auto_map": {"AutoConfig": "configuration_phi3.Phi3Config",
                         "AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM"},
            "bos_token_id": 1, "embd_pdrop": 0.0, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 36,
            "initializer_range": 0.02, "intermediate_size": 50, "max_position_embeddings": 128,
            "model_type": "phi3", "num_attention_heads": 3, "num_hidden_layers": 2, "num_key_value_heads": 3,
            "original_max_position_embeddings": 16, "pad_token_id": 4, "resid_pdrop": 0.0,
            "rms_norm_eps": 1e-05, "rope_scaling": {"long_factor": long, "short_factor": short, "type": "longrope"},
            "rope_theta": 10000.0, "sliding_window": 262144, "tie_word_embeddings": False,
            "torch_dtype": "bfloat16", "transformers_version": "4.43.3", "use_cache": True, "vocab_size": 61},
           BF16, 153, matters=[plain])
    # Resembles Phi-4-mini: only three quarters of a head rotate. The prompt is within the original context.
    partial = dict(hidden_size=48, intermediate_size=46, num_hidden_layers=2, num_attention_heads=3,
                   num_key_value_heads=1, tie_word_embeddings=True, bos_token_id=1, eos_token_id=2, pad_token_id=4,
                   sliding_window=None, rms_norm_eps=EPS)
    rope = {"rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.75, "long_factor": long,
            "short_factor": short}
    for name, original, seed in (("phi3-longrope-partial", 50, 117), ("phi3-longrope-partial-long", 16, 118)):
        out.hf(name, Phi3ForCausalLM,
               Phi3Config(vocab_size=67, max_position_embeddings=200, original_max_position_embeddings=original,
                          rope_parameters={**rope, "original_max_position_embeddings": original}, **partial),
               BF16, seed, matters=[plain])
    out.converted("phi3-gguf", Phi3ForCausalLM,
                  Phi3Config(vocab_size=61, hidden_size=40, intermediate_size=46, num_hidden_layers=2,
                             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=EPS,
                             original_max_position_embeddings=64, sliding_window=None, bos_token_id=1,
                             eos_token_id=2, pad_token_id=4, rope_parameters=PLAIN), 119)
    out.converted("phi3-longrope-gguf", Phi3ForCausalLM,
                  Phi3Config(vocab_size=61, max_position_embeddings=200, original_max_position_embeddings=16,
                             rope_parameters={**rope, "original_max_position_embeddings": 16}, **partial), 120,
                  matters=[plain])


def smollm3(out):
    out.hf("smollm3-nope", SmolLM3ForCausalLM,
           SmolLM3Config(vocab_size=67, hidden_size=30, intermediate_size=46, num_hidden_layers=3,
                         num_attention_heads=3, num_key_value_heads=1, max_position_embeddings=128, rms_norm_eps=EPS,
                         no_rope_layers=[1, 0, 1], use_sliding_window=True, sliding_window=9,
                         layer_types=["full_attention", "full_attention", "sliding_attention"],
                         tie_word_embeddings=False, bos_token_id=1, eos_token_id=2, pad_token_id=4,
                         rope_parameters=PLAIN), BF16, 121,
           matters=[{"no_rope_layers": [1, 1, 1]}, {"layer_types": ["full_attention"] * 3}])
    # Resembles SmolLM3-3B, which does not state that its head is tied.
    out.hf("smollm3-old-config", SmolLM3ForCausalLM,
           {"architectures": ["SmolLM3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": None, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 30,
            "initializer_range": 0.02, "intermediate_size": 34, "layer_types": ["full_attention"] * 4,
            "max_position_embeddings": 128, "max_window_layers": 28, "mlp_bias": False, "model_type": "smollm3",
            "no_rope_layer_interval": 4, "no_rope_layers": [1, 1, 1, 0], "num_attention_heads": 3,
            "num_hidden_layers": 4, "num_key_value_heads": 1, "pad_token_id": 4, "pretraining_tp": 2,
            "rms_norm_eps": 1e-06, "rope_scaling": None, "rope_theta": 5000000.0, "sliding_window": None,
            "torch_dtype": "bfloat16", "transformers_version": "4.54.0.dev0", "use_cache": False,
            "use_sliding_window": False, "vocab_size": 61}, BF16, 122, matters=[{"no_rope_layers": [1] * 4}])
    # A GGUF has no list of layers: every fourth layer has no rope.
    out.converted("smollm3-gguf", SmolLM3ForCausalLM,
                  SmolLM3Config(vocab_size=61, hidden_size=30, intermediate_size=34, num_hidden_layers=5,
                                num_attention_heads=3, num_key_value_heads=1, max_position_embeddings=128,
                                rms_norm_eps=EPS, bos_token_id=1, eos_token_id=2, pad_token_id=4,
                                rope_parameters=PLAIN), 123,
                  matters=[{"no_rope_layers": [1] * 5}])


def seed_oss(out):
    # Resembles Seed-OSS-36B.
    out.hf("seed-oss-old-config", SeedOssForCausalLM,
           {"architectures": ["SeedOssForCausalLM"], "attention_bias": True, "attention_dropout": 0.1,
            "attention_out_bias": False, "bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "head_dim": 14,
            "hidden_act": "silu", "hidden_size": 36, "initializer_range": 0.02, "intermediate_size": 50,
            "max_position_embeddings": 128, "mlp_bias": False, "model_type": "seed_oss",
            "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2,
            "residual_dropout": 0.1, "rms_norm_eps": 1e-06, "rope_scaling": {"rope_type": "default"},
            "rope_theta": 10000000.0, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
            "transformers_version": "4.55.0", "use_cache": True, "vocab_size": 67}, BF16, 124)
    sizes = dict(hidden_size=33, intermediate_size=46, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=1, head_dim=14, max_position_embeddings=128, rms_norm_eps=EPS,
                 rope_parameters=PLAIN)
    out.hf("seed-oss-biases", SeedOssForCausalLM,
           SeedOssConfig(vocab_size=61, attention_bias=True, attention_out_bias=True, mlp_bias=True,
                         tie_word_embeddings=True, **sizes), BF16, 125)
    out.converted("seed-oss-gguf", SeedOssForCausalLM,
                  SeedOssConfig(vocab_size=61, attention_bias=True, attention_out_bias=False, **sizes), 126)


def hunyuan(out):
    # Resembles Hunyuan-1.8B: `alpha` increases theta at any length.
    alpha = {"alpha": 1000.0, "beta_fast": 32, "beta_slow": 1, "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
             "type": "dynamic"}
    out.hf("hunyuan-old-config", HunYuanDenseV1ForCausalLM,
           {"add_classification_head": False, "architectures": ["HunYuanDenseV1ForCausalLM"],
            "attention_bias": False, "attention_dropout": 0.0, "attention_head_dim": 14, "bos_token_id": 1,
            "cla_share_factor": 2, "class_num": 0, "dense_list": [2048, 0], "eod_token_id": 3, "eos_token_id": 2,
            "head_dim": 14, "hidden_act": "silu", "hidden_size": 36, "im_end_id": 5, "im_newline_id": 11,
            "im_start_id": 4, "initializer_range": 0.02, "intermediate_size": 50, "mask_init_id": 12,
            "max_position_embeddings": 256, "mlp_bias": False, "model_type": "hunyuan_v1_dense",
            "norm_type": "rms", "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2,
            "org_vocab_size": 67, "pad_id": 0, "pad_token_id": 0, "pool_type": "last", "pretraining_tp": 1,
            "rms_norm_eps": 1e-05, "rope_scaling": alpha, "rope_theta": 10000.0, "sep_token_id": 0,
            "text_end_id": 7, "text_start_id": 6, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
            "transformers_version": "4.41.2", "use_cache": True, "use_cla": False, "use_qk_norm": True,
            "use_rotary_pos_emb": True, "vocab_size": 67}, BF16, 127,
           matters=[{"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}])
    sizes = dict(vocab_size=61, hidden_size=33, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1,
                 head_dim=14, rms_norm_eps=EPS)
    out.hf("hunyuan-untied", HunYuanDenseV1ForCausalLM,
           HunYuanDenseV1Config(intermediate_size=58, max_position_embeddings=128, attention_bias=True,
                                tie_word_embeddings=False, rope_parameters=PLAIN, **sizes), BF16, 128)
    # The converter accepts only alpha = 1000 and a context of 262144.
    out.converted("hunyuan-gguf", HunYuanDenseV1ForCausalLM,
                  HunYuanDenseV1Config(intermediate_size=50, max_position_embeddings=262144, tie_word_embeddings=True,
                                       rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0,
                                                        "alpha": 1000.0, "factor": 1.0}, **sizes), 129,
                  matters=[{"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}])


def ernie4_5(out):
    # Resembles ERNIE-4.5-0.3B-PT.
    out.hf("ernie4_5-old-config", Ernie4_5ForCausalLM,
           {"architectures": ["Ernie4_5ForCausalLM"], "bos_token_id": 1, "eos_token_id": 2, "head_dim": 14,
            "hidden_act": "silu", "hidden_size": 36, "intermediate_size": 50, "max_position_embeddings": 128,
            "model_type": "ernie4_5", "num_attention_heads": 4, "num_hidden_layers": 2,
            "num_key_value_heads": 2, "pad_token_id": 0, "rms_norm_eps": 1e-05, "rope_scaling": None,
            "rope_theta": 500000.0, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
            "transformers_version": "4.54.0.dev0", "use_bias": False, "use_cache": True, "vocab_size": 67}, BF16, 130)
    sizes = dict(vocab_size=61, hidden_size=33, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1,
                 head_dim=14, max_position_embeddings=128, rms_norm_eps=EPS, rope_parameters=PLAIN)
    out.hf("ernie4_5-biases", Ernie4_5ForCausalLM,
           Ernie4_5Config(intermediate_size=54, use_bias=True, tie_word_embeddings=False, **sizes), BF16, 131)
    out.converted("ernie4_5-gguf", Ernie4_5ForCausalLM,
                  Ernie4_5Config(intermediate_size=50, use_bias=False, tie_word_embeddings=True, **sizes), 132)


def granite(out):
    scales = dict(embedding_multiplier=7.0, attention_multiplier=0.15, residual_multiplier=0.4, logits_scaling=1.7)
    neutral = [{key: 1.0} for key in scales]
    # Resembles granite-3.1-2b.
    out.hf("granite-old-config", GraniteForCausalLM,
           {"architectures": ["GraniteForCausalLM"], "attention_bias": False, "attention_dropout": 0.1,
            "attention_multiplier": 0.15, "bos_token_id": 0, "embedding_multiplier": 7.0, "eos_token_id": 0,
            "hidden_act": "silu", "hidden_size": 42, "initializer_range": 0.02, "intermediate_size": 54,
            "logits_scaling": 1.7, "max_position_embeddings": 128, "mlp_bias": False, "model_type": "granite",
            "num_attention_heads": 3, "num_hidden_layers": 2, "num_key_value_heads": 1, "pad_token_id": 0,
            "residual_multiplier": 0.4, "rms_norm_eps": 1e-05, "rope_scaling": None, "rope_theta": 5000000.0,
            "tie_word_embeddings": True, "torch_dtype": "bfloat16", "transformers_version": "4.47.0.dev0",
            "use_cache": True, "vocab_size": 67}, BF16, 133, matters=neutral)
    sizes = dict(vocab_size=61, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1,
                 max_position_embeddings=128, rms_norm_eps=EPS, rope_parameters=PLAIN, bos_token_id=0,
                 eos_token_id=0, pad_token_id=0)
    out.hf("granite-untied-biases", GraniteForCausalLM,
           GraniteConfig(intermediate_size=50, attention_bias=True, mlp_bias=True, tie_word_embeddings=False,
                         **scales, **sizes), BF16, 134, matters=neutral)
    out.converted("granite-gguf", GraniteForCausalLM,
                  GraniteConfig(intermediate_size=50, tie_word_embeddings=True, **scales, **sizes), 135,
                  matters=neutral)
    # Resembles granite-4.0-micro: the class of a hybrid, but all layers are attention layers.
    fourth = {"architectures": ["GraniteMoeHybridForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
              "attention_multiplier": 0.15, "bos_token_id": 0, "embedding_multiplier": 7, "eos_token_id": 0,
              "hidden_act": "silu", "hidden_size": 36, "init_method": "mup", "initializer_range": 0.1,
              "intermediate_size": 50, "layer_types": ["attention"] * 2, "logits_scaling": 1.7,
              "mamba_chunk_size": 256, "mamba_conv_bias": True, "mamba_d_conv": 4, "mamba_d_head": 24,
              "mamba_d_state": 16, "mamba_expand": 2, "mamba_n_groups": 1, "mamba_n_heads": 3,
              "mamba_proj_bias": False, "max_position_embeddings": 128, "model_type": "granitemoehybrid",
              "normalization_function": "rmsnorm", "num_attention_heads": 3, "num_experts_per_tok": 0,
              "num_hidden_layers": 2, "num_key_value_heads": 1, "num_local_experts": 0,
              "output_router_logits": False, "pad_token_id": 0, "position_embedding_type": "rope",
              "residual_multiplier": 0.4, "rms_norm_eps": 0.003, "rope_scaling": None, "rope_theta": 10000.0,
              "router_aux_loss_coef": 0.01, "shared_intermediate_size": 50, "tie_word_embeddings": True,
              "torch_dtype": "bfloat16", "transformers_version": "4.56.0", "use_cache": True, "vocab_size": 61}
    turned = {"position_embedding_type": None}
    out.hf("granite4-old-config", GraniteMoeHybridForCausalLM, fourth, BF16, 136, matters=[*neutral, turned])
    bare = {key: value for key, value in fourth.items() if key != "rope_theta"}
    out.hf("granite4-unrotated", GraniteMoeHybridForCausalLM,
           {**bare, **turned, "layer_types": ["full_attention"] * 2, "intermediate_size": 44}, BF16, 137,
           matters=[{"position_embedding_type": "rope"}])
    out.converted("granite4-gguf", GraniteMoeHybridForCausalLM, {**fourth, "torch_dtype": "float16"}, 138,
                  matters=[*neutral, turned])


def apertus(out):
    # Resembles Apertus-8B.
    rope = {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 16,
            "rope_type": "llama3", "type": "llama3"}
    out.hf("apertus-old-config", ApertusForCausalLM,
           {"architectures": ["ApertusForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "xielu", "hidden_dropout": 0.0, "hidden_size": 42,
            "initializer_range": 0.02, "intermediate_size": 75, "max_position_embeddings": 128,
            "mlp_bias": False, "model_type": "apertus", "num_attention_heads": 3, "num_hidden_layers": 2,
            "num_key_value_heads": 1, "pad_token_id": 3, "post_norm": False, "qk_norm": True,
            "rms_norm_eps": 1e-05, "rope_scaling": rope, "rope_theta": 12000000, "tie_word_embeddings": False,
            "torch_dtype": "bfloat16", "transformers_version": "4.56.0.dev0", "use_cache": True,
            "vocab_size": 67}, BF16, 136, unseen=["act_fn.eps"],
           matters=[{"rope_parameters": {"rope_type": "default", "rope_theta": 12e6}}])
    out.converted("apertus-gguf", ApertusForCausalLM,
                  ApertusConfig(vocab_size=61, hidden_size=36, intermediate_size=69, num_hidden_layers=2,
                                num_attention_heads=3, num_key_value_heads=1, max_position_embeddings=128,
                                rms_norm_eps=EPS, rope_parameters=LLAMA3), 137, unseen=["act_fn.eps"])


def arcee(out):
    # Resembles AFM-4.5B.
    rope = {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 20.0, "mscale": 1.0, "original_max_position_embeddings": 16,
            "rope_type": "yarn", "type": "yarn"}
    out.hf("arcee-old-config", ArceeForCausalLM,
           {"architectures": ["ArceeForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": 1, "eos_token_id": 2, "head_dim": 14, "hidden_act": "relu2", "hidden_size": 40,
            "initializer_range": 0.02, "intermediate_size": 61, "max_position_embeddings": 320,
            "mlp_bias": False, "model_type": "arcee", "num_attention_heads": 4, "num_hidden_layers": 2,
            "num_key_value_heads": 2, "rms_norm_eps": 1e-05, "rope_scaling": rope, "rope_theta": 10000.0,
            "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.53.0",
            "use_cache": True, "vocab_size": 67}, BF16, 138, matters=[{"rope_parameters": PLAIN}])
    out.converted("arcee-gguf", ArceeForCausalLM,
                  ArceeConfig(vocab_size=61, hidden_size=36, intermediate_size=69, num_hidden_layers=2,
                              num_attention_heads=4, num_key_value_heads=2, head_dim=14,
                              max_position_embeddings=64, rms_norm_eps=EPS, bos_token_id=1, eos_token_id=2,
                              rope_parameters=YARN), 139, matters=[{"rope_parameters": PLAIN}])


FAMILIES = [llama, mistral, ministral3, qwen2, qwen3, phi3, smollm3, seed_oss, hunyuan, ernie4_5, granite, apertus,
            arcee]

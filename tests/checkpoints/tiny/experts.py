"""Mixture-of-experts families."""
import safetensors.torch
import torch
from transformers import (Dots1Config, Dots1ForCausalLM, Ernie4_5_MoeConfig, Ernie4_5_MoeForCausalLM,
                          Glm4MoeConfig, Glm4MoeForCausalLM, GptOssConfig, GptOssForCausalLM, GraniteMoeConfig,
                          GraniteMoeForCausalLM, GraniteMoeSharedConfig, GraniteMoeSharedForCausalLM,
                          HunYuanMoEV1Config, HunYuanMoEV1ForCausalLM, Lfm2MoeConfig, Lfm2MoeForCausalLM,
                          MiniMaxM2Config, MiniMaxM2ForCausalLM, MixtralConfig, MixtralForCausalLM, OlmoeConfig,
                          OlmoeForCausalLM, Qwen2MoeConfig, Qwen2MoeForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM,
                          Qwen3VLMoeConfig, Qwen3VLMoeForConditionalGeneration)

BF16 = torch.bfloat16
EPS = 3e-3  # large enough to show in the logits
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
SIZES = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1,
             max_position_embeddings=128, rms_norm_eps=EPS, rope_parameters=PLAIN)


def mixtral(out):
    # Resembles Mixtral-8x7B.
    out.hf("mixtral-old-config", MixtralForCausalLM,
           {"architectures": ["MixtralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
            "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 24, "initializer_range": 0.02,
            "intermediate_size": 14, "max_position_embeddings": 128, "model_type": "mixtral",
            "num_attention_heads": 3, "num_experts_per_tok": 2, "num_hidden_layers": 2,
            "num_key_value_heads": 1, "num_local_experts": 5, "output_router_logits": False,
            "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "router_aux_loss_coef": 0.02,
            "sliding_window": None, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
            "transformers_version": "4.36.0.dev0", "use_cache": True, "vocab_size": 61}, BF16, 461)
    # Experts are stacked with gate above up, as transformers holds them in memory and optionally saves them.
    out.hf("mixtral-fused", MixtralForCausalLM,
           MixtralConfig(intermediate_size=14, num_local_experts=5, num_experts_per_tok=2, sliding_window=9, **SIZES),
           BF16, 421, as_hub=False)
    out.converted("mixtral-gguf", MixtralForCausalLM,
                  MixtralConfig(intermediate_size=14, num_local_experts=5, num_experts_per_tok=2,
                                sliding_window=None, **SIZES), 462)


def qwen2moe(out):
    # Resembles Qwen1.5-MoE-A2.7B.
    out.hf("qwen2moe-old-config", Qwen2MoeForCausalLM,
           {"architectures": ["Qwen2MoeForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 3,
            "eos_token_id": 3, "hidden_act": "silu", "hidden_size": 24, "initializer_range": 0.02,
            "intermediate_size": 30, "max_position_embeddings": 128, "max_window_layers": 2,
            "model_type": "qwen2_moe", "num_attention_heads": 3, "num_hidden_layers": 2,
            "num_key_value_heads": 3, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 13,
            "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.39.0.dev0",
            "use_cache": True, "use_sliding_window": False, "vocab_size": 61, "decoder_sparse_step": 1,
            "moe_intermediate_size": 10, "shared_expert_intermediate_size": 18, "num_experts_per_tok": 3,
            "num_experts": 5, "norm_topk_prob": False, "output_router_logits": False,
            "router_aux_loss_coef": 0.001}, BF16, 403, matters=[{"norm_topk_prob": True}])
    experts = dict(moe_intermediate_size=10, shared_expert_intermediate_size=18, num_experts=5, num_experts_per_tok=2)
    out.hf("qwen2moe-dense-layer", Qwen2MoeForCausalLM,
           Qwen2MoeConfig(intermediate_size=30, norm_topk_prob=True, mlp_only_layers=[0], **experts, **SIZES),
           BF16, 404, matters=[{"norm_topk_prob": False}])
    out.converted("qwen2moe-gguf", Qwen2MoeForCausalLM,
                  Qwen2MoeConfig(intermediate_size=30, norm_topk_prob=False, **experts, **SIZES), 405,
                  matters=[{"norm_topk_prob": True}])


def qwen3moe(out):
    # Resembles Qwen3-30B-A3B.
    out.hf("qwen3moe-old-config", Qwen3MoeForCausalLM,
           {"architectures": ["Qwen3MoeForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": 3, "decoder_sparse_step": 1, "eos_token_id": 5, "head_dim": 14,
            "hidden_act": "silu", "hidden_size": 24, "initializer_range": 0.02, "intermediate_size": 30,
            "max_position_embeddings": 128, "max_window_layers": 2, "mlp_only_layers": [],
            "model_type": "qwen3_moe", "moe_intermediate_size": 10, "norm_topk_prob": True,
            "num_attention_heads": 3, "num_experts": 5, "num_experts_per_tok": 3, "num_hidden_layers": 2,
            "num_key_value_heads": 1, "output_router_logits": False, "rms_norm_eps": 1e-06,
            "rope_scaling": None, "rope_theta": 1000000.0, "router_aux_loss_coef": 0.001,
            "sliding_window": None, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
            "transformers_version": "4.51.0", "use_cache": True, "use_sliding_window": False,
            "vocab_size": 61}, BF16, 466, matters=[{"norm_topk_prob": False}])
    out.hf("qwen3moe-fused", Qwen3MoeForCausalLM,
           Qwen3MoeConfig(head_dim=14, intermediate_size=30, moe_intermediate_size=10, mlp_only_layers=[0],
                          num_experts=5, num_experts_per_tok=2, norm_topk_prob=False, **SIZES), BF16, 480, as_hub=False)
    out.converted("qwen3moe-gguf", Qwen3MoeForCausalLM,
                  Qwen3MoeConfig(head_dim=14, intermediate_size=30, moe_intermediate_size=10, num_experts=5,
                                 num_experts_per_tok=2, norm_topk_prob=True, **SIZES), 437)


def qwen3_vl_moe(out):
    tower = {"deepstack_visual_indexes": [0], "depth": 1, "hidden_act": "gelu_pytorch_tanh", "hidden_size": 8,
             "in_channels": 3, "initializer_range": 0.02, "intermediate_size": 8, "model_type": "qwen3_vl_moe",
             "num_heads": 1, "num_position_embeddings": 4, "out_hidden_size": 24, "patch_size": 2,
             "spatial_merge_size": 2, "temporal_patch_size": 2}
    text = {"attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 3, "decoder_sparse_step": 1,
            "dtype": "bfloat16", "eos_token_id": 5, "head_dim": 16, "hidden_act": "silu", "hidden_size": 24,
            "initializer_range": 0.02, "intermediate_size": 30, "max_position_embeddings": 128,
            "mlp_only_layers": [], "model_type": "qwen3_vl_moe_text", "moe_intermediate_size": 10,
            "norm_topk_prob": True, "num_attention_heads": 3, "num_experts": 5, "num_experts_per_tok": 3,
            "num_hidden_layers": 2, "num_key_value_heads": 1, "rms_norm_eps": 1e-06,
            "rope_scaling": {"mrope_interleaved": True, "mrope_section": [4, 2, 2], "rope_type": "default"},
            "rope_theta": 5000000, "use_cache": True, "vocab_size": 61}
    whole = {"architectures": ["Qwen3VLMoeForConditionalGeneration"], "image_token_id": 57,
             "model_type": "qwen3_vl_moe", "text_config": text, "tie_word_embeddings": False,
             "transformers_version": "4.57.0.dev0", "video_token_id": 58, "vision_config": tower,
             "vision_end_token_id": 59, "vision_start_token_id": 60}
    # Resembles Qwen3-VL-30B-A3B-Instruct: stacks with columns first.
    out.hf("qwen3-vl-moe-old-config", Qwen3VLMoeForConditionalGeneration, whole, BF16, 710,
           unseen=["visual"], stored=columns_first)
    # This is transformers 5's in-memory layout: stacks with rows first, and no norm_topk_prob in the config.
    plain = {key: value for key, value in text.items() if key not in ("norm_topk_prob", "rope_scaling", "rope_theta")}
    out.hf("qwen3-vl-moe-fused", Qwen3VLMoeForConditionalGeneration,
           Qwen3VLMoeConfig(**{**whole, "vision_config": {**tower, "model_type": "qwen3_vl_moe_vision"}, "text_config": {
               **plain, "rms_norm_eps": EPS, "mlp_only_layers": [1],
               "rope_parameters": {**PLAIN, "mrope_interleaved": True, "mrope_section": [4, 2, 2]}}}),
           BF16, 710, as_hub=False, unseen=["visual"])
    out.converted("qwen3-vl-moe-gguf", Qwen3VLMoeForConditionalGeneration,
                  {**whole, "text_config": {**text, "rms_norm_eps": EPS}, "torch_dtype": "float16"}, 710, unseen=["visual"],
                  stored=columns_first)


def columns_first(file):
    """Stacks as the hub's files store them; transformers transposes them when it loads, but not when it saves."""
    tensors = safetensors.torch.load_file(file)
    for name in tensors:
        if ".mlp.experts." in name:
            tensors[name] = tensors[name].transpose(1, 2).contiguous()
    safetensors.torch.save_file(tensors, file, {"format": "pt"})


def gpt_oss(out):
    yarn = {"beta_fast": 2.0, "beta_slow": 0.5, "factor": 8.0, "original_max_position_embeddings": 16,
            "rope_type": "yarn", "truncate": False}
    # Resembles gpt-oss-20b, without its quantisation.
    out.hf("gpt-oss-old-config", GptOssForCausalLM,
           {"architectures": ["GptOssForCausalLM"], "attention_bias": True, "attention_dropout": 0.0,
            "eos_token_id": 2, "experts_per_token": 2, "head_dim": 14, "hidden_act": "silu", "hidden_size": 24,
            "initial_context_length": 16, "initializer_range": 0.02, "intermediate_size": 14,
            "layer_types": ["sliding_attention", "full_attention"], "max_position_embeddings": 128,
            "model_type": "gpt_oss", "num_attention_heads": 3, "num_experts_per_tok": 2,
            "num_hidden_layers": 2, "num_key_value_heads": 1, "num_local_experts": 5,
            "output_router_logits": False, "pad_token_id": 1, "rms_norm_eps": 1e-05, "rope_scaling": yarn,
            "rope_theta": 1000, "router_aux_loss_coef": 0.9, "sliding_window": 9, "swiglu_limit": 1.5,
            "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.55.0.dev0",
            "use_cache": True, "vocab_size": 61}, BF16, 438,
           matters=[{"sliding_window": 99}, {"swiglu_limit": 7.0},
                    {"rope_parameters": {**yarn, "rope_theta": 1000, "truncate": True}}])
    out.converted("gpt-oss-gguf", GptOssForCausalLM,
                  GptOssConfig(**{**SIZES, "rope_parameters": {**yarn, "rope_theta": 1000.0}}, head_dim=14,
                               intermediate_size=14, num_local_experts=5, num_experts_per_tok=2, sliding_window=9,
                               layer_types=["sliding_attention", "full_attention"], eos_token_id=2, pad_token_id=1),
                  439, matters=[{"sliding_window": 99}])


def gpt_oss_mxfp4(out):
    """gpt-oss as published: MXFP4 experts, the rest in BF16, and the GGUF made from that."""
    config = {"architectures": ["GptOssForCausalLM"], "attention_bias": True, "head_dim": 14, "hidden_act": "silu",
              "hidden_size": 32, "intermediate_size": 32, "layer_types": ["sliding_attention", "full_attention"],
              "max_position_embeddings": 128, "model_type": "gpt_oss", "num_attention_heads": 3,
              "num_experts_per_tok": 2, "num_hidden_layers": 2, "num_key_value_heads": 1, "num_local_experts": 3,
              "quantization_config": {"modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router",
                                                                "model.embed_tokens", "lm_head"],
                                      "quant_method": "mxfp4"},
              "rms_norm_eps": 1e-05, "rope_scaling": {"beta_fast": 2.0, "beta_slow": 0.5, "factor": 8.0,
                                                      "original_max_position_embeddings": 16, "rope_type": "yarn",
                                                      "truncate": False},
              "rope_theta": 1000, "sliding_window": 9, "swiglu_limit": 7.0, "tie_word_embeddings": False,
              "eos_token_id": 2, "pad_token_id": 1, "torch_dtype": "bfloat16", "vocab_size": 61}
    for name, gguf in (("gpt-oss-mxfp4", False), ("gpt-oss-mxfp4-gguf", True)):
        out.packed(name, GptOssForCausalLM, config, BF16, 444, pack_mxfp4, gguf)


def pack_mxfp4(tensors):
    """Packs expert stacks [E][columns][rows] into _blocks and _scales of their rows;
    returns the numbers these represent."""
    table = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6])
    values = {}
    for name in [name for name in tensors if name.endswith(("gate_up_proj", "down_proj"))]:
        rows = tensors.pop(name).float().transpose(1, 2)
        blocks = rows.reshape(*rows.shape[:2], -1, 32)
        exponent = torch.floor(torch.log2(blocks.abs().amax(-1, keepdim=True))) - 2
        codes = (blocks / 2 ** exponent).unsqueeze(-1).sub(table).abs().argmin(-1)
        values[name] = (table[codes] * 2 ** exponent).reshape(rows.shape).transpose(1, 2)
        tensors[name + "_blocks"] = (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8)
        tensors[name + "_scales"] = (exponent[..., 0] + 127).to(torch.uint8)
    return values


def granitemoe(out):
    # Resembles granite-3.1-1b-a400m.
    out.hf("granitemoe-old-config", GraniteMoeForCausalLM,
           {"architectures": ["GraniteMoeForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "attention_multiplier": 0.15, "bos_token_id": 0, "embedding_multiplier": 7.0, "eos_token_id": 0,
            "hidden_act": "silu", "hidden_size": 24, "initializer_range": 0.02, "intermediate_size": 18,
            "logits_scaling": 1.7, "max_position_embeddings": 128, "model_type": "granitemoe",
            "num_attention_heads": 3, "num_experts_per_tok": 2, "num_hidden_layers": 2,
            "num_key_value_heads": 1, "num_local_experts": 5, "output_router_logits": False,
            "pad_token_id": 0, "residual_multiplier": 0.4, "rms_norm_eps": 1e-06, "rope_scaling": None,
            "rope_theta": 1500000.0, "router_aux_loss_coef": 0.0, "tie_word_embeddings": True,
            "torch_dtype": "bfloat16", "transformers_version": "4.47.0.dev0", "use_cache": True,
            "vocab_size": 61}, BF16, 410, matters=[{"residual_multiplier": 1.0}])
    out.converted("granitemoe-gguf", GraniteMoeForCausalLM,
                  GraniteMoeConfig(intermediate_size=18, num_local_experts=5, num_experts_per_tok=2,
                                   embedding_multiplier=7.0, attention_multiplier=0.15, residual_multiplier=0.4,
                                   logits_scaling=1.7, tie_word_embeddings=True, bos_token_id=0, eos_token_id=0,
                                   pad_token_id=0, **SIZES), 411)


def granitemoeshared(out):
    # Experts are stored as transformers holds them in memory.
    config = dict(intermediate_size=14, shared_intermediate_size=18, num_local_experts=5, num_experts_per_tok=2,
                  embedding_multiplier=7.0, attention_multiplier=0.15, residual_multiplier=0.4, logits_scaling=1.7,
                  tie_word_embeddings=True, bos_token_id=0, eos_token_id=0, pad_token_id=0)
    out.hf("granitemoe-shared", GraniteMoeSharedForCausalLM, GraniteMoeSharedConfig(**config, **SIZES), BF16, 412,
           as_hub=False)
    out.converted("granitemoe-shared-gguf", GraniteMoeSharedForCausalLM, GraniteMoeSharedConfig(**config, **SIZES), 413)


def lfm2moe(out):
    # Resembles LFM2-8B-A1B.
    out.hf("lfm2moe-old-config", Lfm2MoeForCausalLM,
           {"architectures": ["Lfm2MoeForCausalLM"], "bos_token_id": 1, "conv_L_cache": 3, "conv_bias": False,
            "eos_token_id": 7, "hidden_size": 24, "initializer_range": 0.02, "intermediate_size": 30,
            "layer_types": ["conv", "full_attention", "conv"], "max_position_embeddings": 128,
            "model_type": "lfm2_moe", "moe_intermediate_size": 10, "norm_eps": 1e-05, "norm_topk_prob": True,
            "num_attention_heads": 3, "num_dense_layers": 1, "num_experts": 5, "num_experts_per_tok": 3,
            "num_hidden_layers": 3, "num_key_value_heads": 1, "pad_token_id": 0, "rope_theta": 1000000.0,
            "routed_scaling_factor": 1.5, "torch_dtype": "bfloat16", "transformers_version": "4.57.0.dev0",
            "use_cache": True, "use_expert_bias": True, "vocab_size": 61}, BF16, 416,
           matters=[{"routed_scaling_factor": 1.0}, {"norm_topk_prob": False}])
    sizes = {key: value for key, value in SIZES.items() if key != "rms_norm_eps"}
    out.converted("lfm2moe-gguf", Lfm2MoeForCausalLM,
                  Lfm2MoeConfig(**{**sizes, "num_hidden_layers": 3}, intermediate_size=30, moe_intermediate_size=10,
                                norm_eps=EPS, num_dense_layers=1, num_experts=5, num_experts_per_tok=2,
                                layer_types=["conv", "full_attention", "conv"], pad_token_id=0), 415)


def olmoe(out):
    # Resembles OLMoE-1B-7B.
    out.hf("olmoe-old-config", OlmoeForCausalLM,
           {"architectures": ["OlmoeForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "clip_qkv": None, "eos_token_id": 3, "hidden_act": "silu", "hidden_size": 24,
            "initializer_range": 0.02, "intermediate_size": 14, "max_position_embeddings": 128,
            "model_type": "olmoe", "norm_topk_prob": False, "num_attention_heads": 3, "num_experts": 5,
            "num_experts_per_tok": 3, "num_hidden_layers": 2, "num_key_value_heads": 3,
            "output_router_logits": False, "pad_token_id": 1, "rms_norm_eps": 1e-05, "rope_scaling": None,
            "rope_theta": 10000.0, "router_aux_loss_coef": 0.01, "tie_word_embeddings": False,
            "torch_dtype": "bfloat16", "transformers_version": "4.43.0.dev0", "use_cache": True,
            "vocab_size": 61}, BF16, 472, matters=[{"norm_topk_prob": True}])
    # The converter assumes this epsilon.
    out.converted("olmoe-gguf", OlmoeForCausalLM,
                  OlmoeConfig(**{**SIZES, "num_key_value_heads": 3, "rms_norm_eps": 1e-5}, intermediate_size=14,
                              num_experts=5, num_experts_per_tok=2, norm_topk_prob=False, eos_token_id=3,
                              pad_token_id=1), 443)


def ernie4_5_moe(out):
    # Resembles ERNIE-4.5-21B-A3B-PT.
    out.hf("ernie4_5-moe-old-config", Ernie4_5_MoeForCausalLM,
           {"architectures": ["Ernie4_5_MoeForCausalLM"], "bos_token_id": 1, "eos_token_id": 2,
            "hidden_act": "silu", "hidden_size": 24, "intermediate_size": 30, "max_position_embeddings": 128,
            "model_type": "ernie4_5_moe", "moe_capacity": [64, 64, 64], "moe_gate": "topk",
            "moe_intermediate_size": 10, "moe_k": 3, "moe_layer_end_index": 2, "moe_layer_interval": 1,
            "moe_layer_start_index": 1, "moe_num_experts": 5, "moe_num_shared_experts": 2,
            "moe_use_aux_free": True, "num_attention_heads": 3, "num_hidden_layers": 3,
            "num_key_value_heads": 1, "num_nextn_predict_layers": 1, "pad_token_id": 0, "rms_norm_eps": 1e-05,
            "rope_scaling": None, "rope_theta": 500000.0, "tie_word_embeddings": True,
            "torch_dtype": "bfloat16", "transformers_version": "4.54.0.dev0", "use_bias": False,
            "use_cache": True, "vocab_size": 61}, BF16, 474)
    # The converter assumes that the shared experts' width is intermediate_size / num_key_value_heads.
    out.converted("ernie4_5-moe-gguf", Ernie4_5_MoeForCausalLM,
                  Ernie4_5_MoeConfig(**{**SIZES, "num_hidden_layers": 3, "num_key_value_heads": 3},
                                     intermediate_size=30, moe_intermediate_size=10, moe_k=2, moe_num_experts=5,
                                     moe_num_shared_experts=1, moe_layer_start_index=1, moe_layer_end_index=2,
                                     moe_layer_interval=1, tie_word_embeddings=True), 685)


def minimax_m2(out):
    # Resembles MiniMax-M2, without its quantisation.
    out.hf("minimax-m2-old-config", MiniMaxM2ForCausalLM,
           {"architectures": ["MiniMaxM2ForCausalLM"], "attention_dropout": 0.0, "attn_type_list": [1, 1],
            "bos_token_id": None, "eos_token_id": None, "head_dim": 12, "hidden_act": "silu", "hidden_size": 24,
            "initializer_range": 0.02, "intermediate_size": 14, "layernorm_full_attention_beta": 1.0,
            "layernorm_linear_attention_beta": 1.0, "layernorm_mlp_beta": 1.0, "max_position_embeddings": 128,
            "mlp_intermediate_size": 30, "model_type": "minimax_m2", "mtp_transformer_layers": 1,
            "num_attention_heads": 3, "num_experts_per_tok": 3, "num_hidden_layers": 2,
            "num_key_value_heads": 1, "num_local_experts": 5, "num_mtp_modules": 3,
            "output_router_logits": False, "qk_norm_type": "per_layer", "rms_norm_eps": 1e-06,
            "rope_theta": 5000000, "rotary_dim": 6, "router_aux_loss_coef": 0.001,
            "router_jitter_noise": 0.0, "scoring_func": "sigmoid", "shared_intermediate_size": 0,
            "shared_moe_mode": "sigmoid", "sliding_window": None, "tie_word_embeddings": False,
            "torch_dtype": "bfloat16", "transformers_version": "4.57.1", "use_cache": True, "use_mtp": True,
            "use_qk_norm": True, "use_routing_bias": True, "vocab_size": 61}, BF16, 416)
    out.converted("minimax-m2-gguf", MiniMaxM2ForCausalLM,
                  MiniMaxM2Config(**{**SIZES, "rope_parameters": {**PLAIN, "partial_rotary_factor": 0.5}}, head_dim=12,
                                  rotary_dim=6, scoring_func="sigmoid", intermediate_size=14, num_local_experts=5,
                                  num_experts_per_tok=2), 537)


def glm4_moe(out):
    # Resembles GLM-4.5-Air.
    out.hf("glm4-moe-old-config", Glm4MoeForCausalLM,
           {"architectures": ["Glm4MoeForCausalLM"], "attention_bias": True, "attention_dropout": 0.0,
            "pad_token_id": 3, "eos_token_id": [3, 5, 6], "head_dim": 12, "hidden_act": "silu",
            "hidden_size": 24, "partial_rotary_factor": 0.5, "initializer_range": 0.02,
            "intermediate_size": 30, "max_position_embeddings": 128, "model_type": "glm4_moe",
            "moe_intermediate_size": 10, "norm_topk_prob": True, "num_attention_heads": 3, "n_group": 1,
            "topk_group": 1, "n_routed_experts": 5, "n_shared_experts": 1, "routed_scaling_factor": 1.5,
            "num_experts_per_tok": 3, "first_k_dense_replace": 1, "num_hidden_layers": 3,
            "num_key_value_heads": 1, "rms_norm_eps": 1e-05, "rope_scaling": None, "rope_theta": 1000000,
            "num_nextn_predict_layers": 1, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
            "transformers_version": "4.54.0", "use_cache": True, "use_qk_norm": False, "vocab_size": 61},
           BF16, 538, matters=[{"routed_scaling_factor": 1.0}], stored=lambda file: add_mtp(file, 3))
    out.converted("glm4-moe-gguf", Glm4MoeForCausalLM,
                  Glm4MoeConfig(**{**SIZES, "rope_parameters": {**PLAIN, "partial_rotary_factor": 0.5}}, head_dim=12,
                                intermediate_size=30, moe_intermediate_size=10, n_routed_experts=5,
                                num_experts_per_tok=2, n_shared_experts=1, routed_scaling_factor=1.5,
                                first_k_dense_replace=1, use_qk_norm=True, attention_bias=True), 419,
                  stored=lambda file: add_mtp(file, 2))


def hunyuan_moe(out):
    # Resembles Hunyuan-A13B-Instruct: counts per layer, and `alpha` increases theta at any length.
    alpha = {"alpha": 1000.0, "beta_fast": 32, "beta_slow": 1, "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
             "type": "dynamic"}
    out.hf("hunyuan-moe-old-config", HunYuanMoEV1ForCausalLM,
           {"add_classification_head": False, "architectures": ["HunYuanMoEV1ForCausalLM"], "attention_bias": False,
            "attention_dropout": 0.1, "attention_head_dim": 14, "bos_token_id": 1, "cla_share_factor": 2,
            "class_num": 0, "dense_list": [4096, 0], "eod_token_id": 3, "eos_token_id": 4,
            "group_limited_greedy": False, "head_dim": 14, "hidden_act": "silu", "hidden_size": 24, "im_end_id": 5,
            "im_newline_id": 11, "im_start_id": 4, "initializer_range": 0.02, "intermediate_size": 14,
            "kv_lora_rank": None, "mask_init_id": 12, "max_position_embeddings": 256, "mlp_bias": False,
            "model_type": "hunyuan_v1_moe", "moe_drop_tokens": False, "moe_intermediate_size": [14, 14],
            "moe_layer_num_skipped": 0, "moe_random_routing_dropped_token": False, "moe_topk": [3, 3],
            "n_group": None, "norm_topk_prob": True, "norm_type": "rms", "num_attention_heads": 3, "num_experts": 5,
            "num_hidden_layers": 2, "num_key_value_heads": 1, "num_media_embeds": 257, "num_shared_expert": [1, 1],
            "org_vocab_size": 61, "pad_id": 0, "pad_token_id": 0, "pool_type": "last",
            "position_embedding_xdrope": False, "pretraining_tp": 1, "q_lora_rank": None, "qk_nope_head_dim": None,
            "qk_rope_head_dim": None, "rms_norm_eps": 1e-05, "rope_scaling": alpha, "rope_theta": 10000.0,
            "routed_scaling_factor": None, "sep_token_id": 0, "skip_cls_token": False, "text_end_id": 7,
            "text_start_id": 6, "tie_word_embeddings": True, "topk_group": None, "torch_dtype": "bfloat16",
            "transformers_version": "4.41.2", "use_cache": True, "use_cla": False, "use_mixed_mlp_moe": True,
            "use_mla": False, "use_qk_norm": True, "use_rotary_pos_emb": True, "v_head_dim": None,
            "vocab_size": 61}, BF16, 710, matters=[{"moe_topk": 2}, {"rope_parameters": PLAIN}])
    # Experts are stored as transformers holds them in memory.
    out.hf("hunyuan-moe-fused", HunYuanMoEV1ForCausalLM,
           HunYuanMoEV1Config(**SIZES, head_dim=14, intermediate_size=14, num_experts=5, moe_topk=2,
                              attention_bias=True, pad_token_id=0), BF16, 712, as_hub=False)
    out.converted("hunyuan-moe-gguf", HunYuanMoEV1ForCausalLM,
                  HunYuanMoEV1Config(**SIZES, head_dim=8, intermediate_size=14, num_experts=5, moe_topk=[2, 2],
                                     moe_intermediate_size=[14, 14], num_shared_expert=[1, 1], pad_token_id=0), 712)


def dots1(out):
    # Resembles dots.llm1.inst, plus groups, which its code supports and its only published model does not use.
    out.hf("dots1-old-config", Dots1ForCausalLM,
           {"architectures": ["Dots1ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": None, "eos_token_id": 5, "first_k_dense_replace": 1, "head_dim": 14,
            "hidden_act": "silu", "hidden_size": 24, "initializer_range": 0.02, "intermediate_size": 30,
            "max_position_embeddings": 128, "max_window_layers": 3, "model_type": "dots1",
            "moe_intermediate_size": 10, "moe_layer_freq": 1, "n_group": 4, "n_routed_experts": 8,
            "n_shared_experts": 2, "norm_topk_prob": True, "num_attention_heads": 3, "num_experts_per_tok": 3,
            "num_hidden_layers": 3, "num_key_value_heads": 3, "rms_norm_eps": 1e-05, "rope_scaling": None,
            "rope_theta": 10000000, "routed_scaling_factor": 2.5, "scoring_func": "noaux_tc",
            "sliding_window": None, "tie_word_embeddings": False, "topk_group": 2, "torch_dtype": "bfloat16",
            "transformers_version": "4.46.3", "use_cache": True, "use_sliding_window": False, "vocab_size": 61},
           BF16, 712, matters=[{"topk_group": 4}, {"n_group": 2, "topk_group": 1}, {"routed_scaling_factor": 1.0},
                               {"norm_topk_prob": False}])
    experts = dict(head_dim=14, intermediate_size=30, moe_intermediate_size=10, n_routed_experts=6, n_shared_experts=1,
                   num_experts_per_tok=2, first_k_dense_replace=1, n_group=3, topk_group=2)
    # The layers after the first ones have windows, as its code supports them. There are three groups of two experts.
    out.hf("dots1-windows", Dots1ForCausalLM,
           Dots1Config(**{**SIZES, "num_hidden_layers": 3}, **experts, attention_bias=True, norm_topk_prob=False,
                       sliding_window=9, max_window_layers=1), BF16, 712, as_hub=False,
           matters=[{"sliding_window": 99}, {"n_group": 1, "topk_group": 1}, {"norm_topk_prob": True}])
    out.converted("dots1-gguf", Dots1ForCausalLM,
                  Dots1Config(**SIZES, **experts, norm_topk_prob=True, routed_scaling_factor=1.5, sliding_window=None),
                  710, matters=[{"n_group": 1, "topk_group": 1}, {"routed_scaling_factor": 1.0}])


def add_mtp(file, layers):
    """Adds the multi-token-prediction layer after the others, as in zai-org's files."""
    tensors = safetensors.torch.load_file(file)
    last, mtp = f"model.layers.{layers - 1}.", f"model.layers.{layers}."
    tensors |= {mtp + name.removeprefix(last): tensor.clone() for name, tensor in tensors.items()
                if name.startswith(last)}
    norm, embedding = tensors["model.norm.weight"], tensors["model.embed_tokens.weight"]
    tensors |= {mtp + name + ".weight": tensor.clone() for name, tensor in (
        ("eh_proj", torch.cat([embedding[:24], embedding[:24]], 1)), ("enorm", norm), ("hnorm", norm),
        ("shared_head.norm", norm), ("shared_head.head", tensors["lm_head.weight"]), ("embed_tokens", embedding))}
    safetensors.torch.save_file(tensors, file, {"format": "pt"})


FAMILIES = [mixtral, qwen2moe, qwen3moe, qwen3_vl_moe, gpt_oss, gpt_oss_mxfp4, granitemoe, granitemoeshared, lfm2moe,
            olmoe, ernie4_5_moe, minimax_m2, glm4_moe, hunyuan_moe, dots1]

"""Families whose norms subtract the mean."""
import safetensors.torch
import torch
from transformers import (Cohere2Config, Cohere2ForCausalLM, CohereConfig, CohereForCausalLM, GPT2Config,
                          GPT2LMHeadModel, GPTNeoXConfig, GPTNeoXForCausalLM, NemotronConfig, NemotronForCausalLM,
                          PhiConfig, PhiForCausalLM, StableLmConfig, StableLmForCausalLM, Starcoder2Config,
                          Starcoder2ForCausalLM)

from write_gguf import write_gptneox

BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32
EPS = 3e-3  # large enough to show in the logits
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}


def gptneox(out):
    # Resembles Pythia's files: a config.json of transformers 4; masks and frequencies are stored with the weights.
    out.hf("gptneox-old-config", GPTNeoXForCausalLM,
           {"architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "classifier_dropout": 0.1,
            "eos_token_id": 0, "hidden_act": "gelu", "hidden_size": 72, "initializer_range": 0.02,
            "intermediate_size": 100, "layer_norm_eps": 1e-05, "max_position_embeddings": 128,
            "model_type": "gpt_neox", "num_attention_heads": 3, "num_hidden_layers": 2,
            "rope_scaling": None, "rotary_emb_base": 7000, "rotary_pct": 0.25,
            "tie_word_embeddings": False, "torch_dtype": "float16", "transformers_version": "4.24.0",
            "use_cache": True, "use_parallel_residual": True, "vocab_size": 107}, F16, 9,
           stored=lambda file: add_masks(file, 2, 128, 3))
    # This is the form that transformers 5 writes, with a sequential residual, no attention biases and a tied head.
    out.hf("gptneox-sequential-tied", GPTNeoXForCausalLM,
           GPTNeoXConfig(vocab_size=89, hidden_size=56, intermediate_size=75, num_hidden_layers=2,
                         num_attention_heads=4, max_position_embeddings=128, layer_norm_eps=2e-5,
                         hidden_act="gelu_fast", attention_bias=False, use_parallel_residual=False,
                         tie_word_embeddings=True, rope_parameters={
                             "rope_type": "linear", "rope_theta": 10000.0, "factor": 2.5,
                             "partial_rotary_factor": 1.0}), BF16, 10)
    out.gguf("gptneox-gguf-mixed", GPTNeoXForCausalLM,
             GPTNeoXConfig(vocab_size=97, hidden_size=256, intermediate_size=96, num_hidden_layers=2,
                           num_attention_heads=4, max_position_embeddings=128, layer_norm_eps=1e-5,
                           hidden_act="gelu", rope_parameters={
                               "rope_type": "default", "rope_theta": 10000.0,
                               "partial_rotary_factor": 0.25}), write_gptneox, 11)


def add_masks(file, layers, context, frequencies):
    """Adds what files of transformers before 4.40 store with the weights of each layer."""
    tensors = safetensors.torch.load_file(file)
    for i in range(layers):
        attention = f"gpt_neox.layers.{i}.attention."
        tensors[attention + "bias"] = torch.tril(torch.ones(context, context, dtype=torch.bool))[None, None]
        tensors[attention + "masked_bias"] = torch.tensor(-1e4)
        tensors[attention + "rotary_emb.inv_freq"] = torch.ones(frequencies)
    safetensors.torch.save_file(tensors, file, {"format": "pt"})


def gpt2(out):
    # Resembles gpt2's files: names without a prefix; masks are stored with the weights.
    out.hf("gpt2-old-config", GPT2LMHeadModel,
           {"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
            "bos_token_id": 3, "embd_pdrop": 0.1, "eos_token_id": 3, "initializer_range": 0.02,
            "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 50, "n_embd": 27, "n_head": 3,
            "n_layer": 2, "n_positions": 50, "resid_pdrop": 0.1, "summary_activation": None,
            "summary_first_dropout": 0.1, "summary_proj_to_labels": True, "summary_type": "cls_index",
            "summary_use_proj": True,
            "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
            "vocab_size": 61}, BF16, 301, stored=without_prefix)
    out.hf("gpt2-scaled-untied", GPT2LMHeadModel,
           GPT2Config(vocab_size=61, n_positions=64, n_embd=40, n_layer=2, n_head=4, n_inner=58,
                      layer_norm_epsilon=EPS, scale_attn_by_inverse_layer_idx=True, tie_word_embeddings=False,
                      bos_token_id=3, eos_token_id=3), BF16, 302, matters=[{"scale_attn_by_inverse_layer_idx": False}])
    out.converted("gpt2-gguf", GPT2LMHeadModel,
                  GPT2Config(vocab_size=61, n_positions=64, n_ctx=64, n_embd=27, n_layer=2, n_head=3,
                             layer_norm_epsilon=EPS, bos_token_id=3, eos_token_id=3), 303)


def without_prefix(file):
    tensors = {name.removeprefix("transformer."): tensor
               for name, tensor in safetensors.torch.load_file(file).items()}
    for i in range(2):
        tensors[f"h.{i}.attn.bias"] = torch.tril(torch.ones(50, 50, dtype=torch.bool))[None, None]
    safetensors.torch.save_file(tensors, file, {"format": "pt"})


def phi(out):
    # Resembles phi-2.
    out.hf("phi2-old-config", PhiForCausalLM,
           {"_name_or_path": "microsoft/phi-2", "architectures": ["PhiForCausalLM"], "attention_dropout": 0.0,
            "bos_token_id": 3, "embd_pdrop": 0.0, "eos_token_id": 3, "hidden_act": "gelu_new",
            "hidden_size": 40, "initializer_range": 0.02, "intermediate_size": 50, "layer_norm_eps": 1e-05,
            "max_position_embeddings": 128, "model_type": "phi", "num_attention_heads": 2,
            "num_hidden_layers": 2, "num_key_value_heads": 2, "partial_rotary_factor": 0.4,
            "qk_layernorm": False, "resid_pdrop": 0.1, "rope_scaling": None, "rope_theta": 10000.0,
            "tie_word_embeddings": False, "torch_dtype": "float16", "transformers_version": "4.37.0",
            "use_cache": True, "vocab_size": 61}, F16, 304)
    half = {**PLAIN, "partial_rotary_factor": 0.5}
    sizes = dict(vocab_size=61, hidden_size=36, intermediate_size=54, num_hidden_layers=2, num_attention_heads=3,
                 max_position_embeddings=128, layer_norm_eps=EPS, rope_parameters=half, bos_token_id=3, eos_token_id=3)
    out.hf("phi2-qknorm", PhiForCausalLM, PhiConfig(qk_layernorm=True, num_key_value_heads=1, **sizes), BF16, 305)
    # The converter assumes an MLP of four times the hidden size.
    out.converted("phi2-gguf", PhiForCausalLM,
                  PhiConfig(**{**sizes, "hidden_size": 27, "intermediate_size": 108,
                               "rope_parameters": {**PLAIN, "partial_rotary_factor": 0.45}}), 306)


def stablelm(out):
    # Resembles stablelm-2-1_6b.
    out.hf("stablelm-old-config", StableLmForCausalLM,
           {"architectures": ["StableLmForCausalLM"], "bos_token_id": 3, "eos_token_id": 3, "hidden_act": "silu",
            "hidden_size": 32, "initializer_range": 0.02, "intermediate_size": 46, "max_position_embeddings": 128,
            "model_type": "stablelm", "layer_norm_eps": 1e-05, "num_attention_heads": 2, "num_hidden_layers": 2,
            "num_key_value_heads": 2, "partial_rotary_factor": 0.25, "rope_theta": 10000,
            "tie_word_embeddings": False, "torch_dtype": "float16", "transformers_version": "4.38.0",
            "use_cache": True, "use_qkv_bias": True, "vocab_size": 61}, F16, 307)
    third = {**PLAIN, "partial_rotary_factor": 0.34}
    sizes = dict(vocab_size=61, hidden_size=36, intermediate_size=46, num_hidden_layers=2, num_attention_heads=3,
                 num_key_value_heads=1, max_position_embeddings=128, layer_norm_eps=EPS, rope_parameters=third,
                 bos_token_id=3, eos_token_id=3)
    out.hf("stablelm-qknorm", StableLmForCausalLM,
           StableLmConfig(qk_layernorm=True, use_qkv_bias=True, tie_word_embeddings=True, **sizes), BF16, 308)
    # Resembles the 12B model: one norm for attention and the feed-forward network.
    twelve = dict(qk_layernorm=True, use_parallel_residual=True, use_qkv_bias=False)
    out.hf("stablelm-parallel", StableLmForCausalLM, StableLmConfig(**twelve, **sizes), BF16, 309)
    out.converted("stablelm-gguf", StableLmForCausalLM, StableLmConfig(use_qkv_bias=True, **sizes), 310)
    out.converted("stablelm-parallel-gguf", StableLmForCausalLM, StableLmConfig(**twelve, **sizes), 311,
                  stored=stack_norms)


def stack_norms(file):
    """One tensor for the norms of all heads, as in the GGUF: the converter loses separate
    ones (its generator returns)."""
    tensors = safetensors.torch.load_file(file)
    for name in [name for name in tensors if name.endswith(".norms.0.weight")]:
        prefix = name.removesuffix("norms.0.weight")
        heads = [tensors.pop(key) for key in sorted(tensors) if key.startswith(prefix)]
        tensors[prefix + "weight"] = torch.stack(heads)
    safetensors.torch.save_file(tensors, file, {"format": "pt"})


def starcoder2(out):
    # Resembles starcoder2-3b, which does not state that its head is tied.
    out.hf("starcoder2-old-config", Starcoder2ForCausalLM,
           {"architectures": ["Starcoder2ForCausalLM"], "attention_dropout": 0.1, "residual_dropout": 0.1,
            "embedding_dropout": 0.1, "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "gelu_pytorch_tanh",
            "hidden_size": 42, "initializer_range": 0.018042, "intermediate_size": 70,
            "max_position_embeddings": 128, "mlp_type": "default", "model_type": "starcoder2",
            "norm_epsilon": 1e-05, "norm_type": "layer_norm", "num_attention_heads": 3, "num_hidden_layers": 2,
            "num_key_value_heads": 1, "rope_theta": 999999.4420358813, "sliding_window": 9,
            "torch_dtype": "bfloat16", "transformers_version": "4.37.0.dev0", "use_bias": True,
            "use_cache": True, "vocab_size": 67}, BF16, 312, matters=[{"sliding_window": None}])
    sizes = dict(vocab_size=61, hidden_size=36, intermediate_size=66, num_hidden_layers=2, num_attention_heads=3,
                 num_key_value_heads=1, max_position_embeddings=128, norm_epsilon=EPS, sliding_window=None,
                 rope_parameters=PLAIN, bos_token_id=0, eos_token_id=0)
    out.hf("starcoder2-nobias-untied", Starcoder2ForCausalLM,
           Starcoder2Config(use_bias=False, tie_word_embeddings=False, **sizes), BF16, 313)
    out.converted("starcoder2-gguf", Starcoder2ForCausalLM, Starcoder2Config(use_bias=True, **sizes), 314)


def cohere(out):
    # Resembles aya-expanse-8b.
    out.hf("cohere-old-config", CohereForCausalLM,
           {"architectures": ["CohereForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": 5, "eos_token_id": 6, "hidden_act": "silu", "hidden_size": 42,
            "initializer_range": 0.02, "intermediate_size": 54, "layer_norm_eps": 1e-05, "logit_scale": 0.6,
            "max_position_embeddings": 128, "model_type": "cohere", "num_attention_heads": 3,
            "num_hidden_layers": 2, "num_key_value_heads": 1, "pad_token_id": 0, "rope_theta": 10000,
            "torch_dtype": "float16", "transformers_version": "4.44.0", "use_cache": True,
            "use_qk_norm": False, "vocab_size": 67}, F16, 315, matters=[{"logit_scale": 1.0}])
    sizes = dict(vocab_size=61, hidden_size=40, intermediate_size=50, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2, logit_scale=0.6, max_position_embeddings=128, layer_norm_eps=EPS,
                 rope_parameters=PLAIN)
    # command-r-plus has these norms.
    out.hf("cohere-qknorm", CohereForCausalLM, CohereConfig(use_qk_norm=True, attention_bias=True, **sizes), BF16, 316)
    out.converted("cohere-gguf", CohereForCausalLM, CohereConfig(**sizes), 317)
    out.converted("cohere-qknorm-gguf", CohereForCausalLM, CohereConfig(use_qk_norm=True, **sizes), 318)


def cohere2(out):
    # Resembles c4ai-command-r7b-12-2024.
    out.hf("cohere2-old-config", Cohere2ForCausalLM,
           {"architectures": ["Cohere2ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": 5, "cache_implementation": "hybrid", "eos_token_id": 6, "head_dim": 10,
            "hidden_act": "silu", "hidden_size": 30, "initializer_range": 0.02, "intermediate_size": 30,
            "layer_norm_eps": 1e-05, "layer_switch": 4, "logit_scale": 0.6, "max_position_embeddings": 128,
            "model_type": "cohere2", "num_attention_heads": 3, "num_hidden_layers": 4, "num_key_value_heads": 1,
            "order_of_interleaved_layers": "local_attn_first", "pad_token_id": 0,
            "position_embedding_type": "rope_gptj", "rope_scaling": None, "rope_theta": 50000,
            "rotary_pct": 1.0, "sliding_window": 9, "sliding_window_pattern": 4, "torch_dtype": "bfloat16",
            "transformers_version": "4.48.0.dev0", "use_cache": True, "use_embedding_sharing": True,
            "use_gated_activation": True, "use_parallel_block": True, "use_parallel_embedding": True,
            "vocab_size": 61}, BF16, 319, matters=[{"sliding_window": 99}])
    sizes = dict(vocab_size=61, hidden_size=30, intermediate_size=33, num_attention_heads=3, num_key_value_heads=1,
                 logit_scale=0.6, max_position_embeddings=128, layer_norm_eps=EPS, sliding_window=9,
                 rope_parameters=PLAIN)
    out.hf("cohere2-layer-types", Cohere2ForCausalLM,
           Cohere2Config(num_hidden_layers=3, attention_bias=True,
                         layer_types=["sliding_attention", "full_attention", "sliding_attention"], **sizes),
           BF16, 320, matters=[{"layer_types": ["sliding_attention"] * 3}], unseen=["layers.1.self_attn.k_proj.bias"])
    out.converted("cohere2-gguf", Cohere2ForCausalLM, Cohere2Config(num_hidden_layers=5, rotary_pct=1.0, **sizes), 321,
                  matters=[{"sliding_window": 99}])


def nemotron(out):
    # Resembles Nemotron-Mini-4B-Instruct.
    out.hf("nemotron-old-config", NemotronForCausalLM,
           {"architectures": ["NemotronForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": 2, "eos_token_id": 3, "head_dim": 20, "hidden_act": "relu2", "hidden_size": 39,
            "initializer_range": 0.0134, "intermediate_size": 66, "max_position_embeddings": 128,
            "mlp_bias": False, "model_type": "nemotron", "norm_eps": 1e-05, "num_attention_heads": 3,
            "num_hidden_layers": 2, "num_key_value_heads": 1, "partial_rotary_factor": 0.5, "rope_theta": 10000.0,
            "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.32.1",
            "use_cache": True, "vocab_size": 61}, BF16, 322)
    sizes = dict(vocab_size=61, hidden_size=36, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                 head_dim=12, max_position_embeddings=128, norm_eps=EPS,
                 rope_parameters={**PLAIN, "partial_rotary_factor": 0.5})
    out.hf("nemotron-biases", NemotronForCausalLM,
           NemotronConfig(intermediate_size=75, attention_bias=True, mlp_bias=True, **sizes), BF16, 323)
    # The converter derives the rotated part from hidden_size / heads.
    out.converted("nemotron-gguf", NemotronForCausalLM,
                  NemotronConfig(intermediate_size=69, **{**sizes, "num_attention_heads": 3, "num_key_value_heads": 1}),
                  324)


FAMILIES = [gptneox, gpt2, phi, stablelm, starcoder2, cohere, cohere2, nemotron]

"""Writes the tiny random checkpoints of this folder, and what HF transformers answers to them.

  pip install torch transformers gguf && python generate.py [OUT]

Each folder NAME holds a checkpoint (config.json with safetensors, or model.gguf) and
  ids.json      token ids of one prompt
  expected.npy  f32 [ids][vocab]: logits of every position, HF, weights as f32, arithmetic in f32
Sizes are odd on purpose: prime to tiles, heads that are not hidden / heads wide, windows and original
contexts shorter than the prompt. Tests need none of these packages: the outputs are committed.
"""
import json
import pathlib
import shutil
import sys

import numpy as np
import safetensors.torch
import torch
import transformers
from transformers import (Gemma3ForCausalLM, Gemma3TextConfig, GPTNeoXConfig, GPTNeoXForCausalLM,
                          Lfm2Config, Lfm2ForCausalLM, LlamaConfig, LlamaForCausalLM, MistralConfig,
                          MistralForCausalLM)

from write_gguf import write_gemma3, write_gptneox, write_lfm2, write_llama

PROMPT = 45
LLAMA3 = {"rope_type": "llama3", "rope_theta": 5000.0, "factor": 4.0, "low_freq_factor": 1.0,
          "high_freq_factor": 3.0, "original_max_position_embeddings": 16}


def fill(model, seed):
    """Weights of a size that keeps logits near 1 and every path alive; norms and biases far from neutral."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if parameter.dim() == 2:
            parameter.data = noise * (1.5 / parameter.shape[1] ** 0.5)
        elif parameter.dim() == 3:  # a convolution of each channel: taps of one size, so that a swap shows
            parameter.data = noise * 0.7
        elif name.endswith("bias"):
            parameter.data = noise * 0.3
        elif "Gemma" in type(model).__name__:
            parameter.data = noise * 0.3  # stored without the 1
        else:
            parameter.data = 1 + noise * 0.3


def answer(folder, model, vocab, seed):
    ids = torch.randint(0, vocab, (1, PROMPT), generator=torch.Generator().manual_seed(seed))
    model.eval()
    with torch.no_grad():
        logits = model(ids).logits[0].float().numpy()
    np.save(folder / "expected.npy", logits)
    (folder / "ids.json").write_text(json.dumps(ids[0].tolist()) + "\n")


def hf(out, name, cls, config, dtype, seed, config_json=None, shard="1GB"):
    """Saves, loads what was saved as f32, and records its answer. `config_json` replaces the saved one."""
    folder = out / name
    shutil.rmtree(folder, ignore_errors=True)
    model = cls(config)
    fill(model, seed)
    model.to(dtype).save_pretrained(folder, max_shard_size=shard)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if config_json:
        (folder / "config.json").write_text(json.dumps(config_json, indent=2) + "\n")
    loaded = cls.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    answer(folder, loaded, config.vocab_size, seed)


def gguf(out, name, cls, config, write, seed):
    """`write` makes model.gguf and returns the state dict that its weights de-quantise to."""
    folder = out / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    config._attn_implementation = "eager"
    model = cls(config).float()
    fill(model, seed)
    state = write(folder / "model.gguf", config, model.state_dict(), seed)
    model.load_state_dict(state)
    answer(folder, model, config.vocab_size, seed)


def llamas(out):
    hf(out, "llama3-tied", LlamaForCausalLM,
       LlamaConfig(vocab_size=97, hidden_size=42, intermediate_size=86, num_hidden_layers=2,
                   num_attention_heads=6, num_key_value_heads=2, head_dim=18,
                   max_position_embeddings=128, rms_norm_eps=1e-5, tie_word_embeddings=True,
                   rope_parameters=LLAMA3), torch.float32, 1)
    hf(out, "llama-biases-sharded", LlamaForCausalLM,
       LlamaConfig(vocab_size=131, hidden_size=56, intermediate_size=75, num_hidden_layers=3,
                   num_attention_heads=4, num_key_value_heads=4, head_dim=22,
                   max_position_embeddings=256, rms_norm_eps=1e-6, tie_word_embeddings=False,
                   attention_bias=True, mlp_bias=True,
                   rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.5}),
       torch.bfloat16, 2, shard="60KB")
    # config.json as transformers before version 5 wrote it.
    hf(out, "llama-old-config", LlamaForCausalLM,
       LlamaConfig(vocab_size=89, hidden_size=48, intermediate_size=100, num_hidden_layers=2,
                   num_attention_heads=3, num_key_value_heads=1, max_position_embeddings=64,
                   rms_norm_eps=1e-5, rope_parameters=LLAMA3), torch.float16, 3,
       {"architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
        "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 48,
        "initializer_range": 0.02, "intermediate_size": 100, "max_position_embeddings": 64,
        "mlp_bias": False, "model_type": "llama", "num_attention_heads": 3,
        "num_hidden_layers": 2, "num_key_value_heads": 1, "pretraining_tp": 1,
        "rms_norm_eps": 1e-05,
        "rope_scaling": {k: v for k, v in LLAMA3.items() if k != "rope_theta"},
        "rope_theta": 5000.0, "tie_word_embeddings": False, "torch_dtype": "float16",
        "transformers_version": "4.45.0", "use_cache": True, "vocab_size": 89})
    hf(out, "mistral-window", MistralForCausalLM,
       MistralConfig(vocab_size=83, hidden_size=36, intermediate_size=70, num_hidden_layers=2,
                     num_attention_heads=4, num_key_value_heads=2, head_dim=14,
                     max_position_embeddings=128, sliding_window=11, tie_word_embeddings=False),
       torch.bfloat16, 4)
    gguf(out, "llama-gguf-mixed", LlamaForCausalLM,
         LlamaConfig(vocab_size=97, hidden_size=256, intermediate_size=96, num_hidden_layers=2,
                     num_attention_heads=4, num_key_value_heads=2, head_dim=24,
                     max_position_embeddings=128, rms_norm_eps=1e-5, tie_word_embeddings=False,
                     attention_bias=True, rope_parameters=LLAMA3), write_llama, 5)


def gemmas(out):
    windows = ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]
    hf(out, "gemma3-layer-types", Gemma3ForCausalLM,
       Gemma3TextConfig(vocab_size=101, hidden_size=40, intermediate_size=72, num_hidden_layers=4,
                        num_attention_heads=4, num_key_value_heads=1, head_dim=26,
                        query_pre_attn_scalar=20, sliding_window=9, layer_types=windows,
                        max_position_embeddings=128, final_logit_softcapping=20.0,
                        attn_logit_softcapping=30.0, rope_parameters={
                            "full_attention": {"rope_type": "linear", "factor": 8.0,
                                               "rope_theta": 1000000.0},
                            "sliding_attention": {"rope_type": "default", "rope_theta": 9000.0}}),
       torch.bfloat16, 6)
    hf(out, "gemma3-old-config", Gemma3ForCausalLM,
       Gemma3TextConfig(vocab_size=79, hidden_size=33, intermediate_size=60, num_hidden_layers=3,
                        num_attention_heads=3, num_key_value_heads=3, head_dim=10,
                        query_pre_attn_scalar=10, sliding_window=7, attention_bias=True,
                        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
                        max_position_embeddings=96, tie_word_embeddings=False, rope_parameters={
                            "full_attention": {"rope_type": "default", "rope_theta": 50000.0},
                            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}),
       torch.float32, 7,
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
        "vocab_size": 79})
    # A GGUF has no pattern: every sixth layer sees all.
    gguf(out, "gemma3-gguf-mixed", Gemma3ForCausalLM,
         Gemma3TextConfig(vocab_size=103, hidden_size=64, intermediate_size=96,
                          num_hidden_layers=7, num_attention_heads=2, num_key_value_heads=1,
                          head_dim=32, query_pre_attn_scalar=32, sliding_window=9,
                          max_position_embeddings=128, rope_parameters={
                              "full_attention": {"rope_type": "linear", "factor": 8.0,
                                                 "rope_theta": 1000000.0},
                              "sliding_attention": {"rope_type": "default",
                                                    "rope_theta": 10000.0}}),
         write_gemma3, 8)


def gptneoxes(out):
    # As Pythia's files are: config.json of transformers 4, masks and frequencies beside the weights.
    hf(out, "gptneox-old-config", GPTNeoXForCausalLM,
       GPTNeoXConfig(vocab_size=107, hidden_size=72, intermediate_size=100, num_hidden_layers=2,
                     num_attention_heads=3, max_position_embeddings=128, layer_norm_eps=1e-5,
                     hidden_act="gelu", rope_parameters={
                         "rope_type": "default", "rope_theta": 7000.0, "partial_rotary_factor": 0.25}),
       torch.float16, 9,
       {"architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "classifier_dropout": 0.1,
        "eos_token_id": 0, "hidden_act": "gelu", "hidden_size": 72, "initializer_range": 0.02,
        "intermediate_size": 100, "layer_norm_eps": 1e-05, "max_position_embeddings": 128,
        "model_type": "gpt_neox", "num_attention_heads": 3, "num_hidden_layers": 2,
        "rope_scaling": None, "rotary_emb_base": 7000, "rotary_pct": 0.25,
        "tie_word_embeddings": False, "torch_dtype": "float16", "transformers_version": "4.24.0",
        "use_cache": True, "use_parallel_residual": True, "vocab_size": 107})
    add_masks(out / "gptneox-old-config" / "model.safetensors", 2, 128, 3)
    # As transformers 5 writes them; the residual in turns, no biases of attention, a tied head.
    hf(out, "gptneox-sequential-tied", GPTNeoXForCausalLM,
       GPTNeoXConfig(vocab_size=89, hidden_size=56, intermediate_size=75, num_hidden_layers=2,
                     num_attention_heads=4, max_position_embeddings=128, layer_norm_eps=2e-5,
                     hidden_act="gelu_fast", attention_bias=False, use_parallel_residual=False,
                     tie_word_embeddings=True, rope_parameters={
                         "rope_type": "linear", "rope_theta": 10000.0, "factor": 2.5,
                         "partial_rotary_factor": 1.0}), torch.bfloat16, 10)
    gguf(out, "gptneox-gguf-mixed", GPTNeoXForCausalLM,
         GPTNeoXConfig(vocab_size=97, hidden_size=256, intermediate_size=96, num_hidden_layers=2,
                       num_attention_heads=4, max_position_embeddings=128, layer_norm_eps=1e-5,
                       hidden_act="gelu", rope_parameters={
                           "rope_type": "default", "rope_theta": 10000.0,
                           "partial_rotary_factor": 0.25}), write_gptneox, 11)


def add_masks(file, layers, context, frequencies):
    """What files of transformers before 4.40 hold beside the weights of each layer."""
    tensors = safetensors.torch.load_file(file)
    for i in range(layers):
        attention = f"gpt_neox.layers.{i}.attention."
        tensors[attention + "bias"] = torch.tril(torch.ones(context, context, dtype=torch.bool))[None, None]
        tensors[attention + "masked_bias"] = torch.tensor(-1e4)
        tensors[attention + "rotary_emb.inv_freq"] = torch.ones(frequencies)
    safetensors.torch.save_file(tensors, file, {"format": "pt"})


def lfm2s(out):
    # As LiquidAI's first files are: keys of their own, a width of the MLP that is computed.
    hf(out, "lfm2-old-config", Lfm2ForCausalLM,
       Lfm2Config(vocab_size=109, hidden_size=72, intermediate_size=150, num_hidden_layers=5,
                  num_attention_heads=6, num_key_value_heads=2, max_position_embeddings=128,
                  norm_eps=1e-5, full_attn_idxs=[2, 4], block_multiple_of=8,
                  block_ffn_dim_multiplier=0.9, pad_token_id=0,
                  rope_parameters={"rope_type": "default", "rope_theta": 50000.0}), torch.bfloat16, 12,
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
        "vocab_size": 109})
    # As transformers 5 writes them; biases, a longer convolution, a head of its own.
    hf(out, "lfm2-biases-untied", Lfm2ForCausalLM,
       Lfm2Config(vocab_size=83, hidden_size=42, intermediate_size=75, num_hidden_layers=4,
                  num_attention_heads=3, num_key_value_heads=1, max_position_embeddings=128,
                  norm_eps=2e-5, layer_types=["conv", "full_attention", "conv", "conv"],
                  block_auto_adjust_ff_dim=False, conv_bias=True, conv_L_cache=4,
                  tie_word_embeddings=False, pad_token_id=0,
                  rope_parameters={"rope_type": "linear", "rope_theta": 1000000.0, "factor": 2.5}),
       torch.float32, 13)
    gguf(out, "lfm2-gguf-mixed", Lfm2ForCausalLM,
         Lfm2Config(vocab_size=97, hidden_size=256, intermediate_size=96, num_hidden_layers=3,
                    num_attention_heads=8, num_key_value_heads=2, max_position_embeddings=128,
                    norm_eps=1e-5, layer_types=["conv", "full_attention", "conv"],
                    block_auto_adjust_ff_dim=False, pad_token_id=0, rope_parameters={
                        "rope_type": "default", "rope_theta": 1000000.0}), write_lfm2, 14)


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    target = target if target.is_dir() else target.parent
    torch.set_num_threads(1)
    print("torch", torch.__version__, "transformers", transformers.__version__)
    llamas(target)
    gemmas(target)
    gptneoxes(target)
    lfm2s(target)

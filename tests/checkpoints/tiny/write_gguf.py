"""Writes GGUF files of mixed formats for generate.py: takes a state dict and returns the state dict of the file's
dequantised weights. The gguf package does both directions, but cannot quantise to K-quants: those blocks have
random codes with plausible scales."""
import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Q

LLAMA = [("attn_norm", "input_layernorm"), ("attn_q", "self_attn.q_proj"),
         ("attn_k", "self_attn.k_proj"), ("attn_v", "self_attn.v_proj"),
         ("attn_output", "self_attn.o_proj"), ("ffn_norm", "post_attention_layernorm"),
         ("ffn_gate", "mlp.gate_proj"), ("ffn_up", "mlp.up_proj"), ("ffn_down", "mlp.down_proj")]
GEMMA3 = [("attn_norm", "input_layernorm"), ("attn_q", "self_attn.q_proj"),
          ("attn_k", "self_attn.k_proj"), ("attn_v", "self_attn.v_proj"),
          ("attn_q_norm", "self_attn.q_norm"), ("attn_k_norm", "self_attn.k_norm"),
          ("attn_output", "self_attn.o_proj"), ("post_attention_norm", "post_attention_layernorm"),
          ("ffn_norm", "pre_feedforward_layernorm"), ("ffn_gate", "mlp.gate_proj"),
          ("ffn_up", "mlp.up_proj"), ("ffn_down", "mlp.down_proj"),
          ("post_ffw_norm", "post_feedforward_layernorm")]
GPTNEOX = [("attn_norm", "input_layernorm"), ("attn_qkv", "attention.query_key_value"),
           ("attn_output", "attention.dense"), ("ffn_norm", "post_attention_layernorm"),
           ("ffn_up", "mlp.dense_h_to_4h"), ("ffn_down", "mlp.dense_4h_to_h")]
LFM2 = {"conv": [("shortconv.in_proj", "conv.in_proj"), ("shortconv.conv", "conv.conv"),
                 ("shortconv.out_proj", "conv.out_proj")],
        "full_attention": [("attn_q", "self_attn.q_proj"), ("attn_k", "self_attn.k_proj"),
                           ("attn_v", "self_attn.v_proj"), ("attn_q_norm", "self_attn.q_layernorm"),
                           ("attn_k_norm", "self_attn.k_layernorm"),
                           ("attn_output", "self_attn.out_proj")]}
LFM2_BOTH = [("attn_norm", "operator_norm"), ("ffn_norm", "ffn_norm"), ("ffn_gate", "feed_forward.w1"),
             ("ffn_up", "feed_forward.w3"), ("ffn_down", "feed_forward.w2")]
FLOATS = {Q.F32: np.float32, Q.F16: np.float16}


def random_k_quant(kind, shape, random):
    """Blocks of random codes; d and dmin are such that weights are near 1 / sqrt(K)."""
    rows, columns = shape
    block, size = gguf.GGML_QUANT_SIZES[kind]
    data = random.integers(0, 256, (rows * columns // block, size), dtype=np.uint8)
    unit = np.float16(1.5 / columns ** 0.5 / {Q.Q4_K: 300, Q.Q5_K: 600, Q.Q6_K: 1500}[kind])
    scales = (unit * (0.5 + random.random(len(data)))).astype(np.float16).view(np.uint8).reshape(-1, 2)
    if kind == Q.Q6_K:
        data[:, -2:] = scales
    else:
        data[:, 0:2] = scales
        data[:, 2:4] = (scales.view(np.float16) * np.float16(8)).view(np.uint8)
    return data.reshape(rows, -1)


class Writer:
    def __init__(self, path, family, state, seed):
        self.file = gguf.GGUFWriter(path, family)
        self.state, self.random = state, np.random.default_rng(seed)
        self.stored = {}

    def add(self, name, source, kind=Q.F32, forward=lambda w: w, back=lambda w: w):
        """`forward` converts to the file's layout; `back` converts from it, for the returned state dict."""
        values = forward(self.state[source].float().numpy())
        if kind in (Q.Q4_K, Q.Q5_K, Q.Q6_K):
            data = random_k_quant(kind, values.shape, self.random)
        elif kind in FLOATS:
            data = values.astype(FLOATS[kind])
        else:
            data = gguf.quants.quantize(values, kind)
        numbers = data.astype(np.float32) if kind in FLOATS else gguf.quants.dequantize(data, kind)
        self.file.add_tensor(name, data, raw_dtype=kind)
        self.stored[source] = torch.from_numpy(np.ascontiguousarray(back(numbers.reshape(values.shape))))

    def close(self):
        self.file.write_header_to_file()
        self.file.write_kv_data_to_file()
        self.file.write_tensors_to_file()
        self.file.close()
        return self.stored


def common_keys(file, config):
    file.add_name("tiny")
    file.add_block_count(config.num_hidden_layers)
    file.add_context_length(config.max_position_embeddings)
    file.add_embedding_length(config.hidden_size)
    file.add_feed_forward_length(config.intermediate_size)
    file.add_head_count(config.num_attention_heads)
    file.add_head_count_kv(config.num_key_value_heads)
    file.add_key_length(config.head_dim)
    file.add_value_length(config.head_dim)
    file.add_layer_norm_rms_eps(config.rms_norm_eps)


def interleave(heads):
    """Reorders rows of each head from (i, i + half) to (2i, 2i + 1), and back: the two styles of rope."""
    def forward(w):
        rest = w.shape[1:]
        return w.reshape(heads, 2, -1, *rest).swapaxes(1, 2).reshape(w.shape)

    def back(w):
        rest = w.shape[1:]
        return w.reshape(heads, -1, 2, *rest).swapaxes(1, 2).reshape(w.shape)
    return {"forward": forward, "back": back}


def llama3_divisors(rope, head_dim):
    """The contents of rope_freqs.weight as convert_hf_to_gguf.py writes it."""
    frequency = 1 / rope["rope_theta"] ** (np.arange(0, head_dim, 2, dtype=np.float32) / head_dim)
    wave, context = 2 * np.pi / frequency, rope["original_max_position_embeddings"]
    low, high, factor = rope["low_freq_factor"], rope["high_freq_factor"], rope["factor"]
    smooth = (context / wave - low) / (high - low)
    blended = 1 / ((1 - smooth) / factor + smooth)
    return np.where(wave > context / low, factor, np.where(wave < context / high, 1, blended)).astype(np.float32)


def write_llama(path, config, state, seed):
    w = Writer(path, "llama", state, seed)
    common_keys(w.file, config)
    w.file.add_vocab_size(config.vocab_size)
    w.file.add_rope_freq_base(config.rope_parameters["rope_theta"])
    w.file.add_rope_dimension_count(config.head_dim)
    w.file.add_tensor("rope_freqs.weight", llama3_divisors(config.rope_parameters, config.head_dim))
    w.add("token_embd.weight", "model.embed_tokens.weight", Q.Q6_K)
    w.add("output_norm.weight", "model.norm.weight")
    w.add("output.weight", "lm_head.weight", Q.Q5_K)
    mixes = [{"attn_q": Q.Q4_K, "attn_k": Q.Q5_K, "attn_v": Q.Q6_K, "attn_output": Q.Q8_0,
              "ffn_gate": Q.Q4_K, "ffn_up": Q.Q4_K, "ffn_down": Q.Q5_1},
             {"attn_q": Q.Q4_0, "attn_k": Q.Q4_1, "attn_v": Q.Q5_0, "attn_output": Q.Q5_0,
              "ffn_gate": Q.Q5_K, "ffn_up": Q.Q6_K, "ffn_down": Q.Q4_0}]
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    for i in range(config.num_hidden_layers):
        for ours, theirs in LLAMA:
            arrange = interleave(heads[ours]) if ours in heads else {}
            source = f"model.layers.{i}.{theirs}"
            w.add(f"blk.{i}.{ours}.weight", source + ".weight", mixes[i % 2].get(ours, Q.F32), **arrange)
            if source + ".bias" in state:
                w.add(f"blk.{i}.{ours}.bias", source + ".bias", **arrange)
    return w.close()


def write_gemma3(path, config, state, seed):
    w = Writer(path, "gemma3", state, seed)
    common_keys(w.file, config)
    full = config.rope_parameters["full_attention"]
    w.file.add_rope_freq_base(full["rope_theta"])
    w.file.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    w.file.add_rope_scaling_factor(full["factor"])
    w.file.add_sliding_window(config.sliding_window)
    plus_one = {"forward": lambda v: v + 1, "back": lambda v: v - 1}
    w.add("token_embd.weight", "model.embed_tokens.weight", Q.Q8_0)
    w.add("output_norm.weight", "model.norm.weight", **plus_one)
    mixes = [{"attn_v": Q.Q8_0, "ffn_down": Q.Q5_1}, {"attn_v": Q.Q5_0, "ffn_down": Q.Q4_1}]
    for i in range(config.num_hidden_layers):
        for ours, theirs in GEMMA3:
            norm = ours.endswith("norm")
            kind = Q.F32 if norm else mixes[i in (1, 2, 5)].get(ours, Q.Q5_0)
            if ours == "attn_q":
                kind = Q.F16
            elif ours == "attn_k":
                kind = Q.BF16
            w.add(f"blk.{i}.{ours}.weight", f"model.layers.{i}.{theirs}.weight", kind,
                  **(plus_one if norm else {}))
    stored = w.close()
    stored["lm_head.weight"] = stored["model.embed_tokens.weight"]
    return stored


def unpack_heads(heads):
    """Reorders rows from [head][q, k, v] to [q, k, v][head], as convert_hf_to_gguf.py writes them, and back."""
    def turn(outer, inner):
        return lambda w: w.reshape(outer, inner, -1, *w.shape[1:]).swapaxes(0, 1).reshape(w.shape)
    return {"forward": turn(heads, 3), "back": turn(3, heads)}


def write_gptneox(path, config, state, seed):
    w = Writer(path, "gptneox", state, seed)
    w.file.add_name("tiny")
    w.file.add_context_length(config.max_position_embeddings)
    w.file.add_embedding_length(config.hidden_size)
    w.file.add_block_count(config.num_hidden_layers)
    w.file.add_feed_forward_length(config.intermediate_size)
    size = config.hidden_size // config.num_attention_heads
    w.file.add_rope_dimension_count(int(config.rope_parameters["partial_rotary_factor"] * size))
    w.file.add_head_count(config.num_attention_heads)
    w.file.add_parallel_residual(config.use_parallel_residual)
    w.file.add_layer_norm_eps(config.layer_norm_eps)
    w.add("token_embd.weight", "gpt_neox.embed_in.weight", Q.Q8_0)
    for part in (".weight", ".bias"):
        w.add("output_norm" + part, "gpt_neox.final_layer_norm" + part)
    w.add("output.weight", "lm_head.weight", Q.Q6_K)
    mixes = [{"attn_qkv": Q.Q4_K, "attn_output": Q.Q5_1, "ffn_up": Q.Q4_0, "ffn_down": Q.Q8_0},
             {"attn_qkv": Q.Q6_K, "attn_output": Q.Q4_1, "ffn_up": Q.Q5_K, "ffn_down": Q.Q5_0}]
    for i in range(config.num_hidden_layers):
        for ours, theirs in GPTNEOX:
            arrange = unpack_heads(config.num_attention_heads) if ours == "attn_qkv" else {}
            source = f"gpt_neox.layers.{i}.{theirs}"
            w.add(f"blk.{i}.{ours}.weight", source + ".weight", mixes[i].get(ours, Q.F32), **arrange)
            w.add(f"blk.{i}.{ours}.bias", source + ".bias", **arrange)
    return w.close()


def write_lfm2(path, config, state, seed):
    w = Writer(path, "lfm2", state, seed)
    attends = [kind == "full_attention" for kind in config.layer_types]
    w.file.add_name("tiny")
    w.file.add_block_count(config.num_hidden_layers)
    w.file.add_context_length(config.max_position_embeddings)
    w.file.add_embedding_length(config.hidden_size)
    w.file.add_feed_forward_length(config.intermediate_size)
    w.file.add_head_count(config.num_attention_heads)
    w.file.add_head_count_kv([config.num_key_value_heads if attention else 0 for attention in attends])
    w.file.add_rope_freq_base(config.rope_parameters["rope_theta"])
    w.file.add_layer_norm_rms_eps(config.norm_eps)
    w.file.add_vocab_size(config.vocab_size)
    w.file.add_shortconv_l_cache(config.conv_L_cache)
    w.add("token_embd.weight", "model.embed_tokens.weight", Q.Q6_K)
    w.add("token_embd_norm.weight", "model.embedding_norm.weight")  # this is the final norm, despite its name
    mixes = [{"shortconv.in_proj": Q.Q4_K, "shortconv.out_proj": Q.Q5_1, "ffn_gate": Q.Q4_0, "ffn_up": Q.Q4_0,
              "ffn_down": Q.Q8_0},
             {"attn_q": Q.Q4_K, "attn_k": Q.Q4_1, "attn_v": Q.Q6_K, "attn_output": Q.Q5_0, "ffn_gate": Q.Q5_K,
              "ffn_up": Q.Q6_K, "ffn_down": Q.Q5_0},
             {"shortconv.in_proj": Q.Q6_K, "shortconv.out_proj": Q.F16, "ffn_gate": Q.Q8_0, "ffn_up": Q.Q8_0,
              "ffn_down": Q.Q4_1}]
    for i, kind in enumerate(config.layer_types):
        for ours, theirs in LFM2[kind] + LFM2_BOTH:
            arrange = {}
            if ours == "shortconv.conv":  # [channels][1][taps] in safetensors
                arrange = {"forward": lambda v: v[:, 0], "back": lambda v: v[:, None]}
            w.add(f"blk.{i}.{ours}.weight", f"model.layers.{i}.{theirs}.weight", mixes[i].get(ours, Q.F32), **arrange)
    stored = w.close()
    stored["lm_head.weight"] = stored["model.embed_tokens.weight"]
    return stored

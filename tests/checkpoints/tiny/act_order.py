"""Experts and a head whose columns are sorted by importance (act-order), as GPTQ and compressed-tensors store
them."""
import torch
from transformers import MixtralForCausalLM, Qwen3MoeForCausalLM

GROUP = 32
GPTQ = {"bits": 4, "checkpoint_format": "gptq", "damp_percent": 0.01, "desc_act": True, "group_size": GROUP,
        "lm_head": True, "quant_method": "gptq", "sym": False, "true_sequential": True}
CT = {"config_groups": {"group_0": {"input_activations": None, "output_activations": None, "targets": ["Linear"],
                                    "weights": {"actorder": "group", "dynamic": False, "group_size": GROUP, "num_bits": 4,
                                                "strategy": "group", "symmetric": True, "type": "int"}}},
      "format": "pack-quantized", "ignore": ["lm_head", "re:.*mlp.gate$"], "quant_method": "compressed-tensors",
      "quantization_status": "compressed"}


def mixtral_gptq(out):
    """Layer 0: gate and up of an expert share a permutation. Layer 1: each has its own, and
    expert 2 has none for `down`."""
    config = {"architectures": ["MixtralForCausalLM"], "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 64,
              "intermediate_size": 64, "max_position_embeddings": 128, "model_type": "mixtral", "num_attention_heads": 2,
              "num_experts_per_tok": 2, "num_hidden_layers": 2, "num_key_value_heads": 1, "num_local_experts": 3,
              "quantization_config": GPTQ, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": None,
              "tie_word_embeddings": False, "torch_dtype": "float16", "vocab_size": 64}

    def order(name, columns):
        if name.endswith("layers.1.block_sparse_moe.experts.2.w2"):
            return None
        if "layers.0" in name and name.endswith((".w1", ".w3")):
            name = name[:-1]
        return shuffled(name, columns)

    def pack(tensors):
        names = [name for name in tensors if tensors[name].dim() == 2 and "embed" not in name and "gate.w" not in name]
        return in_memory({name: pack_gptq(tensors, name, order) for name in names}, "block_sparse_moe", ("w1", "w3", "w2"))

    out.packed("mixtral-gptq-act-order", MixtralForCausalLM, config, torch.float16, 491, pack)


def qwen3moe_ct(out):
    """All experts share a permutation, as when each has seen all tokens."""
    config = {"architectures": ["Qwen3MoeForCausalLM"], "attention_bias": False, "decoder_sparse_step": 1, "eos_token_id": 2,
              "head_dim": 16, "hidden_act": "silu", "hidden_size": 64, "intermediate_size": 64,
              "max_position_embeddings": 128, "max_window_layers": 2, "mlp_only_layers": [], "model_type": "qwen3_moe",
              "moe_intermediate_size": 64, "norm_topk_prob": True, "num_attention_heads": 2, "num_experts": 4,
              "num_experts_per_tok": 2, "num_hidden_layers": 1, "num_key_value_heads": 1, "quantization_config": CT,
              "rms_norm_eps": 1e-05, "rope_scaling": None, "rope_theta": 10000.0, "sliding_window": None,
              "tie_word_embeddings": False, "torch_dtype": "bfloat16", "use_sliding_window": False, "vocab_size": 61}

    def order(name, columns):
        return shuffled("inner" if name.endswith("down_proj") else "outer", columns)

    def pack(tensors):
        names = [name for name in tensors if name.endswith("_proj.weight")]
        return in_memory({name: pack_ct(tensors, name, order) for name in names}, "mlp",
                         ("gate_proj", "up_proj", "down_proj"))

    out.packed("qwen3moe-ct-act-order", Qwen3MoeForCausalLM, config, torch.bfloat16, 502, pack)


def shuffled(name, columns):
    """The group of each column."""
    generator = torch.Generator().manual_seed(sum(ord(letter) * (i + 1) for i, letter in enumerate(name)))
    return torch.randperm(columns, generator=generator) // GROUP


def words(codes, axis):
    """Packs eight 4-bit codes into a word along an axis, the first in the lowest bits."""
    codes = codes.movedim(axis, -1).reshape(*codes.movedim(axis, -1).shape[:-1], -1, 8)
    packed = (codes.long() << torch.arange(0, 32, 4)).sum(-1)
    return packed.to(torch.int32).movedim(-1, axis).contiguous()


def in_groups(matrix, order):
    """The matrix as [rows][groups][GROUP]."""
    return matrix.float()[:, torch.argsort(order, stable=True)].reshape(matrix.shape[0], -1, GROUP)


def pack_gptq(tensors, name, order_of):
    """Returns the numbers that the stored tensors represent."""
    matrix, name = tensors.pop(name), name.removesuffix(".weight")
    order = order_of(name, matrix.shape[1])
    if order is None:
        order = torch.arange(matrix.shape[1]) // GROUP
    groups = in_groups(matrix, order)
    least, most = groups.amin(-1), groups.amax(-1)
    scales = ((most - least) / 15).half()
    zeros = (-least / scales.float()).round().clamp(1, 15)
    codes = ((matrix.float() / scales.float()[:, order]).round() + zeros[:, order]).clamp(0, 15)
    tensors[name + ".qweight"] = words(codes.T, 0)
    tensors[name + ".qzeros"] = words(zeros.T - 1, 1)
    tensors[name + ".scales"] = scales.T.contiguous()
    tensors[name + ".g_idx"] = order.to(torch.int32)
    return scales.float()[:, order] * (codes - zeros[:, order])


def pack_ct(tensors, name, order_of):
    matrix, name = tensors.pop(name), name.removesuffix(".weight")
    order = order_of(name, matrix.shape[1])
    scales = (in_groups(matrix, order).abs().amax(-1) / 7).bfloat16()
    codes = (matrix.float() / scales.float()[:, order]).round().clamp(-8, 7)
    tensors[name + ".weight_packed"] = words(codes + 8, 1)
    tensors[name + ".weight_shape"] = torch.tensor(matrix.shape)
    tensors[name + ".weight_scale"] = scales
    tensors[name + ".weight_g_idx"] = order.to(torch.int32)
    return scales.float()[:, order] * codes


def in_memory(numbers, owner, parts):
    """Experts as transformers holds them in memory: stacked, gate above up. The names are those of a checkpoint."""
    experts = {name for name in numbers if f".{owner}.experts." in name}
    values = {name: value for name, value in numbers.items() if name not in experts}
    for layer in sorted({name.split(".experts.")[0] for name in experts}):
        count = len([name for name in experts if name.startswith(layer)]) // 3
        of = lambda part: [numbers[f"{layer}.experts.{expert}.{part}.weight"] for expert in range(count)]
        gate, up, down = map(of, parts)
        memory = layer.removesuffix(owner) + "mlp.experts."
        values[memory + "gate_up_proj"] = torch.stack([torch.cat(pair) for pair in zip(gate, up)])
        values[memory + "down_proj"] = torch.stack(down)
    return values


FAMILIES = [mixtral_gptq, qwen3moe_ct]

"""The models of the bit list: the tiny checkpoints of tests/checkpoints, shapes with
weights generated from a seed, GGUFs with random blocks of one format each, and the real
checkpoints if they are present. The bytes are the same every time.
"""
import json
import pathlib
import random
import struct
import sys
from dataclasses import dataclass

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "tools"))

import make_tiny as gguf  # noqa: E402


@dataclass(frozen=True)
class Model:
    """`make` returns the path of the checkpoint, or None if this machine does not have it."""
    name: str
    vocabulary: int
    positions: int  # positions that the prompt of the logits takes, including the answer's ids
    make: callable
    compile: tuple = ()  # options that the model always needs


# ---------------------------------------------------------------- the tiny checkpoints

def tiny():
    for folder in sorted(path for path in (TESTS / "checkpoints" / "tiny").iterdir() if path.is_dir()):
        ids = json.loads((folder / "ids.json").read_text())
        file = folder / "model.gguf"
        path = file if file.exists() else folder
        positions = 64 if folder.name == "llama-old-config" else 96 if folder.name == "gemma3-old-config" else 128
        yield Model(folder.name, max(ids) + 1, positions, lambda work, path=path: path)


# ---------------------------------------------------------------- shapes

LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16", "hidden_size": 256, "intermediate_size": 384,
         "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 331,
         "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "attention_bias": False,
         "mlp_bias": False, "tie_word_embeddings": True, "bos_token_id": 1, "eos_token_id": 2}
# Heads whose total width exceeds the hidden size, a single KV head, and a width that no tile divides.
ODD = {**LLAMA, "hidden_size": 160, "intermediate_size": 352, "num_attention_heads": 5, "num_key_value_heads": 1, "head_dim": 48,
       "tie_word_embeddings": False}
MISTRAL = {**LLAMA, "architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 70}
GEMMA3 = {"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "dtype": "bfloat16", "hidden_size": 256,
          "intermediate_size": 384, "num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 128,
          "vocab_size": 331, "max_position_embeddings": 512, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
          "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 128, "sliding_window": 70, "attention_bias": False,
          "layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "bos_token_id": 2, "eos_token_id": 1}


def shape(name, config, kind="random"):
    def make(work):
        path = work / f"{name}.json"
        path.write_text(json.dumps(config))
        return path
    return Model(name, config["vocab_size"], 340, make, ("--weights", kind, "--seed", "11"))


# ---------------------------------------------------------------- GGUFs of one format

# Per format: GGUF's number, weights per block, bytes per block, largest code, offset of the f16 scale. Formats with
# a minimum also have its offset, and the ratio of the minimum to the scale that gives the weights a mean of 0.
BLOCKS = {"q4_0": (2, 32, 18, 8, 0), "q4_1": (3, 32, 20, 16, 0, 2, -7.5), "q5_0": (6, 32, 22, 16, 0), "q5_1": (7, 32, 24, 32, 0, 2, -15.5),
          "q8_0": (8, 32, 34, 127, 0), "q4_k": (12, 256, 144, 900, 0, 2, 7.6), "q5_k": (13, 256, 176, 1800, 0, 2, 15.7),
          "q6_k": (14, 256, 210, 4000, 208), "q2_k": (10, 256, 84, 24, 80, 82, 1.5), "q3_k": (11, 256, 110, 128, 108),
          "iq4_nl": (20, 32, 18, 127, 0), "iq4_xs": (23, 256, 136, 4064, 0)}
HIDDEN, FEED_FORWARD, VOCABULARY = 256, 512, 331


def blocks(kind, count, source):
    _, _, size, largest, at, *minimum = BLOCKS[kind]
    data = bytearray(source.randbytes(count * size))
    for block in range(0, count * size, size):
        scale = 0.2 / largest * source.uniform(0.5, 1.5)
        struct.pack_into("<e", data, block + at, scale)
        if minimum:
            struct.pack_into("<e", data, block + minimum[0], scale * minimum[1])
    return bytes(data)


def of_one_format(kind):
    number, per_block = BLOCKS[kind][:2]

    def make(work):
        entries, _ = gguf.metadata(2, False, False)
        sizes = {b"llama.context_length": 512, b"llama.embedding_length": HIDDEN, b"llama.feed_forward_length": FEED_FORWARD,
                 b"llama.rope.dimension_count": HIDDEN // gguf.HEADS, b"llama.vocab_size": VOCABULARY}
        # A U32 entry ends with its value; its key follows eight bytes of length.
        entries = [entry[:-4] + struct.pack("<I", next((size for key, size in sizes.items() if entry[8:8 + len(key)] == key)))
                   if any(entry[8:8 + len(key)] == key for key in sizes) else entry for entry in entries]
        source, infos, data, count = random.Random(number), b"", b"", 0
        for name, extents in tensors():
            infos += gguf.text(name) + struct.pack("<I", len(extents)) + struct.pack(f"<{len(extents)}Q", *reversed(extents))
            infos += struct.pack("<IQ", number if len(extents) == 2 else 0, len(data))
            if len(extents) == 2:
                data += blocks(kind, extents[0] * extents[1] // per_block, source)
            else:
                data += struct.pack(f"<{extents[0]}f", *(source.uniform(0.8, 1.2) for _ in range(extents[0])))
            data += b"\0" * (-len(data) % 32)
            count += 1
        head = b"GGUF" + struct.pack("<IQQ", 3, count, len(entries)) + b"".join(entries) + infos
        path = work / f"{kind}.gguf"
        path.write_bytes(head + b"\0" * (-len(head) % 32) + data)
        return path
    return Model(f"gguf-{kind}", VOCABULARY, 340, make)


def tensors():
    """(name, shape, outermost dimension first): make_tiny's names, at sizes that every format's block size
    divides."""
    head = HIDDEN // gguf.HEADS
    yield "token_embd.weight", (VOCABULARY, HIDDEN)
    yield "output_norm.weight", (HIDDEN,)
    for layer in range(2):
        block = f"blk.{layer}."
        yield block + "attn_norm.weight", (HIDDEN,)
        yield block + "attn_q.weight", (HIDDEN, HIDDEN)
        yield block + "attn_k.weight", (gguf.KV_HEADS * head, HIDDEN)
        yield block + "attn_v.weight", (gguf.KV_HEADS * head, HIDDEN)
        yield block + "attn_output.weight", (HIDDEN, HIDDEN)
        yield block + "ffn_norm.weight", (HIDDEN,)
        yield block + "ffn_gate.weight", (FEED_FORWARD, HIDDEN)
        yield block + "ffn_up.weight", (FEED_FORWARD, HIDDEN)
        yield block + "ffn_down.weight", (HIDDEN, FEED_FORWARD)


# ---------------------------------------------------------------- real ones

def real(name, vocabulary, positions, checkpoints):
    path = checkpoints / f"{name}.gguf"
    return Model(name, vocabulary, positions, lambda work: path.resolve() if path.exists() else None)


def models(checkpoints):
    """{name: Model}"""
    made = [*tiny(), shape("llama", LLAMA), shape("llama-odd", ODD), shape("mistral", MISTRAL), shape("gemma3-shape", GEMMA3),
            shape("llama-seed", LLAMA, "seed"), *(of_one_format(kind) for kind in BLOCKS),
            real("smollm2", 49152, 300, checkpoints),
            real("gemma3", 262144, 150, checkpoints)]
    return {model.name: model for model in made}

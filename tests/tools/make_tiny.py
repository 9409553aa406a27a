"""Writes a tiny random checkpoint with a tokenizer and a chat template, which the command line's tests compile.
Standard library only; the same bytes every time.

  make_tiny.py FILE.gguf [--no-tokenizer] [--no-template] [--tool-template] [--layers N] [--pre NAME] [--name NAME]

Llama architecture, 64 wide, F32 weights; a byte-level BPE of 256 bytes, three special tokens and a few merges.
"""
import random
import struct
import sys

U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5
HIDDEN, FEED_FORWARD, HEADS, KV_HEADS, CONTEXT = 64, 96, 4, 2, 256
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["Ġ t", "h e", "Ġt he", "i n", "l l", "ll o", "he llo"]
TEMPLATE = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
            "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


TOOL_TEMPLATE = "TOOLS {{ tools | tojson }}{{ pad_token }}" + TEMPLATE + "{# <tool_call> <think></think> #}"


def byte_letters():
    """GPT-2's printable stand-in for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, extra = {}, 0
    for byte in range(256):
        if byte in plain:
            letters[byte] = chr(byte)
        else:
            letters[byte] = chr(256 + extra)
            extra += 1
    return [letters[byte] for byte in range(256)]


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def scalar(kind, value):
    if kind == STRING:
        return text(value)
    return struct.pack({U32: "<I", F32: "<f", BOOL: "<?", I32: "<i"}[kind], value)


def entry(key, kind, value, item=None):
    data = text(key) + struct.pack("<I", kind)
    if kind == ARRAY:
        return data + struct.pack("<IQ", item, len(value)) + b"".join(scalar(item, v) for v in value)
    return data + scalar(kind, value)


def metadata(layers, tokenizer, template, pre="smollm", name="tiny", tool_template=False):
    vocabulary = SPECIAL + byte_letters() + [merge.replace(" ", "") for merge in MERGES]
    entries = [
        entry("general.architecture", STRING, "llama"),
        entry("general.name", STRING, name),
        entry("llama.block_count", U32, layers),
        entry("llama.context_length", U32, CONTEXT),
        entry("llama.embedding_length", U32, HIDDEN),
        entry("llama.feed_forward_length", U32, FEED_FORWARD),
        entry("llama.attention.head_count", U32, HEADS),
        entry("llama.attention.head_count_kv", U32, KV_HEADS),
        entry("llama.rope.freq_base", F32, 10000.0),
        entry("llama.rope.dimension_count", U32, HIDDEN // HEADS),
        entry("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        entry("llama.vocab_size", U32, len(vocabulary)),
    ]
    if tokenizer:
        entries += [
            entry("tokenizer.ggml.model", STRING, "gpt2"),
            entry("tokenizer.ggml.pre", STRING, pre),
            entry("tokenizer.ggml.tokens", ARRAY, vocabulary, STRING),
            entry("tokenizer.ggml.token_type", ARRAY, [3] * len(SPECIAL) + [1] * (len(vocabulary) - len(SPECIAL)), I32),
            entry("tokenizer.ggml.merges", ARRAY, MERGES, STRING),
            entry("tokenizer.ggml.bos_token_id", U32, 1),
            entry("tokenizer.ggml.eos_token_id", U32, 2),
            entry("tokenizer.ggml.add_bos_token", BOOL, True),
        ]
        if template:
            entries.append(entry("tokenizer.chat_template", STRING, TEMPLATE))
        if tool_template:
            entries += [entry("tokenizer.chat_templates", ARRAY, ["tool_use"], STRING),
                        entry("tokenizer.chat_template.tool_use", STRING, TOOL_TEMPLATE),
                        entry("tokenizer.ggml.padding_token_id", U32, 0)]
    return entries, len(vocabulary)


def tensors(layers, vocabulary):
    """Yields (name, shape, outermost dimension first)."""
    head = HIDDEN // HEADS
    yield "token_embd.weight", (vocabulary, HIDDEN)
    yield "output_norm.weight", (HIDDEN,)
    for layer in range(layers):
        block = f"blk.{layer}."
        yield block + "attn_norm.weight", (HIDDEN,)
        yield block + "attn_q.weight", (HIDDEN, HIDDEN)
        yield block + "attn_k.weight", (KV_HEADS * head, HIDDEN)
        yield block + "attn_v.weight", (KV_HEADS * head, HIDDEN)
        yield block + "attn_output.weight", (HIDDEN, HIDDEN)
        yield block + "ffn_norm.weight", (HIDDEN,)
        yield block + "ffn_gate.weight", (FEED_FORWARD, HIDDEN)
        yield block + "ffn_up.weight", (FEED_FORWARD, HIDDEN)
        yield block + "ffn_down.weight", (HIDDEN, FEED_FORWARD)


def write(path, layers, tokenizer=True, template=True, pre="smollm", name="tiny", tool_template=False):
    entries, vocabulary = metadata(layers, tokenizer, template, pre, name, tool_template)
    source = random.Random(0)
    infos, data = b"", b""
    count = 0
    for name, shape in tensors(layers, vocabulary):
        size = 1
        for extent in shape:
            size *= extent
        values = [1.0] * size if len(shape) == 1 else [source.uniform(-0.2, 0.2) for _ in range(size)]
        infos += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape))
        infos += struct.pack("<IQ", 0, len(data))
        data += struct.pack(f"<{size}f", *values)
        data += b"\0" * (-len(data) % 32)
        count += 1
    head = b"GGUF" + struct.pack("<IQQ", 3, count, len(entries)) + b"".join(entries) + infos
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % 32) + data)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    layer_count = int(arguments[arguments.index("--layers") + 1]) if "--layers" in arguments else 2
    words = arguments[arguments.index("--pre") + 1] if "--pre" in arguments else "smollm"
    called = arguments[arguments.index("--name") + 1] if "--name" in arguments else "tiny"
    write(arguments[0], layer_count, "--no-tokenizer" not in arguments, "--no-template" not in arguments, words, called,
          "--tool-template" in arguments)

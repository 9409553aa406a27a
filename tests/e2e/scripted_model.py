"""A model that says exactly what a script says, to test answers through the real server.

It is a one-layer GPT-2 whose attention and MLP add nothing, so only the position decides the next id:

  position        0 … P-2        P-1      P     P+1   …  P+n-1    P+n …
  prompt          x x x x         x
  said after it                  id 0    id 1   id 2  …   end      end …

The row of each position is 20 times the embedding of the id to follow it, and the head is tied to the embeddings.
Each script begins at its own position P: a prompt of P tokens selects it. One model holds many scripts.
"""
import json
import re
import struct

import numpy

# All models have these sizes, so that they share kernels, which are compiled once. The single head is small,
# because attention over thousands of positions, whose result is not added, would take most of the time.
WIDTH, HEAD, CONTEXT, VOCABULARY = 256, 16, 8192, 320
END = "<|scripted_end|>"
# Parts of marks and of JSON, so that a token may hold the end of a mark and the text after it.
WORDS = ("tool", "_call", "call>", ">\n", '{"name', '": "', '"}', "}\n</", "think>", ">\n\n", "</", "think", "arg", "function", "=get_", "[{", "}]")


def byte_letters():
    """The letter that a byte-level vocabulary has for each byte, as in GPT-2."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {**{byte: chr(byte) for byte in shown}, **{byte: chr(256 + index) for index, byte in enumerate(hidden)}}


class ScriptedModel:
    """`special` and `plain`: the added tokens, which are control tokens and ordinary ones. `closers`: ids that are
    preferred where a grammar forbids the script's id, so that a forced answer ends. A colon, a comma and values are
    preferred to spaces, so that it ends soon."""

    def __init__(self, template, special=(), plain=()):
        self.template, self.special, self.plain = template, [END, *special], list(plain)
        self.ids = {text: 256 + index for index, text in enumerate([*WORDS, *self.special, *self.plain])}
        self.closers = []
        self.rows = {}  # position -> the id after it
        self.free = 8  # the first position that no script uses

    def tokens(self, text, words=False):
        """Each mark is one token and everything else is bytes. `words`: uses WORDS too, and
        spells out ordinary marks."""
        wanted = [*self.special, *(WORDS if words else self.plain)]
        pattern = "|".join(map(re.escape, sorted(wanted, key=len, reverse=True)))
        ids = []
        for piece in re.split(f"({pattern})", text):
            ids += [self.ids[piece]] if piece in self.ids and piece in wanted else piece.encode()
        return ids

    def add(self, text, words=False, least=8):
        """The length of the prompt, at least `least`, after which the model says `text`."""
        ids, begin = self.tokens(text, words), max(self.free, least)
        for index, id in enumerate([*ids, self.ids[END]]):
            self.rows[begin - 1 + index] = id
        self.free = begin + len(ids) + 2
        assert self.free < CONTEXT - 512, f"the scripts take {self.free} positions of {CONTEXT}: shorten them or give the format two entries"
        return begin

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        letters = byte_letters()
        vocabulary = {letters[byte]: byte for byte in range(256)}
        vocabulary |= {"".join(letters[byte] for byte in word.encode()): self.ids[word] for word in WORDS}
        added = [{"id": self.ids[text], "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                  "special": text in self.special} for text in [*self.special, *self.plain]]
        bytes_only = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        tokenizer = {
            "version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": bytes_only, "post_processor": None, "decoder": bytes_only,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "vocab": vocabulary, "merges": []}}
        config = {
            "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": 1, "n_head": 1, "head_dim": HEAD, "n_embd": WIDTH, "n_inner": 32,
            "n_positions": CONTEXT, "vocab_size": VOCABULARY, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
            "bos_token_id": self.ids[END], "eos_token_id": self.ids[END], "torch_dtype": "float16"}
        for name, value in (("tokenizer", tokenizer), ("config", config), ("tokenizer_config", {"eos_token": END, "chat_template": self.template})):
            (folder / f"{name}.json").write_text(json.dumps(value))
        write_tensors(folder / "model.safetensors", self.tensors())

    def tensors(self):
        def filled(value, *shape):
            return numpy.full(shape, value, numpy.float32)

        # Marks, words and ASCII are orthogonal, so that the order of the next-best ids is exact.
        wte = (2 * numpy.random.default_rng(1).integers(0, 2, (VOCABULARY, WIDTH)) - 1).astype(numpy.float32)
        hadamard = numpy.ones((1, 1), numpy.float32)
        while len(hadamard) < WIDTH:
            hadamard = numpy.kron([[1, 1], [1, -1]], hadamard)
        exact = [*range(256, 256 + len(self.ids)), *range(128)]
        wte[exact] = hadamard[1:1 + len(exact)]
        shut = sum((9 - 0.5 * index) * wte[id] for index, id in enumerate([*self.closers, *b'}])"\n/>{`<:,f0']))
        wpe = numpy.tile(20 * wte[self.ids[END]] + shut, (CONTEXT, 1))
        for position, id in self.rows.items():
            wpe[position] = 20 * wte[id] + shut
        return {
            "wte.weight": wte, "wpe.weight": wpe, "ln_f.weight": filled(0.1, WIDTH), "ln_f.bias": filled(0, WIDTH),
            "h.0.ln_1.weight": filled(1, WIDTH), "h.0.ln_1.bias": filled(0, WIDTH), "h.0.ln_2.weight": filled(1, WIDTH), "h.0.ln_2.bias": filled(0, WIDTH),
            "h.0.attn.c_attn.weight": filled(0, WIDTH, 3 * HEAD), "h.0.attn.c_attn.bias": filled(0, 3 * HEAD),
            "h.0.attn.c_proj.weight": filled(0, HEAD, WIDTH), "h.0.attn.c_proj.bias": filled(0, WIDTH),
            "h.0.mlp.c_fc.weight": filled(0, WIDTH, 32), "h.0.mlp.c_fc.bias": filled(0, 32),
            "h.0.mlp.c_proj.weight": filled(0, 32, WIDTH), "h.0.mlp.c_proj.bias": filled(0, WIDTH)}


def write_tensors(path, tensors):
    """Writes a safetensors file: the length of a JSON header, the header, the values."""
    header, at = {}, 0
    for name, values in tensors.items():
        values = tensors[name] = numpy.ascontiguousarray(values, numpy.float16)
        header[name] = {"dtype": "F16", "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(values.tobytes() for values in tensors.values()))

#!/usr/bin/env python3
"""Writes goldens/gguf_vocabularies.json: small GGUF vocabularies as metadata, and the ids that
transformers' own GGUF reader gives for some texts. Run by hand (needs transformers and gguf):

    python3 make_gguf_vocabularies.py goldens
"""
import json
import random
import sys

from make_tiny_tokenizers import CORPUS, TEXTS, byte_level, random_texts, sentence_piece
from tokenizers import normalizers, pre_tokenizers
from transformers.integrations.gguf.gguf_tokenizer_mapping import convert_gguf_tokenizer


def byte_vocabulary(pre):
    model = json.loads(byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), size=600).to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get) + ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "two words"]
    types = [1] * len(model["vocab"]) + [3, 3, 3, 4, 4]
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    return {"tokenizer_type": "gpt2", "pre_tokenizer_type": pre, "tokens": tokens, "token_type": types, "merges": merges}


def piece_vocabulary(gemma):
    model = json.loads(sentence_piece(normalizers.Replace(" ", "▁"), None, False).to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    types = [{0: 2, 1: 3, 2: 3}.get(i, 6 if i < 259 else 1) for i in range(len(tokens))]
    scores = [0.0 if i < 259 else -float((i - 259) // 2) for i in range(len(tokens))]  # with ties
    if gemma:
        tokens[0:3] = ["<pad>", "<eos>", "<bos>"]
        types[0:3] = [3, 3, 3]
        tokens += ["<unk>", "<mask>", "<start_of_turn>", "<end_of_turn>", "\n\n", "  ", "    ", "\t"]
        types += [3, 3, 3, 3, 4, 4, 4, 4]
        pick = random.Random(4)
        scores = [pick.uniform(-1000, 0) for _ in tokens]  # which Gemma's reader must not use
    return {"tokenizer_type": "llama", "tokens": tokens, "token_type": types, "scores": scores}


def main(folder):
    vocabularies = {f"gpt2_{pre}": ("llama", byte_vocabulary(pre)) for pre in ("smollm", "qwen2", "gpt-4o")}
    vocabularies["spm"] = ("llama", piece_vocabulary(False))
    vocabularies["gemma"] = ("gemma3", piece_vocabulary(True))
    out = {}
    for name, (architecture, vocabulary) in vocabularies.items():
        tokenizer, _ = convert_gguf_tokenizer(architecture, dict(vocabulary))
        texts = TEXTS + CORPUS[:9] + random_texts(30) + ["<bos><start_of_turn>user\n\n\n x<end_of_turn>", "a    b\t\tc      d"]
        cases = [{"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids} for text in texts]
        out[name] = {"architecture": architecture, "vocabulary": vocabulary, "cases": cases}
    with open(f"{folder}/gguf_vocabularies.json", "w") as file:
        json.dump(out, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])

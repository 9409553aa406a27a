#!/usr/bin/env python3
"""Writes goldens/gguf_vocabularies.json: small GGUF vocabularies as metadata, and the ids of some
texts. Run by hand (needs tokenizers, transformers and gguf):

    python3 make_gguf_vocabularies.py goldens

The model's original tokenizer is authoritative. Where transformers' reader of GGUF files agrees with it, the ids
come from that reader; otherwise they come from

  * the steps of the models' own tokenizer.json (for `pre` names that split digits off first), or
  * SentencePiece's algorithm, implemented below: merges the pair with the highest score, the
    leftmost among equals, with a space before every piece of text."""
import heapq
import json
import random
import sys

from make_tiny_tokenizers import CORPUS, TEXTS, byte_level, random_texts, sentence_piece
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers
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
    scores = [0.0 if i < 259 else -float(i - 259) for i in range(len(tokens))]
    if gemma:
        tokens[0:3] = ["<pad>", "<eos>", "<bos>"]
        types[0:3] = [3, 3, 3]
        tokens += ["<unk>", "<mask>", "<start_of_turn>", "<end_of_turn>", "\n\n", "  ", "    ", "\t"]
        types += [3, 3, 3, 3, 4, 4, 4, 4]
        pick = random.Random(4)
        scores = [pick.uniform(-1000, 0) for _ in tokens]  # a reader for Gemma must ignore them
    return {"tokenizer_type": "llama", "tokens": tokens, "token_type": types, "scores": scores}


def by_transformers(architecture, vocabulary):
    tokenizer, _ = convert_gguf_tokenizer(architecture, dict(vocabulary))
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def by_digits_first(_, vocabulary):
    """Sequence[Digits, ByteLevel], as in the tokenizer.json of SmolLM2 and StarCoder."""
    tokens, types = vocabulary["tokens"], vocabulary["token_type"]
    merges = [tuple(merge.split(" ")) for merge in vocabulary["merges"]]
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    digits, words = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    # ("two words" is not spelled in bytes and so is not an added token.)
    tokenizer.add_tokens([AddedToken(t, special=kind == 3, normalized=False) for t, kind in zip(tokens, types) if kind != 1 and " " not in t])
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def by_sentence_piece(_, vocabulary):
    tokens, types, scores = vocabulary["tokens"], vocabulary["token_type"], vocabulary["scores"]
    ids = {token: i for i, token in enumerate(tokens)}
    special = sorted((t for t, kind in zip(tokens, types) if kind in (2, 3, 4)), key=len, reverse=True)

    def merged(piece):
        symbols = dict(enumerate(piece))
        after = {i: i + 1 for i in range(len(piece))}
        before = {i: i - 1 for i in range(1, len(piece) + 1)}
        heap = []

        def offer(left):
            right = after.get(left)
            if left in symbols and right in symbols and symbols[left] + symbols[right] in ids:
                text = symbols[left] + symbols[right]
                heapq.heappush(heap, (-scores[ids[text]], left, right, text))

        for i in range(len(piece)):
            offer(i)
        while heap:
            _, left, right, text = heapq.heappop(heap)
            if left not in symbols or right not in symbols or symbols[left] + symbols[right] != text or after[left] != right:
                continue
            symbols[left] = text
            del symbols[right]
            after[left] = after[right]
            before[after[right]] = left
            offer(left)
            if left in before:
                offer(before[left])
        out = []
        for i in sorted(symbols):
            known = symbols[i] in ids
            out += [ids[symbols[i]]] if known else [ids[f"<0x{b:02X}>"] for b in symbols[i].encode()]
        return out

    def encode(text):
        out, piece, at = [], "", 0

        def flush():
            return merged("▁" + piece.replace(" ", "▁")) if piece else []

        while at < len(text):
            token = next((t for t in special if text.startswith(t, at)), None)
            if token:
                out += flush() + [ids[token]]
                piece, at = "", at + len(token)
            else:
                piece, at = piece + text[at], at + 1
        return out + flush()

    return encode


def main(folder):
    vocabularies = {f"gpt2_{pre}": ("llama", byte_vocabulary(pre), by_transformers) for pre in ("qwen2", "gpt-4o")}
    for pre in ("smollm", "refact"):
        vocabularies[f"gpt2_{pre}"] = ("llama", byte_vocabulary(pre), by_digits_first)
    vocabularies["spm"] = ("llama", piece_vocabulary(False), by_sentence_piece)
    vocabularies["gemma"] = ("gemma3", piece_vocabulary(True), by_transformers)
    out = {}
    for name, (architecture, vocabulary, oracle) in vocabularies.items():
        encode = oracle(architecture, vocabulary)
        texts = TEXTS + CORPUS[:9] + random_texts(30) + ["<bos><start_of_turn>user\n\n\n x<end_of_turn>", "a    b\t\tc      d"]
        texts += [" h", "  two", "List:\n\n1. one", "x = 5\n    42", "v ²;"]
        cases = [{"text": text, "ids": encode(text)} for text in texts]
        out[name] = {"architecture": architecture, "vocabulary": vocabulary, "cases": cases}
    with open(f"{folder}/gguf_vocabularies.json", "w") as file:
        json.dump(out, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])

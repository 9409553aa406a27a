#!/usr/bin/env python3
"""Writes goldens/tiny_*.json: small tokenizers of every supported kind, each with texts and the ids that Hugging
Face `tokenizers` gives them. Run by hand (needs `pip install tokenizers`); the output is committed, so that the
tests need neither Python nor a network.

    python3 make_tiny_tokenizers.py goldens
"""
import json
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CORPUS = [
    "The quick brown fox jumps over the lazy dog, it's 12345 times faster than we'll ever be.",
    "def fibonacci(n):\n    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)\n",
    "Die schöne Müllerin fährt über die Brücke; das Wasser rauscht, naïve café résumé.",
    "Привет, как дела? Быстрая коричневая лиса прыгает через ленивую собаку.",
    "日本語のテキストを処理する。東京は日本の首都です。中文文本处理也很重要。",
    "안녕하세요 세계, 빠른 갈색 여우가 게으른 개를 뛰어넘는다.",
    "مرحبا بالعالم، الثعلب البني السريع يقفز فوق الكلب الكسول.",
    "नमस्ते दुनिया, तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है।",
    "{'a': [1, 2, 3], \"b\": {\"c\": null}} <tag attr=\"x\">text</tag> && || != == -> =>",
] * 3
TEXTS = [
    "", " ", "  ", "\n", "\t\t", "Hello, world!", "  leading", "trailing  ", "a\r\nb\n\n\nc", "it'S WE'LL I'm 'tis",
    "1 22 333 4444 55555", "x  1\n\n 2", "naïve café — über", "e\u0301 ﬁ Å ½ ² ٣ Ⅻ １２", "日本語のテキスト", "안녕 세계",
    "مرحبا بالعالم", "नमस्ते दुनिया", "👩‍👩‍👧‍👦 🇫🇷 ☃️ 😀😀", "\u200bzero\u200dwidth\ufeff", "\u00a0\u3000\u2028x", "▁▁ ▁x", "\x00\x01\x7f",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "<|im_start|>user\nhi<|im_end|>\n", "a<|im_end|>b <|im_end|> c",
    "x [L] y [R] z  [L]  [R]  ", "Word word Words xWord Word", "<think>no</think>", "<0x0A> <unk> <s>", "\U0001d400\U000e0041\U0010fffd",
    "fibonacci(n - 1) + 12345 != \"b\"",
]


def random_texts(count):
    pick = random.Random(7)
    pieces = [word for line in CORPUS for word in line.split(" ")] + TEXTS + [" ", "  ", "\n", "\n\n", "\t"]
    return ["".join(pick.choice(pieces) + pick.choice(["", " "]) for _ in range(pick.randint(2, 7))) for _ in range(count)]


def added(tokenizer):
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in ("<|im_start|>", "<|im_end|>")])
    tokenizer.add_special_tokens([AddedToken("[L]", lstrip=True, special=True), AddedToken("[R]", rstrip=True, special=True)])
    tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("Word", single_word=True)])


def byte_level(pre_tokenizer, size=700, **model):
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def split(pattern):
    return pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )


def sentence_piece(normalizer, pre_tokenizer, strip):
    """BPE over characters with byte fallback; the vocabulary lacks some characters."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Replace(" ", "▁"), None
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=800, limit_alphabet=120, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    description = json.loads(tokenizer.to_str())
    description["added_tokens"] = [t for t in description["added_tokens"] if not t["content"].startswith("<0x")]
    tokenizer = Tokenizer.from_str(json.dumps(description))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if strip else []))
    return tokenizer


def word_piece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[UNK]"], show_progress=False))
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=400, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def word_level():
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(CORPUS, trainers.WordLevelTrainer(special_tokens=["[UNK]"], show_progress=False))
    return tokenizer


def all_kinds():
    prepend = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    llama3 = byte_level(split(LLAMA3), ignore_merges=True)
    llama3.post_processor = processors.TemplateProcessing(single="<|im_start|> $A", pair="$A $B", special_tokens=[("<|im_start|>", 700)])
    qwen = byte_level(split(LLAMA3.replace("{1,3}", "")))
    qwen.normalizer = normalizers.NFC()
    digits = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return {
        "gpt2": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
        "digits": byte_level(digits),
        "llama3": llama3,
        "qwen2": qwen,
        "gemma": sentence_piece(normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"), False),
        "llama2": sentence_piece(prepend, None, True),
        "metaspace": sentence_piece(None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False), True),
        "wordpiece": word_piece(),
        "unigram": unigram(),
        "wordlevel": word_level(),
    }


def main(folder):
    for name, tokenizer in all_kinds().items():
        added(tokenizer)
        tokenizer = Tokenizer.from_str(tokenizer.to_str())
        cases = []
        for text in TEXTS + random_texts(40):
            tokenizer.encode_special_tokens = False
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            case = {"text": text, "ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=False)}
            case["skipped"] = tokenizer.decode(ids, skip_special_tokens=True)
            tokenizer.encode_special_tokens = True
            case["plain"] = tokenizer.encode(text, add_special_tokens=False).ids
            cases.append(case)
        with open(f"{folder}/tiny_{name}.json", "w") as out:
            json.dump({"tokenizer": json.loads(tokenizer.to_str()), "cases": cases}, out, separators=(",", ":"))
            out.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])

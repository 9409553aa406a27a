#!/usr/bin/env python3
"""Writes goldens/folder_tokenizers.json: small folders without a tokenizer.json, each with texts and the ids that
Hugging Face transformers gives them. Run by hand (needs `pip install transformers tokenizers sentencepiece
protobuf tiktoken`); the output is committed, so that the tests need neither Python nor a network.

    python3 make_folder_tokenizers.py goldens
"""
import base64
import json
import os
import pathlib
import random
import sys
import tempfile

import sentencepiece
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import AutoTokenizer
from transformers.convert_slow_tokenizer import bytes_to_unicode

WORDS = """the of and a to in is you that it he was for on are as with his they I at be this have from or one had by word but not
what all were we when your can said there Привет мир hello world 1 2 3 45 678 naïve café 你好 世界 , . ! ? - ( ) : ; ' "
""".split()
TEXT_WORDS = """the of it's don’t naïve café Straße Привет мир 你好 世界 こんにちは ﬁne ½ ٣٤ 🦙 e\u0301 \u200b \ufeff 1,234.5 0x1F hello world
_ ▁ ▁▁x \u00a0 \x01 \x7f for(i=0;i<10;++i){}""".split(" ")


def train_pieces(folder, name, **options):
    base = dict(input=str(folder / "corpus"), unk_id=0, bos_id=1, eos_id=2, pad_id=-1, minloglevel=2,
                normalization_rule_name="identity", remove_extra_whitespaces=False, allow_whitespace_only_pieces=True)
    sentencepiece.SentencePieceTrainer.train(model_prefix=str(folder / name), **base | options)
    return (folder / f"{name}.model").read_bytes()


def texts(special, seed):
    rng = random.Random(seed)
    out = ["", " ", "   a", "a   ", "a  b", "▁", " ▁a", "\n\n", "\ta", *(f"a {s} b{s}c  {s}\nd" for s in special)]
    while len(out) < 60:
        text = ""
        for _ in range(rng.randrange(1, 8)):
            kind = rng.random()
            text += (rng.choice(TEXT_WORDS) if kind < 0.6 else str(rng.randrange(10000)) if kind < 0.75
                     else rng.choice(["\n", "\n\n", "\r\n", "\t"]) if kind < 0.85 else rng.choice(special or [","]))
            text += " " * rng.choice([0, 0, 1, 1, 1, 2, 3])
        out.append(text)
    return out


def added(content, **flags):
    return dict(content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True) | flags


def make_files(folder):
    rng = random.Random(0)
    (folder / "corpus").write_text("\n".join(" ".join(rng.choice(WORDS) for _ in range(12)) for _ in range(2000)))
    (folder / "rules").write_text("FB01\t66 69\nA0\t20\n9\t20\n3000\t20\n200B\t20\nBD\t31 2044 32\n")
    rules = dict(normalization_rule_tsv=str(folder / "rules"), normalization_rule_name="", remove_extra_whitespaces=True)
    files = {
        "llama": train_pieces(folder, "llama", model_type="bpe", vocab_size=460, byte_fallback=True, split_digits=True),
        "defined": train_pieces(folder, "defined", model_type="bpe", vocab_size=470, byte_fallback=True,
                                user_defined_symbols=["<x0>", "<x1>", "  ", "\n"], control_symbols=["<ctl>"]),
        "rules": train_pieces(folder, "rules_bpe", model_type="bpe", vocab_size=200, **rules),
        "unigram": train_pieces(folder, "unigram", model_type="unigram", vocab_size=115, user_defined_symbols=["<x0>"], **rules),
        "unigram_bytes": train_pieces(folder, "unigram_bytes", model_type="unigram", vocab_size=340, byte_fallback=True,
                                      add_dummy_prefix=False),
        "gemma": train_pieces(folder, "gemma", model_type="bpe", vocab_size=470, byte_fallback=True, split_digits=True, pad_id=0,
                              eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>",
                              user_defined_symbols=["<mask>", "\n", "\n\n", "▁▁", "<start_of_turn>", "<end_of_turn>"],
                              add_dummy_prefix=False),
    }
    pairs = Tokenizer(models.BPE())
    pairs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    pairs.train([str(folder / "corpus")], trainers.BpeTrainer(vocab_size=400, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet,
                                                              show_progress=False))
    pairs.model.save(str(folder))
    files["vocab"], files["merges"] = (folder / "vocab.json").read_bytes(), (folder / "merges.txt").read_bytes()
    byte = {letter: value for value, letter in bytes_to_unicode().items()}
    listed = sorted(json.loads(files["vocab"]).items(), key=lambda item: item[1])
    tokens = [base64.b64encode(bytes(byte[c] for c in token)).decode() for token, _ in listed if token != "<|endoftext|>"]
    files["tiktoken"] = "".join(f"{token} {rank}\n" for rank, token in enumerate(tokens)).encode()
    files["tekken"] = json.dumps({
        "config": {"pattern": r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
                   "default_vocab_size": len(tokens) + 20 - 7, "default_num_special_tokens": 20, "version": "v7"},
        "vocab": [{"rank": rank, "token_bytes": token, "token_str": None} for rank, token in enumerate(tokens)],
        "special_tokens": [{"rank": rank, "token_str": token, "is_control": True}
                           for rank, token in enumerate(["<unk>", "<s>", "</s>", "[INST]", "[/INST]"])]}).encode()
    return files, len(tokens)


def cases(count):
    """name: (model type, files, tokenizer_config.json or None, special strings, further files)."""
    llama = dict(tokenizer_class="LlamaTokenizer", bos_token="<s>", eos_token="</s>", unk_token="<unk>", add_bos_token=True)
    end = ["<|endoftext|>"]
    pairs = {"vocab.json": "vocab", "merges.txt": "merges"}
    chatml = {"0": added("<unk>"), "1": added("<s>"), "2": added("</s>"), "460": added("<|im_start|>", rstrip=True),
              "461": added("<|im_end|>", rstrip=True), "462": added("<x>", special=False, normalized=True)}
    model = lambda name: {"tokenizer.model": name}
    yield "llama", "llama", model("llama"), llama, ["<s>"], {}
    yield "llama_legacy", "llama", model("llama"), llama | dict(legacy=True), ["<s>", "</s>"], {}
    yield "llama_no_prefix", "llama", model("llama"), llama | dict(add_prefix_space=False, add_eos_token=True), ["<s>"], {}
    yield "llama_added", "llama", model("llama"), llama | dict(legacy=True, eos_token="<|im_end|>", added_tokens_decoder=chatml), \
        ["<s>", "<|im_start|>", "<|im_end|>", "<x>"], {}
    yield "llama_added_json", "llama", model("llama"), llama | dict(legacy=True), ["<s>", "<x>", "<y>"], \
        {"added_tokens.json": {"<x>": 460, "<y>": 461}, "special_tokens_map.json": {"bos_token": "<s>", "eos_token": "<y>"}}
    yield "llama_defined", "llama", model("defined"), llama, ["<s>", "<x0>", "<ctl>"], {}
    yield "mistral", "mistral", model("llama"), llama | dict(legacy=True), ["<s>"], {}
    yield "mistral_alone", "mistral", model("llama"), None, ["<s>"], {}
    yield "phi3", "phi3", model("llama"), llama | dict(legacy=False, added_tokens_decoder=chatml), ["<s>", "<|im_end|>", "<x>"], {}
    yield "nemotron", "nemotron", model("defined"), None, ["<s>", "<x0>", "<ctl>"], {}
    yield "nemotron_rules", "nemotron", model("rules"), None, ["<s>"], {}
    yield "nemotron_unigram", "nemotron", model("unigram"), None, ["<s>", "<x0>"], {}
    yield "nemotron_unigram_bytes", "nemotron", model("unigram_bytes"), None, ["<s>"], {}
    yield "gemma", "gemma", model("gemma"), dict(tokenizer_class="GemmaTokenizer", add_bos_token=True), \
        ["<bos>", "<start_of_turn>", "<end_of_turn>"], {}
    yield "gemma2_alone", "gemma2", model("gemma"), None, ["<bos>", "<end_of_turn>"], {}
    yield "gpt2_alone", "gpt2", pairs, None, end, {}
    yield "qwen2_alone", "qwen2", pairs, None, end, {}
    yield "gpt_neox_alone", "gpt_neox", pairs, None, end, {}
    yield "gpt2_class", "llama", pairs, dict(tokenizer_class="GPT2TokenizerFast", add_prefix_space=True, eos_token="<|im_end|>",
                                             additional_special_tokens=["<|im_start|>"]), [*end, "<|im_start|>", "<|im_end|>"], {}
    yield "qwen2_class", "llama", pairs, dict(
        tokenizer_class="Qwen2Tokenizer", bos_token=end[0], add_bos_token=True,
        added_tokens_decoder={"0": added(end[0]), "400": added("<|im_start|>"), "401": added("<tool>", special=False)}), \
        [*end, "<|im_start|>", "<tool>"], {}
    yield "llama3", "llama", model("tiktoken"), dict(
        tokenizer_class="PreTrainedTokenizerFast", bos_token="<|begin|>", eos_token="<|eot|>",
        added_tokens_decoder={str(count): added("<|begin|>"), str(count + 3): added("<|eot|>")}), ["<|begin|>", "<|eot|>"], {}
    yield "tekken", "llama", {"tekken.json": "tekken"}, None, ["<s>", "[INST]"], {}


def main(folder):
    golden = {"files": {}, "cases": {}}
    with tempfile.TemporaryDirectory() as work:
        files, count = make_files(pathlib.Path(work))
        golden["files"] = {name: base64.b64encode(data).decode() for name, data in files.items()}
        for seed, (name, model_type, wanted, config, special, more) in enumerate(cases(count)):
            place = pathlib.Path(work) / f"case-{name}"
            place.mkdir()
            texts_of = {target: files[source] for target, source in wanted.items()}
            beside = dict(more) | ({} if config is None else {"tokenizer_config.json": config})
            for target, value in beside.items():
                texts_of[target] = json.dumps(value).encode()
            texts_of["config.json"] = json.dumps({"model_type": model_type}).encode()
            for target, data in texts_of.items():
                (place / target).write_bytes(data)
            tokenizer = AutoTokenizer.from_pretrained(str(place))
            bare = tokenizer("a", add_special_tokens=False).input_ids
            whole = tokenizer("a").input_ids
            at = next(i for i in range(len(whole)) if whole[i : i + len(bare)] == bare)
            golden["cases"][name] = {
                "model_type": model_type, "files": wanted, "beside": {k: json.dumps(v) for k, v in beside.items()},
                "prefix": whole[:at], "suffix": whole[at + len(bare) :],
                "texts": [{"text": text, "ids": tokenizer(text, add_special_tokens=False).input_ids} for text in texts(special, seed)],
            }
    with open(os.path.join(folder, "folder_tokenizers.json"), "w") as out:
        json.dump(golden, out, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main(sys.argv[1])

#!/usr/bin/env python3
"""Compares ids of random lines with another implementation of GGUF vocabularies, for every `pre` name in
GgufVocabulary.cpp. Run by hand:

    python3 compare_pre_names.py build/bin/text-vocabularies FOLDER [--lines N] [--only NAME] -- ORACLE…

FOLDER has llama.cpp's vocabulary files (ggml-vocab-*.gguf: `models/` of its sources). `ORACLE… FILE.gguf` reads lines
from standard input and writes their ids, with special strings recognised and nothing added; llama.cpp's
llama_tokenize through any binding works. The `pre` name is written into a copy of a suitable vocabulary. Differences
are counted, and the first few are shown.
"""
import argparse
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

TABLE = pathlib.Path(__file__).parents[3] / "compiler/text/GgufVocabulary.cpp"
OWN = {"qwen2": "qwen2", "deepseek-r1-qwen": "qwen2", "megrez": "qwen2", "starcoder": "starcoder", "refact": "refact", "command-r": "command-r",
       "qwen35": "qwen35", "deepseek-coder": "deepseek-coder"}
WORDS = """the of Ingot's we'll DON'T it'S naïve café Ünïcödé Straße ΑΒΓαβγ Привет мир здравствуй 你好 世界 こんにちは カタカナ 안녕하세요 สวัสดี नमस्ते
שלום مرحبا ﬁne Ǆ ʰa aʰ x² ½ Ⅷ ٣٤ १२ 🦙 👩‍👩‍👧 🇨🇭 e\u0301 \u200b \ufeff a\u0308b for(int i=0;i<10;++i){ return; } #include <x> /* */ http://a.b/c?d=e&f=g_h
don’t “quoted” … — – € £5 $3.50 10% 1,234.5 3.14159 2026-11-22 0x1F 007 1e-5 v2 A1 B22 C333 D4444 _a __b CamelCase HTTPServer ABCdef aBC
\t \u00a0 \u3000 ' '' ''' 's 'S 're 'RE "x" (y) [z] {w} <v> ,, .. !! ?! :: ;; -- == ++ || && ^^ ~~ `` @@ ## %% ** //""".split(" ")


def lines(count):
    rng = random.Random(1)
    out = []
    for _ in range(count):
        line = ""
        for _ in range(rng.randrange(1, 9)):
            kind = rng.random()
            if kind < 0.55:
                line += rng.choice(WORDS).replace("\n", "")
            elif kind < 0.7:
                line += "".join(rng.choice("0123456789") for _ in range(rng.randrange(1, 8)))
            elif kind < 0.85:
                line += rng.choice("abcdefghijklmnopqrstuvwxyzABCXYZ") * rng.randrange(1, 4)
            else:
                line += "".join(rng.choice(".,!?'\"-_/()") for _ in range(rng.randrange(1, 4)))
            line += " " * rng.choice([0, 0, 1, 1, 1, 2, 3, 7])
        out.append(line)
    return out


def with_pre(data, name):
    """The file with another tokenizer.ggml.pre. These files have no tensors, so no offset changes."""
    key = b"tokenizer.ggml.pre"
    at = data.index(struct.pack("<Q", len(key)) + key) + 8 + len(key) + 4
    (size,) = struct.unpack_from("<Q", data, at)
    return data[:at] + struct.pack("<Q", len(name)) + name.encode() + data[at + 8 + size :]


def ids(command, path, text):
    ran = subprocess.run([*command, path], input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ran.returncode == 0, ran.stderr.decode()[-2000:]
    return ran.stdout.decode().splitlines()


def main():
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    oracle = sys.argv[at + 1 :]
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--lines", type=int, default=5000)
    parser.add_argument("--only", action="append")
    options = parser.parse_args(sys.argv[1:at])
    table = TABLE.read_text()
    table = table[table.index("kPreTokenizers[] = {") :]
    names = options.only or re.findall(r'^    \{"([^"]+)"', table[: table.index("};")], re.M)
    words = dict(re.findall(r'^    \{"([^"]+)", (\w+|"")', table, re.M))
    texts = lines(options.lines)
    differing = 0
    for name in names:
        base = OWN.get(name, "llama-bpe" if words.get(name, '""') != '""' else "gpt-2")
        with tempfile.TemporaryDirectory() as work:
            path = f"{work}/vocabulary.gguf"
            data = (options.folder / f"ggml-vocab-{base}.gguf").read_bytes()
            pathlib.Path(path).write_bytes(with_pre(data, name))
            text = "\n".join(texts) + "\n"
            ours, theirs = ids([options.program, "--ids"], path, text), ids(oracle, path, text)
        assert len(ours) == len(theirs) == len(texts), (name, len(ours), len(theirs))
        wrong = [i for i in range(len(texts)) if ours[i] != theirs[i]]
        print(f"{name} ({base}): {len(texts) - len(wrong)} of {len(texts)}", flush=True)
        for i in wrong[:3]:
            print(f"  {texts[i]!r}\n    {ours[i]}\n    {theirs[i]}")
        differing += bool(wrong)
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())

"""check_recipes.py INGOT CHECKPOINT PLUGIN WORK: a recipe reproduces an engine, byte for
byte, with every kind of section.

Each case is compiled with options that also write a recipe; from that recipe; from the recipe stored in the
engine, next to the files that it names; and again by `ingot verify --replay`.
"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

ingot, checkpoint, plugin, work = sys.argv[1:]
here = pathlib.Path(__file__).resolve().parent
work = pathlib.Path(work)
shutil.rmtree(work, ignore_errors=True)
files = work / "the files"  # with a space in its name, in a different folder from the recipes
files.mkdir(parents=True)


def run(*arguments, cwd=work):
    done = subprocess.run([ingot, *map(str, arguments)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    return done.stdout


shutil.copy(here / "patterns" / "activation_second.pdll", files / "mine.pdll")
shutil.copy(plugin, files / "plugin.so")
os.symlink("mine.pdll", files / 'a "link".pdll')  # engines record files by the names that were given
(files / "t.jinja").write_text("{{ messages[0].content }}")

CPU = ["--target", "cpu:avx2"]
CASES = {
    "target": ["--target", "cpu:avx512", "--target", "cpu:avx2"],
    "precision": [*CPU, "--precision", "exact"],
    "kv": [*CPU, "--kv", "int8"],
    "kv-layers": [*CPU, "--kv", "1=int8", "--kv", "0=bf16"],
    "quantize": [*CPU, "--quantize", "int4-g64"],
    "formats": [*CPU, "--recipe", "formats.toml"],
    "patterns": [*CPU, "--patterns", files / "mine.pdll"],
    "patterns at a point": [*CPU, "--patterns", f"import={files / 'mine.pdll'}"],
    "patterns by a link": [*CPU, "--patterns", files / 'a "link".pdll'],
    "plugin": [*CPU, "--plugin", files / "plugin.so", "--insert", "pre-fusion=lm.model(sample-sort-operands)"],
    "insert": [*CPU, "--insert", "pre-fusion=lm.model(canonicalize)", "--insert", "pre-plan=canonicalize"],
    "disable": [*CPU, "--disable", "lm-fuse-norms", "--disable", "lm-fuse-gate-up"],
    "chat-template": [*CPU, "--chat-template", files / "t.jinja"],
    "chat-template-name": [*CPU, "--chat-template-name", "default"],
    "ignore-key": [*CPU, "--ignore-key", "llama.*", "--ignore-key", "none"],
    "weights": [*CPU, "--weights", "seed", "--seed", "18446744073709551615"],
    "verify": [*CPU, "--verify"],
    "batch-invariant": ["--target", "cuda-emulator:sm_80", "--batch-invariant"],
    "kv of both devices": [*CPU, "--target", "cuda-emulator:sm_80", "--kv", "fp8", "--kv", "1=int8"],
    "what is typed wins": [*CPU, "--recipe", "formats.toml", "--kv", "bf16", "--precision", "fast"],
}
(work / "formats.toml").write_text('kv = "f16"\nprecision = "exact"\nkv-layers = [ { layers = "0-", format = "f32" } ]\n'
                                   'formats = [ { weights = "blk.0.*", format = "int8" }, { weights = "*", format = "bf16" } ]\n')


def check(name):
    """Returns the error of the case, or nothing."""
    place = work / name.replace(" ", "-")
    place.mkdir()
    first, again, kept = place / "first.ingot", place / "again.ingot", place / "kept.ingot"
    options = ["--quiet", "--cache", work / "code", checkpoint]  # code_cache.test: the cache changes no byte
    run("compile", *CASES[name], "--write-recipe", place / "r.toml", "-o", first, *options)
    run("compile", "--recipe", place / "r.toml", "-o", again, *options)
    if first.read_bytes() != again.read_bytes():
        return f"{name}: the written recipe makes another engine\n{(place / 'r.toml').read_text()}"
    own = files / f"{place.name}.toml"
    own.write_text(run("inspect", first, "--recipe"))
    run("compile", "--recipe", own, "-o", kept, *options)
    if first.read_bytes() != kept.read_bytes():
        return f"{name}: the engine's own recipe makes another engine\n{own.read_text()}"
    if json.loads(run("verify", first, "--replay", checkpoint, "--json", cwd=files)) != {"equal": True, "differences": []}:
        return f"{name}: replayed, it differs"
    for engine in (first, again, kept):
        engine.unlink()
    return None


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    wrong = [text for text in pool.map(check, CASES) if text]
print(f"{len(CASES)} recipes")
sys.exit("\n".join(wrong) or 0)

"""check_doctor.py INGOT TINY WORK: checks that doctor and compile agree."""
import json
import pathlib
import shutil
import subprocess
import sys

ingot, tiny, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
LLAMA = tiny / "llama3-tied"
INDEX = "model.safetensors.index.json"


def copy(name, of=LLAMA):
    shutil.copytree(of, work / name)
    return work / name


def header(folder):
    """The header of a folder's file of weights, and the bytes after it."""
    data = (folder / "model.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8:8 + size]), data[8 + size:]


def write(folder, tensors, rest):
    text = json.dumps(tensors).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + rest)


def index(folder, file):
    names = [name for name in header(folder)[0] if name != "__metadata__"]
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": {name: file for name in names}}))


def cases():
    yield copy("plain"), None
    yield copy("by-file") / "model.safetensors", None
    of_mlx = copy("index-of-one")
    index(of_mlx, "model.safetensors")
    yield of_mlx, None
    left = copy("index-of-others")
    index(left, "model-00001-of-00002.safetensors")
    yield left, None
    two = copy("two-models")
    shutil.copy(two / "model.safetensors", two / "model-00001-of-00001.safetensors")
    index(two, "model-00001-of-00001.safetensors")
    data = bytearray((two / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (two / "model.safetensors").write_bytes(data)
    yield two, "E0291"
    empty = copy("without-weights")
    (empty / "model.safetensors").unlink()
    yield empty, "E0205"
    cut = copy("cut")
    (cut / "model.safetensors").write_bytes((cut / "model.safetensors").read_bytes()[:-100])
    yield cut, "E0220"
    renamed = copy("renamed")
    tensors, rest = header(renamed)
    write(renamed, {name.replace("mlp.", "ffn."): value for name, value in tensors.items()}, rest)
    yield renamed, "E0295"
    more = copy("more")
    tensors, rest = header(more)
    tensors["other.weight"] = {"dtype": "F32", "shape": [2], "data_offsets": [len(rest), len(rest) + 8]}
    write(more, tensors, rest + bytes(8))
    yield more, "E0296"
    shaped = copy("shaped")
    config = json.loads((shaped / "config.json").read_text())
    (shaped / "config.json").write_text(json.dumps(config | {"vocab_size": config["vocab_size"] + 1}))
    yield shaped, "E0297"
    key = copy("key")
    (key / "config.json").write_text(json.dumps(config | {"odd_key": 1}))
    yield key, "E0294"
    stray = copy("stray-file")
    (stray / "notes.safetensors").write_text("no weights")
    yield stray, None
    blob = work / "sha256-0123"
    shutil.copy(tiny / "qwen3-gguf" / "model.gguf", blob)
    yield blob, None
    pointer = work / "pointer.gguf"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    yield pointer, "E0231"
    quantised = copy("gptq", tiny / "mixtral-gptq-act-order")
    yield quantised, None
    config = json.loads((quantised / "config.json").read_text())
    wrong = copy("gptq-symmetric", quantised)
    config["quantization_config"]["sym"] = not config["quantization_config"].get("sym", True)
    (wrong / "config.json").write_text(json.dumps(config))
    yield wrong, ...


def run(*command):
    done = subprocess.run([ingot, *map(str, command), "--cache", str(work / "cache")], capture_output=True, text=True)
    errors = done.stderr[done.stderr.find("error["):] if "error[" in done.stderr else ""
    return done.returncode, errors


for model, code in cases():
    doctor, compiled = run("doctor", model), run("compile", model, "-o", work / "e.ingot", "--target", "cpu:avx2")
    assert doctor == compiled, (model, doctor, compiled)
    if code is not ...:
        assert (doctor[0] == 0) if code is None else code in doctor[1], (model, code, doctor)
print("doctor and compile agree")

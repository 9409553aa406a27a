"""check_python.py LIBRARIES INGOT CHECKPOINT FOLDER: tests ingot.compile and
ingot.Engine(CHECKPOINT), from the tree."""
import os
import pathlib
import shutil
import subprocess
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python" / "src"))
import ingot  # noqa: E402

libraries, command, checkpoint, folder = sys.argv[1:]
ingot.load_library(pathlib.Path(libraries, "libingot.so.0"))


def refused(code, call):
    try:
        call()
    except ingot.IngotError as error:
        assert error.code == code, error
        return error
    raise AssertionError(f"no {code}")


ids = [72, 101, 108]
with ingot.Engine(checkpoint) as engine:
    answer = engine.generate(ids, max_tokens=8, ignore_eos=True).ids
[kept] = pathlib.Path(os.environ["XDG_CACHE_HOME"], "ingot").glob("*.ingot")
before = kept.stat().st_mtime_ns
with ingot.Engine(checkpoint) as engine:  # the engine is found in the cache
    assert engine.generate(ids, max_tokens=8, ignore_eos=True).ids == answer
assert kept.stat().st_mtime_ns == before
# `ingot run` finds the same engine and prints the same answer.
told = subprocess.run(
    [command, "run", checkpoint, "--prompt-ids", ",".join(map(str, ids)), "-n", "8", "--greedy", "--ignore-eos"],
    capture_output=True, text=True, check=True,
)  # fmt: skip
assert "compiled before" in told.stderr, told.stderr

engine = ingot.compile(checkpoint, quantize="int8", target="cpu:avx2")
assert engine.parent == kept.parent and engine != kept and engine == ingot.compile(checkpoint, quantize="int8", target=["cpu:avx2"])
output = pathlib.Path(folder, "mine.ingot")
assert ingot.compile(checkpoint, output, quantize="int8", target="cpu:avx2", cache=folder) == output
assert output.read_bytes() == engine.read_bytes()

# The compiler's errors become exceptions with its messages, its warnings become Python warnings.
error = refused("E0186", lambda: ingot.compile(checkpoint, quantize="int7"))
assert error.status == 2 and "int7" in error.what and "int8" in error.why and error.fix == "--quantize int4-g64", error
refused("E0595", lambda: ingot.Engine(output, quantize="int8"))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    ingot.compile(checkpoint, output, ignore_keys=["llama.no"], target="cpu:avx2", cache=folder)
assert any("llama.no" in str(warning.message) for warning in caught), caught

# A plugin that crashes ends only the compiler's process.
error = refused(
    "E0438",
    lambda: ingot.compile(
        checkpoint, output, plugins=[pathlib.Path(libraries, "ingot-bad-plugin.so")], insert=["pre-fusion=lm.model(bad-crash)"]
    ),
)
assert "bad-crash" in error.what, error

# Another package folder, with libingot only: it opens engines, but not checkpoints.
alone = pathlib.Path(folder, "alone")
shutil.copytree(pathlib.Path(ingot.__file__).parent, alone / "ingot", ignore=shutil.ignore_patterns("__pycache__"))
shutil.copy(pathlib.Path(libraries, "libingot.so.0"), alone / "ingot")
program = f"""
import ingot
ingot.Engine({str(engine)!r}).close()
try:
    ingot.Engine({checkpoint!r})
except ingot.IngotError as error:
    assert error.code == "E0592" and "not installed" in error.what, error
else:
    raise AssertionError("compiled")
"""
subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": str(alone), "HOME": folder, "PATH": "/nonexistent"}, check=True)

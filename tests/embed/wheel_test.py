"""wheel_test.py BUILD ENGINE: checks that a wheel of the build, installed into an environment outside the tree,
runs an engine there and finds its own libraries."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
build, engine = map(pathlib.Path, sys.argv[1:])

PROGRAM = """
import pathlib, sys
import ingot
from ingot import _compiler, _library
here = pathlib.Path(ingot.__file__).parent
assert here.is_relative_to(sys.prefix), here
with ingot.Engine(sys.argv[1]) as engine:
    print(engine.generate([1, 2, 3], max_tokens=4, ignore_eos=True).ids)
assert _library.library_folder() == here, _library.library_folder()
if sys.argv[2] == "compiler":
    assert _compiler.compiler_library() == here / "lib" / _compiler.NAME
    assert (here / "share/ingot/dialects/lm/LmOps.td").exists()
    try:
        ingot.compile("/nonexistent", "/nonexistent.ingot")
    except ingot.IngotError as error:
        assert error.status == 3 and error.code.startswith("E02"), error # the compiler's own
    else:
        raise AssertionError
"""


def run(*command, **more):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    work = pathlib.Path(folder)
    wheel = run(sys.executable, ROOT / "python" / "make_wheel.py", build, work).strip()
    python = work / "venv" / "bin" / "python"
    # Installing pip into the environment takes seconds: use this Python's pip if it has one (Debian's has none).
    pip = [sys.executable, "-m", "pip", "--python", python] if importlib.util.find_spec("pip") else [python, "-m", "pip"]
    run(sys.executable, "-m", "venv", *(["--without-pip"] if pip[0] != python else []), work / "venv")
    run(*pip, "install", "--no-index", "--disable-pip-version-check", wheel, cwd=work)
    compiler = "compiler" if (build / "lib" / "libingot-compiler.so").exists() else "none"
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    ids = run(python, "-I", "-c", PROGRAM, engine.resolve(), compiler, cwd=work, env=clean)
    assert ids.count(",") == 3, ids
    print(pathlib.Path(wheel).name, os.path.getsize(wheel) // 1000, "kB,", compiler, ids)

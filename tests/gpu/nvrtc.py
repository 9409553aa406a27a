"""NVRTC from Python: compiles CUDA C++ to cubins, using only ctypes.

Looks for the library as codegen/cuda/Nvrtc.h does, and also where a Python with torch or NVIDIA's wheels keeps
it. Making a cubin needs neither a GPU nor a driver.
"""
import ctypes
import glob
import os
import re
import sys

LIBRARY = "libnvrtc.so.13"


def candidates():
    if os.environ.get("INGOT_NVRTC"):
        return [os.environ["INGOT_NVRTC"]]  # a library named by the user has priority
    found = []
    for folder in sys.path + [os.path.join(os.path.dirname(os.__file__), "site-packages")]:
        found += glob.glob(os.path.join(folder, "nvidia", "*", "lib", LIBRARY))
    return list(dict.fromkeys(found)) + [LIBRARY]


class Nvrtc:
    """Raises OSError with the last reason if no library loads. `path`: a library that was found before."""

    def __init__(self, path=None):
        for path in [path] if path else candidates():
            try:
                # NVRTC opens the builtins library by name: it finds it if it is already loaded.
                for builtins in glob.glob(os.path.join(os.path.dirname(path) or "/nowhere", "libnvrtc-builtins.so*")):
                    ctypes.CDLL(builtins, ctypes.RTLD_GLOBAL)
                self.library = ctypes.CDLL(path)
                self.path = path
                return
            except OSError as error:
                problem = error
        raise OSError(f"{LIBRARY}: {problem}; `pip install nvidia-cuda-nvrtc==13.0.88`, or name it in INGOT_NVRTC")

    def _read(self, program, kind):
        size = ctypes.c_size_t()
        if getattr(self.library, f"nvrtcGet{kind}Size")(program, ctypes.byref(size)) or not size.value:
            return b""
        memory = ctypes.create_string_buffer(size.value)
        getattr(self.library, f"nvrtcGet{kind}")(program, memory)
        return memory.raw

    def compile(self, source, name, options):
        """Returns (cubin, log); the cubin is None if the source has an error. `ptx` is the input of ptxas."""
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), f"{name}.cu".encode(), 0, None, None)
        chosen = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        code = self.library.nvrtcCompileProgram(program, len(options), chosen)
        log = self._read(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        cubin = self._read(program, "CUBIN") if code == 0 else None
        self.ptx = self._read(program, "PTX").decode(errors="replace") if code == 0 else ""
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return cubin, log


def resources(log):
    """Parses the output of ptxas -v into {symbol: {"registers", "spills"}}."""
    found, symbol = {}, None
    for line in log.splitlines():
        named = re.search(r"Compiling entry function '(\w+)'|Function properties for (\w+)", line)
        if named:
            symbol = named[1] or named[2]
        spilled = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line)
        if spilled:
            found.setdefault(symbol, {})["spills"] = int(spilled[1]) + int(spilled[2])
        used = re.search(r"Used (\d+) registers", line)
        if used:
            found.setdefault(symbol, {})["registers"] = int(used[1])
    return found

"""Compiles the emulator's test kernels with NVRTC for real GPUs: the same source is also device code.

  nvrtc_compile.py --venv build/venv

Needs neither a GPU nor a driver. NVRTC is the Python package nvidia-cuda-nvrtc of tests/requirements.txt; without it
the test is skipped (exit 77). A warning from NVRTC or ptxas fails the test like an error.
"""
import argparse
import ctypes
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = sorted((ROOT / "tests/emulator/kernels").glob("*.cu"))
ARCHITECTURES = ["sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a", "sm_121a"]
SKIPPED = 77

# Kernels that each architecture must have: a guard that hides too much would otherwise pass.
EXPECTED = {
    "gemm": (["gemm"], ARCHITECTURES),
    "stream": (["stream_gemv"], ["sm_90a", "sm_100a", "sm_120a", "sm_121a"]),
    "cluster": (["cluster_sum", "cluster_ring"], ["sm_90a", "sm_100a", "sm_120a", "sm_121a"]),
    "tensor": (["tensor_box", "tensor_ring"], ["sm_90a", "sm_100a", "sm_120a", "sm_121a"]),
    "wgmma": (["wgmma_64x16", "wgmma_64x24_rs"], ["sm_90a"]),
}
# sm_120 supports multicast, but ptxas warns that other architectures do it better.
HARMLESS = ["'.multicast::cluster' modifier"]


class Nvrtc:
    """The few calls that the test needs. The builtins library is loaded first, because NVRTC looks it up by name."""

    def __init__(self, folder):
        ctypes.CDLL(str(next(folder.glob("libnvrtc-builtins.so.*"))), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(next(folder.glob("libnvrtc.so.*"))))

    def compile(self, path, architecture):
        """Returns (exit status, log, cubin)."""
        call, program, size = self.library, ctypes.c_void_p(), ctypes.c_size_t()
        call.nvrtcCreateProgram(ctypes.byref(program), path.read_bytes(), path.name.encode(), 0, None, None)
        options = [f"--gpu-architecture={architecture}", f"-I{ROOT / 'codegen/cuda/device'}", "--std=c++17",
                   "-default-device", "--fmad=false", "-diag-suppress=177"]
        array = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        status = call.nvrtcCompileProgram(program, len(options), array)
        call.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        call.nvrtcGetProgramLog(program, log)
        cubin = b""
        if status == 0:
            call.nvrtcGetCUBINSize(program, ctypes.byref(size))
            buffer = ctypes.create_string_buffer(size.value)
            call.nvrtcGetCUBIN(program, buffer)
            cubin = buffer.raw
        call.nvrtcDestroyProgram(ctypes.byref(program))
        return status, log.value.decode(), cubin


def problems_of(name, architecture, status, log, cubin):
    if status:
        return [f"error {status}"]
    lines = [line for line in log.splitlines() if not any(text in line for text in HARMLESS)]
    problems = [line for line in lines if "warning" in line.lower() or "Performance Loss" in line or "(C75" in line]
    kernels, architectures = EXPECTED.get(name, ([], []))
    for kernel in kernels:
        present = b".text." + kernel.encode() + b"\0" in cubin
        if present != (architecture in architectures):
            problems.append(f"{kernel} is {'there' if present else 'missing'}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", type=pathlib.Path, required=True)
    options = parser.parse_args()
    folder = next(options.venv.glob("lib/python3*/site-packages/nvidia/cu13/lib"), None)
    if not folder:
        print(f"skipped: no nvidia-cuda-nvrtc in {options.venv} (./dev setup installs it)")
        return SKIPPED
    nvrtc, failed, seconds, slowest = Nvrtc(folder), 0, 0.0, (0.0, "")
    for path in KERNELS:
        for architecture in ARCHITECTURES:
            start = time.time()
            status, log, cubin = nvrtc.compile(path, architecture)
            took = time.time() - start
            seconds, slowest = seconds + took, max(slowest, (took, f"{path.name} for {architecture}"))
            if problems := problems_of(path.stem, architecture, status, log, cubin):
                failed += 1
                print(f"{path.name} for {architecture}: {'; '.join(problems)}\n{log}")
    count = len(KERNELS) * len(ARCHITECTURES)
    print(f"{count} programs in {seconds:.1f} s, the slowest {slowest[1]} {slowest[0]:.2f} s, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Measures the peak rates of this GPU, using only its driver: one JSON object per line.

Device copies (bytes read and written), a streaming read (peers.py has the products, which
need a library), and how many clusters of blocks as large as ours fit at once. The kernels
are a cubin in the same folder; nothing is compiled here.

    ceilings.py [--cubin F] [--bytes N] [--library F]
"""
import argparse
import ctypes
import json
import pathlib
import statistics
import sys

SOURCE = """
extern "C" __global__ void read_all(const uint4 *from, unsigned long long pieces, unsigned *to) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  unsigned sum = 0;
  unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (; at + 7 * step < pieces; at += 8 * step) {
    uint4 held[8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
      asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(held[i].x), "=r"(held[i].y), "=r"(held[i].z), "=r"(held[i].w) : "l"(from + at + i * step));
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sum ^= held[i].x ^ held[i].y ^ held[i].z ^ held[i].w;
  }
  for (; at < pieces; at += step)
    sum ^= from[at].x;
  if (sum == 0x9e3779b9u) // nobody knows that it never is
    *to = sum;
}
extern "C" __global__ void one_block_a_processor(unsigned *to) {
  extern __shared__ unsigned memory[];
  memory[threadIdx.x] = threadIdx.x;
  if (to)
    *to = memory[0];
}
"""
SHARED = 224 * 1024  # bytes per block of the large products, one block per SM
THREADS = 384
ATTRIBUTES = {
    "clock_khz": 13, "processors": 16, "memory_clock_khz": 36, "memory_bus_bits": 37, "l2_bytes": 38, "major": 75,
    "minor": 76, "shared_a_block": 97
}


class Config(ctypes.Structure):  # CUlaunchConfig
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint)]


class Attribute(ctypes.Structure):  # CUlaunchAttribute: a number, then 64 bytes of value
    _fields_ = [("number", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint * 16)]


class Cuda:
    """The driver's calls; a failed one raises an error with its name and number."""
    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self("cuDeviceGet", ctypes.byref(device), 0)
        self.device = device.value
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self("cuCtxSetCurrent", context)

    def __call__(self, name, *values):
        code = getattr(self.library, name)(*values)
        if code:
            raise RuntimeError(f"{name}: error {code}")

    def number(self, name, *values, kind=ctypes.c_int):
        found = kind()
        self(name, ctypes.byref(found), *values)
        return found.value

    def name(self):
        text = ctypes.create_string_buffer(256)
        self("cuDeviceGetName", text, 255, self.device)
        return text.value.decode(errors="replace")

    def allocate(self, size):
        return ctypes.c_uint64(self.number("cuMemAlloc_v2", ctypes.c_size_t(size), kind=ctypes.c_uint64))

    def seconds(self, work, runs=7):
        """Median of `runs` after one warm-up run, timed by events around each."""
        begin, end = (ctypes.c_void_p(self.number("cuEventCreate", 0, kind=ctypes.c_void_p)) for _ in range(2))
        found = []
        for _ in range(runs + 1):
            self("cuEventRecord", begin, None)
            work()
            self("cuEventRecord", end, None)
            self("cuEventSynchronize", end)
            found.append(self.number("cuEventElapsedTime", begin, end, kind=ctypes.c_float) / 1e3)
        return statistics.median(found[1:])


def put(**fields):
    print(json.dumps(fields), flush=True)


def bandwidth(cuda, size, kernel, processors):
    first, second = cuda.allocate(size), cuda.allocate(size)
    for memory, byte in ((first, 0x5a), (second, 0xa5)):
        cuda("cuMemsetD8_v2", memory, ctypes.c_ubyte(byte), ctypes.c_size_t(size))
    seconds = cuda.seconds(lambda: cuda("cuMemcpyDtoDAsync_v2", second, first, ctypes.c_size_t(size), None))
    put(ceiling="copy", bytes=2 * size, gb_s=2 * size / seconds / 1e9)
    values = (ctypes.c_uint64(first.value), ctypes.c_ulonglong(size // 16), ctypes.c_uint64(second.value))
    pointers = (ctypes.c_void_p * 3)(*[ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values])
    best = None
    for blocks in (2, 4, 8):
        work = lambda: cuda("cuLaunchKernel", kernel, processors * blocks, 1, 1, 256, 1, 1, 0, None, pointers, None)
        seconds = cuda.seconds(work)
        best = min(best or seconds, seconds)
    put(ceiling="read", bytes=size, gb_s=size / best / 1e9)


def clusters(cuda, kernel):
    cuda("cuFuncSetAttribute", kernel, 8, SHARED)  # MAX_DYNAMIC_SHARED_SIZE_BYTES
    for blocks in (1, 2, 4, 8):
        attribute = Attribute(number=4, value=(blocks, 1, 1))  # CLUSTER_DIMENSION
        config = Config((blocks * 64, 1, 1), (THREADS, 1, 1), SHARED, None, ctypes.addressof(attribute), 1)
        most = cuda.number("cuOccupancyMaxActiveClusters", kernel, ctypes.byref(config))
        put(ceiling="clusters", blocks=blocks, shared_bytes=SHARED, at_once=most, processors_used=most * blocks)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cubin", type=pathlib.Path, default=pathlib.Path(__file__).parent / "ceilings.cubin")
    parser.add_argument("--bytes", type=int, default=1 << 32, help="of each of two buffers")
    parser.add_argument("--library", default="libcuda.so.1")
    options = parser.parse_args()
    cuda = Cuda(options.library)
    facts = {name: cuda.number("cuDeviceGetAttribute", number, cuda.device) for name, number in ATTRIBUTES.items()}
    put(ceiling="device", name=cuda.name(), driver=cuda.number("cuDriverGetVersion"), **facts)
    module = ctypes.c_void_p(cuda.number("cuModuleLoadData", options.cubin.read_bytes(), kind=ctypes.c_void_p))
    function = lambda name: ctypes.c_void_p(
        cuda.number("cuModuleGetFunction", module, name.encode(), kind=ctypes.c_void_p))
    failed = 0
    for what, work in (("bandwidth",
                        lambda: bandwidth(cuda, options.bytes, function("read_all"), facts["processors"])),
                       ("clusters", lambda: clusters(cuda, function("one_block_a_processor")))):
        try:
            work()
        except (RuntimeError, AttributeError) as error:
            put(ceiling=what, error=str(error))
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())

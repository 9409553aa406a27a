#!/usr/bin/env python3
"""Compiles kernels with other tuning macros on this machine, times them, and reports the best.

    sweep.py FOLDER [--kernels GLOB …] [--tokens 1,8] [--knob NAME=V,V …] [--out rows.jsonl]
             [--jobs N] [--limit SECONDS]

FOLDER is the output of write-cuda-kernels (texts and kernels.json), with codegen/cuda/device/*.cuh in FOLDER/device
or in --headers. Needs Python 3, libnvrtc.so.13 (nvrtc.py) and libcuda.so.1, and no package.

A knob is a macro of device/tuning.cuh: NAME=V becomes -DNAME=V. Without --knob those of PLAN
are tried. Symbols are compiled one by one, in parallel processes. Each is timed in a separate process, with graphs of
launches over so many copies of its weights that L2 does
not keep them. Every variant is written as a line of --out as soon as it is known:

    {"kernel", "symbol", "tokens", "knobs", "us", "gb_s", "registers", "spills", "error"}

A variant that hangs or dies is recorded with its error, and the rest goes on. --dry-run
only compiles (us: null). The best are written to standard output as rows: the key is kernel,
symbol and tokens; the other fields are informative.
"""
import argparse
import concurrent.futures
import ctypes
import fnmatch
import functools
import itertools
import json
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import nvrtc  # noqa: E402

# Cartesian products of values, by the suffix of a symbol. The first variant is the unchanged kernel.
DEPTHS, LEAST_BLOCKS, EVICT = (2, 3, 4, 6, 8, 12), (2, 3, 4, 5), (0, 1)
PLAN = {r"_(few|t\d+)$": [{"INGOT_DEPTH": DEPTHS}, {"INGOT_MIN_BLOCKS": LEAST_BLOCKS}, {"INGOT_EVICT": EVICT},
                          {"INGOT_DEPTH": DEPTHS, "INGOT_MIN_BLOCKS": LEAST_BLOCKS}],
        r"_t\d+$": [{"INGOT_X_PITCH": (64, 128, 256)}],
        r"_prefill$": [{"INGOT_EVICT": EVICT}],
        r"_wgmma\w*$": [{"INGOT_STAGES": (2, 3, 4, 5, 6), "INGOT_EVICT": EVICT}, {"INGOT_STAGES": (2, 3, 4, 5, 6)}]}
COLD_BYTES = 240 << 20  # of weights per graph: several times the size of L2
MOST_COPIES, LEAST_NODES, MOST_NODES = 64, 16, 128
TIMED_SECONDS, MOST_TIMES = 0.03, 200  # per graph
SETUP_SECONDS = 30  # to start a process and make its operands
MOST_PITCH = 512  # bytes that INGOT_X_PITCH may put between rows
POSITION = 100  # the position of every token in its sequence
SEQUENCE_PAGES = 8


# ---------------------------------------------------------------- variants

def products(choices):
    names = list(choices)
    return [dict(zip(names, values)) for values in itertools.product(*choices.values())]


def knobs_of(symbol, plan):
    """The combinations to try: {} first."""
    tried = [{}]
    for ending, choices in plan:
        if re.search(ending, symbol):
            tried += products(choices)
    return [knobs for at, knobs in enumerate(tried) if knobs not in tried[:at]]


def alone(text, symbol):
    """The program with only one of its kernels."""
    def keep(found):
        return found[0] if found[1] == symbol else ""
    return re.sub(r"^KERNEL void(?:(?!^KERNEL void).)*?^EXPORT_KERNEL\((\w+)\)$", keep, text, flags=re.M | re.S)


def compile_variant(source, symbol, options, knobs, cubin_path):
    """Returns ({"registers", "spills", "error"}, shared bytes if a macro determines them);
    writes the cubin to the path."""
    defines = [f"-D{name}={value}" for name, value in knobs.items()]
    own = re.search(r"static_assert\(INGOT_STAGES \|\| (.+) == \d+\);", source)
    if own:
        source += f"\nextern \"C\" __device__ int sweep_shared = {own[1]};\n"
    library = nvrtc.Nvrtc()
    cubin, log = library.compile(source, symbol, [*options, *defines])
    if cubin is None:
        error = next((line for line in log.splitlines() if "error" in line), log)
        return {"registers": None, "spills": None, "error": error}, None
    pathlib.Path(cubin_path).write_bytes(cubin)
    used = nvrtc.resources(log).get(symbol, {})
    shared = re.search(r"sweep_shared = (\d+)", library.ptx)
    return {"registers": used.get("registers"), "spills": used.get("spills"), "error": None}, shared and int(shared[1])


def known(knobs, headers):
    """The macros that a header has: any other would change nothing."""
    texts = "".join(path.read_text() for path in pathlib.Path(headers).glob("*.cuh"))
    missing = [name for name in knobs if not re.search(rf"\b{name}\b", texts)]
    for name in missing:
        print(f"no header knows {name}: left out", file=sys.stderr)
    return [name for name in knobs if name not in missing]


# ---------------------------------------------------------------- the driver

class DriverError(Exception):
    pass


class KernelNode(ctypes.Structure):  # CUDA_KERNEL_NODE_PARAMS_v3, as runtime/device/cuda/LibcudaApi.h has it
    _fields_ = [("function", ctypes.c_void_p), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
                ("shared", ctypes.c_uint), ("arguments", ctypes.c_void_p), ("extra", ctypes.c_void_p),
                ("kernel", ctypes.c_void_p), ("context", ctypes.c_void_p)]


class NodeParams(ctypes.Structure):  # CUgraphNodeParams; type 0: a kernel
    class Union(ctypes.Union):
        _fields_ = [("bytes", ctypes.c_longlong * 29), ("kernel", KernelNode)]
    _fields_ = [("type", ctypes.c_int), ("reserved", ctypes.c_int * 3), ("of", Union), ("last", ctypes.c_longlong)]


assert ctypes.sizeof(KernelNode) == 72 and ctypes.sizeof(NodeParams) == 256 and NodeParams.of.offset == 16


class Driver:
    """libcuda.so.1: memory, modules, graphs, events. Uses one context, on this thread."""

    def __init__(self, path):
        self.cu = ctypes.CDLL(path)
        self.call("cuInit", 0)
        device, self.context, self.stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 256, device)
        self.name = name.value.decode()

    def call(self, function, *arguments):
        code = getattr(self.cu, function)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self.cu.cuGetErrorName(code, ctypes.byref(text))
            raise DriverError(f"{function}: {(text.value or b'error').decode()} ({code})")

    def wait(self):
        self.call("cuStreamSynchronize", self.stream)

    def allocate(self, size, pattern=None):
        """Allocates `size` bytes filled with copies of the pattern, or with zeros."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        address = address.value
        if pattern is None:
            self.call("cuMemsetD8Async", ctypes.c_uint64(address), ctypes.c_ubyte(0), ctypes.c_size_t(size),
                      self.stream)
        else:
            done = min(len(pattern), size)
            self.call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), pattern, ctypes.c_size_t(done), self.stream)
            while done < size:  # doubled on the device
                more = min(done, size - done)
                self.call("cuMemcpyDtoDAsync_v2", ctypes.c_uint64(address + done), ctypes.c_uint64(address),
                          ctypes.c_size_t(more), self.stream)
                done += more
        self.wait()
        return address

    def load(self, image, symbol, shared):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadDataEx", ctypes.byref(module), image, 0, None, None)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, symbol.encode())
        if shared > 48 << 10:
            self.call("cuFuncSetAttribute", function, 8, shared)
        return module, function

    def tensor_map(self, address, rows, row_bytes, box_rows):
        """A tensor map of bf16 rows in boxes of 64 values, with 128-byte swizzle."""
        memory = ctypes.create_string_buffer(128 + 64)
        place = (ctypes.addressof(memory) + 63) // 64 * 64
        self.call("cuTensorMapEncodeTiled", ctypes.c_void_p(place), 9, 2, ctypes.c_void_p(address),
                  (ctypes.c_uint64 * 2)(row_bytes // 2, rows), (ctypes.c_uint64 * 1)(row_bytes),
                  (ctypes.c_uint32 * 2)(64, box_rows), (ctypes.c_uint32 * 2)(1, 1), 0, 3, 2, 0)
        return memory, place

    def graph(self, function, variant, grid, launches):
        """Consecutive launches, each with its arguments; one begins as soon as its predecessor allows it."""
        graph, executable, before = ctypes.c_void_p(), ctypes.c_void_p(), None
        self.call("cuGraphCreate", ctypes.byref(graph), 0)
        edge = (ctypes.c_ubyte * 8)(1, 0, 1) if variant["overlap"] else (ctypes.c_ubyte * 8)()
        for arguments in launches:
            params = NodeParams()
            params.of.kernel = KernelNode(function, (*grid, 1), (variant["threads"], 1, 1), variant["shared"],
                                          ctypes.cast(arguments, ctypes.c_void_p), None, None, None)
            node = ctypes.c_void_p()
            after = (ctypes.c_void_p * 1)(before) if before else None
            self.call("cuGraphAddNode_v2", ctypes.byref(node), graph, after, edge if before else None,
                      ctypes.c_size_t(1 if before else 0), ctypes.byref(params))
            if variant["cluster"] > 1:
                self.call("cuGraphKernelNodeSetAttribute", node, 4, (ctypes.c_uint * 18)(variant["cluster"], 1, 1))
            before = node.value
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
        self.call("cuGraphDestroy", graph)
        return executable

    def seconds(self, executable, times):
        events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in events:
            self.call("cuEventCreate", ctypes.byref(event), 0)
        self.call("cuEventRecord", events[0], self.stream)
        for _ in range(times):
            self.call("cuGraphLaunch", executable, self.stream)
        self.call("cuEventRecord", events[1], self.stream)
        self.call("cuEventSynchronize", events[1])
        taken = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(taken), *events)
        for event in events:
            self.call("cuEventDestroy_v2", event)
        return taken.value / 1000


# ---------------------------------------------------------------- operands

@functools.cache
def pattern(element, size=1 << 20):
    """Random bits that are finite numbers in every format: bf16 and f32 of about 1; no
    infinities as codes, f16 or fp8."""
    keep, add = {"bf16": ("7f80", "003f"), "f32": ("ffff7f80", "0000003f")}.get(element, ("bf", "00"))
    count = size * 2 // len(keep)
    number = int.from_bytes(os.urandom(size), "big") & int(keep * count, 16) | int(add * count, 16)
    return number.to_bytes(size, "big")


class Operands:
    """Memory of a kernel's operands for a step of `tokens` tokens, with several copies of its weights."""

    def __init__(self, driver, described, kernel, tokens):
        self.driver, self.tokens, self.kernel = driver, tokens, kernel
        weights = sum(o["bytes"] for o in kernel["operands"] if o["kind"] == "weight")
        self.weight_bytes = weights
        self.copies = max(1, min(MOST_COPIES, -(-COLD_BYTES // max(weights, 1))))
        limit = -(-tokens // 256) * 256  # whole tiles, because kernels read past the last row
        self.places, self.rows = [], limit
        for operand in kernel["operands"]:
            copies = self.copies if operand["kind"] == "weight" else 1
            self.places.append([self.make(operand, limit) for _ in range(copies)])
        self.batch = self.make_batch(described["batch"])

    def make(self, operand, limit):
        kind = operand["kind"]
        if kind == "rows":
            element = operand["element"]
            zeros = element == "key"
            return self.driver.allocate(limit * (operand["row_bytes"] + MOST_PITCH), None if zeros else pattern(element))
        if kind == "weight":
            return self.driver.allocate(operand["bytes"], pattern(operand["format"]))
        if kind == "vector":
            return self.driver.allocate(operand["bytes"], pattern("f32"))
        if kind == "pool":
            size = operand["page_bytes"] * self.tokens * SEQUENCE_PAGES
            return self.driver.allocate(size, pattern(operand["element"]))
        return self.driver.allocate(operand["bytes"])

    def ints(self, values):
        return self.driver.allocate(max(4 * len(values), 16), (ctypes.c_int32 * max(len(values), 4))(*values))

    def make_batch(self, layout):
        """Makes every token the next one of a separate sequence."""
        count = range(self.tokens)
        own = {"tokens": self.tokens, "sequences": self.tokens, "rows": self.tokens,
               "ids": self.ints([1] * self.tokens), "positions": self.ints([POSITION] * self.tokens), 
               "sequenceOf": self.ints(list(count)), "rowTokens": self.ints(list(count)),
               "blockTableStride": SEQUENCE_PAGES,
               "blockTable": self.ints(list(range(self.tokens * SEQUENCE_PAGES)))}
        image = bytearray(layout["bytes"])
        for name, value in own.items():
            image[layout[name]:layout[name] + 8] = value.to_bytes(8, "little")
        return self.driver.allocate(len(image), bytes(image))

    def launches(self, variant):
        """The arguments of one launch per copy of the weights, and the objects that keep them alive."""
        alive, made = [], []
        maps = []
        for of in variant["maps"]:
            address = self.places[of["operand"]][0]
            memory, place = self.driver.tensor_map(address, self.rows, of["row_bytes"], of["box_rows"])
            alive.append(memory)
            maps.append(place)
        for copy in range(self.copies):
            values = [places[copy % len(places)] for places in self.places] + [self.batch]
            held = (ctypes.c_uint64 * len(values))(*values)
            pointers = [ctypes.addressof(held) + 8 * i for i in range(len(values))] + maps
            arguments = (ctypes.c_void_p * len(pointers))(*pointers)
            alive += [held, arguments]
            made.append(arguments)
        return made, alive


def grid_of(variant, tokens):
    extents = []
    for extent in variant["grid"]:
        base = 1 if extent["base"] == "one" else tokens
        extents.append(-(-base * extent["multiply"] // extent["divide"]))
    extents[0] = -(-extents[0] // variant["cluster"]) * variant["cluster"]
    return extents


def time_variant(driver, operands, variant, image, tokens):
    """Seconds per launch, the minimum of three."""
    module, function = driver.load(image, variant["symbol"], variant["shared"])
    launches, alive = operands.launches(variant)
    nodes = (launches * -(-LEAST_NODES // len(launches)))[:MOST_NODES]
    executable = driver.graph(function, variant, grid_of(variant, tokens), nodes)
    driver.seconds(executable, 1)
    times = min(max(1, int(TIMED_SECONDS / max(driver.seconds(executable, 1), 1e-6))), MOST_TIMES)
    best = min(driver.seconds(executable, times) for _ in range(3)) / times / len(nodes)
    driver.call("cuGraphExecDestroy", executable)
    driver.call("cuModuleUnload", module)
    del alive
    return best


def time_all(job):
    """The child's work: prints a line when it starts a variant, and one with its result."""
    described = json.loads(pathlib.Path(job["described"]).read_text())
    kernel = next(k for k in described["kernels"] if k["name"] == job["kernel"])
    variant = next(v for v in kernel["variants"] if v["symbol"] == job["symbol"])
    driver = Driver(job["libcuda"])
    operands = Operands(driver, described, kernel, job["tokens"])
    print(json.dumps({"ready": True}), flush=True)
    for number, cubin, shared in job["cubins"]:
        print(json.dumps({"begin": number}), flush=True)
        image = pathlib.Path(job["stand_in"] or cubin).read_bytes()
        seconds = time_variant(driver, operands, {**variant, "shared": shared}, image, job["tokens"])
        print(json.dumps({"number": number, "us": round(seconds * 1e6, 3), "device": driver.name,
                          "gb_s": round(operands.weight_bytes / seconds / 1e9, 1) if seconds else None}), flush=True)


# ---------------------------------------------------------------- the sweep

class Lines:
    """Lines of a process's output. None at its end, or after the given number of seconds."""

    def __init__(self, process):
        self.process, self.rest = process, b""

    def next(self, limit):
        end = time.monotonic() + limit
        while b"\n" not in self.rest:
            ready = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]
            read = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not read:
                return None
            self.rest += read
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)


def run_child(job, limit):
    """Yields (number, result) of each variant. If one hangs or dies, reports that and
    continues after it in a new process."""
    left = list(job["cubins"])
    while left:
        with tempfile.TemporaryFile() as errors:
            child = subprocess.Popen([sys.executable, __file__, "--child", json.dumps({**job, "cubins": left})],
                                     stdout=subprocess.PIPE, stderr=errors)
            lines, current = Lines(child), None
            while (line := lines.next(limit if current is not None else limit + SETUP_SECONDS)) is not None:
                if "begin" in line:
                    current = line["begin"]
                elif "number" in line:
                    yield line["number"], line
                    left = [item for item in left if item[0] != line["number"]]
                    current = None
            hung = child.poll() is None and not wait(child, 1)
            if hung:
                child.kill()
            code = child.wait()
            if not left:
                return
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip().splitlines()
            why = (f"no answer in {limit} s" if hung else
                   f"died of signal {-code}" if code < 0 else (said or ["ended"])[-1])
            gone = left if current is None else [item for item in left if item[0] == current]
            for number, *_ in gone:
                yield number, {"error": why}
            left = [item for item in left if item not in gone]


def wait(child, seconds):
    try:
        child.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False


def chosen_variants(described, globs, tokens):
    """(kernel, variant, tokens) of the matching projections: for each token count, the
    variant that a step of that size uses."""
    for kernel in described["kernels"]:
        if kernel["kind"] == "attention" or not any(fnmatch.fnmatch(kernel["name"], glob) for glob in globs):
            continue
        for count in tokens:
            variant = next((v for v in kernel["variants"] if count <= v.get("most", count)), None)
            if variant:
                yield kernel, variant, count


def sweep(chosen):
    folder = chosen.folder
    described = json.loads((folder / "kernels.json").read_text())
    options = described["options"] + ["-I", str(chosen.headers)]
    given = {name: values.split(",") for name, values in (knob.split("=", 1) for knob in chosen.knob)}
    plan = [("", given)] if given else [(ending, choices) for ending, of in PLAN.items() for choices in of]
    names = known(list(dict.fromkeys(name for _, choices in plan for name in choices)), chosen.headers)
    plan = [(ending, {name: values for name, values in choices.items() if name in names}) for ending, choices in plan]
    rows, device = [], None
    with tempfile.TemporaryDirectory() as work, open(chosen.out, "w", encoding="utf-8") as out, \
            concurrent.futures.ProcessPoolExecutor(chosen.jobs) as pool:
        work_items = []
        for number, (kernel, variant, tokens) in enumerate(chosen_variants(described, chosen.kernels, chosen.tokens)):
            source = alone((folder / kernel["text"]).read_text(), variant["symbol"])
            jobs = []
            for at, knobs in enumerate(knobs_of(variant["symbol"], plan)):
                path = os.path.join(work, f"{number}-{at}.cubin")
                job = pool.submit(compile_variant, source, variant["symbol"], options, knobs, path)
                jobs.append((knobs, path, job))
            work_items.append((kernel, variant, tokens, jobs))
        for kernel, variant, tokens, jobs in work_items:
            own = [{"kernel": kernel["name"], "symbol": variant["symbol"], "tokens": tokens, "knobs": knobs, "us": None,
                    "gb_s": None, **job.result()[0]} for knobs, _, job in jobs]
            cubins = [(at, path, job.result()[1] or variant["shared"]) for at, (_, path, job) in enumerate(jobs)
                      if own[at]["error"] is None]
            timed = set()
            if not chosen.dry_run and cubins:
                job = {"described": str(folder / "kernels.json"), "kernel": kernel["name"], "symbol": variant["symbol"],
                       "tokens": tokens, "libcuda": chosen.libcuda, "stand_in": chosen.stand_in, "cubins": cubins}
                for at, result in run_child(job, chosen.limit):
                    device = result.get("device", device)
                    own[at].update({name: result[name] for name in ("us", "gb_s", "error") if name in result})
                    timed.add(at)
                    print(json.dumps(own[at]), file=out, flush=True)
            for at, row in enumerate(own):
                if at not in timed:
                    print(json.dumps(row), file=out, flush=True)
            rows.append(own)
    return rows, device


def best_rows(rows, device):
    """Rows in JSON: per device and key, the best macros, and what they improve on."""
    best = []
    for own in rows:
        measured = [row for row in own if row["us"] is not None]
        if not measured:
            continue
        first, fastest = own[0], min(measured, key=lambda row: row["us"])
        best.append({"kernel": fastest["kernel"], "symbol": fastest["symbol"], "tokens": fastest["tokens"],
                     **fastest["knobs"], "measured_us": fastest["us"], "as_is_us": first["us"],
                     "registers": fastest["registers"]})
    lines = ",\n".join(f"  {json.dumps(row)}" for row in best)
    return '{"gpu": {"name": %s},\n "rows": [\n%s]}' % (json.dumps(device), lines)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--child":
        time_all(json.loads(sys.argv[2]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--headers", type=pathlib.Path, help="FOLDER/device unless given")
    parser.add_argument("--kernels", nargs="+", default=["*"], help="globs over names as 8b-int4_g64-down")
    parser.add_argument("--tokens", type=lambda text: [int(n) for n in text.split(",")], default=[1, 8])
    parser.add_argument("--knob", action="append", default=[], help="NAME=V,V …; products of all that are given")
    parser.add_argument("--out", default="sweep.jsonl")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=20, help="seconds for a variant on the device")
    parser.add_argument("--dry-run", action="store_true", help="compile alone")
    parser.add_argument("--libcuda", default="libcuda.so.1")
    parser.add_argument("--stand-in", help="for tests: what is loaded instead of every cubin")
    chosen = parser.parse_args()
    chosen.headers = chosen.headers or chosen.folder / "device"
    rows, device = sweep(chosen)
    print(best_rows(rows, device))
    count = sum(len(own) for own in rows)
    errors = sum(row["error"] is not None for own in rows for row in own)
    print(f"{count} variants of {len(rows)} kernels, {errors} with errors", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

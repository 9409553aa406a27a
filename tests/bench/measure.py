"""Single measurements: one call, one process, one figure. What they mean is in docs/benchmarks.md.

`Bench` knows where everything is: programs, the peers' environments, checkpoints, engines. Engines and checkpoints
with dummy weights are kept in the work folder between runs; an engine is compiled again if its checkpoint or the
compiler is newer.
"""
import json
import math
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE / "peers"))

from peers import PARALLEL_NEW, PARALLEL_PROMPT  # noqa: E402  (peers/peers.py)
from shapes import SHAPES  # noqa: E402

PEER_NAMES = {"llama": "llama.cpp", "ik": "ik_llama.cpp", "openvino": "OpenVINO GenAI", "vllm": "vLLM bf16"}
# shapes.py makes these GGUFs.
DUMMY = {"1b-q4_0": ("1b", "Q4_0"), "1b-q8_0": ("1b", "Q8_0"), "7b-a1b-q4_0": ("7b-a1b", "Q4_0"),
           "7b-a1b-qwen3moe-q4_0": ("7b-a1b-qwen3moe", "Q4_0"),
           **{f"1b-{kind.lower()}": ("1b", kind)
              for kind in ("Q2_K", "Q3_K", "Q4_1", "Q4_K", "Q5_K", "Q6_K", "IQ3_S", "IQ4_XS", "MXFP4", "BF16")}}
# Configurations of shapes.py, whose weights the runtime generates, and further options of `ingot compile`.
SEEDED = {"1b-nf4": (("1b", "nf4"), []), "1b-int4-g64": (("1b",), ["--quantize", "int4-g64"])}
LONGEST = 900  # seconds a measurement may take
START_PROMPT = 16  # ids of the start-to-first-token measurement


def say(text):
    print(text, file=sys.stderr, flush=True)


class Failed(Exception):
    """A program ended with an error; the text has its name and its last output."""


@dataclass
class Figure:
    value: float
    also: dict = field(default_factory=dict)  # further figures of the measurement


def check_exit(command, code, written):
    """Raises Failed if a program failed. `written` is what it wrote. Tables show the last line of the error: the
    program's own, or the signal that ended it."""
    words, last = " ".join(map(str, command)), written[-1500:]
    if code < 0:
        raise Failed(f"{words}\n{last}\nended by {signal.Signals(-code).name}")
    if code:
        raise Failed(f"{words}: exit code {code}\n{last}")


def run(*command, cwd=None, errors=False):
    """Standard output, or with `errors` standard error."""
    try:
        done = subprocess.run([str(x) for x in command], capture_output=True, text=True, cwd=cwd, timeout=LONGEST,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(map(str, command))}: not done after {LONGEST} s") from None
    check_exit(command, done.returncode, done.stderr)
    return done.stderr if errors else done.stdout


def run_counted(*command):
    """(seconds from start to end of the process, its largest resident memory in bytes)."""
    with tempfile.TemporaryFile() as output:
        start = time.monotonic()
        process = subprocess.Popen([str(x) for x in command], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        check_exit(command, process.returncode, output.read().decode(errors="replace"))
    return seconds, usage.ru_maxrss * 1024


def weights_of(ingot, engine):
    """The weights of an engine for one kind of device."""
    program, = json.loads(run(ingot, "inspect", engine, "--json"))["programs"]
    return program["weights"]


class Bench:
    def __init__(self, ingot, checkpoints, work, peers, shapes_python, isa=None):
        """`peers`: {name: python} of the installed ones; for ik_llama.cpp the folder of its programs.
        `shapes_python` can import gguf; called when it is needed. `isa`: the CPU level of Ingot's figures."""
        self.ingot, self.checkpoints, self.work, self.isa = ingot.resolve(), checkpoints, work, isa
        self.peers, self.shapes_python = peers, shapes_python
        self.limits_program = self.build_limits()
        self.tables = {}

    # ------------------------------------------------------------ limits

    def build_limits(self):
        if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
            say("==> this CPU has no AVX2, which limits.c is made of: no shares of limits")
            return None
        program, source = self.work / "limits", HERE / "peers" / "limits.c"
        if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
            run("clang-22", "-O3", "-march=native", "-funroll-loops", "-pthread", source, "-o", program)
        return program

    def limits(self):
        """The current {"mapped_read_GBps", "int8_TOPS"} of all threads, or None."""
        return json.loads(run(self.limits_program, "quick", cwd=self.work)) if self.limits_program else None

    # ------------------------------------------------------------ checkpoints and engines

    def checkpoint(self, name):
        if name in SEEDED:
            return self.config(*SEEDED[name][0]) / "config.json"
        if name in DUMMY:
            path = self.work / f"{name}.gguf"
            if not path.exists():
                say(f"==> making {path}")
                run(self.shapes_python(), HERE / "peers" / "shapes.py", "gguf", *DUMMY[name], path)
            return path
        return (self.checkpoints / f"{name}.gguf").resolve()

    def config(self, shape, method=""):
        """A folder with the config.json of a shape, written again if shapes.py is newer; its engine is then compiled
        again, too."""
        folder = self.work / f"{shape}{method}-config"
        folder.mkdir(exist_ok=True)
        written, source = folder / "config.json", HERE / "peers" / "shapes.py"
        if not written.exists() or written.stat().st_mtime < source.stat().st_mtime:
            run(sys.executable, source, "config", shape, written, *([method] if method else []))
        return folder

    def engine(self, name, kv=None):
        """The engine of a checkpoint, with the default type of KV or the one given."""
        path, checkpoint = self.work / f"{name}{'-kv-' + kv if kv else ''}.ingot", self.checkpoint(name)
        sources = [checkpoint, self.ingot, *(self.ingot.parent.parent / "lib").glob("libingot-compiler.so")]
        if not path.exists() or any(source.stat().st_mtime > path.stat().st_mtime for source in sources):
            say(f"==> compiling {path.name}")
            run(self.ingot, "compile", checkpoint, "-o", path, "--quiet", *(["--kv", kv] if kv else []),
                *(["--weights", "random", *SEEDED[name][1]] if name in SEEDED else []))
        return path

    def weights(self, name):
        """The engine's weights, as `ingot inspect` lists them."""
        if name not in self.tables:
            self.tables[name] = weights_of(self.ingot, self.engine(name))
        return self.tables[name]

    def share(self, name, weight):
        """The fraction of a weight that a token uses: less than 1 for experts."""
        shape = SHAPES[DUMMY[name][0]] if name in DUMMY else {}
        return shape["used"] / shape["experts"] if len(weight["shape"]) == 3 else 1

    def step_bytes(self, name):
        """Bytes of weights that a step of one token reads: only the experts that it is routed to and, if the head is a
        separate matrix, one row of the embeddings."""
        weights = {weight["name"]: weight for weight in self.weights(name)}
        total = sum(weight["size"] * self.share(name, weight) for weight in weights.values())
        return total - (weights["token_embd"]["size"] if "output" in weights else 0)

    def token_operations(self, name):
        """Operations per token of a prompt: a multiplication and an addition for each number of the layers'
        matrices."""
        return sum(2 * math.prod(weight["shape"]) * self.share(name, weight) for weight in self.weights(name)
                   if len(weight["shape"]) >= 2 and weight["name"] not in ("token_embd", "output"))

    def kv_types(self):
        """Types of the KV cache that `ingot compile` offers on CPUs, except f32, which is for `exact`."""
        found = re.search(r"--kv \S+\s+(.*)", run(self.ingot, "compile", "--help"))
        offered = found.group(1).split("on GPUs")[0] if found else ""
        return [kv for kv in ("f16", "bf16", "int8") if re.search(rf"\b{kv}\b", offered)]

    # ------------------------------------------------------------ figures

    def bench(self, engine, *arguments):
        """[median tokens per second of each test]"""
        rows = json.loads(run(self.ingot, "bench", engine, "--format", "json", "--quiet", *map(str, arguments),
                              *(["--isa", self.isa] if self.isa else [])))
        return [row["tokens_per_s"] for row in rows]

    def ik(self, name, test, reps):
        """Tokens per second of a test of ik_llama.cpp: tgN, ppN, 'tgN @ bB', parallelR, or 'tgN @ dD' after D
        positions. The faster of two runs, with weights as in the file and repacked by the program (-rtr); which one it
        is depends on the format."""
        kind, count, at, many = re.fullmatch(r"(pp|tg|parallel)(\d+)(?: @ ([bd])(\d+))?", test).groups()
        count, many = int(count), int(many or 0)
        model = ["-m", self.checkpoint(name), "-t", os.cpu_count()]

        def table(program, repack, *arguments):
            """The last row: {column: figure}."""
            lines = [line for line in run(self.peers["ik"] / program, *model, *arguments, *(["-rtr"] if repack else []),
                                          cwd=self.work, errors=True).splitlines() if line.startswith("|")]
            names, *_, last = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
            return dict(zip(names, map(float, last)))

        def once(repack):
            if kind == "parallel":
                row = table("llama-batched-bench", repack, "-c", count * (PARALLEL_PROMPT + PARALLEL_NEW), "-npp",
                            PARALLEL_PROMPT, "-ntg", PARALLEL_NEW, "-npl", count)
                return count * PARALLEL_NEW / row["T s"]
            if at == "b":
                return table("llama-batched-bench", repack, "-c", many * (16 + count), "-npp", 16, "-ntg", count, "-npl",
                             many)["S_TG t/s"]
            if at == "d":
                # Each row is a prompt of 512 and new ids after the previous rows; the last one begins at that depth.
                return table("llama-sweep-bench", repack, "-c", many + 512, "-ub", 512, "-n", count)["S_TG t/s"]
            row, = json.loads(run(self.peers["ik"] / "llama-bench", *model, "-p", count if kind == "pp" else 0, "-n",
                                  0 if kind == "pp" else count, "-r", reps, "-rtr", int(repack), "-o", "json"))
            return row["avg_ts"]

        return max(once(repack) for repack in (False, True))

    def peer(self, peer, name, *tests, reps=3):
        """[tokens per second of each test]"""
        if peer == "ik":
            return [self.ik(name, test, reps) for test in tests]
        model = self.config("135m" if name == "smollm2" else "1b") if peer == "vllm" else self.checkpoint(name)
        # A library may write to standard output as well; the figures are its last line.
        lines = run(self.peers[peer], HERE / "peers" / "peers.py", peer, model, "--reps", reps, *tests).splitlines()
        figures = json.loads(lines[-1])
        return [figures[test] for test in tests]

    def first_token(self, name):
        """Seconds from the start of the process to its end after one new id, page cache warm."""
        engine = self.engine(name)
        ids = ["--prompt-ids", ",".join(["504"] * START_PROMPT)]
        prompt = ids if name in DUMMY else [" ".join(["one"] * (START_PROMPT - 1))]
        seconds = [run_counted(self.ingot, "run", engine, *prompt, "-n", "1", "--greedy", "--quiet")[0]
                   for _ in range(6)]
        return Figure(statistics.median(seconds[1:]))

    def compile(self, model, *arguments):
        """Seconds, and also the peak resident memory and the largest tensor, which the bar needs."""
        engine = self.work / "compiled.ingot"
        try:
            seconds, peak = run_counted(self.ingot, "compile", model, "-o", engine, "--quiet", *arguments)
            weights = weights_of(self.ingot, engine)
        finally:
            engine.unlink(missing_ok=True)
        os.sync()  # the next measurement must not compete with its writes
        return Figure(seconds, {"peak_bytes": peak, "largest_tensor_bytes": max(weight["size"] for weight in weights)})

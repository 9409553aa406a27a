"""The parts of a GPU run, most valuable first. docs/gpu-measuring.md explains each part; report.py reads the lines."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass

from runner import Part, Unable

HERE = pathlib.Path(__file__).resolve().parent
IDS = [1, 2, 3, 40, 5, 6, 70, 8, 9, 10, 11, 12]  # a prompt


@dataclass(frozen=True)
class Plan:
    """What is run, and how much of it. `FULL` is for a GPU; `DRY` runs the same code with shapes for the
    emulator."""
    device: str
    torch_device: str
    beside_cpu: tuple  # engines with code for both
    answers: tuple  # engines whose ids are compared between ways of launching
    new_ids: int
    repeats: int
    checked: tuple  # engines whose kernels are compared with naive ones, at real shapes
    check: tuple  # options of check-kernels
    replay_limit: int  # seconds per symbol
    served: str
    server: tuple       # options of ingot serve
    loads: tuple  # (users, requests, prompt ids, new ids)
    kernels: tuple  # (engine, options of ingot bench-kernels)…
    bench: tuple  # (engine, options of ingot bench)…
    knobs: tuple  # (engine, options of ingot bench)…, for tuning macros
    peers: tuple  # options of peers.py
    ceilings: tuple  # options of ceilings.py


def decode(engine):
    """The commands of one engine: prompts, decode batches, and decode batches after 1,024
    positions. Each is a separate process: a process allocates memory for its largest test, and one that dies does not
    lose other tests."""
    return ((engine, "-p 512,2048,8192 -n 128 -r 3"), (engine, "-p 0 -n 32 --batch 8,16,32,64,128,256 -r 2"),
            (engine, "-p 0 -n 32 --batch 1,8,32,64,128,256 --depth 1024 -r 1"))


def deep(engine):
    return ((engine, "-p 512 -n 32 --depth 8192 -r 2"), (engine, "-p 0 -n 32 --batch 8,32 --depth 8192 -r 1"))


def alone(engine):
    """Each kernel by itself, at every size of the predictions. 12 sizes take about 20 seconds."""
    return engine, ("--edges programmatic --tokens 1,2,4,8,16,32,64,128,256,512,2048,8192 "
                    "--context 128,1024,8192,32768 --repeats 10")


FULL = Plan(device="cuda",
            torch_device="cuda",
            beside_cpu=("tiny-int4", "tiny-fp8", "135m", "135m-int8"),
            answers=("8b-int4", "1b", "8b", "8b-fp8", "8b-int4-kv8", "1b-int4", "135m"),
            new_ids=64,
            repeats=20,
            checked=("8b-int4", "8b-fp8-kv8", "8b", "8b-int4-kv8"),
            check=("--limit", "10"),
            replay_limit=20,
            served="8b-fp8-kv8",
    server=("--max-batch-tokens", "2048"),
            loads=((64, 64, 1000, 200), (256, 256, 1000, 1000)),
            kernels=(*map(alone, ("8b-int4", "8b", "8b-fp8", "1b", "8b-int4-kv8")),
                     ("8b-int4", "--edges both --tokens 1,32 --context 1024 --repeats 10")),
            bench=(*decode("8b-int4"), *decode("8b"), *decode("8b-fp8"), ("1b", "-p 512 -n 128 --batch 1,8,64 -r 3"),
                   *deep("8b"), *deep("8b-int4-kv8"), ("1b-int4", "-p 512 -n 128 --batch 1,8,64 -r 3")),
            knobs=(("8b-int4", "-p 0 -n 128 --batch 1,32 -r 3"), ("1b", "-p 0 -n 128 --batch 1,32 -r 3")),
            peers=(),
            ceilings=())
DRY = Plan(device="cuda-emulator",
           torch_device="cpu",
           beside_cpu=("tiny-int4", ),
           answers=("tiny-int4", ),
           new_ids=4,
           repeats=2,
           checked=("tiny-int4", ),
           check=("--limit", "300", "--tokens", "1,9", "--contexts", "70"),
           replay_limit=300,
           served="tiny-int4",
    server=("--max-batch-tokens", "64", "--kv-memory", "16M"),
           loads=((2, 4, 20, 4), ),
           kernels=(("tiny-int4", "--edges both --tokens 1,20 --decode-up-to 8 --context 40 --repeats 1"), ),
           bench=(("tiny-int4", "-p 70 -n 2 -r 1"), ("tiny-int4", "-p 0 -n 2 --batch 2,3 --depth 16 -r 1")),
           knobs=(("tiny-int4", "-p 0 -n 2 -r 1"), ),
           peers=("--shape", "tiny"),
           ceilings=("--bytes", "65536"))

WAYS = {"full edges": ("--gpu-edges", "full"), "launches": ("--gpu-graphs", "off")}
KNOBS = {
    "as it is": (), "full edges": ("--gpu-edges", "full"), "launches": ("--gpu-graphs", "off"),
    "carveout 100": ("--gpu-carveout", "100")
}


class Parts:
    """`python_environment` is the environment of scripts, which use the machine's own libraries, not the
    bundle's."""
    def __init__(self, plan, work, python_environment, libcuda, torch_device):
        self.plan, self.work, self.python_environment, self.libcuda = plan, work, python_environment, libcuda
        self.torch_device = torch_device or plan.torch_device
        self.ingot = HERE / "bin" / "ingot"

    def list(self):
        """The parts in order of value. The limits add up to more than a run has: most parts need less, and the
        last ones may be dropped."""
        return [
            Part("ceilings", 60, self.ceilings),
            Part("replay", 75, self.replay),
            Part("check", 75, self.check),
            Part("answers", 110, self.answers, 10),
            Part("serve", 75, self.serve, 20),
            Part("kernels", 150, self.kernels, 15),
            Part("bench", 150, self.bench, 15),
            Part("knobs", 60, self.knobs, 10),
            Part("peers", 60, self.peers, 10)
        ]

    # --------------------------------------------------------- engines and time

    def engine(self, name):
        file = HERE / "engines" / f"{name}.ingot"
        return file if file.exists() else None

    def engines(self, names):
        found = [(name, self.engine(name)) for name in names]
        if not any(file for _, file in found):
            raise Unable(f"no engine of {', '.join(names)} is in this bundle")
        return [(name, file) for name, file in found if file]

    def program(self, name):
        file = HERE / "bin" / name
        if not file.exists():
            raise Unable(f"bin/{name} is not in this bundle")
        return file

    def share(self, run, of):
        """The time for each of `of` commands, out of the part's remaining time; unused time goes to the next
        ones."""
        return run.left() / run.patience / of

    # ------------------------------------------------------------ parts

    def ceilings(self, run):
        self.clocks(run, "before")
        run.command("driver", [
            sys.executable, HERE / "ceilings.py", *(("--library", self.libcuda) if self.libcuda else
                                                    ()), *self.plan.ceilings
        ],
                    limit=20,
                    environment=self.python_environment)
        if has_torch(self.python_environment):
            run.command("library", self.torch("--only", "limits"), environment=self.python_environment)
        else:
            run.write(missing="torch")

    def clocks(self, run, when):
        program = shutil.which("nvidia-smi")
        if not program:
            return run.write(when=when, missing="nvidia-smi")
        names = ("name,driver_version,memory.total,clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem,"
                 "temperature.gpu,power.draw,power.limit")
        done = subprocess.run([program, f"--query-gpu={names}", "--format=csv,noheader,nounits"],
                              capture_output=True,
                              text=True,
                              timeout=20)
        values = [value.strip() for value in (done.stdout.splitlines() or [""])[0].split(",")]
        return run.write(when=when, gpu=dict(zip(names.split(","), values)))

    def replay(self, run):
        program, files = self.program("replay-launches"), []
        for packed in sorted((HERE / "launches").glob("*.bin")):
            files.append(packed)
        if not files:
            raise Unable("no launches are in this bundle")
        command = [program, "--device", self.plan.device, "--limit", self.plan.replay_limit, *files]
        run.command("all launches", command, limit=0.7 * run.left() / run.patience)
        sanitizer = shutil.which("compute-sanitizer") or next(
            (path for path in ("/usr/local/cuda/bin/compute-sanitizer", ) if os.path.exists(path)), None)
        if not sanitizer:
            return run.write(missing="compute-sanitizer")
        for tool, most in (("memcheck", 30), ("racecheck", 10)):
            run.command(tool, [
                sanitizer, "--tool", tool, "--target-processes", "all", "--error-exitcode", "9", *command, "--most",
                most
            ],
                        limit=self.share(run, 2 if tool == "memcheck" else 1))
        return None

    def check(self, run):
        program, engines = self.program("check-kernels"), self.engines(self.plan.checked)
        for index, (name, file) in enumerate(engines):
            command = [
                program, file, "--reference", HERE / "references" / f"{name}.bin", "--device", self.plan.device,
                *self.plan.check
            ]
            run.command(name, command, limit=self.share(run, len(engines) - index), engine=name)

    def answers(self, run):
        """Compares results with the CPU's; then checks that the ids are the same for every way of launching, in
        batches, and in repeated runs."""
        for name, file in self.engines(self.plan.beside_cpu):
            self.beside_cpu(run, name, file)
        for name, file in self.engines(self.plan.answers):
            self.same_ids(run, name, file)

    def beside_cpu(self, run, name, file):
        nll = {}
        for device in ("cpu", self.plan.device):
            done = run.command(f"{name} score on {device}", [
                self.ingot, "score", file, "--ids", ",".join(map(str, IDS)), "--json", "--context", 64, "--device",
                device
            ],
                               limit=30,
                               engine=name)
            nll[device] = done.lines[0].get("nll") if done and done.lines else None
        ours, cpus = nll[self.plan.device], nll["cpu"]
        if ours and cpus:
            run.write(engine=name, beside_cpu=max(abs(a - b) for a, b in zip(ours, cpus)))

    def ids(self, run, name, file, way, prompts, options, limit=30):
        """The lists of ids of the answers; None if it fails."""
        source = self.work / "prompts.jsonl"
        source.write_text((json.dumps({"prompt_ids": IDS}) + "\n") * prompts)
        done = run.command(f"{name} {way}", [
            self.ingot, "run", file, "--device", self.plan.device, "--prompts-file", source, "-n", self.plan.new_ids,
            "--greedy", "--ignore-eos", "--json", "--context", 256, *options
        ],
                           limit=limit,
                           engine=name,
                           way=way)
        return [line["ids"] for line in done.lines if "ids" in line] if done else None

    def same_ids(self, run, name, file):
        # The first way is unchanged, with one sequence at a time. The last way takes all sequences in one step of at
        # most 64 tokens, whose kernels guarantee the same bits.
        many, trace = self.plan.repeats, ("--trace", self.work / "trace.json")
        ways = [("graphs, again and again", many, ("--max-seqs", "1", "--no-prefix-cache")),
                *((way, 1, options) for way, options in WAYS.items()), ("trace", 1, trace),
                ("side by side", many, ("--max-seqs", many, "--max-batch-tokens", "64", "--no-prefix-cache"))]
        first = None
        for way, prompts, options in ways:
            found = self.ids(run, name, file, way, prompts, options)
            first = first or found
            if found:
                others = [ids for ids in found if ids != first[0]]
                run.write(engine=name,
                          way=way,
                          answers=len(found),
                          different=len(others),
                          at=min((parting(first[0], ids) for ids in others), default=None))

    def serve(self, run):
        (name, file), = self.engines((self.plan.served, ))
        most = max(users for users, *_ in self.plan.loads)
        positions = max(prompt + new for _, _, prompt, new in self.plan.loads) + 64
        log = self.work / "server.log"
        command = [
            self.ingot, "serve", file, "--device", self.plan.device, "--model-name", "m", "--max-seqs", most,
            "--queue", most, "--context", positions, "--log", "none", *self.plan.server
        ]
        start = time.monotonic()
        with serving(command, log, run) as url:
            run.write(engine=name, served="ready", seconds=round(time.monotonic() - start, 2))
            answer = ask(url, {"model": "m", "prompt": IDS, "max_tokens": 4, "temperature": 0, "ignore_eos": True})
            run.write(engine=name, served="one answer", usage=answer.get("usage"))
            for users, requests, prompt, new in self.plan.loads:
                before = latencies(url)
                bodies = self.work / "bodies.jsonl"
                bodies.write_text("".join(
                    json.dumps({"prompt": prompt_ids(number, prompt), "max_tokens": new}) + "\n"
                    for number in range(requests)))
                done = run.command(f"{users} users", [
                    self.ingot, "bench-serve", url, "--users", users, "--requests", requests, "--prompts", bodies,
                    "--ignore-eos", "--temperature", 0, "--percentiles", "50,99", "--quiet", "--json", "-"
                ],
                                   engine=name,
                                   users=users,
                                   prompt=prompt,
                                   new=new)
                # Without a tokenizer there is no text, so the client sees no first token;
                # use the server's own timings.
                run.write(engine=name, users=users, prompt=prompt, new=new, server=means(before, latencies(url)))
                if done and any(line.get("failed") for line in done.lines):
                    run.failures += 1
            if done.end == "done":
                run.write(engine=name, served="metrics", steps=metrics(url).get("ingot:steps_total"))

    def kernels(self, run):
        wanted = [(name, options) for name, options in self.plan.kernels if self.engine(name)]
        for index, (name, options) in enumerate(wanted):
            run.command(f"{name} {options}", [
                self.ingot, "bench-kernels",
                self.engine(name), "--device", self.plan.device, "--format", "jsonl", *options.split()
            ],
                        limit=self.share(run,
                                         len(wanted) - index),
                        engine=name)

    def measure(self, run, name, file, options, **fields):
        chunk = 2048 if self.plan.device == "cuda" else 64
        command = [
            self.ingot, "bench", file, "--device", self.plan.device, "--format", "jsonl", "--max-batch-tokens", chunk,
            *options
        ]
        words = " ".join(map(str, options))
        return run.command(f"{name} {words}", command, engine=name, options=words, **fields)

    def bench(self, run):
        for name, options in self.plan.bench:
            if self.engine(name):
                self.measure(run, name, self.engine(name), options.split())

    def knobs(self, run):
        for name, options in self.plan.knobs:
            for knob, more in KNOBS.items():
                if self.engine(name):
                    self.measure(run, name, self.engine(name), [*options.split(), *more], knob=knob)

    def peers(self, run):
        if not has_torch(self.python_environment):
            raise Unable("this python3 has no torch")
        run.command("torch", self.torch(), environment=self.python_environment)

    def torch(self, *options):
        return [sys.executable, HERE / "peers.py", "--device", self.torch_device, *self.plan.peers, *options]


# ---------------------------------------------------------------- ids


def parting(one, other):
    """The position where two lists of ids first differ; None if they are equal."""
    if one == other:
        return None
    return next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def prompt_ids(number, length):
    """Prompts of different numbers differ in the first id, so that no prefix is shared."""
    return [3 + (number * 7919 + 31 * i * i + 17 * i) % 997 for i in range(length)]


def has_torch(environment):
    try:
        return subprocess.run([sys.executable, "-c", "import torch"], env=environment, capture_output=True,
                              timeout=60).returncode == 0
    except subprocess.TimeoutExpired:
        return False


# ---------------------------------------------------------------- a server


@contextlib.contextmanager
def serving(command, log, run):
    """Yields the server's address. The server ends with the block and must not end before."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with open(log, "w") as output:
        process = subprocess.Popen([*map(str, command), "--port", str(port)],
                                   stdin=subprocess.DEVNULL,
                                   stdout=output,
                                   stderr=output,
                                   env=run.environment,
                                   start_new_session=True)
    try:
        while not is_up(url):
            if process.poll() is not None or run.left() < 1:
                raise RuntimeError(f"the server does not answer: {log.read_text(errors='replace')[-800:]}")
            time.sleep(0.05)
        yield url
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}: {log.read_text(errors='replace')[-800:]}")
    finally:
        for kind in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, kind)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)


def is_up(url):
    try:
        with urllib.request.urlopen(f"{url}/v1/models", timeout=2) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def ask(url, body):
    request = urllib.request.Request(f"{url}/v1/completions",
                                     json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        raise RuntimeError(
            f"the first request was answered {error.code}: {error.read()[:500].decode(errors='replace')}") from None


def metrics(url):
    """{name: sum over its labels} from /metrics."""
    found = {}
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        for line in answer.read().decode().splitlines():
            if line and not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                name = name.partition("{")[0]
                found[name] = found.get(name, 0) + float(value)
    return found


CLOCKS = {
    "ttft_ms": "vllm:time_to_first_token_seconds", "itl_ms": "vllm:inter_token_latency_seconds",
    "step_ms": "ingot:step_time_seconds"
}


def latencies(url):
    found = metrics(url)
    return {key: (found.get(f"{name}_sum", 0), found.get(f"{name}_count", 0)) for key, name in CLOCKS.items()}


def means(before, after):
    """Mean milliseconds of the events between the two."""
    return {
        key: round(1e3 * (after[key][0] - before[key][0]) / count, 3) for key in after
        if (count := after[key][1] - before[key][1]) > 0
    }

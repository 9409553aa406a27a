"""Servers to load: ours and the peers', each a child process that ends with its `with`. docs/benchmarks.md lists their
options."""
import contextlib
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Callable

from measure import HERE, Failed

READY = 400  # seconds; vLLM compiles its model first


@dataclass(frozen=True)
class Contestant:
    """`command` takes (port, concurrent sequences, positions of each)."""
    name: str
    command: Callable
    environment: dict = field(default_factory=dict)


def ingot(program, engine, queue):
    return Contestant("Ingot", lambda port, sequences, positions: [
        program, "serve", engine, "--port", port, "--model-name", "m", "--max-seqs", sequences, "--context", positions,
        "--queue", queue, "--log", "none"])


def llama(python, checkpoint):
    return Contestant("llama.cpp", lambda port, sequences, positions: [
        python, HERE / "peers" / "llama_server.py", checkpoint, port, sequences, positions])


def vllm(python, folder, name, **environment):
    """Its command line requires a distribution named vllm, but the CPU wheel has another name; so this runs the
    server's module."""
    return Contestant(name, lambda port, sequences, positions: [
        python, "-m", "vllm.entrypoints.openai.api_server", "--model", folder, "--port", port, "--host", "127.0.0.1",
        "--served-model-name", "m",
        "--dtype", "bfloat16", "--max-num-seqs", sequences, "--max-model-len", positions],
                      {"VLLM_CPU_KVCACHE_SPACE": "2", **environment})


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


@contextlib.contextmanager
def serving(contestant, log, sequences, positions):
    """(address, seconds until it was ready). The whole process group ends: vLLM has children."""
    port, start = free_port(), time.monotonic()
    command = [str(part) for part in contestant.command(port, sequences, positions)]
    url = f"http://127.0.0.1:{port}"
    with open(log, "w") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                   start_new_session=True,
                                   env={**os.environ, **contestant.environment})
    try:
        while not answers(f"{url}/v1/models"):
            if process.poll() is not None or time.monotonic() - start > READY:
                said = log.read_text(errors="replace")[-1500:]
                raise Failed(f"{contestant.name} does not serve: {' '.join(command)}\n{said}")
            time.sleep(0.02)
        yield url, time.monotonic() - start
    finally:
        stop(process)


def stop(process):
    """Ends the whole process group, with children that outlive their parent."""
    for kill in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, kill)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)

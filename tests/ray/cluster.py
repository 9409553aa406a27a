"""A small private Ray cluster, for tests and measurements on a shared machine."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "python" / "src"
sys.path.insert(0, str(SOURCE))
sys.path.append(str(ROOT / "tests" / "e2e"))
import signals  # noqa: E402

signals.default_in_children()


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class Cluster:
    """Ray and its HTTP proxy, for use in a `with`. Its processes are children of this one and end with it."""

    def __init__(self, work):
        self.work = pathlib.Path(work).resolve()
        self.port = free_port()

    def __enter__(self):
        os.environ["PYTHONPATH"] = str(SOURCE)  # for the workers
        for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ENABLE_UV_RUN_RUNTIME_ENV"):
            os.environ.setdefault(name, "0")
        os.environ.setdefault("PYTHONWARNINGS", "ignore")  # Ray's own warnings, hundreds of them
        os.environ.setdefault("RAY_SERVE_LOG_TO_STDERR", "0")
        import ray
        from ray import serve

        self.work.mkdir(parents=True, exist_ok=True)
        self.ray, self.serve = ray, serve
        # CPUs are Ray's unit of placement; the processes use as many threads as they are configured with.
        context = ray.init(num_cpus=16, object_store_memory=100 << 20, include_dashboard=False, log_to_driver=False,
                           namespace="serve", configure_logging=False, _node_ip_address="127.0.0.1")
        self.address = context.address_info["gcs_address"]
        serve.start(http_options={"host": "127.0.0.1", "port": self.port})
        return self

    def __exit__(self, *_):
        self.serve.shutdown()
        self.ray.shutdown()

    def deploy(self, engines, **more):
        from ingot.ray import build_app

        self.serve.run(build_app({"engines": engines, "ingress_cpus": 0.1, **more}), name="ingot", route_prefix="/")

    def remove(self):
        self.serve.delete("ingot")

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def request(self, method, path, body=None, headers=None):
        return request(self.port, method, path, body, headers)


def request(port, method, path, body=None, headers=None):
    """Returns (status, headers in lower case, bytes)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    if isinstance(body, (dict, list)):
        body = json.dumps(body)
    connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, data


class Direct:
    """`ingot serve` alone, for use in a `with`."""

    def __init__(self, program, engine, *options, name="m"):
        self.command = [str(program), "serve", str(engine), "--port", "0", "--model-name", name, "--log", "none", *map(str, options)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            if found := re.search(r"serving on http://.*:(\d+)", line):
                self.port = int(found[1])
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return self
        raise RuntimeError("".join(said))

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()


def children(pid, name):
    """The descendants of `pid` that are called `name`: (pid, its parent)."""
    table = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                stat = (entry / "stat").read_text()
                end = stat.rindex(")")
                table[int(entry.name)] = (int(stat[end + 2 :].split()[1]), stat[stat.index("(") + 1 : end], (entry / "cmdline").read_bytes())
    below, found = {pid}, []
    grown = True
    while grown:
        more = {one for one, (parent, _, _) in table.items() if parent in below} - below
        below |= more
        grown = bool(more)
    for one in sorted(below - {pid}):
        if name in table[one][2].decode(errors="replace") or name in table[one][1]:
            found.append(one)
    return found


def wait_until(true, seconds, what):
    start = time.monotonic()
    while not (value := true()):
        if time.monotonic() - start > seconds:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)
    return value

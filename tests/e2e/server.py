"""`ingot serve` as a child process, and a client that uses only HTTP."""
import contextlib
import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import time


class Server:
    """Started in a `with`; ended by SIGTERM (exit code 0) unless the check has ended it."""

    def __init__(self, ingot, engine, *options, name="m"):
        self.log = ingot.work / "serve.log"
        self.command = [ingot.path, "serve", str(engine), "--port", "0", "--model-name", name, *map(str, options)]
        self.port = 0
        self.patience = 120  # the time that an answer may take

    def __enter__(self):
        start = time.monotonic()
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(self.command, stderr=log, stdout=log)
        while not self.port:
            said = re.search(r"serving on \w+://.*:(\d+)", self.log.read_text())
            if said:
                self.port = int(said[1])
            assert self.process.poll() is None, f"the server ended at once: {self.log.read_text()}"
            assert time.monotonic() - start < 60, f"the server does not come up: {self.log.read_text()}"
            time.sleep(0.005)
        self.ready_after = time.monotonic() - start
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = "none within 60 s of SIGTERM"
        if kind is None:
            assert code == 0, f"exit code {code}: {self.log.read_text()[-2000:]}"

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.patience)

    def request(self, method, path, body=None, headers=None, connection=None):
        """Returns (status, headers, body as JSON if it is JSON)."""
        own = connection or self.connect()
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        own.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
        answer = own.getresponse()
        text = answer.read()
        if connection is None:
            own.close()
        with contextlib.suppress(ValueError):
            return answer.status, answer.headers, json.loads(text)
        return answer.status, answer.headers, text.decode(errors="replace")

    def post(self, path, body, **more):
        return self.request("POST", path, body, **more)

    def get(self, path):
        return self.request("GET", path)

    def complete(self, prompt, **fields):
        status, _, answer = self.post("/v1/completions", {"prompt": prompt, "temperature": 0, **fields})
        assert status == 200, f"{status}: {answer}"
        return answer

    def metric(self, name):
        """The sum of a metric's samples."""
        _, _, text = self.get("/metrics")
        found = re.findall(rf"^{re.escape(name)}(?:\{{[^}}]*\}})? (\S+)$", text, re.M)
        assert found, f"no metric {name}"
        return sum(float(value) for value in found)

    def idle(self, seconds=20):
        """Waits until nothing is in progress; returns the seconds it took."""
        start = time.monotonic()
        while True:
            under_way = self.metric("vllm:num_requests_running") + self.metric("vllm:num_requests_waiting")
            took = time.monotonic() - start
            if not under_way:
                return took
            assert took < seconds, f"{under_way} requests are still under way after {seconds} s"
            time.sleep(0.01)


class Stream:
    """A streamed completion on its own socket, read event by event."""

    def __init__(self, server, prompt, path="/v1/completions", **fields):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=server.patience)
        body = {"prompt": prompt, "stream": True, "temperature": 0, **fields}
        if path.startswith("/v1/chat"):
            body["messages"] = [{"role": "user", "content": body.pop("prompt")}]
        text = json.dumps(body).encode()
        self.socket.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                            f"Content-Length: {len(text)}\r\n\r\n".encode() + text)
        self.held = b""
        self.status = 0
        self.headers = {}

    def leave(self):
        self.socket.close()

    def _line(self):
        while b"\n" not in self.held:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError(f"the stream ended: {self.held[-200:]!r}")
            self.held += data
        line, self.held = self.held.split(b"\n", 1)
        return line.rstrip(b"\r")

    def head(self):
        if not self.status:
            self.status = int(self._line().split()[1])
            while line := self._line().decode():
                name, value = line.split(":", 1)
                self.headers[name.lower()] = value.strip()
        return self.status

    def events(self):
        """Yields each event's JSON, until [DONE]."""
        assert self.head() == 200, f"status {self.status}: {self.held!r}"
        while True:
            line = self._line()
            if line == b"data: [DONE]":
                self.socket.close()
                return
            if line.startswith(b"data: "):
                event = json.loads(line[6:])
                yield event
                if "error" in event:
                    self.socket.close()
                    return

    def text(self):
        parts = []
        for event in self.events():
            assert "error" not in event, event
            for choice in event["choices"]:
                parts.append(choice.get("text") or choice.get("delta", {}).get("content") or "")
        return "".join(parts)

"""A replica's upstream: `ingot serve` as a child process, or the same server inside the replica's own process.

This module does not import Ray. ingot.ray's replicas use it. Both upstreams take the options of
`ingot serve` and answer HTTP requests with a head and pieces of a body. The bytes are the server's
own, so an answer through Ray is equal to that of `ingot serve`.
"""
from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
from typing import Any, AsyncIterator, Dict, List, Mapping, NamedTuple, Optional, Tuple

from ._library import IngotError

Headers = List[Tuple[str, str]]

# Options that a replica sets itself, or that belong to the ingress.
RESERVED = {
    "host", "port", "model", "model-name", "api-key", "api-key-file", "tls-cert", "tls-key", "allowed-host",
    "allowed-origin",
}  # fmt: skip


class Head(NamedTuple):
    status: int
    headers: Headers
    whole: bool  # the first piece is the whole body


class UpstreamGone(Exception):
    """Raised if the server has ended or is ending. Another server may answer."""


def command_options(options: Mapping[str, Any]) -> List[str]:
    """Turns {"max-seqs": 16, "fair": True, "kv-memory": ["1G"]} into options of `ingot serve`."""
    out: List[str] = []
    for name, value in options.items():
        name = str(name).replace("_", "-")
        if name in RESERVED:
            raise IngotError(2, "E0597", f"the option --{name} is not a replica's to set", "ingot.ray sets it, or its ingress has it",
                             "see docs/ray.md for names of models and keys")  # fmt: skip
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                out.append(f"--{name}")
            elif one is not False and one is not None:
                out += [f"--{name}", str(one)]
    return out


_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl  # looked up here, because the child of a process with threads must load nothing


def _die_with_parent() -> None:
    """Runs in the child, so that a killed replica leaves no server behind."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def find_program(given: Optional[str]) -> str:
    here = pathlib.Path(__file__).resolve()
    beside = [here.with_name("bin") / "ingot", *(parent / "build" / "bin" / "ingot" for parent in list(here.parents)[3:4])]
    found = shutil.which(given or "ingot") or next((str(place) for place in beside if given is None and place.exists()), None)
    if found is None:
        raise IngotError(
            3, "E0568", f"there is no {given or 'ingot'} on this machine", "a replica of kind process starts `ingot serve`",
            "install it on the PATH of every node, give program, or take kind: inside",
        )  # fmt: skip
    return found


class ServeProcess:
    """`ingot serve` on a loopback port, protected by a private key. Ends with its replica."""

    def __init__(self, engine: pathlib.Path, name: str, alias: str, options: Mapping[str, Any], program: Optional[str] = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ingot-ray-")
        work = pathlib.Path(self._folder.name)
        self._key = secrets.token_urlsafe(32)
        keys = work / "keys"
        keys.touch(mode=0o600)
        keys.write_text(self._key + "\n")
        # Requests may name a model by its file's name, but the file has another name in the cache.
        engine_place = work / f"{alias}{engine.suffix}"
        engine_place.symlink_to(engine.resolve())
        command = [find_program(program), "serve", str(engine_place), "--host", "127.0.0.1", "--port", "0",
                   "--model-name", name, "--api-key-file", str(keys)]  # fmt: skip
        options = {"log": "none", **{str(key).replace("_", "-"): value for key, value in options.items()}}
        self._last_lines: List[str] = []
        self._port: "asyncio.Future[int]"
        self._process = subprocess.Popen(
            [*command, *command_options(options)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, errors="replace", preexec_fn=_die_with_parent,
        )  # fmt: skip
        self._session: Any = None
        self._base = ""
        self._stopping = False

    async def start(self) -> None:
        import aiohttp

        loop = asyncio.get_running_loop()
        self._port = loop.create_future()
        threading.Thread(target=self._listen, args=(loop,), daemon=True).start()
        port = await self._port
        self._base = f"http://127.0.0.1:{port}"
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10), auto_decompress=False, read_bufsize=1 << 20,
        )  # fmt: skip

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Copies the server's output to the replica's log, and reads the port from it."""
        assert self._process.stderr is not None
        serving = False
        for line in self._process.stderr:
            print(line, end="", flush=True)
            self._last_lines = [*self._last_lines[-20:], line]
            if not serving and (found := re.search(r"serving on http://127\.0\.0\.1:(\d+)", line)):
                serving = True
                self._folder.cleanup()  # its files have been read, and a killed replica would leave them behind
                loop.call_soon_threadsafe(self._port.set_result, int(found[1]))
        code = self._process.wait()
        if not serving:
            error = _error_of(code, "".join(self._last_lines))
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._port.set_exception, error)
        elif not self._stopping:
            # A replica without a server would have the least load of all, and would get all requests. If its process
            # ends, Ray notices at once, sends it no more requests and starts another replica.
            print(f"ingot serve has ended with {code}: so does its replica", flush=True)
            os._exit(1)

    def failure(self) -> Optional[str]:
        code = self._process.poll()
        return None if code is None else f"ingot serve has ended with {code}: {''.join(self._last_lines)[-500:]}"

    async def answer(self, method: str, target: str, headers: Headers, body: bytes) -> AsyncIterator[Any]:
        """Yields a Head, then bytes. Raises UpstreamGone if the server ends meanwhile."""
        import aiohttp
        import yarl

        sent = [(name, value) for name, value in headers if name not in ("authorization", "x-api-key")]
        sent.append(("authorization", f"Bearer {self._key}"))
        try:
            async with self._session.request(
                method, yarl.URL(self._base + target, encoded=True), headers=sent, data=body or None, allow_redirects=False,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            ) as response:  # fmt: skip
                given = [(name.lower(), value) for name, value in response.headers.items()]
                if response.content_length is not None or method == "HEAD":
                    whole = await response.read()
                    yield Head(response.status, given, True)
                    yield whole
                    return
                yield Head(response.status, given, False)
                while piece := await response.content.readany():
                    yield piece
        except (aiohttp.ClientError, ConnectionError, asyncio.TimeoutError) as error:
            raise UpstreamGone(f"{type(error).__name__}: {error}") from error

    async def stop(self, drain: float) -> None:
        self._stopping = True
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(asyncio.to_thread(self._process.wait), drain + 5)
            except asyncio.TimeoutError:
                self._process.kill()
        if self._session is not None:
            await self._session.close()
        self._folder.cleanup()


def _error_of(code: int, output: str) -> IngotError:
    """Returns the error, read from the three lines in which `ingot` reports why it does not start."""
    found = re.search(r"error\[(E\d{4})\]: (.*)\n((?:  .*\n?)*)", output)
    if not found:
        return IngotError(code if code > 0 else 70, "E0569", "ingot serve does not start", output[-1000:] or f"exit code {code}", "start it by hand")
    more = [line.strip() for line in found[3].splitlines()]
    return IngotError(code, found[1], found[2], " ".join(more[:-1]), more[-1] if more else "")


def open_upstream(kind: str, engine: pathlib.Path, name: str, alias: str, options: Mapping[str, Any], program: Optional[str]) -> Any:
    if kind == "process":
        return ServeProcess(engine, name, alias, options, program)
    from ._inside import InsideServer

    return InsideServer(engine, name, alias, options)


def replica_figures(metrics: str) -> Dict[str, float]:
    """Returns the figures that autoscaling uses, read from a server's metrics."""
    out = {"running": 0.0, "waiting": 0.0, "kv": 0.0}
    names = {"vllm:num_requests_running": "running", "vllm:num_requests_waiting": "waiting", "vllm:kv_cache_usage_perc": "kv"}
    for line in metrics.splitlines():
        family = line.split("{", 1)[0].split(" ", 1)[0]
        if family in names:
            with contextlib.suppress(ValueError):
                out[names[family]] += float(line.rsplit(" ", 1)[1])
    return out

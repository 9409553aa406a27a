"""The server of `ingot serve` inside the replica's own process: libingot-server.so.0 through ctypes."""
from __future__ import annotations

import asyncio
import ctypes
import itertools
import os
import pathlib
import struct
import sys
import tempfile
import threading
import urllib.parse
from typing import Any, AsyncIterator, Dict, Mapping, Optional

from ._library import IngotError
from ._upstream import Head, Headers, UpstreamGone, command_options

NAME = "libingot-server.so.0"
ABI_VERSION = 2
_WHOLE, _HEAD, _BYTES, _END, _BROKEN = range(5)
_NEWS = struct.Struct("=QiiII")  # ingot_server_news
_FUNCTIONS: Dict[str, Any] = {
    "ingot_server_error_status": (ctypes.c_int32, [ctypes.c_void_p]),
    "ingot_server_error_part": (ctypes.c_char_p, [ctypes.c_void_p, ctypes.c_int]),
    "ingot_server_error_free": (None, [ctypes.c_void_p]),
    "ingot_server_open": (ctypes.c_void_p, [ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)]),
    "ingot_server_close": (ctypes.c_int, [ctypes.c_void_p]),
    "ingot_server_ask": (
        ctypes.c_uint64,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64],
    ),
    "ingot_server_descriptor": (ctypes.c_int, [ctypes.c_void_p]),
    "ingot_server_take": (ctypes.c_size_t, [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]),
    "ingot_server_cancel": (None, [ctypes.c_void_p, ctypes.c_uint64]),
    "ingot_server_failure": (ctypes.c_void_p, [ctypes.c_void_p]),
}


def open_library(path: Optional[str] = None) -> ctypes.CDLL:
    """Opens `path` if it is given, otherwise the library next to this package or in the build,
    otherwise the system's. Raises IngotError E0579."""
    here = pathlib.Path(__file__).resolve()
    places = [here.with_name(NAME), *(parent / "build" / "lib" / NAME for parent in list(here.parents)[3:4])]
    chosen = path or next((str(place) for place in places if place.exists()), NAME)
    try:
        library = ctypes.CDLL(chosen)
    except OSError as error:
        raise IngotError(
            3, "E0579", f"{NAME} cannot be opened", str(error), "install the package whole, or take kind: process"
        ) from None
    library.ingot_server_abi_version.restype = ctypes.c_uint32
    if library.ingot_server_abi_version() != ABI_VERSION:
        raise IngotError(3, "E0579", f"{chosen} is of another release than this package", "", "install both from one release")
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class InsideServer:
    """Answers as ServeProcess does, without a process and without a socket."""

    def __init__(
        self, engine: pathlib.Path, name: str, alias: str, options: Mapping[str, Any], library: Optional[str] = None
    ) -> None:
        self._handle: Any = None
        self._library = open_library(library)
        options = {"log": "none", **{str(key).replace("_", "-"): value for key, value in options.items()}}
        given = [os.fsencode(word) for word in command_options(options)]
        folder = tempfile.TemporaryDirectory(prefix="ingot-ray-")
        place = pathlib.Path(folder.name) / f"{alias}{engine.suffix}"
        place.symlink_to(engine.resolve())
        words = [os.fsencode(str(place)), b"--model-name", os.fsencode(name), *given]
        error = ctypes.c_void_p()
        self._handle = self._library.ingot_server_open((ctypes.c_char_p * len(words))(*words), len(words), ctypes.byref(error))
        folder.cleanup()  # its files have been read, and a killed replica would leave them behind
        if not self._handle:
            raise self._read(error)
        self._numbers = itertools.count(1)
        self._queues: Dict[int, "asyncio.Queue[Any]"] = {}
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def _read(self, error: Any) -> IngotError:
        part = self._library.ingot_server_error_part
        words = [part(error, index).decode("utf-8", "replace") for index in range(4)]
        status = self._library.ingot_server_error_status(error)
        self._library.ingot_server_error_free(error)
        return IngotError(status, *words)

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = self._library.ingot_server_descriptor(self._handle)
        self._loop.add_reader(self._descriptor, self._hand_out)
        self._watcher.start()

    def _watch(self) -> None:
        """Ends the replica if its engine fails. It is not rebuilt in the process; Ray starts another replica."""
        while not self._stopping.wait(0.25):
            if (failure := self.failure()) is not None:
                print(f"the engine has failed, and its replica ends: {failure}", flush=True)
                self._stopping.wait(1)  # so that responses with the error are sent first
                sys.stdout.flush()
                os._exit(4)

    def _hand_out(self) -> None:
        """Hands out everything that has arrived since the last call, from one step or several. No
        thread of the server waits for Python."""
        place = ctypes.c_void_p()
        size = self._library.ingot_server_take(self._handle, ctypes.byref(place))
        news = ctypes.string_at(place, size)
        at = 0
        while at < size:
            number, kind, status, headers, body = _NEWS.unpack_from(news, at)
            middle = at + _NEWS.size + headers
            queue = self._queues.get(number)
            if queue is not None:
                queue.put_nowait((kind, status, news[middle - headers : middle], news[middle : middle + body]))
            at = middle + body

    def failure(self) -> Optional[str]:
        if not self._handle:
            return "the server is closed"
        error = self._library.ingot_server_failure(self._handle)
        return str(self._read(ctypes.c_void_p(error))) if error else None

    async def answer(self, method: str, target: str, headers: Headers, body: bytes) -> AsyncIterator[Any]:
        """Yields a Head, then bytes. Raises UpstreamGone if the answer breaks off."""
        if not self._handle:
            raise UpstreamGone("the server is closed")
        number = next(self._numbers)
        queue: "asyncio.Queue[Any]" = asyncio.Queue()
        self._queues[number] = queue
        lines = "".join(f"{name}: {value}\n" for name, value in headers).encode("latin-1", "replace")
        path, _, query = target.partition("?")
        raw_target = (_unquoted(path) + (f"?{query}" if query else "")).encode("utf-8", "surrogateescape")
        request = self._library.ingot_server_ask(
            self._handle, method.encode(), raw_target.replace(b"\0", b""), lines, body, len(body), number
        )
        over = False
        try:
            kind, status, given, data = await queue.get()
            over = kind in (_WHOLE, _BROKEN)
            if kind == _BROKEN:
                raise UpstreamGone("the server gave no answer")
            yield Head(status, _header_pairs(given), kind == _WHOLE)
            if kind == _WHOLE:
                yield b"" if method == "HEAD" else data
                return
            while True:
                parts = []
                item = await queue.get()
                while True:  # all bytes that a step has produced form one piece
                    kind, _, _, data = item
                    parts.append(data)
                    if kind != _BYTES or queue.empty():
                        break
                    item = queue.get_nowait()
                over = kind != _BYTES
                if piece := b"".join(parts):
                    yield piece
                if kind == _BROKEN:
                    raise UpstreamGone("the answer broke off")
                if over:
                    return
        finally:
            if not over and self._handle:
                self._library.ingot_server_cancel(self._handle, request)
            del self._queues[number]

    async def stop(self, drain: float) -> None:
        self._stopping.set()
        if self._watcher.is_alive():
            await asyncio.to_thread(self._watcher.join)  # the watcher calls into the server
        if self._handle:
            if self._loop is not None:
                self._loop.remove_reader(self._descriptor)
                self._hand_out()  # for pieces that have arrived meanwhile
            handle, self._handle = self._handle, None
            if not await asyncio.to_thread(self._library.ingot_server_close, handle):
                os._exit(4)  # a step hangs
            for queue in self._queues.values():  # no more pieces will come for callers that still wait
                queue.put_nowait((_BROKEN, 0, b"", b""))


def _header_pairs(lines: bytes) -> Headers:
    pairs = (line.split(": ", 1) for line in lines.decode("latin-1").splitlines())
    return [(name.lower(), value) for name, value in pairs]


def _unquoted(path: str) -> str:
    return urllib.parse.unquote(path, errors="surrogateescape")

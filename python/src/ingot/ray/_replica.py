"""One replica of a model: an engine, and its server, which answers the requests that the ingress passes on."""
from __future__ import annotations

import asyncio
import os
import pathlib
from typing import Any, AsyncIterator, Dict, List, Tuple

from ray import serve

from .._stored import engine_path
from .._upstream import Head, Headers, UpstreamGone, open_upstream, replica_figures
from ._settings import ModelSettings, alias_of

HEALTH_SECONDS = 8

# A stream may be cut after an event, or after a line of Ollama's. A stream that breaks off
# then ends with a complete event or line.
_CUTS = {"text/event-stream": b"\n\n", "application/x-ndjson": b"\n"}


class EngineReplica:
    """answer() yields first (status, headers, bytes so far, whether that is all), then bytes."""

    async def __init__(self, settings: Dict[str, Any]) -> None:
        self._settings = ModelSettings(**settings)
        self._silences = 0  # consecutive health checks without an answer
        path = await asyncio.to_thread(engine_path, self._settings.engine, self._settings.sha256, self._settings.cache)
        self._upstream = await asyncio.to_thread(
            open_upstream, self._settings.kind, pathlib.Path(path), self._settings.name, alias_of(self._settings.engine),
            self._settings.options, self._settings.program,
        )  # fmt: skip
        await self._upstream.start()

    async def answer(self, method: str, target: str, headers: Headers, body: bytes, blocks: bytes = b"") -> AsyncIterator[Any]:
        """Answers a request. `blocks` are for the router, which reads the call's arguments."""
        if (failure := self._upstream.failure()) is not None:
            raise UpstreamGone(failure)
        pieces = self._upstream.answer(method, target, headers, body)
        try:
            head: Head = await pieces.__anext__()
            if head.whole:
                yield head.status, head.headers, await anext(pieces, b""), True
                return
            kind = next((value for name, value in head.headers if name == "content-type"), "").split(";")[0]
            cut = _CUTS.get(kind, b"")
            held, begun = b"", False
            async for piece in pieces:
                held += piece
                end = held.rfind(cut) + len(cut) if cut and cut in held else 0 if cut else len(held)
                if end:
                    yield held[:end] if begun else (head.status, head.headers, held[:end], False)
                    held, begun = held[end:], True
            if held or not begun:
                yield held if begun else (head.status, head.headers, held, True)
        finally:
            await pieces.aclose()

    async def metrics(self) -> str:
        out: List[bytes] = []
        async for piece in self._upstream.answer("GET", "/metrics", [("host", "localhost")], b""):
            if isinstance(piece, bytes):
                out.append(piece)
        return b"".join(out).decode()

    async def named_metrics(self) -> Tuple[str, str]:
        return serve.get_replica_context().replica_id.unique_id, await self.metrics()

    async def record_autoscaling_stats(self) -> Dict[str, float]:
        return replica_figures(await self.metrics())

    async def check_health(self) -> None:
        """Raises if the server does not answer. Ray starts another replica if this happens three times in a row."""
        if (failure := self._upstream.failure()) is not None:
            raise UpstreamGone(failure)
        try:
            await asyncio.wait_for(self._ask_health(), HEALTH_SECONDS)
        except asyncio.TimeoutError:
            self._silences += 1
            if self._silences == 3:
                # Ray would wait for the requests in progress, which are stuck. Other replicas answer them once
                # this process has ended.
                print("the server says nothing: its replica ends", flush=True)
                os._exit(1)
            raise UpstreamGone(f"/health says nothing for {HEALTH_SECONDS} s") from None
        self._silences = 0

    async def _ask_health(self) -> None:
        async for piece in self._upstream.answer("GET", "/health", [("host", "localhost")], b""):
            if isinstance(piece, Head) and piece.status != 200:
                raise UpstreamGone(f"/health says {piece.status}")

    async def __del__(self) -> None:
        """Ray calls this when the requests in progress have ended, or their time has run out."""
        upstream = getattr(self, "_upstream", None)
        if upstream is not None:
            await upstream.stop(self._settings.drain)

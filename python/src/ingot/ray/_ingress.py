"""The ingress: finds the model and a replica for each request, and passes the replica's bytes to the client.

A request whose replica is lost before the answer began is sent to another replica. An answer begins with its first
event that carries content (not a chat's role or a message's start), or when it has waited so long that the engine's
server sends a ping. If the replica is lost after the answer began, the answer ends with an error as its last event.
"""
import asyncio
import contextlib
import hmac
import json
import logging
import pathlib
import re
from typing import Any, AsyncIterator, Dict, List, Mapping, Optional, Tuple

import ray
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from ray import serve

from .._prefixes import conversation_text, prefix_blocks
from . import _errors
from ._errors import ApiError, Answer
from ._metrics import merged
from .._upstream import Headers, UpstreamGone

_MOST_BODY = 8 << 20  # the limit of `ingot serve`
_LOST = (ray.exceptions.RayActorError, ray.exceptions.WorkerCrashedError, ray.exceptions.ObjectLostError, UpstreamGone)
# Errors of a failed engine or of a server that is ending. Another replica may answer then. Within JSON
# strings these quotes are escaped, so contents do not match.
_ENDING = re.compile(rb'"code":"E0(?:7\d\d|561)"')
# The last event of a stream in each protocol. A stream that ends with it is complete.
_LAST_EVENT = re.compile(rb'(data: \[DONE\]|data: \{"type":"(message_stop|response\.(completed|incomplete|failed))"[^\n]*)\n\n$')
_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "proxy-authorization", "proxy-authenticate"}
_NOT_SENT = _HOP | {"host", "content-length", "authorization", "x-api-key", "origin", "expect", "cookie"}
_NOT_GIVEN = _HOP | {"content-length", "date", "server", "x-request-id"}
_OPEN = ("/health", "/ping", "/v1/health")
# These routes describe one server, which a client cannot choose.
_OF_ONE = re.compile(r"/live(\.json|/.*)?|/slots")
_LISTS = {"/v1/models": "data", "/models": "data", "/api/tags": "models", "/api/ps": "models"}

logger = logging.getLogger("ray.serve")


def _once(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a field stands twice")
    return out


def opening_events(path: str, body: Mapping[str, Any]) -> int:
    """Returns the number of events that are sent before the engine has done anything."""
    if path.endswith("/chat/completions"):
        count = body.get("n")
        return count if isinstance(count, int) and count > 0 else 1
    return 2 if path.endswith("/responses") else 1 if path == "/v1/messages" else 0


class Lost(Exception):
    """A replica is lost."""


class Ingress:
    """The routes' logic, without FastAPI."""

    def __init__(self, models: List[Dict[str, Any]], settings: Dict[str, Any], handles: Dict[str, Any]) -> None:
        self._models = models
        self._settings = settings
        self._handles = handles
        self._answers = {name: handle.options(method_name="answer", stream=True) for name, handle in handles.items()}
        self._keys: List[bytes] = []
        if settings["api_key_file"]:
            lines = pathlib.Path(settings["api_key_file"]).read_text().splitlines()
            self._keys = [line.strip().encode() for line in lines if line.strip() and not line.strip().startswith("#")]
            if not self._keys:
                raise ValueError(f"{settings['api_key_file']} has no keys: write one a line")

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> Optional[ApiError]:
        """Returns the error with which `ingot serve` refuses a request whatever its route; None if it does not."""
        if self._keys and path not in _OPEN:
            given = headers.get("authorization", "")
            key = given[7:] if given[:7].lower() == "bearer " else headers.get("x-api-key", "")
            # Compare all keys, each to its end (constant time).
            if not any([hmac.compare_digest(key.encode(), one) for one in self._keys]):
                reply = "Incorrect API key provided." if key else 'No API key was given: send "Authorization: Bearer KEY".'
                return ApiError(401, reply, "authentication_error", "", "invalid_api_key")
        if int(headers.get("content-length") or 0) > _MOST_BODY:
            return self.too_large()
        if _OF_ONE.fullmatch(path):
            return ApiError(404, "there is no such route", "not_found_error", "", "not_found")
        return None

    @staticmethod
    def too_large() -> ApiError:
        return ApiError(413, f"the body is longer than {_MOST_BODY} bytes", "invalid_request_error", "", "request_too_large")

    def model_of(self, path: str, body: Mapping[str, Any]) -> "Dict[str, Any] | ApiError":
        """Chooses the model as `ingot serve` with several models does: by its name or its file's name.
        Without a name, chooses the first model."""
        name = body.get("model")
        if path.startswith("/api/") and "model" not in body:
            name = body.get("name")
        for prefix in ("/v1/models/", "/models/"):
            if path.startswith(prefix):
                name = path[len(prefix) :]
        if name is None or not isinstance(name, str):  # the server refuses a name that is not a string
            return self._models[0]
        for one in (name, name[: -len(":latest")] if name.endswith(":latest") else name):
            for model in self._models:
                if not one or model["name"] == one:
                    return model
            called = [model for model in self._models if model["alias"] == one]
            if len(called) == 1:
                return called[0]
        names = ", ".join(model["name"] for model in self._models)
        return ApiError(404, f"no model has that name; available: {names}", "not_found_error", "model", "model_not_found")

    async def ask(self, method: str, path: str, target: str, headers: Headers, body: bytes) -> "Tuple[int, Headers, Any]":
        """Returns (status, headers, body); the body is bytes, or an iterator of them."""
        fields: Mapping[str, Any] = {}
        if body:
            with contextlib.suppress(ValueError, RecursionError):
                # The server refuses a model that is given twice.
                parsed = json.loads(body, object_pairs_hook=_once if body.count(b'"model"') > 1 else None)
                fields = parsed if isinstance(parsed, dict) else {}
        model = self.model_of(path, fields)
        if isinstance(model, ApiError):
            return _errors.whole(model, path)
        sent = [(name, value) for name, value in headers if name not in _NOT_SENT]
        blocks = b""
        if method == "POST":
            # These must also be equal for a prefix to be shared. Adapters will be selected by the model's name as well.
            key = (model["name"], str(fields.get("cache_salt") or ""))
            blocks = prefix_blocks(key, conversation_text(fields), model["block"])
        opening = opening_events(path, fields)
        reply: Answer = _errors.whole(_errors.lost(model["name"], "none was there"), path)
        for attempt in range(int(self._settings["retries"]) + 1):
            if attempt:
                await asyncio.sleep(min(0.05 * 2**attempt, 2))
            try:
                return await self._attempt(model["name"], path, opening, (method, target, sent, body), blocks)
            except Lost as error:
                logger.warning(f"a replica of {model['name']} was lost before it answered, attempt {attempt + 1}: {error}")
                reply = error.args[1] if len(error.args) > 1 else _errors.whole(_errors.lost(model["name"], str(error)), path)
            except asyncio.TimeoutError:
                return _errors.whole(_errors.no_replica(model["name"], self._settings["wait_for_replica"]), path)
        return reply

    async def _attempt(self, model: str, path: str, opening: int, call: Tuple[Any, ...], blocks: bytes) -> "Tuple[int, Headers, Any]":
        response = self._answers[model].remote(*call, blocks=blocks)
        begun = False
        try:
            await self._taken(response)
            status, headers, data, is_whole = await response.__anext__()
            headers = [(name, value) for name, value in headers if name not in _NOT_GIVEN]
            if status == 503 and _ENDING.search(data):
                raise Lost("it ends", (status, headers, data))
            if is_whole:
                begun = True
                async for _ in response:  # no more data arrives, but Ray has to notice the end
                    pass
                return status, headers, data
            while data.count(b"\n\n") <= opening - (0 if opening else 1):
                try:
                    data += await response.__anext__()
                except StopAsyncIteration:
                    begun = True
                    return status, headers, data
            if data.count(b"\n\n") <= opening + 1 and _ENDING.search(data):
                raise Lost("its engine failed")
            begun = True
            return status, headers, self._rest(model, path, response, data)
        except _LOST as error:
            raise Lost(type(error).__name__) from error
        finally:
            if not begun:
                response.cancel()

    async def _taken(self, response: Any) -> None:
        """Waits until a replica has the request. May wait forever if there is no replica."""
        future = getattr(response, "_replica_result_future", None)
        if future is not None:
            waited = future if asyncio.isfuture(future) else asyncio.wrap_future(future)
            await asyncio.wait_for(asyncio.shield(waited), self._settings["wait_for_replica"])

    async def _rest(self, model: str, path: str, response: Any, data: bytes) -> AsyncIterator[bytes]:
        """Yields the rest of a stream that has begun."""
        events, ended, last = 0, False, data
        try:
            while True:
                events += data.count(b"\n\n")
                yield data
                last, data = data, b""
                data = await response.__anext__()
        except StopAsyncIteration:
            ended = True
        except _LOST as error:
            ended = True
            if _LAST_EVENT.search(last):
                return
            logger.warning(f"a replica of {model} was lost in the middle of an answer: {error}")
            yield _errors.last_event(_errors.lost(model, type(error).__name__), path, events)
        finally:
            if not ended:
                response.cancel()

    async def listed(self, path: str, target: str, headers: Headers) -> "Tuple[int, Headers, Any]":
        """Returns the joined lists of models of all servers."""
        answers = await asyncio.gather(
            *(self._attempt(model["name"], path, 0, ("GET", target, [h for h in headers if h[0] not in _NOT_SENT], b""), b"")
              for model in self._models),
            return_exceptions=True,
        )  # fmt: skip
        whole = [answer for answer in answers if not isinstance(answer, BaseException) and answer[0] == 200]
        if not whole:
            return _errors.whole(_errors.lost(self._models[0]["name"], "none was there"), path)
        if len(self._models) == 1:
            return whole[0]
        lists = [json.loads(answer[2]) for answer in whole]
        name = _LISTS[path]
        out = {**lists[0], name: [entry for one in lists for entry in one[name]]}
        if "last_id" in out:
            out["last_id"] = lists[-1]["last_id"]
        return 200, whole[0][1], json.dumps(out, separators=(",", ":"), ensure_ascii=False).encode()

    async def metrics(self) -> "Tuple[int, Headers, Any]":
        """Returns the metrics of all replicas of all models."""
        pages = await asyncio.gather(
            *(handle.broadcast("named_metrics").results_async(timeout_s=10, return_exceptions=True) for handle in self._handles.values()),
            return_exceptions=True,
        )
        found = [page for group in pages if isinstance(group, list) for page in group if not isinstance(page, BaseException)]
        return 200, [("content-type", "text/plain; version=0.0.4; charset=utf-8")], merged(sorted(found)).encode()

    async def answer(self, method: str, path: str, query: str, headers: Headers, body: bytes) -> "Tuple[int, Headers, Any]":
        target = path + (f"?{query}" if query else "")
        error = self.refusal(method, path, dict(headers))
        if error is None and len(body) > _MOST_BODY:
            error = self.too_large()
        if error is not None:
            return _errors.whole(error, path)
        if method in ("GET", "HEAD"):
            if path in _OPEN:
                return 200, [("content-type", "application/json")], b'{"status":"ok"}'
            if path == "/metrics":
                return await self.metrics()
            if path in _LISTS:
                return await self.listed(path, target, headers)
        return await self.ask(method, path, target, headers, body)


def make_ingress() -> serve.Deployment:
    # This module does not make annotations strings, because FastAPI reads those of a class that Ray has pickled.
    api = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @serve.deployment
    @serve.ingress(api)
    class IngressDeployment:
        def __init__(self, models: List[Dict[str, Any]], settings: Dict[str, Any], handles: Dict[str, Any]) -> None:
            self._ingress = Ingress(models, settings, handles)

        @api.api_route("/{path:path}", methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"], response_model=None)
        async def any_route(self, request: Request) -> Response:
            path, root = request.scope["path"], request.scope.get("root_path", "")
            if root and path.startswith(root):
                path = path[len(root) :]
            headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in request.scope["headers"]]
            query = request.scope["query_string"].decode("latin-1")
            status, given, content = await self._ingress.answer(request.method, path, query, headers, await request.body())
            kind = next((value for name, value in given if name == "content-type"), None)
            more = {name: value for name, value in given if name != "content-type"}
            if isinstance(content, bytes):
                out = Response(content, status, more)
            else:
                out = StreamingResponse(content, status, more)
            if kind is not None:  # set it unchanged, because Starlette would add a charset
                out.headers["content-type"] = kind
            return out

    return IngressDeployment

"""Errors that the ingress makes itself, in the shape that `ingot serve` uses for each path."""
from __future__ import annotations

import json
from typing import List, NamedTuple, Tuple

Answer = Tuple[int, List[Tuple[str, str]], bytes]


class ApiError(NamedTuple):
    status: int
    message: str
    type: str
    param: str = ""
    code: str = ""
    retry_after: int = 0


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def dialect_of(path: str) -> str:
    if path.startswith("/v1/messages"):
        return "anthropic"
    if path.startswith("/api/"):
        return "ollama"
    return "cohere" if path.endswith("rerank") else "openai"


def error_text(error: ApiError, dialect: str) -> str:
    if dialect == "anthropic":
        kind = "api_error" if error.status == 500 or error.type == "engine_error" else error.type
        kind = "overloaded_error" if error.status == 503 and kind != "api_error" else kind
        named = not error.param or error.message.startswith(f"{error.param}:")
        message = error.message if named else f"{error.param}: {error.message}"
        return _text({"type": "error", "error": {"type": kind, "message": message}})
    if dialect == "ollama":
        named = not error.param or error.message.startswith(error.param)
        return _text({"error": error.message if named else f"{error.param}: {error.message}"})
    inner = {"message": error.message, "type": error.type, "param": error.param or None, "code": error.code or None}
    return _text({"message": error.message, "error": inner} if dialect == "cohere" else {"error": inner})


def whole(error: ApiError, path: str) -> Answer:
    headers = [("content-type", "application/json")]
    if error.retry_after:
        headers.append(("retry-after", str(error.retry_after)))
    return error.status, headers, error_text(error, dialect_of(path)).encode()


def last_event(error: ApiError, path: str, events: int) -> bytes:
    """Returns the event that ends a stream which broke off after `events` events."""
    dialect = dialect_of(path)
    if dialect == "ollama":
        return (error_text(error, dialect) + "\n").encode()
    if path in ("/v1/responses", "/responses"):
        event = {"type": "error", "sequence_number": events, "code": error.code, "message": error.message, "param": None}
        return f"event: error\ndata: {_text(event)}\n\n".encode()
    name = "event: error\n" if dialect == "anthropic" else ""
    return f"{name}data: {error_text(error, dialect)}\n\n".encode()


def lost(model: str, why: str) -> ApiError:
    return ApiError(503, f"the replica that answered was lost ({model}: {why})", "engine_error", "", "E0727", 1)


def no_replica(model: str, seconds: float) -> ApiError:
    return ApiError(503, f"no replica of {model} took the request within {seconds:g} s", "service_unavailable_error", "", "E0539", 5)

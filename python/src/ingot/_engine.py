"""Engine: an executor of the library, with blocking, iterator and asyncio calls."""
from __future__ import annotations

import asyncio
import contextlib
import ctypes
import itertools
import os
import threading
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from . import _abi
from ._compiler import compile, is_checkpoint
from ._library import QUEUE_FULL, SHUTTING_DOWN, IngotError, checked, load_library, suggesting
from ._requests import (
    Answer,
    Choice,
    Message,
    ModelInfo,
    Options,
    Piece,
    Prompt,
    Stats,
    build,
    fields_of,
    read_piece,
    read_row,
    seconds_to_ms,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

_SLICE_MS = 200  # a waiting thread wakes this often to check for Ctrl-C
_kept: List[Any] = []  # callbacks that an abandoned step may still run after its engine is gone


class _Call:
    """A request in progress."""

    def __init__(self, number: int, hook: Any) -> None:
        self.number = number  # the library passes this number back to callbacks
        self.id = 0  # the library's id; 0 again once the last output has been read
        self.hook = hook
        self.failure: Optional[BaseException] = None  # the exception that the hook raised
        self.loop: Optional[asyncio.AbstractEventLoop] = None
        self.queue: "asyncio.Queue[Any]" = None  # type: ignore[assignment]

    def give(self, what: Any) -> None:
        """Passes `what` from the library's thread to the loop's thread. It is dropped if the loop has ended."""
        assert self.loop is not None
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.queue.put_nowait, what)


def _engine_of(path: Union[str, "os.PathLike[str]"], **options: Any) -> Union[str, "os.PathLike[str]"]:
    """Returns the path itself or, for a checkpoint, the path of the engine to which it is compiled."""
    if is_checkpoint(path):
        return compile(path, **options)
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise IngotError(
            2, "E0595", f"{' and '.join(given)}: unused here", f"{os.fspath(path)} is not a checkpoint: formats are chosen when it is compiled",
            "leave it out, or give the checkpoint",
        )  # fmt: skip
    return path


class Engine:
    """An open engine. May be used from any thread and from asyncio; call close(), or use `with`.

    `path` is an engine, or a checkpoint (a folder, .gguf or .safetensors), which is compiled first and cached, as
    by ingot.compile(): `quantize`, `kv`, `precision` and `cache` are its options and have no effect on an engine.

    Limits are fixed when the engine opens; all memory is allocated then, or the call fails. `context` is the
    maximum number of positions of a sequence (0: the model's, at most 4096, that fit), `max_seqs` the maximum
    number of sequences in one step, `max_batch_tokens` the maximum number of tokens in one (0: 512, on GPUs up to
    2048), `kv_memory` the bytes of KV pages (0: as many as max_seqs * context take), `swap_memory` the bytes of
    host memory for the KV pages of preempted requests (0: they are recomputed). Latency targets bound how much of
    a prompt goes into one step. A step, hooks included, that takes longer than `step_limit` seconds (0: no limit)
    ends the engine with E0725. `lock_memory` keeps a CPU engine's weights, KV pages and working memory from being
    paged out (E0509 if the limit of locked memory is too low).
    """

    @suggesting
    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"],
        *,
        context: int = 0,
        max_seqs: int = 8,
        max_batch_tokens: int = 0,
        prefill_chunk: int = 0,
        kv_memory: int = 0,
        swap_memory: int = 0,
        prefix_cache: bool = True,
        fair: bool = False,
        target_ttft_ms: float = 0.0,
        target_itl_ms: float = 0.0,
        queue_requests: int = 256,
        queue_tokens: int = 1_000_000,
        threads: int = 0,
        load_tokenizer: bool = True,
        device: Optional[str] = None,
        isa: Optional[str] = None,
        chat_template: Optional[str] = None,
        step_limit: float = 0.0,
        lock_memory: bool = False,
        quantize: Optional[str] = None,
        kv: Optional[str] = None,
        precision: Optional[str] = None,
        cache: "Union[None, str, os.PathLike[str]]" = None,
    ) -> None:
        self._handle = ctypes.c_void_p()
        self._library = load_library()
        path = _engine_of(path, quantize=quantize, kv=kv, precision=precision, cache=cache)
        self._lock = threading.Condition()
        self._users = 0  # threads inside the library
        self._closed = False
        config = _abi.Config()
        self._library.ingot_config_init(ctypes.byref(config), ctypes.sizeof(config))
        config.context, config.max_seqs, config.max_batch_tokens = context, max_seqs, max_batch_tokens
        config.prefill_chunk, config.kv_memory = prefill_chunk, kv_memory
        config.swap_memory, config.no_prefix_cache, config.fair = swap_memory, not prefix_cache, fair
        config.target_ttft_ms, config.target_itl_ms = target_ttft_ms, target_itl_ms
        config.queue_requests, config.queue_tokens = queue_requests, queue_tokens
        config.threads, config.no_tokenizer = threads, not load_tokenizer
        config.device = device.encode() if device else None
        config.isa = isa.encode() if isa else None
        config.chat_template = chat_template.encode() if chat_template else None
        config.step_limit, config.lock_memory = step_limit, lock_memory
        handle = ctypes.c_void_p()
        checked(self._library, "ingot_executor_open", os.fsencode(path), ctypes.byref(config), ctypes.byref(handle))
        self._handle = handle
        # The library calls one function for all requests, and passes the request's number to it.
        self._calls: Dict[int, _Call] = {}
        self._numbers = itertools.count(1)
        self._on_output = _abi.OutputCallback(_output_callback(self._library, self._calls))
        self._on_logits = _abi.LogitsCallback(_logits_callback(self._library, self._calls, handle))
        if step_limit > 0:
            _kept.append(self._on_logits)

    # -------------------------------------------------------------- lifetime

    def close(self) -> None:
        """Cancels requests in progress and frees everything. Further calls raise IngotError E0561."""
        with self._lock:
            if self._closed or not self._handle:
                return
            self._closed = True
        self._library.ingot_executor_shutdown(self._handle, 0, None)
        with self._lock:
            self._lock.wait_for(lambda: self._users == 0)
        self._library.ingot_executor_close(self._handle)
        self._calls.clear()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    @contextlib.contextmanager
    def _use(self) -> Iterator[ctypes.c_void_p]:
        """Yields the handle and keeps it from being freed meanwhile."""
        with self._lock:
            if self._closed:
                raise IngotError(4, SHUTTING_DOWN, "the engine is closed", "", "open another one")
            self._users += 1
        try:
            yield self._handle
        finally:
            with self._lock:
                self._users -= 1
                self._lock.notify_all()

    # -------------------------------------------------------------- requests

    def generate(self, prompt: Prompt, **options: "Unpack[Options]") -> Answer:
        """Returns the answer to a prompt. The prompt is text, or ids that are used unchanged."""
        return self._wait(self._begin(prompt, None, None, options))

    def generate_batch(self, prompts: Iterable[Prompt], **options: "Unpack[Options]") -> List[Answer]:
        """Answers several prompts together, with the same options. The answers are in the order of the prompts. There
        may be more prompts than the queue holds."""
        calls: List[_Call] = []
        answers: List[Answer] = []
        try:
            for prompt in prompts:
                while True:
                    try:
                        calls.append(self._begin(prompt, None, None, options))
                        break
                    except IngotError as error:
                        if error.code != QUEUE_FULL or len(answers) == len(calls):
                            raise
                    answers.append(self._wait(calls[len(answers)]))
            answers += [self._wait(call) for call in calls[len(answers) :]]
            return answers
        except BaseException:
            for call in calls:
                self._abandon(call)
            raise

    def chat(
        self, messages: Sequence[Message], *, variables: Optional[Mapping[str, Any]] = None, **options: "Unpack[Options]"
    ) -> Answer:
        """Returns the assistant's next message. `variables`: further variables of the chat template ("tools", …)."""
        return self._wait(self._begin(None, messages, variables, options))

    def stream(self, prompt: Prompt, **options: "Unpack[Options]") -> Iterator[Piece]:
        """Yields the answer as it comes. Closing the iterator cancels the request."""
        return self._pieces(prompt, None, None, options)

    def stream_chat(
        self, messages: Sequence[Message], *, variables: Optional[Mapping[str, Any]] = None, **options: "Unpack[Options]"
    ) -> Iterator[Piece]:
        """Yields the assistant's next message as it comes. Closing the iterator cancels the request."""
        return self._pieces(None, messages, variables, options)

    async def agenerate(self, prompt: Prompt, **options: "Unpack[Options]") -> Answer:
        """generate() for asyncio. Cancelling the task cancels the request."""
        return _joined([piece async for piece in self._async_pieces(prompt, None, None, options)])

    async def achat(
        self, messages: Sequence[Message], *, variables: Optional[Mapping[str, Any]] = None, **options: "Unpack[Options]"
    ) -> Answer:
        """chat() for asyncio."""
        return _joined([piece async for piece in self._async_pieces(None, messages, variables, options)])

    def astream(self, prompt: Prompt, **options: "Unpack[Options]") -> AsyncIterator[Piece]:
        """stream() for asyncio."""
        return self._async_pieces(prompt, None, None, options, streaming=True)

    def astream_chat(
        self, messages: Sequence[Message], *, variables: Optional[Mapping[str, Any]] = None, **options: "Unpack[Options]"
    ) -> AsyncIterator[Piece]:
        """stream_chat() for asyncio."""
        return self._async_pieces(None, messages, variables, options, streaming=True)

    def _begin(
        self,
        prompt: Optional[Prompt],
        messages: Optional[Sequence[Message]],
        variables: Optional[Mapping[str, Any]],
        options: Mapping[str, Any],
        streaming: bool = False,
        loop: Optional[asyncio.AbstractEventLoop] = None,
    ) -> _Call:
        request, keep = build(self._library, prompt, messages, variables, options)
        number = next(self._numbers)
        call = _Call(number, options.get("on_logits"))
        request.streaming = streaming
        request.user = number
        if loop is not None:
            call.loop, call.queue = loop, asyncio.Queue()
            request.on_output = self._on_output
        if call.hook is not None:
            request.on_logits = self._on_logits
        identity = ctypes.c_uint64()
        self._calls[number] = call
        try:
            with self._use() as handle:
                checked(self._library, "ingot_enqueue", handle, ctypes.byref(request), ctypes.byref(identity))
        except BaseException:
            self._calls.pop(number, None)
            raise
        del keep
        call.id = identity.value
        return call

    def _next(self, call: _Call) -> "tuple[List[Piece], bool]":
        """Returns the pieces that have arrived for a request, and whether they are its last."""
        outputs = ctypes.c_void_p()
        status = _abi.TIMEOUT
        while status == _abi.TIMEOUT:
            with self._use() as handle:
                status = checked(self._library, "ingot_await", handle, call.id, _SLICE_MS, ctypes.byref(outputs))
        output = _abi.Output()
        output.struct_size = ctypes.sizeof(output)
        pieces: List[Piece] = []
        last = False
        try:
            for index in range(self._library.ingot_outputs_count(outputs)):
                self._library.ingot_outputs_get(outputs, index, ctypes.byref(output))
                last = last or bool(output.is_last)
                pieces.append(read_piece(self._library, output))
        finally:
            if last:
                self._calls.pop(call.number, None)
                call.id = 0
            self._library.ingot_outputs_free(outputs)
        if call.failure is not None:
            raise call.failure
        return pieces, last

    def _abandon(self, call: _Call) -> None:
        """Cancels the request and waits for its end, at most a step. Its hook is not called afterwards."""
        try:
            if call.id:
                with self._use() as handle:
                    self._library.ingot_cancel(handle, call.id)
            while call.id:
                self._next(call)
        except Exception:  # the engine is closed, or the hook raised again
            pass

    def _wait(self, call: _Call) -> Answer:
        pieces: List[Piece] = []
        last = False
        try:
            while not last:
                more, last = self._next(call)
                pieces += more
        except BaseException:
            self._abandon(call)
            raise
        return _joined(pieces)

    def _pieces(
        self,
        prompt: Optional[Prompt],
        messages: Optional[Sequence[Message]],
        variables: Optional[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> Iterator[Piece]:
        call = self._begin(prompt, messages, variables, options, streaming=True)

        def pieces() -> Iterator[Piece]:
            last = False
            try:
                while not last:
                    more, last = self._next(call)
                    yield from more
            finally:
                self._abandon(call)

        return pieces()

    async def _async_pieces(
        self,
        prompt: Optional[Prompt],
        messages: Optional[Sequence[Message]],
        variables: Optional[Mapping[str, Any]],
        options: Mapping[str, Any],
        streaming: bool = False,
    ) -> AsyncIterator[Piece]:
        call = self._begin(prompt, messages, variables, options, streaming, asyncio.get_running_loop())
        last = False
        try:
            while not last:
                piece, last = await call.queue.get()
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            if not last:
                with contextlib.suppress(IngotError), self._use() as handle:
                    self._library.ingot_cancel(handle, call.id)

    # ------------------------------------------------------------- properties

    @property
    def model(self) -> ModelInfo:
        model = _abi.Model()
        model.struct_size = ctypes.sizeof(model)
        with self._use() as handle:
            self._library.ingot_model_get(handle, ctypes.byref(model))
            values = fields_of(model, ModelInfo)
            values["eos"] = model.eos[: model.eos_count]
        values["bos"] = None if model.bos < 0 else model.bos
        values["has_tokenizer"], values["has_chat_template"] = bool(model.has_tokenizer), bool(model.has_chat_template)
        return ModelInfo(**values)

    def stats(self) -> Stats:
        stats = _abi.Stats()
        stats.struct_size = ctypes.sizeof(stats)
        with self._use() as handle:
            self._library.ingot_stats_get(handle, ctypes.byref(stats))
        return Stats(**fields_of(stats, Stats))

    def metrics(self) -> str:
        """Returns the metrics in Prometheus' text format."""
        return self._text("ingot_metrics").decode()

    def shutdown(self, wait: Optional[float] = None) -> None:
        """Stops accepting requests and waits up to `wait` seconds (None: without limit) for
        the requests in progress. Then cancels the rest."""
        with self._use() as handle:
            checked(self._library, "ingot_executor_shutdown", handle, seconds_to_ms(wait))

    # ------------------------------------------------------------------ text

    def encode(self, text: str, *, plain_prompt: bool = False) -> List[int]:
        """Returns the ids of a text. With `plain_prompt`, they start with BOS if the engine adds one to prompts."""
        data = text.encode("utf-8", "surrogatepass")
        ids = ctypes.POINTER(ctypes.c_int32)()
        count = ctypes.c_size_t()
        with self._use() as handle:
            checked(
                self._library, "ingot_encode", handle, data, len(data), plain_prompt, ctypes.byref(ids), ctypes.byref(count)
            )
        try:
            return ids[: count.value]
        finally:
            self._library.ingot_free(ids)

    def decode(self, ids: Sequence[int], *, show_special: bool = False) -> str:
        array = (ctypes.c_int32 * len(ids))(*ids)
        return self._text("ingot_decode", array, len(ids), show_special).decode("utf-8", "replace")

    def render_chat(
        self,
        messages: Sequence[Message],
        *,
        variables: Optional[Mapping[str, Any]] = None,
        add_generation_prompt: bool = True,
    ) -> str:
        """Returns the prompt to which the messages are rendered."""
        import json

        more = json.dumps(dict(variables)).encode() if variables else None
        written = json.dumps(list(messages)).encode()
        return self._text("ingot_render_chat", written, more, add_generation_prompt).decode("utf-8", "replace")

    def token_bytes(self, id: int) -> bytes:
        """Returns the bytes of one id, which may be a part of a character if the vocabulary has such tokens."""
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        with self._use() as handle:
            checked(self._library, "ingot_token_bytes", handle, id, ctypes.byref(data), ctypes.byref(size))
            return ctypes.string_at(data, size.value) if size.value else b""

    def token_id(self, token: str) -> Optional[int]:
        """Returns the id of a token with this spelling in the vocabulary ("<|im_end|>")."""
        data = token.encode()
        with self._use() as handle:
            found: int = self._library.ingot_token_id(handle, data, len(data))
        return None if found < 0 else found

    def _text(self, function: str, *arguments: Any) -> bytes:
        text, size = ctypes.c_void_p(), ctypes.c_size_t()
        with self._use() as handle:
            checked(self._library, function, handle, *arguments, ctypes.byref(text), ctypes.byref(size))
        try:
            return ctypes.string_at(text, size.value)
        finally:
            self._library.ingot_free(text)


def _joined(pieces: List[Piece]) -> Answer:
    """Returns the answer made of whole choices, which may be in any order."""
    choices: List[Choice] = sorted(pieces, key=lambda piece: piece.choice)
    return Answer(choices)


def _output_callback(library: ctypes.CDLL, calls: Dict[int, _Call]) -> Any:
    """Returns the callback for outputs, which runs on the library's thread. It holds no Engine, so
    that an Engine without other references can be collected."""

    def output(number: int, seen: Any) -> None:
        call = calls.get(number)
        if call is None:
            return
        last = bool(seen.contents.is_last)
        try:
            piece: Any = call.failure or read_piece(library, seen.contents)
        except IngotError as error:
            piece = error
        if last:
            calls.pop(number, None)
        call.give((piece, last))

    return output


def _logits_callback(library: ctypes.CDLL, calls: Dict[int, _Call], handle: ctypes.c_void_p) -> Any:
    """Returns the callback for hooks, which runs on the engine's thread. A hook that raises ends its
    request, and the exception is raised where the request is awaited."""

    def logits(number: int, seen: Any) -> None:
        call = calls.get(number)
        if call is None or call.failure is not None:
            return
        try:
            call.hook(read_row(seen.contents))
        except BaseException as error:
            call.failure = error
            if number in calls:  # otherwise it has already ended, and the handle may be gone
                library.ingot_cancel(handle, seen.contents.request)

    return logits

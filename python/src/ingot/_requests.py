"""Requests as the library reads them, and answers as Python objects."""
from __future__ import annotations

import ctypes
import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, TypedDict, Union

from . import _abi
from ._library import IngotError, read_error, unknown_names

if TYPE_CHECKING:
    import numpy

Prompt = Union[str, Sequence[int]]  # text, or ids that are used unchanged
Message = Mapping[str, Any]  # {"role": …, "content": …}, as the chat template expects

FINISH = {1: "stop", 2: "length", 3: "cancelled", 4: "error"}
_GRAMMARS = {"json_object": 1, "json_schema": 2, "regex": 3, "lark": 4, "gbnf": 5, "choice": 6}


@dataclasses.dataclass(frozen=True)
class Logprob:
    id: int
    logprob: float  # natural logarithm


@dataclasses.dataclass(frozen=True)
class Piece:
    """The part of a choice's answer that is new since its last piece."""

    text: str
    ids: List[int]  # new ids, without a stop id
    choice: int = 0
    finish_reason: Optional[str] = None  # "stop", "length", "cancelled": the last piece of this choice
    stop_string: Optional[str] = None  # the stop string that ended the choice
    logprobs: List[List[Logprob]] = dataclasses.field(default_factory=list)  # per id: first the chosen one
    prompt_tokens: int = 0
    cached_tokens: int = 0
    new_tokens: int = 0  # of this choice so far
    queue_ms: float = 0.0  # set at the end
    ttft_ms: float = 0.0
    elapsed_ms: float = 0.0

    def __str__(self) -> str:
        return self.text


Choice = Piece  # a whole answer is a piece that holds all of it


@dataclasses.dataclass(frozen=True)
class Answer:
    choices: List[Choice]

    @property
    def text(self) -> str:
        return self.choices[0].text

    @property
    def ids(self) -> List[int]:
        return self.choices[0].ids

    @property
    def finish_reason(self) -> Optional[str]:
        return self.choices[0].finish_reason

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class LogitsRow:
    """A row of logits before an id is drawn from it. It is valid only during the call of the hook."""

    choice: int
    ids: List[int]  # new ids so far
    logits: "Union[numpy.ndarray, memoryview]"  # [vocab] of f32, writable in place; an array if NumPy is installed


@dataclasses.dataclass(frozen=True)
class Stats:
    """Counts since the engine was opened. Every choice counts as a request."""

    running: int
    waiting: int
    kv_pages_used: int
    kv_pages: int
    steps: int
    prompt_tokens: int
    new_tokens: int
    finished_stop: int
    finished_length: int
    cancelled: int
    failed: int
    refused: int
    preemptions: int
    prefix_queries: int
    prefix_hits: int
    step_seconds: float
    ttft_p50_ms: float
    ttft_p99_ms: float
    itl_p50_ms: float
    itl_p99_ms: float


@dataclasses.dataclass(frozen=True)
class ModelInfo:
    name: str
    fingerprint: str  # hash of engine and code; equal fingerprints mean equal answers
    target: str
    device: str
    remark: str
    vocab: int
    context: int
    max_seqs: int
    max_batch_tokens: int
    threads: int
    has_tokenizer: bool
    has_chat_template: bool
    bos: Optional[int]
    eos: List[int]
    mapped_bytes: int
    allocated_bytes: int
    kv_bytes: int
    load_ms: float


class Options(TypedDict, total=False):
    """Options of a request. An option that is not given has the engine's default."""

    max_tokens: int  # maximum number of new ids; -1: as many as the context leaves
    min_tokens: int
    stop: Union[str, Sequence[str]]
    stop_ids: Sequence[int]
    bad_words: Sequence[Sequence[int]]  # sequences of ids that must not appear
    ignore_eos: bool
    show_special: bool
    temperature: float  # 0: greedy
    top_k: int
    top_p: float
    min_p: float
    typical_p: float
    repetition_penalty: float
    presence_penalty: float
    frequency_penalty: float
    penalty_window: int  # penalties consider this many of the last ids; -1: all
    no_repeat_ngram: int
    seed: int
    logit_bias: Mapping[int, float]
    n: int  # number of independent answers or, with a beam search, of the best answers
    beam_width: int  # 1 to 8: beam search; the answers arrive at the end, best first
    length_penalty: float  # beams are compared by sum of logprobs / length ** this
    early_stopping: Union[bool, str]  # True, False or "never", as in transformers
    trust_content: bool  # control tokens in messages are parsed as tokens, not as text
    penalty_alpha: float  # above 0: contrastive search among the top_k (2 to 8) most probable ids
    priority: int  # a lower number goes first, and may preempt a higher one
    share: int  # the share that the request is charged to (Engine(fair=True))
    no_prefix_cache: bool
    cache_salt: int  # shares cached pages only with requests of the same salt
    logprobs: int  # 0: that of the chosen id; k: also those of the k most probable ids
    json_object: bool
    json_schema: Union[str, Mapping[str, Any]]
    regex: str
    lark: str
    gbnf: str
    choice: Sequence[str]  # the answer is one of these
    on_logits: Callable[[LogitsRow], None]


# Options that are numbers in the C interface and have the same name there.
_NUMBERS = [name for name in Options.__annotations__ if isinstance(getattr(_abi.Request(), name, None), (int, float))]


def _usage(what: str, why: str, fix: str) -> IngotError:
    return IngotError(2, "E0578", what, why, fix)


def build(
    library: ctypes.CDLL,
    prompt: Optional[Prompt],
    messages: Optional[Sequence[Message]],
    variables: Optional[Mapping[str, Any]],
    options: Mapping[str, Any],
) -> "tuple[_abi.Request, List[Any]]":
    """Returns a request, and the objects that must live as long as it is read."""
    unknown = set(options) - set(Options.__annotations__)
    if unknown:
        raise unknown_names("options", unknown, Options.__annotations__)
    request = _abi.Request()
    library.ingot_request_init(ctypes.byref(request), ctypes.sizeof(request))
    keep: List[Any] = []

    def ids_of(values: Sequence[int]) -> Any:
        array = (ctypes.c_int32 * len(values))(*values)
        keep.append(array)
        return ctypes.cast(array, ctypes.POINTER(ctypes.c_int32))

    if messages is not None:
        request.messages = json.dumps(list(messages)).encode()
        if variables:
            request.template_variables = json.dumps(dict(variables)).encode()
    elif isinstance(prompt, str):
        data = prompt.encode("utf-8", "surrogatepass")
        request.prompt, request.prompt_size = data, len(data)
    elif prompt is not None:
        ids = [int(i) for i in prompt]
        request.prompt_ids, request.prompt_id_count = ids_of(ids), len(ids)

    for name in _NUMBERS:
        if options.get(name) is not None:
            setattr(request, name, options[name])
    if options.get("n") is not None:
        request.choices = options["n"]
    early = options.get("early_stopping", False)
    if early not in (False, True, "never"):
        raise _usage("early_stopping cannot be read", f"it is {early!r}", 'give True, False or "never"')
    request.stop_beams = 2 if early == "never" else int(bool(early))
    stop = options.get("stop") or []
    strings = [stop] if isinstance(stop, str) else list(stop)
    array = (ctypes.c_char_p * len(strings))(*(one.encode() for one in strings))
    keep.append(array)
    request.stop_strings, request.stop_string_count = array, len(strings)
    stop_ids = list(options.get("stop_ids") or [])
    request.stop_ids, request.stop_id_count = ids_of(stop_ids), len(stop_ids)
    words = [list(word) for word in options.get("bad_words") or []]
    lists = (_abi.IdList * len(words))(*(_abi.IdList(ids_of(word), len(word)) for word in words))
    keep.append(lists)
    request.bad_words, request.bad_word_count = lists, len(words)
    bias = dict(options.get("logit_bias") or {})
    entries = (_abi.Bias * len(bias))(*(_abi.Bias(id, value) for id, value in bias.items()))
    keep.append(entries)
    request.logit_bias, request.logit_bias_count = entries, len(bias)
    _set_grammar(request, options)
    return request, keep


def _set_grammar(request: _abi.Request, options: Mapping[str, Any]) -> None:
    given = [name for name in _GRAMMARS if options.get(name) not in (None, False)]
    if len(given) > 1:
        raise _usage("an answer can match one grammar", f"{' and '.join(given)} are given", "give one of them")
    if not given:
        return
    request.grammar_kind = _GRAMMARS[given[0]]
    source = options[given[0]]
    if not isinstance(source, bool):
        request.grammar = (source if isinstance(source, str) else json.dumps(source)).encode()


def read_piece(library: ctypes.CDLL, output: _abi.Output) -> Piece:
    """Reads an output. Raises its error if it has one."""
    if output.error:
        raise read_error(library, output.error)
    width = output.logprobs_per_id
    rows = [
        [Logprob(entry.id, entry.logprob) for entry in output.logprobs[i * width : (i + 1) * width]]
        for i in range(output.id_count if width else 0)
    ]
    return Piece(
        text=ctypes.string_at(output.text, output.text_size).decode("utf-8", "replace"),
        ids=output.ids[: output.id_count],
        choice=output.choice,
        finish_reason=FINISH.get(output.finish_reason),
        stop_string=output.stop_string.decode("utf-8", "replace") if output.stop_string else None,
        logprobs=rows,
        prompt_tokens=output.prompt_tokens,
        cached_tokens=output.cached_tokens,
        new_tokens=output.new_tokens,
        queue_ms=output.queue_ms,
        ttft_ms=output.ttft_ms,
        elapsed_ms=output.elapsed_ms,
    )


def read_row(row: _abi.LogitsRow) -> LogitsRow:
    address = ctypes.cast(row.logits, ctypes.c_void_p).value
    assert address is not None
    array = (ctypes.c_float * row.vocab).from_address(address)
    try:
        import numpy
    except ImportError:
        logits: Any = memoryview(array).cast("B").cast("f")
    else:
        logits = numpy.ctypeslib.as_array(array)
    return LogitsRow(row.choice, row.ids[: row.id_count], logits)


def fields_of(structure: ctypes.Structure, into: Any) -> Dict[str, Any]:
    """Returns the values of the structure's fields that the data class also has. Texts are decoded."""
    values = {}
    for field in dataclasses.fields(into):
        value = getattr(structure, field.name, None)
        values[field.name] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return values


def seconds_to_ms(seconds: Optional[float]) -> int:
    return -1 if seconds is None or math.isinf(seconds) else max(0, int(seconds * 1000))

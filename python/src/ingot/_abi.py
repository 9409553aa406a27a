"""ingot.h for ctypes: its structures field by field, and the types of its functions.

tests/embed/spellings.py compares names and types with the header, tests/embed/python_test.py sizes and offsets with
the C compiler's.
"""
from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

ABI_VERSION = 6  # the version of these structures

OK, TIMEOUT = 0, 1
ANY = 0

Error = c_void_p
Executor = c_void_p
Outputs = c_void_p


class Config(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("context", c_int64),
        ("max_seqs", c_int64),
        ("max_batch_tokens", c_int64),
        ("prefill_chunk", c_int64),
        ("kv_memory", c_uint64),
        ("swap_memory", c_uint64),
        ("queue_requests", c_int64),
        ("queue_tokens", c_int64),
        ("threads", c_int32),
        ("no_tokenizer", c_int32),
        ("no_prefix_cache", c_int32),
        ("fair", c_int32),
        ("target_ttft_ms", c_double),
        ("target_itl_ms", c_double),
        ("device", c_char_p),
        ("isa", c_char_p),
        ("chat_template", c_char_p),
        ("step_limit", c_double),
        ("lock_memory", c_int32),
    ]


class LogprobEntry(ctypes.Structure):
    _fields_ = [("id", c_int32), ("logprob", c_float)]


class Output(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("request", c_uint64),
        ("choice", c_int32),
        ("finish_reason", c_int32),
        ("is_last", c_int32),
        ("reserved", c_int32),
        ("ids", POINTER(c_int32)),
        ("id_count", c_size_t),
        ("text", c_void_p),
        ("text_size", c_size_t),
        ("logprobs", POINTER(LogprobEntry)),
        ("logprobs_per_id", c_size_t),
        ("stop_string", c_char_p),
        ("prompt_tokens", c_int64),
        ("cached_tokens", c_int64),
        ("new_tokens", c_int64),
        ("queue_ms", c_double),
        ("ttft_ms", c_double),
        ("elapsed_ms", c_double),
        ("error", Error),
    ]


class LogitsRow(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("request", c_uint64),
        ("choice", c_int32),
        ("reserved", c_int32),
        ("ids", POINTER(c_int32)),
        ("id_count", c_size_t),
        ("logits", POINTER(c_float)),
        ("vocab", c_size_t),
    ]


class Bias(ctypes.Structure):
    _fields_ = [("id", c_int32), ("bias", c_float)]


class IdList(ctypes.Structure):
    _fields_ = [("ids", POINTER(c_int32)), ("count", c_size_t)]


OutputCallback = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Output))
LogitsCallback = ctypes.CFUNCTYPE(None, c_void_p, POINTER(LogitsRow))


class Request(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("prompt_ids", POINTER(c_int32)),
        ("prompt_id_count", c_size_t),
        ("prompt", c_char_p),
        ("prompt_size", c_size_t),
        ("messages", c_char_p),
        ("template_variables", c_char_p),
        ("max_tokens", c_int64),
        ("min_tokens", c_int64),
        ("stop_ids", POINTER(c_int32)),
        ("stop_id_count", c_size_t),
        ("stop_strings", POINTER(c_char_p)),
        ("stop_string_count", c_size_t),
        ("bad_words", POINTER(IdList)),
        ("bad_word_count", c_size_t),
        ("ignore_eos", c_int32),
        ("show_special", c_int32),
        ("temperature", c_float),
        ("top_p", c_float),
        ("min_p", c_float),
        ("repetition_penalty", c_float),
        ("presence_penalty", c_float),
        ("frequency_penalty", c_float),
        ("typical_p", c_float),
        ("top_k", c_int32),
        ("no_repeat_ngram", c_int32),
        ("seed", c_uint64),
        ("logit_bias", POINTER(Bias)),
        ("logit_bias_count", c_size_t),
        ("choices", c_int32),
        ("logprobs", c_int32),
        ("streaming", c_int32),
        ("grammar_kind", c_int32),
        ("grammar", c_char_p),
        ("priority", c_int32),
        ("no_prefix_cache", c_int32),
        ("share", c_int64),
        ("cache_salt", c_uint64),
        ("on_output", OutputCallback),
        ("on_logits", LogitsCallback),
        ("user", c_void_p),
        ("beam_width", c_int32),
        ("stop_beams", c_int32),
        ("length_penalty", c_float),
        ("penalty_alpha", c_float),
        ("trust_content", c_int32),
        ("reserved", c_int32),
        ("penalty_window", c_int32),
        ("reserved2", c_int32),
    ]


class Stats(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("running", c_int64),
        ("waiting", c_int64),
        ("kv_pages_used", c_int64),
        ("kv_pages", c_int64),
        ("steps", c_uint64),
        ("prompt_tokens", c_uint64),
        ("new_tokens", c_uint64),
        ("finished_stop", c_uint64),
        ("finished_length", c_uint64),
        ("cancelled", c_uint64),
        ("failed", c_uint64),
        ("refused", c_uint64),
        ("preemptions", c_uint64),
        ("prefix_queries", c_uint64),
        ("prefix_hits", c_uint64),
        ("step_seconds", c_double),
        ("ttft_p50_ms", c_double),
        ("ttft_p99_ms", c_double),
        ("itl_p50_ms", c_double),
        ("itl_p99_ms", c_double),
    ]


class Model(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("fingerprint", c_char_p),
        ("target", c_char_p),
        ("device", c_char_p),
        ("remark", c_char_p),
        ("vocab", c_int64),
        ("context", c_int64),
        ("max_seqs", c_int64),
        ("max_batch_tokens", c_int64),
        ("threads", c_int32),
        ("has_tokenizer", c_int32),
        ("has_chat_template", c_int32),
        ("bos", c_int32),
        ("eos", POINTER(c_int32)),
        ("eos_count", c_size_t),
        ("mapped_bytes", c_uint64),
        ("allocated_bytes", c_uint64),
        ("kv_bytes", c_uint64),
        ("load_ms", c_double),
    ]


# name: (result, arguments)
FUNCTIONS = {
    "ingot_abi_version": (c_uint32, []),
    "ingot_version": (c_char_p, []),
    "ingot_error_status": (c_int32, [Error]),
    "ingot_error_code": (c_char_p, [Error]),
    "ingot_error_what": (c_char_p, [Error]),
    "ingot_error_why": (c_char_p, [Error]),
    "ingot_error_fix": (c_char_p, [Error]),
    "ingot_error_text": (c_char_p, [Error]),
    "ingot_error_free": (None, [Error]),
    "ingot_free": (None, [c_void_p]),
    "ingot_config_init": (None, [POINTER(Config), c_size_t]),
    "ingot_executor_open": (c_int32, [c_char_p, POINTER(Config), POINTER(Executor), POINTER(Error)]),
    "ingot_executor_shutdown": (c_int32, [Executor, c_int64, POINTER(Error)]),
    "ingot_executor_close": (None, [Executor]),
    "ingot_outputs_count": (c_size_t, [Outputs]),
    "ingot_outputs_get": (c_int32, [Outputs, c_size_t, POINTER(Output)]),
    "ingot_outputs_free": (None, [Outputs]),
    "ingot_request_init": (None, [POINTER(Request), c_size_t]),
    "ingot_enqueue": (c_int32, [Executor, POINTER(Request), POINTER(c_uint64), POINTER(Error)]),
    "ingot_await": (c_int32, [Executor, c_uint64, c_int64, POINTER(Outputs), POINTER(Error)]),
    "ingot_ready": (c_size_t, [Executor, c_uint64]),
    "ingot_cancel": (None, [Executor, c_uint64]),
    "ingot_stats_get": (c_int32, [Executor, POINTER(Stats)]),
    "ingot_metrics": (c_int32, [Executor, POINTER(c_void_p), POINTER(c_size_t), POINTER(Error)]),
    "ingot_model_get": (c_int32, [Executor, POINTER(Model)]),
    "ingot_encode": (
        c_int32,
        [Executor, c_char_p, c_size_t, c_int32, POINTER(POINTER(c_int32)), POINTER(c_size_t), POINTER(Error)],
    ),
    "ingot_decode": (
        c_int32,
        [Executor, POINTER(c_int32), c_size_t, c_int32, POINTER(c_void_p), POINTER(c_size_t), POINTER(Error)],
    ),
    "ingot_token_bytes": (c_int32, [Executor, c_int32, POINTER(c_void_p), POINTER(c_size_t), POINTER(Error)]),
    "ingot_token_id": (c_int32, [Executor, c_char_p, c_size_t]),
    "ingot_render_chat": (
        c_int32,
        [Executor, c_char_p, c_char_p, c_int32, POINTER(c_void_p), POINTER(c_size_t), POINTER(Error)],
    ),
}

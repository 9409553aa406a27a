"""The fields of every route, for the test of bad values (every_field in service.py).

A kind is (type, minimum, maximum) for numbers, and "str", "bool", "list" or "object" otherwise.
"""
import copy

SAMPLING = {
    "temperature": ("number", 0, 1e6), "top_p": ("number", 0, 1), "top_k": ("int", -1, 2 ** 31 - 1), "min_p": ("number", 0, 1),
    "typical_p": ("number", 1e-9, 1), "presence_penalty": ("number", -1e6, 1e6), "frequency_penalty": ("number", -1e6, 1e6),
    "repetition_penalty": ("number", 1e-6, 1e6), "seed": ("int", -2 ** 63, 2 ** 63 - 1), "stream": ("bool",),
    "stop_token_ids": ("list",), "ignore_eos": ("bool",), "logit_bias": ("object",), "n": ("int", 1, 128),
    "min_tokens": ("int", 0, 1), "allowed_token_ids": ("list",), "bad_words": ("any",), "include_stop_str_in_output": ("bool",),
    "skip_special_tokens": ("bool",), "return_token_ids": ("bool",), "truncate_prompt_tokens": ("int", -1, 2 ** 30), "structured_outputs": ("object",),
    "prompt_logprobs": ("int", 0, 20), "repeat_penalty": ("number", 1e-6, 1e6), "n_predict": ("int", -1, 2 ** 30), "json_schema": ("object",),
    "repeat_last_n": ("int", -1, 2 ** 31 - 1), "penalty_window": ("int", -1, 2 ** 31 - 1),
    "cache_prompt": ("bool",), "user": ("str",), "model": ("str",), "priority": ("int", -2 ** 31, 2 ** 31 - 1),
}
SEARCH = {
    "use_beam_search": ("bool",), "beam_width": ("int", 1, 8), "length_penalty": ("number", -8, 8), "early_stopping": ("any",),
    "penalty_alpha": ("number", 0, 1),
}
OPTIONS = {  # Ollama and llama.cpp
    "temperature": ("number", 0, 1e6), "top_p": ("number", 0, 1), "top_k": ("int", -1, 2 ** 31 - 1), "min_p": ("number", 0, 1),
    "typical_p": ("number", 1e-9, 1), "repeat_penalty": ("number", 1e-6, 1e6), "repeat_last_n": ("int", -1, 2 ** 31 - 1),
    "presence_penalty": ("number", -1e6, 1e6), "frequency_penalty": ("number", -1e6, 1e6), "seed": ("int", -2 ** 63, 2 ** 63 - 1), "stop": ("any",),
    "num_predict": ("int", -2, 2 ** 30),
}
BEAMS = {"use_beam_search": True, "beam_width": 3, "n": 2}
CHAT = [{"role": "user", "content": "Hi"}]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}

ROUTES = [
    ("/v1/completions", {"prompt": "a", "max_tokens": 1}, {
        **SAMPLING, **SEARCH, "prompt": ("any",), "max_tokens": ("int", 0, 2 ** 30), "stop": ("any",), "logprobs": ("int", 0, 20), "echo": ("bool",),
        "suffix": ("str",), "stream_options": ("object",), "best_of": ("int", 1, 1), "response_format": ("object",)}),
    ("/v1/chat/completions", {"messages": CHAT, "max_tokens": 1}, {
        **SAMPLING, **SEARCH, "messages": ("list",), "messages.0.role": ("str",), "messages.0.content": ("any",), "messages.0.name": ("str",),
        "max_tokens": ("int", 0, 2 ** 30), "max_completion_tokens": ("int", 0, 2 ** 30), "stop": ("any",), "logprobs": ("bool",),
        "top_logprobs": ("int", 0, 20), "tools": ("list",), "tool_choice": ("any",), "parallel_tool_calls": ("bool",),
        "response_format": ("object",), "response_format.type": ("str",), "chat_template_kwargs": ("object",), "stream_options": ("object",),
        "functions": ("list",), "function_call": ("any",)}),
    ("/v1/completions", {"prompt": "a", "max_tokens": 1, **BEAMS}, {
        **SEARCH, "n": ("int", 1, 3), "temperature": ("number", 0, 1), "top_p": ("number", 1, 1), "top_k": ("int", -1, 0),
        "repetition_penalty": ("number", 1, 1), "logit_bias": ("object",), "stream": ("bool",)}),
    ("/v1/completions", {"prompt": "a", "max_tokens": 1, "penalty_alpha": 0.6, "top_k": 4}, {
        "penalty_alpha": ("number", 0, 1), "top_k": ("int", 2, 8), "n": ("int", 1, 1), "min_p": ("number", 0, 0), "stream": ("bool",)}),
    ("/v1/messages", {"messages": CHAT, "max_tokens": 1}, {
        "messages": ("list",), "messages.0.role": ("str",), "messages.0.content": ("any",), "system": ("any",), "max_tokens": ("int", 0, 2 ** 30),
        "temperature": ("number", 0, 1e6), "top_p": ("number", 0, 1), "top_k": ("int", -1, 2 ** 31 - 1), "stop_sequences": ("list",),
        "stream": ("bool",), "tools": ("list",), "tool_choice": ("object",), "model": ("str",)}),
    ("/v1/responses", {"input": "Hi", "max_output_tokens": 1}, {
        "input": ("any",), "instructions": ("str",), "max_output_tokens": ("int", 1, 2 ** 30), "temperature": ("number", 0, 1e6),
        "top_p": ("number", 0, 1), "stream": ("bool",), "tools": ("list",), "tool_choice": ("any",), "text": ("object",),
        "metadata": ("object",), "previous_response_id": ("str",), "model": ("str",)}),
    ("/v1/embeddings", {"input": "a"}, {"input": ("any",), "encoding_format": ("str",), "dimensions": ("int", 576, 576), "pooling": ("str",),
                                        "user": ("str",), "model": ("str",)}),
    ("/api/chat", {"messages": CHAT, "stream": False, "options": {"num_predict": 1}}, {
        "messages": ("list",), "messages.0.role": ("str",), "messages.0.content": ("any",), "model": ("str",), "stream": ("bool",), "format": ("any",),
        "think": ("any",), "tools": ("list",), "keep_alive": ("any",), "options": ("object",), **{f"options.{name}": kind for name, kind in OPTIONS.items()}}),
    ("/api/generate", {"prompt": "a", "stream": False, "options": {"num_predict": 1}}, {
        "prompt": ("str",), "suffix": ("str",), "system": ("str",), "raw": ("bool",), "template": ("str",), "context": ("list",), "images": ("list",),
        "model": ("str",), "stream": ("bool",), "format": ("any",), "options": ("object",)}),
    ("/api/embed", {"input": "a"}, {"input": ("any",), "truncate": ("bool",), "dimensions": ("int", 576, 576), "model": ("str",)}),
    ("/api/embeddings", {"prompt": "a"}, {"prompt": ("any",), "model": ("str",)}),
    ("/api/show", {"model": "m"}, {"model": ("str",), "verbose": ("bool",)}),
    ("/completion", {"prompt": "a", "n_predict": 1}, {
        **OPTIONS, "prompt": ("any",), "return_tokens": ("bool",), "grammar": ("str",), "stream": ("bool",), "ignore_eos": ("bool",),
        "json_schema": ("object",), "cache_prompt": ("bool",), "n_predict": ("int", -1, 2 ** 30), "model": ("str",), "logit_bias": ("object",)}),
    ("/tokenize", {"prompt": "a"}, {"prompt": ("str",), "messages": ("list",), "add_special_tokens": ("bool",), "return_token_strs": ("bool",)}),
    ("/detokenize", {"tokens": [1]}, {"tokens": ("list",), "tokens.0": ("int", 0, 49151)}),
    ("/apply-template", {"messages": CHAT}, {"messages": ("list",), "messages.0.content": ("any",), "add_generation_prompt": ("bool",)}),
]

NAN, HUGE = "@NaN@", "@huge@"  # replaced in the JSON text


def placed(base, name, value):
    """`base` with the field at a dotted path set; `value` None with `missing` removes it."""
    body = copy.deepcopy(base)
    at = body
    *way, last = [int(part) if part.isdigit() else part for part in name.split(".")]
    for part in way:
        if isinstance(at, dict) and part not in at:
            at[part] = {}
        at = at[part]
    if value is ...:
        if isinstance(at, dict):
            at.pop(last, None)
        return body
    at[last] = value
    return body


def variants(base, name, kind):
    import json
    yield "missing", placed(base, name, ...)
    values = {"null": None, "a string": "x", "a number": 0.5, "an integer": 3, "a boolean": True, "a list": [[]], "an object": {"x": [1]},
              "1e308": 1e308, "-1e308": -1e308, "an empty string": "", "an empty list": [], "an empty object": {}}
    if kind[0] in ("int", "number"):
        step = 1 if kind[0] == "int" else 0.125
        values["below"] = kind[1] - step
        values["above"] = kind[2] + step
    for label, value in values.items():
        yield label, placed(base, name, value)
    yield "a string of 1 MiB", placed(base, name, "x" * (1 << 20))
    text = json.dumps(placed(base, name, NAN))
    yield "no JSON: NaN", text.replace(f'"{NAN}"', "NaN")
    yield "a huge integer", text.replace(f'"{NAN}"', "1" + "0" * 40)

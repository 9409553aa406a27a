"""Sends one chat through each of the four routes, whole and streamed, and converts the
answers to a common form for comparison."""
import dataclasses
import json

ROUTES = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat")
CHAT, RESPONSES, MESSAGES, OLLAMA = ROUTES


@dataclasses.dataclass
class Answer:
    content: str = ""
    reasoning: str = ""
    calls: list = dataclasses.field(default_factory=list)  # [name, text of the arguments]
    finish: str = ""  # stop, length or tool_calls, whatever the route's own name
    reasoning_tokens: int | None = None  # None: the route does not report them

    def arguments(self):
        """[(name, value)]; text that does not parse stays a string."""
        def value(text):
            try:
                return json.loads(text)
            except ValueError:
                return text
        return [(name, value(text)) for name, text in self.calls]


def body(route, model, message, stream=False, tools=None, choice=None, parallel=None, stop=None, shape=None, most=900, strict=None):
    """A request. `tools`: {name: schema}; `choice`: none, required or a tool's name;
    `shape`: the schema of the content."""
    turns = [{"role": "user", "content": message}]
    asked = {"model": model, "stream": stream}
    extra = {} if strict is None else {"strict": strict}
    functions = [{"name": name, "parameters": schema, **extra} for name, schema in (tools or {}).items()]
    wrapped = [{"type": "function", "function": function} for function in functions]
    named = choice not in (None, "auto", "none", "required")
    if route == CHAT:
        asked |= {"messages": turns, "temperature": 0, "max_tokens": most, "tools": wrapped,
                  "tool_choice": {"type": "function", "function": {"name": choice}} if named else choice, "parallel_tool_calls": parallel, "stop": stop,
                  "response_format": shape and {"type": "json_schema", "json_schema": {"name": "shape", "schema": shape}},
                  "stream_options": {"include_usage": True} if stream else None}
    elif route == RESPONSES:
        asked |= {"input": message, "temperature": 0, "max_output_tokens": most, "tools": [{"type": "function", **function} for function in functions],
                  "tool_choice": {"type": "function", "name": choice} if named else choice, "parallel_tool_calls": parallel,
                  "text": shape and {"format": {"type": "json_schema", "name": "shape", "schema": shape}}}
    elif route == MESSAGES:
        kind = {None: "auto", "required": "any"}.get(choice, "tool" if named else choice)
        asked |= {"messages": turns, "temperature": 0, "max_tokens": most, "stop_sequences": stop,
                  "tools": [{"name": name, "input_schema": schema, **extra} for name, schema in (tools or {}).items()],
                  "tool_choice": {"type": kind, **({"name": choice} if named else {}), **({"disable_parallel_tool_use": True} if parallel is False else {})},
                  "output_config": shape and {"format": {"type": "json_schema", "schema": shape}}}
    else:
        asked |= {"messages": turns, "tools": wrapped, "options": {"temperature": 0, "num_predict": most, "stop": stop}, "format": shape}
        asked["options"] = {name: value for name, value in asked["options"].items() if value is not None}
    if not tools:
        for name in ("tools", "tool_choice", "parallel_tool_calls"):
            asked.pop(name, None)
    return {name: value for name, value in asked.items() if value is not None}


def ask(server, route, connection=None, **request):
    """The answer, whole or joined from its stream."""
    asked = body(route, **request)
    status, headers, answer = server.post(route, asked, connection=connection)
    assert status == 200, f"{route}: {status} {str(answer)[:600]}"
    if not asked["stream"]:
        return WHOLE[route](answer)
    if isinstance(answer, dict):  # a stream of one line
        answer = json.dumps(answer)
    return JOINED[route]([json.loads(line.removeprefix("data: ")) for line in answer.split("\n")
                          if line.startswith("{" if route == OLLAMA else "data: {")])


def whole_chat(answer):
    choice = answer["choices"][0]
    message = choice["message"]
    return Answer(message["content"] or "", message.get("reasoning_content") or "",
                  [[call["function"]["name"], call["function"]["arguments"]] for call in message.get("tool_calls") or []],
                  choice["finish_reason"], reasoning_of(answer["usage"], "completion_tokens_details"))


def joined_chat(events):
    made = Answer()
    for event in events:
        assert "error" not in event, event
        if event.get("usage"):
            made.reasoning_tokens = reasoning_of(event["usage"], "completion_tokens_details")
        for choice in event["choices"]:
            delta = choice["delta"]
            made.content += delta.get("content") or ""
            made.reasoning += delta.get("reasoning_content") or ""
            made.finish = choice["finish_reason"] or made.finish
            for call in delta.get("tool_calls") or []:
                if call["index"] == len(made.calls):
                    assert call["id"] and call["function"]["name"], call
                    made.calls.append([call["function"]["name"], ""])
                assert call["index"] == len(made.calls) - 1, f"call {call['index']} goes on after call {len(made.calls) - 1}"
                made.calls[-1][1] += call["function"].get("arguments") or ""
    return made


def reasoning_of(usage, details):
    return (usage.get(details) or {}).get("reasoning_tokens")


def whole_response(answer):
    made = Answer(reasoning_tokens=reasoning_of(answer["usage"], "output_tokens_details"))
    for item in answer["output"]:
        if item["type"] == "function_call":
            made.calls.append([item["name"], item["arguments"]])
        elif item["type"] == "message":
            made.content += "".join(part["text"] for part in item["content"])
        elif item["type"] == "reasoning":
            made.reasoning += "".join(part["text"] for part in item["content"])
    made.finish = "length" if answer["status"] == "incomplete" else "tool_calls" if made.calls else "stop"
    return made


def joined_response(events):
    made = Answer()
    for event in events:
        kind = event["type"]
        if kind == "response.output_text.delta":
            made.content += event["delta"]
        elif kind == "response.reasoning_text.delta":
            made.reasoning += event["delta"]
        elif kind == "response.output_item.added" and event["item"]["type"] == "function_call":
            made.calls.append([event["item"]["name"], ""])
        elif kind == "response.function_call_arguments.delta":
            made.calls[-1][1] += event["delta"]
    last = events[-1]
    assert last["type"] in ("response.completed", "response.incomplete"), last
    final = whole_response(last["response"])
    for field in ("content", "reasoning", "calls"):
        assert getattr(final, field) == getattr(made, field), f"{field}: the deltas are {getattr(made, field)!r}, the end {getattr(final, field)!r}"
    return final


FINISH = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls"}


def whole_message(answer):
    made = Answer(finish=FINISH[answer["stop_reason"]])
    for block in answer["content"]:
        made.content += block.get("text", "")
        made.reasoning += block.get("thinking", "")
        if block["type"] == "tool_use":
            made.calls.append([block["name"], json.dumps(block["input"])])
    return made


def joined_message(events):
    made = Answer()
    for event in events:
        delta = event.get("delta", {})
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            made.calls.append([event["content_block"]["name"], ""])
        made.content += delta.get("text", "")
        made.reasoning += delta.get("thinking", "")
        if "partial_json" in delta:
            made.calls[-1][1] += delta["partial_json"]
        if event["type"] == "message_delta":
            made.finish = FINISH[delta["stop_reason"]]
        assert event["type"] != "error", event
    return made


def whole_ollama(answer):
    return joined_ollama([answer])


def joined_ollama(events):
    made = Answer()
    for event in events:
        assert "error" not in event, event
        message = event["message"]
        made.content += message.get("content") or ""
        made.reasoning += message.get("thinking") or ""
        made.calls += [[call["function"]["name"], json.dumps(call["function"]["arguments"])] for call in message.get("tool_calls") or []]
    assert events[-1]["done"], events[-1]
    reason = events[-1]["done_reason"]
    made.finish = "tool_calls" if made.calls and reason == "stop" else reason
    return made


WHOLE = dict(zip(ROUTES, (whole_chat, whole_response, whole_message, whole_ollama)))
JOINED = dict(zip(ROUTES, (joined_chat, joined_response, joined_message, joined_ollama)))

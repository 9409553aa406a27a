"""Answers in every format (formats.py), given by a scripted model (scripted_model.py) through one `ingot serve`:
checks which parts are calls, reasoning and text, whole and streamed, on the four chat routes (answers.py).
"""
import concurrent.futures
import contextlib
import dataclasses
import json
import re
import shutil

import answers
import format_cases
import formats
from answers import CHAT, MESSAGES, OLLAMA, RESPONSES, ROUTES, Answer
from scripted_model import CONTEXT, ScriptedModel
from server import Server


def structure(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


STRING, INTEGER, BOOLEAN = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
TOOLS = {
    "get_weather": structure(["city"], city=STRING, n=INTEGER, o=structure(k={"type": "array", "items": BOOLEAN})),
    "f": structure(),
    "every": structure(s=STRING, t=STRING, i=INTEGER, x={"type": "number"}, b=BOOLEAN, l={"type": "array", "items": INTEGER},
                       o=structure(k=structure(m=STRING))),
}
WEATHER = ("call", "get_weather", {"city": "Oslo", "n": 1, "o": {"k": [True, False]}})
NOTHING = ("call", "f", {})
EVERY = ("call", "every", {"s": 'a "b" \\ c\nd <e> & {f: [g]}, é', "t": "12", "i": -3, "x": 1.5, "b": True, "l": [1, 2], "o": {"k": {"m": "v w"}}})
# The values are bounded, so that a model without preferences ends its answer.
FORCED = {"pick": structure(["colour", "count", "sure"], colour={"enum": ["red", "dark blue"]}, sure=BOOLEAN,
                            count={"type": "integer", "minimum": 0, "maximum": 9}),
          "other": structure()}
# The routes convert answers of all formats alike. These formats have readers of different kinds, so their cases are
# tried on the other routes in turn. Cases of other formats use one route, unless a case says `everywhere` or the run is
# long.
ROUTED = ("hermes", "llama3-json", "mistral-args", "harmony", "qwen3-coder", "gemma4", "kimi-k3")
SHAPE = structure(["a"], a={"enum": ["x", "y"]})


@dataclasses.dataclass
class Case:
    title: str
    script: str
    expected: Answer | None  # None: only whole and streamed are compared
    prompt: str = ""  # the word of Format.prompts
    tools: dict | None = dataclasses.field(default_factory=lambda: TOOLS)
    routes: tuple = ROUTES
    counted: range | None = None  # expected tokens of reasoning
    everywhere: bool = False  # on all of its routes, whatever the format
    words: bool = False  # written in tokens that contain parts of marks
    request: dict = dataclasses.field(default_factory=dict)
    must: object = None  # a function that asserts further properties of the answer


def expected(parts, finish=None):
    """The answer that the parts mean."""
    calls = [[name, json.dumps(arguments)] for kind, name, arguments in (part for part in parts if part[0] == "call")]
    return Answer("".join(part[1] for part in parts if part[0] == "text"), "".join(part[1] for part in parts if part[0] == "think"),
                  calls, finish or ("tool_calls" if calls else "stop"))


def plain(text, reasoning="", finish="stop"):
    return Answer(text, reasoning, [], finish)


class Scripts:
    """The cases of one format, each by its topic."""

    def __init__(self, format):
        self.format = format
        marks = formats.THINK if not format.think else format.think
        self.open, self.close = marks
        thinks = [("think", "plan")] if format.think else []
        example = format.write([*thinks, ("text", "answer"), WEATHER, NOTHING] if format.before else [WEATHER, NOTHING])
        tail = "".join(f"{{%- if {json.dumps(word)} == word -%}}{{{{ {json.dumps(text, ensure_ascii=False)} }}}}{{%- endif -%}}"
                       for word, text in format.prompts.items())
        comment = " ".join([example, format.write([("text", "answer")]), format.also, *format.prompts.values()]).replace("#}", "# }").replace("{#", "{ #")
        template = ("{#- " + comment + " -#}{%- set said = messages[-1].content -%}{%- set words = (said if said is string else said[0].text).split(' ') -%}"
                    "{%- set word = words[1] if words|length > 1 else '' -%}{%- for i in range(words[0]|int) -%}x{%- endfor -%}"
                    "{%- if tools and 0 -%}{{ tools|tojson }}{%- endif -%}{%- if add_generation_prompt -%}" + tail + "{%- endif -%}")
        self.model = ScriptedModel(template, format.special, format.plain)
        self.model.closers = [id for text, at in ((self.close, 0), (format.write([WEATHER]), -1)) if (id := self.model.tokens(text)[at]) >= 256]
        self.places = {}

    def message(self, case):
        """The last message of a request that makes the model say the case's script."""
        word, key = case.prompt, (case.prompt, case.script, case.words)
        tail = len(self.model.tokens(self.format.prompts[word]))
        if key not in self.places:
            self.places[key] = self.model.add(case.script, case.words, least=tail + 2) - tail
        return f"{self.places[key]} {word}".strip()

    def nowhere(self):
        """A message after which no script is left: the model writes only what it must."""
        return str(self.model.free + 64)

    def written(self, parts, prompt=""):
        """The text of an answer, after a prompt that may already contain its beginning."""
        begun = self.format.prompts[prompt].removeprefix(self.format.prompts[""])
        return self.format.write(parts).removeprefix(begun)

    def case(self, title, parts, right=None, prompt="", **more):
        return Case(title, self.written(parts, prompt), right or expected(parts), prompt, **more)

    @property
    def thinking(self):
        """The prompt of a case with reasoning."""
        return "" if self.open else self.format.opened

    def calls(self):
        made = [("one call", [WEATHER]), ("no arguments", [NOTHING]), ("every type of argument", [EVERY])]
        if self.format.before:
            made.append(("text before a call", [("text", "Let me see. "), WEATHER]))
        if self.format.before and self.format.after:
            made.append(("text around a call", [("text", "Let me see. "), WEATHER, ("text", " Done. \n")]))
        if self.format.several:
            made.append(("two calls", [WEATHER, NOTHING]))
            made.append(("two calls of one tool", [WEATHER, ("call", "get_weather", {"city": "Bergen"})]))
        yield from (self.case(title, parts, everywhere=title == "one call") for title, parts in made)
        yield self.case("every type of argument, in tokens of several letters", [EVERY], words=True)
        if self.format.think:
            yield self.case("reasoning before a call", [("think", "I need the\n\nweather."), WEATHER], prompt=self.thinking)
            if self.format.before:
                yield self.case("reasoning, text and a call", [("think", "Hm."), ("text", "Let me see. "), WEATHER], prompt=self.thinking)

    def no_calls(self):
        call = self.written([WEATHER])
        # Control tokens are hidden if the request does not use a format that has them.
        shown = {call, re.sub("|".join(map(re.escape, self.format.special)) or "$.", "", call)} if self.format.verbatim else None
        for title, tools, request in (("no tools", None, {}), ("tool_choice none", TOOLS, {"choice": "none"})):
            yield Case(title, call, None, tools=tools, request=request, must=lambda answer: has_no_call(answer, shown),
                       routes=ROUTES if tools is None else (CHAT, RESPONSES))
        unknown = self.written([("call", "nobody", {"a": 1})])
        yield Case("an unknown tool", unknown, plain(unknown) if self.format.verbatim else None, must=has_no_call)
        if not self.format.verbatim:
            return
        broken = call[:call.index("get_weather") + 5] + "?? No \n"
        yield Case("a call that is broken in its name", broken, plain(broken))
        for mark in self.format.prose:
            for text in (f"Write {mark} first. \n", f"`{mark}`", f"{mark}{mark} \n x {mark}"):
                yield Case(f"{text!r}", text, plain(text))
        if self.format.before:
            text = f"See {self.format.prose[0] if self.format.prose else 'it'} . "
            yield Case("a mark in text before a call", text + call, dataclasses.replace(expected([WEATHER]), content=text))

    def reasoning(self):
        if not self.format.think:
            return
        for prompt in dict.fromkeys((self.thinking, self.format.opened)):
            opened = " (opened by the template)" if prompt and prompt == self.format.opened else ""
            size = len(self.model.tokens("Let me think.\n\nYes: é."))
            yield self.case("reasoning and text" + opened, [("think", "Let me think.\n\nYes: é."), ("text", "Hello,\n\n  world! \n")], prompt=prompt,
                            counted=range(size, size + 5), everywhere=True)
            yield self.case("reasoning and text without tools" + opened, [("think", "Plan."), ("text", "Hello!")], prompt=prompt, tools=None)
            if self.format.verbatim:
                text = f're.sub(r"{self.open}.*?{self.close}", "", s) {self.close} '
                yield self.case("marks of reasoning in the text after it" + opened, [("think", "Plan."), ("text", text)], prompt=prompt)
            begun = self.written([("think", "Plan and no"), ("text", "")], prompt)
            cut = begun.index("no") + 2
            most = len(self.model.tokens(begun[:cut]))
            size = len(self.model.tokens("Plan and no"))
            yield Case("reasoning that is cut" + opened, begun, plain("", "Plan and no", "length"), prompt, request={"most": most},
                       counted=range(size, size + 3))
        text = f" Use {self.close} and {self.open} \n"
        if self.format.verbatim and self.open:
            yield Case("marks of reasoning in text", text, plain(text), counted=range(1))
        yield self.case("no reasoning", [("text", "Hello. \n")], counted=range(1))

    def spellings(self):
        for title, said, parts, *prompt in format_cases.CASES.get(self.format.name, ()):
            yield Case(title, said, parts and expected(parts), *prompt, must=None if parts else has_no_call)

    def one_at_a_time(self):
        if self.format.several:
            for parts in ([WEATHER, NOTHING], [WEATHER, NOTHING, WEATHER]):
                yield self.case(f"the first of {len(parts)} calls alone", parts, expected([WEATHER]), request={"parallel": False},
                                routes=(CHAT, RESPONSES, MESSAGES))

    def stops(self):
        routes = (CHAT, MESSAGES, OLLAMA)
        yield self.case("a stop string in text", [("text", "one STOP two")], plain("one "), request={"stop": ["STOP"]}, routes=routes)
        if self.format.think:
            yield self.case("a stop string in reasoning", [("think", "say STOP here"), ("text", "final STOP rest")], plain("final ", "say STOP here"),
                            self.thinking, request={"stop": ["STOP"]}, routes=routes)
            yield self.case("a stop string that reasoning's end begins", [("think", "one ST"), ("text", "OP two")], prompt=self.thinking,
                            request={"stop": ["STOP"]}, routes=routes)
            yield self.case("line feeds as a stop string", [("think", "a\n\nb"), ("text", "c\n\nd")], plain("c", "a\n\nb"), self.thinking,
                            request={"stop": ["\n\n"]}, routes=routes)
        yield self.case("a stop string in a call", [("call", "get_weather", {"city": "STOP"})], request={"stop": ["STOP", "get_"]}, routes=routes)

    def lenient(self):
        if self.format.arguments == "json":
            for title, text in (("control characters in a string", "line1\nline2\ttab\r\x01\x1f"),
                                ("escapes beside control characters", '\\"a\\"\n\\\\\n\\u00e9\t\\n')):
                yield Case(title, self.written([("call", "every", f'{{"s": "{text}", "i": 1}}')]),
                           expected([("call", "every", {"s": json.loads(f'"{text}"', strict=False), "i": 1})]), must=parses)
            yield Case("a control character in a key", self.written([("call", "every", '{"a\tb": {"c\nd": 1}}')]),
                       expected([("call", "every", {"a\tb": {"c\nd": 1}})]), must=parses)
        elif self.format.arguments != "python":
            text = "line1\nline2\ttab\r\x01\x1f"
            yield self.case("control characters in a string", [("call", "every", {"s": text, "i": 1})], must=parses)
        if self.format.key:
            right = ("call", "get_weather", {"city": "Oslo"})
            values = ('"x \\" }"', "1", "null", "[1, {}]", '{"name": "g"}')
            for places in ((values[0], None, None), (None, values[0], None), (None, None, values[0]), *([value] * 3 for value in values[1:])):
                keys = [("note", places[0]), ("name", '"get_weather"'), ("more", places[1]), (self.format.key, '{"city": "Oslo"}'), ("last", places[2])]
                whole = "{" + ", ".join(f'"{key}": {each}' for key, each in keys if each is not None) + "}"
                yield Case(f"further keys: {whole}", self.written([("call", None, whole)]), expected([right]), routes=(CHAT,))

    def cut(self):
        call = self.written([WEATHER])
        ids = len(self.model.tokens(call))
        for most in sorted({1, 2, 3, ids // 4, ids // 3, ids // 2, 2 * ids // 3, ids - 2, ids - 1}):
            yield Case(f"a call that is cut after {most} of {ids} tokens", call, None, request={"most": most}, routes=(CHAT,), must=is_cut)


def has_no_call(answer, texts=None):
    assert not answer.calls, f"there are calls: {answer.calls}"
    assert texts is None or answer.content in texts, f"content is {answer.content!r}, expected one of {texts}"


def parses(answer):
    for _, text in answer.calls:
        json.loads(text)


def is_cut(answer):
    assert answer.finish in ("length", "tool_calls") and len(answer.calls) <= 1, answer
    assert not (answer.content and answer.calls), answer


def differences(answer, case, route):
    """Lists deviations from the expected answer."""
    right = case.expected
    if right:
        for field in ("content", "reasoning", "finish"):
            if getattr(answer, field) != getattr(right, field):
                yield f"{field} is {getattr(answer, field)!r}, expected {getattr(right, field)!r}"
        if answer.arguments() != right.arguments():
            yield f"the calls are {answer.calls}, expected {right.calls}"
    if case.counted and route in (CHAT, RESPONSES) and (answer.reasoning_tokens or 0) not in case.counted:
        yield f"{answer.reasoning_tokens} tokens of reasoning, expected {case.counted.start} to {case.counted.stop - 1}"
    if case.must:
        try:
            case.must(answer)
        except (AssertionError, ValueError) as error:
            yield str(error)


def routes_of(number, case, name, long):
    """The routes on which a topic's case is tried; `number` is the case's index within the topic."""
    others = [route for route in case.routes if route != CHAT]
    if long or case.everywhere or (name in ROUTED and not number):
        return case.routes
    if CHAT not in case.routes:
        return others[:1]
    return (CHAT, others[number // 2 % len(others)]) if name in ROUTED and others and number % 2 else (CHAT,)


def run(server, connection, name, scripts, cases, long):
    """Runs each case on its routes; returns a text of the errors."""
    wrong, asked = [], 0
    for number, case in enumerate(cases):
        found = []
        for route in routes_of(number, case, name, long):
            try:
                got = [answers.ask(server, route, connection, model=name, message=scripts.message(case), stream=stream, tools=case.tools, **case.request)
                       for stream in (False, True)]
            except AssertionError as error:
                found.append(f"{route}: {error}")
                continue
            asked += 2
            found += [f"{route}: {text}" for text in dict.fromkeys(text for answer in got for text in differences(answer, case, route))]
            if got[0].arguments() != got[1].arguments() or (route != MESSAGES and got[0] != got[1]):
                found.append(f"{route}: whole {got[0]} and streamed {got[1]}")
        if found:
            wrong.append("\n  ".join([f"{case.title}: the model says {case.script!r}", *found]))
    assert not wrong, f"{len(wrong)} of {len(cases)} cases\n" + "\n".join(wrong)
    return f"{asked} answers"


def fits(schema, value):
    """Whether a value fits one of FORCED's schemas, or SHAPE."""
    if set(value) != set(schema["required"]):
        return False
    return all(each in part["enum"] if "enum" in part else isinstance(each, bool) if part["type"] == "boolean"
               else type(each) is int and part["minimum"] <= each <= part["maximum"]
               for each, part in ((value[name], schema["properties"][name]) for name in value))


def forced(server, connection, name, scripts, long):
    """Each way to force a call gives calls of the right tools with arguments that fit,
    whatever the model would write."""
    wrong, answered = [], 0
    for title, request, names, most in (
            ("required", {"choice": "required"}, FORCED, 9), ("named", {"choice": "pick"}, ("pick",), 1),
            ("required, one at a time", {"choice": "required", "parallel": False}, FORCED, 1),
            ("named, strict", {"choice": "pick", "strict": True}, ("pick",), 1),
            ("one tool, required", {"choice": "required", "tools": {"pick": FORCED["pick"]}}, ("pick",), 9),
            ("no arguments", {"choice": "other"}, ("other",), 1)):
        for route in (CHAT, RESPONSES, MESSAGES) if title in ("required", "named") and (long or name in ROUTED) else (CHAT,):
            try:
                asked = {"model": name, "message": scripts.nowhere(), "tools": FORCED, **request}
                got = [answers.ask(server, route, connection, stream=stream, **asked) for stream in (False, True)]
                answered += 2
                for answer in got:
                    assert 1 <= len(answer.calls) <= most and answer.finish == "tool_calls", answer
                    for called, arguments in answer.arguments():
                        assert called in names and isinstance(arguments, dict) and fits(FORCED[called], arguments), answer
                assert got[0].arguments() == got[1].arguments(), got
            except AssertionError as error:
                wrong.append(f"{title}, {route}: {error}")
    assert not wrong, f"{len(wrong)} ways\n" + "\n".join(wrong)
    return f"{answered} answers"


def allowed(scripts, call):
    """A call that a grammar allows: it writes the values of Python-style calls as JSON does."""
    if scripts.format.arguments != "python":
        return call
    return call[:2] + ({name: value for name, value in call[2].items() if "True" not in str(value)},)


def forced_scripts(scripts):
    """Under the grammar of a forced call the model can write a call in its own form."""
    if not scripts.format.forced:
        return
    weather, every = allowed(scripts, WEATHER), allowed(scripts, EVERY)
    for title, parts in (("one call", [weather]), ("every type", [every])):
        yield scripts.case(title, parts, request={"choice": "required"}, routes=(CHAT, RESPONSES, MESSAGES))
    yield scripts.case("a named tool", [weather], request={"choice": "get_weather"}, routes=(CHAT,))
    if scripts.format.several:
        yield scripts.case("two calls", [weather, NOTHING], request={"choice": "required"}, routes=(CHAT,))
    if scripts.format.think:
        for title, prompt in (("reasoning before a call", scripts.thinking), ("reasoning that is open", scripts.format.opened)):
            if prompt or title == "reasoning before a call":
                yield scripts.case(title, [("think", "Hm, so."), weather], prompt=prompt, request={"choice": "required"}, routes=(CHAT,))


def shaped(scripts):
    """A schema for the answer in addition to tools: a call or the shape (auto), a call
    (required), the shape (none)."""
    text, call = ("text", '{"a": "x"}'), allowed(scripts, WEATHER)
    yield scripts.case("the shape", [text], request={"shape": SHAPE})
    if scripts.format.think:
        yield scripts.case("the shape after reasoning", [("think", "Hm, so."), text], prompt=scripts.thinking, request={"shape": SHAPE})
    if scripts.format.forced:
        yield scripts.case("a call", [call], request={"shape": SHAPE})
        yield scripts.case("a call that is required", [call], request={"shape": SHAPE, "choice": "required"}, routes=(CHAT, RESPONSES, MESSAGES))
        if scripts.format.think:
            yield scripts.case("a call after reasoning", [("think", "Hm, so."), call], prompt=scripts.thinking, request={"shape": SHAPE})
    yield scripts.case("no call", [text], request={"shape": SHAPE, "choice": "none"}, routes=(CHAT, RESPONSES))
    yield Case("no call, whatever it wants", scripts.written([WEATHER]), None, request={"shape": SHAPE, "choice": "none"},
               routes=(CHAT, RESPONSES), must=has_shape)


def has_shape(answer):
    assert not answer.calls and fits(SHAPE, json.loads(answer.content)), answer


def choices_count(server, name, scripts):
    """Tokens of reasoning are summed over all choices."""
    case = scripts.case("", [("think", "Plan."), ("text", "Hello!")])  # one of Scripts.reasoning
    usage = [server.post(CHAT, {**answers.body(CHAT, name, scripts.message(case)), "n": count})[2]["usage"] for count in (1, 3)]
    one, three = (each.get("completion_tokens_details", {}).get("reasoning_tokens") for each in usage)
    assert one in range(5, 8) and three == 3 * one, usage


def empty_values(server):
    """An empty list of calls counts as none: templates test whether there is one."""
    template = ("{%- for m in messages -%}({{ m.role }}:{% if m.tool_calls is defined %}CALLS{{ m.tool_calls|length }}{% else %}{{ m.content }}{% endif %})"
                "{%- endfor -%}{%- if tools -%}TOOLS{%- endif -%}")
    for more in ({}, {"tool_calls": []}, {"tool_calls": None}, {"function_call": None},
                 {"tool_calls": [], "name": None, "refusal": None, "reasoning_content": ""}):
        for tools in ({}, {"tools": []}, {"tools": None}):
            status, _, answer = server.post("/apply-template", {"chat_template": template, **tools, "messages": [
                {"role": "user", "content": "hi"}, {"role": "assistant", "content": "Four", **more}, {"role": "user", "content": "hi"}]})
            assert status == 200 and answer["prompt"] == "(user:hi)(assistant:Four)(user:hi)", (more, tools, answer)


def strict_scripts(scripts):
    """Strict tools that may be called: the model's own output, and an argument that is
    masked because it does not fit."""
    if not scripts.format.forced:
        return
    strict, routes = {"strict": True}, (CHAT, RESPONSES, MESSAGES)
    weather = allowed(scripts, WEATHER)
    yield scripts.case("a call that fits", [weather], request=strict, routes=routes)
    if scripts.format.before:
        yield scripts.case("text before a call", [("text", "Let me see. "), weather], request=strict, routes=(CHAT,))
    if scripts.format.think:
        yield scripts.case("reasoning before a call", [("think", "I need the\n\nweather."), weather], prompt=scripts.thinking, request=strict, routes=(CHAT,))
    yield scripts.case("text alone", [("text", "Hello, {world}! \n")], request=strict, routes=routes)
    wrong = ("call", "pick", {"colour": "red", "sure": "x y", "count": "many"})
    yield Case("arguments of wrong types", scripts.written([wrong]), None, tools=FORCED, request=strict, routes=routes, must=is_a_pick)


def is_a_pick(answer):
    (name, arguments), *_ = answer.arguments() or [("", {})]
    assert name == "pick" and isinstance(arguments, dict) and fits(FORCED["pick"], arguments), answer


def raw_reasoning(server, name, scripts):
    """reasoning_format none: reasoning stays in the content, and calls are still calls,
    wherever the header names the tool."""
    for title, said, parts, *_ in format_cases.CASES[name]:
        calls = expected(parts or []).arguments()
        if not calls:
            continue
        for stream in (False, True):
            status, _, got = server.post(CHAT, {**answers.body(CHAT, name, scripts.message(Case(title, said, None)), stream, TOOLS), "reasoning_format": "none"})
            assert status == 200, got
            answer = answers.JOINED[CHAT]([json.loads(line.removeprefix("data: ")) for line in got.splitlines()
                                           if line.startswith("data: {")]) if stream else answers.WHOLE[CHAT](got)
            assert answer.arguments() == calls and not answer.reasoning and "to=" not in answer.content, (title, answer)
            assert all(part[1] in answer.content for part in parts if part[0] != "call"), (title, answer)


TOPICS = {
    "calls": Scripts.calls, "what is no call": Scripts.no_calls, "reasoning": Scripts.reasoning, "other spellings": Scripts.spellings,
    "one call at a time": Scripts.one_at_a_time,
    "stop strings": Scripts.stops, "lenient JSON": Scripts.lenient, "cut calls": Scripts.cut, "calls under a grammar": forced_scripts, "a shape beside tools": shaped,
    "strict calls in text": strict_scripts,
}


def add(suite, ingot, long):
    general = ["scripted: empty values of messages", "scripted: tokens of reasoning in several choices", "scripted harmony: calls beside raw reasoning"]
    wanted = [format for format in formats.FORMATS
              if any(suite.wants(f"scripted {format.name}: {topic}") for topic in (*TOPICS, "forced calls"))]
    if not wanted and any(suite.wants(name) for name in general):
        wanted = [format for format in formats.FORMATS if format.name in ("hermes", "harmony")]
    if not wanted:
        return
    folder = ingot.work / "scripted"
    shutil.rmtree(folder, ignore_errors=True)
    made = {format.name: Scripts(format) for format in wanted}
    work = {(name, topic): list(cases(scripts)) for name, scripts in made.items() for topic, cases in TOPICS.items()}

    def compile():
        for (name, _), cases in work.items():
            for case in cases:
                made[name].message(case)
        first, *rest = made
        one(first)  # fills the code cache for all of them
        with concurrent.futures.ThreadPoolExecutor(3) as workers:
            list(workers.map(one, rest))

    def one(name):
        made[name].model.write(folder / name)
        ingot("compile", folder / name, "-o", folder / f"{name}.ingot", "--target", "cpu:avx2", "--precision", "exact", "--quiet")

    def checks(name):
        scripts = made[name]
        with contextlib.closing(server.connect()) as connection:
            for topic in TOPICS:
                if cases := work.get((name, topic)):
                    suite.check(f"scripted {name}: {topic}", lambda: run(server, connection, name, scripts, cases, long))
            suite.check(f"scripted {name}: forced calls", lambda: forced(server, connection, name, scripts, long))

    if not suite.check("scripted models: compile", compile, needed=True):
        return
    first, *rest = made
    served = [word for name in rest for word in ("--model", f"{name}={folder / name}.ingot")]
    limits = ("--threads", 1, "--max-seqs", 4, "--swap", 0, "--kv-memory", "300M", "--context", CONTEXT)
    with (Server(ingot, folder / f"{first}.ingot", *served, *limits, "--log", "none", "--trust-request-chat-template", name=first) as server,
          concurrent.futures.ThreadPoolExecutor(3) as workers):
        list(workers.map(checks, made))
        suite.check(general[0], lambda: empty_values(server))
        if "hermes" in made:
            suite.check(general[1], lambda: choices_count(server, "hermes", made["hermes"]))
        if "harmony" in made:
            suite.check(general[2], lambda: raw_reasoning(server, "harmony", made["harmony"]))

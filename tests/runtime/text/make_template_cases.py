#!/usr/bin/env python3
"""Writes renderings of three conversations by chat templates of real models, as Hugging
Face transformers renders them.

    python3 make_template_cases.py FOLDER-OF-JINJA-FILES CASES.json        (needs jinja2)

`./dev test --long` runs it over llama.cpp's collection, which is in the sources of its Python package, and passes
the cases to text-templates (CheckTemplates.cpp). A template's tokenizer is synthetic: every letter is an id, and so
is every control token and tag that the template spells.
"""
import json
import pathlib
import re
import sys
from datetime import datetime

from jinja2.exceptions import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "It's <b>weather</b> & more — é", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "Where"}}, "required": ["city"]}}}]
CALL = {"id": "abcdefgh1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Zürich"}}}
CONVERSATIONS = {
    "question": ([{"role": "user", "content": "What is 2+2?"}], {}),
    "turns": ([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi\n"},
               {"role": "assistant", "content": "Hello <there> & 'you'"}, {"role": "user", "content": " 日本語 \"q\" \\ "}], {}),
    "tools": ([{"role": "user", "content": "weather?"}, {"role": "assistant", "content": "", "tool_calls": [CALL]},
               {"role": "tool", "tool_call_id": "abcdefgh1", "name": "get_weather", "content": "21°"}], {"tools": TOOLS}),
}
BOS, EOS = "<s>", "</s>"
# Ingot's own values, if a request does not give them (docs/serving.md).
GIVEN = {"date_string": "26 Jul 2024", "datetime": "Jul 26 2024", "enable_thinking": True}


class Refused(TemplateError):
    """Raised by the template's raise_exception. Other errors are Python's own, and need not be errors in Ingot."""


class Generation(Extension):
    """{% generation %} marks text for training; only its contents are rendered."""

    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


class Dict:
    """The function of transformers, not Python's class, whose attributes lead out of the sandbox."""

    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)

    def fromkeys(self, *args, **kwargs):
        return dict.fromkeys(*args, **kwargs)


class Names(Namespace):
    """A namespace that accepts no names with a leading underscore."""

    def __init__(*args, **kwargs):
        self, attributes = args[0], dict(*args[1:], **kwargs)
        Names.check(*attributes)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name, value):
        Names.check(name)
        Namespace.__setitem__(self, name, value)

    @staticmethod
    def check(*names):
        if any(str(name).startswith("_") for name in names):
            raise TemplateError("underscore")


def compiled(source):
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])

    def refuse(message):
        raise Refused(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    environment.filters["tojson"] = tojson
    environment.globals.update(raise_exception=refuse, dict=Dict(), namespace=Names)
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment.from_string(source)


def controls_of(source):
    found = re.findall(r"<[^<>\\\s{}'\"%=]{1,40}>|\[/?[A-Z_]{2,30}\]", source)
    return sorted({BOS, EOS, *found})


def tokenizer_of(controls):
    """Byte-level, without merges: GPT-2's letters for bytes, then the control tokens."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in plain}
    for byte in range(256):
        letters.setdefault(byte, chr(256 + len([b for b in range(byte) if b not in plain])))
    vocabulary = {letters[byte]: byte for byte in range(256)}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    added = [{"id": 256 + i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for i, text in enumerate(controls)]
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "vocab": vocabulary, "merges": []}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None, "pre_tokenizer": level,
            "post_processor": None, "decoder": level, "model": model}


def main(folder, output):
    templates = []
    for file in sorted(pathlib.Path(folder).glob("*.jinja")):
        source = file.read_text()
        template, cases = compiled(source), []
        for name, (messages, extra) in CONVERSATIONS.items():
            extra = {**GIVEN, **extra}
            case = {"name": name, "messages": messages, "extra": extra}
            variables = {"tools": None, "documents": None, "bos_token": BOS, "eos_token": EOS, **extra}
            try:
                case["rendered"] = template.render(messages=messages, add_generation_prompt=True, **variables)
            except Refused as error:
                case["refused"] = str(error)
            except Exception:  # noqa: BLE001 the template iterates over None, or calls append in a sandbox
                continue
            cases.append(case)
        controls = controls_of(source)
        templates.append({"name": file.stem, "source": source, "bos": BOS, "eos": EOS, "controls": controls, "tokenizer": tokenizer_of(controls), "cases": cases})
    pathlib.Path(output).write_text(json.dumps(templates))
    print(f"{len(templates)} templates")


if __name__ == "__main__":
    main(*sys.argv[1:])

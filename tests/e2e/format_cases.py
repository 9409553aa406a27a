"""Variants of single formats in addition to those of formats.py: {format: [(title, the
model's output, the parts that it stands for)]}.

A fourth element is a key of Format.prompts. Parts are None if it is enough that there is no call.
"""
from formats import CODER, M3

OSLO = ("call", "get_weather", {"city": "Oslo"})
NOTHING = ("call", "f", {})
JSON_OSLO = '{"city": "Oslo"}'


def text(said):
    return ("text", said)


def think(said):
    return ("think", said)


def every(**arguments):
    return ("call", "every", arguments)


HARMONY = [
    ("a final message alone", "<|channel|>final<|message|>Hi.<|return|>", [text("Hi.")]),
    ("a final message that ends like others", "<|channel|>final<|message|>Hi.<|end|>", [text("Hi.")]),
    ("a final message without an end", "<|channel|>final<|message|>Hi. \n", [text("Hi. \n")]),
    ("a message without a channel", "<|message|>Hi.<|return|>", [text("Hi.")]),
    ("the recipient in the role", f" to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>{JSON_OSLO}<|call|>", [OSLO]),
    ("the recipient in the role of a later message",
     f"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{JSON_OSLO}<|call|>",
     [think("Hm."), OSLO]),
    ("a call without a constraint", f"<|channel|>commentary to=functions.get_weather<|message|>{JSON_OSLO}<|call|>", [OSLO]),
    ("a constraint without a blank", f"<|channel|>commentary to=functions.get_weather<|constrain|>json<|message|>{JSON_OSLO}<|call|>", [OSLO]),
    ("a constraint that is a word", f"<|channel|>commentary to=functions.get_weather code<|message|>{JSON_OSLO}<|call|>", [OSLO]),
    ("a call in the channel analysis", f"<|channel|>analysis to=functions.get_weather <|constrain|>json<|message|>{JSON_OSLO}<|call|>", [OSLO]),
    ("a call without an end", f"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{JSON_OSLO}", [OSLO]),
    ("a call without arguments", "<|channel|>commentary to=functions.f <|constrain|>json<|message|><|call|>", [NOTHING]),
    ("a preamble before a call", "<|channel|>commentary<|message|>I look it up.<|end|><|start|>assistant"
                                 f"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{JSON_OSLO}<|call|>", [text("I look it up."), OSLO]),
    ("a header that is cut", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>fin", [think("Hm.")]),
    ("a header that is cut in its recipient", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.get_w",
     [think("Hm.")]),
    ("an unknown recipient", "<|channel|>commentary to=functions.nobody <|constrain|>json<|message|>{}<|call|>", None),
    ("another kind of recipient", "<|channel|>commentary to=python code<|message|>print(1)<|call|>", None),
    ("words of headers in a text", "<|channel|>final<|message|>analysis, to=functions.f and assistant final \n<|return|>",
     [text("analysis, to=functions.f and assistant final \n")]),
]
HARMONY_AFTER_A_CALL = [
    ("a call before the final message", f"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{JSON_OSLO}<|call|>"
                                        "<|start|>assistant<|channel|>final<|message|>Done.<|return|>", [OSLO, text("Done.")]),
]

CASES = {
    "hermes": [
        ("an array in one pair of marks", '<tool_call>[{"name": "get_weather", "arguments": {"city": "Oslo"}}, {"name": "f", "arguments": {}}]</tool_call>',
         [OSLO, NOTHING]),
        ("no closing mark", '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}', [OSLO]),
        ("arguments before the name", '<tool_call>{"arguments": {"city": "Oslo"}, "name": "get_weather"}</tool_call>', [OSLO]),
        ("nothing but a name in its marks", '<tool_call>{"name": "f", "arguments": ""}</tool_call>', [NOTHING]),
        ("the answer ends within a string", '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo', [OSLO]),
        ("brackets are missing", '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"\n</tool_call>', [OSLO]),
        ("an escape that JSON has not", '<tool_call>{"name": "get_weather", "arguments": {"city": "a\\qb \\ud83d"}}</tool_call>',
         [("call", "get_weather", {"city": "a\\qb \ufffd"})]),
        ("words of Python, and a comma too many", '<tool_call>{"name": "every", "arguments": {"x": NaN, "i": 01, "b": True,}}</tool_call>',
         [every(x=None, i=1, b=True)]),
        ("arguments twice", '<tool_call>{"name": "f", "arguments": {}, "arguments": {"z": 1}}</tool_call>', [NOTHING]),
        ("the key parameters", '<tool_call>{"name": "get_weather", "parameters": {"city": "Oslo"}}</tool_call>', [OSLO]),
        ("arguments in a string", '<tool_call>{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}</tool_call>', [OSLO]),
        ("marks within arguments", '<tool_call>\n{"name": "get_weather", "arguments": {"city": "</tool_call> <tool_call> <think>"}}\n</tool_call>',
         [("call", "get_weather", {"city": "</tool_call> <tool_call> <think>"})]),
        ("blanks inside the marks of reasoning", "<think> a \n</think> b ", [think(" a "), text(" b ")]),
        ("marks of a call in reasoning", "<think>\nI write <tool_call>.\n</think>\n\nYes.", [think("I write <tool_call>."), text("Yes.")]),
        ("empty reasoning", "<think>\n\n</think>\n\nYes.", [text("Yes.")]),
        ("reasoning that is not first", "Yes. <think>\nno\n</think>\n\nThat is it.", [text("Yes. <think>\nno\n</think>\n\nThat is it.")]),
        ("a second pair of marks", "<think>\na\n</think>\n\nb<think>c</think>d", [think("a"), text("b<think>c</think>d")]),
    ],
    "llama3-json": [
        ("with its mark", '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}', [OSLO]),
        ("with its mark and an end", '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}<|eom_id|>', [OSLO]),
        ("the type before", '{"type": "function", "name": "get_weather", "parameters": {"city": "Oslo"}}', [OSLO]),
        ("JSON that is an answer", '{"city": "Oslo"}', [text('{"city": "Oslo"}')]),
    ],
    "llama3-pythonic": [
        ("strings as Python has them", """[every(s="a" 'b', t=r"c\\n", i=1_000), get_weather(city=\"\"\"x\n"y" z\"\"\")]""",
         [every(s="ab", t="c\\n", i=1000), ("call", "get_weather", {"city": 'x\n"y" z'})]),
        ("the answer ends within a list", "[every(l=[1, 2", [every(l=[1, 2])]),
        ("with its marks", '<|python_start|>[get_weather(city="Oslo")]<|python_end|>', [OSLO]), ("a list that is an answer", "[1, 2]", [text("[1, 2]")])],
    "gemma3": [("JSON in a fence", '```json\n{"name": "get_weather", "parameters": {"city": "Oslo"}}\n```', [OSLO]),
               ("a fence of JSON that is an answer", "```json\n[1, 2]\n``` \n", [text("```json\n[1, 2]\n``` \n")])],
    "mistral-args": [("with an id", f"[TOOL_CALLS]get_weather[CALL_ID]abcdefgh1[ARGS]{JSON_OSLO}", [OSLO]),
                     ("the older spelling", f'[TOOL_CALLS][{{"name": "get_weather", "arguments": {JSON_OSLO}}}]', [OSLO])],
    "harmony": HARMONY,
    "harmony-text": HARMONY + HARMONY_AFTER_A_CALL,
    "qwen3-coder": [
        ("no end of a value", "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</function>\n</tool_call>", [OSLO]),
        ("no end of a value before another", "<tool_call>\n<function=every>\n<parameter=s>\na\n<parameter=i>\n1\n</parameter>\n</function>\n</tool_call>",
         [every(s="a", i=1)]),
        ("the answer ends within a mark", "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</param", [OSLO]),
        ("values without line feeds", "<tool_call>\n<function=get_weather>\n<parameter=city>Oslo</parameter>\n</function>\n</tool_call>", [OSLO]),
        ("line feeds that are part of a value", CODER("every", {"s": "\na\n\n b\n"}, 0), [every(s="\na\n\n b\n")]),
        ("an empty value", "<tool_call>\n<function=every>\n<parameter=s>\n</parameter>\n</function>\n</tool_call>", [every(s="")]),
        ("a boolean as Python writes it", "<tool_call>\n<function=every>\n<parameter=b>\nTrue\n</parameter>\n</function>\n</tool_call>", [every(b=True)]),
        ("a value that is not of its type", "<tool_call>\n<function=every>\n<parameter=i>\nmany\n</parameter>\n</function>\n</tool_call>", [every(i="many")]),
        ("another tag in a value", CODER("every", {"s": "<parameter=x> </function> <tool_call> <"}, 0), [every(s="<parameter=x> </function> <tool_call> <")]),
    ],
    "seed-oss": [("an object as Python writes it", "<seed:tool_call>\n<function=every>\n<parameter=o>{'k': {'m': 'it\\'s'}}</parameter>\n</function>\n"
                  "</seed:tool_call>", [every(o={"k": {"m": "it's"}})])],
    "minicpm5": [("an object as Python writes it", """<function name="every"><param name="o">{'k': {'m': "it's"}}</param><param name="b">True</param></function>""",
                  [every(o={"k": {"m": "it's"}}, b=True)])],
    "atem": [("an end of the answer behind a call", ' to=get_weather<|message|><atem:function_calls>\n<atem:invoke name="get_weather">\n'
              '<atem:parameter name="city">Oslo</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>', [OSLO])],
    "dsml-v4": [("no arguments, and blank lines", '\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>', [NOTHING])],
    "glm": [("no end of a value", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo\n</tool_call>", [OSLO]),
            ("the answer ends within a value", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo", [OSLO]),
            ("a value of several lines", "<tool_call>every\n<arg_key>s</arg_key>\n<arg_value>\na\n\nb </arg_value>\n</tool_call>", [every(s="\na\n\nb ")]),
            ("the shorter spelling", "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>", [OSLO])],
    "gemma4": [("nested values", '<|tool_call>call:every{o:{k:{m:<|"|>a, b: {c}<|"|>}},l:[1,2]}<tool_call|>', [every(o={"k": {"m": "a, b: {c}"}}, l=[1, 2])]),
               ("a line feed before the end of a thought", "<|channel>thought\nHm.\n<channel|>Hi.", [think("Hm."), text("Hi.")])],
    "internlm2": [("a blank between its marks", f'<|action_start|> <|plugin|>\n{{"name": "get_weather", "parameters": {JSON_OSLO}}}<|action_end|>', [OSLO])],
    "lfm2": [("JSON in its marks", '<|tool_call_start|>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]<|tool_call_end|>', [OSLO])],
    "kimi-k3": [("an empty answer before a call", '<|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|>'
                 "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>", [NOTHING]),
                ("an answer that the template began", "Hi.<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>", [text("Hi.")], "response")],
    "cohere": [("a text without marks", "Hi. \n", [text("Hi. \n")])],
    "minimax-m3": [("line feeds between tags", f'{M3}<tool_call>\n{M3}<invoke name="get_weather">\n{M3}<city>Oslo{M3}</city>\n{M3}</invoke>\n{M3}</tool_call>',
                    [OSLO])],
    "functionary-v3.2": [("the mark in a text", "all\nPython's >>> is a prompt. \n", [text("Python's >>> is a prompt. \n")])],
    "apriel": [("an end of the final response", "Hm.\n[BEGIN FINAL RESPONSE]\nHi.\n[END FINAL RESPONSE]", [think("Hm."), text("Hi.")], "open")],
}

"""How each answer format is written: a table with one entry per format, from which scripted.py makes its scripts.

An answer is a list of parts: ("think", text), ("text", text) and ("call", name, arguments). A format writes them
as its models do. To add a format, add one entry to FORMATS.
"""
import dataclasses
import json
from collections.abc import Callable


@dataclasses.dataclass
class Format:
    name: str
    write: Callable  # parts -> the text that a model writes
    special: str | tuple = ""  # control tokens of the vocabulary, separated by spaces
    plain: str | tuple = ""  # ordinary added tokens; marks in neither list are plain text
    also: str = ""  # further text in this format's chat templates by which it is detected
    arguments: str = "json"  # or typed (by the tool's schema), python, gemma
    key: str = ""  # calls are JSON objects {"name": …, KEY: …}
    before: bool = True  # text may come before calls
    after: bool = True  # and after them
    several: bool = True  # an answer may have several calls
    forced: bool = True  # the grammar writes calls as the model does; False: with other whitespace or quotes
    verbatim: bool = True  # what is not a call is content, including marks; False: the answer is a sequence of messages
    prose: tuple = ()  # marks of calls that may occur in ordinary text
    think: tuple = ()  # marks around reasoning; (): the model does not reason
    prompts: dict = dataclasses.field(default_factory=lambda: {"": ""})  # word of the last message -> end of the prompt
    opened: str = ""  # the word after whose prompt the model is reasoning

    def __post_init__(self):
        self.special, self.plain = (tuple(marks.split()) if isinstance(marks, str) else marks for marks in (self.special, self.plain))


def json_text(value):
    """Arguments as JSON; a string is taken as JSON text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def json_object(key="arguments", name="name", head="{"):
    """{"name": …, KEY: …}; a call without a name is passed as the whole object."""
    def one(called, arguments, _index):
        return json_text(arguments) if called is None else f'{head}"{name}": "{called}", "{key}": {json_text(arguments)}}}'
    return one


def python_text(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{python_text(key)}: {python_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(python_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def python_call(name, arguments, _index):
    return f"{name}({', '.join(f'{key}={python_text(value)}' for key, value in arguments.items())})"


def gemma_call(quote):
    def text(value):
        if isinstance(value, dict):
            return "{" + ",".join(f"{key}:{text(each)}" for key, each in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(text, value)) + "]"
        return quote + value + quote if isinstance(value, str) else json.dumps(value)
    return lambda name, arguments, _index: f"call:{name}{text(arguments)}"


def plain_text(value):
    """A value between marks: a string unchanged, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def xml_call(open, parameter, close):
    """`open` with NAME, `parameter` with KEY, VALUE and, if it has one, TYPE, `close`."""
    def one(name, arguments, index):
        made = open.replace("NAME", name).replace("INDEX", str(index + 1))
        for key, value in arguments.items():
            kind = {str: "string", bool: "boolean", int: "number", float: "number", list: "array", dict: "object", type(None): "null"}[type(value)]
            made += (parameter.replace("KEY", key).replace("STRING", str(isinstance(value, str)).lower()).replace("TYPE", kind)
                     .replace("VALUE", plain_text(value)))
        return made + close
    return one


def marks(one, join="\n", prefix="", suffix="", think=("<think>\n", "\n</think>\n\n"), answer="SAID"):
    """A format with marks around calls and reasoning: consecutive calls are `prefix`, the
    calls joined by `join`, `suffix`."""
    def write(parts):
        made, at = "", 0
        while at < len(parts):
            kind = parts[at][0]
            if kind == "call":
                end = next((index for index in range(at, len(parts)) if parts[index][0] != "call"), len(parts))
                made += prefix + join.join(one(*part[1:], index) for index, part in enumerate(parts[at:end])) + suffix
                at = end
                continue
            made += think[0] + parts[at][1] + think[1] if kind == "think" else answer.replace("SAID", parts[at][1])
            at += 1
        return made
    return write


def messages(join, think, text, last, calls):
    """A format whose answer is a sequence of messages. `calls` writes consecutive calls;
    `last` is a text that ends the answer."""
    def write(parts):
        made, at = [], 0
        while at < len(parts):
            kind = parts[at][0]
            if kind == "call":
                end = next((index for index in range(at, len(parts)) if parts[index][0] != "call"), len(parts))
                made += calls([part[1:] for part in parts[at:end]])
                at = end
                continue
            made.append((think if kind == "think" else last if at == len(parts) - 1 else text).replace("SAID", parts[at][1]))
            at += 1
        return join.join(made)
    return write


def harmony_call(call):
    return f"<|channel|>commentary to=functions.{call[0]} <|constrain|>json<|message|>{json_text(call[1])}<|call|>"


def solar_calls(calls):
    inner = "".join(f"<|tool_call:begin|>id{index}<|tool_call:name|>{name}<|tool_call:args|>{json_text(arguments)}<|tool_call:end|>"
                    for index, (name, arguments) in enumerate(calls))
    return [f"<|tool_calls|>{inner}<|calls|>"]


def cohere_call(name, arguments, index):
    return f'    {{"tool_call_id": "{index}", "tool_name": "{name}", "parameters": {json_text(arguments)}}}'


def kimi_call(name, arguments, index):
    return f"<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{json_text(arguments)}<|tool_call_end|>"


def apertus_call(name, arguments, _index):
    return f'{{"{name}": {json_text(arguments)}}}'


HARMONY = messages("<|start|>assistant", "<|channel|>analysis<|message|>SAID<|end|>", "<|channel|>commentary<|message|>SAID<|end|>",
                   "<|channel|>final<|message|>SAID<|return|>", lambda calls: [harmony_call(call) for call in calls])
M3 = "]<]minimax[>["


def m3_value(value):
    if isinstance(value, dict):
        return "".join(f"{M3}<{key}>{m3_value(each)}{M3}</{key}>" for key, each in value.items())
    if isinstance(value, list):
        return "".join(f"{M3}<item>{m3_value(each)}{M3}</item>" for each in value)
    return plain_text(value)


def m3_call(name, arguments, _index):
    return f'{M3}<invoke name="{name}">{m3_value(arguments)}{M3}</invoke>\n'


def cdata_call(name, arguments, _index):
    def text(value):
        return f"<![CDATA[{value}]]>" if isinstance(value, str) and set(value) & set("<&\n") else plain_text(value)
    return f'<function name="{name}">' + "".join(f'<param name="{key}">{text(value)}</param>' for key, value in arguments.items()) + "</function>"


def atem_calls(calls):
    one = xml_call('<atem:invoke name="NAME">\n', '<atem:parameter name="KEY">VALUE</atem:parameter>\n', "</atem:invoke>\n")
    return [f" to={name}<|message|><atem:function_calls>\n{one(name, arguments, 0)}</atem:function_calls><|eom|>" for name, arguments in calls]


def around(open, close, one):
    return lambda name, arguments, index: open + one(name, arguments, index) + close


CODER = xml_call("<tool_call>\n<function=NAME>\n", "<parameter=KEY>\nVALUE\n</parameter>\n", "</function>\n</tool_call>")
SEED = xml_call("<seed:tool_call>\n<function=NAME>\n", "<parameter=KEY>VALUE</parameter>\n", "</function>\n</seed:tool_call>")
GLM = xml_call("<tool_call>NAME\n", "<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n", "</tool_call>")
GLM_SHORT = xml_call("<tool_call>NAME", "<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>", "</tool_call>")
LING = xml_call("<tool_call>NAME\n", "<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>", "\n</tool_call>")
M2 = xml_call('<invoke name="NAME">\n', '<parameter name="KEY">VALUE</parameter>\n', "</invoke>\n")
DSML = xml_call('<｜DSML｜invoke name="NAME">\n', '<｜DSML｜parameter name="KEY" string="STRING">VALUE</｜DSML｜parameter>\n', "</｜DSML｜invoke>\n")
HY3 = xml_call("<tool_call:opensource>NAME<tool_sep:opensource>\n",
               "<arg_key:opensource>KEY</arg_key:opensource>\n<arg_value:opensource>VALUE</arg_value:opensource>\n", "</tool_call:opensource>\n")
K3 = xml_call('<|open|>call tool="NAME" index="INDEX"<|sep|>', '<|open|>argument key="KEY" type="TYPE"<|sep|>VALUE<|close|>argument<|sep|>',
              "<|close|>call<|sep|>")
HERMES = around("<tool_call>\n", "\n</tool_call>", json_object())
FINAL = "[BEGIN FINAL RESPONSE]"
THINK = DIRECT = ("<think>", "</think>")  # the marks, and the marks of reasoning without line feeds
OPEN = {"": "", "open": "<think>\n"}
VL = ("◁think▷", "◁/think▷")

FORMATS = [
    Format("hermes", marks(HERMES), plain="<tool_call> </tool_call> <think> </think>", key="arguments", prose=("<tool_call>", "</tool_call>"),
           think=THINK, prompts=OPEN, opened="open"),
    Format("exaone4", marks(around("<tool_call>", "</tool_call>", json_object())), forced=False, special="[|endofturn|]", also="[|assistant|] [|endofturn|]",
           plain="<tool_call> </tool_call> <think> </think>", key="arguments", prose=("<tool_call>", "</tool_call>"), think=THINK, prompts=OPEN, opened="open"),
    Format("ernie", marks(HERMES), plain="<tool_call> </tool_call> <think> </think>", special="<|im_start|> <|im_end|>", key="arguments",
           prose=("<tool_call>", "</tool_call>"), think=THINK, prompts=OPEN, opened="open"),
    Format("llama3-json", marks(json_object("parameters"), join="; "), special="<|python_tag|> <|start_header_id|> <|eom_id|> <|eot_id|>",
           also='<|start_header_id|> tools "parameters" <|python_tag|>', key="parameters", before=False, after=False, prose=("<|python_tag|>",)),
    Format("llama3-pythonic", marks(python_call, ", ", "[", "]"), special="<|python_start|> <|python_end|> <|eot|>",
           also="<|python_start|> func_name1(params_name1", arguments="python", before=False, after=False, prose=("<|python_start|>", "<|python_end|>")),
    Format("mistral", marks(json_object(), ", ", "[TOOL_CALLS][", "]"), special="[TOOL_CALLS]", key="arguments", prose=("[TOOL_CALLS]",)),
    Format("mistral-args", marks(lambda name, arguments, _: f"[TOOL_CALLS]{name}[ARGS]{json_text(arguments)}", "", think=("[THINK]", "[/THINK]")),
           special="[TOOL_CALLS] [ARGS] [CALL_ID] [THINK] [/THINK]", prose=("[TOOL_CALLS]",), think=("[THINK]", "[/THINK]"),
           prompts={"": "", "open": "[THINK]"}, opened="open"),
    Format("gemma3", marks(python_call, "\n", "```tool_code\n", "\n```"), special="<start_of_turn> <end_of_turn>", arguments="python",
           also="<start_of_turn> <end_of_turn>", prose=("```tool_code",)),
    Format("functiongemma", marks(around("<start_function_call>", "<end_function_call>", gemma_call("<escape>")), ""), arguments="gemma",
           special="<start_function_call> <end_function_call> <escape> <start_of_turn>", also="<start_of_turn>",
           prose=("<start_function_call>", "<end_function_call>")),
    # The format is listed once with its control tokens, where <|call|> and <|return|> end an answer, and once without
    # them, so that several messages can follow each other.
    Format("harmony", HARMONY, special="<|channel|> <|message|> <|end|> <|start|> <|call|> <|return|> <|constrain|>", verbatim=False, after=False,
           several=False, think=("<|channel|>analysis<|message|>", "<|end|>"), prompts={"": "<|start|>assistant"}),
    Format("harmony-text", HARMONY, plain="<|end|>", verbatim=False, think=("<|channel|>analysis<|message|>", "<|end|>"), prompts={"": "<|start|>assistant"}),
    Format("qwen3-coder", marks(CODER), plain="<tool_call> </tool_call> <think> </think>", arguments="typed",
           prose=("<tool_call>", "</tool_call>", "<function=x>"), think=THINK, prompts=OPEN, opened="open"),
    Format("glm", marks(GLM, think=("<think>", "</think>\n")), plain="<tool_call> </tool_call> <think> </think> <arg_key> </arg_key> <arg_value> </arg_value>",
           arguments="typed", prose=("<tool_call>", "</tool_call>", "<arg_key>"), think=THINK, prompts={"": "", "open": "<think>"}, opened="open"),
    Format("glm-4.7", marks(GLM_SHORT, "", think=DIRECT), plain="<tool_call> </tool_call> <think> </think> <arg_key> </arg_key> <arg_value> </arg_value>",
           arguments="typed", prose=("<tool_call>", "</tool_call>", "<arg_value>"), think=THINK, prompts={"": "", "open": "<think>"}, opened="open"),
    Format("ling", marks(LING, think=DIRECT), forced=False, plain="<tool_call> </tool_call> <think> </think>", arguments="typed",
           prose=("<tool_call>", "</tool_call>"), think=THINK, prompts={"": "", "open": "<think>"}, opened="open"),
    Format("gemma4", marks(around("<|tool_call>", "<tool_call|>", gemma_call('<|"|>')), "", think=("<|channel>thought\n", "<channel|>")), arguments="gemma",
           special='<|tool_call> <tool_call|> <|"|> <|channel> <channel|> <|turn> <turn|> <|tool_response>', prose=("<|tool_call>", "<tool_call|>"),
           think=("<|channel>thought\n", "<channel|>")),
    Format("lfm2", marks(python_call, ", ", "<|tool_call_start|>[", "]<|tool_call_end|>"), special="<|tool_call_start|> <|tool_call_end|>",
           plain="<think> </think>", arguments="python", prose=("<|tool_call_start|>", "<|tool_call_end|>"), think=THINK, prompts=OPEN, opened="open"),
    Format("minimax-m2", marks(M2, "", "<minimax:tool_call>\n", "</minimax:tool_call>"), plain="<minimax:tool_call> </minimax:tool_call> <think> </think>",
           arguments="typed", prose=("<minimax:tool_call>", "</minimax:tool_call>"), think=THINK, prompts=OPEN, opened="open"),
    Format("minimax-m3", marks(m3_call, "", f"{M3}<tool_call>\n", f"{M3}</tool_call>", think=("<mm:think>", "</mm:think>")), arguments="typed",
           plain=f"{M3} <mm:think> </mm:think>", prose=(f"{M3}<tool_call>", f"{M3}</tool_call>"), think=("<mm:think>", "</mm:think>"),
           prompts={"": "", "open": "<mm:think>"}, opened="open"),
    Format("kimi-k2", marks(kimi_call, "", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", think=DIRECT), plain="<think> </think>",
           special="<|tool_calls_section_begin|> <|tool_calls_section_end|> <|tool_call_begin|> <|tool_call_end|> <|tool_call_argument_begin|>",
           prose=("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"), think=THINK, prompts={"": "", "open": "<think>"}, opened="open"),
    Format("kimi-k3", messages("", "<|open|>think<|sep|>SAID<|close|>think<|sep|>", "<|open|>response<|sep|>SAID<|close|>response<|sep|>",
                               "<|open|>response<|sep|>SAID<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>",
                               lambda calls: ["<|open|>tools<|sep|>" + "".join(K3(*call, index) for index, call in enumerate(calls)) + "<|close|>tools<|sep|>"]),
           special="<|open|> <|close|> <|sep|> <|end_of_msg|>", arguments="typed", verbatim=False, think=("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
           prompts={"": '<|open|>message role="assistant"<|sep|>', "open": '<|open|>message role="assistant"<|sep|><|open|>think<|sep|>',
                    "response": '<|open|>message role="assistant"<|sep|><|open|>response<|sep|>'}, opened="open"),
    Format("kimi-vl", marks(HERMES, think=VL), plain="<tool_call> </tool_call> ◁think▷ ◁/think▷", key="arguments", prose=("<tool_call>", "</tool_call>"),
           think=VL, prompts={"": "", "open": "◁think▷"}, opened="open"),
    Format("exaone-deep", marks(HERMES, think=("<thought>\n", "\n</thought>\n\n")), plain="<tool_call> </tool_call> <thought> </thought>", key="arguments",
           prose=("<tool_call>", "</tool_call>"), think=("<thought>", "</thought>"), prompts={"": "", "open": "<thought>\n"}, opened="open"),
    Format("command-r", marks(json_object("parameters", "tool_name"), ",\n    ", "Action:```json\n[\n    ", "\n]```"), also="directly_answer Action:",
           key="parameters", prose=("Action:", "Action:```json")),
    Format("think-response", marks(json_object(), ", ", "<|tool_call|>[", "]", DIRECT, "<response>\nSAID\n</response>"), special="<|tool_call|> <|start_of_role|>",
           also="<|start_of_role|> <response> </response>", plain="<think> </think>", key="arguments", verbatim=False, think=THINK),
    Format("cohere", marks(cohere_call, ",\n", "<|START_ACTION|>[\n", "\n]<|END_ACTION|>", ("<|START_THINKING|>", "<|END_THINKING|>"),
                           "<|START_RESPONSE|>SAID<|END_RESPONSE|>"), verbatim=False,
           special="<|START_ACTION|> <|END_ACTION|> <|START_THINKING|> <|END_THINKING|> <|START_RESPONSE|> <|END_RESPONSE|>",
           think=("<|START_THINKING|>", "<|END_THINKING|>"), prompts={"": "", "open": "<|START_THINKING|>"}, opened="open"),
    Format("cohere-text", marks(cohere_call, ",\n", "<|START_ACTION|>[\n", "\n]<|END_ACTION|>", ("<|START_THINKING|>", "<|END_THINKING|>"),
                                "<|START_TEXT|>SAID<|END_TEXT|>"), verbatim=False,
           special="<|START_ACTION|> <|END_ACTION|> <|START_THINKING|> <|END_THINKING|> <|START_TEXT|> <|END_TEXT|>",
           think=("<|START_THINKING|>", "<|END_THINKING|>"), prompts={"": "", "open": "<|START_THINKING|>"}, opened="open"),
    Format("seed-oss", marks(SEED, think=("<seed:think>", "</seed:think>\n")), special="<seed:tool_call> </seed:tool_call> <seed:think> </seed:think>",
           arguments="typed", prose=("<seed:tool_call>", "</seed:tool_call>"), think=("<seed:think>", "</seed:think>")),
    Format("granite", marks(json_object(), ", ", "<|tool_call|>[", "]"), special="<|tool_call|> <|start_of_role|>", also="<|start_of_role|>", key="arguments",
           prose=("<|tool_call|>",)),
    Format("phi4-mini", marks(json_object(), ", ", "<|tool_call|>[", "]<|/tool_call|>"), special="<|tool_call|> <|/tool_call|> <|tool|> <|/tool|>",
           also="<|tool|> <|/tool|>", key="arguments", prose=("<|tool_call|>", "<|/tool_call|>")),
    Format("hy3", marks(HY3, "", "<tool_calls:opensource>\n", "</tool_calls:opensource>", ("<think:opensource>", "</think:opensource>")), arguments="typed",
           special="<tool_calls:opensource> </tool_calls:opensource> <tool_call:opensource> </tool_call:opensource> <tool_sep:opensource> "
                   "<arg_key:opensource> </arg_key:opensource> <arg_value:opensource> </arg_value:opensource> <think:opensource> </think:opensource>",
           prose=("<tool_calls:opensource>", "</tool_calls:opensource>"), think=("<think:opensource>", "</think:opensource>"),
           prompts={"": "", "open": "<think:opensource>"}, opened="open"),
    Format("hunyuan", marks(json_object(), ", ", "<tool_calls>[", "]</tool_calls>", ("<think>\n", "\n</think>\n"), "<answer>\nSAID\n</answer>"),
           plain="<think> </think>", key="arguments", verbatim=False, also="<answer> </answer>", think=THINK),
    Format("solar", messages("<|begin|>assistant", "<|think|>SAID<|end|>", "<|content|>SAID<|end|>", "<|content|>SAID<|end|>", solar_calls),
           special="<|begin|> <|end|> <|think|> <|content|> <|tool_calls|> <|calls|> <|tool_call:begin|> <|tool_call:name|> <|tool_call:args|> <|tool_call:end|>",
           verbatim=False, after=False, think=("<|think|>", "<|end|>"), prompts={"": "<|begin|>assistant"}),
    Format("dsml", marks(DSML, "", "<｜DSML｜function_calls>\n", "</｜DSML｜function_calls>", DIRECT), plain="｜DSML｜ <think> </think>", arguments="typed",
           prose=("<｜DSML｜function_calls>", "</｜DSML｜function_calls>"), think=THINK, prompts={"": "", "open": "<think>"}, opened="open"),
    Format("dsml-v4", marks(DSML, "", "<｜DSML｜tool_calls>\n", "</｜DSML｜tool_calls>", DIRECT), plain="｜DSML｜ <think> </think>", arguments="typed",
           prose=("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"), think=THINK, prompts={"": "", "open": "<think>"}, opened="open"),
    Format("deepseek-v3", marks(lambda name, arguments, _: f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{json_text(arguments)}\n```<｜tool▁call▁end｜>",
                                prefix="<｜tool▁calls▁begin｜>", suffix="<｜tool▁calls▁end｜>"),
           plain="<｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> <｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁sep｜> <think> </think>",
           prose=("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"), think=THINK, prompts=OPEN, opened="open"),
    Format("deepseek-v3.1", marks(lambda name, arguments, _: f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{json_text(arguments)}<｜tool▁call▁end｜>", "",
                                  "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", DIRECT),
           plain="<｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> <｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁sep｜> <think> </think>",
           prose=("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"), think=THINK, prompts={"": "", "open": "<think>"}, opened="open"),
    Format("atem", messages("<|start|>assistant", " to=self<|message|>SAID<|eom|>", " to=user<|message|>SAID<|eom|>", " to=user<|message|>SAID<|eot|>", atem_calls),
           special="<|start|> <|message|> <|eom|> <|eot|>", arguments="typed", verbatim=False, think=(" to=self<|message|>", "<|eom|>"),
           prompts={"": "<|start|>assistant"}),
    Format("minicpm5", marks(cdata_call), forced=False, arguments="typed", plain="<think> </think>", prose=('<function name="x">', "</function>", "<param>"), think=THINK,
           prompts=OPEN, opened="open"),
    Format("apertus", marks(apertus_call, ", ", "<|tools_prefix|>[", "]<|tools_suffix|>", ("<|inner_prefix|>", "<|inner_suffix|>")),
           special="<|tools_prefix|> <|tools_suffix|> <|inner_prefix|> <|inner_suffix|>", prose=("<|tools_prefix|>", "<|tools_suffix|>"),
           think=("<|inner_prefix|>", "<|inner_suffix|>")),
    Format("olmo3", marks(python_call, "\n", "<function_calls>\n", "\n</function_calls>"), arguments="python", plain="<think> </think>",
           prose=("<function_calls>", "</function_calls>"), think=THINK, prompts={"": "", "open": "<think>"}, opened="open"),
    Format("nemotron-nano-v2", marks(json_object(), ", ", "<TOOLCALL>[", "]</TOOLCALL>"), plain="<TOOLCALL> </TOOLCALL> <think> </think>", key="arguments",
           prose=("<TOOLCALL>", "</TOOLCALL>"), think=THINK, prompts=OPEN, opened="open"),
    Format("apriel", marks(json_object(), ", ", "<tool_calls>[", "]</tool_calls>", ("", "\n[BEGIN FINAL RESPONSE]\n")), key="arguments", plain=(FINAL,),
           prose=("<tool_calls>", "</tool_calls>"), think=("", FINAL), opened="open",
           prompts={"": "<|begin_assistant|>\n", "open": "<|begin_assistant|>\nHere are my reasoning steps:\n"}),
    Format("functionary-v3.1", marks(lambda name, arguments, _: f"<function={name}>{json_text(arguments)}</function>", ""), special="<|eom_id|> <|eot_id|>",
           also="<|start_header_id|> <|eom_id|>", prose=("<function=>", "</function>")),
    Format("functionary-v3.2", messages(">>>", "", "all\nSAID", "all\nSAID", lambda calls: [f"{name}\n{json_text(arguments)}" for name, arguments in calls]),
           special="<|eot_id|> <|start_header_id|>", also=">>>all", verbatim=False, prompts={"": ">>>"}),
    Format("gigachat3", marks(around("<|message_sep|>\n\nfunction call<|role_sep|>\n", "", json_object())), special="<|message_sep|> <|role_sep|>",
           key="arguments", after=False, several=False, prompts={"": "assistant<|role_sep|>\n"}),
    Format("gigachat3.1", marks(around("<|function_call|>", "", json_object())), special="<|function_call|> <|message_sep|> <|role_sep|>", key="arguments",
           after=False, several=False, prose=("<|function_call|>",), prompts={"": "assistant<|role_sep|>\n"}),
    Format("internlm2", marks(around("<|action_start|><|plugin|>\n", "<|action_end|>", json_object("parameters"))),
           special="<|action_start|> <|action_end|> <|plugin|>", key="parameters", prose=("<|action_start|>", "<|action_end|>")),
    Format("minimax-m1", marks(json_object(), "\n", "<tool_calls>\n", "\n</tool_calls>"), key="arguments", plain="<tool_calls> </tool_calls> <think> </think>",
           also="<end_of_sentence>", prose=("<tool_calls>", "</tool_calls>"), think=THINK, prompts=OPEN, opened="open"),
    Format("magistral", marks(json_object(), ", ", "[TOOL_CALLS][", "]", ("[THINK]", "[/THINK]")), special="[TOOL_CALLS] [THINK] [/THINK]", key="arguments",
           prose=("[TOOL_CALLS]",), think=("[THINK]", "[/THINK]"), prompts={"": "", "open": "[THINK]"}, opened="open"),
]

#!/usr/bin/env python3
"""Writes goldens/templates.json: chat templates in the style of common model families, with
messages and the result of transformers' own renderer (its text, or an error). Run by
hand (needs `pip install transformers jinja2`); the output is committed.

    python3 make_templates.py goldens
"""
import json
import sys

from transformers.utils.chat_template_utils import _compile_jinja_template, render_jinja_template

TEMPLATES = {
    "chatml": """{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}""",
    "smollm2": """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system
You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
' }}{% endif %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %}""",
    "llama3": """{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}""",
    "llama31_tools": """{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none and not (tools_in_user_message is defined and tools_in_user_message) %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    "gemma3": """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\n\n' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model\n'}}
{%- endif -%}
""",
    "qwen25": """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.' }}
    {%- endif %}
    {{- "\\n\\n# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- message.content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "mistral": """{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}""",
    "zephyr_blocks": """{% for message in messages %}
    {% if message['role'] == 'user' %}
{{ '<|user|>\n' + message['content'] + eos_token }}
    {% elif message['role'] == 'system' %}
{{ '<|system|>\n' + message['content'] + eos_token }}
    {% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\n'  + message['content'] + eos_token }}
    {% endif %}
    {% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
    {% endif %}
{% endfor %}
""",
    "namespace_macro": """{%- set ns = namespace(system='', n=0) -%}
{%- macro turn(role, text, end='<|end|>') -%}
<|{{ role }}|>{{ text.strip() }}{{ end }}
{%- endmacro -%}
{%- for m in messages -%}
{%- if m.role == 'system' %}{% set ns.system = ns.system ~ m.content %}{% continue %}{% endif -%}
{%- set ns.n = ns.n + 1 -%}
{{ turn(m.role, (ns.system + ' ' if ns.n == 1 and ns.system else '') + m.content) }}
{%- if ns.n >= 5 %}{% break %}{% endif -%}
{%- endfor -%}
{{ ns.n }}|{{ messages|selectattr('role', 'equalto', 'user')|list|length }}|{{ messages|map(attribute='role')|join(',') }}""",
    "generation_tags": """{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}
{%- generation -%} x {%- endgeneration %}{% endif %}{% endfor %}""",
    "python_values": """{{ [1, 2.0, true, none, 'a\\'b'] }} {{ {'k': [none], 'j': false} }} {{ true }} {{ none }} {{ 1.0 }} {{ 7 // 2 }} {{ 7 / 2 }} {{ 2 ** 5 }} {{ messages[0].missing }}|{{ messages[0].get('x', 'dflt') }} {{ messages|length }} {{ 'a,b'.split(',') }} {{ 'AbC'.lower() }} {{ 'x'.upper() }} {{ 'a-b'.replace('-', '+') }} {{ 'abc'[::-1] }} {{ 'abc'[-1] }} {{ ['b','a']|sort|first }} {{ 'abc'.startswith('ab') }} {{ messages[0].items()|list|length }} {{ 'x' * 3 }} {{ range(3)|list }} {{ 'title case'.title() }} {{ 'b' in 'abc' }} {{ 1 if not [] else 2 }} {{ 'lstrip'.lstrip('l') }} {{ "a\\nb".splitlines() }} {{ 'é<&>'|tojson }} {{ ['é', {'a': 1.5, 'b': none}]|tojson(indent=2) }} {{ {'b':1,'a':2}|dictsort }} {{ {'b':1,'a':2}|tojson(sort_keys=true) }} {{ 'x'|default('y') }} {{ undefined_thing|default('y') }} {{ (undefined_thing is defined) }}""",
    "trim_blocks": "  {% if true %}\n  kept\n  {% endif %}\n{# comment #}\nend  \n",
    "trailing_newline": "{{ messages[0].content }}\n",
    "think_split": """{%- for message in messages -%}{%- set content = message.content -%}{%- if '</think>' in content -%}{%- set reasoning = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') -%}{%- set content = content.split('</think>')[-1].lstrip('\n') -%}[{{ reasoning }}]{%- endif -%}{{ content }}|{%- endfor -%}{%- if enable_thinking is defined and enable_thinking is false -%}<think>

</think>{%- endif -%}""",
    "qwen3_tools": """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
    {{- "# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\n\\n<tool_call>\\n{\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}\\n</tool_call><|im_end|>\\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}{%- set content = message.content %}{%- else %}{%- set content = '' %}{%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|im_start|>' + message.role + '\\n' }}
        {%- if loop.index0 > ns.last_query_index and (loop.last or reasoning_content) %}
            {{- '<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' }}
        {%- endif %}
        {{- content.lstrip('\\n') }}
        {%- for tool_call in message.tool_calls or [] %}
            {%- if (loop.first and content) or (not loop.first) %}{{- '\\n' }}{%- endif %}
            {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
            {{- '<tool_call>\\n{"name": "' + tool_call.name + '", "arguments": ' }}
            {%- if tool_call.arguments is string %}{{- tool_call.arguments }}{%- else %}{{- tool_call.arguments | tojson }}{%- endif %}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' + content + '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}
""",
    "mistral_tools": """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}{{- '"' + key + '": "' + val + '"' }}{%- else %}{{- '"' + key + '": ' + val|tojson }}{%- endif %}
                    {%- if not loop.last %}{{- ", " }}{%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" }}{%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length != 9 %}
                {{- raise_exception("Tool call IDs should be alphanumeric strings with length 9!") }}
            {%- endif %}
            {{- ', "id": "' + tool_call.id + '"}' }}
            {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" + eos_token }}{%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token }}
    {%- elif message["role"] == "tool_results" or message["role"] == "tool" %}
        {%- if message.content is defined and message.content.content is defined %}
            {%- set content = message.content.content %}
        {%- else %}
            {%- set content = message.content %}
        {%- endif %}
        {{- '[TOOL_RESULTS] {"content": ' + content|string + ", " }}
        {{- '"call_id": "' + message.tool_call_id|default("none") + '"}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported!") }}
    {%- endif %}
{%- endfor %}
""",
    "smollm3_macros": """{%- set xml_tools = xml_tools | default([]) -%}
{%- set custom_instructions = none -%}
{%- if messages[0].role == "system" -%}{%- set custom_instructions = messages[0].content.replace("/no_think", "").rstrip() -%}{%- endif -%}
{%- set mode = "/no_think" if enable_thinking is defined and not enable_thinking else "/think" -%}
{%- macro describe(tool, depth=0) -%}
- {{ tool.function.name if tool.function is defined else tool['name'] }}: {% for key, value in (tool.function or tool).parameters.items() | sort -%}
{{ key }}={% if value is mapping %}{{ value.keys() | list | join('/') }}{% elif value is iterable and value is not string %}{{ value | join('+') }}{% else %}{{ value }}{% endif %}{{ ';' if not loop.last }}
{%- endfor %}
{%- endmacro -%}
<|im_start|>system
Mode: {{ mode }}
{% if custom_instructions %}{{ custom_instructions }}{% endif -%}
{%- for tool in (tools or []) + xml_tools %}
{{ describe(tool) }}
{%- endfor %}
<|im_end|>
{% for message in messages if message.role != "system" -%}
    {%- set content = message.content if message.content is string else (message.content | map(attribute='text') | select('string') | join(' ') if message.content else "") -%}
    {%- if message.role == "assistant" -%}
{{ "<|im_start|>assistant\\n" }}{% generation %}{{ (content.lstrip("\\n") if mode == "/think" else "<think>\\n\\n</think>\\n" + content.lstrip("\\n")) + "<|im_end|>\\n" }}{% endgeneration %}
    {%- elif message.role == "tool" -%}
{{ "<|im_start|>user\\n" + content + "<|im_end|>\\n" }}
    {%- else -%}
{{ "<|im_start|>" + message.role + "\\n" + content + "<|im_end|>\\n" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ "<|im_start|>assistant\\n" if mode == "/think" else "<|im_start|>assistant\\n<think>\\n\\n</think>\\n" }}{%- endif -%}
""",
    "raises": "{{ raise_exception('no thanks: ' + messages[0].role) }}",
    "attribute_of_undefined": "{{ messages[0].nothing.further }}",
}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "It's <b>weather</b> & more — é", "parameters": {"type": "object", "properties": {"city": {"type": "string", "enum": ["Zürich", "東京"]}, "n": {"type": "number", "default": 1.5}}, "required": ["city"]}}}]
CONVERSATIONS = {
    "one": [{"role": "user", "content": "What is 2+2?"}],
    "turns": [{"role": "system", "content": " Be brief. "}, {"role": "user", "content": "Hi\n"}, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello <there> & 'you'"}, {"role": "user", "content": "日本語 \"q\" \\ 👩‍👧"}],
    "parts": [{"role": "user", "content": [{"type": "text", "text": " look "}, {"type": "image"}]}],
    "calls": [{"role": "user", "content": "weather?"}, {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Zürich", "n": 2, "ok": True, "x": None}}}]}, {"role": "tool", "content": "21°"}, {"role": "tool", "content": "22°"}],
    "openai": [{"role": "system", "content": "Use tools."}, {"role": "user", "content": [{"type": "text", "text": "Weather in Zürich"}, {"type": "text", "text": "and 東京?"}]}, {"role": "assistant", "content": None, "reasoning_content": "\nTwo calls.\n", "tool_calls": [{"id": "abcdefgh1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Zürich"}}}, {"id": "abcdefgh2", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "東京", "n": 1.5e3}}}]}, {"role": "tool", "tool_call_id": "abcdefgh1", "name": "get_weather", "content": "21°"}, {"role": "tool", "tool_call_id": "abcdefgh2", "content": "{\"t\": 30}"}],
    "ids": [{"role": "user", "content": "weather?"}, {"role": "assistant", "content": "", "tool_calls": [{"id": "abcdefgh1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "<&>'\"", "n": [1, {"a": None}]}}}]}, {"role": "tool", "tool_call_id": "abcdefgh1", "content": "21"}, {"role": "assistant", "content": "21 degrees"}, {"role": "user", "content": "and now?"}],
    "not_alternating": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
}
CONTINUED = {
    "prefill": [{"role": "user", "content": "Write"}, {"role": "assistant", "content": "Once upon a "}],
    "prefill_parts": [{"role": "user", "content": "Write"}, {"role": "assistant", "content": [{"type": "text", "text": " Once\n"}]}],
}
# Without a date, Ingot uses the current one.
VARIABLES = [{"date_string": "26 Jul 2024"}, {"date_string": "26 Jul 2024", "tools": TOOLS, "enable_thinking": False}]


def main(folder):
    cases = []
    for name, source in TEMPLATES.items():
        compiled = _compile_jinja_template(source)
        for conversation, messages in CONVERSATIONS.items():
            for extra in VARIABLES:
                for prompt in (True, False):
                    case = {"template": name, "messages": messages, "extra": extra, "add_generation_prompt": prompt}
                    context = {"tools": None, "documents": None, "bos_token": "<s>", "eos_token": "</s>", **extra}
                    try:
                        case["rendered"] = compiled.render(messages=messages, add_generation_prompt=prompt, **context)
                    except Exception as error:  # noqa: BLE001 Ingot rejects what the renderer rejects
                        case["refused"] = str(error)
                    cases.append(case)
        for conversation, messages in CONTINUED.items():
            case = {"template": name, "messages": messages, "extra": VARIABLES[0], "add_generation_prompt": False, "continue_final_message": True}
            try:
                case["rendered"] = render_jinja_template([messages], chat_template=source, continue_final_message=True, bos_token="<s>", eos_token="</s>", **VARIABLES[0])[0][0]
            except Exception as error:  # noqa: BLE001
                case["refused"] = str(error)
            cases.append(case)
    with open(f"{folder}/templates.json", "w") as out:
        json.dump({"templates": TEMPLATES, "cases": cases}, out, separators=(",", ":"))
        out.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])

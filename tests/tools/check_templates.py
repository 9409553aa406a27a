"""check_templates.py INGOT ENGINE: checks which of an engine's chat templates a request
gets, and what a server reports about it."""
import http.client
import json
import pathlib
import re
import subprocess
import sys
import threading

sys.path.append(str(pathlib.Path(__file__).parents[1] / "e2e"))
import signals  # noqa: E402

signals.default_in_children()
ingot, engine = sys.argv[1:]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


def texts(*options):
    """The prompts of a request without tools, one with tools, and one with tools that it must not use."""
    server = subprocess.Popen([ingot, "serve", engine, "--port", "0", *options], stderr=subprocess.PIPE, text=True)
    try:
        said, port = "", None
        for line in server.stderr:
            said += line
            if found := re.match(r"serving on http://127\.0\.0\.1:(\d+)", line):
                port = int(found.group(1))
            if port and ": tools: " in line:
                break
        assert port, said
        assert options or ": tools: hermes; reasoning: think" in said, said  # as the compiler reports
        threading.Thread(target=server.stderr.read, daemon=True).start()
        rendered = []
        for more in ({}, {"tools": [TOOL]}, {"tools": [TOOL], "tool_choice": "none"}):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            body = {"messages": [{"role": "user", "content": "Hi"}], **more}
            connection.request("POST", "/apply-template", json.dumps(body))
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            assert answer.status == 200, text
            rendered.append(json.loads(text)["prompt"])
        return rendered
    finally:
        server.terminate()
        server.wait(60)


PLAIN = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
plain, tools, none = texts()
assert plain == none == PLAIN, (plain, none)
assert tools == 'TOOLS [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]' \
    + "<|endoftext|>" + PLAIN, tools

plain, tools, none = texts("--chat-template-name", "tool_use")
assert plain.startswith("TOOLS null<|endoftext|><|im_start|>user") and tools.startswith("TOOLS [{"), (plain, tools)
plain, tools, none = texts("--chat-template-name", "default")
assert plain == PLAIN and not tools.startswith("TOOLS") and "f" in tools, tools

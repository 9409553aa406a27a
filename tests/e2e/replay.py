"""Replays requests that applications really send: conversations/*.json, taken from the applications' sources.

A step is a GET or a POST with the parts of the answer that its client reads:
  has       {path: pattern}: in the JSON; a path is keys and indices with dots, a pattern is searched for
  lines     in lines of JSON (Ollama): {"each": {path: pattern}, "last": {…}, "text": path}
  events    as for lines, in server-sent events up to [DONE] (with "done": false, up to the end)
  status    default 200
`text` is the path of what the client shows: joined, it must not be empty. "{model}" is the model's name.
"""
import json
import pathlib
import re

FOLDER = pathlib.Path(__file__).parent / "conversations"


def at(value, path):
    for part in path.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def expect(value, patterns, step):
    for path, pattern in patterns.items():
        try:
            found = at(value, path)
        except (KeyError, IndexError, TypeError):
            raise AssertionError(f"{step['what']}: there is no {path} in {json.dumps(value)[:400]}") from None
        text = found if isinstance(found, str) else json.dumps(found)
        assert re.search(pattern, text, re.S), f"{step['what']}: {path} is {text[:200]}, expected {pattern}"


def joined(items, path):
    parts = []
    for item in items:
        try:
            parts.append(at(item, path) or "")
        except (KeyError, IndexError):  # a chunk without choices or without text
            pass
    return "".join(parts)


def expect_stream(items, wanted, step):
    assert items, f"{step['what']}: an empty stream"
    for item in items:
        assert "error" not in item, f"{step['what']}: {item}"
        expect(item, wanted.get("each", {}), step)
    expect(items[-1], wanted.get("last", {}), step)
    if "text" in wanted:
        assert joined(items, wanted["text"]), f"{step['what']}: nothing was said: {items}"


def replay(server, step, model):
    method = "GET" if "get" in step else "POST"
    path = step["get"] if method == "GET" else step["post"]
    body = json.dumps(step["body"]).replace("{model}", model) if method == "POST" else None
    connection = server.connect()
    connection.request(method, path.replace("{model}", model), body, {"Content-Type": "application/json", **step.get("headers", {})})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    wanted = step.get("status", 200)
    assert answer.status == wanted, f"{step['what']}: {method} {path} is answered {answer.status}: {text[:500]}"
    if "lines" in step:
        assert answer.getheader("Content-Type") == "application/x-ndjson", answer.getheader("Content-Type")
        return expect_stream([json.loads(line) for line in text.splitlines()], step["lines"], step)
    if "events" in step:
        data = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
        if step["events"].get("done", True):
            assert data.pop() == "[DONE]", f"{step['what']}: the stream does not end with [DONE]"
        return expect_stream([json.loads(one) for one in data], step["events"], step)
    expect(json.loads(text), step.get("has", {}), step)


def add(suite, server, model="m"):
    for file in sorted(FOLDER.glob("*.json")):
        script = json.loads(file.read_text())

        def all_of_it():
            for step in script["steps"]:
                replay(server, step, model)
            return f"{len(script['steps'])} requests"

        suite.check(f"serve: what {script['client']} sends", all_of_it)

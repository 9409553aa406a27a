"""Checks the output of `ingot batch`.

  check_batch.py RESULTS ID=WHAT…         has exactly these custom_ids, each with that status, or that error code
  check_batch.py RESULTS --text ID=JSON   its text equals that of a file from `ingot run --json`
  check_batch.py RESULTS --locked COMMAND…   runs a command while the file is locked
"""
import fcntl
import json
import subprocess
import sys

path, rest = sys.argv[1], sys.argv[2:]

if rest[0] == "--locked":
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        sys.exit(subprocess.run(rest[1:]).returncode)

lines = [json.loads(line) for line in open(path)]
for line in lines:
    assert list(line) == ["id", "custom_id", "response", "error"], line
    assert line["id"].startswith("batch_req_"), line
    assert (line["response"] is None) != (line["error"] is None), line
by_id = {line["custom_id"]: line for line in lines}
assert len(by_id) == len(lines) == len({line["id"] for line in lines}), lines

if rest[0] == "--text":
    name, file = rest[1].split("=", 1)
    text = json.load(open(file))["text"]
    got = by_id[name]["response"]["body"]["choices"][0]["text"]
    assert got == text, (got, text)
    sys.exit()

expected = dict(one.split("=") for one in rest)
assert set(by_id) == set(expected), sorted(by_id)
for name, what in expected.items():
    line = by_id[name]
    if line["error"]:
        assert line["error"]["code"] == what and line["error"]["message"], line
        continue
    response = line["response"]
    assert list(response) == ["status_code", "request_id", "body"], response
    assert str(response["status_code"]) == what, response
    assert what == "200" or response["body"]["error"]["message"], response
three = by_id.get("three")
if three:
    assert [choice["index"] for choice in three["response"]["body"]["choices"]] == list(range(6)), three

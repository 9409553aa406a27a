"""check_serve_models.py INGOT ENGINE STEM: tests a server of two models, its keys, and the
effect of SIGHUP on both."""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "e2e"))
import signals  # noqa: E402

signals.default_in_children()
ingot, engine, stem = sys.argv[1:]
work = pathlib.Path(stem + ".models")
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
# Each model fits, but not both together. (A container may have less memory than the machine. Then even the first does
# not fit.)
free = int(re.search(r"MemAvailable:\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text())[1]) * 1024
refused = subprocess.run([ingot, "serve", engine, "--port", "0", "--model", f"b={engine}", "--kv-memory", "2M", "--swap", str(free * 6 // 10)],
                         capture_output=True, text=True, timeout=60)
assert refused.returncode and re.search("E0562]: the models do not fit the free memory together|E0502", refused.stderr), refused.stderr

log, keys, first, second = work / "log", work / "keys", work / "first.ingot", work / "other.ingot"
shutil.copyfile(engine, first)
shutil.copyfile(engine, second)
keys.write_text("# whose: when\n  \nsk-old \t\r\n")
server = subprocess.Popen(
    [ingot, "serve", str(first), "--port", "0", "--model", f"b={second}", "--kv-memory", "3M", "--kv-memory", "other=1M", "--swap", "1M",
     "--api-key-file", str(keys), "--log", "json", "--log-file", str(log)], stderr=subprocess.PIPE, text=True)
said, port = "", None
for line in server.stderr:
    said += line
    if found := re.match(r"serving on http://127\.0\.0\.1:(\d+)", line):
        port = int(found.group(1))
        break
assert port, said
threading.Thread(target=server.stderr.read, daemon=True).start()


def ask(key, body=None, path="/v1/completions"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST" if body else "GET", path, body and json.dumps(body), {"x-api-key": key})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def events(name):
    return [one for one in map(json.loads, log.read_text().splitlines()) if one["event"] == name]


def wait(condition, what):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, f"{what}: {log.read_text()}"
        time.sleep(0.02)


# Shared memory: 3 MiB in total, of which 1 MiB is listed under the name of the second model's file.
assert re.search(r"3\.0 MiB KV of 2 models \(.* 2\.0 MiB, b 1\.0 MiB\), with working memory ", said), said

# The names are the engine's, the file's, and the given one.
prompt = {"prompt": [5, 6, 7], "max_tokens": 4, "temperature": 0}
status, expected = ask("sk-old", prompt)
assert status == 200, expected
expected = json.loads(expected)["choices"]
for name in (json.loads(ask("sk-old", path="/v1/models")[1])["data"][0]["id"], "first", "b", "other"):
    status, text = ask("sk-old", {**prompt, "model": name})
    assert status == 200 and json.loads(text)["choices"] == expected, (name, text)
assert ask("sk-old", {**prompt, "model": "none"})[0] == 404

# Consecutive wrong keys give one log line, and one with their number; after some of them, answers are delayed.
connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
begin = time.monotonic()
for _ in range(10):
    connection.request("GET", "/v1/models", headers={"x-api-key": "sk-wrong"})
    answer = connection.getresponse()
    assert answer.status == 401
    answer.read()
assert time.monotonic() - begin > 1.5, "wrong keys are answered as fast as they come"
wait(lambda: sum(int(one["requests"]) for one in events("refusals")) == 9, "refusals are not summed up")
assert sum(one.get("status") == 401 for one in events("request")) == 1

# Keys are reloaded; a file without a key changes nothing.
keys.write_text("sk-new\n")
server.send_signal(signal.SIGHUP)
wait(lambda: ask("sk-new", prompt)[0] == 200, "the new key is not taken")
assert ask("sk-old", prompt)[0] == 401
wait(lambda: len(events("reload")) == 2, "the engines are not opened again")
keys.write_text("# none\n")
server.send_signal(signal.SIGHUP)
wait(lambda: events("renew_failed"), "no keys are taken for keys")
assert ask("sk-new", prompt)[0] == 200
wait(lambda: len(events("reload")) == 4, "the engines are not opened again")

# One flipped bit in the weights: the old engine goes on.
bytes_of = bytearray(second.read_bytes())
bytes_of[len(bytes_of) // 2] ^= 1
(work / "fresh").write_bytes(bytes_of)
os.replace(work / "fresh", second)
server.send_signal(signal.SIGHUP)
wait(lambda: events("reload_failed"), "a damaged engine is taken")
assert events("reload_failed")[0]["model"] == "b"
wait(lambda: len(events("reload")) == 5, "the other one is not opened again")
status, text = ask("sk-new", {**prompt, "model": "b"})
assert status == 200 and json.loads(text)["choices"] == expected, text

server.send_signal(signal.SIGTERM)
assert server.wait(30) == 0

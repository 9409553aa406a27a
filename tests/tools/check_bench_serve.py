"""check_bench_serve.py INGOT STEM: tests `ingot bench-serve` against a server that follows a script (no engine)."""
import asyncio
import json
import math
import statistics
import subprocess
import sys

ingot, stem = sys.argv[1:]
KEY = "sesame"


class Script:
    """A server of one model, "m": sends `tokens` pieces of text `gap` seconds apart, cut into writes of odd
    sizes."""

    def __init__(self, tokens=5, gap=0.01, fail=None, usage=True, ending="\n", key=None):
        self.tokens, self.gap, self.fail, self.usage, self.ending, self.key = tokens, gap, fail or {}, usage, ending, key
        self.bodies, self.arrivals, self.left, self.now, self.most = [], [], 0, 0, 0

    async def answer(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = next((int(l.split(":")[1]) for l in head.splitlines() if l.lower().startswith("content-length")), 0)
                body = json.loads(await reader.readexactly(length)) if length else None
                await self.respond(head, body, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def whole(self, writer, status, body):
        text = json.dumps(body).encode()
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(text)) + text)

    async def respond(self, head, body, writer):
        if self.key and f"Authorization: Bearer {self.key}" not in head:
            return self.whole(writer, 401, {"error": {"message": "no key\nat all", "type": "x", "param": None, "code": None}})
        if head.startswith("GET /v1/models "):
            return self.whole(writer, 200, {"object": "list", "data": [{"id": "m"}]})
        chat = head.startswith("POST /v1/chat/completions ")
        assert chat or head.startswith("POST /v1/completions "), head
        if body["model"] != "m":
            return self.whole(writer, 404, {"error": {"message": "no such model"}})
        number = len(self.bodies)
        self.bodies.append(body)
        self.arrivals.append(asyncio.get_running_loop().time())
        if number in self.fail:
            return self.whole(writer, self.fail[number], {"error": {"message": "not now"}})
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.stream(body, chat, writer)
        except ConnectionError:
            self.left += 1
        finally:
            self.now -= 1

    async def stream(self, body, chat, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n")

        def event(data):
            return f"data: {json.dumps(data) if data != '[DONE]' else data}{self.ending}{self.ending}"

        async def send(text):
            data = text.encode()
            for at in range(0, len(data), 37):  # chunks and writes with arbitrary boundaries
                piece = data[at:at + 37]
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            if writer.transport.is_closing():
                raise ConnectionError

        prompt = body["messages"][-1]["content"] if chat else body["prompt"]
        count = min(self.tokens, body["max_tokens"])
        words = len(prompt.split() if isinstance(prompt, str) else prompt)
        if chat:  # a role is not text
            await send(event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}], "usage": None}))
        for _ in range(count):
            await asyncio.sleep(self.gap)
            await send(": ping\n\n" + event({"choices": [{"index": 0, "delta": {"content": "ü "}} if chat else {"index": 0, "text": "ü "}]}))
        await send(event({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]}))
        if self.usage:  # two tokens per word, plus ten
            await send(event({"choices": [], "usage": {"prompt_tokens": 10 + 2 * words, "completion_tokens": count}}))
        await send(event("[DONE]"))
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def bench(script, *options, code=0):
    async def run():
        server = await asyncio.start_server(script.answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            ingot, "bench-serve", f"http://127.0.0.1:{port}", "--json", "-", *map(str, options),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = await asyncio.wait_for(process.communicate(), 60)
        server.close()
        return process.returncode, out.decode(), err.decode()

    returned, out, err = asyncio.run(run())
    assert returned == code, f"exit {returned}\n{out}\n{err}"
    return json.loads(out) if out else err


def percentile(values, p):
    values = sorted(values)
    rank = p / 100 * (len(values) - 1)
    low = math.floor(rank)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (rank - low)


def close(a, b):
    return abs(a - b) <= 1e-3 * max(abs(a), abs(b)) + 1e-3


def figures():
    """Every figure follows from what each request saw; the script's own times are bounds for those."""
    script = Script(tokens=6, gap=0.02)
    r = bench(script, "--users", 3, "--requests", 12, "--prompt-tokens", 50, "--output-tokens", 6, "--details",
              "--percentiles", "50,90,99.9", "--goodput", "ttft:60000,e2el:60000", "--ignore-eos", "--temperature", 0)
    assert (r["completed"], r["failed"], r["disconnected"]) == (12, 0, 0), r
    assert script.most == 3 and r["max_concurrent_requests"] == 3 and r["max_concurrency"] == 3
    assert r["input_lens"] == [50] * 12, "the words are as many as the server's counting asks for"
    assert r["output_lens"] == [6] * 12 and r["total_output_tokens"] == 72 and r["total_input_tokens"] == 600
    assert all(len(gaps) == 5 for gaps in r["itls"])
    assert close(r["request_throughput"], 12 / r["duration"]) and close(r["request_goodput"], r["request_throughput"])
    assert close(r["output_throughput"], 72 / r["duration"]) and close(r["total_token_throughput"], 672 / r["duration"])
    series = {
        "ttft": r["ttfts"], "itl": [gap for gaps in r["itls"] for gap in gaps], "e2el": r["latencies"],
        "tpot": [(l - t) / 5 for l, t in zip(r["latencies"], r["ttfts"])]}
    for name, values in series.items():
        assert all(v > 0.01 for v in values), f"{name}: {min(values)} s, the script waits 20 ms"
        expected = {"mean": statistics.fmean(values), "median": statistics.median(values), "std": statistics.pstdev(values),
                    "p50": percentile(values, 50), "p90": percentile(values, 90), "p99.9": percentile(values, 99.9)}
        for key, value in expected.items():
            assert close(r[f"{key}_{name}_ms"], value * 1e3), f"{key}_{name}_ms: {r[f'{key}_{name}_ms']} is not {value * 1e3}"
    body = script.bodies[-1]
    assert body["stream"] and body["stream_options"] == {"include_usage": True} and body["max_tokens"] == 6
    assert body["ignore_eos"] is True and body["temperature"] == 0 and len(body["prompt"].split()) == 20
    assert bench(Script(), "--requests", 2, "--goodput", "itl:0")["request_goodput"] == 0
    assert bench(Script(), "--requests", 2)["request_goodput"] is None


def prompts():
    """The same seed gives the same requests; lengths vary; a prefix is shared; a file's bodies arrive unchanged."""
    one, two, other = Script(gap=0), Script(gap=0), Script(gap=0)
    spread = ["--requests", 30, "--prompt-tokens", 100, "--range-ratio", 0.5, "--prefix-tokens", 40, "--route", "chat"]
    for script, seed in ((one, 1), (two, 1), (other, 2)):
        bench(script, *spread, "--seed", seed)
    text = lambda script: [b["messages"][0]["content"] for b in script.bodies[2:]]
    assert text(one) == text(two) and text(one) != text(other)
    lengths = [len(t.split()) * 2 + 10 for t in text(one)]
    assert min(lengths) < 120 and max(lengths) > 160 and 89 <= min(lengths) and max(lengths) <= 192, lengths
    assert len({" ".join(t.split()[:20]) for t in text(one)}) == 1 and len(set(text(one))) == 30

    path = stem + ".jsonl"
    with open(path, "w") as f:
        f.write(json.dumps({"messages": [{"role": "user", "content": "hi \"you\""}], "max_tokens": 3, "stream": False, "model": "x",
                            "tools": [{"a": [1, 2.5, None]}]}) + "\n\n")
        f.write(json.dumps({"custom_id": "1", "method": "POST", "body": {"messages": [{"role": "user", "content": "b"}]}}) + "\n")
        f.write(json.dumps({"conversations": [{"from": "human", "value": "shared"}, {"from": "gpt", "value": "x"}]}) + "\n")
        f.write(json.dumps({"prompt": "plain", "output_tokens": 2}) + "\n")
    script = Script(gap=0)
    bench(script, "--route", "chat", "--prompts", path, "--requests", 5, "--output-tokens", 4)
    got = script.bodies[1:]
    assert got[0]["tools"] == [{"a": [1, 2.5, None]}] and got[0]["model"] == "m" and got[0]["stream"] is True
    assert [b["max_tokens"] for b in got] == [3, 4, 4, 2, 3], got
    assert [b["messages"][0]["content"] for b in got] == ['hi "you"', "b", "shared", "plain", 'hi "you"']
    with open(path, "w") as f:
        json.dump([{"conversations": [{"from": "gpt", "value": "y"}]}, {"conversations": [{"from": "human", "value": "z"}]}], f)
    script = Script(gap=0)
    bench(script, "--prompts", path, "--requests", 1)
    assert script.bodies[1]["prompt"] == "z"
    for wrong in ('{"a": 1}', "[", "", '{"messages": []}'):
        with open(path, "w") as f:
            f.write(wrong)
        assert "error[E0587]" in bench(Script(), "--prompts", path, code=3)


def arrivals():
    """The gaps of the open loop have the rate's mean and the shape's deviation."""
    for burstiness, low, high in ((0.2, 1.3, 9), (100, 0, 0.8)):  # deviation / mean is 2.2 and 0.1, plus noise
        script = Script(tokens=1, gap=0)
        r = bench(script, "--rate", 100, "--burstiness", burstiness, "--requests", 100, "--output-tokens", 1, "--seed", 3, "--details")
        gaps = [b - a for a, b in zip(r["start_times"], r["start_times"][1:])]
        spread = statistics.pstdev(gaps) / statistics.fmean(gaps)
        assert r["completed"] == 100 and 0.5 < statistics.fmean(gaps) * 100 < 2, statistics.fmean(gaps)
        assert low < spread < high, f"burstiness {burstiness}: {spread}"
    script = Script(tokens=2, gap=0.05)
    r = bench(script, "--rate", 1000, "--users", 2, "--requests", 8)
    assert script.most == 2 and r["completed"] == 8
    r = bench(Script(tokens=2, gap=0.05), "--duration", 0.5, "--requests", 100000, "--users", 2)
    assert 2 <= r["completed"] <= 14 and r["duration"] < 5, r


def misfortunes():
    """Failures are counted and reported; clients that leave are neither."""
    r = bench(Script(fail={3: 429, 5: 500}), "--requests", 6, "--details")
    assert (r["completed"], r["failed"]) == (4, 2), r
    assert sorted(e.split(":")[0] for e in r["errors"] if e) == ["status 429", "status 500"], r["errors"]
    script = Script(tokens=40, gap=0.01)
    r = bench(script, "--users", 8, "--requests", 40, "--disconnect", 0.5, "--seed", 1, "--output-tokens", 40)
    assert r["completed"] + r["disconnected"] == 40 and 8 <= r["disconnected"] <= 32 and r["failed"] == 0, r
    assert r["total_output_tokens"] == 40 * r["completed"]
    assert script.left > 0
    r = bench(Script(usage=False, ending="\r\n"), "--requests", 3, "--output-tokens", 5)
    assert r["total_output_tokens"] == 15, "without usage, pieces of text are counted"
    err = bench(Script(key=KEY), code=2)
    assert "error[E0584]: the server requires an API key\n  no key at all\n  give --api-key KEY" in err, err
    assert bench(Script(key=KEY), "--api-key", KEY, "--requests", 2)["completed"] == 2
    err = bench(Script(), "--model", "nope", code=2)
    assert "error[E0585]: the server has no model nope" in err and "no such model" in err, err
    err = bench(Script(fail={0: 400}), code=2)
    assert "error[E0588]: the server refused a request: status 400\n  not now" in err, err
    path = f"{stem}.ids.jsonl"
    with open(path, "w") as file:
        file.write('{"prompt": [5, 6, 7], "max_tokens": 3}\n')
    script = Script(fail={0: 400})  # a server without a tokenizer rejects text prompts
    assert bench(script, "--prompts", path, "--requests", 2)["completed"] == 2
    assert [body["prompt"] for body in script.bodies[1:]] == [[1, 2, 3, 4], [5, 6, 7], [5, 6, 7]], script.bodies


for check in (figures, prompts, arrivals, misfortunes):
    check()

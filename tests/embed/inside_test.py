"""inside_test.py LIBRARY INGOT ENGINE [unittest options]: checks that libingot-server answers like `ingot serve`,
byte for byte except for ids and times. The engine comes from tests/embed/TestEngine.h.
"""
import asyncio
import http.client
import json
import pathlib
import re
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python" / "src"))
sys.path.append(str(pathlib.Path(__file__).parents[1] / "e2e"))
import signals  # noqa: E402
from ingot import _inside  # noqa: E402
from ingot._library import IngotError  # noqa: E402
from ingot._upstream import Head, UpstreamGone, command_options  # noqa: E402

signals.default_in_children()
LIBRARY, INGOT, ENGINE = map(pathlib.Path, sys.argv[1:4])
OPTIONS = {"threads": 1, "max-seqs": 4, "context": 2048, "kv-memory": "64M", "swap": "64M"}
MASKS = [(rb'"(id|item_id)":"[a-z]+[-_][0-9a-f]{16,}"', rb'"\1":"ID"'), (rb'"(created|created_at|completed_at)":\d+', rb'"\1":0')]


def chat(content, **more):
    return {"messages": [{"role": "user", "content": content}], "temperature": 0, "max_tokens": 8, **more}


ASKED = [
    ("POST", "/v1/chat/completions", chat("hello")),
    ("POST", "/v1/chat/completions", chat("hello", stream=True, n=2, seed=3, temperature=1, stream_options={"include_usage": True})),
    ("POST", "/v1/completions", {"prompt": "abc", "max_tokens": 8, "temperature": 0, "stream": True, "logprobs": 2}),
    ("POST", "/v1/responses", {"input": "hello", "temperature": 0, "max_output_tokens": 8, "stream": True}),
    ("POST", "/v1/messages", {"max_tokens": 8, "temperature": 0, "messages": [{"role": "user", "content": "hello"}], "stream": True}),
    ("POST", "/v1/embeddings", {"input": ["hello", "ab"]}),
    ("POST", "/tokenize", {"prompt": "hello"}),
    ("POST", "/v1/chat/completions", chat("hello", model="other")),
    ("POST", "/v1/chat/completions", chat("hello", temperature=-1)),
    ("POST", "/v1/chat/completions", "{"),
    ("POST", "/v1/chat/completions", ""),
    ("POST", "/nothing", {}),
    ("DELETE", "/v1/completions", ""),
    ("GET", "/v1/models", ""),
    ("GET", "/v1/models/m%20n?x=1", ""),
    ("GET", "/openapi.json", ""),
    ("GET", "/health", ""),
]


def masked(data):
    for pattern, instead in MASKS:
        data = re.sub(pattern, instead, data)
    return data


class Served:
    """`ingot serve`, for use in a `with`."""

    def __enter__(self):
        self.process = subprocess.Popen([INGOT, "serve", ENGINE, "--port", "0", "--model-name", "m", "--log", "none", *command_options(OPTIONS)],
                                        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for line in self.process.stderr:
            if found := re.search(r"serving on http://.*:(\d+)", line):
                self.port = int(found[1])
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return self
        raise AssertionError("it does not serve")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)
        self.process.stderr.close()

    def ask(self, method, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        try:
            return answer.status, answer.getheader("content-type"), answer.read()
        finally:
            connection.close()


async def ask(server, method, path, body):
    """Returns (status, content type, body), and the number of pieces."""
    head, pieces = None, []
    async for item in server.answer(method, path, [("content-type", "application/json")], body):
        if isinstance(item, Head):
            head = item
        else:
            pieces.append(item)
    return (head.status, dict(head.headers)["content-type"], b"".join(pieces)), len(pieces)


class InsideTest(unittest.TestCase):
    def test_it_gives_out_what_its_header_says(self):
        header = (pathlib.Path(__file__).parents[2] / "tools" / "ingot" / "serve" / "ServeInside.h").read_text()
        declared = set(re.findall(r"INGOT_SERVER_API[^;{]*?\b(ingot_server_\w+)\(", header))
        listed = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
        self.assertEqual({line.split()[-1].split("@")[0] for line in listed.splitlines() if " A " not in line}, declared)
        self.assertEqual(declared - {"ingot_server_abi_version"}, set(_inside._FUNCTIONS))
        self.assertIn(f"#define INGOT_SERVER_ABI_VERSION {_inside.ABI_VERSION}\n", header)

    def open(self, **more):
        return _inside.InsideServer(ENGINE, "m", "test", {**OPTIONS, **more}, str(LIBRARY))

    def test_answers_are_those_of_ingot_serve(self):
        async def all_of_them(served):
            server = self.open()
            await server.start()
            try:
                for method, path, body in ASKED:
                    data = (body if isinstance(body, str) else json.dumps(body)).encode()
                    with self.subTest(method=method, path=path, body=body):
                        got, _ = await ask(server, method, path, data)
                        wanted = served.ask(method, path, data)
                        self.assertEqual((*got[:2], masked(got[2])), (*wanted[:2], masked(wanted[2])))
            finally:
                await server.stop(0)

        with Served() as served:
            asyncio.run(all_of_them(served))

    def test_many_at_once_and_some_that_leave(self):
        async def clients():
            server = self.open()
            await server.start()
            body = json.dumps({"prompt": "abc", "max_tokens": 200, "temperature": 0, "ignore_eos": True, "stream": True}).encode()
            endless = json.dumps({"prompt": "abc", "max_tokens": 2000, "n": 40, "temperature": 1, "ignore_eos": True, "stream": True}).encode()

            async def leaves():
                pieces = server.answer("POST", "/v1/completions", [], endless)
                await pieces.__anext__()  # the response head, which arrives while the request is still queued
                await pieces.aclose()

            answers = await asyncio.gather(*(ask(server, "POST", "/v1/completions", body) for _ in range(12)), *(leaves() for _ in range(6)))
            texts = {masked(answer[0][2]) for answer in answers[:12]}
            self.assertEqual(len(texts), 1)
            self.assertEqual([answer[0][0] for answer in answers[:12]], [200] * 12, texts)
            self.assertTrue(all(text.endswith(b"data: [DONE]\n\n") for text in texts), texts)
            (_, _, metrics), _ = await ask(server, "GET", "/metrics", b"")
            # Cancelled requests are no longer in progress a step later.
            for _ in range(100):
                if re.search(rb"^vllm:num_requests_running{[^}]*} 0$", metrics, re.M):
                    break
                await asyncio.sleep(0.02)
                (_, _, metrics), _ = await ask(server, "GET", "/metrics", b"")
            else:
                self.fail("a request that was left runs on")
            self.assertRegex(metrics, rb'vllm:request_success_total{[^}]*finished_reason="abort"[^}]*} [1-9]')
            self.assertEqual(server._queues, {})
            # Closes the server with a request in progress, which gets an error.
            open_one = server.answer("POST", "/v1/completions", [], endless)
            await open_one.__anext__()
            await server.stop(0)

            async def rest():
                async for _ in open_one:
                    pass

            with self.assertRaises(UpstreamGone):
                await asyncio.wait_for(rest(), 20)

        asyncio.run(clients())

    def test_what_cannot_be_opened(self):
        for make, code in ((lambda: self.open(context="x"), "E0102"), (lambda: self.open(nothing=1), "E0102"), (lambda: self.open(port=80), "E0597"),
                           (lambda: _inside.InsideServer(pathlib.Path("/nonexistent.ingot"), "m", "n", {}, str(LIBRARY)), "E0130")):
            with self.assertRaises(IngotError) as caught:
                make()
            self.assertEqual(caught.exception.code, code, caught.exception)
        with self.assertRaises(IngotError) as caught:
            _inside.open_library("libingot-nowhere.so.0")
        self.assertEqual(caught.exception.code, "E0579")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])

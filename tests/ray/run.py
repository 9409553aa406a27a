"""run.py --ingot PROGRAM --engine TINY --work FOLDER [--requests N] [--report FILE] [-k
NAME]: tests ingot.ray on a private Ray.

The engine comes from `write-test-engine`: its steps take microseconds. Answers are compared
with those of `ingot serve` with the same options, byte for byte except for ids and times.
Needs tests/ray/requirements.txt; `dev test --long` installs them.
"""
import argparse
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

from cluster import ROOT, SOURCE, Cluster, Direct, children, free_port, request, wait_until

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--ingot", required=True, type=pathlib.Path)
parser.add_argument("--engine", required=True, type=pathlib.Path)
parser.add_argument("--work", required=True, type=pathlib.Path)
parser.add_argument("--report", type=pathlib.Path)
parser.add_argument("--requests", type=int, default=1000, help="of the upgrade")
options, rest = parser.parse_known_args()
INGOT, ENGINE, WORK = options.ingot.resolve(), options.engine.resolve(), options.work.resolve()
SERVE = {"threads": 1, "max-seqs": 8, "context": 2048, "kv-memory": "64M", "swap": "64M"}
figures = {}
cluster = None

MASKS = [(rb'"(id|item_id|response_id)":"[a-z]+[-_][0-9a-f]{16,}"', rb'"\1":"ID"'), (rb'"(created|created_at|completed_at|until)":\d+(\.\d+)?', rb'"\1":0'),
         (rb'"(created_at|modified_at|expires_at)":"[^"]*"', rb'"\1":"T"'), (rb'"(total_duration|load_duration|prompt_eval_duration|eval_duration)":\d+', rb'"\1":0'),
         (rb'"[a-z_]+_(ms|per_second)":[\d.e+-]+', b'"TIME":0')]


def masked(data):
    for pattern, instead in MASKS:
        data = re.sub(pattern, instead, data)

    def choice(event):
        found = re.search(rb'"choices":\[\{"index":(\d+)', event)
        return int(found[1]) if found else 1 << 20

    # The order of several prompts within a step is random, but each prompt's events keep their order.
    return b"\n\n".join(sorted(data.split(b"\n\n"), key=choice))


def setUpModule():
    global cluster
    cluster = Cluster(WORK)
    unittest.addModuleCleanup(cluster.__exit__)
    cluster.__enter__()


def tearDownModule():
    print(json.dumps(figures, indent=1))
    if options.report:
        options.report.write_text(json.dumps(figures, indent=1) + "\n")


def model(**more):
    return {"engine": str(ENGINE), "program": str(INGOT), "options": SERVE, "num_cpus": 0.1, **more}


def flags(serve):
    return [word for name, value in serve.items() for word in (f"--{name}", value)]


def chat(content, **more):
    return {"model": "m", "messages": [{"role": "user", "content": content}], "temperature": 0, "max_tokens": 12, **more}


SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "properties": {"a": {"type": "boolean"}},
                                                                        "required": ["a"], "additionalProperties": False}}}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}}]
ASKED = [
    ("POST", "/v1/chat/completions", chat("hello")),
    ("POST", "/v1/chat/completions", chat("hello", stream=True, stream_options={"include_usage": True})),
    ("POST", "/v1/chat/completions", chat("hello", n=3, seed=1, temperature=0.8, stream=True)),
    ("POST", "/v1/chat/completions", chat("hello", response_format=SCHEMA, max_tokens=60)),
    ("POST", "/v1/chat/completions", chat("hello", tools=TOOLS, tool_choice="required", max_tokens=100)),
    ("POST", "/v1/chat/completions", chat("hello", logprobs=True, top_logprobs=2)),
    ("POST", "/v1/completions", {"model": "m", "prompt": "abc", "max_tokens": 8, "temperature": 0}),
    ("POST", "/v1/completions", {"prompt": ["abc", "de"], "max_tokens": 8, "temperature": 0, "stream": True}),
    ("POST", "/v1/completions", {"model": f"{ENGINE.stem}:latest", "prompt": [3, 1, 4], "max_tokens": 4, "temperature": 0}),
    ("POST", "/v1/responses", {"model": "m", "input": "hello", "temperature": 0, "max_output_tokens": 8, "stream": True}),
    ("POST", "/v1/messages", {"model": "m", "max_tokens": 8, "temperature": 0, "messages": [{"role": "user", "content": "hello"}], "stream": True}),
    ("POST", "/v1/messages/count_tokens", {"model": "m", "messages": [{"role": "user", "content": "hello"}]}),
    ("POST", "/api/chat", {"model": "m", "messages": [{"role": "user", "content": "hello"}], "options": {"temperature": 0, "num_predict": 6}}),
    ("POST", "/v1/embeddings", {"model": "m", "input": "hello"}),
    ("POST", "/tokenize", {"prompt": "hello"}),
    ("GET", "/v1/models", None),
    ("GET", "/v1/models/m", None),
    ("GET", "/v1/models/none", None),
    ("GET", "/health", None),
    ("GET", "/version", None),
    ("GET", "/openapi.json", None),
    ("GET", "/tokenizer_info", None),
    ("GET", "/nothing", None),
    ("PUT", "/v1/chat/completions", chat("hello")),
    ("GET", "/v1/chat/completions", None),
    # Invalid requests are rejected with the same messages.
    ("POST", "/v1/chat/completions", chat("hello", model="other")),
    ("POST", "/v1/messages", {"model": "other", "max_tokens": 8, "messages": [{"role": "user", "content": "hello"}]}),
    ("POST", "/api/chat", {"model": "other", "messages": []}),
    ("POST", "/v1/rerank", {"model": "other", "query": "a", "documents": []}),
    ("POST", "/v1/chat/completions", chat("hello", temperature=9)),
    ("POST", "/v1/chat/completions", chat("hello", model=3)),
    ("POST", "/v1/chat/completions", chat("hello", max_tokens=100000)),
    ("POST", "/v1/chat/completions", {"model": "m"}),
    ("POST", "/v1/chat/completions", '{"model": "m", "model": "n"}'),
    ("POST", "/v1/chat/completions", "{"),
    ("POST", "/v1/chat/completions", "[" * 100000),
    ("POST", "/v1/chat/completions", b"\xff"),
    ("POST", "/v1/chat/completions", ""),
    ("POST", "/v1/completions", {"model": "m", "prompt": "x" * (9 << 20)}),
]


class AnswersTest(unittest.TestCase):
    """Clients get the same answers through Ray as from `ingot serve`."""

    def same(self, kind):
        cluster.deploy({"m": model(kind=kind)})
        with Direct(INGOT, ENGINE, *flags(SERVE)) as direct:
            for method, path, body in ASKED:
                with self.subTest(kind=kind, method=method, path=path, body=str(body)[:120]):
                    wanted, got = (request(port, method, path, body) for port in (direct.port, cluster.port))
                    self.assertEqual(got[0], wanted[0], got[2][:500])
                    self.assertEqual(masked(got[2]), masked(wanted[2]))
                    for name in ("content-type", "retry-after", "cache-control"):
                        self.assertEqual(got[1].get(name), wanted[1].get(name), name)
        given = cluster.request("POST", "/v1/chat/completions", chat("hello"), {"X-Request-Id": "mine"})[1]
        self.assertEqual(given["x-request-id"], "mine")

    def test_beside(self):
        self.same("process")

    def test_inside(self):
        self.same("inside")

    def test_several_models(self):
        cluster.deploy({"m": model(), "n": model(kind="inside")})
        asked = [("POST", "/v1/chat/completions", chat("hello", model=name)) for name in ("m", "n", "m:latest", "", "other", ENGINE.stem)]
        asked += [("GET", "/v1/models", None), ("GET", "/v1/models/n", None), ("GET", "/api/tags", None)]
        with Direct(INGOT, ENGINE, *flags(SERVE), "--model", f"n={ENGINE}") as direct:
            for method, path, body in asked:
                with self.subTest(path=path, body=str(body)[:120]):
                    wanted, got = (request(port, method, path, body) for port in (direct.port, cluster.port))
                    self.assertEqual((got[0], masked(got[2])), (wanted[0], masked(wanted[2])))
        text = cluster.request("GET", "/metrics")[2].decode()
        for name in ("m", "n"):
            self.assertRegex(text, rf'vllm:prompt_tokens_total{{replica="[^"]+",[^}}]*model_name="{name}"[^}}]*}} [1-9]')
        self.assertEqual(text.count("# TYPE vllm:prompt_tokens_total "), 1)

    def test_the_official_client(self):
        import openai

        cluster.deploy({"m": model(replicas=2)})
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{cluster.port}/v1", api_key="none", max_retries=0)
        messages = [{"role": "user", "content": "hello"}]
        whole = client.chat.completions.create(model="m", messages=messages, temperature=0, max_tokens=12)
        pieces = client.chat.completions.create(model="m", messages=messages, temperature=0, max_tokens=12, stream=True)
        self.assertEqual("".join(piece.choices[0].delta.content or "" for piece in pieces), whole.choices[0].message.content)
        self.assertEqual([one.id for one in client.models.list()], ["m"])
        with self.assertRaises(openai.NotFoundError) as caught:
            client.chat.completions.create(model="other", messages=messages)
        self.assertEqual((caught.exception.code, caught.exception.param), ("model_not_found", "model"))
        with self.assertRaises(openai.BadRequestError):
            client.chat.completions.create(model="m", messages=messages, temperature=9)

    def test_keys(self):
        keys = WORK / "keys"
        keys.write_text("# of clients\nsecret\n")
        cluster.deploy({"m": model()}, api_key_file=str(keys))
        with Direct(INGOT, ENGINE, *flags(SERVE), "--api-key-file", keys) as direct:
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer secret"}, {"X-Api-Key": "secret"}):
                wanted, got = (request(port, "GET", "/v1/models", None, headers) for port in (direct.port, cluster.port))
                self.assertEqual((got[0], masked(got[2])), (wanted[0], masked(wanted[2])), headers)
            self.assertEqual(cluster.request("GET", "/health")[0], 200)

    def test_a_client_that_leaves(self):
        for kind in ("process", "inside"):
            cluster.deploy({"m": model(kind=kind, replicas=1)})
            connection = cluster.connect()
            connection.request("POST", "/v1/completions", json.dumps(
                {"model": "m", "prompt": "abc", "max_tokens": 2000, "n": 128, "stream": True, "ignore_eos": True}), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read1()

            def running():
                return sum(map(float, re.findall(r"^vllm:num_requests_running{.*} (\S+)$", cluster.request("GET", "/metrics")[2].decode(), re.M)))

            self.assertGreater(running(), 0)
            answer.close()
            connection.close()
            wait_until(lambda: running() == 0, 10, "a stream that was left ends")


class DeployTest(unittest.TestCase):
    def test_the_yaml_of_the_docs(self):
        """Uses the YAML of the docs unchanged, except for this machine's paths."""
        text = re.search(r"```yaml\n(.*?)```", (ROOT / "docs" / "ray.md").read_text(), re.S)[1]
        (WORK / "copied.ingot").write_bytes(ENGINE.read_bytes())
        digest = hashlib.sha256(ENGINE.read_bytes()).hexdigest()
        for there, here in (("/models/small.ingot", str(ENGINE)), ("s3://models/large.ingot", f"file://{WORK}/copied.ingot"), ("0123456789abcdef" * 4, digest),
                            ("port: 8000", f"port: {cluster.port}"), ("/etc/ingot/keys", str(WORK / "keys")), ("program: ingot", f"program: {INGOT}"),
                            ("cache: /var/cache/ingot", f"cache: {WORK}/cache"), ("num_cpus: 4", "num_cpus: 0.1"), ("threads: 4", "threads: 1")):
            self.assertIn(there, text)
            text = text.replace(there, here)
        (WORK / "keys").write_text("secret\n")
        (WORK / "app.yaml").write_text(text)
        cluster.remove()
        command = [pathlib.Path(sys.executable).with_name("serve"), "run", "--address", cluster.address, "--non-blocking", WORK / "app.yaml"]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(SOURCE)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        key = {"Authorization": "Bearer secret"}

        def models():
            with contextlib.suppress(OSError, ValueError, KeyError):
                return [one["id"] for one in json.loads(cluster.request("GET", "/v1/models", None, key)[2])["data"]]

        wait_until(lambda: models() == ["small", "large"], 120, "both models of the file are served")
        for name in ("small", "large"):
            self.assertEqual(cluster.request("POST", "/v1/chat/completions", chat("hello", model=name), key)[0], 200)
        self.assertEqual([path.name for path in (WORK / "cache").glob("*.ingot")], [f"copied-sha256-{digest}.ingot"])

    def test_a_store_in_memory(self):
        import fsspec

        from ingot._stored import engine_path

        content = ENGINE.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        with fsspec.open("memory://models/m.ingot", "wb") as file:
            file.write(content)
        place = engine_path("memory://models/m.ingot", digest, str(WORK / "memory-cache"))
        self.assertEqual(place.read_bytes(), content)
        cluster.deploy({"m": model(engine=f"sha256:{digest}", cache=str(WORK / "memory-cache"))})
        self.assertEqual(cluster.request("POST", "/v1/chat/completions", chat("hello"))[0], 200)

    def test_what_cannot_be(self):
        from ingot.ray import IngotError, build_app

        for wrong in (3, {}, {"engines": []}, {"m": 3}, {"m": {}}, {"m": model(replicas=0)}, {"m": model(replicas={"min": 3, "max": 2})},
                      {"m": model(kind="thread")}, {"m": model(router="random")}, {"m": model(options={"port": 3})}, {"m": model(num_cpus="x")},
                      {"engines": "m.ingot", "retry": 1}, [model(name="m"), model(name="m")]):
            with self.assertRaises(IngotError, msg=str(wrong)) as caught:
                build_app(wrong)
            self.assertEqual(caught.exception.code, "E0597")
            self.assertTrue(caught.exception.fix)

    def test_engines_that_are_not_there(self):
        """The application reports why it does not start, with the message of `ingot`."""
        (WORK / "bad.ingot").write_bytes(ENGINE.read_bytes()[:5000])
        for engine, kind, code in ((str(WORK / "none.ingot"), "process", "E0599"), (str(WORK / "bad.ingot"), "process", "E03"), (str(WORK / "bad.ingot"), "inside", "E03")):
            cluster.remove()
            with self.assertRaises(RuntimeError) as caught:
                cluster.deploy({"m": model(engine=engine, kind=kind)})
            said = str(caught.exception)
            if code not in said:
                app = cluster.serve.status().applications["ingot"]
                said = " ".join(one.message for one in app.deployments.values()) + app.message
            self.assertIn(code, said)
        cluster.remove()

    def scales(self, load_options, **targets):
        """A second replica starts under load and stops when the load is over. Returns the seconds that both took."""
        scale = {"min": 1, "max": 2, "upscale_delay": 0, "downscale_delay": 1, "look_back": 2, **targets}
        cluster.deploy({"m": model(replicas=scale, options={**SERVE, **load_options})})

        def running():
            return len(children(os.getpid(), str(INGOT)))

        self.assertEqual(running(), 1)
        over, wrong = threading.Event(), []

        def load():
            while not over.is_set():
                status, _, data = cluster.request("POST", "/v1/completions", {"model": "m", "prompt": "abc", "max_tokens": 1500, "n": 8, "ignore_eos": True})
                if status != 200:
                    wrong.append(data)

        threads = [threading.Thread(target=load) for _ in range(6)]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        try:
            wait_until(lambda: running() == 2, 60, "a second replica under load")
            up = time.monotonic() - begin
        finally:
            over.set()
            for thread in threads:
                thread.join()
        begin = time.monotonic()
        wait_until(lambda: running() == 1, 60, "one replica at rest")
        self.assertEqual(wrong, [])
        return {"second_replica_after_s": up, "one_replica_after_s": time.monotonic() - begin}

    def test_more_replicas_where_more_is_asked(self):
        figures["scaling by requests"] = self.scales({}, target_requests=2)

    def test_more_replicas_where_pages_are_full(self):
        figures["scaling by KV pages"] = self.scales({"kv-memory": "4M"}, target_requests=1000, target_kv=0.3)


class LossTest(unittest.TestCase):
    """Lost replicas."""

    def load(self, over, count=8, stream=True, tokens=400):
        """What the clients saw: (kind, seconds, when it ended)."""
        seen = []

        def client(number):
            turn = 0
            while not over.is_set():
                turn += 1
                begin = time.monotonic()
                body = {"model": "m", "prompt": f"{number} {turn}", "max_tokens": tokens, "stream": stream and number % 2 == 0, "ignore_eos": True, "temperature": 0}
                try:
                    status, _, data = cluster.request("POST", "/v1/completions", body)
                    kind = "status %d" % status
                    if status == 200 and body["stream"]:
                        events = [event for event in data.decode().split("\n\n") if event and not event.startswith(":")]
                        last = json.loads(events[-1][6:]) if events[-1] != "data: [DONE]" else {}
                        kind = "error event" if "error" in last else "answered" if events[-1] == "data: [DONE]" else "cut"
                        if kind == "error event":
                            self.assertEqual((last["error"]["type"], last["error"]["code"]), ("engine_error", "E0727"))
                    elif status == 200:
                        kind = "answered" if json.loads(data)["usage"]["completion_tokens"] == tokens else "short"
                except Exception as error:
                    kind = f"{type(error).__name__}: {error}"
                seen.append((kind, time.monotonic() - begin, time.monotonic()))

        threads = [threading.Thread(target=client, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        return seen, threads

    def killed(self, kind, victim, each):
        """Kills one of two replicas under load. `each` counts the processes or objects of
        which each replica has one."""
        cluster.deploy({"m": model(kind=kind, replicas=2)})
        over = threading.Event()
        seen, threads = self.load(over)
        try:
            time.sleep(3)  # the first requests are slower
            first = len(seen)
            time.sleep(5)
            rate = (len(seen) - first) / 5
            was = set(each())
            begin = time.monotonic()
            os.kill(victim(), signal.SIGKILL)
            two = wait_until(lambda: len(set(each()) & was) == 1 and len(each()) == 2 and time.monotonic(), 30, "there are two replicas again") - begin
            time.sleep(max(14 - (time.monotonic() - begin), 0))
        finally:
            over.set()
            for thread in threads:
                thread.join(60)
        self.assertFalse(any(thread.is_alive() for thread in threads), "a request hangs")
        kinds = {}
        for what, _, _ in seen:
            kinds[what] = kinds.get(what, 0) + 1
        self.assertLessEqual(set(kinds), {"answered", "error event"}, kinds)
        # Seconds from the kill until a two-second window has 0.9 of the previous rate of answers.
        counts = [sum(begin + second <= at < begin + second + 1 for what, _, at in seen if what == "answered") for second in range(13)]
        back = next((second + 2 for second in range(12) if counts[second] + counts[second + 1] >= 1.8 * rate), 99)
        self.assertLessEqual(back, 10, (rate, counts))
        return {"requests": kinds, "answers_per_s_before": rate, "answers_each_second_after": counts, "full_speed_after_s": back,
                "a_new_process_after_s": two, "longest_s": max(seconds for _, seconds, _ in seen)}

    @staticmethod
    def servers():
        return children(os.getpid(), str(INGOT))

    @staticmethod
    def replicas():
        return children(os.getpid(), "ServeReplica:ingot:model-m")

    def parent(self):
        """The replica that is a server's parent."""
        return int(pathlib.Path(f"/proc/{self.servers()[0]}/stat").read_text().rsplit(")", 1)[1].split()[1])

    def test_a_replica_is_killed(self):
        figures["a replica is killed"] = self.killed("process", self.parent, self.servers)

    def test_a_server_is_killed(self):
        figures["ingot serve of a replica is killed"] = self.killed("process", lambda: self.servers()[0], self.servers)

    def test_a_replica_with_its_engine_inside_is_killed(self):
        figures["a replica with its engine inside is killed"] = self.killed("inside", lambda: self.replicas()[0], self.replicas)

    def streams(self, count, n=8, tokens=2000):
        """Starts long streams and waits until all have begun. Returns futures of (how it ended, bytes)."""
        begun = [threading.Event() for _ in range(count)]

        def client(number):
            connection = cluster.connect()
            connection.request("POST", "/v1/completions", json.dumps({"model": "m", "prompt": f"{number} abc", "max_tokens": tokens, "n": n, "stream": True, "ignore_eos": True}),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            data = answer.read1()
            begun[number].set()
            data += answer.read()
            last = data.decode().split("\n\n")[-2]
            if last == "data: [DONE]":
                self.assertEqual(data.count(b'"finish_reason":"length"'), n)
                return "answered"
            error = json.loads(last[6:])["error"]
            self.assertEqual((error["type"], error["code"]), ("engine_error", "E0727"))
            return "error event"

        pool = concurrent.futures.ThreadPoolExecutor(count)
        out = [pool.submit(client, number) for number in range(count)]
        pool.shutdown(wait=False)
        for one in begun:
            self.assertTrue(one.wait(30))
        return out

    def test_streams_that_had_begun_end_with_an_error(self):
        for kind, victim in (("process", self.parent), ("process", lambda: self.servers()[0]), ("inside", lambda: self.replicas()[0])):
            with self.subTest(kind=kind):
                cluster.deploy({"m": model(kind=kind, replicas=2, options={**SERVE, "max-seqs": 64})})
                streams = self.streams(6)
                begin = time.monotonic()
                os.kill(victim(), signal.SIGKILL)
                ended = [one.result(timeout=60) for one in streams]
                figures.setdefault("streams under way at a replica that is killed", []).append(
                    {"kind": kind, **{what: ended.count(what) for what in set(ended)}, "seconds": time.monotonic() - begin})
                self.assertEqual(set(ended), {"answered", "error event"})
                wait_until(lambda: len(self.servers() if kind == "process" else self.replicas()) == 2, 30, "as many as before")

    def test_an_ingress_is_killed(self):
        """Ray's proxy answers that ingress's requests with 500; the other one goes on, and
        a second one is started again."""
        cluster.deploy({"m": model()}, ingress_replicas=2)
        over = threading.Event()
        seen, threads = self.load(over)
        try:
            time.sleep(2)
            begin = time.monotonic()
            os.kill(children(os.getpid(), "ServeReplica:ingot:ingress")[0], signal.SIGKILL)
            wait_until(lambda: len(children(os.getpid(), "ServeReplica:ingot:ingress")) == 2, 30, "another ingress")
            time.sleep(2)
        finally:
            over.set()
            for thread in threads:
                thread.join(60)
        self.assertFalse(any(thread.is_alive() for thread in threads), "a request hangs")
        lost = [what for what, _, _ in seen if what != "answered"]
        figures["an ingress is killed"] = {"answered": len(seen) - len(lost), "lost": lost}
        self.assertLessEqual(len(lost), len(threads))
        self.assertEqual([what for what, _, at in seen if at > begin + 1 and what != "answered"], [])

    def test_a_stream_has_its_time_when_a_replica_ends(self):
        """An upgrade during a long stream: the stream ends complete, or after `drain` seconds with an error."""
        for drain, wanted in ((60, "answered"), (1, "error event")):
            with self.subTest(drain=drain):
                cluster.deploy({"m": model(drain=drain)})
                stream = self.streams(1, n=128)[0]
                upgrade = threading.Thread(target=cluster.deploy, args=({"m": model(drain=drain, options={**SERVE, "queue": 77 + drain})},))
                upgrade.start()
                try:
                    if drain > 1:  # otherwise the ending state is too short to be observed
                        wait_until(lambda: self.ending("model-m"), 30, "the replica ends")
                        self.assertFalse(stream.done(), "the stream is too short for this test")
                    self.assertEqual(stream.result(timeout=100), wanted)
                finally:
                    upgrade.join(120)
                self.assertFalse(upgrade.is_alive())

    @staticmethod
    def ending(deployment):
        return cluster.serve.status().applications["ingot"].deployments[deployment].replica_states.get("STOPPING")

    def test_a_server_that_says_nothing_is_replaced(self):
        """The server exists but hangs: health checks find that out, and its requests are answered by another."""
        cluster.deploy({"m": model(replicas=2)})
        frozen = self.servers()[0]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            os.kill(frozen, signal.SIGSTOP)
            begin = time.monotonic()
            done = [pool.submit(cluster.request, "POST", "/v1/chat/completions", chat(f"{number}")) for number in range(8)]
            self.assertEqual([one.result(timeout=100)[0] for one in done], [200] * 8)
        wait_until(lambda: frozen not in self.servers() and len(self.servers()) == 2, 60, "another server")
        figures["a server that says nothing is replaced after s"] = after = time.monotonic() - begin
        self.assertLess(after, 45)

    def test_requests_that_have_not_begun_are_answered(self):
        """All wait behind a long prompt's answer; none has begun when its replica is lost."""
        cluster.deploy({"m": model(replicas=2, options={**SERVE, "max-seqs": 1})})
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            body = {"model": "m", "max_tokens": 1500, "n": 30, "temperature": 1, "ignore_eos": True}
            done = [pool.submit(cluster.request, "POST", "/v1/completions", {**body, "prompt": f"abc {number}"}) for number in range(8)]
            time.sleep(0.5)
            os.kill(children(os.getpid(), str(INGOT))[0], signal.SIGKILL)
            answers = [one.result(timeout=100) for one in done]
        self.assertEqual([status for status, _, _ in answers], [200] * 8, answers)

    def test_an_upgrade_loses_nothing(self):
        cluster.deploy({"m": model(replicas=2)})
        left = iter(range(options.requests))
        wrong, lock, progress = [], threading.Lock(), [0]

        def client():
            connection = cluster.connect()
            while True:
                with lock:
                    number = next(left, None)
                if number is None:
                    return
                try:
                    connection.request("POST", "/v1/chat/completions", json.dumps(chat(f"hello {number}", max_tokens=4, stream=number % 2 == 0)),
                                       {"Content-Type": "application/json"})
                    answer = connection.getresponse()
                    data = answer.read()
                    if answer.status != 200 or (number % 2 == 0 and not data.endswith(b"data: [DONE]\n\n")):
                        wrong.append((number, answer.status, data[-300:]))
                except Exception as error:
                    wrong.append((number, repr(error)))
                    connection = cluster.connect()
                with lock:
                    progress[0] += 1

        threads = [threading.Thread(target=client) for _ in range(4)]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        upgrades = 0
        while any(thread.is_alive() for thread in threads):
            if progress[0] < 0.8 * options.requests:
                upgrades += 1
                cluster.deploy({"m": model(replicas=2, options={**SERVE, "queue": 100 + upgrades})})
            time.sleep(0.2)
        figures["upgrade"] = {"requests": options.requests, "errors": len(wrong), "upgrades": upgrades, "seconds": time.monotonic() - begin}
        self.assertEqual(wrong, [])
        self.assertGreater(upgrades, 0)


class PrefixTest(unittest.TestCase):
    def hits(self, router):
        """The number of prompt ids found in the caches of two replicas, and of all prompt ids: five-turn
        conversations, interleaved."""
        cluster.deploy({"m": model(router=router, replicas=2)})
        import random

        words = random.Random(1)
        talks = [[{"role": "system", "content": "".join(words.choices("abcdefgh ", k=500))}] for _ in range(12)]
        for turn in range(5):
            order = list(range(len(talks)))
            words.shuffle(order)
            for number in order:
                talks[number].append({"role": "user", "content": "".join(words.choices("abcdefgh ", k=100))})
                status, _, data = cluster.request("POST", "/v1/chat/completions", {"model": "m", "messages": talks[number], "max_tokens": 4, "temperature": 0})
                self.assertEqual(status, 200, data)
                talks[number].append({"role": "assistant", "content": json.loads(data)["choices"][0]["message"]["content"] or "-"})
        text = cluster.request("GET", "/metrics")[2].decode()
        return tuple(sum(map(float, re.findall(rf"^vllm:prefix_cache_{name}_total{{.*}} (\S+)$", text, re.M))) for name in ("hits", "queries"))

    def test_conversations_find_their_cache(self):
        shares = {}
        for router in ("prefix", "least"):
            hits, asked = self.hits(router)
            shares[router] = hits / asked
        figures["share of prompts found in caches, 2 replicas"] = shares
        self.assertGreater(shares["prefix"], 1.2 * shares["least"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2, warnings="ignore")

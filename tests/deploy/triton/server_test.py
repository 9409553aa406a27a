"""server_test.py TRITONSERVER BACKENDS ENGINE: tests the backend under the real Triton Inference Server.

TRITONSERVER is the server's program, BACKENDS the folder that holds ingot/libtriton_ingot.so, ENGINE any engine
with a tokenizer. Answers are compared with those of the Python package, which runs the same library without a
server. Only the server's HTTP interface is used, unless tritonclient[grpc] is installed: then one gRPC stream is
read and another cancelled."""
import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "python/src"))
sys.path.append(str(pathlib.Path(__file__).parents[2] / "e2e"))
import ingot  # noqa: E402
import signals  # noqa: E402

signals.default_in_children()

PROMPTS = ["Once upon a time", "The capital of France is", "def main():", "1 2 3"]


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Server:
    def __init__(self, program, backends, repository, models):
        self.http, self.grpc, self.metrics = free_ports(3)
        self.log = tempfile.TemporaryFile("w+")
        command = [program, f"--model-repository={repository}", f"--backend-directory={backends}",
                   "--model-control-mode=explicit", f"--http-port={self.http}", f"--grpc-port={self.grpc}",
                   f"--metrics-port={self.metrics}", "--http-address=127.0.0.1", "--grpc-address=127.0.0.1",
                   "--metrics-address=127.0.0.1", "--exit-timeout-secs=30", "--metrics-interval-ms=50"]
        command += [f"--load-model={name}" for name in models]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)
        for _ in range(600):
            if self.process.poll() is not None:
                sys.exit("the server ended:\n" + self.output())
            try:
                self.call("/v2/health/ready")
                return
            except OSError:
                time.sleep(0.1)
        sys.exit("the server is not ready in a minute:\n" + self.output())

    def output(self):
        self.log.seek(0)
        return self.log.read()

    def open(self, path, body=None, port=None):
        data = None if body is None else json.dumps(body).encode()
        return urllib.request.urlopen(f"http://127.0.0.1:{port or self.http}{path}", data, timeout=120)

    def call(self, path, body=None, port=None):
        with self.open(path, body, port) as answer:
            text = answer.read().decode()
        return text if port else json.loads(text) if text else None

    def error(self, path, body):
        try:
            return f"no error but {self.call(path, body)}"
        except urllib.error.HTTPError as error:
            return error.read().decode()

    def stream(self, model, body):
        with self.open(f"/v2/models/{model}/generate_stream", body) as answer:
            for line in answer:
                if line.startswith(b"data:"):
                    yield json.loads(line[5:])

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        assert code == 0, f"the server ended with {code}:\n{self.output()}"


def write_repository(folder, engine):
    models = {
        "plain": 'parameters { key: "threads" value { string_value: "1" } }',
        "whole": "model_transaction_policy { decoupled: false }",
        "rows": "max_batch_size: 8\ninstance_group [ { kind: KIND_CPU count: 2 } ]\n"
                "dynamic_batching { max_queue_delay_microseconds: 1000 }",
        "bad": 'parameters { key: "gpt_model_path" value { string_value: "/engines" } }',
        "sequences": "sequence_batching { }",
    }
    for name, config in models.items():
        (folder / name / "1").mkdir(parents=True)
        (folder / name / "1/model.ingot").symlink_to(engine)
        (folder / name / "config.pbtxt").write_text(f'backend: "ingot"\n{config}\n')
    return list(models)


def check_answers(server, expected, steps, long):
    for prompt, answer in expected.items():
        body = {"text_input": prompt, "max_tokens": 24}
        for model in ("plain", "whole", "rows"):
            assert server.call(f"/v2/models/{model}/generate", body)["text_output"] == answer, model
        pieces = list(server.stream("plain", body | {"stream": True}))
        assert "".join(piece["text_output"] for piece in pieces) == answer, pieces
        assert pieces[-1]["finish_reason"] in ("stop", "length"), pieces
        request = {"inputs": [{"name": "text_input", "datatype": "BYTES", "shape": [1], "data": [prompt]},
                              {"name": "max_tokens", "datatype": "INT32", "shape": [1], "data": [24]}],
                   "outputs": [{"name": "text_output"}]}
        assert server.call("/v2/models/whole/infer", request)["outputs"][0]["data"] == [answer]
    pieces = list(server.stream("plain", {"text_input": PROMPTS[0], "max_tokens": steps, "stream": True,
                                          "ignore_eos": True}))
    assert "".join(piece["text_output"] for piece in pieces) == long and len(pieces) > 1, len(pieces)
    print(f"{len(expected)} answers on three models, streamed and whole, are the library's; one of {steps} tokens came in "
          f"{len(pieces)} responses")


def check_many(server, expected):
    wrong = []

    def ask(number):
        prompt = list(expected)[number % len(expected)]
        got = server.call(f"/v2/models/{('plain', 'rows')[number % 2]}/generate",
                          {"text_input": prompt, "max_tokens": 24})["text_output"]
        if got != expected[prompt]:
            wrong.append(got)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(48)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong
    print("48 requests at once are answered alike")


def check_refusals(server):
    for model, number in (("bad", "E0960"), ("sequences", "E0964")):
        said = server.error(f"/v2/repository/models/{model}/load", {})
        assert number in said, said
    for body, number in (({"text_input": "a", "max_tokens": -7}, "E0953"), ({"max_tokens": 2}, "E0956"),
                         ({"text_input": "a", "temprature": 1.0}, "E0954"),
                         ({"text_input": "a", "top_p": 7.0}, "E0510")):
        said = server.error("/v2/models/plain/generate", body)
        assert number in said, said
    said = server.error("/v2/models/whole/generate", {"text_input": "a", "stream": True})
    assert "E0950" in said, said
    print("two models and five requests are refused, with the reason")


def check_statistics(server):
    [statistics] = server.call("/v2/models/plain/stats")["model_stats"]
    success = statistics["inference_stats"]["success"]
    assert success["count"] > 30 and statistics["inference_stats"]["fail"]["count"] >= 3, statistics
    assert statistics["execution_count"] > 30 and success["ns"] > 0, statistics
    for _ in range(100):
        page = server.call("/metrics", port=server.metrics)
        found = dict(re.findall(r'^(ingot_\w+)\{model="plain",version="1"\} (\S+)', page, re.M))
        if found.get("ingot_requests_running") == "0":
            break
        time.sleep(0.05)
    assert len(found) == 8 and float(found["ingot_new_tokens"]) > 100, page
    print(f"statistics count {success['count']} requests, metrics {found['ingot_new_tokens']} new tokens")


def check_unload(server, expected):
    prompt, answer = next(iter(expected.items()))
    body = {"text_input": prompt, "max_tokens": 24, "stream": True}
    streams = [server.stream("plain", body) for _ in range(8)]
    text = [next(stream)["text_output"] for stream in streams]
    server.call("/v2/repository/models/plain/unload", {})
    for number, stream in enumerate(streams):  # the server lets them finish
        text[number] += "".join(piece["text_output"] for piece in stream)
    assert text == [answer] * 8, text
    assert "no error" not in server.error("/v2/models/plain/generate", body)
    server.call("/v2/repository/models/plain/load", {})
    assert server.call("/v2/models/plain/generate", body | {"stream": False})["text_output"] == answer
    print("a model is unloaded under 8 streams, which end as they should, and loaded again")


def check_grpc(server, expected, steps):
    try:
        import numpy
        import tritonclient.grpc as grpc
    except ImportError:
        print("no tritonclient: neither gRPC nor its cancelling is looked at")
        return

    def tensor(name, kind, value):
        array = numpy.array([value], dtype=object if kind == "BYTES" else {"INT32": "int32", "BOOL": "bool"}[kind])
        made = grpc.InferInput(name, [1], kind)
        made.set_data_from_numpy(array)
        return made

    def start(client, prompt, count, got):
        client.start_stream(callback=lambda result, error: got.append(error or result))
        client.async_stream_infer("plain", [tensor("text_input", "BYTES", prompt.encode()),
                                            tensor("max_tokens", "INT32", count), tensor("stream", "BOOL", True),
                                            tensor("ignore_eos", "BOOL", count > 24)],
                                  outputs=[grpc.InferRequestedOutput("text_output")])

    prompt, answer = next(iter(expected.items()))
    got = []
    with grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}") as client:
        start(client, prompt, 24, got)
        client.stop_stream()
    pieces = [piece.as_numpy("text_output")[0].decode() for piece in got]
    assert "".join(pieces) == answer, pieces
    final = got[-1].get_response().parameters["triton_final_response"].bool_param
    assert final, "the last response is the final one"

    with grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}") as client:
        failures = server.call("/v2/models/plain/stats")["model_stats"][0]["inference_stats"]["fail"]["count"]
        got = []
        start(client, prompt, steps, got)
        while not got:
            time.sleep(0.001)
        client.stop_stream(cancel_requests=True)
        for _ in range(200):
            now = server.call("/v2/models/plain/stats")["model_stats"][0]["inference_stats"]["fail"]["count"]
            if now > failures:
                break
            time.sleep(0.05)
        assert now == failures + 1, "a cancelled request is no failed one"
        assert len(got) < steps, len(got)
    print(f"gRPC streams {len(pieces)} responses; another stream was cancelled after {len(got)} of {steps}")


def main():
    program, backends, engine = (pathlib.Path(one).resolve() for one in sys.argv[1:])
    ingot.load_library(str(backends / "ingot/libingot.so.0"))
    with ingot.Engine(str(engine), threads=1) as alone:
        expected = {prompt: alone.generate(prompt, max_tokens=24).text for prompt in PROMPTS}
        steps = min(alone.model.context, 2000) - 100
        long = alone.generate(PROMPTS[0], max_tokens=steps, ignore_eos=True).text
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        write_repository(folder, engine)
        server = Server(program, backends, folder, ["plain", "whole", "rows"])
        try:
            check_answers(server, expected, steps, long)
            check_many(server, expected)
            check_refusals(server)
            check_statistics(server)
            check_unload(server, expected)
            check_grpc(server, expected, steps)
        except BaseException:
            print(server.output()[-4000:], file=sys.stderr)
            server.process.kill()
            raise
        server.end()
        print("and the server ended in peace")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

"""Stands in for the bundle's programs in scripts_test.py: prints their output at once. Its name selects the program.

STUB_FAULTS, a comma-separated list: hang:WORD (a line, then nothing for ever) and die:WORD (a line, then a
signal) apply to commands that contain WORD; with ids the answers of the trace differ.
"""
import http.server
import json
import os
import signal
import sys
import time

program, words = os.path.basename(sys.argv[0]), sys.argv[1:]
faults = [fault.split(":") for fault in os.environ.get("STUB_FAULTS", "").split(",") if fault]


def put(**fields):
    print(json.dumps(fields), flush=True)


def value(name, default=None):
    return words[words.index(name) + 1] if name in words else default


def numbers(name):
    return [int(number) for number in value(name, "").split(",") if number]


class Server(http.server.BaseHTTPRequestHandler):
    def answer(self, text):
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        self.answer(
            'ingot:steps_total{model_name="m"} 5\nvllm:time_to_first_token_seconds_sum{} 1.5\n'
            'vllm:time_to_first_token_seconds_count{} 3\n'
            if self.path == "/metrics" else "{}")

    def do_POST(self):
        self.answer('{"usage":{"completion_tokens":4}}')

    def log_message(self, *_):
        pass


def bench():
    depth = numbers("--depth") or [0]
    for prompt in numbers("-p"):
        if prompt:
            put(test=f"pp{prompt}", prompt=prompt, new=0, depth=depth[0], sequences=1, tokens_per_s=25000.0)
    for new in numbers("-n"):
        for batch in numbers("--batch") or [1]:
            put(test=f"tg{new} @ b{batch}",
                prompt=0,
                new=new,
                depth=depth[0],
                sequences=batch,
                tokens_per_s=250.0 * batch)


def kernels():
    put(engine=words[1], device="a stub")
    for tokens in numbers("--tokens"):
        for name in ("projections_0", "attention_0", "residual_0", "gate_up_0", "residual_1", "linear_0"):
            for context in numbers("--context") if name == "attention_0" else [None]:
                for edges in ("programmatic", "full"):
                    put(kernel=name,
                        variant=name + "_t8",
                        tokens=tokens,
                        context=context,
                        edges=edges,
                        launches=1 if name == "linear_0" else 32,
                        us=10.0 if edges == "programmatic" else 12.0,
                        bytes=10,
                        gb_s=3000.0,
                        flops=10,
                        tflops=300.0,
                        bound_us=5.0,
                        of_bound=0.5)
        put(
            step={
                "tokens": tokens, "context": 128, "edges": "programmatic", "without": None, "us_step_graph": 2000.0,
                "us_sum_of_kernels": 1610.0, "host_us": 9.0
            })
        put(
            step={
                "tokens": tokens, "context": 128, "edges": "programmatic", "without": "gate_up_0",
                "us_step_graph": 1600.0, "us_sum_of_kernels": None, "host_us": None
            })


def main():
    if "--version" in words:
        return print("ingot stub")
    for kind, word in (fault for fault in faults if len(fault) == 2):
        if any(word in given for given in (program, *words)):
            put(symbol="first", ok=True, equal=True, process=os.getpid())
            if kind == "hang":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(1000)
            os.kill(os.getpid(), signal.SIGSEGV)
    if program == "replay-launches":
        put(symbol="good", test="T", ok=True, equal=True)
        put(symbol="bad", test="T", ok=False, equal=False, memory="y", worst=0.5, limit=0.001)
        put(summary={"launches": 2, "bit_equal": 1, "failed": 1, "lost_symbols": 0})
        return 1
    if program == "check-kernels":
        return put(kernel="residual_0", variant="residual_0_t8", tokens=7, context=0, worst=1e-6, limit=2e-5, ok=True)
    if words[0] == "score":
        return put(nll=[1.0, 2.0] if "cpu" in words else [1.0, 2.25], perplexity=3.0)
    if words[0] == "run":
        moved = "ids" in sum(faults, []) and "--trace" in words
        with open(value("--prompts-file")) as file:
            for _ in file:
                put(prompt_ids=[1], ids=[7, 8, 10 if moved else 9], text="", timings={"load_ms": 800.0})
        return 0
    if words[0] == "serve":
        http.server.ThreadingHTTPServer(("127.0.0.1", int(value("--port"))), Server).serve_forever()
    if words[0] == "bench-serve":
        with open(value("--prompts")) as file:
            prompts = [json.loads(line) for line in file]
        return put(completed=len(prompts), failed=0, output_throughput=7000.0, p50_e2el_ms=3000.0)
    return {"bench": bench, "bench-kernels": kernels}[words[0]]()


sys.exit(main())

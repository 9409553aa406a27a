"""check_serve_observed.py INGOT ENGINE DASHBOARD STEM: checks all logs, metrics and traces
of one run of `ingot serve`."""
import collections
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "e2e"))
import signals  # noqa: E402

signals.default_in_children()
ingot, engine, dashboard, stem = sys.argv[1:]
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
log_file, trace_file, result = stem + ".log", stem + ".trace.json", stem + ".result.json"
for path in (log_file, log_file + ".1", trace_file):
    if os.path.exists(path):
        os.remove(path)


class Collector(http.server.BaseHTTPRequestHandler):
    """Rejects the first batch, like a collector that has just started."""
    posts = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Collector.posts.append(json.loads(body))
        self.send_response(503 if len(Collector.posts) == 1 else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=collector.serve_forever, daemon=True).start()
server = subprocess.Popen(
    [ingot, "serve", engine, "--port", "0", "--model-name", "m", "--log", "json", "--log-file", log_file, "--trace", trace_file,
     "--otlp", f"http://127.0.0.1:{collector.server_port}", "--kv-memory", "64M"], stderr=subprocess.PIPE, text=True)
port = None
for line in server.stderr:
    if found := re.match(r"serving on http://127\.0\.0\.1:(\d+)", line):
        port = int(found.group(1))
        break
assert port, "the server did not start"
threading.Thread(target=server.stderr.read, daemon=True).start()


def ask(method, path, body=None, headers=()):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body and json.dumps(body), dict(headers))
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def lines(path=log_file):
    """Returns the complete lines: the server may be writing the last one."""
    with open(path) as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


def soon(what, why):
    for _ in range(300):
        if value := what():
            return value
        time.sleep(0.05)
    raise AssertionError(why)


def by_id(request):
    return soon(lambda: next((l for l in lines() if l.get("id") == request), None), f"no line for {request}")


def requests_and_log():
    prompt = "a secret that must not be told"
    body = {"model": "m", "prompt": prompt, "max_tokens": 4, "ignore_eos": True}
    answer, text = ask("POST", "/v1/completions", body, {"X-Request-Id": "plain-1", "traceparent": f"00-{TRACE}-{PARENT}-01"}.items())
    assert answer.status == 200, text
    assert re.fullmatch(f"00-{TRACE}-[0-9a-f]{{16}}-01", answer.getheader("traceparent")), answer.getheaders()
    line = by_id("plain-1")
    usage = json.loads(text)["usage"]
    expected = {"event": "request", "method": "POST", "route": "/v1/completions", "status": 200, "client": "127.0.0.1", "model": "m",
                "stream": False, "prompt_tokens": usage["prompt_tokens"], "cached_tokens": 0, "new_tokens": 4,
                "finish_reason": "length", "trace_id": TRACE}
    assert {k: line.get(k) for k in expected} == expected, line
    assert 0 <= line["queue_ms"] <= line["ttft_ms"] <= line["total_ms"], line
    answer, text = ask("POST", "/v1/completions", {**body, "stream": True, "n": 2, "max_tokens": 3}, {"X-Request-Id": "stream-1"}.items())
    assert by_id("stream-1")["new_tokens"] == 6 and by_id("stream-1")["stream"] is True
    ask("POST", "/v1/completions", {**body, "max_tokens": 10 ** 6}, {"X-Request-Id": "bad-1"}.items())
    assert by_id("bad-1")["status"] == 400 and by_id("bad-1")["error"] == "E0505", by_id("bad-1")
    ask("GET", "/%0Afake%1B[2J", None, {"X-Request-Id": "other-1"}.items())
    if any(l.get("id") == "other-1" for l in lines()):  # the transport may have rejected it
        assert by_id("other-1")["route"] == "other"
    answer, _ = ask("GET", "/v1/models", None, {"traceparent": f"00-{TRACE}-{PARENT}-00", "X-Request-Id": "unsampled"}.items())
    assert answer.getheader("traceparent").endswith("-00")
    ask("GET", "/nowhere")
    answer, _ = ask("GET", "/v1/models", None, {"Host": "evil.example"}.items())
    assert answer.status == 403
    line = soon(lambda: next((l for l in lines() if l.get("route") == "none" and l["status"] == 403), None), "no line of what the transport refused")
    assert line["client"] == "127.0.0.1" and line["error"] and "method" not in line, line
    gone = socket.create_connection(("127.0.0.1", port))
    text = json.dumps({**body, "max_tokens": 200, "stream": True})
    gone.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: gone-1\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
    gone.recv(10)
    gone.close()
    line = by_id("gone-1")
    assert line["new_tokens"] == 200 or (line["client_left"] and line["finish_reason"] == "cancelled"), line
    with open(log_file) as f:
        assert prompt not in f.read()


def reload_and_reopen():
    os.rename(log_file, log_file + ".1")
    server.send_signal(signal.SIGHUP)
    soon(lambda: os.path.exists(log_file) and any(l["event"] == "reload" for l in lines()), "no word of the reload")


def load():
    done = subprocess.run([ingot, "bench-serve", f"http://127.0.0.1:{port}/v1", "--users", "4", "--requests", "12", "--prompt-tokens", "24",
                           "--output-tokens", "8", "--ignore-eos", "--route", "completions", "--json", result], capture_output=True, text=True)
    assert done.returncode == 0 and "Mean TTFT (ms):" in done.stdout, done
    with open(result) as f:
        r = json.load(f)
    assert r["completed"] == 12 and r["total_output_tokens"] == 96, r
    assert abs(r["total_input_tokens"] - 12 * 24) <= 12 * 8, r["total_input_tokens"]


def metrics_and_dashboard():
    _, text = ask("GET", "/metrics")
    values = collections.defaultdict(float)
    for line in text.splitlines():
        if not line.startswith("#"):
            name, value = re.fullmatch(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{[^\n]*\})? (\S+)", line).groups()
            values[name] += float(value)
    for name in ("vllm:request_queue_time_seconds_count", "vllm:request_prefill_time_seconds_count",
                 "vllm:request_decode_time_seconds_count", "vllm:request_inference_time_seconds_count",
                 "vllm:request_time_per_output_token_seconds_count"):
        assert values[name] >= 12, f"{name} {values[name]}"
    assert values["vllm:request_queue_time_seconds_sum"] + values["vllm:request_prefill_time_seconds_sum"] <= \
        values["vllm:e2e_request_latency_seconds_sum"]
    for name in ("process_open_fds", "process_resident_memory_bytes", "process_start_time_seconds", "ingot:connections_total",
                 "vllm:cache_config_info", "ingot:build_info"):
        assert values[name] > 0, name
    assert re.search(r'^http_requests_total\{route="other",status="404"\} [12]$', text, re.M), text
    assert re.search(r'^http_requests_total\{route="none",status="403"\} 1$', text, re.M), text
    assert re.search(r'^http_requests_total\{route="/v1/completions",status="400"\} 1$', text, re.M), text
    assert "nowhere" not in text and "fake" not in text

    with open(dashboard) as f:
        board = json.load(f)
    queries = [t["expr"] for p in board["panels"] for t in p.get("targets", [])]
    queries += [v["query"]["query"] for v in board["templating"]["list"] if v["type"] == "query"]
    assert len(queries) > 30
    for query in queries:
        bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|by \([^)]*\)|label_values\((\S+),.*", r"\1", query)
        for name in re.findall(r"[a-zA-Z_][a-zA-Z0-9_:]*(?!\w)", bare):
            if name not in ("histogram_quantile", "sum", "rate", "increase", "max", "label_values"):
                assert name in values, f"the dashboard asks for {name}, which is not at /metrics: {query}"


def traces():
    def spans():
        return [s for post in Collector.posts[1:] for s in post["resourceSpans"][0]["scopeSpans"][0]["spans"]]

    def attributes(span):
        return {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}

    server_spans = soon(lambda: [s for s in spans() if s["kind"] == 2 and attributes(s).get("ingot.request.id") == "plain-1"],
                        f"no span in {len(Collector.posts)} posts")
    assert len(server_spans) == 1, "sent again after 503, taken once"
    root = server_spans[0]
    assert (root["traceId"], root["parentSpanId"], root["name"]) == (TRACE, PARENT, "text_completion m")
    assert attributes(root)["gen_ai.usage.output_tokens"] == "4" and attributes(root)["http.response.status_code"] == "200"
    children = [s for s in spans() if s.get("parentSpanId") == root["spanId"]]
    assert sorted(s["name"] for s in children) == ["decode", "prefill", "queue"]
    for child in children:
        assert root["startTimeUnixNano"] <= child["startTimeUnixNano"] <= child["endTimeUnixNano"] <= root["endTimeUnixNano"]
    assert not [s for s in spans() if "unsampled" in json.dumps(s)]


try:
    requests_and_log()
    reload_and_reopen()
    load()
    metrics_and_dashboard()
    traces()
    server.send_signal(signal.SIGTERM)
    assert server.wait(30) == 0
finally:
    server.kill()
    collector.shutdown()
assert lines()[-1]["event"] == "stop" and lines(log_file + ".1")[0]["event"] == "start"
with open(trace_file) as f:
    trace = json.load(f)
assert sum(e.get("ph") == "X" for e in trace["traceEvents"]) > 100

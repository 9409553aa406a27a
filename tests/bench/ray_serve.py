"""Ingot behind Ray Serve compared with plain `ingot serve`, on one machine (docs/ray.md).

  ray_serve.py --ingot PROGRAM --engine SMOLLM2 --tiny ENGINE --work FOLDER [--only kinds|overhead|limits|replicas|prefix] [--report FILE]

kinds: the processor time of both kinds of replicas, without Ray; other work on the machine does not matter. overhead:
one client, answers of 1 and of 64 tokens: the added time per request and per token. limits: the engine of
write-test-engine, whose steps take microseconds, so that only the path of requests is measured: requests and tokens per
second. replicas: two with one thread each compared with one with two. prefix: conversations with two replicas, routed
by prefix and by load. Each takes a minute or two; run them by themselves. Needs tests/ray/requirements.txt.
"""
import argparse
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "ray"))
from cluster import Cluster, Direct, request  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--ingot", required=True, type=pathlib.Path)
parser.add_argument("--engine", required=True, type=pathlib.Path)
parser.add_argument("--tiny", required=True, type=pathlib.Path)
parser.add_argument("--work", required=True, type=pathlib.Path)
parser.add_argument("--only", action="append", choices=["kinds", "overhead", "limits", "replicas", "prefix"])
parser.add_argument("--rounds", type=int, default=2)
parser.add_argument("--report", type=pathlib.Path)
options = parser.parse_args()
KINDS = ("alone", "process", "inside")
seeds = iter(range(1, 10**6))


def load(port, **given):
    """`ingot bench-serve`: its figures."""
    file = options.work / "load.json"
    words = [str(word) for name, value in {"prompt_tokens": 16, "temperature": 0, "percentiles": "50", "seed": next(seeds), **given}.items()
             for word in (f"--{name.replace('_', '-')}", value)]
    done = subprocess.run([str(options.ingot), "bench-serve", f"http://127.0.0.1:{port}", *words, "--ignore-eos", "--quiet", "--details", "--json", str(file)],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    figures = json.loads(file.read_text())
    if figures["failed"]:
        raise RuntimeError(f"{figures['failed']} requests failed: {figures['errors'][:2]}")
    return figures


def kinds():
    """Milliseconds of processor time per request and per token: of the replica's process, and of its `ingot serve`. The
    engine is tiny, so its own share is small, and equal for both kinds."""
    import asyncio
    import os
    import resource

    from ingot.ray._replica import EngineReplica

    end, EngineReplica.__del__ = EngineReplica.__del__, lambda self: None  # Ray itself calls it
    ticks = os.sysconf("SC_CLK_TCK")

    def spent(child):
        own = resource.getrusage(resource.RUSAGE_SELF)
        beside = 0.0
        if child:
            fields = pathlib.Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()
            beside = (int(fields[11]) + int(fields[12])) / ticks
        return own.ru_utime + own.ru_stime + beside

    async def measured(kind):
        replica = EngineReplica.__new__(EngineReplica)
        await replica.__init__({"name": "m", "engine": str(options.tiny), "kind": kind, "program": str(options.ingot),
                                "options": {"threads": 1, "max-seqs": 8, "context": 2048, "kv-memory": "64M", "swap": "64M"}})
        child = replica._upstream._process.pid if kind == "process" else 0

        async def ask(tokens, stream):
            body = json.dumps({"prompt": "abc", "max_tokens": tokens, "ignore_eos": True, "temperature": 0, "stream": stream}).encode()
            return [item async for item in replica.answer("POST", "/v1/completions", [("content-type", "application/json")], body)]

        async def many(count, tokens, stream):
            begin = spent(child)
            for _ in range(count // 4):
                await asyncio.gather(*(ask(tokens, stream) for _ in range(4)))
            return 1000 * (spent(child) - begin)

        await many(40, 1, False)
        whole = await many(400, 1, False) / 400
        short, long = await many(40, 1, True), await many(40, 501, True)
        await end(replica)
        return {"request_ms": whole, "token_ms": (long - short) / 40 / 500}

    async def paced(kind):
        """Processor time per token if tokens arrive slowly, only of the thread that passes them on."""
        replica = EngineReplica.__new__(EngineReplica)
        await replica.__init__({"name": "m", "engine": str(options.engine), "kind": kind, "program": str(options.ingot),
                                "options": {"threads": 1, "max-seqs": 4, "context": 512}})
        own = threading.get_native_id()

        def spent():
            return int(pathlib.Path(f"/proc/self/task/{own}/schedstat").read_text().split()[0]) / 1e6

        async def ask(tokens):
            body = json.dumps({"prompt": "The capital", "max_tokens": tokens, "ignore_eos": True, "temperature": 0, "stream": True}).encode()
            async for _ in replica.answer("POST", "/v1/completions", [("content-type", "application/json")], body):
                pass

        await ask(2)
        begin = spent()
        await asyncio.gather(*(ask(1) for _ in range(4)))
        middle = spent()
        await asyncio.gather(*(ask(49) for _ in range(4)))
        out = (spent() - middle - (middle - begin)) / (4 * 48)
        await end(replica)
        return out

    out = {}
    for kind in KINDS[1:] * options.rounds:
        out.setdefault(kind, {}).setdefault("paced_token_ms", []).append(asyncio.run(paced(kind)))
        for name, value in asyncio.run(measured(kind)).items():
            out.setdefault(kind, {}).setdefault(name, []).append(value)
    return {kind: {name: statistics.median(values) for name, values in figures.items()} for kind, figures in out.items()}


def each_kind(cluster, engine, serve, measured):
    """{kind: measured(port)}, with only that kind's server running, so that no other uses its cores."""
    out = {}
    for kind in KINDS:
        if kind == "alone":
            cluster.remove()
            with Direct(options.ingot, engine, *[word for name, value in serve.items() for word in (f"--{name}", value)]) as server:
                out[kind] = measured(server.port)
        else:
            cluster.deploy({"m": {"engine": str(engine), "program": str(options.ingot), "kind": kind, "options": serve, "num_cpus": 0.1}})
            out[kind] = measured(cluster.port)
    return out


def overhead(cluster):
    def measured(port):
        load(port, users=1, requests=5, output_tokens=2)
        one = load(port, users=1, requests=40, output_tokens=1)
        many = load(port, users=1, requests=10, output_tokens=64)
        e2e = [1000 * statistics.median(figures["latencies"]) for figures in (one, many)]
        return {"request_ms": e2e[0], "token_ms": (e2e[1] - e2e[0]) / 63, "ttft_ms": many["p50_ttft_ms"], "itl_ms": many["p50_itl_ms"]}

    rounds = [each_kind(cluster, options.engine, {"threads": 1, "context": 512}, measured) for _ in range(options.rounds)]
    out = {kind: {name: statistics.median(one[kind][name] for one in rounds) for name in rounds[0][kind]} for kind in KINDS}
    for kind in KINDS[1:]:
        out[kind]["more_a_request_ms"] = out[kind]["request_ms"] - out["alone"]["request_ms"]
        out[kind]["more_a_token_ms"] = out[kind]["token_ms"] - out["alone"]["token_ms"]
    return out


def limits(cluster):
    def measured(port):
        load(port, users=4, requests=20, output_tokens=2)
        short = load(port, users=8, requests=400, output_tokens=1)
        long = load(port, users=8, requests=40, output_tokens=256)
        return {"requests_per_s": short["request_throughput"], "tokens_per_s": long["output_throughput"]}

    return each_kind(cluster, options.tiny, {"threads": 1, "context": 512}, measured)


def replicas(cluster):
    """Tokens per second of 16 clients, alternating between the two deployments."""
    rounds = {"one of two threads": [], "two of one thread": []}
    for turn in range(options.rounds):
        for name in (list(rounds) if turn % 2 == 0 else list(rounds)[::-1]):
            count, threads = (1, 2) if name.startswith("one") else (2, 1)
            cluster.deploy({"m": {"engine": str(options.engine), "program": str(options.ingot), "replicas": count, "num_cpus": 0.1,
                                  "options": {"threads": threads, "context": 512}}})
            load(cluster.port, users=4, requests=8, output_tokens=8)
            rounds[name].append(load(cluster.port, users=16, requests=48, prompt_tokens=64, output_tokens=64)["output_throughput"])
    out = {name: statistics.median(figures) for name, figures in rounds.items()}
    return {**out, "ratio": out["two of one thread"] / out["one of two threads"], "rounds": rounds}


def prefix(cluster):
    """Conversations of four turns, each after a long system prompt, from four clients: eight whose pages fit both
    replicas, and twenty of which each replica can cache three fifths."""
    def measured(count):
        words = random.Random(7)
        vocabulary = "the a of machine compiler kernel graph token cache page model weight layer route server client".split()

        def text(count):
            return " ".join(words.choices(vocabulary, k=count))

        talks = [[{"role": "system", "content": text(200)}] for _ in range(count)]
        todo = [number for _ in range(4) for number in words.sample(range(count), count)]
        questions = {(number, turn): text(20) for number in range(count) for turn in range(4)}
        first, lock, turns = [], threading.Lock(), [0] * count
        busy = set()

        def client():
            while True:
                with lock:
                    number = next((one for one in todo if one not in busy), None)
                    if number is None:
                        if not todo:
                            return
                    else:
                        todo.remove(number)
                        busy.add(number)
                        talks[number].append({"role": "user", "content": questions[number, turns[number]]})
                        turns[number] += 1
                if number is None:
                    time.sleep(0.01)
                    continue
                begin = time.monotonic()
                status, _, data = request(cluster.port, "POST", "/v1/chat/completions",
                                          {"model": "m", "messages": talks[number], "max_tokens": 8, "temperature": 0})
                if status != 200:
                    raise RuntimeError(data)
                with lock:
                    first.append(time.monotonic() - begin)
                    talks[number].append({"role": "assistant", "content": json.loads(data)["choices"][0]["message"]["content"]})
                    busy.discard(number)

        threads = [threading.Thread(target=client) for _ in range(4)]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.monotonic() - begin
        told = request(cluster.port, "GET", "/metrics")[2].decode()
        hits, asked = (sum(map(float, re.findall(rf"^vllm:prefix_cache_{name}_total{{.*}} (\S+)$", told, re.M))) for name in ("hits", "queries"))
        return {"share_of_prompts_cached": hits / asked, "hits": hits, "answer_p50_s": statistics.median(first), "seconds": seconds}

    out = {}
    for room, count, memory in (("ample", 8, "600M"), ("tight", 20, "100M")):
        out[room] = {}
        for router in ("prefix", "least"):
            cluster.remove()
            cluster.deploy({"m": {"engine": str(options.engine), "program": str(options.ingot), "replicas": 2, "num_cpus": 0.1, "router": router,
                                  "options": {"threads": 1, "context": 2048, "kv-memory": memory, "swap": "0"}}})
            out[room][router] = measured(count)
        out[room]["times_the_hits"] = out[room]["prefix"]["hits"] / max(out[room]["least"]["hits"], 1)
    return out


def main():
    options.work.mkdir(parents=True, exist_ok=True)
    out = json.loads(options.report.read_text()) if options.report and options.report.exists() else {}
    wanted = options.only or ["kinds", "overhead", "limits", "replicas", "prefix"]
    if "kinds" in wanted:
        out["kinds"] = kinds()
        print(json.dumps({"kinds": out["kinds"]}, indent=1), flush=True)
        if options.report:
            options.report.write_text(json.dumps(out, indent=1) + "\n")
    if wanted == ["kinds"]:
        return
    with Cluster(options.work / "ray") as cluster:
        for name in [one for one in wanted if one != "kinds"]:
            out[name] = {"overhead": overhead, "limits": limits, "replicas": replicas, "prefix": prefix}[name](cluster)
            print(json.dumps({name: out[name]}, indent=1), flush=True)
            if options.report:
                options.report.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""256 streams against a server under TSan, 64 of which disconnect, while it is scraped and
its engine is swapped.

  race.py --ingot build/tsan/bin/ingot --engine tiny.ingot --work build/soak [--minutes 5]

The engine is the runtime tests' (build/tsan/bin/write-test-engine PATH). Its steps take microseconds, so the code
that runs is mostly the server, the scheduler and everything between. Answers are checked too: streams that stay get the
answer that each got when run by itself. Every engine serves for some seconds before the next one replaces it. Every
third engine, and the last, is inspected with all clients idle: it must hold no page. The Rust parts (tokenizer,
grammars), OpenSSL and the engine's kernels are not instrumented; tsan.supp says what that hides.
"""
import argparse
import json
import os
import pathlib
import random
import signal
import sys
import threading
import time

from server import Server, Stream
from suite import Ingot

STREAMS, LEAVERS, PROMPTS = 256, 64, 48
SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "properties": {"a": {"type": "boolean"}},
                                                                        "required": ["a"], "additionalProperties": False}}}


def asked(i):
    """The i-th of the requests with known answers: (path, prompt, fields)."""
    source = random.Random(i)
    text = "".join(source.choice("abcdefgh ") for _ in range(source.randint(4, 60)))
    fields = {"max_tokens": source.randint(8, 48)}
    if i % 16 == 5:
        fields.update(use_beam_search=True, beam_width=3)
    elif i % 16 == 11:
        fields.update(penalty_alpha=0.6, top_k=4)
    elif i % 8 == 0:
        fields["response_format"] = SCHEMA
    elif i % 3 == 0:
        fields.update(temperature=0.8, seed=i)
    return ("/v1/chat/completions" if i % 2 else "/v1/completions"), text, fields


def one(server, i):
    path, text, fields = asked(i)
    stream = Stream(server, text, path, **fields)
    return stream.text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ingot", required=True, type=pathlib.Path)
    parser.add_argument("--engine", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=5)
    options = parser.parse_args()
    work = options.work.resolve() / "race"
    ingot = Ingot(options.ingot.resolve(), work)
    reports = work / "tsan"
    for old in work.glob("tsan.*"):
        old.unlink()
    os.environ["TSAN_OPTIONS"] = f"log_path={reports}:exitcode=66:second_deadlock_stack=1:suppressions={pathlib.Path(__file__).parent / 'tsan.supp'}"
    counts = {"exact": 0, "left": 0, "scrapes": 0, "swaps": 0}
    wrong, lock, over = [], threading.Lock(), threading.Event()
    turn, busy, resting = threading.Condition(), set(), threading.Event()  # the condition protects the other two

    def count(what, problem=None):
        with lock:
            counts[what] = counts.get(what, 0) + 1
            if problem:
                wrong.append(problem)

    def client(server, number, expected):
        source = random.Random(number)
        leaves = number < LEAVERS
        while not over.is_set():
            i = source.randrange(PROMPTS)
            with turn:
                turn.wait_for(lambda: not resting.is_set())
                busy.add(number)
            try:
                if leaves:
                    path, text, fields = asked(i)
                    stream = Stream(server, text, path, **{**fields, "max_tokens": 900, "ignore_eos": True})
                    time.sleep(source.uniform(0, 0.5))
                    stream.leave()
                    count("left")
                elif (text := one(server, i)) == expected[i]:
                    count("exact")
                else:
                    count("errors", f"answer {i} differs: {text!r}, alone {expected[i]!r}")
            except Exception as error:
                count("errors", f"{type(error).__name__}: {error}")
            with turn:
                busy.remove(number)
                turn.notify_all()

    def look(server):
        """Waits until no client has a request in progress; returns the pages that are in use then."""
        with turn:
            resting.set()
            assert turn.wait_for(lambda: not busy, 300), f"{len(busy)} clients do not end: a hang"
        server.idle(60)
        used = server.metric("ingot:kv_pages_used")
        count("rests", f"{used} pages are in use at rest" if used else None)
        with turn:
            resting.clear()
            turn.notify_all()
        return used

    def scraper(server):
        while not over.is_set():
            for path in ("/metrics", "/live.json", "/health"):
                try:
                    status = server.get(path)[0]
                except OSError as error:
                    status = error
                count("scrapes" if status == 200 else "errors", None if status == 200 else f"{path}: {status}")
            time.sleep(0.2)

    with Server(ingot, options.engine.resolve(), "--max-seqs", 32, "--queue", 512, "--kv-memory", "2M", "--swap", "8M", "--log", "json", "--log-file", work / "requests.log") as server:
        server.patience = 900  # the machine may be suspended for some minutes, which is not an error here
        expected = [one(server, i) for i in range(PROMPTS)]
        threads = [threading.Thread(target=client, args=(server, i, expected), daemon=True) for i in range(STREAMS)]
        threads += [threading.Thread(target=scraper, args=(server,), daemon=True)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + options.minutes * 60
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(5, left))
            if left < 10:  # so that the last engine has served for a while before it is inspected
                continue
            if counts["swaps"] % 3 == 2:
                look(server)  # then under load again before the swap
                time.sleep(1)
            server.process.send_signal(signal.SIGHUP)
            counts["swaps"] += 1
        used = look(server)
        over.set()
        for thread in threads:
            thread.join(300)
            assert not thread.is_alive(), "a client does not end: a hang"
        server.idle(60)
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(120)
    found = sorted(work.glob("tsan.*"))
    print(json.dumps({**counts, "exit_code": code, "reports": len(found), "kv_pages_used": used}))
    for line in wrong[:10]:
        print("    " + line[:500])
    for path in found:
        print(path.read_text()[:6000])
    return 1 if wrong or found or code or used else 0


if __name__ == "__main__":
    sys.exit(main())

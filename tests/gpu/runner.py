"""Runs parts with time limits and writes their results, line by line, into one file.

A device that hangs or dies must not lose the figures before it: every object is flushed as its line, every command is a
separate process (and process group) with a limit, and a part that fails, hangs or exceeds the budget is recorded in a
line while the rest goes on.

    {"part": "bench", "command": "8b tg", "line": {...}}                what a program printed, as it printed it
    {"part": "bench", "command": "8b tg", "end": "timeout", …}          how it ended: done, failed, timeout, skipped
    {"part": "bench", "end": "done", "seconds": 97}                     how a part ended
"""
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from dataclasses import dataclass, field
from typing import Callable

DYING = (
    2, 5)  # seconds to end after SIGTERM and after SIGKILL; a hanging device may hold a process longer than that
TAIL = 1500  # characters of a failed command's output that are kept


class Unable(Exception):
    """Raised by a part for which this machine or bundle has nothing to run, with the reason."""


@dataclass(frozen=True)
class Part:
    name: str
    limit: float  # seconds
    work: Callable  # takes the Runner
    least: float = 5  # minimum seconds left to start it


@dataclass
class Ended:
    """A finished command. `lines` are the JSON objects that it printed, `text` the end of its other output."""
    end: str
    seconds: float = 0
    exit: int = None
    lines: list = field(default_factory=list)
    text: str = ""
    error: str = ""

    def __bool__(self):
        return self.end == "done"


def read_lines(stream, lines):
    for line in stream:
        lines.put(line)
    lines.put(None)


class Runner:
    def __init__(self, file, budget, environment=None, patience=1.0):
        """`patience` multiplies every limit but the budget."""
        self.file, self.begin, self.environment, self.patience = file, time.monotonic(), environment, patience
        self.over = self.begin + budget
        self.part, self.until, self.child, self.failures = None, self.over, None, 0
        signal.signal(signal.SIGTERM, self.stopped)

    def stopped(self, *_):
        self.write(part=self.part, end="failed", why="the run was ended from outside")
        self.kill()
        sys.exit(143)

    def write(self, **fields):
        if self.part and "part" not in fields:
            fields = {"part": self.part, **fields}
        self.file.write(json.dumps(fields) + "\n")
        self.file.flush()

    def say(self, text):
        print(f"{time.monotonic() - self.begin:6.1f} s  {text}", file=sys.stderr, flush=True)

    def left(self):
        """Seconds left of the part, or of the run between parts."""
        return min(self.until, self.over) - time.monotonic()

    # ------------------------------------------------------------ parts

    def run(self, part):
        start = time.monotonic()
        self.part, self.until = part.name, self.over
        end, why, failures = "done", "", self.failures
        if self.left() < part.least:
            end, why = "skipped", f"{max(self.left(), 0):.0f} s of the budget are left, it wants {part.least:.0f}"
        else:
            self.until = start + self.patience * part.limit
            self.say(f"== {part.name}, at most {self.left():.0f} s")
            try:
                part.work(self)
                if self.failures > failures:
                    end, why = "failed", f"{self.failures - failures} of its commands"
            except Unable as unable:
                end, why = "skipped", str(unable)
            except Exception:  # a bug here must not prevent the other parts
                end, why = "failed", traceback.format_exc()[-TAIL:]
        self.write(end=end, seconds=round(time.monotonic() - start, 2), **({"why": why} if why else {}))
        if end != "done":
            self.say(f"   {part.name}: {end}: {why.strip().splitlines()[-1]}")
        self.part, self.until = None, self.over
        return end

    # ------------------------------------------------------------ commands

    def command(self, name, words, limit=None, environment=None, **fields):
        """Runs a command to its end, for at most `limit` seconds and no longer than the part has. JSON objects
        that it prints are written at once, with `fields`. An exit code other than 0 is a failure."""
        limit = min(self.patience * limit if limit else self.left(), self.left())
        if limit < 1:
            self.write(command=name, **fields, end="skipped", why="no time left in the part")
            return Ended("skipped")
        start, ended = time.monotonic(), Ended("done")
        with tempfile.TemporaryFile() as errors:
            try:
                self.child = subprocess.Popen([str(word) for word in words],
                                              stdin=subprocess.DEVNULL,
                                              stdout=subprocess.PIPE,
                                              stderr=errors,
                                              text=True,
                                              errors="replace",
                                              start_new_session=True,
                                              env=environment or self.environment)
            except OSError as error:
                self.child = None
                return self.finish(name, fields, Ended("failed", error=str(error)))
            lines = queue.Queue()
            threading.Thread(target=read_lines, args=(self.child.stdout, lines), daemon=True).start()
            if not self.collect(lines, start + limit, name, fields, ended):
                ended.end = "timeout"
            self.kill()
            if ended.end == "done":
                self.child.stdout.close()
            ended.exit, self.child = self.child.returncode, None
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - TAIL))
            ended.error = errors.read().decode(errors="replace")
        ended.seconds = time.monotonic() - start
        if ended.end == "done" and ended.exit != 0:
            ended.end = "failed"
        return self.finish(name, fields, ended)

    def collect(self, lines, until, name, fields, ended):
        """Reads the child's output. False if it has not ended in time."""
        while True:
            try:
                line = lines.get(timeout=max(0.01, until - time.monotonic()))
            except queue.Empty:
                return False
            if line is None:
                break
            try:
                found = json.loads(line) if line.lstrip()[:1] in ("{", "[") else None
            except ValueError:
                found = None
            for item in found if isinstance(found, list) else [found]:
                if isinstance(item, dict):
                    ended.lines.append(item)
                    self.write(command=name, **fields, line=item)
            if found is None:
                ended.text = (ended.text + line)[-TAIL:]
        try:
            self.child.wait(max(0.01, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self):
        """Kills the child and its descendants, if they have not ended."""
        if self.child is None:
            return
        for kind, seconds in zip((signal.SIGTERM, signal.SIGKILL), DYING):
            try:
                os.killpg(self.child.pid, kind)
                self.child.wait(seconds)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue

    def finish(self, name, fields, ended):
        said = {"error": ended.error.strip(), "text": ended.text.strip()} if ended.end != "done" else {}
        self.write(command=name,
                   **fields,
                   end=ended.end,
                   exit=ended.exit,
                   seconds=round(ended.seconds, 2),
                   **{key: text for key, text in said.items() if text})
        self.failures += ended.end != "done"
        self.say(f"   {name}: {ended.end}, {ended.seconds:.1f} s" +
                 ("" if ended else f": {(ended.error.strip() or ended.text.strip()).splitlines()[-1:]}"))
        return ended

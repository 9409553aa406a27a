"""Resources that run out or disappear: address space, a mapped file, the user's patience.

Checks that there is no crash but a three-line error with the cause's exit code, and that
files and the terminal stay intact.
"""
import os
import random
import resource
import shutil
import signal
import subprocess
import termios
import time

import suite as suites


def said(done):
    """The code of a three-line error."""
    lines = done.stderr.strip().splitlines()[-3:]
    assert len(lines) == 3 and lines[0].startswith("error[E"), done.stderr[-1000:]
    return lines[0][6:11]


def little_memory(ingot, checkpoint):
    """Under any `ulimit -v` there is an answer or an error. Below the memory that the engine states, the error is E0502
    with the sum."""
    engine, context = checkpoint.engines["fast"], 2048

    def limited(mebibytes, *command, stdin=subprocess.DEVNULL):
        limit = int(mebibytes * 2**20)
        return subprocess.run([ingot.path, *command], capture_output=True, text=True, timeout=120, stdin=stdin,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))

    run = ["run", str(engine), "-p", "Hello", "-n", "1", "--greedy", "--context", str(context), "--quiet"]
    codes, mebibytes = {}, 16
    while mebibytes < 4096:
        done = limited(mebibytes, *run)
        if done.returncode == 0:
            break
        if limited(mebibytes, "--version").returncode == 0:  # otherwise not even the program fits
            assert done.returncode == 3, (mebibytes, done.returncode, done.stderr)
            codes.setdefault(said(done), []).append(int(mebibytes))
        mebibytes *= 1.03
    assert done.returncode == 0, f"not with {mebibytes:.0f} MiB either: {done.stderr}"
    statement = ingot.json("inspect", engine, "--context", context)["programs"][0]["statement"]
    done = limited(0.9 * statement["total"] / 2**20, *run)
    assert done.returncode == 3 and said(done) == "E0502" and "available" in done.stderr, (done.returncode, done.stderr)
    # Memory runs out later, in C++ (a prompt beyond any limit) or in the tokenizer.
    for prompt in ("/dev/zero", ingot.file("long.txt", ["many words " * 10**6])):
        with open(prompt) as stdin:
            done = limited(600, "run", str(engine), "-n", "1", "--quiet", stdin=stdin)
        assert done.returncode == 3 and said(done) == "E0507" and "600 MiB" in done.stderr, (done.returncode, done.stderr)
    done = limited(100, "compile", str(checkpoint.path), "-o", str(ingot.work / "none.ingot"), "--quiet")
    assert done.returncode == 3 and said(done) == "E0114", (done.returncode, done.stderr)
    return ", ".join(f"{code} at {sizes[0]} to {sizes[-1]} MiB" for code, sizes in sorted(codes.items())) + \
        f", an answer at {mebibytes:.0f}"


def cut_while_mapped(ingot, checkpoint):
    """Truncates the engine while a chat has it mapped: the next answer ends in E0388."""
    engine = ingot.work / "cut.ingot"
    shutil.copyfile(checkpoint.engines["fast"], engine)
    for keep in (1 << 20, 0):
        os.truncate(engine, checkpoint.engines["fast"].stat().st_size)
        shutil.copyfile(checkpoint.engines["fast"], engine)
        chat = subprocess.Popen([ingot.path, "chat", str(engine), "--greedy", "-n", "4"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert "KV" in chat.stderr.readline()  # the memory line: the engine is loaded
        os.truncate(engine, keep)
        _, stderr = chat.communicate("Hello\n", timeout=60)
        assert chat.returncode == 3 and "error[E0388]" in stderr and str(engine) in stderr, (chat.returncode, stderr)
        done = subprocess.run([ingot.path, "run", str(engine), "-p", "Hello"], capture_output=True, text=True)
        assert done.returncode == 3 and said(done) in ("E0303", "E0307"), (done.returncode, done.stderr)
    engine.unlink()


def interrupted_compile(ingot, checkpoint, times):
    """Ctrl-C and SIGTERM at random moments: the old engine stays, with no other file next to it."""
    folder = ingot.work / "interrupted"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    engine = folder / "e.ingot"
    whole = checkpoint.engines["fast"].read_bytes()
    command = [ingot.path, "compile", str(checkpoint.path), "-o", str(engine), "--quiet"]
    start = time.monotonic()
    subprocess.run(command, check=True)
    lasts = time.monotonic() - start
    source, ended = random.Random(4), 0
    for number in range(times):
        sent = (signal.SIGINT, signal.SIGTERM)[number % 2]
        child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(source.uniform(0.1, lasts))
        child.send_signal(sent)
        code = child.wait(timeout=60)
        assert code in (0, -sent), f"exit code {code}"
        ended += code != 0
        assert engine.read_bytes() == whole, "the engine is not what it was"
        left = sorted(path.name for path in folder.iterdir())
        assert left == ["e.ingot"], f"temporary files stay behind: {left}"
    # In the cache, `run` compiles in a child process. Both processes get the terminal's Ctrl-C.
    cache = folder / "cache"
    run = subprocess.Popen([ingot.path, "run", str(checkpoint.path), "-p", "Hello", "-n", "1", "--cache", str(cache)],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(0.7 * lasts)
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(timeout=60) == -signal.SIGINT
    time.sleep(0.5)  # lets the child end by itself
    left = [str(path) for path in cache.rglob("*tmp*")]  # of the engine and of the cached code
    assert not left, left
    shutil.rmtree(folder)
    assert ended, "all were over before the signal"
    return f"{ended} of {times} in the middle"


class Screen:
    """A program on its own terminal, and the terminal modes from before it started."""

    def __init__(self, *command):
        try:
            self.master, self.slave = os.openpty()
        except OSError as error:  # /dev/pts is not mounted
            raise suites.Skip(f"this machine has no terminals to give: {error}")
        self.modes = termios.tcgetattr(self.slave)
        self.child = subprocess.Popen([str(x) for x in command], stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                      start_new_session=True, env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"})

    def read_until(self, text):
        seen = b""
        while text not in seen:
            seen += os.read(self.master, 65536)

    def end(self, sent):
        self.child.send_signal(sent)
        code = self.child.wait(timeout=60)
        assert termios.tcgetattr(self.slave) == self.modes, "the terminal has other modes than before"
        os.close(self.master)
        os.close(self.slave)
        return code


def interrupted_answer(ingot, checkpoint):
    engine = checkpoint.engines["fast"]
    run = Screen(ingot.path, "run", engine, "Tell me a long story.", "-n", 2000, "--ignore-eos", "--quiet")
    run.read_until(b" ")
    assert run.end(signal.SIGINT) == -signal.SIGINT
    for sent in (signal.SIGTERM, signal.SIGHUP):
        chat = Screen(ingot.path, "chat", engine, "--quiet")  # at the prompt, where keys are read one by one
        chat.read_until(b">>> ")
        assert chat.end(sent) == 0
    chat = Screen(ingot.path, "chat", engine, "--ignore-eos", "--quiet")
    chat.read_until(b">>> ")
    os.write(chat.master, b"Tell me a long story.\n")
    chat.read_until(b"\n")
    chat.read_until(b" ")
    assert chat.end(signal.SIGTERM) == 0


def add(suite, ingot, checkpoint, long):
    if "fast" not in checkpoint.engines:
        return
    name = f"{checkpoint.name}: "
    suite.check(name + "little memory", lambda: little_memory(ingot, checkpoint))
    suite.check(name + "cut while mapped", lambda: cut_while_mapped(ingot, checkpoint))
    suite.check(name + "interrupted compile", lambda: interrupted_compile(ingot, checkpoint, 100 if long else 6))
    suite.check(name + "interrupted answer", lambda: interrupted_answer(ingot, checkpoint))

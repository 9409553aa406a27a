"""Engine files as a whole: the same bytes from the same input, never half a file, and refusals."""
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import time


def rebuild(ingot, checkpoint):
    """F8: another folder, one thread or two: the same bytes."""
    folder = ingot.work / "elsewhere"
    folder.mkdir(exist_ok=True)
    copy = folder / ("renamed" + checkpoint.path.suffix)
    shutil.copyfile(checkpoint.path, copy)
    first = checkpoint.engines["fast"].read_bytes()
    for jobs in (1, 2):
        engine = folder / f"j{jobs}.ingot"
        ingot("compile", copy, "-o", engine, "-j", jobs, "--quiet")
        assert engine.read_bytes() == first, f"compiled from a copy with -j {jobs}, the engine differs"
    shutil.rmtree(folder)


def start_compile(ingot, checkpoint, engine, **options):
    return subprocess.Popen([ingot.path, "compile", str(checkpoint.path), "-o", str(engine), "--quiet"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


def killed(ingot, checkpoint, times):
    """F5: SIGKILL at random moments leaves the old engine whole, or the new one."""
    whole = checkpoint.engines["fast"].read_bytes()
    folder = ingot.work / "killed"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    engine = folder / "e.ingot"
    start = time.monotonic()
    assert start_compile(ingot, checkpoint, engine).wait() == 0
    lasts = time.monotonic() - start
    source = random.Random(2)
    for _ in range(times):
        child = start_compile(ingot, checkpoint, engine)
        time.sleep(source.uniform(0, lasts))
        child.kill()
        child.wait()
        assert engine.read_bytes() == whole, "the engine is not what it was"
    ingot("compile", checkpoint.path, "-o", engine, "--quiet")
    left = sorted(path.name for path in folder.iterdir())
    assert left == ["e.ingot"], f"temporary files stay behind: {left}"
    shutil.rmtree(folder)


def disk_full(ingot, checkpoint):
    """A file that may not grow stands in for a full disk: an error, and the old engine stays."""
    engine = ingot.work / "full.ingot"
    engine.write_bytes(b"the old engine")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000_000, 20_000_000))

    child = start_compile(ingot, checkpoint, engine, preexec_fn=limit)
    assert child.wait() == 3, f"exit code {child.returncode}"
    assert engine.read_bytes() == b"the old engine"
    left = [path.name for path in ingot.work.iterdir() if path.name.startswith("full.ingot") and path != engine]
    left += [path.name for path in ingot.work.iterdir() if path.name.startswith(".full.ingot")]
    assert not left, f"temporary files stay behind: {left}"
    engine.unlink()


def damaged(ingot, checkpoint, cuts, flips):
    """F3 and F4: every cut is refused at load, every flipped bit by verify; exit 3, three lines."""
    path = ingot.work / "damaged.ingot"
    shutil.copyfile(checkpoint.engines["fast"], path)
    size = path.stat().st_size
    source = random.Random(3)

    def refused(*command):
        done = subprocess.run([ingot.path, *command, str(path)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 3 and done.stderr.startswith("error[E03"), (command, done.returncode, done.stderr)

    def flip(at, mask):
        with open(path, "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ mask]))

    for number in range(flips):
        at, mask = source.randrange(size if number % 2 else 1 << 15), 1 << source.randrange(8)
        flip(at, mask)
        refused("inspect", "--verify")
        flip(at, mask)
    ingot("verify", path)  # it is whole again: the refusals were of the flips
    for cut in sorted((source.randrange(size) for _ in range(cuts)), reverse=True):
        os.truncate(path, cut)
        refused("inspect")
    path.unlink()
    return f"{cuts} cuts, {flips} flips"


def bad_checkpoints(ingot):
    """F2: every hand-made bad checkpoint is refused with its own code, and an existing engine stays."""
    writer = pathlib.Path(ingot.path).parent / "bad-checkpoints"
    folder = ingot.work / "bad"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    listed = subprocess.run([writer, folder], check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(listed) >= 100, f"only {len(listed)} bad checkpoints"
    engine = folder / "old.ingot"
    engine.write_bytes(b"the old engine")
    for line in listed:
        code, path = line.split(" ", 1)
        done = subprocess.run([ingot.path, "compile", path, "-o", str(engine), "--quiet"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 3 and done.stderr.startswith(f"error[{code}]"), (line, done.returncode, done.stderr[-500:])
    assert engine.read_bytes() == b"the old engine"
    shutil.rmtree(folder)
    return f"{len(listed)} of them"


def cache(ingot, checkpoint):
    """`run` on a checkpoint compiles once into the cache and says so."""
    folder = ingot.work / "cache"
    shutil.rmtree(folder, ignore_errors=True)
    arguments = ["run", checkpoint.path, "-p", "Hello", "-n", 1, "--greedy", "--cache", folder]
    first = ingot(*arguments)
    assert "compiling" in first.stderr and str(folder) in first.stderr, first.stderr
    (engine,) = folder.iterdir()
    stamp = engine.stat().st_mtime_ns
    second = ingot(*arguments)
    assert "compiled before" in second.stderr and first.stdout == second.stdout, second.stderr
    assert engine.stat().st_mtime_ns == stamp
    ingot(*arguments, "--precision", "exact")
    assert len(list(folder.iterdir())) == 2, "another option must be another engine"
    shutil.rmtree(folder)


def memory(ingot, checkpoint):
    """Stated memory within 3 % of what the process holds after a full-context run."""
    engine, context = checkpoint.engines["fast"], 2048
    total = ingot.json("inspect", engine, "--context", context)["statement"]["total"]
    ids = (checkpoint.golden["text"]["ids"] * 2)[: context - 64]
    prompts = ingot.file("full.jsonl", [{"prompt_ids": ids}])
    child = subprocess.Popen([ingot.path, "run", str(engine), "--prompts-file", str(prompts), "--context", str(context),
                              "-n", "64", "--ignore-eos", "--quiet"], stdout=subprocess.DEVNULL)
    held = 0
    while child.poll() is None:
        held = max(held, resident(child.pid, str(engine)))
        time.sleep(0.01)
    assert child.returncode == 0
    remark = f"stated {total / 2**20:.1f} MiB, held {held / 2**20:.1f} MiB ({100 * (held / total - 1):+.1f} %)"
    assert abs(held / total - 1) <= 0.03, remark
    return remark


def resident(pid, engine):
    """RssAnon, and the pages of the engine's mapping that are in memory."""
    try:
        with open(f"/proc/{pid}/status") as file:
            anonymous = next(int(line.split()[1]) for line in file if line.startswith("RssAnon"))
        mapped, inside = 0, False
        with open(f"/proc/{pid}/smaps") as file:
            for line in file:
                if "-" in line.split(" ", 1)[0]:
                    inside = line.rstrip().endswith(engine)
                elif inside and line.startswith(("Rss:", "Anonymous:")):
                    mapped += int(line.split()[1]) * (1 if line.startswith("Rss:") else -1)
        return (anonymous + mapped) * 1024
    except (StopIteration, FileNotFoundError, ProcessLookupError):
        return 0  # it has just ended


def add(suite, ingot, checkpoint, long):
    if "fast" not in checkpoint.engines:
        return
    name = f"{checkpoint.name}: "
    suite.check("bad checkpoints", lambda: bad_checkpoints(ingot))
    suite.check(name + "rebuild", lambda: rebuild(ingot, checkpoint))
    suite.check(name + "cache", lambda: cache(ingot, checkpoint))
    suite.check(name + "stated memory", lambda: memory(ingot, checkpoint))
    suite.check(name + "killed", lambda: killed(ingot, checkpoint, 200 if long else 6))
    suite.check(name + "disk full", lambda: disk_full(ingot, checkpoint))
    suite.check(name + "damaged", lambda: damaged(ingot, checkpoint, *((200, 2000) if long else (20, 40))))

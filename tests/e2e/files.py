"""Engine files as a whole: the same bytes from the same input, never a partial file, and rejections."""
import concurrent.futures
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import time


def rebuild(ingot, checkpoint):
    """A different folder and a different number of threads give the same bytes."""
    folder = ingot.work / "elsewhere"
    folder.mkdir(exist_ok=True)
    copy = folder / ("renamed" + checkpoint.path.suffix)
    shutil.copyfile(checkpoint.path, copy)
    first = checkpoint.engines["fast"].read_bytes()
    for jobs in (1, 2):
        engine = folder / f"j{jobs}.ingot"
        ingot("compile", copy, "-o", engine, "-j", jobs, "--quiet", fresh=True)
        assert engine.read_bytes() == first, f"compiled from a copy with -j {jobs}, the engine differs"
    shutil.rmtree(folder)


def start_compile(ingot, checkpoint, engine, **options):
    return subprocess.Popen([ingot.path, "compile", str(checkpoint.path), "-o", str(engine), "--quiet"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


def killed(ingot, checkpoint, times):
    """SIGKILL at random moments leaves either the complete old engine or the new one."""
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
    """A file size limit stands in for a full disk: compile fails, and the old engine stays."""
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


TINY = pathlib.Path(__file__).parent.parent / "checkpoints" / "tiny" / "llama-gguf-mixed" / "model.gguf"


def refused(ingot, code, *command):
    """Checks for exit code 3 and three lines that start with the error code; a crash has another exit code."""
    done = subprocess.run([ingot.path, *map(str, command)], capture_output=True, text=True, timeout=60)
    lines = done.stderr.splitlines()
    assert done.returncode == 3 and len(lines) <= 3 and lines[0].startswith(f"error[{code}"), \
        (command, done.returncode, done.stderr[-500:])


def damaged(ingot, flips, cuts):
    """Random truncations are rejected at load, and random bit flips by verify. Uses a
    tiny engine, two processes at a time."""
    engine = ingot.work / "tiny-whole.ingot"
    ingot("compile", TINY, "-o", engine, "--quiet")
    whole = engine.read_bytes()
    structure = int.from_bytes(whole[32:40], "little") + 64  # header and table
    source = random.Random(3)
    cases = [(source.randrange(len(whole) if number % 2 else structure), 1 << source.randrange(8)) for number in range(flips)]
    cases += [(source.randrange(len(whole)), None) for _ in range(cuts)]

    def worker(share):
        path = ingot.work / f"damaged-{share}.ingot"
        for at, mask in cases[share::2]:
            if mask is None:
                path.write_bytes(whole[:at])
                refused(ingot, "E03", "inspect", path)
            else:
                path.write_bytes(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1:])
                refused(ingot, "E03", "inspect", "--verify", path)
        path.unlink()

    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        list(workers.map(worker, range(2)))
    each = (time.monotonic() - start) / len(cases)
    ingot("verify", engine)  # shows that the rejections were due to the damage
    engine.unlink()
    return f"{flips} flips, {cuts} cuts, {1000 * each:.1f} ms each"


def listed_by(ingot, program, folder):
    """The (code, path) of each file that a writer of bad files made."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    written = subprocess.run([pathlib.Path(ingot.path).parent / program, folder], check=True, capture_output=True, text=True)
    return [line.split(" ", 1) for line in written.stdout.splitlines()]


def bad_checkpoints(ingot):
    """Every hand-made bad checkpoint is rejected with its own code, and an existing engine stays."""
    folder = ingot.work / "bad"
    listed = listed_by(ingot, "bad-checkpoints", folder)
    gguf = sum(path.endswith(".gguf") for _, path in listed)
    assert gguf >= 60 and len(listed) - gguf >= 40, f"only {gguf} GGUF and {len(listed) - gguf} others"
    engine = folder / "old.ingot"
    engine.write_bytes(b"the old engine")
    for code, path in listed:
        refused(ingot, code, "compile", path, "-o", engine, "--quiet")
    assert engine.read_bytes() == b"the old engine"
    shutil.rmtree(folder)
    return f"{gguf} GGUF and {len(listed) - gguf} others"


def bad_engines(ingot):
    """Every hand-made bad engine is rejected with its own code by every command that opens it."""
    folder = ingot.work / "bad"
    listed = listed_by(ingot, "bad-engines", folder)
    assert len(listed) >= 60, f"only {len(listed)}"
    for code, path in listed:
        refused(ingot, code, "inspect", "--verify", path)
        # A load reads no weights, and a file that begins like a GGUF is read as one, whatever its name.
        if "weight_byte" not in path and not path.endswith("gguf.ingot"):
            refused(ingot, code, "run", path, "-p", "Hello")
    shutil.rmtree(folder)
    return f"{len(listed)} of them"


def cache(ingot, checkpoint):
    """`run` on a checkpoint compiles once into the cache and reports it."""
    folder = ingot.work / "cache"
    shutil.rmtree(folder, ignore_errors=True)
    arguments = ["run", checkpoint.path, "-p", "Hello", "-n", 1, "--greedy", "--cache", folder]
    first = ingot(*arguments)
    assert "compiling" in first.stderr and str(folder) in first.stderr, first.stderr
    (engine,) = folder.glob("*.ingot")
    stamp = engine.stat().st_mtime_ns
    second = ingot(*arguments)
    assert "compiled before" in second.stderr and first.stdout == second.stdout, second.stderr
    assert engine.stat().st_mtime_ns == stamp
    ingot(*arguments, "--precision", "exact")
    assert len(list(folder.glob("*.ingot"))) == 2, "another option must be another engine"
    shutil.rmtree(folder)


def memory(ingot, checkpoint):
    """The stated memory is within 3 % of what the process holds after a full-context run."""
    engine, context = checkpoint.engines["fast"], 2048
    total = ingot.json("inspect", engine, "--context", context)["programs"][0]["statement"]["total"]
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
    """RssAnon, and the resident pages of the engine's mapping."""
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
        return 0  # the process has just ended


def add(suite, ingot, checkpoint, long):
    if "fast" not in checkpoint.engines:
        return
    name = f"{checkpoint.name}: "
    suite.check("bad checkpoints", lambda: bad_checkpoints(ingot))
    suite.check("bad engines", lambda: bad_engines(ingot))
    suite.check("damaged engine", lambda: damaged(ingot, *((2000, 200) if long else (200, 20))))
    suite.check(name + "rebuild", lambda: rebuild(ingot, checkpoint))
    suite.check(name + "cache", lambda: cache(ingot, checkpoint))
    suite.check(name + "stated memory", lambda: memory(ingot, checkpoint))
    suite.check(name + "killed", lambda: killed(ingot, checkpoint, 200 if long else 6))
    suite.check(name + "disk full", lambda: disk_full(ingot, checkpoint))

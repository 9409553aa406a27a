"""check_hub.py INGOT CHECKPOINTS GGUF WORK PART: tests `ingot` with a hub on loopback (fake_hub.py). PART is one
of the functions below whose name begins with test_. Nothing here leaves loopback."""
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import fake_hub

sys.path.append(str(pathlib.Path(__file__).parents[1] / "e2e"))
import signals  # noqa: E402

signals.default_in_children()
ingot, checkpoints, gguf, stem, part = sys.argv[1:]
checkpoints, work = pathlib.Path(checkpoints), pathlib.Path(f"{stem}.{part}")
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
home = work / "home"
cache = home / ".cache" / "huggingface" / "hub"


def files_of(name):
    return {path.name: path.read_bytes() for path in sorted((checkpoints / name).iterdir()) if path.suffix in (".json", ".safetensors")
            and path.name != "ids.json"}


SINGLE = files_of("llama3-tied") | {"README.md": b"# tiny", "pytorch_model.bin": b"pickle", "onnx/model.onnx": b"x",
                                    "consolidated.safetensors": b"y", "original/params.json": b"{}"}
SHARDED = files_of("llama-biases-sharded")
WANTED = ["config.json", "model.safetensors"]


def environment(hub, **more):
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return kept | {"HOME": str(home), "HF_ENDPOINT": hub.endpoint} | more


def run(hub, *arguments, code=0, limits=None, **more):
    done = subprocess.run([ingot, *arguments], env=environment(hub, **more), capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, preexec_fn=limits, restore_signals=limits is None)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


def fetch(hub, name, **options):
    """Fetches and imports, which is quick; returns stderr."""
    return run(hub, "compile", name, "--emit", "lm", "-o", str(work / "lm.mlir"), **options).stderr


def snapshot(name, commit):
    return cache / ("models--" + name.replace("/", "--")) / "snapshots" / commit


def check_whole(name, repository, paths, revision="main"):
    """Checks that the cache has exactly these files of a snapshot, in the layout of huggingface_hub."""
    commit = repository.revisions[revision]
    folder = snapshot(name, commit)
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())
    assert found == sorted(paths), found
    assert (folder.parent.parent / "refs" / revision).read_text() == commit
    for path in paths:
        data = repository.commits[commit][path]
        target = os.readlink(folder / path)
        assert target == "../" * (2 + path.count("/")) + "blobs/" + fake_hub.etag_of(path, data), target
        assert (folder / path).read_bytes() == data
    blobs = sorted(path.name for path in (folder.parent.parent / "blobs").iterdir())
    assert not [name for name in blobs if name.endswith(".incomplete")], blobs


def test_run(hub):
    """The whole sequence: fetch, compile, answer; then again without requests, even without the hub."""
    repository = hub.add("tiny/llama", SINGLE)
    first = run(hub, "run", "hf:tiny/llama", "--prompt-ids", "1,2,3", "-n", "4", "--greedy")
    assert "fetching hf:tiny/llama: 1 file" in first.stderr and "fetched model.safetensors" in first.stderr, first.stderr
    check_whole("tiny/llama", repository, WANTED)
    assert [path.name for path in (home / ".cache/ingot").glob("*.ingot") if path.name.startswith("llama-")]
    assert '"name":"llama"' in run(hub, "inspect", str(next((home / ".cache/ingot").glob("*.ingot"))), "--json").stdout.replace(": ", ":")
    alone = run(hub, "run", str(checkpoints / "llama3-tied"), "--prompt-ids", "1,2,3", "-n", "4", "--greedy", "--quiet")
    assert first.stdout == alone.stdout and first.stdout.strip(), (first.stdout, alone.stdout)

    hub.clear()
    again = run(hub, "run", "hf:tiny/llama", "--prompt-ids", "1,2,3", "-n", "4", "--greedy")
    assert again.stdout == first.stdout and "compiled before" in again.stderr and "fetch" not in again.stderr, again.stderr
    assert [one.path.split("?")[0] for one in hub.requests] == ["/api/models/tiny/llama/revision/main"], hub.requests
    hub.clear()
    offline = run(hub, "run", "hf:tiny/llama", "--prompt-ids", "1,2,3", "-n", "4", "--greedy", "--json", HF_HUB_OFFLINE="1")
    assert json.loads(offline.stdout)["ids"] and not offline.stderr and not hub.requests, offline
    nobody = run(hub, "run", "hf:tiny/llama", "--prompt-ids", "1,2,3", "-n", "4", "--greedy", HF_ENDPOINT="http://127.0.0.1:9")
    assert "cannot reach the hub http://127.0.0.1:9; using the fetched files of hf:tiny/llama" in nobody.stderr, nobody.stderr
    commit = repository.revisions["main"]
    run(hub, "run", "hf:tiny/llama@" + commit, "--prompt-ids", "1,2,3", "-n", "1", "--greedy")
    assert not hub.requests, hub.requests

    # A branch that has moved, and a revision with a slash.
    moved = SINGLE | {"generation_config.json": b'{"temperature": 0.5}'}
    repository.push(moved)
    repository.push(SINGLE, "refs/pr/1")
    said = fetch(hub, "hf:tiny/llama")
    assert "1 file" in said, said
    check_whole("tiny/llama", repository, WANTED + ["generation_config.json"])
    assert len(hub.fetched("model.safetensors")) == 0 and len(hub.fetched("generation_config.json")) == 1
    fetch(hub, "hf:tiny/llama@refs/pr/1")
    check_whole("tiny/llama", repository, WANTED, "refs/pr/1")


def test_shards(hub):
    hub.relative_redirects = True
    repository = hub.add("tiny/sharded", SHARDED)
    fetch(hub, "hf:tiny/sharded")
    check_whole("tiny/sharded", repository, SHARDED)


def test_token(hub):
    """The token is sent to the hub and nowhere else; without it the errors give instructions."""
    repository = hub.add("tiny/private", SINGLE, token="hf_secret")
    missing = run(hub, "compile", "hf:tiny/private", "--emit", "lm", code=3).stderr
    assert "E0153" in missing and "HF_TOKEN" in missing, missing
    repository.gated = True
    gated = run(hub, "compile", "hf:tiny/private", "--emit", "lm", code=3).stderr
    assert "E0153" in gated and "accept it at " + hub.endpoint + "/tiny/private" in gated, gated
    hub.clear()
    said = fetch(hub, "hf:tiny/private", HF_TOKEN="hf_secret")
    assert "hf_secret" not in said
    check_whole("tiny/private", repository, WANTED)
    assert [one for one in hub.requests if one.server == "storage"]
    for one in hub.requests:
        assert one.headers.get("Authorization") == ("Bearer hf_secret" if one.server == "hub" else None), one
    # Reads the token from the file that `hf auth login` writes, in each of its locations.
    shutil.rmtree(cache)
    token = home / ".cache/huggingface/token"
    token.write_text("hf_secret\n")
    fetch(hub, "hf:tiny/private")
    shutil.rmtree(cache)
    token.rename(work / "token")
    fetch(hub, "hf:tiny/private", HF_TOKEN_PATH=str(work / "token"))
    assert "E0180" in run(hub, "compile", "hf:tiny/private", "--emit", "lm", code=2, HF_TOKEN="a\tb").stderr


def test_places(hub):
    """HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, in that order."""
    hub.add("tiny/llama", SINGLE)
    places = {"XDG_CACHE_HOME": "huggingface/hub", "HF_HOME": "hub", "HF_HUB_CACHE": ""}
    given = {}
    for variable, below in places.items():
        given[variable] = str(work / variable)
        fetch(hub, "hf:tiny/llama", **given)
        assert (work / variable / below / "models--tiny--llama/refs/main").is_file(), variable


def test_missing(hub):
    """Each kind of missing item has its own message and exit code 3, and leaves no files."""
    hub.add("tiny/llama", SINGLE)
    hub.add("tiny/pickled", {"config.json": b"{}", "pytorch_model.bin": b"x"})
    hub.add("tiny/adapter", {"adapter_config.json": b"{}", "adapter_model.safetensors": b"x"})
    for name, code, words in (
            ("hf:tiny/nothing", 3, ["E0153", "hf:tiny/nothing does not exist"]),
            ("hf:tiny/llama@v9", 3, ["E0154", "there is no revision v9 of hf:tiny/llama"]),
            ("hf:tiny/llama:x.gguf", 3, ["E0154", "there is no x.gguf in hf:tiny/llama"]),
            ("hf:tiny/pickled", 3, ["E0157", "pickled"]),
            ("hf:tiny/adapter", 3, ["E0157", "LoRA"]),
            ("hf:../etc", 2, ["E0150"]),
            ("hf:tiny/llama@../../x", 2, ["E0150"]),
            ("hf:tiny/llama:../x.gguf", 2, ["E0150"]),
            ("hf:tiny/llama:model.safetensors", 2, ["E0150"]),
            ("hf:", 2, ["E0150"])):
        said = run(hub, "run", name, "hi", code=code).stderr
        assert all(word in said for word in words), (name, said)
    hub.faults["head"] = [("status", 404, {"X-Error-Code": "EntryNotFound"})]
    assert "there is no config.json in hf:tiny/llama" in run(hub, "run", "hf:tiny/llama", "hi", code=3).stderr
    assert not cache.exists() or not list(cache.rglob("snapshots"))
    nobody = run(hub, "run", "hf:tiny/llama", "hi", code=3, HF_ENDPOINT="http://127.0.0.1:9").stderr
    assert "E0152" in nobody and "cannot reach the hub http://127.0.0.1:9" in nobody, nobody
    offline = run(hub, "run", "hf:tiny/llama", "hi", code=3, HF_HUB_OFFLINE="yes").stderr
    assert "E0160" in offline and "HF_HUB_OFFLINE" in offline, offline
    placeless = run(hub, "run", "hf:tiny/llama", "hi", code=3, HOME="").stderr
    assert "E0151" in placeless, placeless


def test_faults(hub):
    """Truncated transfers, busy servers, servers without ranges: the file is complete in
    the end, and no byte is requested twice."""
    repository = hub.add("tiny/llama", SINGLE)
    size = len(SINGLE["model.safetensors"])
    hub.faults = {"model.safetensors": [("cut", 1000), ("cut", 500), ("status", 503, {}), ("status", 429, {"Retry-After": "1"})],
                  "api": [("status", 500, {})], "head": [("status", 502, {})]}
    begin = time.monotonic()
    said = fetch(hub, "hf:tiny/llama")
    assert time.monotonic() - begin >= 1, "Retry-After is not waited for"
    assert "the hub answers with 429; trying again in 1 s" in said, said
    check_whole("tiny/llama", repository, WANTED)
    ranges = [one.headers.get("Range") for one in hub.fetched("model.safetensors")]
    assert ranges == [None, "bytes=1000-", "bytes=1500-", "bytes=1500-", "bytes=1500-"], ranges

    shutil.rmtree(cache)
    hub.clear()
    hub.faults["model.safetensors"] = [("cut", 1000), ("whole",)]
    fetch(hub, "hf:tiny/llama")
    check_whole("tiny/llama", repository, WANTED)

    # More bytes than announced are in the partial file: they are discarded.
    shutil.rmtree(cache)
    hub.clear()
    blobs = cache / "models--tiny--llama/blobs"
    blobs.mkdir(parents=True)
    part = blobs / (fake_hub.etag_of("model.safetensors", SINGLE["model.safetensors"]) + ".incomplete")
    part.write_bytes(b"x" * (size + 1))
    fetch(hub, "hf:tiny/llama")
    check_whole("tiny/llama", repository, WANTED)
    # The partial file is damaged: fetch once more, from the beginning.
    shutil.rmtree(cache)
    hub.clear()
    blobs.mkdir(parents=True)
    part.write_bytes(b"x" * 1000)
    assert "the partial download is damaged" in fetch(hub, "hf:tiny/llama")
    check_whole("tiny/llama", repository, WANTED)

    # A file whose hash differs from the announced one is not kept.
    shutil.rmtree(cache)
    for path in WANTED:
        hub.faults[path] = [("wrong",)]
        said = run(hub, "compile", "hf:tiny/llama", "--emit", "lm", code=3).stderr
        assert "E0159" in said and "its hash is" in said and path in said, said
        assert not list(cache.rglob("*" + fake_hub.etag_of(path, SINGLE[path]))), path
    fetch(hub, "hf:tiny/llama")
    check_whole("tiny/llama", repository, WANTED)

    # If a hub requests a wait of an hour, ingot reports it and does not wait.
    shutil.rmtree(cache)
    hub.faults["api"] = [("status", 429, {"Retry-After": "3600"})]
    assert "the hub's rate limit was reached: retry in 3600 s" in run(hub, "compile", "hf:tiny/llama", "--emit", "lm", code=3).stderr


def test_kill(hub):
    """kill -9 and Ctrl-C in the middle: the next run resumes there."""
    repository = hub.add("tiny/llama", SINGLE)
    data = SINGLE["model.safetensors"]
    part = cache / "models--tiny--llama/blobs" / (fake_hub.etag_of("model.safetensors", data) + ".incomplete")
    for number, there in ((signal.SIGKILL, 3000), (signal.SIGINT, 5000)):
        hub.faults["model.safetensors"] = [("stall", 3000 if number == signal.SIGKILL else 2000)]
        child = subprocess.Popen(
            [ingot, "compile", "hf:tiny/llama", "--emit", "lm"],
            env=environment(hub),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        deadline = time.monotonic() + 60
        while not part.exists() or part.stat().st_size < there:
            assert time.monotonic() < deadline and child.poll() is None, child.communicate()
            time.sleep(0.02)
        child.send_signal(number)
        assert child.wait(30) == -number
        child.communicate()
        assert part.read_bytes() == data[:there]
        assert not (snapshot("tiny/llama", repository.revisions["main"]) / "model.safetensors").exists()
        assert not (cache / "models--tiny--llama/refs/main").exists(), "a ref means a snapshot that is not whole"
    hub.clear()
    fetch(hub, "hf:tiny/llama")
    assert [one.headers.get("Range") for one in hub.fetched("model.safetensors")] == ["bytes=5000-"]
    check_whole("tiny/llama", repository, WANTED)


def test_two(hub):
    """Two concurrent processes: one fetches, the other waits for it."""
    repository = hub.add("tiny/llama", SINGLE)
    hub.faults["model.safetensors"] = [("stall", 1000)]
    command = [ingot, "compile", "hf:tiny/llama", "--emit", "lm"]
    both = []
    for _ in range(2):
        both.append(subprocess.Popen(command, env=environment(hub), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        deadline = time.monotonic() + 60
        while len(hub.fetched("model.safetensors")) < 1:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    removal = run(hub, "rm", "hf:tiny/llama", "--yes", code=3).stderr
    assert "another program is fetching it" in removal, removal
    time.sleep(1)
    hub.go()
    said = [child.communicate(timeout=60)[1] for child in both]
    assert [child.returncode for child in both] == [0, 0], said
    assert sum("another program is fetching model.safetensors: waiting for it" in text for text in said) == 1, said
    ranges = [one.headers.get("Range") for one in hub.fetched("model.safetensors")]
    assert ranges == [None, "bytes=1000-"], ranges
    check_whole("tiny/llama", repository, WANTED)


def test_full(hub):
    """A file size limit stands in for a full disk; received bytes are kept."""
    repository = hub.add("tiny/llama", SINGLE)

    def limits():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # write() fails instead
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    said = run(hub, "compile", "hf:tiny/llama", "--emit", "lm", code=3, limits=limits).stderr
    assert "E0158" in said and "the disk for models is full" in said and "HF_HUB_CACHE" in said, said
    hub.clear()
    fetch(hub, "hf:tiny/llama")
    assert [one.headers.get("Range") for one in hub.fetched("model.safetensors")] == ["bytes=10000-"]
    check_whole("tiny/llama", repository, WANTED)
    # A model too large for any disk is refused before any byte of it is requested.
    class Huge(bytes):
        def __len__(self):
            return 1 << 60
    files = SINGLE | {"model.safetensors": Huge(b"x")}
    hub.add("tiny/huge", {}).push({"config.json": SINGLE["config.json"]})
    hub.repositories["tiny/huge"].commits[hub.repositories["tiny/huge"].revisions["main"]] = files
    hub.clear()
    said = run(hub, "compile", "hf:tiny/huge", "--emit", "lm", code=3).stderr
    assert "E0158" in said and "1048576.0 TiB must be fetched" in said, said
    assert not hub.fetched("model.safetensors")
    closed = work / "closed"
    closed.write_text("a file, no folder")
    assert "E0158" in run(hub, "compile", "hf:tiny/llama", "--emit", "lm", code=3, HF_HUB_CACHE=str(closed)).stderr


def test_terminal(hub):
    """On a terminal a file's progress line is redrawn; otherwise plain lines are printed."""
    hub.add("tiny/llama", SINGLE)
    hub.faults["model.safetensors"] = [("cut", 100_000)]
    ours, theirs = os.openpty()
    child = subprocess.Popen([ingot, "compile", "hf:tiny/llama", "--emit", "lm", "-o", str(work / "lm.mlir")], env=environment(hub), stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the other end is closed
        pass
    assert child.wait(60) == 0
    text = shown.decode()
    assert re.search(r"\r\x1b\[Kmodel\.safetensors  [\d.]+ KiB of 197\.9 KiB, \d+ %, [\d.]+ KiB/s, 0:\d\d left", text), text
    assert text.rstrip().splitlines()[-1].endswith("s)"), text
    shutil.rmtree(cache)
    assert "\r" not in fetch(hub, "hf:tiny/llama")


def test_gguf(hub):
    """GGUF repositories: the only file, a named one, all parts of a split one, and a list if there are several."""
    data = pathlib.Path(gguf).read_bytes()
    one = hub.add("tiny/one", {"README.md": b"x", "tiny-f32.gguf": data, "mmproj-tiny.gguf": b"x"})
    answer = run(hub, "run", "hf:tiny/one", "hello", "-n", "3", "--greedy").stdout
    assert answer.strip()
    check_whole("tiny/one", one, ["tiny-f32.gguf"])
    several = hub.add("tiny/several", {"tiny-f32.gguf": data, "q4/tiny-00001-of-00002.gguf": b"GGUFx", "q4/tiny-00002-of-00002.gguf": b"yy"})
    said = run(hub, "run", "hf:tiny/several", "hello", code=2).stderr
    assert "E0156" in said and "hf:tiny/several has 2 GGUF files" in said, said
    assert "q4/tiny-00001-of-00002.gguf  (7 bytes)" in said and "tiny-f32.gguf  (" in said, said
    assert "choose one: hf:tiny/several:q4/tiny-00001-of-00002.gguf" in said, said
    assert run(hub, "run", "hf:tiny/several:tiny-f32.gguf", "hello", "-n", "3", "--greedy").stdout == answer
    check_whole("tiny/several", several, ["tiny-f32.gguf"])
    run(hub, "run", "hf:tiny/several:q4/tiny-00001-of-00002.gguf", "hello", code=3)  # its contents are not a model
    check_whole("tiny/several", several, ["tiny-f32.gguf", "q4/tiny-00001-of-00002.gguf", "q4/tiny-00002-of-00002.gguf"])
    assert "it has\n" in run(hub, "run", "hf:tiny/several:no.gguf", "hello", code=3).stderr


def test_list(hub):
    """What list shows of both caches, and what rm removes."""
    repository = hub.add("tiny/llama", SINGLE)
    first = repository.revisions["main"]
    nothing = json.loads(run(hub, "list", "--json").stdout)
    assert nothing["models"] == [] and nothing["engines"] == [], nothing
    run(hub, "run", "hf:tiny/llama", "--prompt-ids", "1,2", "-n", "1", "--quiet")
    repository.push(SINGLE | {"generation_config.json": b'{"temperature": 0.5}'}, "warm")
    fetch(hub, "hf:tiny/llama@warm")
    listed = json.loads(run(hub, "list", "--json").stdout)
    sizes = {path: len(SINGLE[path]) for path in WANTED}
    models = {model["commit"]: model for model in listed["models"]}
    assert models[first]["name"] == "hf:tiny/llama" and models[first]["revisions"] == ["main"], models
    assert models[first]["bytes"] == sum(sizes.values()) and models[first]["files"] == 2, models
    engine, = listed["engines"]
    assert engine["name"].startswith("llama-") and engine["formats"] == "as stored" and engine["bytes"] > sizes["model.safetensors"]
    file = home / ".cache/ingot" / (engine["name"] + ".ingot")
    os.utime(file, (1_000_000_000, file.stat().st_mtime))
    text = run(hub, "list").stdout
    assert "hf:tiny/llama" in text and engine["name"] in text and "used 2001-09-" in text and "generated code: " in text, text
    run(hub, "run", "hf:tiny/llama", "--prompt-ids", "1,2", "-n", "1", "--quiet")
    assert "used 2001" not in run(hub, "list").stdout

    # Nothing is removed without confirmation, if it does not exist, or outside the cache.
    assert "E0164" in run(hub, "rm", "hf:tiny/llama", code=2).stderr
    assert "E0162" in run(hub, "rm", "hf:tiny/other", "--yes", code=3).stderr
    assert "E0162" in run(hub, "rm", "hf:tiny/llama@other", "--yes", code=3).stderr
    assert "E0182" in run(hub, "rm", code=2).stderr
    outside = work / "outside.ingot"
    outside.write_text("mine")
    for name in (str(outside), "../../../outside", "../ingot/" + engine["name"], ""):
        assert "E0162" in run(hub, "rm", name, "--yes", code=3).stderr, name
    both = run(hub, "rm", engine["name"], "no-such-engine", "--yes", code=3)
    assert "E0162" in both.stderr and file.exists() and outside.exists()
    dry = run(hub, "rm", "hf:tiny/llama", engine["name"], "--dry-run")
    assert str(cache / "models--tiny--llama") in dry.stdout and str(file) in dry.stdout and file.exists()

    # One revision is removed: files that the other one needs stay.
    said = run(hub, "rm", "hf:tiny/llama@warm", "--yes").stderr
    assert "20 bytes are free again" in said, said
    check_whole("tiny/llama", repository, WANTED)
    assert not (cache / "models--tiny--llama/refs/warm").exists()
    # A link in place of a blob: the link is removed, its target stays.
    link = snapshot("tiny/llama", first) / "outside"
    link.symlink_to(outside)
    assert file.exists()
    run(hub, "rm", "hf:tiny/llama", engine["name"] + ".ingot", "--yes")
    assert outside.read_text() == "mine" and not (cache / "models--tiny--llama").exists() and not file.exists()
    assert not (cache / ".locks/models--tiny--llama").exists()
    elsewhere = work / "elsewhere"
    (elsewhere / "blobs").mkdir(parents=True)
    (cache / "models--tiny--linked").symlink_to(elsewhere)
    assert "E0163" in run(hub, "rm", "hf:tiny/linked", "--yes", code=3).stderr and elsewhere.exists()
    run(hub, "rm", "--all-engines", "--yes")
    left = json.loads(run(hub, "list", "--json").stdout)
    assert left["engines"] == [] and left["code"]["files"] == 0, left

    # Removes one file of several GGUFs.
    data = pathlib.Path(gguf).read_bytes()
    hub.add("tiny/several", {"a.gguf": data, "b.gguf": data + b"b"})
    for name in ("a", "b"):
        run(hub, "compile", f"hf:tiny/several:{name}.gguf", "--emit", "lm", code=0 if name == "a" else 3)
    run(hub, "rm", "hf:tiny/several:a.gguf", "--yes")
    model, = json.loads(run(hub, "list", "--json").stdout)["models"]
    assert model["files"] == 1 and model["bytes"] == len(data) + 1, model


def test_doctor(hub):
    """Predicts whether a hub's model would compile: fetches the small files and the headers
    of weights, but no weights."""
    hub.add("tiny/sharded", SHARDED)
    said = run(hub, "doctor", "hf:tiny/sharded", "--context", "64", "--json")
    found = json.loads(said.stdout)
    assert found["compiles"] and found["family"] == "llama" and found["kv_context"] == 64, found
    weights = found["weights"]
    assert weights["files"] == 5 and weights["bytes"] == sum(len(data) for name, data in SHARDED.items() if name.endswith(".safetensors"))
    here = json.loads(run(hub, "doctor", str(checkpoints / "llama-biases-sharded"), "--context", "64", "--json").stdout)
    assert {**found, "model": ""} == {**here, "model": ""}, (found, here)
    asked = [one for one in hub.requests if one.server == "storage"]
    assert len(asked) == 10 and all("-" in one.headers["Range"] for one in asked), asked
    assert not list(cache.rglob("*.safetensors")) and not (cache / "models--tiny--sharded/refs").exists()
    # Its statements about engine and memory match the result of compile.
    run(hub, "compile", "hf:tiny/sharded", "-o", str(work / "e.ingot"), "--quiet", "--target", "cpu:avx2")
    size = (work / "e.ingot").stat().st_size
    assert 0.9 < json.loads(run(hub, "doctor", "hf:tiny/sharded", "--target", "cpu:avx2", "--json").stdout)["engine_bytes"] / size < 1.1
    memory = json.loads(run(hub, "inspect", str(work / "e.ingot"), "--context", "64", "--json").stdout)
    assert json.dumps(found["kv_bytes"]) in json.dumps(memory), (found, memory)
    text = run(hub, "doctor", "hf:tiny/sharded").stdout
    assert "hf:tiny/sharded compiles" in text and "a token" in text and "lm_head" in text, text
    assert found["kv_bytes_per_token"] == 3 * 2 * 4 * 22 * 2 and not found["tokenizer"], found  # layers, K and V, heads, f16
    of_gguf = run(hub, "doctor", gguf).stdout
    assert "compiles" in of_gguf and "text      GGUF; template default; ends <|im_end|>" in of_gguf, of_gguf
    # A server that sends the whole file instead of a range is not read to the end.
    hub.faults["model-00001-of-00005.safetensors"] = [("whole",)]
    hub.add("tiny/again", SHARDED)
    said = run(hub, "doctor", "hf:tiny/again", code=3).stderr
    assert "E0174" in said and "does not serve ranges of model-00001-of-00005.safetensors" in said, said
    assert "trying again" not in said, said
    hub.add("tiny/gguf", {"tiny.gguf": b"GGUF"})
    assert "E0166" in run(hub, "doctor", "hf:tiny/gguf", code=3).stderr
    # Files of weights that are not valid.
    broken = work / "broken"
    broken.mkdir()
    (broken / "config.json").write_bytes(SINGLE["config.json"])
    for data in (b"", b"\xff" * 9, b"\x02" + b"\0" * 7, b"\x02" + b"\0" * 7 + b"[]", b"\x0a" + b"\0" * 7 + b'{"a": {}}  '):
        (broken / "model.safetensors").write_bytes(data)
        here, there = (run(hub, command, str(broken), *rest, code=3).stderr
                       for command, rest in (("doctor", ()), ("compile", ("-o", str(work / "e.ingot")))))
        assert "error[E02" in here and there.endswith(here), (here, there)
    hub.add("tiny/odd", SINGLE | {"config.json": b'{"architectures": ["OddForCausalLM"], "model_type": "odd"}'})
    odd = run(hub, "doctor", "hf:tiny/odd", code=3).stderr
    assert "OddForCausalLM" in odd, odd
    assert not hub.fetched("model.safetensors")[2:], "more than the header was asked for"


def test_python(hub):
    """A cache written by huggingface_hub is used unchanged. (Made by hand here: the tests
    do not have that package.)"""
    repository = hub.add("tiny/llama", SINGLE)
    commit = repository.revisions["main"]
    folder = cache / "models--tiny--llama"
    for below in ("blobs", "refs", f"snapshots/{commit}"):
        (folder / below).mkdir(parents=True)
    (folder / "refs/main").write_text(commit)
    for path in [*WANTED, "README.md"]:
        etag = fake_hub.etag_of(path, SINGLE[path])
        (folder / "blobs" / etag).write_bytes(SINGLE[path])
        (folder / "snapshots" / commit / path).symlink_to("../../blobs/" + etag)
    fetch(hub, "hf:tiny/llama")
    assert [one.path.split("?")[0] for one in hub.requests] == ["/api/models/tiny/llama/revision/main"], hub.requests
    fetch(hub, "hf:tiny/llama", HF_HUB_OFFLINE="1")
    # If the blob is already there, for example from another revision, only the link is made.
    (folder / "snapshots" / commit / "model.safetensors").unlink()
    hub.clear()
    fetch(hub, "hf:tiny/llama")
    assert not hub.fetched("model.safetensors")
    check_whole("tiny/llama", repository, [*WANTED, "README.md"])


with fake_hub.Hub() as hub:
    globals()["test_" + part](hub)

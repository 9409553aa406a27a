"""image_test.py BUILD ENGINE WORK [--checkpoint FILE]: tests the image's root under chroot,
as its user, with nothing writable.

make_root.sh makes the same folder that the Dockerfile copies into an empty image. It is bind-mounted read-only, as
with `docker run --read-only`, and a server in it answers; time is measured from chroot to the first token. With
--checkpoint, the root with the compiler first makes the engine, as the init container does, in two concurrent
processes. If buildah is installed, images are built from the same folders. Needs root.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

sys.path.append(str(pathlib.Path(__file__).parents[1] / "e2e"))
import signals  # noqa: E402

signals.default_in_children()
ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST = 60_000_000


def run(*command, **more):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def start(root, engines, *arguments, writable=False):
    """Starts the image's program as a child of PID 1: its user, its root read-only, /engines as a volume."""
    script = (f"mount --bind {root} {root} && mount -o remount,bind,ro {root} && mount -t proc proc {root}/proc && mount -t tmpfs tmpfs {root}/tmp && mount --bind {engines} {root}/engines"
              + ("" if writable else f" && mount -o remount,bind,ro {root}/engines")
              + f" && exec chroot --userspec=65532:65532 {root} /usr/bin/ingot \"$@\"")
    return subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *map(str, arguments)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={"HOME": "/tmp", "XDG_CACHE_HOME": "/engines"})


def size(root):
    return sum(path.lstat().st_size for path in root.rglob("*") if path.is_symlink() or path.is_file())


def check_contents(root, kind):
    names = {str(path.relative_to(root)) for path in root.rglob("*")}
    for what in ("python", "/bash", "bin/sh", "busybox", "dpkg", "/apt"):
        assert not any(what in f"/{name}" for name in names if not name.startswith("usr/share/doc")), f"{what} is in the image"
    assert any("LLVM" in name for name in names if not name.startswith("usr/share/doc")) == (kind == "compiler")
    document = json.loads((root / "usr/share/doc/ingot/sbom.spdx.json").read_text())
    told = {file["fileName"].removeprefix("./") for file in document["files"]}
    real = {name for name in names if (root / name).is_file() and not (root / name).is_symlink()}
    untold = {name for name in real - told if not name.startswith("etc/")} - {"usr/share/doc/ingot/sbom.spdx.json"}
    assert not untold, f"the SBOM does not name {sorted(untold)}"


def ask(port, path, body=None, key="secret"):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode() if body else None,
                                     {"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=30)


def first_token(port):
    """Waits for the server, sends a request, and returns when the first piece of text has arrived."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.002)
    with ask(port, "/v1/completions", {"prompt": "The capital of Japan is", "max_tokens": 4, "stream": True, "temperature": 0}) as stream:
        for line in stream:
            if line.startswith(b"data: {") and json.loads(line[6:])["choices"][0].get("text"):
                return


def serve(root, engines, engine, context):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = ("serve", f"/engines/{engine}", "--port", port, "--api-key", "secret", "--open-metrics", "--context", context, "--kv-memory", "256MiB", "--swap", "0")
    begun = time.monotonic()
    server = start(root, engines, *arguments)
    try:
        first_token(port)
        took = time.monotonic() - begun
        assert ask(port, "/health", key="").status == 200
        metrics = ask(port, "/metrics", key="").read().decode()
        for name in ("num_requests_waiting", "num_requests_running", "kv_cache_usage_perc", "lora_requests_info", "cache_config_info"):
            assert re.search(rf"^vllm:{name}{{", metrics, re.M), name
        # Ends as a pod does: the signal goes to the process that chroot became.
        child = server.pid
        os.kill(child, signal.SIGTERM)
        assert server.wait(30) == 0, server.stdout.read()
        return took
    finally:
        if server.poll() is None:
            server.kill()


def build_images(work, roots):
    """Builds the images with buildah, from scratch, without a registry."""
    if not shutil.which("buildah"):
        return "buildah is not here: no image was built"
    storage = ["--root", work / "storage", "--runroot", work / "run", "--storage-driver", "vfs"]
    said = []
    for kind in roots:
        run("buildah", *storage, "bud", "--isolation", "chroot", "--file", ROOT / "deploy/image/Dockerfile.prebuilt", "--target", kind, "--tag", f"ingot-{kind}", work)
        told = json.loads(run("buildah", *storage, "inspect", "--type", "image", f"ingot-{kind}"))["OCIv1"]["config"]
        assert told["User"] == "65532:65532" and told["Entrypoint"] == ["/usr/bin/ingot"], told
        run("buildah", *storage, "push", f"ingot-{kind}", f"oci-archive:{work}/{kind}.oci.tar")
        said.append(f"ingot-{kind} {(work / f'{kind}.oci.tar').stat().st_size / 1e6:.1f} MB as an archive of layers")
    return "; ".join(said)


def same_stages():
    """Checks that both Dockerfiles have the same last stages."""
    whole, prebuilt = ((ROOT / "deploy/image" / name).read_text() for name in ("Dockerfile", "Dockerfile.prebuilt"))
    stages = re.sub(r"COPY --from=build /(\w+)-root /", r"COPY \1-root /", whole[whole.index("FROM scratch AS compiler"):])
    assert prebuilt.endswith(stages), "Dockerfile.prebuilt is not the end of Dockerfile"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("engine", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--checkpoint", type=pathlib.Path)
    parser.add_argument("--context", type=int, default=1024)
    options = parser.parse_args()
    work = options.work.resolve()
    same_stages()
    work.mkdir(parents=True, exist_ok=True)
    kinds = {"runtime": [], "compiler": ["--compiler"]} if options.checkpoint else {"runtime": []}
    for kind, more in kinds.items():
        run(ROOT / "deploy/image/make_root.sh", options.build, work / f"{kind}-root", *more)
        check_contents(work / f"{kind}-root", kind)
        print(f"{kind}: {size(work / f'{kind}-root') / 1e6:.1f} MB unpacked")
    assert size(work / "runtime-root") <= MOST, "the runtime's image is to have 60 MB at most"
    engines = work / "engines"
    shutil.rmtree(engines, ignore_errors=True)
    engines.mkdir()
    engine = options.engine.name
    if options.checkpoint:
        shutil.copy(options.checkpoint, engines / "model.gguf")
        run("chown", "-R", "65532:65532", engines)
        arguments = ("compile", "/engines/model.gguf", "--cache", "/engines", "--link", "/engines/model.ingot")
        begun = time.monotonic()
        two = [start(work / "compiler-root", engines, *arguments, writable=True) for _ in range(2)]
        said = [one.communicate(timeout=600)[0] for one in two]
        assert all(one.returncode == 0 for one in two), said
        assert len(list(engines.glob("model-*.ingot"))) == 1 and (engines / "model.ingot").is_symlink(), list(engines.iterdir())
        first = time.monotonic() - begun
        begun = time.monotonic()
        again = start(work / "compiler-root", engines, *arguments, writable=True)
        assert again.wait(600) == 0
        print(f"init container: two at once {first:.1f} s, found again in {time.monotonic() - begun:.1f} s")
        engine = "model.ingot"
    else:
        shutil.copy(options.engine, engines / engine)
    times = sorted(serve(work / "runtime-root", engines, engine, options.context) for _ in range(5))
    print(f"from chroot to the first token: {times[2] * 1000:.0f} ms (median of 5, {times[0] * 1000:.0f} to {times[-1] * 1000:.0f})")
    print(build_images(work, kinds))


if __name__ == "__main__":
    main()

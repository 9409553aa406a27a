"""check_compile_memory.py INGOT CHECKPOINT WORK: compiling takes no more anonymous memory than `doctor` states,
and not much less; if a cgroup limits memory below that, `doctor` reports it."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ingot, checkpoint, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
MIB = 1 << 20
if b"__asan_init" in pathlib.Path(ingot).read_bytes():
    sys.exit()  # its shadow memory would count as well
work.mkdir(exist_ok=True)
cache = ["--cache", str(work / "cache")]


def doctor(model, *more, **how):
    return subprocess.run([ingot, "doctor", model, *cache, *more], check=True, capture_output=True, text=True, **how).stdout


def most(*command):
    """The maximum anonymous memory that the command was seen to use."""
    seen = 0
    with subprocess.Popen([ingot, *command], stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            with contextlib.suppress(OSError, TypeError):
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
                seen = max(seen, int(re.search(r"RssAnon:\s+(\d+)", status)[1]) << 10)
            time.sleep(0.005)
    assert process.returncode == 0, process
    return seen


@contextlib.contextmanager
def group(limit):
    """A cgroup with a limit, if this machine allows one; else None."""
    for parent, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        folder = pathlib.Path(parent, f"ingot-test-{os.getpid()}")
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / file).write_text(str(limit))
            yield folder
            return
        except FileNotFoundError:
            continue  # no memory controller
        finally:
            folder.rmdir()
    yield None


config = work / "config.json"
config.write_text(json.dumps({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 2,
    "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": True, "torch_dtype": "bfloat16"}))
for model, options in (checkpoint, []), (str(config), ["--weights", "random"]):
    stated = json.loads(doctor(model, "--json"))["compile_memory_bytes"]
    seen = most("compile", model, "-o", str(work / "engine"), "--quiet", *options)
    assert seen <= stated, (model, seen / MIB, stated / MIB)
    assert stated - os.cpu_count() * 24 * MIB <= 5 * seen, (model, seen / MIB, stated / MIB)

with group(stated - 16 * MIB) as folder:
    if folder:
        join = lambda: (folder / "cgroup.procs").write_text(str(os.getpid()))  # noqa: E731
        text = doctor(str(config), preexec_fn=join)
        assert re.search(r"\n  warning   [0-9.]+ MiB of memory are free here: ingot compile -j 1 takes [0-9.]+ MiB\n", text) or \
            os.cpu_count() == 1, text

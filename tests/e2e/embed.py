"""Tests libingot with a real model: compares the Python package with the command line, and
with --long installs it with pip."""
import functools
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
PROMPT = "The capital of France is"

PROGRAM = """
import json, sys
sys.path[:0] = [p for p in (sys.argv[1],) if p]
import ingot
if sys.argv[2]:
    ingot.load_library(sys.argv[2])
with ingot.Engine(sys.argv[3], max_seqs=4, context=512) as engine:
    ids = engine.encode(sys.argv[4], plain_prompt=True)
    answers = engine.generate_batch([ids, sys.argv[4]], max_tokens=24, temperature=0)
    streamed = "".join(map(str, engine.stream(sys.argv[4], max_tokens=24, temperature=0)))
    chat = engine.chat([{"role": "user", "content": "Say hello."}], max_tokens=12, temperature=0)
    told = engine.generate("My data: ", json_schema={"type": "object", "properties": {"n": {"type": "integer"}},
                           "required": ["n"], "additionalProperties": False}, max_tokens=64, temperature=0)
    plain = engine.generate(ids, max_tokens=24, temperature=0, on_logits=lambda row: None)
print(json.dumps({"ids": answers[0].ids, "same": answers[1].ids, "streamed": streamed, "text": answers[0].text,
                  "chat": chat.text, "told": told.text, "told_end": told.finish_reason, "hooked": plain.ids}))
"""


def call(python, package, library, engine):
    done = subprocess.run([python, "-c", PROGRAM, str(package), str(library), str(engine), PROMPT],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def check_answers(ingot, engine, got):
    expected = ingot.json("run", engine, PROMPT, "--greedy", "-n", 24)
    assert got["ids"] == got["same"] == got["hooked"] == expected["ids"], (got, expected["ids"])
    assert got["streamed"] == got["text"] == expected["text"], (got, expected["text"])
    chat = ingot.json("run", engine, "--chat", "Say hello.", "--greedy", "-n", 12)
    assert got["chat"] == chat["text"], (got["chat"], chat["text"])
    if got["told_end"] == "stop":
        assert isinstance(json.loads(got["told"])["n"], int), got["told"]
    else:  # a number may continue as long as allowed
        assert got["told"].lstrip().startswith("{"), got["told"]


def add(suite, ingot, checkpoint, long):
    @functools.cache
    def engine():  # compiled in this run: an older build may have left one of another format
        path = ingot.work / "embed.ingot"
        ingot("compile", checkpoint.path, "-o", path, "--quiet")
        return path

    def package():
        library = pathlib.Path(ingot.path).parents[1] / "lib" / "libingot.so.0"
        check_answers(ingot, engine(), call(sys.executable, ROOT / "python" / "src", library, engine()))

    def installed():
        """Installs as a user would: a fresh environment, without the tree on its path."""
        environment = ingot.work / "embed-venv"
        subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
        python = environment / "bin" / "python"
        # The crates are already compiled for this build's C compiler; the rest of the library is rebuilt.
        build = pathlib.Path(ingot.path).parents[1]
        cache = (build / "CMakeCache.txt").read_text()
        same = {}
        for name in ("INGOT_CARGO_TARGET_DIR", "CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER"):
            same[name] = re.search(rf"^{name}:\w+=(.*)$", cache, re.M)[1]
        settings = [f"-Ccmake.define.{name}={value}" for name, value in same.items()]
        done = subprocess.run([python, "-m", "pip", "install", "--disable-pip-version-check", str(ROOT / "python"),
                               f"-Cbuild-dir={ingot.work / 'embed-pip'}", *settings],
                              capture_output=True, text=True, timeout=1800)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        check_answers(ingot, engine(), call(python, "", "", engine()))

    suite.check("embed smollm2: the Python package answers as `ingot run`", package)
    if long:
        suite.check("embed smollm2: pip install, and the same answers", installed)

"""Compiles checkpoints to engines. It runs libingot-compiler.so in a separate process, and only when needed.

LLVM's memory is freed before the model is served, a plugin's crash becomes an exception here, and the runtime
library stays independent of the compiler. Engines are cached where `ingot run` caches them, under the same names.
"""
from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING, Iterable, List, Optional, Tuple, Union

from ._library import IngotError, library_folder, suggesting

if TYPE_CHECKING:
    Path = Union[str, "os.PathLike[str]"]

NAME = "libingot-compiler.so"
_MAGIC_SIZE = 8


def is_checkpoint(path: "Path") -> bool:
    """Returns whether `ingot run` would compile this path first."""
    place = pathlib.Path(path)
    if place.is_dir():
        return True
    if place.suffix not in (".gguf", ".safetensors", ".json"):
        return False
    with contextlib.suppress(OSError), open(place, "rb") as file:
        return not file.read(_MAGIC_SIZE).startswith(b"INGOT")
    return False


def compiler_library() -> pathlib.Path:
    """Returns the path of the compiler, next to libingot or in ../lib of an `ingot` on the PATH. Raises IngotError
    E0592."""
    command = shutil.which("ingot")
    here = pathlib.Path(__file__).parent
    places = [here / "lib" / NAME, here / NAME, library_folder() / NAME]
    if command:
        places.append(pathlib.Path(command).resolve().parent.parent / "lib" / NAME)
    for place in places:
        if place.exists():
            return place
    looked = ", ".join(str(place.parent) for place in places)
    raise IngotError(
        70,
        "E0592",
        "the compiler is not installed: checkpoints cannot be opened, engines can",
        f"looked for {NAME} in {looked}",
        "install the ingot command (its bin/ on the PATH), or compile elsewhere: ingot compile MODEL -o model.ingot",
    )


@suggesting
def compile(
    model: "Path",
    output: "Optional[Path]" = None,
    *,
    quantize: Optional[str] = None,
    recipe: "Optional[Path]" = None,
    target: Union[None, str, Iterable[str]] = None,
    kv: Union[None, str, Iterable[str]] = None,
    precision: Optional[str] = None,
    weights: Optional[str] = None,
    seed: Optional[int] = None,
    chat_template: "Optional[Path]" = None,
    ignore_keys: Iterable[str] = (),
    disable: Iterable[str] = (),
    patterns: "Iterable[Path]" = (),
    plugins: "Iterable[Path]" = (),
    insert: Iterable[str] = (),
    verify: bool = False,
    batch_invariant: bool = False,
    jobs: int = 0,
    cache: "Optional[Path]" = None,
) -> pathlib.Path:
    """Compiles a checkpoint (a folder, .gguf, .safetensors, or a config.json with
    `weights`) and returns the engine's path.

    Without `output` the engine is stored in `cache` (default: $XDG_CACHE_HOME/ingot or
    ~/.cache/ingot) and found there the next time. The options are those of `ingot
    compile`. Its errors raise IngotError; its warnings become Python warnings.
    """
    arguments: List[str] = []

    def add(flag: str, values: "Iterable[Union[None, int, Path]]") -> None:
        for value in values:
            if value is not None:
                arguments.extend([flag, str(value) if isinstance(value, int) else os.fsdecode(value)])

    add("--target", [target] if target is None or isinstance(target, str) else target)
    add("--ignore-key", ignore_keys)
    add("--quantize", [quantize])
    add("--kv", [kv] if kv is None or isinstance(kv, str) else kv)
    add("--precision", [precision])
    add("--weights", [weights])
    add("--seed", [seed])
    add("--recipe", [recipe])
    add("--chat-template", [chat_template])
    add("--disable", disable)
    add("--patterns", patterns)
    add("--plugin", plugins)
    add("--insert", insert)
    if verify:
        arguments.append("--verify")
    if batch_invariant:
        arguments.append("--batch-invariant")
    add("-j", [jobs or None])
    folder = _cache_folder(cache)
    if folder is not None:
        add("--cache", [folder])
    if output is not None:
        add("-o", [output])
    elif folder is None:
        raise IngotError(3, "E0593", "there is no place for the engine", "neither XDG_CACHE_HOME nor HOME is set", "give output, or cache")
    printed = _run([os.fsdecode(model), *arguments])
    return pathlib.Path(output) if output is not None else pathlib.Path(printed.splitlines()[-1])


def _cache_folder(given: "Optional[Path]") -> "Optional[Path]":
    if given is not None:
        return given
    if os.environ.get("XDG_CACHE_HOME"):
        return pathlib.Path(os.environ["XDG_CACHE_HOME"]) / "ingot"
    home = os.environ.get("HOME")
    return pathlib.Path(home) / ".cache" / "ingot" if home else None


def _run(arguments: List[str]) -> str:
    """Runs `ingot compile ARGUMENTS` in another process and returns its output."""
    child = pathlib.Path(__file__).with_name("_compiler_child.py")
    command = [sys.executable or "python3", "-E", "-S", str(child), str(compiler_library()), "compile", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    printed = done.stderr.decode("utf-8", "replace")
    for line in re.findall(r"^warning: (.*)$", printed, re.M):
        warnings.warn(line, stacklevel=4)
    if done.returncode == 0:
        return os.fsdecode(done.stdout)
    raise _error(done.returncode, printed)


def _error(status: int, printed: str) -> IngotError:
    """Returns the last error, read from its three lines: what, why (may be missing), and what to do."""
    at = printed.rfind("error[E")
    found = re.match(r"error\[(E\d{4})\]: (.*)", printed[at:]) if at >= 0 else None
    if not found:
        why = f"it ended by signal {-status}" if status < 0 else printed.strip()[-2000:]
        return IngotError(70, "E0596", "the compiler failed without saying why", why, "report it with the checkpoint's config")
    rest = [line.strip() for line in printed[at:].splitlines()[1:] if re.match("  [^ ]", line)]  # no crash addresses
    why, fix = _why_and_fix(rest)
    return IngotError(status, found[1], found[2], why, fix)


def _why_and_fix(lines: List[str]) -> Tuple[str, str]:
    return ("", lines[0]) if len(lines) == 1 else (" ".join(lines[:-1]), lines[-1]) if lines else ("", "")

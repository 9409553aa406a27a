"""Finds libingot.so.0, and turns its errors into exceptions."""
from __future__ import annotations

import ctypes
import ctypes.util
import difflib
import functools
import inspect
import os
import pathlib
import threading
from typing import Any, Callable, Iterable, Optional, TypeVar, Union, cast

from . import _abi

NAME = "libingot.so.0"
QUEUE_FULL, SHUTTING_DOWN = "E0560", "E0561"  # docs/errors.md
_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None


class IngotError(Exception):
    """An error: a stable code ("E0505"), what went wrong, why (with numbers), and what to do.

    `status` is 2 for an invalid request, 3 for a file, 4 for a device or a temporary
    lack of memory, 70 for a bug in Ingot.
    """

    def __init__(self, status: int, code: str, what: str, why: str = "", fix: str = "") -> None:
        super().__init__("\n  ".join(line for line in (f"{code}: {what}", why, fix) if line))
        self.status, self.code, self.what, self.why, self.fix = status, code, what, why, fix


def load_library(path: Optional[Union[str, "os.PathLike[str]"]] = None) -> ctypes.CDLL:
    """Opens libingot. It is called wherever the library is needed. Opens `path` if it is given, which is possible
    only before any other call; otherwise the library that this package was installed with, otherwise the system's.
    Raises IngotError E0579."""
    global _loaded
    with _lock:
        if _loaded is not None:
            return _loaded
        here = pathlib.Path(__file__).resolve()
        # The library is next to this file if it is installed, or in the build folder of the repository.
        own = [here.with_name(NAME), *(parent / "build" / "lib" / NAME for parent in list(here.parents)[3:4])]
        beside = next((place for place in own if place.exists()), None)
        chosen = os.fspath(path) if path is not None else str(beside) if beside else NAME
        try:
            library = ctypes.CDLL(chosen)
        except OSError as error:
            raise IngotError(
                3, "E0579", f"{NAME} cannot be opened", str(error), "pip install the package, or load_library(PATH)"
            ) from None
        version = library.ingot_abi_version
        version.restype = ctypes.c_uint32
        if version() < _abi.ABI_VERSION:
            raise IngotError(
                3,
                "E0579",
                f"{chosen} is too old for this package",
                f"it has interface {version()}, {_abi.ABI_VERSION} is needed",
                "install libingot and the package from one release",
            )
        for name, (result, arguments) in _abi.FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        _loaded = library
        return library


def library_folder() -> pathlib.Path:
    """Returns the folder of the library that was opened."""
    load_library()
    with open("/proc/self/maps") as maps:
        for line in maps:
            place = pathlib.Path(line[line.index("/") :].rstrip()) if "/" in line else None
            if place and place.name.startswith(NAME):
                return place.parent
    return pathlib.Path(__file__).parent


def version() -> str:
    """Returns the library's release, such as "0.1.0"."""
    return str(load_library().ingot_version().decode())


def unknown_names(what: str, unknown: Iterable[str], known: Iterable[str]) -> TypeError:
    """Returns a TypeError such as "unknown options: max_token (did you mean max_tokens?)"."""
    known = list(known)
    hints = []
    for name in sorted(unknown):
        near = difflib.get_close_matches(name, known, n=1)
        hints.append(f"{name} (did you mean {near[0]}?)" if near else name)
    return TypeError(f"unknown {what}: {', '.join(hints)}")


_Function = TypeVar("_Function", bound=Callable[..., Any])


def suggesting(function: _Function) -> _Function:
    """Makes a function's TypeError name the keyword that was probably meant. Python itself does so only since
    3.13, and not in all cases."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if unknown := set(options) - set(known):
            raise unknown_names(f"arguments of {function.__qualname__}", unknown, known)
        return function(*arguments, **options)

    return cast(_Function, call)


def read_error(library: ctypes.CDLL, error: Any) -> IngotError:
    """Reads an error of the library. Its owner still has to free it."""
    words = [getattr(library, f"ingot_error_{part}")(error).decode("utf-8", "replace") for part in ("code", "what", "why", "fix")]
    return IngotError(library.ingot_error_status(error), *words)


def checked(library: ctypes.CDLL, function: str, *arguments: Any) -> int:
    """Calls a function whose last argument receives the error. Raises the error, or returns the status."""
    error = ctypes.c_void_p()
    status: int = getattr(library, function)(*arguments, ctypes.byref(error))
    if status in (_abi.OK, _abi.TIMEOUT):
        return status
    if not error:
        raise MemoryError
    try:
        raise read_error(library, error)
    finally:
        library.ingot_error_free(error)

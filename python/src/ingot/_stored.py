"""Fetches engines that are stored elsewhere, once per machine. They are verified by hash and kept in the cache of
`ingot run`.

fsspec supports S3, GCS, Azure, HTTP and others. It is imported only when an address needs it.
"""
from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import tempfile
from typing import IO, Iterator, Optional, Union

from ._compiler import _cache_folder
from ._library import IngotError

_PIECE = 8 << 20
_HASH = re.compile(r"[0-9a-f]{64}")


def engine_path(engine: str, sha256: Optional[str] = None, cache: Optional[str] = None) -> pathlib.Path:
    """Returns the engine's path on this machine.

    `engine` is a path; an address that fsspec supports ("s3://models/m.ingot"); "sha256:…", an
    engine that was fetched before; or "cache:NAME-KEY", one that this machine compiled.
    `sha256` is the hash of the file. For an address without it, the hash is read from
    ADDRESS.sha256. For a path it is checked if given. Raises IngotError E0563, E0565, E0566, E0598, E0599.
    """
    if sha256 is not None and not _HASH.fullmatch(sha256):
        raise IngotError(2, "E0563", f"sha256 of {engine} is not a hash: {sha256}", "64 digits in lower case are one", "sha256sum FILE")
    if engine.startswith("sha256:"):
        return _kept(engine, engine[len("sha256:") :], cache)
    if engine.startswith("cache:"):
        place = _folder(cache) / f"{engine[len('cache:') :]}.ingot"
        if not place.exists():
            raise _not_here(engine, f"there is no {place}")
        return place
    if "://" in engine:
        return _fetched(engine, sha256, cache)
    place = pathlib.Path(engine)
    if not place.exists():
        raise _not_here(engine, "there is no such file on this machine")
    if sha256 is not None:
        with open(place, "rb") as file:
            _check(engine, sha256, _hash(file))
    return place


def _not_here(engine: str, why: str) -> IngotError:
    return IngotError(
        3, "E0599", f"the engine {engine} is not here", why, "give a path that every machine has, or an address to fetch it from"
    )


def _folder(cache: Optional[str]) -> pathlib.Path:
    folder = _cache_folder(cache)
    if folder is None:
        raise IngotError(3, "E0593", "there is no place for the engine", "neither XDG_CACHE_HOME nor HOME is set", "give cache")
    return pathlib.Path(folder)


def _name(stem: str, sha256: str) -> str:
    return f"{stem}-sha256-{sha256}.ingot"


def _kept(engine: str, sha256: str, cache: Optional[str]) -> pathlib.Path:
    if not _HASH.fullmatch(sha256):
        raise IngotError(2, "E0563", f"{engine} has no hash", "64 digits in lower case are one", "sha256sum FILE")
    found = sorted(_folder(cache).glob(_name("*", sha256)))
    if not found:
        raise _not_here(engine, f"none of that content was fetched into {_folder(cache)}")
    return found[0]


def _fetched(address: str, sha256: Optional[str], cache: Optional[str]) -> pathlib.Path:
    try:
        import fsspec
    except ImportError:
        raise IngotError(
            2, "E0565", f"{address} cannot be fetched", "the package fsspec is not installed", "pip install fsspec, or 'ingot[ray]'"
        ) from None
    if sha256 is None:
        sha256 = _hash_beside(address)
    folder = _folder(cache)
    folder.mkdir(parents=True, exist_ok=True)
    stem = pathlib.PurePosixPath(address.split("://", 1)[1]).name
    stem = stem[: -len(".ingot")] if stem.endswith(".ingot") else stem
    place = folder / _name(re.sub(r"[^\w.-]", "_", stem), sha256)
    # Several replicas of a machine may start at once. One fetches the file, and the others wait for it.
    with _alone(folder / f".{place.name}.lock"):
        if place.exists():
            return place
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{place.name}.")
        try:
            with os.fdopen(descriptor, "wb") as out, fsspec.open(address, "rb") as source:
                _check(address, sha256, _hash(source, out))
            os.chmod(temporary, 0o644)
            os.rename(temporary, place)
        except IngotError:
            raise
        except Exception as error:  # an fsspec backend may raise anything
            raise IngotError(
                3, "E0598", f"{address} cannot be fetched", f"{type(error).__name__}: {error}", "try it with fsspec.open(ADDRESS)"
            ) from error
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
    return place


def _hash_beside(address: str) -> str:
    """Returns the hash that `sha256sum` wrote into ADDRESS.sha256."""
    import fsspec

    try:
        with fsspec.open(f"{address}.sha256", "rb") as file:
            words = file.read(256).decode("ascii", "replace").split()
    except Exception as error:
        raise IngotError(
            2, "E0563", f"{address} has no hash to verify it by", f"nor is there {address}.sha256 ({type(error).__name__})",
            "give sha256, or put what sha256sum prints into that file",
        ) from error  # fmt: skip
    if not words or not _HASH.fullmatch(words[0]):
        raise IngotError(2, "E0563", f"{address}.sha256 has no hash", "64 digits in lower case are one", "write sha256sum's output there")
    return words[0]


def _hash(source: IO[bytes], copy: Optional[IO[bytes]] = None) -> str:
    digest = hashlib.sha256()
    while piece := source.read(_PIECE):
        digest.update(piece)
        if copy is not None:
            copy.write(piece)
    return digest.hexdigest()


def _check(engine: str, expected: str, found: str) -> None:
    if found != expected:
        raise IngotError(
            3, "E0566", f"{engine} is another file than is asked for", f"its sha256 is {found}, {expected} is expected",
            "give the hash of what is there, or put the right file there",
        )  # fmt: skip


@contextlib.contextmanager
def _alone(lock: Union[str, "os.PathLike[str]"]) -> Iterator[None]:
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

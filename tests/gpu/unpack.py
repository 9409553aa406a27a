#!/usr/bin/env python3
"""Unpacks a .tar.zst where tar cannot: with Python's own zstd (3.14), the zstandard package, the zstd program or
libzstd.so.1, whichever is available.

    unpack.py FILE.tar.zst [FOLDER]
"""
import ctypes
import io
import pathlib
import shutil
import subprocess
import sys
import tarfile


def by_python(data):
    from compression import zstd
    return zstd.decompress(data)


def by_package(data):
    import zstandard
    return zstandard.ZstdDecompressor(max_window_size=1 << 27).decompress(data)


def by_program(data):
    if not shutil.which("zstd"):
        raise ImportError("there is no zstd program")
    return subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout


def by_library(data):
    zstd = ctypes.CDLL("libzstd.so.1")
    for name in ("ZSTD_getFrameContentSize", "ZSTD_decompress"):
        getattr(zstd, name).restype = ctypes.c_size_t
    size = zstd.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
    memory = ctypes.create_string_buffer(size)
    if zstd.ZSTD_decompress(memory, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data))) != size:
        raise OSError("the file is damaged")
    return memory.raw


WAYS = (by_python, by_package, by_program, by_library)


def unpacked(data, ways=WAYS):
    problems = []
    for way in ways:
        try:
            return way(data)
        except (ImportError, OSError) as problem:
            problems.append(f"{way.__name__}: {problem}")
    raise SystemExit("unpack.py: nothing here reads zstd\n  " + "\n  ".join(problems))


def main(file, folder="."):
    with tarfile.open(fileobj=io.BytesIO(unpacked(pathlib.Path(file).read_bytes()))) as archive:
        archive.extractall(folder)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])

"""Reads ELF files with readelf: the libraries a file needs, where it looks for them, and the versions it
requires."""
import functools
import pathlib
import re
import subprocess

# The loader and glibc's libraries. Every Linux with glibc has them, and all of them must come from one system.
GLIBC = {"ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2", "libutil.so.1"}
# Libraries that a Python process has already loaded (manylinux leaves them out of wheels).
CXX = {"libstdc++.so.6", "libgcc_s.so.1"}


def is_elf(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


@functools.cache
def _dynamic(path):
    return subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", _dynamic(str(path)))


def runpath(path):
    """The folders that the file searches, from RPATH and RUNPATH."""
    return [folder for text in re.findall(r"\((?:RUNPATH|RPATH)\)\s+Library r(?:un)?path: \[(.*?)\]", _dynamic(str(path)))
            for folder in text.split(":") if folder]


def versions(path):
    """The symbol versions that the file requires: {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 30),
    …}, the newest of each kind."""
    text = subprocess.run(["readelf", "-VW", path], capture_output=True, text=True, check=True).stdout
    newest = {}
    for kind, number in re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_(\d+(?:\.\d+)*) ", text):
        found = tuple(map(int, number.split(".")))
        newest[kind] = max(newest.get(kind, found), found)
    return newest


def loaded(path):
    """{soname: file} of all libraries that the loader would load for the file on this machine."""
    text = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    missing = re.findall(r"^\s*(\S+) => not found", text, re.M)
    if missing:
        raise SystemExit(f"{path} wants {', '.join(missing)}, which this machine has not")
    found = dict(re.findall(r"^\s*(\S+) => (/\S+) \(", text, re.M))
    found |= {pathlib.Path(loader).name: loader for loader in re.findall(r"^\s*(/\S+) \(", text, re.M)}
    return {name: pathlib.Path(file).resolve() for name, file in found.items()}


def set_runpath(path, folders):
    subprocess.run(["patchelf", "--set-rpath", ":".join(folders), path], check=True)
    _dynamic.cache_clear()

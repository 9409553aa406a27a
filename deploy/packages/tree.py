"""A relocatable folder of build results: bin/, lib/, share/, including the libraries that the target may lack.

Programs look for libraries relative to themselves ($ORIGIN), so the folder can be anywhere. For each file copied
from this machine the tree records its origin, from which sbom.py finds the Debian package.
"""
import dataclasses
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

import elf

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = {"command": ("bin/ingot",),
         "library": ("lib/libingot.so", "include/", "lib/cmake/", "lib/pkgconfig/"),
         "compiler": ("lib/libingot-compiler.so", "lib/libingot-cuda-emulator.so", "share/ingot/")}


@dataclasses.dataclass
class Tree:
    root: pathlib.Path
    bundled: dict = dataclasses.field(default_factory=dict)  # {path in the tree: the file it was copied from}

    def files(self):
        """All files and links, sorted by name."""
        return sorted(path for path in self.root.rglob("*") if path.is_symlink() or not path.is_dir())

    def programs(self):
        return [path for path in self.files() if not path.is_symlink() and elf.is_elf(path)]

    def name(self, path):
        return str(path.relative_to(self.root))

    def size(self):
        return sum(path.lstat().st_size for path in self.files())

    def floor(self):
        """The newest versions that any file requires of libraries outside the tree."""
        inside, newest = {path.name for path in self.programs()}, {}
        for path in self.programs():
            for kind, number in elf.versions(path).items():
                provider = {"GLIBC": "libc.so.6", "GCC": "libgcc_s.so.1"}.get(kind, "libstdc++.so.6")
                if provider not in inside:
                    newest[kind] = max(newest.get(kind, number), number)
        return newest


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def install(build, root, parts):
    """Runs `cmake --install` for these parts, stripped."""
    staged = root.parent / (root.name + ".staged")
    shutil.rmtree(staged, ignore_errors=True)
    for component in ("command", "library"):
        subprocess.run(["cmake", "--install", build, "--prefix", staged, "--component", component, "--strip"], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    wanted = tuple(prefix for part in parts for prefix in PARTS[part])
    for path in sorted(staged.rglob("*")):
        name = str(path.relative_to(staged))
        if (path.is_symlink() or not path.is_dir()) and name.startswith(wanted):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            path.rename(root / name)
    shutil.rmtree(staged)
    return Tree(root)


def bundle(tree, build, system, more=(), folder="lib"):
    """Copies into `folder` every library that the programs need and that is not in `system`, and the files of
    `more`, which nothing names, with their libraries. Then makes all of them look for their libraries there."""
    sources = {name: file for program in ("bin/ingot", "lib/libingot.so.0", "lib/libingot-compiler.so", "lib/libingot-cuda-emulator.so")
               if (build / program).exists() and (tree.root / program).exists() for name, file in elf.loaded(build / program).items()}
    for file in more:
        sources |= elf.loaded(file)
        sources[pathlib.Path(file).name] = pathlib.Path(file).resolve()
    own = {path.name for path in tree.programs()}
    waiting = [*tree.programs(), *map(pathlib.Path, more)]
    wanted = {pathlib.Path(file).name for file in more}
    while waiting:
        for name in elf.needed(waiting.pop()):
            if name not in system | own | wanted:
                wanted.add(name)
                waiting.append(sources[name])
    (tree.root / folder).mkdir(parents=True, exist_ok=True)
    for name in sorted(wanted):
        target = tree.root / folder / name
        shutil.copyfile(sources[name], target)
        target.chmod(0o644)
        tree.bundled[tree.name(target)] = sources[name]
    look_beside(tree, folder)


def look_beside(tree, folder="lib"):
    """Makes every program look for libraries in `folder`, relative to itself, and nowhere else."""
    inside = {path.name for path in (tree.root / folder).iterdir()} if (tree.root / folder).exists() else set()
    for path in tree.programs():
        way = os.path.relpath(tree.root / folder, path.parent)
        there = "$ORIGIN" if way == "." else f"$ORIGIN/{way}"
        now = elf.runpath(path)
        # The loader and libc need no path. LLVM's libraries already have an equivalent path,
        # and they are too large to rewrite without need.
        if not inside.intersection(elf.needed(path)) or path.name in elf.GLIBC:
            if now:
                elf.set_runpath(path, [])
        elif [os.path.normpath(f.replace("$ORIGIN", str(path.parent))) for f in now] != [str(tree.root / folder)]:
            elf.set_runpath(path, [there])


def names_folder(data, folder):
    """Whether these bytes contain the folder as a path or as the beginning of one. The
    preceding bytes are ignored, because Rust stores its strings back to back; but a
    folder of one component (/ingot) may be the end of another path."""
    text, at, short = folder.encode(), -1, folder.count("/") == 1
    while (at := data.find(text, at + 1)) >= 0:
        if not (short and re.match(rb"[\w./-]", data[max(at - 1, 0) : at])) and not re.match(rb"[\w.-]", data[at + len(text) : at + len(text) + 1]):
            return True
    return False


def problems(tree, forbidden):
    """Finds what must not ship to other machines: paths of this one, and library searches outside the tree."""
    inside = {path.name for path in tree.files()}
    for path in tree.programs():
        for folder in elf.runpath(path):
            if not folder.startswith("$ORIGIN"):
                yield f"{tree.name(path)} looks for libraries in {folder}"
        for name in elf.needed(path):
            if name not in inside | elf.GLIBC | elf.CXX:
                yield f"{tree.name(path)} wants {name}, which is not inside"
    for path in tree.files():
        if path.is_symlink():
            if not (path.parent / os.readlink(path)).exists():
                yield f"{tree.name(path)} leads nowhere"
            continue
        data = path.read_bytes()
        for folder in forbidden:
            if names_folder(data, folder):
                yield f"{tree.name(path)} names {folder}"

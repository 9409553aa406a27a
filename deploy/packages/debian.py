"""Packages for this Debian: `ingot` (the command), `ingot-compiler` (the compiler it loads), `libingot-dev` (for
programs that embed engines). Libraries come from Debian: dpkg-shlibdeps finds the packages that contain them.

The command and the compiler are installed in /usr/lib/ingot, as in the tarball, and /usr/bin/ingot links there.
There are no maintainer scripts, so nothing is left behind.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess

import elf
import sbom
import tree
from tree import ROOT

MAINTAINER = "Ingot <noreply@ingot.invalid>"
PACKAGES = {
    "ingot": (("command",), "usr/lib/ingot", "runs and serves language models that Ingot compiled",
              " One file is a model: weights in kernel layout and code already linked. This\n package runs and serves such files, and needs neither Python nor LLVM."),
    "ingot-compiler": (("compiler",), "usr/lib/ingot", "compiles language models into engines of Ingot",
                       " Makes engines out of GGUF files and folders of safetensors. `ingot` finds it\n and compiles checkpoints that it is given."),
    "libingot-dev": (("library",), "usr", "runs engines of Ingot inside of other programs",
                     " libingot, its headers of C and C++, and what CMake and pkg-config want to know."),
}


def shlibdeps(made, work):
    """The packages that contain the linked libraries; dpkg-shlibdeps needs a debian/control."""
    (work / "debian").mkdir(parents=True, exist_ok=True)
    (work / "debian/control").write_text("Source: ingot\n\nPackage: ingot\nArchitecture: amd64\n")
    programs = [os.path.relpath(path, work) for path in made.programs()]
    folders = sorted({folder for path in made.programs() for folder in elf.runpath(path) if folder.startswith("/")})
    done = subprocess.run(["dpkg-shlibdeps", "-O", "--ignore-missing-info", *(f"-l{folder}" for folder in folders), *programs],
                          cwd=work, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"dpkg-shlibdeps: {done.stderr}")
    found = set(done.stdout.strip().removeprefix("shlibs:Depends=").split(", "))
    # Libraries without dependency metadata (libMLIR): require their package in at least the version installed here.
    names = {name.partition(" ")[0] for name in found}
    for path in made.programs():
        for name, file in elf.loaded(path).items():
            package = sbom.debian_package(file) if name in elf.needed(path) else None
            if package and package not in names and not any(package == f.partition(" ")[0] for f in found):
                if package in ("libc6", "libgcc-s1", "libstdc++6"):
                    continue
                upstream = sbom.debian_source(package)[1].rpartition("-")[0]
                found.add(f"{package} (>= {upstream})")
    return ", ".join(sorted(found))


def control(package, made, depends, version):
    _, _, summary, long = PACKAGES[package]
    more = {"ingot": "Recommends: ingot-compiler\nSuggests: libcurl4\n", "ingot-compiler": "", "libingot-dev": ""}[package]
    return (f"Package: {package}\nVersion: {version}\nArchitecture: amd64\nMaintainer: {MAINTAINER}\nInstalled-Size: {-(-made.size() // 1024)}\n"
            f"Depends: {depends}\n{more}Section: {'libdevel' if package == 'libingot-dev' else 'science'}\nPriority: optional\nDescription: {summary}\n{long}\n")


def make(build, output, work, version, epoch):
    made_packages = []
    for package, (parts, prefix, _, _) in PACKAGES.items():
        root = work / package
        shutil.rmtree(root, ignore_errors=True)
        placed = tree.install(build, root / prefix, parts)
        made = tree.Tree(root)
        depends = shlibdeps(placed, work)
        if package == "ingot":
            (root / "usr/bin").mkdir(parents=True)
            (root / "usr/bin/ingot").symlink_to("../lib/ingot/bin/ingot")
            completion = root / "usr/share/bash-completion/completions/ingot"
            completion.parent.mkdir(parents=True)
            completion.write_bytes(subprocess.run([build / "bin/ingot", "completion", "bash"], capture_output=True, check=True).stdout)
        elif package == "ingot-compiler":
            depends += f", ingot (= {version})"
            # Keep the folder in which Debian installs LLVM, and drop all others, so that the
            # build's own folders are not searched.
            library = placed.root / "lib/libingot-compiler.so"
            elf.set_runpath(library, [folder for folder in elf.runpath(library) if folder.startswith("/usr/lib/llvm-")])
        documents = root / f"usr/share/doc/{package}"
        documents.mkdir(parents=True)
        shutil.copyfile(ROOT / "LICENSE", documents / "copyright")
        inside = tree.Tree(root)
        # The document names files by their installed paths; our own programs in the package
        # decide what counts as linked.
        document = sbom.Sbom(placed, documents, package, version, epoch)
        document.gather(build, parts)
        document.tree = inside
        document.write(documents / "sbom.spdx.json")
        control_folder = root / "DEBIAN"
        sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {inside.name(path)}\n" for path in inside.files() if not path.is_symlink()]
        text = control(package, inside, depends, version)
        control_folder.mkdir()
        (control_folder / "control").write_text(text)
        (control_folder / "md5sums").write_text("".join(sums))
        if package == "libingot-dev":
            (control_folder / "triggers").write_text("activate-noawait ldconfig\n")
        for path in sorted(root.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or (elf.is_elf(path) and "bin" in path.parts) else 0o644)
        root.chmod(0o755)
        file = output / f"{package}_{version}_amd64.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", root, file], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, SOURCE_DATE_EPOCH=str(epoch)))
        shutil.rmtree(control_folder)
        made_packages.append((pathlib.Path(file), made))
    return made_packages

"""make_packages.py BUILD OUTPUT [--only KIND…]: makes packages from BUILD, each with all
its dependencies and an SBOM.

  tarball     ingot-VERSION-linux-x86_64.tar.gz             unpack it anywhere: bin/ingot, LLVM inside
  runtime     ingot-runtime-VERSION-linux-x86_64.tar.gz     the same without the compiler and LLVM
  wheel       ingot-VERSION-py3-none-manylinux_…whl         pip install it: `import ingot`, and `ingot` on the PATH
  deb         ingot_…deb, ingot-compiler_…deb, libingot-dev_…deb   for this Debian; LLVM is Debian's own
  manifests   manifests/NAME.yaml                           the Helm chart's objects, for use without Helm

The same build and SOURCE_DATE_EPOCH (default: the last commit's time) make the same bytes. See docs/packages.md.
"""
import argparse
import gzip
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import debian
import elf
import sbom
import tree
from tree import ROOT

sys.path.insert(0, str(ROOT / "python"))
import make_wheel  # noqa: E402

KINDS = ("tarball", "runtime", "wheel", "deb", "manifests")
KUBERNETES = ROOT / "deploy/kubernetes"


def version():
    return re.search(r"project\(Ingot VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def epoch():
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    done = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else 315532800  # no history: 1980, zip's earliest


def paths_of_this_machine(build):
    """The paths that must not be in a package: those of the sources and of the builder's crates."""
    cargo = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
    return [str(ROOT), str(build), cargo]


def check(made, build):
    found = list(tree.problems(made, paths_of_this_machine(build)))
    if found:
        raise SystemExit("the package would not work on other machines:\n  " + "\n  ".join(found))


def make_tree(build, root, parts, system=elf.GLIBC, name="ingot", documents="share/doc/ingot"):
    """Makes a relocatable folder with its SBOM. Libraries in `system` are not included: the target system has
    them."""
    made = tree.install(build, root, parts)
    tree.bundle(made, build, system)
    (root / documents).mkdir(parents=True)
    shutil.copyfile(ROOT / "LICENSE", root / documents / "LICENSE")
    sbom.write_sbom(made, root / documents, root / documents / "sbom.spdx.json", build, parts, name, version(), epoch())
    return made


def tar(made, target, folder):
    """Writes a sorted archive without owners, with one timestamp for all files."""
    def add(archive, path, name):
        entry = archive.gettarinfo(path, name)
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = epoch()
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o111 else 0o644
        if entry.isfile():
            with open(path, "rb") as f:
                archive.addfile(entry, f)
        else:
            archive.addfile(entry)

    with open(target, "wb") as out, gzip.GzipFile("", "wb", 6, out, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT) as archive:
        add(archive, made.root, folder)
        for path in sorted(made.root.rglob("*")):
            add(archive, path, f"{folder}/{made.name(path)}")
    return target


def make_tarball(build, output, work, name, parts):
    folder = f"{name}-{version()}-linux-x86_64"
    made = make_tree(build, work / folder, parts, name=name)
    check(made, build)
    return [(tar(made, output / f"{folder}.tar.gz", folder), made)]


def manylinux(made):
    """The oldest glibc that it runs with, as a wheel tag. Anything older than manylinux2014 gets that tag."""
    newest = made.floor()
    if newest.get("GLIBCXX", (3, 4)) > (3, 4, 30):
        raise SystemExit(f"libstdc++ of GLIBCXX {newest['GLIBCXX']} is newer than what manylinux promises")
    return "manylinux_%d_%d_x86_64" % max(newest["GLIBC"][:2], (2, 17))


def make_wheel_package(build, output, work):
    """Libraries go into ingot/lib, except those that a Python process has already loaded (libstdc++)."""
    parts = ("command", "library", "compiler")
    made = tree.install(build, work / "wheel" / "ingot", parts)
    for left in ("include", "lib/cmake", "lib/pkgconfig"):
        shutil.rmtree(made.root / left)
    library = made.root / "lib" / "libingot.so.0"
    real = library.resolve()
    for path in list(made.root.glob("lib/libingot.so*")):
        if path.is_symlink():
            path.unlink()
    real.rename(library)
    tree.bundle(made, build, elf.GLIBC | elf.CXX)
    library.rename(made.root / "libingot.so.0")
    tree.look_beside(made)
    # From here on, the tree is a folder of a Python environment.
    made.bundled = {f"ingot/{name}": file for name, file in made.bundled.items()}
    inside = tree.Tree(made.root.parent, made.bundled)
    information = inside.root / f"ingot-{version()}.dist-info"
    information.mkdir()
    sbom_place = information / "sboms" / "sbom.spdx.json"
    for path in sorted((ROOT / "python/src/ingot").iterdir()):
        if path.suffix in (".py", ".typed"):
            shutil.copyfile(path, made.root / path.name)
    for path in inside.files():
        path.chmod(0o755 if elf.is_elf(path) else 0o644)
    (information / "entry_points.txt").write_text("[console_scripts]\ningot = ingot._command:main\n")
    shutil.copyfile(ROOT / "LICENSE", information / "LICENSE")
    sbom.write_sbom(inside, information, sbom_place, build, parts, "ingot-wheel", version(), epoch())
    check(inside, build)
    tag = f"py3-none-{manylinux(inside)}"
    contents = [(inside.name(path), path) for path in inside.files()]
    return [(make_wheel.write_wheel(output, tag, contents), inside)]


def make_manifests(build, output):
    """Renders the chart with each of its examples, by the command that docs/kubernetes.md gives. Returns what was
    made, as a line."""
    # The second one is built by tests/deploy/kubernetes_objects.sh.
    helm = shutil.which("helm") or shutil.which("helm", path=build / "deploy/kubernetes/bin")
    if not helm:
        return "left out: there is no helm"
    folder = output / "manifests"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for example in sorted((KUBERNETES / "examples").glob("*.yaml")):
        with open(folder / example.name, "wb") as file:
            subprocess.run([helm, "template", example.stem, KUBERNETES / "helm/ingot", "--namespace", "ingot", "--values", example], stdout=file, check=True)
    return " ".join(sorted(path.name for path in folder.iterdir()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--only", action="append", choices=KINDS, default=[])
    options = parser.parse_args()
    build, output = options.build.resolve(), options.output.resolve()
    work = output / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    makers = {"tarball": lambda: make_tarball(build, output, work, "ingot", ("command", "library", "compiler")),
              "runtime": lambda: make_tarball(build, output, work, "ingot-runtime", ("command", "library")),
              "wheel": lambda: make_wheel_package(build, output, work),
              "deb": lambda: debian.make(build, output, work, version(), epoch())}
    print(f"{'package':52} {'packed':>10} {'unpacked':>10}  wants")
    for kind in options.only or KINDS:
        if kind == "manifests":
            print(f"{'manifests/':52} {make_manifests(build, output)}")
            continue
        for file, made in makers[kind]():
            wants = ", ".join(f"{name} {'.'.join(map(str, number))}" for name, number in sorted(made.floor().items())) if kind != "deb" else "Debian's packages"
            print(f"{file.name:52} {file.stat().st_size / 1e6:7.1f} MB {made.size() / 1e6:7.1f} MB  {wants}")
    shutil.rmtree(work)


if __name__ == "__main__":
    main()

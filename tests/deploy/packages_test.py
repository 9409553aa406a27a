"""packages_test.py BUILD WORK: checks properties of every package on the smallest one, the runtime tarball.

It runs from any folder and loads nothing from outside but glibc; it contains no path of this machine; its SBOM lists
every file, and every licence that it names is present; the same build makes the same bytes. Each check is shown to
find its own error. `./dev test --long` covers the other packages and clean roots (clean_root_test.py).
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy/packages"))
import elf  # noqa: E402
import make_packages  # noqa: E402
import tree  # noqa: E402

build, work = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
os.environ["SOURCE_DATE_EPOCH"] = "1700000000"


def run(*command, **more):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, **more)


def make(name):
    made = make_packages.make_tree(build, work / name / "ingot-runtime", ("command", "library"), name="ingot-runtime")
    return made, list(tree.problems(made, make_packages.paths_of_this_machine(build)))


def check_tree(made):
    elsewhere = work / "elsewhere"
    shutil.rmtree(elsewhere, ignore_errors=True)
    shutil.copytree(made.root, elsewhere, symlinks=True)
    done = run(elsewhere / "bin/ingot", "--version", env={})
    assert done.returncode == 0 and make_packages.version() in done.stdout, done
    loaded = run("ldd", elsewhere / "bin/ingot", env={}).stdout
    for line in loaded.splitlines():
        name = line.split()[0]
        assert str(elsewhere) in line or pathlib.Path(name).name in elf.GLIBC | {"linux-vdso.so.1"}, f"loads {line.strip()}"
    floor = made.floor()
    assert set(floor) == {"GLIBC"} and (2, 17) < floor["GLIBC"] <= (2, 36), floor
    assert not any("LLVM" in path.name or "MLIR" in path.name for path in made.files())
    return elsewhere


def check_sbom(made):
    place = made.root / "share/doc/ingot/sbom.spdx.json"
    document = json.loads(place.read_text())
    told = {file["fileName"]: file["checksums"] for file in document["files"]}
    real = {f"./{made.name(path)}" for path in made.files() if path != place and not path.is_symlink()}
    assert set(told) == real, set(told) ^ real
    for name, sums in told.items():
        assert {"algorithm": "SHA256", "checksumValue": tree.sha256(made.root / name)} in sums, name
    ids = [thing["SPDXID"] for thing in [*document["packages"], *document["files"]]] + ["SPDXRef-DOCUMENT"]
    assert len(ids) == len(set(ids))
    for relation in document["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= set(ids), relation
    contained = {relation["relatedSpdxElement"] for relation in document["relationships"]}
    assert all(file["SPDXID"] in contained for file in document["files"])
    names = {(package["name"], package["externalRefs"][0]["referenceLocator"].split("/")[0]) for package in document["packages"]}
    # The list has one of each kind of input: crates, headers, copied libraries, the page, dependencies of a C library
    # in a crate.
    for name in (("tokenizers", "pkg:cargo"), ("onig_sys", "pkg:cargo"), ("simdjson", "pkg:deb"), ("boost1.74", "pkg:deb"), ("flatbuffers", "pkg:deb"),
                 ("openssl", "pkg:deb"), ("libedit", "pkg:deb"), ("gcc-12", "pkg:deb"), ("preact", "pkg:npm"), ("katex", "pkg:npm")):
        assert name in names, f"the SBOM does not know of {name}"
    for name in ("typescript", "vite", "serde_derive", "googletest"):
        assert name not in {known for known, _ in names}, f"{name} only builds, and is said to be inside"
    licences = {licence["licenseId"] for licence in document["hasExtractedLicensingInfos"]}
    for package in document["packages"]:
        licence = package["licenseDeclared"]
        assert licence and licence != "NOASSERTION", f"no licence is known of {package['name']}"
        assert not licence.startswith("LicenseRef-") or licence in licences, licence
    notice = (made.root / "share/doc/ingot/NOTICE").read_text()
    without = [line for line in notice.splitlines() if line.endswith("no text in its package")]
    assert len(without) * 8 < len(document["packages"]), without
    return len(document["packages"]), len(without)


def check_checks(made):
    """Checks that every rule of tree.problems finds its error."""
    forbidden = make_packages.paths_of_this_machine(build)
    program, library = made.root / "bin/ingot", next(path for path in (made.root / "lib").glob("*.so*") if not path.is_symlink())
    before = program.read_bytes()
    for words, spoil in (("looks for libraries in /somewhere", lambda: elf.set_runpath(program, ["/somewhere"])),
                         ("names", lambda: program.write_bytes(before + f"\0{ROOT}/runtime/x.cpp".encode())),
                         ("which is not inside", lambda: library.rename(library.with_name("gone")))):
        spoil()
        assert any(words in problem for problem in tree.problems(made, forbidden)), words
        program.write_bytes(before)
        elf._dynamic.cache_clear()
    library.with_name("gone").rename(library)
    (made.root / "bin/lost").symlink_to("nowhere")
    assert any("leads nowhere" in problem for problem in tree.problems(made, forbidden))
    (made.root / "bin/lost").unlink()
    assert not list(tree.problems(made, forbidden))


shutil.rmtree(work, ignore_errors=True)
made, problems = make("first")
assert not problems, problems
# The compiler is in other packages and must meet the same rule.
compiler = (build / "lib/libingot-compiler.so").read_bytes()
assert not any(tree.names_folder(compiler, folder) for folder in make_packages.paths_of_this_machine(build)), "libingot-compiler.so names a folder of this machine"
check_tree(made)
packages, without = check_sbom(made)
hashes = set()
again, _ = make("second")
for one in (made, again):
    file = make_packages.tar(one, work / "packed.tar.gz", "ingot-runtime")
    hashes.add(hashlib.sha256(file.read_bytes()).hexdigest())
assert len(hashes) == 1, "the same build made two different packages"
check_checks(made)
size = made.size()
print(f"{len(made.files())} files, {size / 1e6:.1f} MB, {file.stat().st_size / 1e6:.1f} MB packed, {packages} packages inside, {without} without a text of their own")
shutil.rmtree(work)

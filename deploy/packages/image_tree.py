"""image_tree.py BUILD ROOT runtime|compiler: makes the files of an image: /usr/bin/ingot and every library that
it loads, including libc and the loader. make_root.sh adds the files that are not ours."""
import pathlib
import shutil
import sys

import elf
import make_packages
import sbom
import tree

LOADER = pathlib.Path("/lib64/ld-linux-x86-64.so.2")
# Loaded at run time, for models by name.
CURL = pathlib.Path("/usr/lib/x86_64-linux-gnu/libcurl.so.4")


def main():
    build, root, kind = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    parts = ("command",) if kind == "runtime" else ("command", "compiler")
    made = tree.install(build, root / "usr", parts)
    more = [CURL] if kind == "compiler" and CURL.exists() else []
    tree.bundle(made, build, {LOADER.name}, more)
    place = root / "lib64" / LOADER.name # the path that programs name
    place.parent.mkdir()
    shutil.copyfile(LOADER.resolve(), place)
    whole = tree.Tree(root, {f"usr/{name}": file for name, file in made.bundled.items()} | {f"lib64/{LOADER.name}": LOADER.resolve()})
    for path in whole.files():
        if not path.is_symlink():
            path.chmod(0o755 if path == place or "bin" in path.parts else 0o644)
    documents = root / "usr/share/doc/ingot"
    documents.mkdir(parents=True)
    shutil.copyfile(tree.ROOT / "LICENSE", documents / "LICENSE")
    # gather() names the linked libraries by their paths below usr/; the paths in the image start at its root.
    document = sbom.Sbom(made, documents, f"ingot-image-{kind}", make_packages.version(), make_packages.epoch())
    document.gather(build, parts)
    document.holds = {f"usr/{name}": key for name, key in document.holds.items()}
    document.holds[f"lib64/{LOADER.name}"] = document.add_debian(sbom.debian_package(LOADER), "the loader")
    document.tree = whole
    document.write(documents / "sbom.spdx.json")
    make_packages.check(whole, build)


if __name__ == "__main__":
    main()

"""Makes a wheel from a build folder: the modules, libingot and, if it was built, the compiler.

  make_wheel.py BUILD OUTPUT       writes OUTPUT/ingot-VERSION-py3-none-linux_x86_64.whl and prints its path

`pip install ./python` builds the library itself (pyproject.toml); this script takes an existing build and needs
neither a network nor a package. The wheel runs on machines that have the linked libraries: those of the same
distribution, plus LLVM 22 for compiling. deploy/packages (./dev package) makes a wheel that includes them.
"""
import base64
import hashlib
import pathlib
import sys
import sysconfig
import tomllib
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
EXECUTABLE, READABLE = 0o100755, 0o100644


def contents(build):
    """Yields the contents of the wheel: (name, file)."""
    for path in sorted((HERE / "src" / "ingot").rglob("*")):
        if path.suffix in (".py", ".typed"):
            yield f"ingot/{path.relative_to(HERE / 'src' / 'ingot')}", path
    yield "ingot/libingot.so.0", build / "lib" / "libingot.so.0"
    server = build / "lib" / "libingot-server.so.0"  # for ingot.ray, whose replicas can run engines in their process
    if server.exists():
        yield "ingot/libingot-server.so.0", server
    compiler = build / "lib" / "libingot-compiler.so"
    if compiler.exists():
        yield "ingot/lib/libingot-compiler.so", compiler
        for path in sorted((build / "share" / "ingot").rglob("*")):  # files that pattern files may include
            if path.is_file():
                yield f"ingot/share/ingot/{path.relative_to(build / 'share' / 'ingot')}", path


def metadata(project):
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {project['version']}", f"Summary: {project['description']}",
             f"License-Expression: {project['license']}", f"Requires-Python: {project['requires-python']}"]
    for extra, wanted in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        for package in wanted:
            name, _, marker = package.partition(";")
            marker = f"({marker.strip()}) and " if marker else ""
            lines.append(f"Requires-Dist: {name}; {marker}extra == '{extra}'")
    lines += ["Description-Content-Type: text/markdown", "", (HERE / project["readme"]).read_text()]
    return "\n".join(lines).encode()


def project_of():
    return tomllib.loads((HERE / "pyproject.toml").read_text())["project"]


def write_wheel(output, tag, files):
    """Packs (name, file) pairs and adds the wheel's own metadata."""
    project = project_of()
    stem = f"{project['name']}-{project['version']}"
    output.mkdir(parents=True, exist_ok=True)
    wheel = output / f"{stem}-{tag}.whl"
    record = []

    def add(name, data, mode=READABLE):
        entry = zipfile.ZipInfo(name)  # dated 1980, so that the same files make the same wheel
        entry.external_attr, entry.compress_type = mode << 16, zipfile.ZIP_DEFLATED
        archive.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}")

    with zipfile.ZipFile(wheel, "w") as archive:
        for name, path in files:
            data = path.read_bytes()
            add(name, data, EXECUTABLE if data.startswith(b"\x7fELF") else READABLE)
        information = f"{stem}.dist-info"
        add(f"{information}/METADATA", metadata(project))
        add(f"{information}/WHEEL", f"Wheel-Version: 1.0\nGenerator: ingot\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
        record += [f"{information}/RECORD,,", ""]
        archive.writestr(zipfile.ZipInfo(f"{information}/RECORD"), "\n".join(record))
    return wheel


def make_wheel(build, output):
    tag = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    return write_wheel(output, tag, contents(build))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(make_wheel(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))

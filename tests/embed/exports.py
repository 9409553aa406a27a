"""exports.py LIBRARY HEADER: checks that libingot exports what ingot.h declares and nothing else, under a symbol
version, that its soname is libingot.so.0, and that it needs no LLVM, no Python and no HTTP or TLS library."""
import re
import subprocess
import sys

ALLOWED = re.compile(r"lib(c|m|dl|pthread|stdc\+\+|gcc_s|xxhash)\.so\.\d+|ld-linux.*")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    library, header = sys.argv[1:]
    text = open(header).read()
    declared = set(re.findall(r"INGOT_API[^;{]*?\b(ingot_\w+)\(", text))
    assert len(declared) > 20, declared
    exported = {}
    versions = []  # including versions that only added fields
    for line in output("nm", "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[-2:]
        if kind == "A":
            versions.append(name)
        else:
            exported[name.split("@")[0]] = name
    assert set(exported) == declared, f"only one has: {sorted(set(exported) ^ declared)}"
    unversioned = [name for name in exported.values() if not re.search(r"@@INGOT_\d+$", name)]
    assert not unversioned, unversioned
    # The newest version equals the header's.
    newest = max(int(name.rsplit("_", 1)[1]) for name in versions if re.match(r"INGOT_\d", name))
    assert f"#define INGOT_ABI_VERSION {newest}\n" in text, newest

    dynamic = output("readelf", "-d", "-W", library)
    assert "Library soname: [libingot.so.0]" in dynamic, dynamic
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
    surplus = [name for name in needed if not ALLOWED.fullmatch(name)]
    assert not surplus, f"{library} needs {surplus}"
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic, dynamic
    print(f"{len(exported)} symbols, needs {' '.join(needed)}")


if __name__ == "__main__":
    main()

"""exports.py LIBRARY HEADER: checks that the installed backend exports the entry points of TritonApi.h and
nothing else, imports from the server what the header declares and nothing else, and has all other libraries it
needs, except C and C++, in its folder."""
import pathlib
import re
import subprocess
import sys

EVERYWHERE = re.compile(r"lib(c|m|dl|pthread|stdc\+\+|gcc_s)\.so\.\d+|ld-linux.*")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(library, kind):
    return {line.split()[-1].split("@")[0] for line in output("nm", "-D", f"--{kind}-only", library).splitlines()}


def main():
    library, header = sys.argv[1:]
    text = open(header).read()
    entries = set(re.findall(r"INGOT_TRITON_ENTRY (TRITON\w+)\(", text))
    declared = set(re.findall(r"\b(TRITON(?:SERVER|BACKEND)_\w+)\(", text))
    assert len(entries) == 8 and len(declared) > 50, (entries, declared)
    given = symbols(library, "defined")
    assert given == entries, f"only one has: {sorted(given ^ entries)}"
    wanted = {name for name in symbols(library, "undefined") if name.startswith("TRITON")}
    assert wanted <= declared - entries, sorted(wanted - declared)

    folder = pathlib.Path(library).parent
    beside, looked = [pathlib.Path(library).name], set()
    while beside:
        name = beside.pop()
        looked.add(name)
        assert (folder / name).exists(), f"{name} is needed and not installed"
        needed = re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", "-W", folder / name))
        beside += [other for other in needed if not EVERYWHERE.fullmatch(other) and other not in looked]
    assert "libingot.so.0" in looked, looked
    surplus = {path.name for path in folder.iterdir()} - looked
    assert not surplus, f"nothing needs {surplus}"
    dynamic = output("readelf", "-d", "-W", library)
    assert "(RPATH)" in dynamic and "[$ORIGIN]" in dynamic, "what libingot needs would not be found beside it"
    print(f"{len(given)} entries, {len(wanted)} functions of the server, with {' '.join(sorted(looked))}")


if __name__ == "__main__":
    main()

"""check_header.py FOLDER: compares deploy/triton/TritonApi.h with the real tritonbackend.h and tritonserver.h.

FOLDER is include/triton/core of a checkout of triton-inference-server/core. Each function must have the same types, in
the same order, and each value of an enumeration the same number."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parents[3] / "deploy/triton/TritonApi.h"
EXPORTS = r"TRITON(?:SERVER|BACKEND)_(?:DECLSPEC|ISPEC)|INGOT_TRITON_ENTRY"


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def type_of(parameter):
    """`const TRITONSERVER_MemoryType memory` is TRITONSERVER_MemoryType: names and the
    constness of values are ignored."""
    words = re.sub(r"\bstruct\b", "", parameter).replace("*", " * ").split()
    if words[-1] != "*" and len(words) > 1 and words[-2:-1] != ["const"]:
        words = words[:-1]
    elif len(words) > 2 and words[-2] == "const":
        words = words[:-1]
    if "*" not in words:
        words = [word for word in words if word != "const"]
    return " ".join(words)


def functions(text):
    text = re.sub(r"#define[^\n]*", "", without_comments(text))
    # The return type of our entry points is inside a macro.
    text = text.replace("INGOT_TRITON_ENTRY", "TRITONSERVER_Error *")
    text = re.sub(EXPORTS, "", text)
    found = {}
    for result, name, parameters in re.findall(
            r"((?:const |struct )*\w+\s*\**)\s*\b(TRITON(?:SERVER|BACKEND)_\w+)\s*\(([^;{}]*?)\)\s*;", text):
        # A pointer to a function has its name in parentheses.
        types = [type_of(one) for one in parameters.replace("\n", " ").split(",") if one.strip()]
        found[name] = [re.sub(r"\bstruct\b|\s", "", result)] + types
    return found


def values(text):
    found = {}
    for body in re.findall(r"\benum\b[^{;]*\{([^}]*)\}", without_comments(text)):
        number = -1
        for entry in filter(None, (one.strip() for one in body.split(","))):
            name, _, value = (part.strip() for part in entry.partition("="))
            number = int(value, 0) if value else number + 1
            found[name] = number
    return found


def main():
    folder = pathlib.Path(sys.argv[1])
    real = "".join((folder / name).read_text() for name in ("tritonserver.h", "tritonbackend.h"))
    ours = HERE.read_text()
    wrong = []
    for kind, read in (("function", functions), ("value", values)):
        mine, theirs = read(ours), read(real)
        assert len(mine) > 20, mine
        wrong += [f"{kind} {name}: {found} here, {theirs.get(name)} there"
                  for name, found in mine.items() if found != theirs.get(name)]
        print(f"{len(mine)} {kind}s")
    versions = re.findall(r"(TRITON\w+)_API_VERSION_(MAJOR|MINOR) (\d+)", real)
    print("against " + ", ".join(f"{name}_{part} {number}" for name, part, number in versions))
    print("\n".join(wrong) if wrong else "the same")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

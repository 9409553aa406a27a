"""Checks that the four declarations of the C API agree: ingot.h with libingot.map, _abi.py and ingot.hpp.

  spellings.py --source FOLDER    checks; exit status 1 and a line for each mistake
  spellings.py --self-test        plants mistakes in copies of the files and checks that each is found

It needs no build. The header is read strictly: a declaration that this file cannot read is a mistake.

  libingot.map     lists every function in one version, versions 1 to INGOT_ABI_VERSION follow each other, and a
                   version without functions names the structure whose fields came with it ("Since version N.")
  _abi.py          has every structure with the same fields in the same order, every callback and every function, all
                   of the same types, and constants of the same values, as does _requests.py
  ingot.hpp        calls every function, reads or sets every field, and has every value of its enumerations
"""
import argparse
import ast
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = "runtime/embed/include/ingot.h"
CPP = "runtime/embed/include/ingot.hpp"
MAP = "runtime/embed/libingot.map"
PYTHON = "python/src/ingot/_abi.py"
REQUESTS = "python/src/ingot/_requests.py"

# Functions that ingot.hpp does not call and structures whose fields it does not name, with the reason.
NOT_IN_CPP = {
    "ingot_abi_version": "takes and returns nothing that C++ would own: programs call it as it is",
    "ingot_version": "likewise",
    "ingot_error_text": "Error::text writes the same from the parts, which outlive the ingot_error",
    "ingot_bias": "made as a whole: {id, value}",
    "ingot_id_list": "made as a whole: {data, size}",
}
# Maps the enumerations of ingot.hpp to the prefix of their values in C.
CPP_ENUMS = {"Grammar": "INGOT_GRAMMAR_", "Finish": "INGOT_FINISH_", "StopBeams": "INGOT_STOP_"}

# Maps types of C to the names of ctypes.
SCALARS = {"int32_t": "c_int32", "int64_t": "c_int64", "uint32_t": "c_uint32", "uint64_t": "c_uint64",
           "size_t": "c_size_t", "float": "c_float", "double": "c_double", "ingot_status": "c_int32"}  # fmt: skip
CLASSES = {"ingot_logprob": "LogprobEntry"}  # the others are named as in C: ingot_id_list is IdList
SIZED_TEXT = {"ingot_output.text"}  # read with its size: c_char_p would end it at the first NUL
# Maps tables of _requests.py to the prefix of their values in C.
PYTHON_ENUMS = {"FINISH": "INGOT_FINISH_", "_GRAMMARS": "INGOT_GRAMMAR_"}


class Header:
    """The declarations of ingot.h. Types are C's, with one space between words and none before a star."""

    def __init__(self, text):
        self.mistakes = []
        self.since = {}  # version -> structures that have fields since then
        self.structures, self.functions, self.callbacks, self.values, self.handles = {}, {}, {}, {}, set()
        # Markers of versions are the only comments that are read.
        text = re.sub(r"/\*.*?\*/", lambda found: re.sub(r"(?s)^/\* Since version (\d+)\..*", r"@\1;", found[0])
                      if found[0].startswith("/* Since version") else " ", text, flags=re.S)
        for name, value in re.findall(r"^#define (INGOT_\w+) \(*(?:\(\w+\))?(\d+)\)*$", text, re.M):
            self.values[name] = int(value)
        text = re.sub(r"^#.*$", "", text, flags=re.M)
        text = re.sub(r'extern "C" \{|^\}$', "", text, flags=re.M)

        def take(pattern, use):
            nonlocal text
            for found in re.finditer(pattern, text, re.S):
                use(*found.groups())
            text = re.sub(pattern, "", text, flags=re.S)

        take(r"typedef struct (\w+) \{(.*?)\} \1;", self.structure)
        take(r"\benum \{(.*?)\};", self.enumeration)
        take(r"typedef (\w+) \(\*(\w+)\)\(([^()]*)\);", lambda result, name, arguments: self.callbacks.update(
            {name: (result, self.arguments(arguments))}))
        take(r"typedef struct (\w+) \1;", self.handles.add)
        take(r"typedef int32_t ingot_status;()", lambda _: None)
        take(r"INGOT_API ([\w\s*]*?)(\w+)\(([^()]*)\);", lambda result, name, arguments: self.functions.update(
            {name: (self.plain(result), self.arguments(arguments))}))
        if text.strip():
            self.mistakes.append(f"{HEADER}: unknown declaration: {' '.join(text.split())[:80]}")

    @staticmethod
    def plain(spelled):
        return re.sub(r" ?\* ?", "*", " ".join(spelled.split()))

    def arguments(self, text):
        if text.strip() == "void":
            return []
        return [self.plain(re.fullmatch(r"\s*(.*?)\w+\s*", one, re.S)[1]) for one in text.split(",")]

    def structure(self, name, body):
        fields = self.structures[name] = []
        for line in body.split(";")[:-1]:
            line = " ".join(line.split())
            if marker := re.fullmatch(r"@(\d+)", line):
                self.since.setdefault(int(marker[1]), set()).add(name)
                continue
            first, *others = line.split(",")
            kind, first = re.fullmatch(r"(.*?)(\w+)", first).groups()
            if others and "*" in kind:
                self.mistakes.append(f"{HEADER}: {name}: several pointers in one declaration: {line}")
            fields += [(one.strip(), self.plain(kind)) for one in (first, *others)]

    def enumeration(self, body):
        for one in body.split(","):
            if one.strip():
                name, value = one.split("=")
                self.values[name.strip()] = int(value)

    def named(self, prefix):
        """The values of the enumeration with that prefix: {"STOP": 1}."""
        return {name.removeprefix(prefix): value for name, value in self.values.items() if name.startswith(prefix)}


def check_map(header, text):
    """libingot.map."""
    comments, blocks = {}, []
    for comment, version, body, parent in re.findall(r"(?:/\*(.*?)\*/\s*)?INGOT_(\d+) \{(.*?)\}\s*(\w*);", text, re.S):
        blocks.append((int(version), parent))
        names = re.findall(r"\b(ingot_\w+);", body)
        comments[int(version)] = (names, set(re.findall(r"ingot_\w+", comment)))
    newest = header.values.get("INGOT_ABI_VERSION")
    expected = [(one, f"INGOT_{one - 1}" if one > 1 else "") for one in range(1, newest + 1)]
    if blocks != expected:
        yield f"versions are {blocks}, INGOT_ABI_VERSION {newest} needs {expected}"
    listed = [name for names, _ in comments.values() for name in names]
    for name in sorted({name for name in listed if listed.count(name) > 1}):
        yield f"{name} is listed twice"
    for name in sorted(header.functions.keys() - set(listed)):
        yield f"{name} is missing"
    for name in sorted(set(listed) - header.functions.keys()):
        yield f"{name} is not declared"
    for version, (names, structures) in comments.items():
        if version == 1:
            continue
        fields = header.since.get(version, set())
        if fields != structures & header.structures.keys():
            yield f"version {version} names {sorted(structures)}, fields came to {sorted(fields)}"
        if not names and not fields:
            yield f"version {version} brings nothing"
    for version in sorted(header.since.keys() - comments.keys()):
        yield f"there is no version {version}, since which {sorted(header.since[version])} have fields"


class Python:
    """Expressions of _abi.py as text. ctypes has one type for several of C's, so spellings are compared."""

    def __init__(self, header):
        self.header = header

    def name(self, structure):
        return CLASSES.get(structure) or "".join(word.capitalize() for word in structure.split("_")[1:])

    def type(self, spelled, sized=False):
        """`sized`: text is read with its size, or freed by its address, which c_char_p would lose."""
        plain = spelled.removeprefix("const ")
        if spelled.endswith("*"):
            to = spelled[:-1]
            if plain == "void*":
                return "c_void_p"
            if plain[:-1] in self.header.handles:
                return self.name(plain[:-1])
            if plain == "char*":
                return "c_void_p" if sized else "c_char_p"
            # The library writes through a pointer that is not const: it gives text away.
            return f"POINTER({self.type(to.removesuffix('const'), sized=to.endswith('*'))})"
        if plain in self.header.callbacks or plain in self.header.structures:
            return self.name(plain)
        return "None" if plain == "void" else SCALARS.get(plain, f"? {plain}")


def check_python(header, text):
    """_abi.py."""
    python = Python(header)
    classes, assigned = {}, {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            fields = node.body[-1].value
            classes[node.name] = [(ast.literal_eval(one.elts[0]), ast.unparse(one.elts[1])) for one in fields.elts]
        elif isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = zip(target.elts, value.elts) if isinstance(target, ast.Tuple) else [(target, value)]
            assigned.update({name.id: one for name, one in pairs})
    functions = assigned.pop("FUNCTIONS")
    functions = {ast.literal_eval(key): (ast.unparse(value.elts[0]), [ast.unparse(one) for one in value.elts[1].elts])
                 for key, value in zip(functions.keys, functions.values)}

    expected = {python.name(name): name for name in header.structures}
    yield from differences("class", expected, classes)
    for name in expected.keys() & classes.keys():
        structure = expected[name]
        fields = [(field, python.type(kind, f"{structure}.{field}" in SIZED_TEXT))
                  for field, kind in header.structures[structure]]
        if fields != classes[name]:
            at = next((i for i, pair in enumerate(zip(fields, classes[name])) if pair[0] != pair[1]),
                      min(len(fields), len(classes[name])))
            yield f"{name}: field {at} is {classes[name][at:at + 1]}, {structure} has {fields[at:at + 1]}"
    yield from differences("function", header.functions, functions)
    for name in sorted(header.functions.keys() & functions.keys()):
        result, arguments = header.functions[name]
        types = python.type(result), [python.type(one) for one in arguments]
        if types != functions[name]:
            yield f"{name} is {functions[name]}, {HEADER} has {types}"
    for name, (result, arguments) in header.callbacks.items():
        call = f"ctypes.CFUNCTYPE({', '.join(python.type(one) for one in [result, *arguments])})"
        found = assigned.pop(python.name(name), None)
        if not found or ast.unparse(found) != call:
            yield f"{python.name(name)} is {found and ast.unparse(found)}, {name} is {call}"
    for name in sorted(header.handles):
        found = assigned.pop(python.name(name), None)
        if not found or ast.unparse(found) != "c_void_p":
            yield f"{python.name(name)}, a handle, is not c_void_p"
    for name, value in assigned.items():
        if header.values.get("INGOT_" + name) != ast.literal_eval(value):
            yield f"{name} is {ast.unparse(value)}, INGOT_{name} is {header.values.get('INGOT_' + name)}"
    yield from (f"{name} is missing" for name in ("ABI_VERSION", "ANY", "OK", "TIMEOUT") if name not in assigned)


def check_requests(header, text):
    """_requests.py: its tables of values."""
    for name, prefix in PYTHON_ENUMS.items():
        found = re.search(rf"^{name} = (\{{.*?\}})$", text, re.M | re.S)
        table = ast.literal_eval(found[1]) if found else {}
        if name == "FINISH":
            table = {word: value for value, word in table.items()}
        expected = {word.lower(): value for word, value in header.named(prefix).items() if word != "NONE"}
        if table != expected:
            yield f"{name} is {table}, {HEADER} has {expected}"


def check_cpp(header, text):
    """ingot.hpp."""
    text = re.sub(r"//.*", "", text)
    for name in header.functions:
        if bool(re.search(rf"\b{name}\(", text)) == (name in NOT_IN_CPP):
            yield f"{name} is {'called, but exempted' if name in NOT_IN_CPP else 'not called'}"
    for structure, fields in header.structures.items():
        if structure in NOT_IN_CPP:
            continue
        held = re.findall(rf"\b{structure} [&*]?(\w+)\b", text)
        for field, _ in fields:
            if field.startswith("reserved") or field == "struct_size":
                continue
            if not any(re.search(rf"\b{one}(\.|->){field}\b", text) for one in held):
                yield f"{structure}.{field} is neither read nor set"
    for name, prefix in CPP_ENUMS.items():
        body = re.search(rf"enum class {name} : int32_t \{{(.*?)\}};", text, re.S)
        found = dict(re.findall(r"(\w+) = (\w+)", body[1])) if body else {}
        expected = {"".join(word.capitalize() for word in one.split("_")): prefix + one for one in header.named(prefix)}
        if found != expected:
            yield f"{name} has {sorted(found.items() ^ expected.items())} in one of both only"


def differences(kind, expected, found):
    yield from (f"{kind} {name} is missing" for name in sorted(set(expected) - set(found)))
    yield from (f"{kind} {name} is not in {HEADER}" for name in sorted(set(found) - set(expected)))


def check(root):
    """All mistakes of the files below `root`."""
    header = Header((root / HEADER).read_text())
    mistakes = list(header.mistakes)
    for path, rule in ((MAP, check_map), (PYTHON, check_python), (REQUESTS, check_requests), (CPP, check_cpp)):
        mistakes += [f"{path}: {mistake}" for mistake in rule(header, (root / path).read_text())]
    return mistakes


#===----------------------------------------------------------------------===#
# Self-test
#===----------------------------------------------------------------------===#

# (file, text, its replacement, a part of the only message)
PLANTED = [
    # A field in another place, of another type, missing, and new only in the header.
    (PYTHON, '("kv_memory", c_uint64),\n        ("swap_memory", c_uint64),',
     '("swap_memory", c_uint64),\n        ("kv_memory", c_uint64),', "Config: field 5 is"),
    (PYTHON, '("seed", c_uint64)', '("seed", c_size_t)', "Request: field 26 is"),
    (PYTHON, '        ("load_ms", c_double),\n', "", "Model: field 19 is []"),
    (PYTHON, '("text", c_void_p)', '("text", c_char_p)', "Output: field 8 is"),
    (PYTHON, '("error", Error)', '("error", Executor)', "Output: field 19 is"),
    (HEADER, "  int64_t running, waiting;", "  int64_t waiting, running;", "Stats: field 1 is"),
    (HEADER, "  int32_t reserved2;", "  int32_t reserved2;\n  int32_t later;", "Request: field 49 is []"),
    # Functions.
    (MAP, "  ingot_ready;\n", "", "ingot_ready is missing"),
    (MAP, "  ingot_ready;\n", "  ingot_ready;\n  ingot_reads;\n", "ingot_reads is not declared"),
    (MAP, "INGOT_2 {\n}", "INGOT_2 {\nglobal:\n  ingot_ready;\n}", "ingot_ready is listed twice"),
    (PYTHON, '"ingot_cancel": (None, [Executor, c_uint64])', '"ingot_cancel": (None, [Executor, c_int64])',
     "ingot_cancel is"),
    (PYTHON, '"ingot_ready": (c_size_t,', '"ingot_ready": (c_int32,', "ingot_ready is"),
    (PYTHON, '"ingot_outputs_free": (None, [Outputs])', '"ingot_outputs_free": (None, [Executor])',
     "ingot_outputs_free is"),
    (PYTHON, "POINTER(c_void_p), POINTER(c_size_t), POINTER(Error)]),\n    \"ingot_model_get",
     "POINTER(c_char_p), POINTER(c_size_t), POINTER(Error)]),\n    \"ingot_model_get", "ingot_metrics is"),
    (PYTHON, "CFUNCTYPE(None, c_void_p, POINTER(Output))", "CFUNCTYPE(None, POINTER(Output), c_void_p)",
     "OutputCallback is"),
    (PYTHON, '    "ingot_version": (c_char_p, []),\n', "", "function ingot_version is missing"),
    (CPP, "ingot_cancel(handle.get(), id);", ";", "ingot_cancel is not called"),
    (HEADER, "INGOT_API void ingot_free(void *memory);", "INGOT_API void ingot_free(void *memory) INGOT_LATE;",
     "unknown declaration: INGOT_API void ingot_free"),
    # Values.
    (HEADER, "INGOT_TIMEOUT = 1,", "INGOT_TIMEOUT = 5,", "TIMEOUT is 1"),
    (HEADER, "INGOT_GRAMMAR_LARK = 4", "INGOT_GRAMMAR_LARK = 7", "_GRAMMARS is"),
    (REQUESTS, '2: "length", 3: "cancelled"', '3: "length", 2: "cancelled"', "FINISH is"),
    (PYTHON, "ANY = 0", "ANY = 1", "ANY is 1"),
    (PYTHON, "ABI_VERSION = 6", "ABI_VERSION = 5", "ABI_VERSION is 5"),
    (CPP, "Early = INGOT_STOP_EARLY", "Early = INGOT_STOP_WHEN_WORSE", "StopBeams has"),
    # Versions.
    (MAP, "} INGOT_4;", "} INGOT_3;", "versions are"),
    (MAP, "/* A field of ingot_config. */\nINGOT_3", "/* A field of ingot_request. */\nINGOT_3", "version 3 names"),
    (HEADER, "/* Since version 6. */", "", "version 6 names"),
    # Fields of C++.
    (CPP, "    c.kv_memory = config.kvMemory;\n", "", "ingot_config.kv_memory is neither read nor set"),
    (CPP, "      c.seed = s.seed;\n", "", "ingot_request.seed is neither read nor set"),
]


def self_test():
    files = {path: (ROOT / path).read_text() for path in (HEADER, CPP, MAP, PYTHON, REQUESTS)}
    with tempfile.TemporaryDirectory() as folder:
        for path, old, new, expected in PLANTED:
            assert files[path].count(old) >= 1, f"{path} no longer contains {old!r}"
            for name, text in files.items():
                copy = pathlib.Path(folder, name)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(text.replace(old, new, 1) if name == path else text)
            found = check(pathlib.Path(folder))
            assert any(expected in mistake for mistake in found), f"{new!r} in {path} gives {found}, not {expected!r}"
    print(f"{len(PLANTED)} planted mistakes found")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    mistakes = check(arguments.source or ROOT)
    print("\n".join(mistakes) or "the four spellings of the C API agree")
    sys.exit(bool(mistakes))


if __name__ == "__main__":
    main()

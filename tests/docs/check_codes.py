"""Compares runtime/error/Codes.def with the sources.

  check_codes.py --source FOLDER            checks; exit status 1 and a line for each mistake
  check_codes.py --source FOLDER --shared   lists the codes that are raised at several sites, with what each site says
  check_codes.py --self-test                checks that every rule finds its mistake

Rules: every code in the sources has a row, and every row is raised somewhere. The exit code of a row is that of its
sites. Codes ascend, and no two rows have the same title. No code outside of tests/ is compared with a literal: codes
that decide something have a name (runtime/error/NamedCodes.h), which is used wherever C++ raises them.
"""
import argparse
import collections
import pathlib
import re
import sys
import tempfile

TABLE = "runtime/error/Codes.def"
NAMES = "runtime/error/NamedCodes.h"
SUFFIXES = (".cpp", ".h", ".hpp", ".cuh", ".rs", ".py", ".ts", ".tsx")
FOLDERS = ("compiler", "codegen", "deploy", "dialects", "emulator", "models", "passes", "python", "runtime", "tools", "web/src")
EXITS = {"Usage": 2, "File": 3, "Device": 4, "Internal": 70}

# Functions that take a code and give the error its exit code. A function that only one file has is FILE:NAME.
MAKERS = {
    "bad": "File", "damaged": "File", "refuse": "File", "problemError": "File",
    "usage": "Usage", "badRequest": "Usage",
    "deviceError": "Device", "emulatorError": "Device",
    "add": "Internal",  # findings of the plan interpreter
}
# Maps the kinds of errors in Triton to the exit codes of the libingot errors that get these kinds.
TRITON = {"TRITONSERVER_ERROR_INTERNAL": "Internal", "TRITONSERVER_ERROR_UNSUPPORTED": "File",
          "TRITONSERVER_ERROR_UNAVAILABLE": "Device", "TRITONSERVER_ERROR_CANCELLED": "Device"}  # fmt: skip
# Places whose exit code is not next to the code, with the reason.
ELSEWHERE = {
    "tools/ingot/engines/CompilerLibrary.cpp": {"E0111", "E0114", "E0133"},  # from a condition; from the child
    "tools/ingot/serve/BatchFile.cpp": {"E0145"},  # a line of a results file, not an error of a command
    "tools/ingot/serve/Serve.cpp": {"E0561"},  # an answer over HTTP, whose status is next to it
    "tools/ingot/FatalError.cpp": {"E0388"},  # printed without allocating
    "runtime/error/OutOfMemory.h": {"E0507"},
    "compiler/crash/CrashContext.cpp": {"E0438", "E0492"},
    "runtime/server/api/Api.cpp": {"E0560", "E0561"},  # answers over HTTP
    "runtime/server/api/TokenRoutes.cpp": {"E0520"},
    "runtime/engine/VerifyProgram.cpp": {"E0373", "E0820"},  # bad(condition ? … : …)
    "compiler/options/Compatibility.cpp": None,  # rows of the compatibility matrix: usage
    "compiler/driver/checks/MiscompileReducer.cpp": {"E0428", "E0432", "E0491"},  # codeOfChange(): the callers make the errors
    "compiler/driver/checks/PlanChecks.cpp": {"E0432"},  # the name of a file
    "compiler/targets/DifferentialCheck.cpp": {"E0886", "E0890"},  # the name of a file
    "runtime/embed/include/ingot.hpp": {"E0507"},  # the error of C++ if C could not make one
    "python/src/ingot/_upstream.py": {"E0569"},  # of the child
    "python/src/ingot/_compiler_child.py": {"E0594"},  # printed
    "python/src/ingot/_command.py": {"E0170"},
    "python/src/ingot/_library.py": {"E0560", "E0561"},  # names
    "python/src/ingot/ray/_errors.py": {"E0539", "E0727"},  # answers over HTTP
    "deploy/triton/Failure.cpp": {"E0301", "E0560", "E0561"},  # names
    "compiler/import/error/ImportErrors.h": None,  # constants for refuse(): exit 3
    "models/ModelErrors.h": None,
    NAMES: None,
    "web/src/api/failure.ts": {"E0505", "E0521"},  # names
}
# A code with a name that is nevertheless written out: C++ that does not include the runtime, and text.
UNNAMED = {"runtime/embed/include/ingot.hpp", "runtime/error/OutOfMemory.h"}

LITERAL = re.compile(r"""(?<![\w])["'](?P<exact>E\d{4})["']|error\[(?P<text>E\d{4})\]""")


def rows(source):
    """Rows of the table as (code, exit, title), in their order."""
    text = (source / TABLE).read_text()
    return re.findall(r'^INGOT_ERROR\((E\d{4}), (\w+), "((?:[^"\\]|\\.)*)"', text, re.M)


def files(source):
    for folder in FOLDERS:
        for path in sorted((source / folder).rglob("*")):
            if path.suffix in SUFFIXES and "node_modules" not in path.parts:
                yield path


def without_comments(text, suffix):
    """The text with comments replaced by spaces, so that offsets and lines stay."""
    if suffix == ".py":
        return re.sub(r'(""".*?"""|(?<!["\'])#[^\n]*)', lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)
    pattern = r'(R"\(.*?\)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')|(//[^\n]*|/\*.*?\*/)'
    return re.sub(pattern, lambda m: m[1] or re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


class Site:
    def __init__(self, path, code, line, before, after, named):
        self.path, self.code, self.line, self.before, self.after, self.named = path, code, line, before, after, named

    def exit(self):
        """The exit code that the site gives its error: a name, or None if it is not next to the code."""
        if found := re.search(r"ExitCode::(\w+),\s*$", self.before):
            return found[1]
        if found := re.search(r"(TRITONSERVER_ERROR_\w+),\s*$", self.before):
            return TRITON[found[1]]
        if found := re.search(r"IngotError\(\s*(\d+),\s*$", self.before):
            return {number: name for name, number in EXITS.items()}[int(found[1])]
        if found := re.search(r"(\w+)\(\s*$", self.before):
            return MAKERS.get(found[1])
        return None


def sites(source, names):
    """Every site that has a code: a literal, or a name of NAMES in C++."""
    named = re.compile(r"errors::(%s)\b" % "|".join(names)) if names else None
    for path in files(source):
        relative = path.relative_to(source).as_posix()
        text = without_comments(path.read_text(errors="replace"), path.suffix)
        found = [(m, m["exact"] or m["text"], False) for m in LITERAL.finditer(text)]
        if named and relative != NAMES:
            found += [(m, names[m[1]], True) for m in named.finditer(text)]
        for m, code, is_name in found:
            line = text.count("\n", 0, m.start()) + 1
            yield Site(relative, code, line, text[max(0, m.start() - 120):m.start()], text[m.end():m.end() + 200], is_name)


def is_comparison(site):
    return bool(re.search(r"(==|!=|\bcase)\s*$", site.before) or re.match(r"\s*(==|!=)", site.after)
                or re.search(r"(==|!=)\s*(\(\s*)?[\w.]*\(\s*$|(starts_with|startsWith|startswith|includes|compare)\(\s*$", site.before))  # fmt: skip


def compares_a_prefix(text):
    """Comparisons with the beginning of a code, which also distinguish causes."""
    return re.finditer(r"""(starts_with|startsWith|startswith)\(\s*["']E\d{1,3}["']""", text)


def names_of(source):
    return dict(re.findall(r'constexpr char (k\w+)\[\] = "(E\d{4})"', (source / NAMES).read_text()))


def is_expected_elsewhere(site):
    allowed = ELSEWHERE.get(site.path, set())
    return allowed is None or site.code in allowed


def check(source):
    table = rows(source)
    exits, names = {code: exit for code, exit, _ in table}, names_of(source)
    codes, titles = [code for code, _, _ in table], collections.Counter(title for _, _, title in table)
    for first, second in zip(codes, codes[1:]):
        if first >= second:
            yield f"{TABLE}: {second} is after {first}; codes ascend, and each has one row"
    for title, count in titles.items():
        if count > 1:
            yield f'{TABLE}: {count} codes have the title "{title}"'
    raised = set()
    for site in sites(source, names):
        place = f"{site.path}:{site.line}"
        if site.code not in exits:
            yield f"{place}: {site.code} has no row in {TABLE}"
            continue
        compared = is_comparison(site)
        if not compared and site.path != NAMES:
            raised.add(site.code)
        if compared and not site.named:
            yield f"{place}: a comparison with the literal {site.code}; give it a name in {NAMES}"
        if not site.named and site.code in names.values() and site.path.endswith((".cpp", ".h")) and site.path != NAMES \
                and not site.path.startswith("deploy/") and site.path not in UNNAMED:  # fmt: skip
            yield f"{place}: {site.code} has a name in {NAMES}, which is not used here"
        if compared or is_expected_elsewhere(site):
            continue
        exit = site.exit()
        if exit is None and site.named and not re.search(r"[{(,]\s*$", site.before):
            continue  # a condition or an assignment
        if exit is None:
            yield f"{place}: the exit code of {site.code} is not next to it; see MAKERS and ELSEWHERE of {pathlib.Path(__file__).name}"
        elif exit != exits[site.code]:
            yield f"{place}: {site.code} has exit code {exit} here and {exits[site.code]} in {TABLE}"
    yield from unused_constants(source)
    for code in codes:
        if code not in raised:
            yield f"{TABLE}: nothing raises {code}"
    for path in files(source):
        relative = path.relative_to(source).as_posix()
        text = without_comments(path.read_text(errors="replace"), path.suffix)
        for m in compares_a_prefix(text) if relative != NAMES else ():
            yield f"{relative}:{text.count(chr(10), 0, m.start()) + 1}: a comparison with a part of a code"


def unused_constants(source):
    """Constants for causes that nothing uses: their rows would be raised by nothing."""
    for header in ("compiler/import/error/ImportErrors.h", "models/ModelErrors.h", NAMES):
        if not (source / header).exists():
            continue
        for name, code in re.findall(r'constexpr char (\w+)\[\] = "(E\d{4})"', (source / header).read_text()):
            word = re.compile(rf"(cause|errors)::{name}\b")
            if not any(word.search(path.read_text(errors="replace")) for path in files(source) if path.suffix in (".cpp", ".h")):
                yield f"{header}: nothing uses {name} ({code})"


def shared(source):
    """The codes that are raised at several sites, for a reader who looks for different causes of one code."""
    names, per_code = names_of(source), collections.defaultdict(list)
    for site in sites(source, names):
        if site.path not in (NAMES,) and not is_comparison(site):
            words = re.search(r'"((?:[^"\\]|\\.)*)"', site.after)
            per_code[site.code].append(f"{site.path}:{site.line}: {words[1] if words else ''}")
    for header, prefix in (("compiler/import/error/ImportErrors.h", "cause"), ("models/ModelErrors.h", "cause")):
        for name, code in re.findall(r'constexpr char (\w+)\[\] = "(E\d{4})"', (source / header).read_text()):
            per_code[code] = []
            for path in files(source):
                text = path.read_text(errors="replace") if path.suffix in (".cpp", ".h") else ""
                for m in re.finditer(rf"\b{prefix}::{name}\b", text):
                    words = re.search(r'"((?:[^"\\]|\\.)*)"', text[m.end():m.end() + 200])
                    per_code[code].append(f"{path.relative_to(source)}:{text.count(chr(10), 0, m.start()) + 1}: {words[1] if words else ''}")
    for code, exit, title in rows(source):
        if len(per_code[code]) > 1:
            print(f"{code} {title}")
            for one in per_code[code]:
                print(f"  {one}")


# ------------------------------------------------------------- self-test

def self_test():
    table = ('INGOT_ERROR(E0101, Usage, "a", "A.", "B.")\nINGOT_ERROR(E0301, File, "b", "A.", "B.")\n'
             'INGOT_ERROR(E0560, Device, "c", "A.", "B.")\n')  # fmt: skip
    names = 'inline constexpr char kFull[] = "E0560";\n'
    good = {TABLE: table, NAMES: names,
            "runtime/a.cpp": 'Error a() { return {ExitCode::Usage, "E0101", "x"}; } // "E9999"\nError b() { return bad("E0301", "y"); }\n',
            "tools/b.cpp": 'Error c() { return {ExitCode::Device, errors::kFull, ""}; }\nbool d(Error e) { return e.code == errors::kFull; }\n'}  # fmt: skip
    cases = {
        "has no row": {"runtime/c.cpp": 'f(ExitCode::File, "E0999");'},
        "nothing raises E0101": {"runtime/a.cpp": 'f(ExitCode::File, "E0301");'},
        "has exit code File here and Usage": {"runtime/c.cpp": 'f(ExitCode::File, "E0101");'},
        "has exit code Internal here and Usage": {"python/c.py": 'raise IngotError(70, "E0101", "x")'},
        "is not next to it": {"runtime/c.cpp": 'unknownMaker("E0101");'},
        "codes ascend": {TABLE: table + 'INGOT_ERROR(E0102, Usage, "d", "A.", "B.")\n', "runtime/c.cpp": 'f(ExitCode::Usage, "E0102");'},
        "have the title": {TABLE: table + 'INGOT_ERROR(E0601, File, "a", "A.", "B.")\n', "runtime/c.cpp": 'f(ExitCode::File, "E0601");'},
        "comparison with the literal": {"runtime/c.cpp": 'bool x = e.code == "E0101";'},
        "a comparison with the literal E0101": {"python/c.py": 'if error.code != "E0101": pass'},
        "comparison with the literal E0301": {"web/src/c.ts": "if ('E0301' === code) {}"},
        "a part of a code": {"runtime/c.cpp": 'bool x = code.starts_with("E07");'},
        "has a name": {"runtime/c.cpp": 'f(ExitCode::Device, "E0560");'},
        "nothing uses kFull": {"tools/b.cpp": "", "runtime/c.cpp": "", "deploy/c.cpp": 'f(TRITONSERVER_ERROR_UNAVAILABLE, "E0560");'},
    }
    failures = 0
    for wanted, changes in {"": {}, **cases}.items():
        with tempfile.TemporaryDirectory() as place:
            for name, text in {**good, **changes}.items():
                path = pathlib.Path(place, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            found = list(check(pathlib.Path(place)))
            if (wanted and not any(wanted in one for one in found)) or (not wanted and found):
                failures += 1
                print(f"self-test: wanted '{wanted}', found {found}")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        sys.exit(1 if self_test() else 0)
    if options.shared:
        shared(options.source)
        return
    mistakes = list(check(options.source))
    for mistake in mistakes:
        print(mistake)
    sys.exit(1 if mistakes else 0)


main()

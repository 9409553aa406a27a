"""Lists the tests that a change can affect, according to the table of rooms (layering.py); `./dev test --changed BASE`
runs them.

  affected.py --build FOLDER --base BASE           a line for each part and what it runs, or the line `everything`
  affected.py --build FOLDER --base BASE --list    the same for people, with reasons
  affected.py --build FOLDER --list FILE…          for these files instead of those that differ from BASE

The changed files are those of `git diff BASE...`, uncommitted ones and untracked ones. A room is affected if one of
its files changed or if it may include an affected room. Tests mirror the tree, so the folder that declares a test
names the room that it tests; the #include lines of its sources name further rooms, and BESIDES names what no #include
shows.
If it is not clear what a file can affect, everything runs.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

from layering import FOR_ALL, INCLUDE, LIBRARIES, ROOMS

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A change of the build system, or of files that many tests share, runs everything. A name that ends with a slash is a
# folder. The files of tests/ itself count too.
SHARED = ("CMakeLists.txt", "CMakePresets.json", "cmake/", "dev", ".ci/", "tests/checkpoints/", "tests/engines/",
          "tests/layering/", "tests/e2e/signals.py", "tests/e2e/suite.py")

# Rooms and tests that a folder of tests runs or reads, in addition to the room that it mirrors and to the rooms that it
# includes. A room brings the rooms that it may include. ingot loads the compiler's library, so no #include names it.
PROGRAM = "tools/ingot compiler/driver"
BESIDES = {
    "tests/codegen": "tools/mlir emulator",
    "tests/compiler/reference/interpreter": "compiler/driver",
    "tests/deploy": PROGRAM,
    "tests/dialects": "tools/mlir",
    "tests/embed": PROGRAM + " runtime/embed",
    "tests/emulator": "codegen",
    "tests/gpu": PROGRAM + " codegen",
    "tests/passes": "tools/mlir",
    "tests/plugins": "tools/mlir " + PROGRAM,
    "tests/tools": "tools/mlir " + PROGRAM + " tests/bits tests/bench tests/plugins",
}

# Maps folders outside of the rooms, and pages that tests read, to their tests. These are folders of ctest, lit suites
# or their tests, and `goldens TEXT`, the end-to-end checks whose name contains TEXT. The first matching row counts.
PAGES = [
    ("web/", "tests/runtime/server/page tests/tools/engine_page.test goldens=page"),
    ("python/", "tests/embed tests/deploy tests/tools/python.test goldens=embed"),
    ("deploy/kubernetes/", "tests/deploy tests/tools/kubernetes.test"),
    ("deploy/", "tests/deploy"),
    ("docs/benchmarks.md", "tests/tools/bench_table.test"),
    ("docs/embedding.md", "tests/embed"),
    ("docs/fusion-from-a-file.md", "tests/tools/fusion_page.test"),
    ("docs/grafana/", "tests/tools/serve_observed.test"),
    ("docs/kernel-from-outside.md", "tests/tools/kernel_page.test"),
    ("docs/kubernetes.md", "tests/deploy"),
    ("docs/models.md", "tests/models"),
    ("docs/patterns.md", "tests/passes"),
    ("README.md", "goldens=readme"),
    ("docs/", ""),
    ("CHANGELOG.md", ""),
    ("CONTRIBUTING.md", ""),
    ("SECURITY.md", ""),
]

# Maps parts of `dev test` that are not tests of ctest or lit to the rooms and folders of tests whose change runs them.
PARTS = {
    "goldens": PROGRAM + " tests/e2e",
    "bits": PROGRAM + " tests/bits tests/tools/make_tiny.py",
    "sanitize": "runtime compiler/import compiler/text tests/fuzz",
    "fuzz": "runtime compiler/import compiler/text tests/fuzz",
    "vocabularies": "runtime/text tests/runtime/text",
    "ray": PROGRAM + " runtime/embed python tests/ray",
    "deploy": PROGRAM + " deploy tests/deploy",
}
LONG = ("vocabularies", "ray", "deploy")  # run only with --long
ALWAYS = ("tests/layering", "tests/docs")  # two seconds: they read all sources and comments
FORMATTED = (".h", ".hpp", ".cpp", ".c", ".cuh", ".clang-format")
SOURCES = (".h", ".hpp", ".cpp", ".c", ".cu", ".cuh", ".py", ".txt", ".sh", ".test", ".mlir")


def within(path, folder):
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def named(path, name):
    """Whether a row of SHARED or PAGES names a file."""
    return path == name or name.endswith("/") and path.startswith(name)


def overlap(one, other):
    return within(one, other) or within(other, one)


def rooms_of(path, names):
    """The room that a file or folder is in; for a folder that contains rooms, those rooms."""
    around = [name for name in names if within(path, name)]
    return {max(around, key=len)} if around else {name for name in names if within(name, path)}


def affected_rooms(changed, rooms=ROOMS):
    """Room -> why: a changed file, or the affected room that it may include. `changed`: room -> file."""
    why = dict(changed)
    for name, _, allowed in rooms:  # a room comes after all that it may include
        own = set(allowed.split()) - LIBRARIES
        if name not in FOR_ALL and not name.startswith("deploy/"):
            own |= FOR_ALL
        for other in list(why):
            if name not in why and any(overlap(other, used) for used in own):
                why[name] = other
    return why


class Tests:
    """The folders of tests/ that declare tests, and what each of them uses."""

    def __init__(self, root, programs):
        """`programs`: name of a test of ctest -> the folder that declares it."""
        self.root, self.programs = root, programs
        self.names = [name for name, _, _ in ROOMS]
        self.suites = sorted(str(path.parent.relative_to(root)) for path in (root / "tests").rglob("*/CMakeLists.txt")
                             if re.search(r"^ *ingot_add_lit_suite\(|lit\.site\.cfg\.py", path.read_text(), re.M))
        self.folders = sorted({*programs.values(), *self.suites})
        self.rooms = {}  # folder -> the rooms that it uses
        self.files = {}  # folder -> the files and folders of tests that it reads
        for folder in self.folders:
            self.rooms[folder] = rooms_of(folder.removeprefix("tests/"), self.names)
            self.files[folder] = {folder}
            for used in BESIDES.get(folder, "").split():
                (self.files if used.startswith("tests/") else self.rooms)[folder].add(used)
            for path in self.sources(folder):
                self.scan(folder, path.read_text(errors="replace"), path)
            self.follow(folder)
            # Only comments name these; a change of them runs other parts of `dev test`.
            self.files[folder] -= {"tests", "tests/e2e", "tests/e2e/run.py", "tests/bits/run.py"} - {folder}
            if folder in ALWAYS:
                self.files[folder] = {folder}  # they name many files as data

    def scan(self, folder, text, path):
        """Adds what a source includes or names; returns the files of tests that it includes."""
        included = [name for name in INCLUDE.findall(text) if "/" in name]
        for name in included:
            self.rooms[folder] |= {room for room in self.names if within(name, room)}
        for name in re.findall(r"\btests/[\w./-]*\w", text):
            self.files[folder].add(self.existing(name))
        for name in re.findall(r"%S/((?:\.\./)+[\w./-]*\w)", text):
            found = (path.parent / name).resolve()
            if found.is_relative_to(self.root / "tests"):
                self.files[folder].add(self.existing(str(found.relative_to(self.root))))
        return [name for name in included if name.startswith("tests/")]

    def follow(self, folder):
        """A stand-in that a test includes, such as FakeEngine.h, adds what its header and its source include."""
        seen, left = set(), [path for path in self.sources(folder)]
        while left:
            path = left.pop()
            if path in seen or not path.is_file():
                continue
            seen.add(path)
            text = path.read_text(errors="replace")
            near = [name for name in INCLUDE.findall(text) if "/" not in name]
            far = self.scan(folder, text, path)
            for found in [*(self.root / name for name in far), *(path.parent / name for name in near)]:
                if found.is_file():
                    both = {found, found.with_suffix(".cpp")}
                    self.files[folder] |= {str(one.relative_to(self.root)) for one in both}
                    left += both

    def sources(self, folder):
        """The sources below a folder, without those of folders that declare their own tests."""
        inner = [other for other in self.folders if other != folder and within(other, folder)]
        for path in sorted((self.root / folder).rglob("*")):
            own = str(path.relative_to(self.root))
            if path.suffix in SOURCES and path.is_file() and not any(within(own, other) for other in inner):
                yield path

    def existing(self, name):
        """The file or folder of that name; for a file that the build makes, its folder."""
        path = pathlib.PurePath(name)
        while not (self.root / path).exists():
            path = path.parent
        return str(path)

    def declared(self, folder):
        around = [other for other in self.folders if within(folder, other)]
        return max(around, key=len, default=None)


class Choice:
    """What runs, each with the reason."""

    def __init__(self):
        self.everything = ""  # why
        self.programs, self.lit, self.goldens, self.parts = {}, {}, {}, {}

    def lines(self):
        """For `dev`: a part and its selected tests, separated by tabs."""
        if self.everything:
            return ["everything"]
        found = [f"gtest\t^({'|'.join(sorted(self.programs))})$"] if self.programs else []
        if self.lit:
            found.append("\t".join(["lit", *sorted(self.lit)]))
        if "goldens" in self.parts:
            found.append("goldens")
        elif self.goldens:
            found.append("\t".join(["goldens", *sorted(self.goldens)]))
        return found + [part for part in self.parts if part != "goldens"]

    def report(self):
        if self.everything:
            return f"everything: {self.everything}"
        goldens = {f"checks with '{text}'": why for text, why in self.goldens.items() if "goldens" not in self.parts}
        found = []
        for part, chosen in (("gtest", self.programs), ("lit", self.lit), ("goldens", goldens), ("", self.parts)):
            for name, why in sorted(chosen.items()):
                found.append(f"{part:8} {name:32} {why}" if part else f"{name:41} {why}")
        return "\n".join(found) or "nothing"


def choose(paths, tests):
    """The Choice for changed files."""
    choice, changed = Choice(), {}  # room -> file
    touched = {}  # file of tests -> the folder around it that declares tests
    pages = {}
    for path in sorted(paths):
        top = path.split("/")[0]
        if any(named(path, one) for one in SHARED) or re.fullmatch(r"tests/[^/]+", path):
            choice.everything = f"many tests share {path}" if top == "tests" else f"the build uses {path}"
            return choice
        page = next((row for row in PAGES if named(path, row[0])), None)
        if path.startswith("deploy/triton/"):
            page = None
        if page:
            pages[path] = page[1].split()
        elif top == "tests":
            touched[path] = tests.declared(path)
        elif found := rooms_of(str(pathlib.PurePath(path).parent), tests.names):
            changed.update((room, path) for room in found)
        else:
            choice.everything = f"it is not known what {path} can touch"
            return choice

    why = affected_rooms(changed)

    def reason(used):
        """Why one of these rooms, or a folder that contains rooms, is affected: the chain of includes from it to a
        changed file."""
        for name in sorted(used):
            for room in why:
                if within(room, name) or within(name, room):
                    way = [room]
                    while why[way[-1]] in why:
                        way.append(why[way[-1]])
                    return f"{' <- '.join(way)}: {why[way[-1]]}"
        return None

    known = set()  # changed files of tests that some test uses
    for folder in tests.folders:
        because = reason(tests.rooms[folder])
        for path, place in touched.items():
            # The programs of a folder do not read the folders below it that have their own tests; lit suites do.
            inner = within(path, folder) and place != folder and folder not in tests.suites
            if not inner and any(within(path, used) for used in tests.files[folder]):
                known.add(path)
                single = folder in tests.suites and path.endswith(".test") and within(path, folder)
                if single and not because:
                    if (tests.root / path).exists():
                        choice.lit[path] = "it changed"
                elif not single:
                    because = because or f"{path} changed"
        for path, aims in pages.items():
            if folder in aims:
                because = because or f"it tests {path}"
        if because or folder in ALWAYS:
            because = because or "it reads all sources and documents"
            choice.programs.update((name, because) for name, place in tests.programs.items() if place == folder)
            if folder in tests.suites:
                for name in [name for name in choice.lit if within(name, folder)]:
                    del choice.lit[name]
                choice.lit[folder] = because
    for path, aims in pages.items():
        for aim in aims:
            if aim.endswith(".test") and not any(within(aim, folder) for folder in choice.lit):
                choice.lit[aim] = f"it tests {path}"
            elif aim.startswith("goldens="):
                choice.goldens[aim.removeprefix("goldens=")] = f"they test {path}"
    for part, uses in PARTS.items():
        names = uses.split()
        because = reason([name for name in names if not name.startswith("tests/")])
        for path in [*touched, *pages]:
            if not because and any(within(path, name) for name in names):
                because = f"{path} changed"
                known.add(path)
        if because:
            choice.parts[part] = because + (" (with --long)" if part in LONG else "")
    if "sanitize" in choice.parts and not choice.programs:
        del choice.parts["sanitize"]
    for path in touched:
        if path not in known:
            choice.everything = f"it is not known which tests use {path}"
    if any(path.endswith(FORMATTED) for path in paths):
        choice.parts["format"] = "C++ files changed"
    return choice


def declared_programs(build):
    """Name of each test of ctest -> the folder whose CMakeLists.txt declares it."""
    home = re.search(r"^CMAKE_HOME_DIRECTORY:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)[1]
    shown = subprocess.run(["ctest", "--show-only=json-v1", "-C", "Long"], cwd=build, check=True, capture_output=True)
    return programs_of(json.loads(shown.stdout), pathlib.Path(home))


def programs_of(shown, home):
    graph, found = shown["backtraceGraph"], {}
    for test in shown["tests"]:
        node = graph["nodes"][test["backtrace"]]
        while "parent" in node:  # out of the functions, up to the file that calls them
            node = graph["nodes"][node["parent"]]
        found[test["name"]] = str(pathlib.Path(graph["files"][node["file"]]).parent.relative_to(home))
    return found


def changed_files(base, root=ROOT):
    """A renamed file counts with both of its names."""
    def names(*command):
        done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"affected.py: {done.stderr.strip()}")
        return {name for name in done.stdout.split("\0") if name}

    compare = ("diff", "--name-only", "--no-renames", "-z")
    untracked = names("ls-files", "--others", "--exclude-standard", "-z")
    return names(*compare, f"{base}...") | names(*compare, "HEAD") | untracked


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--base", default="HEAD")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    if not (options.build / "CMakeCache.txt").exists():
        sys.exit(f"affected.py: {options.build} is not a build folder: run ./dev build first")
    choice = choose(options.files or changed_files(options.base), Tests(ROOT, declared_programs(options.build)))
    print(choice.report() if options.list else "\n".join(choice.lines()))


if __name__ == "__main__":
    main()

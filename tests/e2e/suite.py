"""Named checks with a JUnit file at the end, and a common way to call `ingot`."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import traceback
import xml.etree.ElementTree as ElementTree

import signals

signals.default_in_children()  # for every test that starts `ingot`


class Skip(Exception):
    """Raised by a check that cannot run on this machine, with the reason."""


class Suite:
    """Runs checks; a check is a function that asserts and may return a remark to print. With texts in `only`, runs
    just the checks whose name contains one of them (ignoring case), and those that others need."""

    def __init__(self, *only):
        self.only = [text.lower() for text in only]
        self.results = []  # (name, seconds, failure or None)
        self.skipped = {}  # name -> why

    def wants(self, name):
        return not self.only or any(text in name.lower() for text in self.only)

    def check(self, name, function, needed=False):
        """Returns whether the check passed or was skipped."""
        if not needed and not self.wants(name):
            return True
        start = time.monotonic()
        failure, remark = None, ""
        try:
            remark = function() or ""
        except Skip as why:
            self.skipped[name] = remark = str(why)
        except AssertionError as error:
            failure = str(error) or traceback.format_exc()
        except Exception:  # a crash of ingot or a missing file also fails the check
            failure = traceback.format_exc()
        seconds = time.monotonic() - start
        self.results.append((name, seconds, failure))
        outcome = "FAILED" if failure else "skipped" if name in self.skipped else "ok    "
        print(f"{outcome} {name} ({seconds:.1f} s) {remark}".rstrip(), flush=True)
        if failure:
            print("    " + failure.strip().replace("\n", "\n    "), flush=True)
        return failure is None

    def failures(self):
        return [name for name, _, failure in self.results if failure]

    def write_junit(self, path):
        root = ElementTree.Element("testsuite", name="e2e", tests=str(len(self.results)), failures=str(len(self.failures())), skipped=str(len(self.skipped)))
        for name, seconds, failure in self.results:
            case = ElementTree.SubElement(root, "testcase", classname="e2e", name=name, time=f"{seconds:.2f}")
            if name in self.skipped:
                ElementTree.SubElement(case, "skipped", message=self.skipped[name])
            if failure:
                printable = "".join(c if c.isprintable() or c == "\n" else "?" for c in failure)
                ElementTree.SubElement(case, "failure", message=printable.splitlines()[-1][:200]).text = printable
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def test_code():
    """The folder where all tests keep generated code: INGOT_DEV_CACHE (`dev test` sets it), else a temporary one."""
    return os.environ.get("INGOT_DEV_CACHE") or os.path.join(tempfile.gettempdir(), "ingot-test-code")


class Ingot:
    """The program under test. A call fails the check with the program's output if the exit
    code is unexpected. Compilations share a folder of generated code (test_code), because
    many checks compile the same kernels; tests/tools/code_cache.test checks that engines are
    the same with and without it. `fresh`: compile without that folder."""

    def __init__(self, path, work):
        self.path, self.work = str(path), pathlib.Path(work)
        self.work.mkdir(parents=True, exist_ok=True)

    def __call__(self, *arguments, code=0, text=None, fresh=False):
        command = [self.path, *map(str, arguments)]
        if not fresh and command[1] == "compile" and "-o" in command and "--cache" not in command:
            command += ["--cache", test_code()]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=600)
        shown = " ".join(command)[:300]
        assert done.returncode == code, f"{shown}\nexit code {done.returncode}, expected {code}\n{done.stderr[-2000:]}"
        return done

    def host_levels(self):
        """The CPU levels of the target `cpu` that this machine runs, from worst to best."""
        runs = re.findall(r"\w+", self("--version").stdout.partition("this machine runs")[2])
        return [level for level in ("avx2", "avx512", "amx") if level in runs]

    def levels(self, engine):
        """Those of them that an engine has code for."""
        targets = {target["target"] for program in self.json("inspect", engine)["programs"] for target in program["targets"]}
        return [level for level in self.host_levels() if f"cpu:{level}" in targets]

    def json(self, *arguments):
        return json.loads(self(*arguments, "--json").stdout)

    def json_lines(self, *arguments):
        return [json.loads(line) for line in self(*arguments, "--json").stdout.splitlines()]

    def file(self, name, lines):
        """Writes JSON values into a file of the work folder, one per line."""
        path = self.work / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path


class Checkpoint:
    def __init__(self, name, path, golden):
        self.name, self.path, self.golden = name, pathlib.Path(path), golden
        self.engines = {}  # precision -> path, filled by the compile checks

"""Tests of affected.py, on the tree itself with some of its tests."""
import pathlib
import re
import subprocess
import tempfile
import unittest

import affected
from affected import PAGES, BESIDES, PARTS, ROOT, ROOMS, SHARED

PROGRAMS = {
    "kv-tests": "tests/runtime/kv",
    "session-tests": "tests/runtime/session",
    "formats-test": "tests/runtime/formats",
    "device-tests": "tests/runtime/device",
    "cuda-device-tests": "tests/runtime/device/cuda",
    "page-tests": "tests/runtime/server/page",
    "import-test": "tests/compiler/import",
    "test-models": "tests/models",
    "codegen-RowwiseTest": "tests/codegen/cpu",
    "hub-tests": "tests/tools",
    "embed-python": "tests/embed",
    "deploy-kubernetes": "tests/deploy",
    "gpu-check": "tests/gpu",
    "e2e-signals": "tests/e2e",
    "docs": "tests/docs",
    "layering-includes": "tests/layering",
}
CHEAP = {"docs", "layering-includes"}
TESTS = affected.Tests(ROOT, PROGRAMS)


def chosen(*paths):
    return affected.choose(paths, TESTS)


class Rooms(unittest.TestCase):
    TABLE = [("runtime/error", "", ""), ("runtime/kv", "", ""), ("runtime/session", "", "runtime/kv"),
             ("passes", "", "MLIR"), ("compiler/targets", "", "MLIR passes runtime"), ("deploy/triton", "", "")]

    def test_users_of_users_are_affected(self):
        why = affected.affected_rooms({"runtime/kv": "runtime/kv/A.h"}, self.TABLE)
        self.assertEqual(why, {"runtime/kv": "runtime/kv/A.h", "runtime/session": "runtime/kv",
                               "compiler/targets": "runtime/kv"})

    def test_all_rooms_but_deploy_use_the_first_five(self):
        why = affected.affected_rooms({"runtime/error": "runtime/error/Error.h"}, self.TABLE)
        self.assertEqual(set(why), {name for name, _, _ in self.TABLE} - {"deploy/triton"})

    def test_a_file_above_rooms_is_of_all_of_them(self):
        choice = chosen("runtime/CMakeLists.txt")
        self.assertLess({"kv-tests", "session-tests", "page-tests"}, set(choice.programs))


class Choices(unittest.TestCase):
    def test_a_room_of_the_runtime(self):
        choice = chosen("runtime/kv/KvPool.cpp")
        self.assertLess({"kv-tests", "session-tests", "embed-python"}, set(choice.programs))
        self.assertFalse({"import-test", "test-models", "formats-test", "codegen-RowwiseTest"} & set(choice.programs))
        self.assertLessEqual({"bits", "goldens", "sanitize", "fuzz", "format"}, set(choice.parts))
        self.assertIn("runtime/kv/KvPool.cpp", choice.programs["session-tests"])

    def test_a_room_of_the_compiler(self):
        choice = chosen("passes/fusion/FuseNorms.cpp")
        self.assertLessEqual({"tests/passes", "tests/tools", "tests/plugins"}, set(choice.lit))
        self.assertLessEqual({"bits", "goldens"}, set(choice.parts))
        self.assertFalse({"sanitize", "fuzz"} & set(choice.parts))
        self.assertFalse({"kv-tests", "session-tests", "import-test"} & set(choice.programs))

    def test_the_parsers_are_sanitized(self):
        self.assertLessEqual({"sanitize", "fuzz"}, set(chosen("compiler/import/containers/Gguf.cpp").parts))

    def test_pages_alone_run_what_tests_them(self):
        for path, programs, lit, goldens in (
                ("docs/gpu.md", set(), set(), set()),
                ("CHANGELOG.md", set(), set(), set()),
                ("docs/models.md", {"test-models"}, set(), set()),
                ("README.md", set(), set(), {"readme"}),
                ("web/src/main.ts", {"page-tests"}, {"tests/tools/engine_page.test"}, {"page"}),
                ("python/src/ingot/_abi.py", {"embed-python", "deploy-kubernetes"}, {"tests/tools/python.test"},
                 {"embed"}),
                ("deploy/kubernetes/values_for.py", {"deploy-kubernetes"}, {"tests/tools/kubernetes.test"}, set())):
            choice = chosen(path)
            found = set(choice.programs), set(choice.lit), set(choice.goldens)
            self.assertEqual(found, (CHEAP | programs, lit, goldens), path)
            self.assertLessEqual(set(choice.parts), {"ray", "deploy"}, path)

    def test_the_backend_of_triton_is_a_room(self):
        self.assertFalse(chosen("deploy/triton/Backend.cpp").everything)
        self.assertIn("format", chosen("deploy/triton/Backend.cpp").parts)

    def test_one_test_of_the_command_line(self):
        choice = chosen("tests/tools/help.test", "tests/tools/usage.test")
        self.assertEqual((set(choice.programs), set(choice.lit), set(choice.parts)),
                         (CHEAP, {"tests/tools/help.test", "tests/tools/usage.test"}, set()))
        self.assertEqual(set(chosen("tests/tools/help.test", "tests/tools/lit.cfg.py").lit), {"tests/tools"})
        self.assertEqual(set(chosen("tests/tools/gone.test").lit), set())

    def test_a_test_program(self):
        self.assertEqual(set(chosen("tests/runtime/kv/PagePoolTest.cpp").programs), CHEAP | {"kv-tests"})
        choice = chosen("tests/runtime/device/cuda/ThreadsTest.cpp")
        self.assertEqual(set(choice.programs), CHEAP | {"cuda-device-tests"})

    def test_a_stand_in_that_other_tests_include(self):
        self.assertLess({"device-tests", "cuda-device-tests", "session-tests", "embed-python"},
                        set(chosen("tests/runtime/device/FakeEngine.h").programs))
        # The rooms that the stand-in is made of count as well.
        self.assertIn("session-tests", chosen("compiler/engine/EngineWriter.cpp").programs)

    def test_the_other_parts(self):
        self.assertEqual(set(chosen("tests/e2e/page.py").parts), {"goldens"})
        self.assertIn("e2e-signals", chosen("tests/e2e/page.py").programs)
        self.assertEqual(set(chosen("tests/bits/bits.json").parts), {"bits"})
        self.assertEqual(set(chosen("tests/bits/bits.json").lit), {"tests/tools"})
        self.assertEqual(set(chosen("tests/fuzz/http/FuzzRequest.cpp").parts), {"sanitize", "fuzz", "format"})
        self.assertEqual(set(chosen("tests/ray/run.py").parts), {"ray"})

    def test_what_runs_everything(self):
        for path in ("CMakeLists.txt", "cmake/IngotMLIR.cmake", "dev", "CMakePresets.json", "tests/CMakeLists.txt",
                     "tests/summary.py", "tests/compiler.lit.py", "tests/checkpoints/GgufImage.cpp",
                     "tests/e2e/suite.py", "unknown.txt", "unknown/file.cpp", "tests/unknown/file.py",
                     ".github/workflows/ci.yml"):
            choice = chosen("docs/gpu.md", path)
            self.assertIn(path, choice.everything)
            self.assertEqual(choice.lines(), ["everything"])
            self.assertIn(path, choice.report())

    def test_lines_and_report(self):
        choice = chosen("web/src/main.ts")
        self.assertEqual(choice.lines(), ["gtest\t^(docs|layering-includes|page-tests)$",
                                          "lit\ttests/tools/engine_page.test", "goldens\tpage"])
        self.assertIn("page-tests", choice.report())
        self.assertEqual(chosen().parts, {})


class Tables(unittest.TestCase):
    """The tables name what exists."""

    def test_names(self):
        rooms = [name for name, _, _ in ROOMS]
        for uses in [*BESIDES.values(), *PARTS.values()]:
            for name in uses.split():
                self.assertTrue((ROOT / name).exists(), name)
                if not name.startswith(("tests/", "python", "deploy")):
                    self.assertTrue(affected.rooms_of(name, rooms), name)
        pages = [path for path, _ in PAGES], [aim for _, aims in PAGES for aim in aims.split()]
        for name in [*BESIDES, *SHARED, *pages[0], *pages[1]]:
            self.assertTrue(name.startswith("goldens=") or (ROOT / name).exists(), name)

    def test_every_page_that_lit_tests_read(self):
        for path in [*(ROOT / "tests").rglob("*.test"), *(ROOT / "tests").rglob("*.mlir")]:
            for name in re.findall(r"%S/((?:\.\./)+[\w./-]*\w)", path.read_text()):
                found = (path.parent / name).resolve()
                if not found.is_relative_to(ROOT) or found == ROOT:
                    continue
                read, own = str(found.relative_to(ROOT)), str(path.relative_to(ROOT))
                if read.split("/")[0] in ("docs", "deploy", "web", "python"):
                    lit = chosen(read).lit
                    runs = any(affected.within(own, name) for name in lit)
                    self.assertTrue(runs, f"{own} reads {read}: add it to PAGES")

    def test_every_folder_of_tests_is_known(self):
        uses = " ".join([*PARTS.values(), *BESIDES.values()]).split()
        for folder in (ROOT / "tests").iterdir():
            if folder.is_dir() and folder.name != "__pycache__":
                known = any(affected.overlap(f"tests/{folder.name}", name.rstrip("/"))
                            for name in [*TESTS.folders, *SHARED, *BESIDES, *uses])
                self.assertTrue(known, f"affected.py does not know tests/{folder.name}: add it to PARTS or BESIDES")


class Sources(unittest.TestCase):
    def test_the_folder_that_declares_a_test(self):
        nodes = [{"file": 1}, {"file": 1, "line": 1, "parent": 0}, {"file": 0, "line": 33, "parent": 1}]
        files = ["/r/tests/CMakeLists.txt", "/r/tests/runtime/kv/CMakeLists.txt"]
        shown = {"backtraceGraph": {"files": files, "nodes": nodes},
                 "tests": [{"name": "kv-tests", "backtrace": 2}, {"name": "other", "backtrace": 1}]}
        self.assertEqual(affected.programs_of(shown, pathlib.Path("/r")),
                         {"kv-tests": "tests/runtime/kv", "other": "tests/runtime/kv"})

    def test_changed_files(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)

            def git(*command):
                own = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
                subprocess.run([*own, *command], cwd=root, check=True, capture_output=True)

            git("init", "-q", "-b", "main")
            for name in ("kept", "edited", "moved", "gone"):
                (root / name).write_text(name * 50)
            git("add", ".")
            git("commit", "-qm", "one")
            git("checkout", "-qb", "branch")
            git("mv", "moved", "new place")
            git("commit", "-qam", "two")
            git("checkout", "-q", "main")
            (root / "elsewhere").write_text("of another branch")
            git("add", ".")
            git("commit", "-qm", "three")
            git("checkout", "-q", "branch")
            (root / "edited").write_text("x")
            (root / "gone").unlink()
            (root / "ünknown").write_text("x")
            found = affected.changed_files("main", root)
            self.assertEqual(found, {"moved", "new place", "edited", "gone", "ünknown"})


if __name__ == "__main__":
    unittest.main()

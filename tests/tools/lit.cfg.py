# Tests of the command line:  *.test, shell lines with FileCheck.
#
#   %ingot     the program                      %exits N COMMAND…   COMMAND ends with exit code N
#   %fresh-ingot    the program without the code cache that all tests share and `%ingot compile … -o E` uses
#   %build     its build folder
#   %tiny      an engine of the tiny checkpoint (make_tiny.py), compiled once per run of lit
#   %checkpoint, %bare    the tiny checkpoint, and one without tokenizer and template
#   %fuzz-drafts    an engine's answers with drafts of several kinds (FuzzDrafts.cpp)
#   %fuzz-schedules an engine's answers in random batch compositions (FuzzSchedules.cpp)
#   %plugins   the folder of ingot-sample-plugin.so, ingot-bad-plugin.so and ingot-old-plugin.so (tests/plugins)
import glob
import os
import subprocess
import sys

import lit.formats

config.name = "ingot command line"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".test"]
config.environment["HOME"] = config.test_exec_root
config.environment.pop("XDG_CACHE_HOME", None)

sys.path.insert(0, os.path.join(config.test_source_root, "..", "e2e"))
from suite import test_code  # noqa: E402

work = config.test_exec_root
checkpoint, bare, engine = (os.path.join(work, name) for name in ("tiny.gguf", "bare.gguf", "tiny.ingot"))
make_tiny = os.path.join(config.test_source_root, "make_tiny.py")
subprocess.run([config.python, make_tiny, checkpoint], check=True)
subprocess.run([config.python, make_tiny, bare, "--no-tokenizer"], check=True)
if os.path.exists(config.compiler_library):
    config.available_features.add("compiler")
    done = subprocess.run([config.ingot, "compile", checkpoint, "-o", engine, "--cache", test_code(), "--quiet"], capture_output=True, text=True)
    if done.returncode:
        lit_config.error(f"the tiny checkpoint does not compile:\n{done.stderr}")

wheels = os.path.join(os.path.dirname(os.path.dirname(config.ingot)), "venv/lib/python*/site-packages/nvidia/cu13")
if glob.glob(wheels + "/lib/libnvrtc.so.13"):
    config.available_features.add("nvrtc")
if glob.glob(wheels + "/bin/nvdisasm"):
    config.available_features.add("nvdisasm")

config.substitutions += [
    # Many tests compile the same kernels. code_cache.test checks that engines are the same with and without a cache.
    (r"%ingot compile(?=[^|&;]* -o )(?![^|&;]* --cache )", f"{config.ingot} compile --cache {test_code()}"),
    ("%ingot", config.ingot),
    ("%fresh-ingot", config.ingot),
    ("%build", os.path.dirname(os.path.dirname(config.ingot))),
    ("%fuzz-drafts", os.path.join(os.path.dirname(config.ingot), "fuzz-drafts")),
    ("%fuzz-schedules", os.path.join(os.path.dirname(config.ingot), "fuzz-schedules")),
    ("%exits", f"{config.python} {config.test_source_root}/exits.py"),
    ("%python", config.python),
    ("%plugins", os.path.dirname(config.compiler_library)),
    ("%tiny", engine),
    ("%checkpoint", checkpoint),
    ("%bare", bare),
    ("%engines", os.path.join(config.test_source_root, "..", "engines")),
    ("FileCheck", config.filecheck + " -enable-var-scope"),
]

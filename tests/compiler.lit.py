# Defines one suite per folder of the compiler, which runs FileCheck over ingot-opt.
import glob
import os
import sys

import lit.formats

config.name = "ingot-" + config.suite_name
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs"]
config.test_source_root = config.suite_source
config.test_exec_root = config.suite_exec
config.environment["PATH"] = os.pathsep.join([config.ingot_bin, config.llvm_bin, config.environment.get("PATH", "")])
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input=fail"
config.substitutions += [("%sample_plugin", config.sample_plugin), ("%python", sys.executable)]
# Looks for the pinned NVRTC where codegen/cuda/Nvrtc.cpp does.
if glob.glob(os.path.join(os.path.dirname(config.ingot_bin), "venv/lib/python*/site-packages/nvidia/*/lib/libnvrtc.so*")):
    config.available_features.add("nvrtc")

"""The hard lines of the design (docs/working-agreement.md, "Borders"), looked at in sources and binaries.

  layering.py --source FOLDER               includes of runtime/, compiler/import/ and tools/ingot/
  layering.py --runtime-binary build/bin/ingot    links no LLVM, is small, and (--stripped) has no symbols
  layering.py --compiler-library libingot-compiler.so    links the shared MLIR and LLVM, holds no second copy
  layering.py --self-test                   every rule finds what it is for
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
LLVM = re.compile(r"^(llvm|llvm-c|mlir|mlir-c|lld|clang)/")

# What each room must not include. compiler/import is a parser that needs no LLVM: it counts as
# part of the runtime side.
RULES = [
    ("runtime", re.compile(r"^(dialects|passes|codegen|models|tools)/|^compiler/(?!import/)")),
    ("compiler/import", re.compile(r"^(dialects|passes|codegen|models|tools)/|^compiler/(?!import/)")),
    ("tools/ingot", re.compile(r"^(dialects|passes|codegen|models)/|^compiler/(?!import/)")),
]
LARGEST_RUNTIME = 20_000_000  # bytes


def wrong_includes(root):
    for room, forbidden in RULES:
        for path in sorted((root / room).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".inc") or not path.is_file():
                continue
            for name in INCLUDE.findall(path.read_text(errors="replace")):
                if LLVM.match(name) or forbidden.match(name):
                    yield f"{path.relative_to(root)} includes {name}"


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(binary):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", "-W", binary))


def dynamic_symbols(binary, kind):
    return output("nm", "-D", "--no-demangle", f"--{kind}-only", binary).split()


def wrong_in_runtime(binary, stripped):
    for library in needed(binary):
        if re.search(r"LLVM|MLIR|lld|clang|ingot-compiler", library):
            yield f"{binary} needs {library}"
    for kind in ("undefined", "defined"):
        for symbol in dynamic_symbols(binary, kind):
            if re.match(r"_ZNK?4(llvm|mlir)", symbol):
                yield f"{binary} has the {kind} symbol {symbol}"
    size = pathlib.Path(binary).stat().st_size
    if stripped and size > LARGEST_RUNTIME:
        yield f"{binary} has {size} bytes, the limit is {LARGEST_RUNTIME}"
    if stripped and re.search(r"\s\.symtab\s", output("readelf", "-S", "-W", binary)):
        yield f"{binary} is not stripped"


def wrong_in_compiler(library):
    libraries = needed(library)
    for name in ("MLIR", "LLVM"):
        if not any(re.match(rf"lib{name}\b", x) for x in libraries):
            yield f"{library} does not link the shared lib{name}: type ids would split"
    for symbol in dynamic_symbols(library, "defined"):
        if symbol.startswith("_ZN4mlir11MLIRContextC"):
            yield f"{library} holds a copy of MLIR ({symbol})"


def self_test(compiler):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        plants = {
            "runtime/a/A.h": '#include "llvm/ADT/SmallVector.h"\n',
            "runtime/b/B.cpp": "  #  include <mlir/IR/Value.h>\n",
            "runtime/c/C.cpp": '#include "compiler/engine/EngineWriter.h"\n',
            "compiler/import/D.cpp": '#include "dialects/lm/LmOps.h"\n',
            "tools/ingot/E.cpp": '#include "passes/Passes.h"\n',
        }
        fine = {
            "runtime/text/F.h": '#include "compiler/import/Checkpoint.h"\n#include <vector>\n// #include "llvm.h"\n',
            "passes/G.cpp": '#include "mlir/Pass/Pass.h"\n',
        }
        for name, text in {**plants, **fine}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        found = [line.split()[0] for line in wrong_includes(root)]
        assert sorted(found) == sorted(plants), found

        def build(name, source, *flags):
            path = root / name
            (root / "x.cpp").write_text(source)
            subprocess.run([compiler, str(root / "x.cpp"), "-o", str(path), *flags], check=True)
            return str(path)

        copy = "namespace mlir { struct MLIRContext { MLIRContext(); }; MLIRContext::MLIRContext() {} }"
        library = build("libMLIR.so", copy, "-shared", "-fPIC")
        assert len(list(wrong_in_compiler(library))) >= 3
        uses = "namespace mlir { struct MLIRContext { MLIRContext(); }; } int main() { mlir::MLIRContext c; }"
        program = build("program", uses, library)
        reasons = " ".join(wrong_in_runtime(program, stripped=True))
        assert "needs" in reasons and "undefined symbol" in reasons and "not stripped" in reasons, reasons
        clean = build("clean", "int main() {}", "-s")
        assert not list(wrong_in_runtime(clean, stripped=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("--runtime-binary")
    parser.add_argument("--stripped", action="store_true")
    parser.add_argument("--compiler-library")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--compiler", default="c++", help="C++ compiler of the self-test")
    options = parser.parse_args()
    wrong = []
    if options.self_test:
        self_test(options.compiler)
    if options.source:
        wrong += wrong_includes(options.source)
    if options.runtime_binary:
        wrong += wrong_in_runtime(options.runtime_binary, options.stripped)
    if options.compiler_library:
        wrong += wrong_in_compiler(options.compiler_library)
    print("\n".join(wrong) if wrong else "fine")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Checks which room may include which (CONTRIBUTING.md, "Where things are") in sources and binaries.

  layering.py --source FOLDER               each room's includes and number of readers; CONTRIBUTING.md lists all rooms
  layering.py --table                       prints the table of rooms, as CONTRIBUTING.md has it
  layering.py --readers                     number of sources that are recompiled when a family of ops changes
  layering.py --runtime-binary build/bin/ingot    links no LLVM, is small, and (--stripped) has no symbols
  layering.py --compiler-library libingot-compiler.so    links the shared MLIR and LLVM, holds no second copy
  layering.py --self-test                   checks that every rule finds its error
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
LLVM = re.compile(r"^(llvm|llvm-c|mlir|mlir-c|lld|clang)/")


def layers(outer, holds, allowed, inner):
    """The rooms inside a room, which may include what `outer` may and the inner rooms listed before them; then `outer`
    itself."""
    names = [f"{outer}/{name}" for name in inner]
    rows = [(name, what, " ".join([allowed, *names[:at]])) for at, (name, what) in enumerate(zip(names, inner.values()))]
    return [*rows, (outer, holds, " ".join([allowed, *names]))]


# Each room: its contents, and the other rooms (with their sub-rooms) that its files may include. Every room may
# include the first five, except deploy/, which may include only what third parties can. A room comes after all rooms
# that it may include, so there are no cycles. Only rooms that list MLIR and LLVM may include them.
ROOMS = [
    ("runtime/error", "the error type and the error codes", ""),
    ("runtime/schema", "the table of an engine file", ""),
    ("runtime/formats", "numeric formats and memory layouts of weights and KV caches", ""),
    ("runtime/abi", "the ABI between kernels and their callers", ""),
    ("runtime/json", "writes JSON", ""),
    ("runtime/kv", "memory of sequences between steps: KV pages, states, prefix cache", ""),
    ("runtime/engine", "engine files: loading, verifying, inspecting", "runtime/kv"),
    ("runtime/schedule", "chooses the tokens of each step; the simulator", "runtime/kv"),
    ("runtime/sample", "samples an id from logits", ""),
    ("runtime/text", "tokenizer, templates, grammars, parsers of model output", ""),
    ("emulator", "CUDA kernels as host code: headers to compile with, and a runtime", ""),
    ("runtime/device", "executors: CPUs, CUDA", "emulator runtime/engine runtime/kv"),
    ("runtime/session", "a loaded engine, used by one thread",
     "runtime/device runtime/engine runtime/kv runtime/sample runtime/schedule runtime/text"),
    ("runtime/service", "a session shared by many callers, and its model's text",
     "runtime/device runtime/engine runtime/session runtime/text"),
    ("runtime/server", "HTTP, the protocols, logs and traces, the page",
     "runtime/device runtime/engine runtime/sample runtime/service runtime/text"),
    ("runtime/embed", "libingot: the C ABI", "runtime/engine runtime/sample runtime/service runtime/session runtime/text"),
    ("deploy/triton", "the backend of Triton Inference Server, over `ingot.h`", "runtime/embed/include"),
    ("dialects", "`lm`, `kernel`, `plan`: ops, types, verifiers, SPEC.md", "MLIR"),
    ("passes", "one pass a file; `Pipelines.cpp` reads as prose", "MLIR dialects"),
    ("compiler/files", "writes files atomically; the cache of generated code", ""),
    ("codegen", "generates code from kernels; schedules", "MLIR dialects emulator compiler/files"),
    ("tools/options", "parses command lines", ""),
    *layers("compiler/import", "opens a checkpoint, whatever a path names", "", {
        "error": "the errors with which a checkpoint is refused",
        "files": "a checkpoint's files: mapped, confined to their folder, hashed; JSON",
        "blocks": "GGUF's blocks of weights, and how their codes are unpacked",
        "checkpoint": "tensors by name, metadata by key, weights as rows",
        "config": "`config.json`, wrappers, files of text",
        "parts": "tensors made of codes, scales and zero points",
        "methods": "quantised checkpoints, one method a file",
        "containers": "GGUF and safetensors",
    }),
    ("compiler/text", "makes an engine's tokenizer and templates from a checkpoint", "compiler/import runtime/text"),
    ("models", "one small file per family of models", "MLIR compiler/import dialects"),
    ("compiler/reference", "reference interpreters of `lm` and of plans", "MLIR compiler/import dialects"),
    ("compiler/pack", "packs rows into the layouts of devices", "compiler/import"),
    ("compiler/engine", "writes engine files", "runtime/engine compiler/files"),
    ("compiler/extend", "loads the user's patterns and plugins", "MLIR compiler/import dialects models passes"),
    ("compiler/options", "inputs of a compilation: options, recipes",
     "compiler/engine compiler/files runtime/engine tools/options"),
    ("compiler/crash", "the crash context, and the files left after a crash", "compiler/files"),
    ("compiler/targets", "device code",
     "MLIR codegen compiler/options compiler/crash compiler/engine compiler/reference dialects passes runtime"),
    *layers("compiler/driver", "a compilation, phase by phase", "MLIR compiler dialects models passes runtime", {
        "report": "output of a compilation: progress, warnings, remarks, the summary",
        "emit": "the IR as text: `--emit`, `--dump-intermediates`, the listing in an engine",
        "formats": "requested formats of weights and KV caches, checked against the model",
        "checks": "checks of passes, plans and packed weights; reproducers",
        "engine": "fills an engine: table, text, weights, provenance; its place in the cache",
        "inputs": "inputs from the user: a checkpoint, the IR of `--from`, plugins, patterns",
    }),
    ("tools/hub", "fetches models by name from a hub, into the cache of Python programs", ""),
    ("tools/terminal", "messages and answers, typed lines, word wrap", "runtime/engine"),
    ("tools/files", "files that commands write: atomically, JSON, `.npy`", ""),
    *layers("tools/ingot", "main and small commands",
            "compiler/engine compiler/import runtime tools/hub tools/options tools/files tools/terminal", {
        "command": "the interface of a subcommand of `ingot`",
        "engines": "MODEL as an engine on disk: names, cache, compiler; `list`, `rm`",
        "chat": "`chat`",
        "serve": "`serve`, `batch`",
        "measure/load": "`bench-serve`: clients, prompts, figures",
        "measure/roofline": "bytes and operations of launches, limits of machines, predicted time",
        "measure/simulate": "`simulate`",
        "measure": "`bench`, `bench-kernels`, `bench-serve`",
        "inspect": "`inspect`, `explain`, `diff`",
        "compile": "`compile`, `doctor`",
    }),
    ("tools/mlir", "`ingot-opt`, …",
     "MLIR compiler/extend compiler/reference compiler/targets dialects passes"),
]
FOR_ALL = {"runtime/error", "runtime/schema", "runtime/formats", "runtime/abi", "runtime/json"}
LIBRARIES = {"MLIR"}
LARGEST_RUNTIME = 20_000_000  # bytes
# The maximum number of sources that a change of an op may recompile.
MOST_READERS = 40


def inside(path, allowed):
    return any(path.startswith(name + "/") for name in allowed)


def wrong_rooms():
    """Checks the table itself: a room may include only rooms above it, so that there are no cycles."""
    above = set()
    for name, _, allowed in ROOMS:
        for other in set(allowed.split()) - LIBRARIES:
            if not any(known == other or known.startswith(other + "/") or other.startswith(known + "/") for known in above):
                yield f"{name} may include {other}, which does not stand above it"
        above.add(name)


def wrong_includes(root):
    rooms = {name: allowed.split() for name, _, allowed in ROOMS}
    tops = {name.split("/")[0] for name in rooms}
    places = {name: at for at, name in enumerate(rooms)}

    def place(path):  # a row may name a folder whose later rooms are out of bounds: `compiler`
        return places.get(max((name for name in rooms if inside(path, [name])), key=len, default=""), 0)

    for name, allowed in rooms.items():
        free = FOR_ALL if name not in FOR_ALL and not name.startswith("deploy/") else ()
        for path in sorted((root / name).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".inc", ".cuh") or not path.is_file():
                continue
            own = str(path.relative_to(root))
            for included in INCLUDE.findall(path.read_text(errors="replace")):
                if LLVM.match(included):
                    if "MLIR" not in allowed:
                        yield f"{own} includes {included}"
                elif included.split("/")[0] in tops and "/" in included and (
                        not inside(included, [name, *allowed, *free]) or place(included) > places[name]):
                    yield f"{own} includes {included}"


def table():
    rows = ["| folder | holds | may include |", "|---|---|---|"]
    for name, holds, allowed in ROOMS:
        own = name.split("/")[0] + "/"
        shown = [other.removeprefix(own) for other in allowed.split() if not other.startswith(name + "/")]
        inner = any(name.startswith(other + "/") for other, _, _ in ROOMS)
        rows.append(f"| `{name}/` | {holds} | {'' if inner else ', '.join(shown)} |")
    return "\n".join(rows)


def wrong_table(root):
    if table() not in (root / "CONTRIBUTING.md").read_text():
        yield "CONTRIBUTING.md has another table of rooms than `python3 tests/layering/layering.py --table` prints"


def readers(root):
    """For each family of ops, the number of sources that include its header, directly or indirectly."""
    includes = {}
    for path in [p for top in sorted({name.split("/")[0] for name, _, _ in ROOMS} | {"tests"}) for p in (root / top).rglob("*.*")]:
        if path.suffix in (".h", ".cpp"):
            near = [path.parent, root, root / "tests/codegen/cpu"]  # the -I paths
            named = [[place / name for place in near if (place / name).is_file()][:1] for name in INCLUDE.findall(path.read_text())]
            includes[path.resolve()] = {found[0].resolve() for found in named if found}
    reached = {}

    def all_of(path):
        if path not in reached:
            reached[path] = set()
            reached[path] = includes[path].union(*(all_of(header) for header in includes[path] if header in includes))
        return reached[path]

    families = {path.resolve(): str(path.relative_to(root)) for path in sorted(root.glob("dialects/*/ops/*.h"))}
    sources = [all_of(path) for path in includes if path.suffix == ".cpp"]
    return {name: sum(path in found for found in sources) for path, name in families.items()}


def wrong_readers(root):
    for name, count in readers(root).items():
        if count > MOST_READERS:
            yield f"{name} is included by {count} sources, {MOST_READERS} are the most: include the families that are used"


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
            "runtime/kv/A.h": '#include "llvm/ADT/SmallVector.h"\n',
            "runtime/json/B.cpp": "  #  include <mlir/IR/Value.h>\n",
            "runtime/engine/C.cpp": '#include "compiler/engine/EngineWriter.h"\n',
            "passes/H.cpp": '#include "codegen/cuda/CudaCodegen.h"\n',
            "runtime/session/I.h": '#include "runtime/server/api/Api.h"\n',
            "compiler/import/files/L.h": '#include "compiler/import/config/ConfigJson.h"\n',
            "compiler/driver/checks/M.h": '#include "compiler/driver/engine/EngineTable.h"\n',
            "compiler/driver/report/O.cpp": '#include "compiler/driver/Compile.h"\n',
            "compiler/import/D.cpp": '#include "dialects/lm/LmOps.h"\n',
            "tools/ingot/E.cpp": '#include "passes/Passes.h"\n',
            "deploy/triton/J.cpp": '#include "runtime/embed/AwaitableService.h"\n',
            "deploy/triton/K.cpp": '#include "runtime/error/Error.h"\n',
        }
        named = ["lm/LmOps.h", "kernel/ops/Structure.h", "plan/ops/Entry.h"]
        reads = "".join(f'#include "dialects/{name}"\n' for name in named)
        many = {f"passes/R{i}.cpp": reads for i in range(MOST_READERS)} | {"passes/N.cpp": '#include "passes/S.h"\n'}
        ops = {"dialects/lm/LmOps.h": '#include "dialects/lm/ops/Norm.h"\n', "dialects/lm/ops/Norm.h": "\n",
               "dialects/kernel/ops/Structure.h": "\n", "passes/S.h": '#include "dialects/kernel/ops/Structure.h"\n',
               "dialects/plan/ops/Entry.h": "\n"}
        fine = {
            "compiler/text/F.h": '#include "compiler/import/checkpoint/Checkpoint.h"\n'
                                 '#include <vector>\n// #include "llvm.h"\n',
            "passes/G.cpp": '#include "mlir/Pass/Pass.h"\n',
            "deploy/triton/L.cpp": '#include "runtime/embed/include/ingot.h"\n#include "deploy/triton/J.h"\n',
        }
        for name, text in {**plants, **fine, **many, **ops}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        found = [line.split()[0] for line in wrong_includes(root)]
        assert sorted(found) == sorted(plants), found
        assert not list(wrong_rooms()), list(wrong_rooms())
        found = [line.split()[0] for line in wrong_readers(root)]
        assert found == ["dialects/kernel/ops/Structure.h", "dialects/lm/ops/Norm.h"], found

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
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--readers", action="store_true")
    options = parser.parse_args()
    if options.readers:
        print("\n".join(f"{count:4}  {name}" for name, count in readers(options.source or pathlib.Path()).items()))
        return 0
    if options.table:
        print(table())
        return 0
    wrong = []
    if options.self_test:
        self_test(options.compiler)
    if options.source:
        wrong += [*wrong_rooms(), *wrong_includes(options.source), *wrong_table(options.source),
                  *wrong_readers(options.source)]
    if options.runtime_binary:
        wrong += wrong_in_runtime(options.runtime_binary, options.stripped)
    if options.compiler_library:
        wrong += wrong_in_compiler(options.compiler_library)
    print("\n".join(wrong) if wrong else "fine")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

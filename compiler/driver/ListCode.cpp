//===- ListCode.cpp - An engine's code as text, for `ingot inspect --html` ---===//
//
// `ingot`, which has no LLVM, writes the page that shows an engine, and calls this function for the code.
//===----------------------------------------------------------------------===//
#include "compiler/driver/Compile.h"
#include "compiler/targets/CodeTarget.h"
#include "dialects/kernel/ops/Structure.h"
#include "passes/Passes.h"
#include "runtime/json/JsonText.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Compression.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {
/// The kernels of a program, parsed on first use. There are none if the text is from another compiler.
class ParsedKernels {
public:
  explicit ParsedKernels(StringRef text) : text(text) {}

  ArrayRef<kernel::FuncOp> operator()() {
    if (module)
      return kernels;
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    ScopedDiagnosticHandler silent(&context, [](Diagnostic &) { return success(); });
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    if (module)
      kernels.assign(module->getOps<kernel::FuncOp>().begin(),
                     module->getOps<kernel::FuncOp>().end());
    return kernels;
  }

private:
  StringRef text;
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  SmallVector<kernel::FuncOp> kernels;
};
} // namespace

static llvm::Expected<std::vector<CodeText>> listed(StringRef codeTarget, StringRef object,
                                                    StringRef kernels, bool batchInvariant) {
  ParsedKernels parsed(kernels);
  for (const CodeTarget *target : codeTargets())
    if (codeTarget.starts_with(target->name()))
      return target->listCode(codeTarget, object, [&] { return parsed(); }, batchInvariant);
  return llvm::createStringError("this ingot does not support the target");
}

/// Passes the code for the target to `take`, as JSON from a kernel's name to its text, compressed with zlib
/// (a browser unpacks it). If there is no code, passes the reason and returns false.
extern "C" __attribute__((visibility("default"))) bool
ingotListCode(const char *codeTarget, const char *object, size_t bytes, const char *kernels,
              bool batchInvariant, void (*take)(void *to, const char *text, size_t length),
              void *to) {
  auto code = listed(codeTarget, StringRef(object, bytes), kernels, batchInvariant);
  if (!code || code->empty() || !llvm::compression::zlib::isAvailable()) {
    const std::string why = code ? "there is none" : llvm::toString(code.takeError());
    take(to, why.data(), why.size());
    return false;
  }
  runtime::JsonText json;
  json.open('{');
  for (const CodeText &one : *code)
    json.key(one.kernel).value(one.text);
  const std::string &text = json.close().text();
  SmallVector<uint8_t, 0> packed;
  llvm::compression::zlib::compress(llvm::arrayRefFromStringRef(text), packed,
                                    llvm::compression::zlib::BestSizeCompression);
  take(to, reinterpret_cast<const char *>(packed.data()), packed.size());
  return true;
}

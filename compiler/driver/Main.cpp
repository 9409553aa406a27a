//===- Main.cpp - The entry points that `ingot` calls ---------------------===//
#include "compiler/driver/Compile.h"
#include "passes/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace ingot;
using namespace ingot::compiler;

static int report(const Error &error) {
  std::string text = error.format();
  if (isatty(STDERR_FILENO) && !std::getenv("NO_COLOR"))
    text = "\033[1;31m" + text.substr(0, text.find(':')) + "\033[0m" + text.substr(text.find(':'));
  std::fputs(text.c_str(), stderr);
  return static_cast<int>(error.exit);
}

/// `ingot passes [--json]`: the pipeline in order, with what each pass does.
static int listPasses(bool json) {
  registerPassesAndPipelines();
  mlir::registerTransformsPasses();
  mlir::MLIRContext context;
  mlir::PassManager pm(&context);
  PipelineOptions options;
  options.quantize = "int8";
  buildImportPipeline(pm, options);
  buildFusionPipeline(pm, options);
  buildLoweringPipeline(pm, options);
  buildPlanningPipeline(pm, options);
  std::string pipeline;
  llvm::raw_string_ostream stream(pipeline);
  pm.printAsTextualPipeline(stream);

  // The textual pipeline names the passes in order, options in braces behind them.
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(pipeline, words, "(),{} ");
  bool first = true;
  for (llvm::StringRef word : words) {
    const mlir::PassInfo *pass = mlir::PassInfo::lookup(word);
    if (!pass)
      continue;
    bool optional = llvm::is_contained(optionalPasses(), word);
    std::string what = pass->getPassDescription().str();
    if (json)
      std::printf("%s{\"pass\":\"%s\",\"optional\":%s,\"description\":\"%s\"}", first ? "[" : ",", word.str().c_str(),
                  optional ? "true" : "false", what.c_str());
    else
      std::printf("%-22s %s%s\n", word.str().c_str(), what.c_str(), optional ? "  (--disable)" : "");
    first = false;
  }
  if (json)
    std::printf("]\n");
  return 0;
}

extern "C" __attribute__((visibility("default"))) int ingotCompilerMain(int argc, const char *const *argv) {
  if (argc >= 2 && std::strcmp(argv[1], "passes") == 0)
    return listPasses(argc >= 3 && std::strcmp(argv[2], "--json") == 0);
  auto options = parseCompileOptions(argc - 1, argv + 1);
  if (!options)
    return report(options.error());
  if (!*options)
    return 0;
  auto done = compile(**options);
  return done ? 0 : report(done.error());
}

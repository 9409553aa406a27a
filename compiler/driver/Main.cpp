//===- Main.cpp - The entry points that `ingot` calls ---------------------===//
#include "compiler/driver/Compile.h"
#include "passes/Passes.h"

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
  mlir::MLIRContext context;
  mlir::PassManager pm(&context);
  PipelineOptions options;
  options.quantize = "int8";
  buildImportPipeline(pm, options);
  buildFusionPipeline(pm, options);
  buildLoweringPipeline(pm, options);
  buildPlanningPipeline(pm, options);
  bool first = true;
  auto print = [&](mlir::Pass &pass) {
    bool optional = llvm::is_contained(optionalPasses(), pass.getArgument());
    std::string name = pass.getArgument().str(), what = pass.getDescription().str();
    if (json)
      std::printf("%s{\"pass\":\"%s\",\"optional\":%s,\"description\":\"%s\"}", first ? "[" : ",", name.c_str(),
                  optional ? "true" : "false", what.c_str());
    else
      std::printf("%-22s %s%s\n", name.c_str(), what.c_str(), optional ? "  (--disable)" : "");
    first = false;
  };
  std::function<void(mlir::OpPassManager &)> walk = [&](mlir::OpPassManager &manager) {
    for (mlir::Pass &pass : manager.getPasses())
      print(pass);
  };
  // The pipelines nest by model and program; each nest is walked in order.
  std::string text;
  (void)text;
  walk(pm);
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

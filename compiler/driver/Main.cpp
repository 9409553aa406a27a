//===- Main.cpp - The entry points that `ingot` calls ---------------------===//
#include "compiler/crash/CrashContext.h"
#include "compiler/driver/Compile.h"
#include "compiler/files/TemporaryFile.h"
#include "compiler/options/Compatibility.h"
#include "compiler/targets/CodeTarget.h"
#include "runtime/error/OutOfMemory.h"
#include "runtime/text/Text.h"

#include "compiler/options/ParseOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <unistd.h>

using namespace ingot;
using namespace ingot::compiler;

/// Returns the descriptor of `--error-fd N`, from which `ingot run` reads our error. This function runs before the
/// options are parsed, because parsing itself may fail.
static int errorDescriptor(int argc, const char *const *argv) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], "--error-fd") == 0)
      return std::atoi(argv[i + 1]);
  return -1;
}

/// Writes an error to the given descriptor, from which tools/ingot/engines/CompilerLibrary.cpp reads it, or to stderr
/// if there is no such descriptor.
static int report(const Error &error, int descriptor) {
  if (descriptor > STDERR_FILENO) {
    std::string fields;
    for (const std::string &field : {error.code, error.what, error.why, error.fix})
      fields += field + '\0';
    if (write(descriptor, fields.data(), fields.size()) == static_cast<ssize_t>(fields.size()))
      return static_cast<int>(error.exit);
  }
  std::string text = error.format();
  if (isatty(STDERR_FILENO) && !std::getenv("NO_COLOR"))
    text = "\033[1;31m" + text.substr(0, text.find(':')) + "\033[0m" + text.substr(text.find(':'));
  std::fputs(text.c_str(), stderr);
  return static_cast<int>(error.exit);
}

/// Handles Ctrl-C and similar signals: removes unfinished files; the output stays unchanged.
static void onInterrupt(int number) {
  TemporaryFile::removeUnfinished();
  if (isatty(STDERR_FILENO)) // end the line of the progress bar
    (void)!write(STDERR_FILENO, "\n", 1);
  signal(number, SIG_DFL);
  raise(number);
}

/// Handles running out of memory, and also removes unfinished files.
[[noreturn]] static void onOutOfMemory() {
  TemporaryFile::removeUnfinished();
  endOutOfMemory();
}

/// Installs the handlers for events that may end a compilation: crashes, out of memory and signals.
static void prepareForTheEnd() {
  installCrashHandler();
  std::set_new_handler(onOutOfMemory);
  text::onOutOfMemory(onOutOfMemory);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { onOutOfMemory(); });
  for (int number : {SIGINT, SIGTERM, SIGHUP})
    if (signal(number, onInterrupt) == SIG_IGN)
      signal(number, SIG_IGN); // nohup relies on this
}

std::vector<std::string> compiler::pipelinePasses() {
  std::vector<std::string> longest; // one target's pipeline contains all passes of the others
  for (const Target *target : knownTargets()) {
    mlir::MLIRContext context;
    mlir::PassManager pm(&context);
    PipelineOptions options;
    options.quantize = "int8";
    options.kvLayers = {"0-0:int8"};
    options.device = target->kind();
    buildImportPipeline(pm, options);
    buildFusionPipeline(pm, options);
    buildLoweringPipeline(pm, options);
    buildPlanningPipeline(pm, options);
    std::string pipeline;
    llvm::raw_string_ostream stream(pipeline);
    pm.printAsTextualPipeline(stream);

    // The textual pipeline names the passes in order, each followed by its options in braces.
    llvm::SmallVector<llvm::StringRef> words;
    llvm::SplitString(pipeline, words, "(),{} ");
    std::vector<std::string> passes;
    for (llvm::StringRef word : words)
      if (mlir::PassInfo::lookup(word))
        passes.push_back(word.str());
    if (passes.size() > longest.size())
      longest = std::move(passes);
  }
  return longest;
}

/// Implements `ingot passes [--json]`: lists the pipeline in order, with a description of each pass.
static int listPasses(bool json) {
  registerTargets();
  registerPassesAndPipelines();
  mlir::registerTransformsPasses();
  bool first = true;
  for (const std::string &word : pipelinePasses()) {
    const mlir::PassInfo *pass = mlir::PassInfo::lookup(word);
    bool optional = llvm::is_contained(optionalPasses(), word);
    std::string what = pass->getPassDescription().str();
    if (json)
      std::printf("%s{\"pass\":\"%s\",\"optional\":%s,\"description\":\"%s\"}", first ? "[" : ",",
                  word.c_str(), optional ? "true" : "false", what.c_str());
    else
      std::printf("%-24s %s%s\n", word.c_str(), what.c_str(), optional ? "  (--disable)" : "");
    first = false;
  }
  if (json)
    std::printf("]\n");
  return 0;
}

extern "C" __attribute__((visibility("default"))) int ingotCompilerMain(int argc,
                                                                        const char *const *argv) {
  if (argc >= 2 && std::strcmp(argv[1], "passes") == 0)
    return listPasses(argc >= 3 && std::strcmp(argv[2], "--json") == 0);
  if (argc >= 2 && std::strcmp(argv[1], "mixes") == 0) {
    const bool json = argc >= 3 && std::strcmp(argv[2], "--json") == 0;
    std::fputs((json ? compatibilityJson() : compatibilityText()).c_str(), stdout);
    return 0;
  }
  const int errorTo = errorDescriptor(argc, argv);
  auto options = parseCompileOptions(argc - 1, argv + 1);
  if (!options)
    return report(options.error(), errorTo);
  if (!*options)
    return 0;
  prepareForTheEnd();
  auto done = compile(**options);
  return done ? 0 : report(done.error(), errorTo);
}

//===- Extensions.cpp - See Extensions.h ----------------------------------===//
#include "compiler/driver/inputs/Extensions.h"
#include "compiler/crash/CrashContext.h"
#include "compiler/driver/engine/Provenance.h"
#include "compiler/extend/KernelFile.h"
#include "compiler/extend/PatternFile.h"
#include "compiler/extend/Plugins.h"
#include "compiler/targets/CodeTarget.h"
#include "dialects/lm/ops/Model.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

Result<void> Extensions::loadPlugins(const Diagnostics &diagnostics) {
  DialectRegistry dialects;
  bool passesAlone = !options.plugins.empty();
  for (const std::string &path : options.plugins) {
    suspect("the plugin " + path, "it was being loaded");
    auto loaded = extend::loadPlugin(path, dialects);
    suspect("");
    if (!loaded)
      return loaded.error();
    passesAlone &= !loaded->dialects && !loaded->families;
  }
  context.appendDialectRegistry(dialects);
  context.loadAllAvailableDialects();
  if (passesAlone && options.insertions.empty())
    diagnostics.warn(
        "--plugin without --insert: its passes are not run (--insert 'pre-fusion=lm.model(my-pass)')");
  return {};
}

/// Records the names of the passes of an insertion. Refuses a pipeline over ops that do not exist at its point.
Result<void> Extensions::noteInserted(const std::string &point, const std::string &text,
                                      OpPassManager &pm) {
  bool lowered = isBehindLowering(point);
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  pm.printAsTextualPipeline(stream);
  SmallVector<StringRef> words;
  llvm::SplitString(printed, words, "(),{} ");
  for (StringRef word : words) {
    if (PassInfo::lookup(word))
      inserted.insert(word);
    auto op = RegisteredOperationName::lookup(word, &context);
    if (!op)
      continue;
    StringRef dialect = op->getDialectNamespace();
    if (lowered ? dialect == "lm" : dialect == "kernel" || dialect == "plan")
      return Error{
          ExitCode::Usage, "E0434", "there is no " + word.str() + " at " + point + ": " + text,
          lowered ? "the model has already been lowered to kernel.func and plan.program"
                  : "before lowering, the model is one lm.model",
          lowered ? "--insert 'post-fusion=" + text + "'" : "--insert 'pre-plan=" + text + "'"};
  }
  return {};
}

Result<void> Extensions::read() {
  for (const auto &[point, path] : options.patterns) {
    if (extend::isKernelFile(path)) {
      if (isBehindLowering(point))
        return Error{ExitCode::Usage, "E0495", path + " is applied too late, at " + point,
                     "its region has already been lowered to a kernel.func",
                     "--patterns post-fusion=" + path};
      files.emplace_back();
      continue;
    }
    auto read = extend::readPatterns(context, path);
    if (!read)
      return read.error();
    files.push_back(std::move(*read));
    if (isBehindLowering(point))
      inserted.insert(extend::applyKernelPatternsName());
  }
  for (const auto &[point, text] : options.insertions) {
    PassManager pm(&context);
    std::string why;
    llvm::raw_string_ostream stream(why);
    if (failed(parsePassPipeline(text, pm, stream)))
      return Error{
          ExitCode::Usage, "E0409", "cannot parse the pipeline for " + point + ": " + text,
          why.substr(0, why.find('\n')),
          "--insert '" + point +
              (isBehindLowering(point) ? "=kernel.func(my-pass)'" : "=lm.model(my-pass)'")};
    if (auto ok = noteInserted(point, text, pm); !ok)
      return ok;
  }
  return {};
}

patterns::CompiledFor Extensions::askedAt(StringRef point) const {
  patterns::CompiledFor whom{{}, options.exact};
  if (point == "import") // formats are chosen after this point
    return whom;
  for (const CodeTarget *target : codeTargets())
    if (target->isWanted(options)) {
      PipelineOptions passes;
      target->choosePasses(options, passes);
      whom.targets.push_back(target);
      whom.fp8Rows |= passes.fp8Rows;
    }
  return whom;
}

void Extensions::addAt(StringRef point, OpPassManager &pm, DeviceKind device) const {
  for (const auto &[given, rules] : llvm::zip(options.patterns, files))
    if (given.point == point) {
      if (extend::isKernelFile(given.path))
        pm.nest<lm::ModelOp>().addPass(extend::attachKernel(given.path));
      else if (isBehindLowering(given.point))
        pm.addPass(extend::applyKernelPatterns(given.path, rules, device));
      else
        pm.nest<lm::ModelOp>().addPass(extend::applyPatterns(given.path, rules, askedAt(point)));
    }
  for (const auto &[where, text] : options.insertions)
    if (where == point)
      (void)parsePassPipeline(text, pm); // already parsed successfully in read()
}

std::string Extensions::plugins() const {
  std::string list;
  for (const std::string &plugin : options.plugins)
    list += (list.empty() ? "; --plugin " : ", ") + plugin;
  return list;
}

std::string Extensions::replayCommand() const {
  std::string command = "ingot-opt";
  for (const std::string &plugin : options.plugins)
    command += " --plugin=" + plugin;
  return command;
}

std::string Extensions::nestedInsertion() const {
  for (const auto &[point, text] : options.insertions)
    if (!StringRef(text).contains('('))
      return "--insert '" + point + (isBehindLowering(point) ? "=kernel.func(" : "=lm.model(") +
             text + ")'";
  return "--insert 'pre-fusion=lm.model(my-pass)'";
}

//===- OpenModel.cpp - See OpenModel.h ------------------------------------===//
#include "compiler/driver/inputs/OpenModel.h"
#include "compiler/import/OpenCheckpoint.h"
#include "compiler/options/OutputPlace.h"
#include "runtime/error/Suggest.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

Result<std::shared_ptr<import::Checkpoint>> compiler::openModel(const CompileOptions &options,
                                                                const Diagnostics &diagnostics) {
  if (isEngineFile(options.model))
    return Error{ExitCode::Usage, "E0417", options.model + " is already an engine",
                 "compile expects a checkpoint: a folder, a .gguf, a .safetensors or a config.json",
                 "ingot run " + options.model};
  auto opened = import::openCheckpoint(options.model, options.weights == WeightOrigin::Checkpoint
                                                          ? import::Hashed::Everything
                                                          : import::Hashed::Beginnings);
  if (!opened)
    return opened.error();
  std::shared_ptr<import::Checkpoint> checkpoint = *opened;
  if (checkpoint->tensors.empty() && options.weights == WeightOrigin::Checkpoint)
    return Error{ExitCode::File, "E0410", options.model + " has no weights",
                 "it is a configuration without tensors",
                 "give the folder of the checkpoint, or add --weights random or --weights seed"};
  for (const import::LeftOut &part : checkpoint->leftOut)
    diagnostics.warn(import::describe(part));
  for (const std::string &note : checkpoint->notes)
    diagnostics.warn(note);
  for (const std::string &key : options.ignoredKeys) {
    auto known = [&](const auto &entry) {
      StringRef pattern = key;
      return pattern.consume_back("*") ? StringRef(entry.first).starts_with(pattern)
                                       : entry.first == key;
    };
    if (llvm::none_of(checkpoint->metadata, known)) {
      std::vector<std::string> keys;
      for (const auto &entry : checkpoint->metadata)
        keys.push_back(entry.first);
      std::string near = nearest(key, keys);
      diagnostics.warn("--ignore-key " + key + ": " + options.model + " has no such key" +
                       (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    checkpoint->ignore(key);
  }
  return checkpoint;
}

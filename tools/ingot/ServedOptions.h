//===- ServedOptions.h - From options to a model with routes -----------------===//
//
// What `serve` and `batch` share: an engine for many requests at once, and how its text is read.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/service/ServedModel.h"
#include "tools/ingot/EngineOptions.h"

namespace ingot::cli {

struct ServedOptions {
  std::string chatTemplate;      ///< a file
  std::string chatTemplateName;  ///< of the engine's templates
  std::string templateVariables; ///< a JSON object, where requests give none of that name
  std::string toolFormat, reasoningFormat;
  service::RequestRules rules;

  void define(CommandLine &command, const char *group);
  /// Sequences, KV and swap memory of a server on top of `session`.
  static runtime::SessionOptions defaults(runtime::SessionOptions session);
  /// The model at engine.model. `session` and `service` hold what the command wants; sequences, KV
  /// and swap memory are filled in where the user gave none.
  Result<std::shared_ptr<service::ServedModel>> open(EngineOptions engine, std::string name,
                                                     runtime::SessionOptions session,
                                                     service::ServiceOptions service) const;
};

/// What a model's file is called, without what says its kind: "smollm2".
std::string fileStem(const std::string &path);

} // namespace ingot::cli

//===- ServedOptions.h - From options to a model with routes -----------------===//
//
// What `serve` and `batch` share: an engine for many requests at once, and how its text is read.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/service/api/ServedModel.h"
#include "tools/ingot/EngineOptions.h"

namespace ingot::cli {

struct ServedOptions {
  std::string chatTemplate; ///< a file
  std::string toolFormat, reasoningFormat;
  api::RequestRules rules;

  void define(CLI::App &app, const char *group);
  /// The model at engine.model. `session` and `service` hold what the command wants; sequences, KV
  /// and swap memory are filled in where the user gave none.
  Result<std::shared_ptr<api::ServedModel>> open(EngineOptions engine, std::string name,
                                                 runtime::SessionOptions session,
                                                 service::ServiceOptions service) const;
};

} // namespace ingot::cli

//===- ServedOptions.h - Options of a served model ---------------------------===//
//
// `serve` and `batch` share these options: an engine for many concurrent requests, and the formats
// of its text.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/service/ServedModel.h"
#include "tools/ingot/engines/EngineOptions.h"

namespace ingot::cli {

struct ServedOptions {
  std::string chatTemplate;      ///< a file
  std::string chatTemplateName;  ///< one of the engine's templates
  std::string templateVariables; ///< a JSON object; requests override its values
  std::string toolFormat, reasoningFormat;
  service::RequestRules rules;

  void define(CommandLine &command, const char *group);
  /// Returns `session` with a server's defaults for sequences, KV and swap memory.
  static runtime::SessionOptions defaults(runtime::SessionOptions session);
  /// Opens the model at engine.model. `session` and `service` hold the command's settings.
  /// The numbers of sequences and the sizes of KV and swap memory get defaults if the user did not specify them.
  Result<std::shared_ptr<service::ServedModel>> open(EngineOptions engine, std::string name,
                                                     runtime::SessionOptions session,
                                                     service::ServiceOptions service) const;
};

/// Returns the name of a model's file or folder without its extension: "smollm2".
std::string fileStem(const std::string &path);

} // namespace ingot::cli

//===- ServeModels.h - Opening the models of a server ------------------------===//
//
// `ingot serve` and the server inside other programs (ServeInside.cpp) share everything but the way
// in which requests arrive. Both have the same options, so both give the same answers.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/Api.h"
#include "tools/ingot/serve/ServedOptions.h"
#include "tools/ingot/serve/ServerLog.h"

namespace ingot::cli {

struct ServeModels {
  EngineOptions engine;
  std::vector<std::string> moreModels; ///< NAME=PATH
  std::vector<std::string> kvMemory;   ///< SIZE or NAME=SIZE
  ServedOptions served;
  std::string modelName;
  ServerLogOptions log;
  bool fair = false;
  double itlMs = 0, ttftMs = 0;
  int64_t queueRequests = 256, queueTokens = 1'000'000;
  double stepLimit = -1;

  static constexpr const char *kGroup = "Service"; ///< heading of the options in --help
  void defineEngine(CommandLine &command);
  void defineService(CommandLine &command);
};

struct ModelSource {
  std::string name, path;
  uint64_t kvMemory = 0; ///< bytes; 0: the default of a single model
};

/// Returns the models that the options name. Errors: E0554, E0564.
Result<std::vector<ModelSource>> modelSources(const ServeModels &options);

/// Opens all models and fills in their names. Errors: E0555: two models have the same name; E0562:
/// the models do not fit in memory together; all errors of opening an engine.
Result<std::shared_ptr<service::ModelRegistry>>
openModels(const ServeModels &options, std::vector<ModelSource> &sources, const api::Post &post);

/// Opens a model after verifying every byte of its file. Opening an engine normally does not check
/// its weights; here there is time for that, because the old engine serves in the meantime.
Result<std::shared_ptr<service::ServedModel>>
openVerified(const ServeModels &options, const ModelSource &source, const api::Post &post);

} // namespace ingot::cli

//===- ServeModels.h - The models of a server, from its options --------------===//
//
// What `ingot serve` and the server inside of other programs (ServeInside.cpp) have in common: all
// but how requests come in. One set of options, so that both answer alike.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/Api.h"
#include "tools/ingot/ServedOptions.h"
#include "tools/ingot/ServerLog.h"

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

  static constexpr const char *kGroup = "Service"; ///< of the options, in --help
  void defineEngine(CommandLine &command);
  void defineService(CommandLine &command);
};

struct ModelSource {
  std::string name, path;
  uint64_t kvMemory = 0; ///< 0: what a single model gets
};

/// The models that the options name. E0554, E0564.
Result<std::vector<ModelSource>> modelSources(const ServeModels &options);

/// Opens them all; their names are filled in. E0555 for two of one name, E0557 where they do not fit
/// together, and what opening an engine says.
Result<std::shared_ptr<service::ModelRegistry>>
openModels(const ServeModels &options, std::vector<ModelSource> &sources, const api::Post &post);

/// A model of a file whose every byte is as it was written. Weights are not looked at when an
/// engine is opened; here there is time for that, since the old one serves meanwhile.
Result<std::shared_ptr<service::ServedModel>>
openVerified(const ServeModels &options, const ModelSource &source, const api::Post &post);

} // namespace ingot::cli

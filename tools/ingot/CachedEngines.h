//===- CachedEngines.h - What was compiled and kept ------------------------===//
//
// The engines of the cache (EngineCache.h) and the generated code beside them, for `ingot list` and `ingot rm`.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

namespace ingot::cli {

struct CachedEngine {
  std::string name;           ///< of its file, without .ingot
  std::string model, formats; ///< of its checkpoint; empty where this build cannot read the engine
  uint64_t bytes = 0;
  std::time_t used = 0; ///< when `ingot` took it last
};

/// Those in `folder`, by name. To look at them does not count as use.
std::vector<CachedEngine> cachedEngines(const std::filesystem::path &folder);

/// Takes note that the engine is used now.
void noteUse(const std::filesystem::path &engine);

struct GeneratedCode {
  uint64_t files = 0, bytes = 0;
};
GeneratedCode generatedCode(const std::filesystem::path &folder);

} // namespace ingot::cli

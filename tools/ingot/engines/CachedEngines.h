//===- CachedEngines.h - Engines in the cache ------------------------------===//
//
// Lists the engines of the cache (EngineCache.h) and the generated code next to them, for `ingot list` and
// `ingot rm`.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

namespace ingot::cli {

struct CachedEngine {
  std::string name;           ///< file name without .ingot
  std::string model, formats; ///< of its checkpoint; empty if this build cannot read the engine
  uint64_t bytes = 0;
  std::time_t used = 0; ///< when `ingot` last used it
};

/// Returns the engines in `folder`, by name. Listing them does not count as use.
std::vector<CachedEngine> cachedEngines(const std::filesystem::path &folder);

/// Records that the engine is used now.
void noteUse(const std::filesystem::path &engine);

struct GeneratedCode {
  uint64_t files = 0, bytes = 0;
};
GeneratedCode generatedCode(const std::filesystem::path &folder);

} // namespace ingot::cli

//===- Removal.h - Fetched models, taken away ------------------------------===//
//
// Only what lies in the cache: links are never followed out of it, and a repository's folder that is itself
// a link is left to its owner. Blobs go when no snapshot that stays links to them.
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/hub/HubCache.h"

namespace ingot::hub {

/// What a removal takes away, in this order.
struct Removal {
  std::vector<std::filesystem::path> paths; ///< files, links and whole folders
  uint64_t bytes = 0;                       ///< that become free
};

/// The whole model; with a revision that snapshot alone; with a file that file (a split one: all parts) alone.
/// E0162 it is not there, E0163 it must not be touched: a link leads out of the cache, or another program
/// fetches it.
Result<Removal> planRemoval(const std::filesystem::path &cache, const Reference &reference);

/// E0158 with the system's words.
Result<void> carryOut(const Removal &removal);

} // namespace ingot::hub

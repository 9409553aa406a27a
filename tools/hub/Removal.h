//===- Removal.h - Removal of fetched models -------------------------------===//
//
// Only files in the cache are removed. Links are never followed out of it, and a repository's folder that
// is itself a link is left to its owner. A blob is removed when no remaining snapshot links to it.
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/hub/HubCache.h"

namespace ingot::hub {

/// The paths that a removal deletes, in this order.
struct Removal {
  std::vector<std::filesystem::path> paths; ///< files, links and whole folders
  uint64_t bytes = 0;                       ///< space that becomes free
};

/// Plans the removal of the whole model, of one snapshot if the reference has a revision, or of one file (all
/// parts of a split one) if it has a file. Errors: E0162: it does not exist; E0163: it must not be touched,
/// because a link leads out of the cache or another program is fetching it.
Result<Removal> planRemoval(const std::filesystem::path &cache, const Reference &reference);

/// Deletes the paths. Errors: E0181 with the system's message.
Result<void> carryOut(const Removal &removal);

} // namespace ingot::hub

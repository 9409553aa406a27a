//===- KvBudget.h - One memory for the KV pages of several models ------------===//
//
// Models of one server share what there is of memory for KV pages. `--kv-memory SIZE` is the sum
// (default: half of what is free), NAME=SIZE what one of them gets of it; the others share the rest
// by what each needs for all its sequences at their longest:
//
//   free 22 GiB, --kv-memory small=1G      small  1 GiB
//   half of the other 21: 10.5 GiB         needs 2 : 1 of the others: 7.0 and 3.5 GiB
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::cli {

/// Names that a user may give it by.
struct KvUser {
  std::vector<std::string> names;
  uint64_t need; ///< bytes
};

/// Bytes for each of two or more models, or of one; 0 of a single one of which nothing was said.
/// `given` is what stands behind --kv-memory. E0556 where that cannot be read, or names no model;
/// E0557 where named parts are more than the sum, or than is free (0: not known).
Result<std::vector<uint64_t>> divideKv(const std::vector<std::string> &given,
                                       const std::vector<KvUser> &users, uint64_t available);

} // namespace ingot::cli

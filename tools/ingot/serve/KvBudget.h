//===- KvBudget.h - Division of KV memory among several models ---------------===//
//
// The models of one server share the memory for KV pages. `--kv-memory SIZE` is the total (default:
// half of the free memory), and NAME=SIZE is the part of one model. The other models share the rest
// in proportion to what each needs for all its sequences at full length:
//
//   22 GiB are free, --kv-memory small=1G      the model small gets 1 GiB
//   half of the remaining 21 GiB: 10.5 GiB     two other models need 2 : 1 and get 7.0 and 3.5 GiB
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::cli {

/// A model that uses KV memory, with the names by which the user may refer to it.
struct KvUser {
  std::vector<std::string> names;
  uint64_t need; ///< bytes
};

/// Returns the bytes for each model; 0 for a single model without a given size. `given` holds the
/// values of --kv-memory. `available` is the free memory; 0: not known. Errors: E0556: a value
/// cannot be parsed; E0538: it does not name a model; E0557: the named parts exceed the total or the free
/// memory.
Result<std::vector<uint64_t>> divideKv(const std::vector<std::string> &given,
                                       const std::vector<KvUser> &users, uint64_t available);

} // namespace ingot::cli

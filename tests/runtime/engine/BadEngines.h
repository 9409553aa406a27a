//===- BadEngines.h - Engines with one thing broken -----------------------===//
//
// Each starts from a valid engine, breaks one thing and makes header and hashes right
// again, so that exactly one check of runtime/engine/Verify.h can find it.
//===----------------------------------------------------------------------===//
#pragma once

#include "SyntheticEngine.h"

namespace ingot::test {

struct BadEngine {
  const char *name;
  const char *code;   ///< of the error that opening it must give
  Change before = {}; ///< to the table, before segments are placed and hashed
  Change after = {};  ///< to the table, afterwards
  std::function<void(std::vector<std::string> &)> segments = {};
  std::function<void(std::string &)> file = {}; ///< to the finished bytes

  std::string bytes() const;
};

const std::vector<BadEngine> &badEngines();

} // namespace ingot::test

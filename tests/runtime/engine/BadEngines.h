//===- BadEngines.h - Engines with one thing broken -----------------------===//
//
// Each starts from a valid engine, breaks one thing and corrects header and hashes, so that
// exactly one check of runtime/engine/Verify.h can find the fault.
//===----------------------------------------------------------------------===//
#pragma once

#include "SyntheticEngine.h"

namespace ingot::test {

struct BadEngine {
  const char *name;
  const char *code;   ///< error code that opening it must give
  Change before = {}; ///< changes the table before segments are placed and hashed
  Change after = {};  ///< changes the table afterwards
  std::function<void(std::vector<std::string> &)> segments = {};
  std::function<void(std::string &)> file = {}; ///< changes the finished bytes

  std::string bytes() const;
};

/// Returns all bad engines.
const std::vector<BadEngine> &badEngines();

/// Returns only the bad engines of one subject.
std::vector<BadEngine> badFiles();
std::vector<BadEngine> badPrograms();
std::vector<BadEngine> badWeights();
std::vector<BadEngine> badGpuPrograms();

} // namespace ingot::test

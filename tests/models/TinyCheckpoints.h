//===- TinyCheckpoints.h - The checkpoints that generate.py wrote ---------===//
#pragma once

#include "compiler/reference/Matrix.h"

#include <string>
#include <vector>

namespace ingot::tests {

struct TinyCheckpoint {
  std::string model;          ///< what openCheckpoint takes
  std::vector<int32_t> ids;   ///< the prompt
  reference::Matrix expected; ///< HF's logits, [ids][vocab]
};

/// All of them. A folder that is added is tested without being listed.
std::vector<std::string> tinyNames();

/// The checkpoint of that name under tests/checkpoints/tiny.
TinyCheckpoint tinyCheckpoint(const std::string &name);

} // namespace ingot::tests

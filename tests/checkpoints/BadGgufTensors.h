//===- BadGgufTensors.h - GGUF files whose tensors are wrong --------------===//
#pragma once

#include "tests/checkpoints/CheckpointFiles.h"

namespace ingot::test {

void addBadGgufTensors(std::vector<CheckpointFiles> &bad);

} // namespace ingot::test

//===- BadGgufTensors.h - GGUF files whose tensors are wrong --------------===//
#pragma once

#include "tests/checkpoints/CheckpointFiles.h"

#include <string>
#include <utility>

namespace ingot::test {

/// A file of these bytes, which is refused with that code.
inline CheckpointFiles badGguf(const char *code, const char *name, std::string bytes) {
  return {
      .name = name, .code = code, .open = "bad.gguf", .files = {{"bad.gguf", std::move(bytes)}}};
}

void addBadGgufTensors(std::vector<CheckpointFiles> &bad);

} // namespace ingot::test

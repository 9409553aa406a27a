//===- BadGgufTensors.h - GGUF files whose tensors are wrong --------------===//
#pragma once

#include "tests/checkpoints/CheckpointFiles.h"

#include <string>
#include <utility>

namespace ingot::test {

/// Returns a file with these bytes, which the importer must refuse with `code`.
inline CheckpointFiles badGguf(const char *code, const char *name, std::string bytes) {
  return {
      .name = name, .code = code, .open = "bad.gguf", .files = {{"bad.gguf", std::move(bytes)}}};
}

void addBadGgufTensors(std::vector<CheckpointFiles> &bad);

} // namespace ingot::test

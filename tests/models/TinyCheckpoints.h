//===- TinyCheckpoints.h - The checkpoints written by generate.py ---------===//
#pragma once

#include "compiler/reference/Matrix.h"
#include "models/Family.h"

#include "compiler/import/OpenCheckpoint.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ingot::tests {

struct TinyCheckpoint {
  std::string model;          ///< the path for openCheckpoint
  std::vector<int32_t> ids;   ///< the prompt
  reference::Matrix expected; ///< HF's logits, [ids][vocab]
};

/// Returns the names of all tiny checkpoints. A new folder is tested without being listed.
std::vector<std::string> tinyNames();

/// Returns the checkpoint of that name under tests/checkpoints/tiny.
TinyCheckpoint tinyCheckpoint(const std::string &name);

/// A tiny checkpoint that is changed before it is imported.
struct Changed {
  explicit Changed(const std::string &name)
      : checkpoint(**import::openCheckpoint(tinyCheckpoint(name).model)) {}

  import::Tensor &tensor(const std::string &name) {
    auto found = std::ranges::find(checkpoint.tensors, name, &import::Tensor::name);
    EXPECT_NE(found, checkpoint.tensors.end()) << name;
    return *found;
  }
  void drop(const std::string &name) {
    std::erase_if(checkpoint.tensors, [&](const auto &tensor) { return tensor.name == name; });
  }
  void add(import::Tensor tensor, const std::string &name) {
    tensor.name = name;
    checkpoint.tensors.push_back(std::move(tensor));
  }
  /// Returns the model as text, or the error.
  std::string import() {
    std::ranges::sort(checkpoint.tensors, {}, &import::Tensor::name);
    mlir::MLIRContext context;
    Error why;
    auto module = models::importModel(context, checkpoint, why);
    if (mlir::failed(module))
      return why.format();
    std::string text;
    llvm::raw_string_ostream(text) << **module;
    return text;
  }

  import::Checkpoint checkpoint;
};

} // namespace ingot::tests

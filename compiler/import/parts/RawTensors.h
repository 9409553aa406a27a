//===- RawTensors.h - Parts of quantised weights, taken from a checkpoint --===//
//
// A quantised matrix consists of several tensors: codes in words, scales, zero points. Readers take them by name from
// RawTensors. A tensor that was taken is no longer part of the model. Tensors of types that no weight has (I32, U8, …)
// are in the checkpoint's list of raw tensors; F16, BF16 and F32 tensors are in its list of tensors.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/blocks/Bytes.h"
#include "compiler/import/checkpoint/CheckpointBuilder.h"

#include <set>

namespace ingot::import {

/// A tensor as the readers see it. Its bytes live as long as the checkpoint, so block makers may copy the
/// Part.
struct Part {
  std::string name;
  std::string_view dtype; ///< "I32", "F16"
  std::vector<int64_t> shape;
  std::span<const std::byte> data;

  int64_t elements() const;
  /// Element i of I32, U32, I64, I8 or U8; unsigned types are zero-extended.
  int64_t integer(int64_t i) const;
  /// Returns element i of I32 or U32.
  uint32_t word(int64_t i) const { return load<uint32_t>(data.data() + 4 * i); }
  uint8_t byte(int64_t i) const { return static_cast<uint8_t>(data[static_cast<size_t>(i)]); }
  /// Element i of F32, F16, BF16, F8_E4M3 or F8_E8M0, exactly.
  float number(int64_t i) const;
};

/// The types that a scale may have in any method (F8_E8M0: a power of two).
inline constexpr std::string_view kScaleTypes = "F32 F16 BF16 F8_E8M0";

class RawTensors {
public:
  explicit RawTensors(CheckpointBuilder &builder);

  /// Returns the names that end in `ending` (".qweight"), without the ending, sorted.
  std::vector<std::string> endingWith(std::string_view ending) const;
  bool has(const std::string &name) const { return parts.contains(name); }
  size_t size() const { return parts.size(); }
  const std::map<std::string, Part, std::less<>> &all() const { return parts; }
  /// Returns the tensor, or null if there is none. The tensor stays in the checkpoint.
  const Part *find(const std::string &name) const {
    auto found = parts.find(name);
    return found == parts.end() ? nullptr : &found->second;
  }

  /// Takes a tensor that must have one of `types`, such as "I32 U32". Errors: E0477: it is missing or has another type.
  Result<const Part *> take(const std::string &name, std::string_view types);
  /// Takes a tensor and also checks its shape. An extent of -1 in `shape` allows any extent. Errors: E0477.
  Result<const Part *> take(const std::string &name, std::string_view types,
                            const std::vector<int64_t> &shape);
  /// Removes a tensor that does not affect the weights. It need not exist.
  void drop(const std::string &name) { taken.insert(name); }

  /// Keeps memory that a block maker reads alive as long as the checkpoint.
  void keep(std::shared_ptr<const void> memory) { builder.keep(std::move(memory)); }

  /// Adds an assembled tensor. It may have the name of one of its parts, because finish() removes these first.
  /// Errors: E0210 to E0213, for its name.
  Result<void> put(Tensor tensor);

  /// Removes everything that was taken or dropped from the checkpoint. Its parts stay readable.
  void finish();

private:
  CheckpointBuilder &builder;
  std::map<std::string, Part, std::less<>> parts;
  std::set<std::string, std::less<>> taken;
  std::vector<Tensor> made;
};

/// Returns a shape for messages: "16x64".
std::string printedShape(std::span<const int64_t> shape);

} // namespace ingot::import

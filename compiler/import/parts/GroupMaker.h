//===- GroupMaker.h - Rows of codes with one scale per group ---------------===//
//
// MXFP4, MXFP8 and NVFP4 have the same structure in every container: rows of codes, and an eight-bit scale per group of
// 16 or 32 values. A derived class encodes rows and finds the values of a group that are not finite.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/Checkpoint.h"
#include "compiler/import/error/ImportErrors.h"

namespace ingot::import {

/// Checks that rows of the weight `name` consist of whole groups (E0477 otherwise).
inline Result<void> expectWholeGroups(const std::string &name, int64_t columns, int64_t group) {
  if (columns % group == 0)
    return {};
  return refuse(cause::quantPart, line("the weight ", inQuotes(name), " ends inside a group"),
                line("rows of ", columns, " values, groups of ", group),
                "convert the original checkpoint again, all its tensors");
}

class GroupMaker : public BlockMaker {
public:
  /// Rows have `columns` values, which are whole groups of `group` values. `scales` has one byte per group. `codes` and
  /// `scales` must live as long as the checkpoint.
  GroupMaker(int64_t columns, int64_t group, std::span<const std::byte> codes,
             std::span<const std::byte> scales)
      : columns(columns), group(group), codes(codes), scales(scales) {}

  void make(int64_t first, int64_t count, std::byte *out) const final {
    for (int64_t row = first; row < first + count; ++row)
      out = makeRow(row, out);
  }

  int64_t firstNotFinite(int64_t first, int64_t count) const final {
    for (int64_t row = first; row < first + count; ++row)
      for (int64_t g = 0; g < groupsOfRow(); ++g)
        if (const int64_t k = notFiniteIn(row, g); k >= 0)
          return row * columns + g * group + k;
    return -1;
  }

protected:
  /// Writes a row as the tensor's format stores it. Returns the end of the written bytes.
  virtual std::byte *makeRow(int64_t row, std::byte *out) const = 0;
  /// Returns the index of the first value in group `g` of a row that is not finite, or -1 if there is none.
  virtual int64_t notFiniteIn(int64_t row, int64_t g) const = 0;

  int64_t groupsOfRow() const { return columns / group; }
  uint8_t scaleOf(int64_t row, int64_t g) const {
    return static_cast<uint8_t>(scales[static_cast<size_t>(row * groupsOfRow() + g)]);
  }
  /// Returns the codes of a group. Each code has `bits` bits.
  const std::byte *codesOf(int64_t row, int64_t g, int64_t bits) const {
    return codes.data() + (row * columns + g * group) * bits / 8;
  }

  const int64_t columns, group;
  const std::span<const std::byte> codes, scales;
};

} // namespace ingot::import

//===- GroupMaker.h - Rows of codes under scales of groups -----------------===//
//
// MXFP4, MXFP8 and NVFP4 are stored alike, in whatever container: rows of codes, and a scale of eight bits for each group
// of 16 or 32. What a format says itself is what becomes of a row and which of a group's numbers are none.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/Checkpoint.h"
#include "compiler/import/ImportErrors.h"

namespace ingot::import {

/// E0477: rows of the weight `name` that end inside of a group.
inline Result<void> expectWholeGroups(const std::string &name, int64_t columns, int64_t group) {
  if (columns % group == 0)
    return {};
  return refuse(cause::quantPart, line("the weight ", inQuotes(name), " ends inside of a group"),
                line("rows of ", columns, " values, groups of ", group),
                "convert the original checkpoint again, all its tensors");
}

class GroupMaker : public BlockMaker {
public:
  /// Rows of `columns` values, whole groups of them. `scales`: one of each group; both live as long as the checkpoint.
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
  /// Writes a row as the tensor's format stores it; returns its end.
  virtual std::byte *makeRow(int64_t row, std::byte *out) const = 0;
  /// The first value of group `g` of a row that is no finite number; -1: none.
  virtual int64_t notFiniteIn(int64_t row, int64_t g) const = 0;

  int64_t groupsOfRow() const { return columns / group; }
  uint8_t scaleOf(int64_t row, int64_t g) const {
    return static_cast<uint8_t>(scales[static_cast<size_t>(row * groupsOfRow() + g)]);
  }
  /// The codes of a group, of so many bits.
  const std::byte *codesOf(int64_t row, int64_t g, int64_t bits) const {
    return codes.data() + (row * columns + g * group) * bits / 8;
  }

  const int64_t columns, group;
  const std::span<const std::byte> codes, scales;
};

} // namespace ingot::import

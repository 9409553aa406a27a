//===- GroupedInts.h - Integer codes, scales and zero points, from anywhere -===//
//
// GPTQ, AWQ, compressed-tensors and others mean the same by a weight,
//
//   w[n][k] = scale[n][g] * (q[n][k] - zero[n][g]),   g the group of k
//
// and differ in where they put the three. A reader (Gptq.cpp, …) says how to find them, row by row, and this makes
// a tensor of it: NAME.weight in a format of NumericFormat.h, as blocks of Codes.h, so that packers, families and
// the interpreter know nothing of where it came from. No value moves:
//
//   scales       f16 if f16 holds every one of them, else bf16, else f32
//   minimums     like scales, where a checkpoint has w = scale * q + minimum
//   zero points  none if they are all the same, in which case codes are moved to the format's own
//   codes        of 2, 3 and 4 bits in 4; of 8 in 8
//   groups       128 values, or 64 or 32: scales are repeated where a checkpoint's groups are larger
//
// Groups whose columns do not follow each other (act-order: columns were quantised by their importance) are sorted by
// group, and a vector beside the tensor, NAME.columns, says which column of x each one multiplies (lm.permute). Where
// a group has another size than its place asks for, there is no such order. Matrices become numbers then: f16 where
// scales are f16, bf16 where they are bf16, each product rounded once, which is what the libraries' own kernels
// multiply. The compilation says so.
//
// Blocks are made when somebody reads rows (BlockMaker), and never all of them. Scales and zero points are looked
// through at once, since the format follows from them.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/RawTensors.h"

#include <functional>
#include <optional>

namespace ingot::import {

struct GroupedInts {
  std::string name; ///< of the tensor to be made
  int64_t rows, columns;
  int bits;      ///< of a code: 2, 3, 4 or 8
  int64_t group; ///< values of K under one scale; the last group may be shorter
  /// `columns` unsigned codes of each of `count` rows from `first` on, rows `stride` apart in `q`.
  std::function<void(int64_t first, int64_t count, uint8_t *q, int64_t stride)> codes;
  std::function<float(int64_t row, int64_t group)> scale;
  std::function<int(int64_t row, int64_t group)> zero = {}; ///< from 0 to 255
  /// A number that is added to scale * q, in zero's stead.
  std::function<float(int64_t row, int64_t group)> minimum = {};
  /// The group of each k, where columns of a group do not follow each other.
  std::vector<int32_t> order = {};
  /// Codes of a format with a table, whose scales are f32: there is nothing to choose, and no zero point.
  std::optional<WeightFormat> format = {};
};

/// The groups of columns as a tensor has them (g_idx): empty where they follow each other. E0477: groups that are not
/// there.
Result<std::vector<int32_t>> readOrder(const Part &part, int64_t group, int64_t groups);

/// "X.columns" of "X.weight", which may or may not be there.
std::string columnsOfWeight(std::string_view weight);

/// Puts the tensors in their parts' stead. Those of experts, whose names differ in a number behind "experts." alone,
/// have one format, so that a reference may have them one behind the other. E0477: groups that no format has.
Result<void> addGroupedInts(CheckpointBuilder &builder, RawTensors &parts,
                            std::vector<GroupedInts> matrices);

/// The format of a matrix that is not there: for a configuration without tensors (f16 scales).
WeightFormat formatOfGroups(int bits, int64_t group, bool zeros);

} // namespace ingot::import

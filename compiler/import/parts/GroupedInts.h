//===- GroupedInts.h - Integer codes, scales and zero points ----------------===//
//
// GPTQ, AWQ, compressed-tensors and others define a weight in the same way:
//
//   w[n][k] = scale[n][g] * (q[n][k] - zero[n][g]),   where g is the group of k
//
// They differ in where they store scales, codes and zero points. A reader (Gptq.cpp, …) provides functions that find
// these, row by row. This file makes a tensor of them: NAME.weight in a format of NumericFormat.h, as blocks of
// Codes.h. Packers, families and the plan interpreter therefore do not depend on the origin. No value changes:
//
//   scales       f16 if f16 holds every one exactly, else bf16, else f32
//   minimums     like scales, for checkpoints with w = scale * q + minimum
//   zero points  none if they are all the same; codes are then shifted to the format's own zero point
//   codes        of 2, 3 and 4 bits are stored in 4 bits; codes of 8 bits in 8
//   groups       128 values, or 64 or 32: scales are repeated if a checkpoint's groups are larger
//
// If the columns of a group are not adjacent (act-order: columns were quantised by importance), columns are sorted by
// group. A companion vector, NAME.columns, gives for each sorted column the column of x that it multiplies
// (lm.permute). Such an order exists only if all groups have the same number of columns. Other matrices become floats:
// f16 if scales are f16, bf16 if they are bf16, else f32. Each value (code times scale) is rounded once. The libraries'
// own kernels multiply the same values. The compiler reports such a conversion.
//
// Blocks are made when rows are read (BlockMaker), never all at once. Scales and zero points are read beforehand,
// because the format depends on them.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/parts/RawTensors.h"

#include <functional>
#include <optional>

namespace ingot::import {

struct GroupedInts {
  std::string name; ///< name of the resulting tensor
  int64_t rows, columns;
  int bits;      ///< per code: 2, 3, 4 or 8
  int64_t group; ///< number of K values per scale; the last group may be shorter
  /// Writes the `columns` unsigned codes of each of `count` rows starting at `first`; rows are `stride`
  /// apart in `q`.
  std::function<void(int64_t first, int64_t count, uint8_t *q, int64_t stride)> codes;
  std::function<float(int64_t row, int64_t group)> scale;
  std::function<int(int64_t row, int64_t group)> zero = {}; ///< from 0 to 255
  /// A number that is added to scale * q, instead of a zero point.
  std::function<float(int64_t row, int64_t group)> minimum = {};
  /// The group of each k, if the columns of a group are not adjacent.
  std::vector<int32_t> order = {};
  /// The format, if codes index a table and scales are f32. In that case the format is fixed, and there is no zero
  /// point.
  std::optional<WeightFormat> format = {};
};

/// Reads the group of each column from a tensor (g_idx). Returns an empty list if the columns of each group are
/// adjacent. Errors: E0477: group indices are out of range.
Result<std::vector<int32_t>> readOrder(const Part &part, int64_t group, int64_t groups);

/// Returns "X.columns" for "X.weight". Such a tensor need not exist.
std::string columnsOfWeight(std::string_view weight);

/// Replaces parts with the assembled tensors. Tensors of experts, which have names that differ only in the number after
/// "experts.", get one common format, so that one reference can concatenate them. Errors: E0477: a group size that no
/// format has.
Result<void> addGroupedInts(CheckpointBuilder &builder, RawTensors &parts,
                            std::vector<GroupedInts> matrices);

/// Returns the format of a matrix for a configuration without tensors, assuming f16 scales.
WeightFormat formatOfGroups(int bits, int64_t group, bool zeros);

} // namespace ingot::import

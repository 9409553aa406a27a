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
//   zero points  none if they are all the same, in which case codes are moved to the format's own
//   codes        of 2, 3 and 4 bits in 4; of 8 in 8
//   groups       128 values, or 64 or 32: scales are repeated where a checkpoint's groups are larger
//
// The blocks are memory of their own, about as large as the tensor in the file.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/CheckpointBuilder.h"

#include <functional>

namespace ingot::import {

struct GroupedInts {
  std::string name; ///< of the tensor to be made
  int64_t rows, columns;
  int bits;      ///< of a code: 2, 3, 4 or 8
  int64_t group; ///< values of K under one scale; the last group may be shorter
  std::function<void(int64_t row, uint8_t *q)> codes; ///< `columns` unsigned codes
  std::function<float(int64_t row, int64_t group)> scale;
  std::function<int(int64_t row, int64_t group)> zero; ///< from 0 to 255
};

/// The format that loses nothing of them. E0477: groups that no format has.
Result<WeightFormat> formatOf(const GroupedInts &ints);

/// Adds the tensor to the builder, which keeps its memory.
Result<void> addGroupedInts(CheckpointBuilder &builder, const GroupedInts &ints);

/// The format of a matrix that is not there: for a configuration without tensors (f16 scales).
WeightFormat formatOfGroups(int bits, int64_t group, bool zeros);

} // namespace ingot::import

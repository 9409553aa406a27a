//===- CheckPacked.h - Check of packed weights against the checkpoint --------===//
#pragma once

#include "compiler/import/checkpoint/RowSource.h"
#include "runtime/formats/FragmentLayout.h"

#include <cstddef>
#include <span>
#include <string>

namespace ingot::compiler {

/// Reads back one row from each of a few panels in `packed` and checks that it equals the checkpoint's row within the
/// format's rounding. Each value is found by its place (runtime/formats/WeightPlace.h). `first` is the index of the
/// first panel in `packed`, and `name` is the weight's name, for the error. Errors: E0493, with the row and the first
/// value that differs.
Result<void> checkPacked(const import::RowSource &source, const PanelLayout &layout, int64_t first,
                         std::span<const std::byte> packed, const std::string &name);
/// Checks the tiles in `packed` in the same way.
Result<void> checkPacked(const import::RowSource &source, const FragmentLayout &layout,
                         int64_t first, std::span<const std::byte> packed, const std::string &name);

/// Checks a vector: reads each number from the checkpoint again, one by one, to check that all are present and in
/// place.
Result<void> checkPackedVector(const import::RowSource &source, std::span<const std::byte> packed,
                               const std::string &name);

} // namespace ingot::compiler

//===- CheckPacked.h - Packed weights hold the checkpoint's numbers ----------===//
#pragma once

#include "compiler/import/RowSource.h"
#include "runtime/formats/FragmentLayout.h"

#include <cstddef>
#include <span>
#include <string>

namespace ingot::compiler {

/// Reads a row of these panels back, each number by its place (runtime/formats/WeightPlace.h), and holds it against the
/// checkpoint's, within what the format rounds. The row is another one in each piece. `first`: the first panel of `packed`;
/// `name`: the weight's, for the error. E0493, with the row and the first number that differs.
Result<void> checkPacked(const import::RowSource &source, const PanelLayout &layout, int64_t first,
                         std::span<const std::byte> packed, const std::string &name);
/// The same of tiles.
Result<void> checkPacked(const import::RowSource &source, const FragmentLayout &layout,
                         int64_t first, std::span<const std::byte> packed, const std::string &name);

} // namespace ingot::compiler

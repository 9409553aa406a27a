//===- CheckPacked.h - Packed weights hold the checkpoint's numbers ----------===//
#pragma once

#include "compiler/import/RowSource.h"
#include "runtime/formats/FragmentLayout.h"

#include <cstddef>
#include <span>
#include <string>

namespace ingot::compiler {

/// Reads a row of each of some of these panels back (of all, if they are few), each number by its place
/// (runtime/formats/WeightPlace.h), and holds it against the checkpoint's, within what the format rounds. `first`: the
/// first panel of `packed`; `name`: the weight's, for the error. E0493, with the row and the first number that differs.
Result<void> checkPacked(const import::RowSource &source, const PanelLayout &layout, int64_t first,
                         std::span<const std::byte> packed, const std::string &name);
/// The same of tiles.
Result<void> checkPacked(const import::RowSource &source, const FragmentLayout &layout,
                         int64_t first, std::span<const std::byte> packed, const std::string &name);

/// The same of a vector, each of whose numbers is read again alone: that all of them are there, at their places.
Result<void> checkPackedVector(const import::RowSource &source, std::span<const std::byte> packed,
                               const std::string &name);

} // namespace ingot::compiler

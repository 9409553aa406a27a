//===- RowForms.h - Rows of activations as memory holds them ---------------===//
//
// The slow machine computes in f32 and rounds where it writes. These are the forms of runtime/formats/PanelLayout.h
// and FragmentLayout.h, written down a second time, apart from the generators.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#include <cstddef>
#include <span>

namespace ingot::reference::machine {

/// Whether rows of that kind hold numbers that regions and products can read.
bool holdsNumbers(kernel::RowKind kind);

/// The row's bytes, `type.rowBytes()` of them; `values` are its n numbers.
void encodeRow(kernel::RowsType type, std::span<const float> values, std::byte *row);
/// The n numbers of a row.
void decodeRow(kernel::RowsType type, const std::byte *row, std::span<float> values);

/// What `keys` hold: keys of larger logits are larger, and of equal logits that of the lowest index; NaN is 0
/// (codegen/cuda/device/sample.cuh).
uint64_t keyOf(float logit, int64_t index);
int32_t idOf(uint64_t key);

} // namespace ingot::reference::machine

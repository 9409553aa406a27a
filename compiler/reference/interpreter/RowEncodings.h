//===- RowEncodings.h - Encodings of rows of activations ------------------===//
//
// The plan interpreter computes in f32 and rounds when it writes memory. This file is a second implementation of the
// encodings of runtime/formats/PanelLayout.h and FragmentLayout.h, independent of the code generators.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#include <cstddef>
#include <span>

namespace ingot::reference::interpreter {

/// Returns whether regions and matrix products can read values from rows of that kind.
bool holdsNumbers(kernel::RowKind kind);

/// Writes the row's `type.rowBytes()` bytes; `values` are its n values.
void encodeRow(kernel::ActivationType type, std::span<const float> values, std::byte *row);
/// Reads the n values of a row.
void decodeRow(kernel::ActivationType type, const std::byte *row, std::span<float> values);

/// Returns the key of a logit (RowKind::Key). Larger logits have larger keys. Among equal logits, the lowest index has
/// the largest key. The key of NaN is 0 (codegen/cuda/device/sample.cuh).
uint64_t keyOf(float logit, int64_t index);
int32_t idOf(uint64_t key);

} // namespace ingot::reference::interpreter

//===- Pack.h - Repacks weights for the kernels ---------------------------===//
//
// Weights are packed once, when an engine is compiled, panel by panel (for GPUs: tile by tile), straight into
// the file. Nothing is repacked at load. A quantised weight keeps its codes and scales bit for bit. Codes.h
// decodes blocks; PanelLayout.h and FragmentLayout.h define the places of codes and scales. Values are rounded
// only by `--quantize` and where `fast` stores bf16.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/RowSource.h"
#include "runtime/formats/FragmentLayout.h"

#include <span>

namespace ingot::compiler {

/// Packs panels [first, first + out.size() / layout.panelBytes()) of a matrix. `out` is zeroed. The source
/// has layout.n rows of layout.k values. If its stored format differs from layout.format, it is converted:
/// any format to a float, to int8 / int4_* (round to nearest, scale by the group's extreme value) or to fp8
/// (a scale per row, largest |w| / 448).
Result<void> packPanels(const import::RowSource &source, const PanelLayout &layout, int64_t first,
                        std::span<std::byte> out);

/// Packs rows for GPUs: tiles [first, first + out.size() / layout.tileBytes()). A layout of f32 is written as
/// bf16.
Result<void> packFragments(const import::RowSource &source, const FragmentLayout &layout,
                           int64_t first, std::span<std::byte> out);

/// Packs a vector as f32, padded with zeros to a multiple of 32 values: out has roundUp(n, 32) * 4 bytes.
Result<void> packVector(const import::RowSource &source, std::span<std::byte> out);

} // namespace ingot::compiler

//===- Safetensors.h - Reading one .safetensors file ----------------------===//
//
//   u64 length | JSON header of that length | data
//   header: {"__metadata__": {string: string},
//            "name": {"dtype": "F16", "shape": [2, 3], "data_offsets": [begin, end]}, …}
//
// Specification: https://github.com/huggingface/safetensors#format
//
// Offsets count from the end of the header. Together the tensors must cover the data exactly: no holes, no
// overlaps, no trailing bytes. Limits: header of 100 MB, 65,536 tensors, 8 dimensions. F32, F16, BF16 and
// E4M3 are read as weights. Integers and bytes are kept for the readers of quantised weights (Quantized.h).
// All other types are refused by name.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/CheckpointBuilder.h"

namespace ingot::import {

/// Reads a whole file from memory into `builder` (a scalar gets the shape [1]) and returns the names of its
/// tensors. Tensors point into `file`. Tensors of a wrapper that are not part of its text model are counted,
/// not read (Wrapper.h). Errors have exit code 3.
Result<std::vector<std::string>> readSafetensors(std::span<const std::byte> file,
                                                 const std::string &path,
                                                 CheckpointBuilder &builder);

} // namespace ingot::import

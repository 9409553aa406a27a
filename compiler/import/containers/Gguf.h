//===- Gguf.h - Reading GGUF versions 2 and 3 -----------------------------===//
//
//   magic "GGUF" | u32 version | u64 tensors | u64 keys
//   keys:     string key | u32 type | value          (string: u64 length | bytes)
//   records:  string name | u32 dims | u64 extent[dims], innermost first | u32 type | u64 offset
//   padding to general.alignment, then the data; offsets count from there
//
// Specification: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
//
// Everything is little-endian. Limits: 65,536 keys and tensors, strings of 16 MiB, names of 256 bytes, 4
// dimensions, alignment a power of two up to 64 KiB. A count is checked against the bytes left before
// anything is reserved for it. The tensors must cover the data section: aligned, without overlaps, holes or
// trailing bytes.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/CheckpointBuilder.h"

namespace ingot::import {

/// A tensor type, by its number in the file.
struct GgufType {
  constexpr GgufType(uint32_t id, const char *name, WeightFormat format)
      : id(id), name(name), format(format) {}
  constexpr GgufType(uint32_t id, const char *name, const char *why)
      : id(id), name(name), why(why) {}

  uint32_t id;
  const char *name;                   ///< ggml's name
  std::optional<WeightFormat> format; ///< empty: a known type that is refused
  const char *why = nullptr;          ///< the reason for refusing it
};

/// Returns all types, ordered by number.
std::span<const GgufType> ggufTypes();

/// Reads a whole file from memory into `builder`; tensors point into `file`. `path` is used in messages and
/// as the fallback name. Errors have exit code 3 and codes E0209 to E0270, or E0841 (split keys).
Result<void> readGguf(std::span<const std::byte> file, const std::string &path,
                      CheckpointBuilder &builder);

/// The position of a file among the parts of a split model (the keys split.…).
struct GgufPart {
  int64_t number = 0;  ///< from 0
  int64_t count = 1;   ///< number of parts; 1 if the model is one file
  int64_t tensors = 0; ///< in all parts together
};

/// The information in the keys of a file. The file's tensors are not read.
struct GgufHead {
  GgufPart part;
  std::optional<Error> notModel; ///< set for an adapter, a projector or a vocabulary
};
Result<GgufHead> readGgufHead(std::span<const std::byte> file, const std::string &path);

/// Reads one part of a split model in the same way. The first part (`first`) has the model's keys and may have no
/// tensors. Keys of the other parts are checked but not kept.
Result<GgufPart> readGgufPart(std::span<const std::byte> file, const std::string &path, bool first,
                              CheckpointBuilder &builder);

} // namespace ingot::import

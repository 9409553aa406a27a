//===- Gguf.h - Reading GGUF version 3 ------------------------------------===//
//
//   magic "GGUF" | u32 version | u64 tensors | u64 keys
//   keys:     string key | u32 type | value          (string: u64 length | bytes)
//   records:  string name | u32 dims | u64 extent[dims], innermost first | u32 type | u64 offset
//   padding to general.alignment, then the data; offsets count from there
//
// Specification: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
//
// Everything is little-endian. Limits: 65,536 keys and tensors, strings of 16 MiB,
// names of 256 bytes, 4 dimensions, alignment a power of two up to 64 KiB; a count
// is compared with the bytes left before anything is reserved for it. The tensors
// must cover the data section: aligned, without overlap, hole or trailing bytes.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/CheckpointBuilder.h"

namespace ingot::import {

/// A type that tensors may have, by its number.
struct GgufType {
  constexpr GgufType(uint32_t id, const char *name, WeightFormat format)
      : id(id), name(name), format(format) {}
  constexpr GgufType(uint32_t id, const char *name, const char *why)
      : id(id), name(name), why(why) {}

  uint32_t id;
  const char *name;                   ///< ggml's
  std::optional<WeightFormat> format; ///< empty: known, and refused
  const char *why = nullptr;          ///< it is refused
};

/// In order of their numbers.
std::span<const GgufType> ggufTypes();

/// Reads a whole file from memory into `builder`; tensors point into `file`. `path` is
/// for messages and the fall-back name. Errors have exit 3 and codes E0209 to E0270.
Result<void> readGguf(std::span<const std::byte> file, const std::string &path,
                      CheckpointBuilder &builder);

/// What a file says of its place among the parts of a split model (split.no and so on).
struct GgufPart {
  int64_t number = 0;  ///< from 0
  int64_t count = 1;   ///< of parts; 1 where the model is one file
  int64_t tensors = 0; ///< of all parts together
};

/// What the keys of a file say of it, without its tensors.
struct GgufHead {
  GgufPart part;
  std::optional<Error> notModel; ///< it is an adapter, a projector, a vocabulary
};
Result<GgufHead> readGgufHead(std::span<const std::byte> file, const std::string &path);

/// The same of one part. The first, `first`, has the model's keys and may be without tensors; the
/// keys of the others are their own and are not kept.
Result<GgufPart> readGgufPart(std::span<const std::byte> file, const std::string &path, bool first,
                              CheckpointBuilder &builder);

} // namespace ingot::import

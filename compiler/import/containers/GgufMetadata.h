//===- GgufMetadata.h - The keys and values of a GGUF file ----------------===//
#pragma once

#include "compiler/import/checkpoint/CheckpointBuilder.h"
#include "compiler/import/containers/Gguf.h"
#include "compiler/import/containers/GgufCursor.h"

namespace ingot::import {

/// Reads `count` keys with their values into the builder's metadata.
Result<void> readGgufMetadata(GgufCursor &cursor, uint64_t count, CheckpointBuilder &builder,
                              const std::string &path);

/// Reads the keys split.no, split.count and split.tensors.count (E0841: not integers in a plausible range).
Result<GgufPart> ggufPart(CheckpointBuilder &builder, const std::string &path);

/// Examines the keys that state the kind of file, and sets architecture and name. Errors: E0260: the file is not a
/// model; E0225, E0226: an invalid architecture.
Result<void> identifyGguf(CheckpointBuilder &builder, const std::string &path);

/// Returns general.alignment, or 32 if it is missing. It must be a power of two up to 64 KiB (E0256 to E0258).
Result<uint64_t> ggufAlignment(CheckpointBuilder &builder, const std::string &path);

} // namespace ingot::import

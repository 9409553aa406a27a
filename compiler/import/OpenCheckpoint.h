//===- OpenCheckpoint.h - Opens whatever kind of checkpoint a path names --===//
#pragma once

#include "compiler/import/checkpoint/Checkpoint.h"

namespace ingot::import {

/// The input of a checkpoint's content hash: all bytes of its files, or only the first bytes of each file. Hashing only
/// the first bytes takes no time and is enough for dummy weights.
enum class Hashed : uint8_t { Everything, Beginnings };

/// Opens a checkpoint. The path may name one of these:
///   a GGUF file, or any part of a split one
///   a safetensors file with config.json next to it, or the index of several
///   a folder of a safetensors checkpoint (single or sharded) or of one GGUF model
///   a model's folder in the Hugging Face cache (models--ORG--NAME)
///   a config.json, which has no tensors
/// The first bytes of a file determine its kind.
Result<std::shared_ptr<Checkpoint>> openCheckpoint(const std::string &path,
                                                   Hashed hashed = Hashed::Everything);

} // namespace ingot::import

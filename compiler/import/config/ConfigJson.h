//===- ConfigJson.h - config.json as flat metadata ------------------------===//
//
// {"rope_scaling": {"factor": 8}, "eos_token_id": [1, 2], "layers": [{"type": "a"}]}
//
// becomes rope_scaling.factor = 8, eos_token_id = [1, 2], layers.0.type = "a": nested names are joined with
// '.', arrays of one scalar kind become a MetaArray, and other arrays are expanded by index. At most 65,536
// keys of 1,024 bytes.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/CheckpointBuilder.h"

namespace ingot::import {

/// Adds the keys of another settings file, each prefixed with `scope` and a dot ("quantization_config").
/// Errors: E0209, E0214, E0227, E0229, E0238, E0275 to E0277.
Result<void> readSettings(std::string_view json, const std::string &path, const std::string &scope,
                          CheckpointBuilder &builder);

/// Adds the keys of config.json and sets the architecture (architectures[0]). Errors:
/// E0209, E0214, E0225 to E0229, E0238, E0275 to E0277.
Result<void> readConfig(std::string_view json, const std::string &path, CheckpointBuilder &builder);

} // namespace ingot::import

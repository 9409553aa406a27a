//===- ModelName.h - Model references on the command line ------------------===//
//
// Wherever MODEL may be a checkpoint, it may also be a reference, hf:ORG/NAME (tools/hub/Reference.h). The
// model is fetched into the cache that Python programs use, and the reference then stands for a folder or a
// file in that cache. Progress is shown on stderr; on a terminal it is one line that is redrawn.
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/hub/Fetch.h"

#include <string>
#include <vector>

namespace ingot::cli {

/// Returns `model` itself or, if it is a reference, the path of its checkpoint, fetched if necessary. Errors: all
/// errors of tools/hub/Fetch.h.
Result<std::string> checkpointOf(const std::string &model, bool quiet);

bool isModelName(const std::string &model);

/// Returns the outline of a reference for `ingot doctor`. If the whole model is local, `weights` is empty and
/// `folder` is the result of checkpointOf.
Result<hub::Outline> outlineOf(const std::string &model, bool quiet);

/// Returns a copy of the arguments of `ingot compile`, with references replaced by checkpoint paths. The
/// arguments are parsed elsewhere, so any argument that begins with hf: counts as a reference, except the value
/// of -o.
Result<std::vector<std::string>> withCheckpoint(int argc, const char *const *argv);

} // namespace ingot::cli

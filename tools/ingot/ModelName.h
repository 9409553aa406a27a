//===- ModelName.h - Models by name, on the command line -------------------===//
//
// Wherever MODEL is a checkpoint it may be a reference, hf:ORG/NAME (tools/hub/Reference.h): it is fetched
// into the cache of Python programs, and what was named is then a folder or a file there. What comes is shown
// on stderr, on a terminal as one line that is redrawn.
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/hub/Fetch.h"

#include <string>
#include <vector>

namespace ingot::cli {

/// `model` itself, unless it is a reference: then where its checkpoint lies, fetched if need be. Errors: those of
/// tools/hub/Fetch.h.
Result<std::string> checkpointOf(const std::string &model, bool quiet);

bool isModelName(const std::string &model);

/// Of a reference, what `ingot doctor` looks at: `weights` is empty where all of the model is here, and `folder`
/// is then what checkpointOf gives.
Result<hub::Outline> outlineOf(const std::string &model, bool quiet);

/// The arguments of `ingot compile` and `ingot tune`, whose MODEL may be a reference too: a copy with what it
/// stands for. They are parsed elsewhere, so any argument that begins with hf: is taken for one, but for the value
/// of -o.
Result<std::vector<std::string>> withCheckpoint(int argc, const char *const *argv);

} // namespace ingot::cli

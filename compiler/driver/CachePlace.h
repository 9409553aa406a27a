//===- CachePlace.h - Where --cache keeps an engine -----------------------===//
#pragma once

#include "compiler/console/Options.h"

namespace ingot::compiler {

/// The file for what options.model and the others make (runtime/engine/CacheName.h), whether it is there or not.
/// Errors: the importer's, E0439 this library cannot be read.
Result<std::string> placeInCache(const CompileOptions &options);

} // namespace ingot::compiler

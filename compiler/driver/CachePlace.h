//===- CachePlace.h - Where --cache keeps an engine -----------------------===//
#pragma once

#include "compiler/console/Options.h"

namespace ingot::compiler {

/// The file for what options.model and the others make (runtime/engine/CacheName.h), whether it is there or not.
/// Errors: the importer's, E0439 this library cannot be read.
Result<std::string> placeInCache(const CompileOptions &options);

/// One process at a time, of those that compile into a folder to have one name for the engine: who comes second finds
/// what the first has made. Where the file system has no locks each compiles for itself, which is as right.
class CacheTurn {
public:
  explicit CacheTurn(const std::string &folder);
  ~CacheTurn();
  CacheTurn(const CacheTurn &) = delete;
  CacheTurn &operator=(const CacheTurn &) = delete;

private:
  int descriptor;
};

/// Makes `link` a symbolic link to `engine`, in one step: whoever opens it finds the old engine or the new one. It is
/// relative where both lie in one folder, so that a volume may be mounted elsewhere. E0499: it cannot be made, or
/// something that is no link has the name.
Result<void> linkEngine(const std::string &link, const std::string &engine);

} // namespace ingot::compiler

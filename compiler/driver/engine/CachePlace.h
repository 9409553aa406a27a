//===- CachePlace.h - Place of an engine in the cache ---------------------===//
#pragma once

#include "compiler/options/Options.h"

namespace ingot::compiler {

/// Returns the cache file for the engine that the options make (runtime/engine/CacheName.h), whether or not
/// it exists. Errors: the importer's; E0439: this library cannot be read.
Result<std::string> placeInCache(const CompileOptions &options);

/// Lets one process at a time compile into a cache folder. A second process waits and then finds the engine that the
/// first one made. On a file system without locks each process compiles for itself, which is also correct.
class CacheTurn {
public:
  explicit CacheTurn(const std::string &folder);
  ~CacheTurn();
  CacheTurn(const CacheTurn &) = delete;
  CacheTurn &operator=(const CacheTurn &) = delete;

private:
  int descriptor;
};

/// Makes `link` a symbolic link to `engine` atomically: a process that opens it finds either the old engine
/// or the new one. The link is relative if both are in the same folder, so the volume may be mounted
/// elsewhere. Errors: E0499: the link cannot be made, or the name belongs to something that is not a link.
Result<void> linkEngine(const std::string &link, const std::string &engine);

} // namespace ingot::compiler

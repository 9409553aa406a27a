//===- Reference.h - The name of a model on a hub -------------------------===//
//
//   hf:ORG/NAME                    the current revision of a model on the hub (main)
//   hf:ORG/NAME@REVISION           a branch, a tag or a commit
//   hf:ORG/NAME:FILE.gguf          one GGUF of a repository with several; a split GGUF is named by its first part
//   hf:ORG/NAME@REVISION:FILE.gguf
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <string>
#include <string_view>

namespace ingot::hub {

struct Reference {
  std::string repository; ///< "ORG/NAME"; old models have only a NAME
  std::string revision = "main";
  bool revisionGiven = false;
  std::string file; ///< a GGUF's path inside the repository, or empty

  /// Returns the reference as it is typed.
  std::string text() const;
};

/// Returns whether `model` is a reference, that is, begins with "hf:".
bool isReference(std::string_view model);

/// Parses a reference. No path in an accepted reference can lead out of its folder. Errors: E0150, exit 2.
Result<Reference> parseReference(std::string_view model);

/// Returns whether a path in a repository is safe to use below a local folder: relative, with no ".." or ".", no
/// empty part, no control character and no backslash.
bool isPlainPath(std::string_view path);

/// Returns whether `revision` is 40 hexadecimal digits, and therefore a commit that never moves.
bool isCommit(std::string_view revision);

} // namespace ingot::hub

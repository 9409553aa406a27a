//===- Reference.h - The name of a model on a hub -------------------------===//
//
//   hf:ORG/NAME                    a model, as its hub has it now (revision main)
//   hf:ORG/NAME@REVISION           a branch, a tag or a commit
//   hf:ORG/NAME:FILE.gguf          one GGUF of a repository of several; the first part names a split one
//   hf:ORG/NAME@REVISION:FILE.gguf
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <string>
#include <string_view>

namespace ingot::hub {

struct Reference {
  std::string repository; ///< "ORG/NAME"; old models have a NAME alone
  std::string revision = "main";
  bool revisionGiven = false;
  std::string file; ///< a GGUF's path inside the repository, or empty

  /// As it is typed.
  std::string text() const;
};

/// Whether `model` is meant as a reference: it begins with "hf:".
bool isReference(std::string_view model);

/// Error: E0150, exit 2. Nothing that is accepted can lead out of a folder.
Result<Reference> parseReference(std::string_view model);

/// Whether a path of a repository may be used as one below a folder: relative, no "..", no empty
/// part, no control character, no backslash.
bool isPlainPath(std::string_view path);

/// 40 hexadecimal digits: such a revision never means anything else.
bool isCommit(std::string_view revision);

} // namespace ingot::hub

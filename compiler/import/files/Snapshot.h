//===- Snapshot.h - A model's folder in the Hugging Face cache ------------===//
//
//   models--ORG--NAME/refs/main              the revision that was fetched last, as text
//   models--ORG--NAME/snapshots/<revision>/  links to ../../blobs/<hash>; Folder.h follows them
//
// Source: https://huggingface.co/docs/huggingface_hub/guides/manage-cache
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <string>

namespace ingot::import {

/// Returns whether `folder` is a repository of the cache rather than a checkpoint's own folder.
bool isRepositoryOfSnapshots(const std::string &folder);

/// Returns the folder of the revision that refs/main names or, without that file, the folder of the only revision.
/// Errors: E0844 (no such folder, several, or a reference that is not a plain name), and all errors of Folder::open.
Result<std::string> snapshotOf(const std::string &folder);

/// Returns the NAME of .../models--ORG--NAME/snapshots/<revision>, or "" for other folders. `folder` must be a real
/// path.
std::string repositoryName(const std::string &folder);

} // namespace ingot::import

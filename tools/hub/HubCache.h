//===- HubCache.h - Cache of fetched models, shared with Python -----------===//
//
//   CACHE/models--ORG--NAME/
//     blobs/ETAG                       a file's bytes, named by their hash (sha256, or git's sha1)
//     blobs/ETAG.incomplete            the bytes fetched so far
//     refs/REVISION                    the commit that a branch or tag pointed to when it was fetched
//     snapshots/COMMIT/PATH            a link to ../../blobs/ETAG
//   CACHE/.locks/models--ORG--NAME/ETAG.lock   held (flock) by the process that fetches that blob
//
// This is exactly the layout of the Python package huggingface_hub. Ingot does not fetch files again that
// the package has fetched, and the package does not fetch Ingot's files again.
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/hub/Reference.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ingot::hub {

/// One repository's folder. Nothing is created on disk until a file is linked or fetched.
class RepositoryCache {
public:
  RepositoryCache(std::filesystem::path cache, const std::string &repository);

  const std::filesystem::path &folder() const { return root; }
  /// `etag` is a plain file name (isBlobName).
  std::filesystem::path blob(const std::string &etag) const { return root / "blobs" / etag; }
  std::filesystem::path incomplete(const std::string &etag) const {
    return root / "blobs" / (etag + ".incomplete");
  }
  std::filesystem::path lock(const std::string &etag) const { return locks / (etag + ".lock"); }
  std::filesystem::path snapshot(const std::string &commit) const {
    return root / "snapshots" / commit;
  }

  /// Returns the commit that `revision` pointed to when it was last fetched; a commit maps to itself.
  std::optional<std::string> commitOf(const std::string &revision) const;
  /// Returns the sorted paths of the files of a snapshot that have their bytes in the cache.
  std::vector<std::string> filesOf(const std::string &commit) const;
  bool has(const std::string &commit, const std::string &path) const;

  /// Links snapshots/COMMIT/PATH to the blob. Errors here and in setCommit: E0158 with the system's message.
  Result<void> link(const std::string &commit, const std::string &path,
                    const std::string &etag) const;
  Result<void> setCommit(const std::string &revision, const std::string &commit) const;

private:
  std::filesystem::path root, locks;
};

/// Converts a repository to "models--ORG--NAME" and back. repositoryOf returns nothing for other folders.
std::string folderName(const std::string &repository);
std::optional<std::string> repositoryOf(const std::string &folderName);

/// Returns whether a hub's etag can name a file: letters, digits, '-', '_' and '.', no leading '.', and at most 255
/// characters with an ending appended.
bool isBlobName(const std::string &etag);

/// A snapshot, as `ingot list` shows it.
struct FetchedModel {
  std::string repository, commit;
  std::vector<std::string> revisions; ///< the refs that point to it, sorted; may be empty
  uint64_t bytes = 0;                 ///< of its blobs, each counted once
  uint64_t files = 0;
  std::chrono::system_clock::time_point fetched; ///< time of its newest link
};

/// Returns all snapshots of all models in `cache`, by name. Incomplete blobs do not count. A cache that does
/// not exist has no models.
std::vector<FetchedModel> fetchedModels(const std::filesystem::path &cache);

/// Returns the error for a failed write, E0158; for a full disk it includes the remedy.
Error cannotKeep(const std::filesystem::path &path, int reason);

} // namespace ingot::hub

//===- HubCache.h - Fetched models, where Python programs keep them -------===//
//
//   CACHE/models--ORG--NAME/
//     blobs/ETAG                       a file's bytes, named by their hash (sha256, or git's sha1)
//     blobs/ETAG.incomplete            as far as they have come
//     refs/REVISION                    the commit that a branch or tag meant when it was fetched
//     snapshots/COMMIT/PATH            a link to ../../blobs/ETAG
//   CACHE/.locks/models--ORG--NAME/ETAG.lock   held (flock) by whoever fetches that blob
//
// This is the layout of the Python package huggingface_hub, name for name: what it has fetched is
// not fetched again, and the other way round.
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

/// One repository's folder. Nothing is made on disk until something is linked or fetched.
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

  /// The commit that `revision` meant when it was last asked for; a commit means itself.
  std::optional<std::string> commitOf(const std::string &revision) const;
  /// Paths of the files of a snapshot whose bytes are there, sorted.
  std::vector<std::string> filesOf(const std::string &commit) const;
  bool has(const std::string &commit, const std::string &path) const;

  /// Links snapshots/COMMIT/PATH to the blob. E0158 with the system's words, as below.
  Result<void> link(const std::string &commit, const std::string &path,
                    const std::string &etag) const;
  Result<void> setCommit(const std::string &revision, const std::string &commit) const;

private:
  std::filesystem::path root, locks;
};

/// "models--ORG--NAME" and back; nothing for folders of another kind.
std::string folderName(const std::string &repository);
std::optional<std::string> repositoryOf(const std::string &folderName);

/// Whether a hub's etag can name a file: letters, digits, '-', '_' and '.', at most 255 less an ending.
bool isBlobName(const std::string &etag);

/// A snapshot, as `ingot list` shows it.
struct FetchedModel {
  std::string repository, commit;
  std::vector<std::string> revisions; ///< the refs that mean it, sorted; maybe none
  uint64_t bytes = 0;                 ///< of its blobs, each counted once
  uint64_t files = 0;
  std::chrono::system_clock::time_point fetched; ///< the youngest of its links
};

/// All snapshots of all models in `cache`, by name; blobs that are not whole count for nothing. Of a cache that is
/// not there: none.
std::vector<FetchedModel> fetchedModels(const std::filesystem::path &cache);

/// The error of a disk that refuses: E0158, with the way out of a full one.
Error cannotKeep(const std::filesystem::path &path, int reason);

} // namespace ingot::hub

//===- Removal.cpp - See Removal.h ----------------------------------------===//
#include "tools/hub/Removal.h"
#include "tools/hub/WantedFiles.h"

#include <cerrno>
#include <fcntl.h>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::hub {

namespace fs = std::filesystem;

namespace {

/// A link of a snapshot and the blob that it resolves to; `blob` is empty if the target is not one of the
/// repository's blobs.
struct Link {
  fs::path path, blob;
};

std::vector<Link> linksOf(const fs::path &snapshot, const fs::path &blobs) {
  std::vector<Link> links;
  std::error_code failure;
  const fs::path home = fs::canonical(blobs, failure);
  for (fs::recursive_directory_iterator at(snapshot, failure), end; !failure && at != end;
       at.increment(failure)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored))
      continue;
    fs::path real = fs::canonical(at->path(), ignored);
    links.push_back({at->path(), !ignored && real.parent_path() == home ? real : fs::path()});
  }
  return links;
}

/// Returns the size in bytes of the regular files below a folder; links do not count.
uint64_t bytesBelow(const fs::path &folder) {
  uint64_t bytes = 0;
  std::error_code failure;
  for (fs::recursive_directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    struct stat info = {};
    if (::lstat(at->path().c_str(), &info) == 0 && S_ISREG(info.st_mode))
      bytes += static_cast<uint64_t>(info.st_size);
  }
  return bytes;
}

/// Returns whether a process holds one of the locks, that is, is fetching a blob of the repository.
bool isBeingFetched(const fs::path &locks) {
  std::error_code failure;
  for (fs::directory_iterator at(locks, failure), end; !failure && at != end;
       at.increment(failure)) {
    const int descriptor = ::open(at->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    const bool held =
        descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (descriptor >= 0)
      ::close(descriptor);
    if (held)
      return true;
  }
  return false;
}

Error untouchable(const Reference &reference, const std::string &why) {
  return {ExitCode::File, "E0163", reference.text() + " was not removed", why,
          "remove it yourself if that is intended"};
}

/// Adds the refs that point to one of `commits`.
void addRefs(const fs::path &refs, const std::set<std::string> &commits, const RepositoryCache &own,
             Removal &removal) {
  std::error_code failure;
  for (fs::recursive_directory_iterator at(refs, failure), end; !failure && at != end;
       at.increment(failure))
    if (at->is_regular_file(failure))
      if (auto commit = own.commitOf(at->path().lexically_relative(refs).string());
          commit && commits.contains(*commit))
        removal.paths.push_back(at->path());
}

/// Adds the links to delete and the blobs that no remaining link needs.
void addLinks(const std::vector<Link> &going, const std::vector<Link> &staying, Removal &removal) {
  std::set<fs::path> needed, gone;
  for (const Link &link : staying)
    needed.insert(link.blob);
  for (const Link &link : going) {
    removal.paths.push_back(link.path);
    if (link.blob.empty() || needed.contains(link.blob) || !gone.insert(link.blob).second)
      continue;
    std::error_code failure;
    removal.bytes += fs::file_size(link.blob, failure);
    removal.paths.push_back(link.blob);
  }
}

} // namespace

Result<Removal> planRemoval(const fs::path &cache, const Reference &reference) {
  const RepositoryCache own(cache, reference.repository);
  const fs::path locks = own.lock("x").parent_path();
  std::error_code failure;
  auto missing = [&] {
    return Error{ExitCode::File, "E0162", "nothing of " + reference.text() + " is on this machine",
                 "searched " + own.folder().string(), "ingot list shows what is there"};
  };
  const fs::file_status status = fs::symlink_status(own.folder(), failure);
  if (fs::is_symlink(status))
    return untouchable(reference,
                       own.folder().string() + " is a link to a place outside the cache");
  if (!fs::is_directory(status))
    return missing();
  if (isBeingFetched(locks))
    return untouchable(reference, "another program is fetching it");

  auto wholeRepository = [&] {
    Removal removal{{own.folder()}, bytesBelow(own.folder())};
    if (fs::is_directory(fs::symlink_status(locks, failure)))
      removal.paths.push_back(locks);
    return removal;
  };
  if (!reference.revisionGiven && reference.file.empty())
    return wholeRepository();
  std::set<std::string> commits, all;
  for (fs::directory_iterator at(own.folder() / "snapshots", failure), end; !failure && at != end;
       at.increment(failure))
    all.insert(at->path().filename().string());
  if (!reference.revisionGiven)
    commits = all;
  else if (auto commit = own.commitOf(reference.revision); commit && all.contains(*commit))
    commits = {*commit};
  if (reference.file.empty() && !commits.empty() && commits == all) // only refs would remain
    return wholeRepository();
  std::vector<Link> going, staying;
  for (const std::string &commit : all) {
    std::vector<ListedFile> files;
    for (const Link &link : linksOf(own.snapshot(commit), own.folder() / "blobs"))
      files.push_back({link.path.lexically_relative(own.snapshot(commit)).string(), std::nullopt});
    std::set<std::string> parts; // parts of the file to remove; empty: all files
    if (!reference.file.empty())
      if (auto wanted = wantedFiles(reference, files))
        parts.insert(wanted->weights.begin(), wanted->weights.end());
    for (Link &link : linksOf(own.snapshot(commit), own.folder() / "blobs")) {
      const std::string path = link.path.lexically_relative(own.snapshot(commit)).string();
      const bool goes =
          commits.contains(commit) && (reference.file.empty() || parts.contains(path));
      (goes ? going : staying).push_back(std::move(link));
    }
  }
  if (going.empty() && (commits.empty() || !reference.file.empty()))
    return missing();
  Removal removal;
  addLinks(going, staying, removal);
  if (reference.file.empty()) {
    addRefs(own.folder() / "refs", commits, own, removal);
    for (const std::string &commit : commits) {
      removal.paths.push_back(own.snapshot(commit));
      removal.paths.push_back(own.folder() / "trees" /
                              (commit + ".json")); // huggingface_hub's list of its files
    }
  }
  return removal;
}

Result<void> carryOut(const Removal &removal) {
  for (const fs::path &path : removal.paths) {
    std::error_code failure;
    fs::remove_all(path, failure); // removes a link itself, not its target
    if (failure)
      return Error{ExitCode::File, "E0181", "cannot remove " + path.string(), failure.message(),
                   "check its permissions"};
  }
  return {};
}

} // namespace ingot::hub

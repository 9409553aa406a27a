//===- HubCache.cpp - See HubCache.h --------------------------------------===//
#include "tools/hub/HubCache.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::hub {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kKind = "models--";
constexpr size_t kLongestName = 240; ///< with an ending it fits a file name's 255 bytes

/// Returns the sorted entries of a folder; none if the folder cannot be listed.
std::vector<fs::path> entriesOf(const fs::path &folder) {
  std::vector<fs::path> entries;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure))
    entries.push_back(at->path());
  std::ranges::sort(entries);
  return entries;
}

std::string firstLine(const fs::path &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::chrono::system_clock::time_point timeOf(const timespec &time) {
  return std::chrono::system_clock::time_point(std::chrono::seconds(time.tv_sec));
}

/// Returns the refs of a repository that point to `commit`; a ref's name may contain slashes.
std::vector<std::string> revisionsOf(const fs::path &refs, const std::string &commit) {
  std::vector<std::string> names;
  std::error_code failure;
  for (fs::recursive_directory_iterator at(refs, failure), end; !failure && at != end;
       at.increment(failure))
    if (at->is_regular_file(failure) && firstLine(at->path()) == commit)
      names.push_back(at->path().lexically_relative(refs).string());
  std::ranges::sort(names);
  return names;
}

} // namespace

Error cannotKeep(const fs::path &path, int reason) {
  const bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  return {ExitCode::File, "E0158",
          full ? "the disk for models is full" : "cannot store the fetched data",
          path.string() + ": " + std::strerror(reason),
          full
              ? "free some space (ingot list shows the models), or set HF_HUB_CACHE to a folder on "
                "another disk; the download then resumes where it stopped"
              : "set HF_HUB_CACHE to a writable folder"};
}

bool isBlobName(const std::string &etag) {
  auto fits = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; };
  return !etag.empty() && etag.size() <= kLongestName && etag[0] != '.' &&
         std::ranges::all_of(etag, fits);
}

std::string folderName(const std::string &repository) {
  std::string name(kKind);
  for (const char c : repository)
    name += c == '/' ? std::string("--") : std::string(1, c);
  return name;
}

std::optional<std::string> repositoryOf(const std::string &folder) {
  if (!folder.starts_with(kKind) || folder.size() == kKind.size())
    return std::nullopt;
  std::string name = folder.substr(kKind.size());
  if (const size_t dashes = name.find("--"); dashes != std::string::npos)
    name.replace(dashes, 2, "/");
  return name;
}

RepositoryCache::RepositoryCache(fs::path cache, const std::string &repository)
    : root(cache / folderName(repository)), locks(cache / ".locks" / folderName(repository)) {}

std::optional<std::string> RepositoryCache::commitOf(const std::string &revision) const {
  if (isCommit(revision))
    return revision;
  const std::string commit = firstLine(root / "refs" / revision);
  return isCommit(commit) ? std::optional(commit) : std::nullopt;
}

bool RepositoryCache::has(const std::string &commit, const std::string &path) const {
  std::error_code failure;
  return fs::is_regular_file(snapshot(commit) / path, failure); // follows the link
}

std::vector<std::string> RepositoryCache::filesOf(const std::string &commit) const {
  const fs::path folder = snapshot(commit);
  std::vector<std::string> files;
  std::error_code failure;
  for (fs::recursive_directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure))
    if (std::error_code gone; fs::is_regular_file(at->path(), gone))
      files.push_back(at->path().lexically_relative(folder).string());
  std::ranges::sort(files);
  return files;
}

Result<void> RepositoryCache::link(const std::string &commit, const std::string &path,
                                   const std::string &etag) const {
  const fs::path at = snapshot(commit) / path;
  std::error_code failure;
  fs::create_directories(at.parent_path(), failure);
  if (failure)
    return cannotKeep(at.parent_path(), failure.value());
  // The link is created under a name that only this process uses and is then renamed, because
  // another process may create the same link.
  const fs::path fresh = at.string() + "." + std::to_string(getpid());
  const fs::path target = fs::relative(blob(etag), at.parent_path(), failure);
  fs::remove(fresh, failure);
  fs::create_symlink(target, fresh, failure);
  if (!failure)
    fs::rename(fresh, at, failure);
  return failure ? cannotKeep(at, failure.value()) : Result<void>();
}

Result<void> RepositoryCache::setCommit(const std::string &revision,
                                        const std::string &commit) const {
  if (isCommit(revision) || commitOf(revision) == commit)
    return {};
  const fs::path at = root / "refs" / revision;
  std::error_code failure;
  fs::create_directories(at.parent_path(), failure);
  if (failure)
    return cannotKeep(at.parent_path(), failure.value());
  const fs::path fresh = at.string() + "." + std::to_string(getpid());
  std::ofstream file(fresh);
  file << commit;
  file.close();
  const int reason = file ? 0 : errno;
  if (!reason)
    fs::rename(fresh, at, failure);
  return reason || failure ? cannotKeep(at, reason ? reason : failure.value()) : Result<void>();
}

std::vector<FetchedModel> fetchedModels(const fs::path &cache) {
  std::vector<FetchedModel> models;
  for (const fs::path &folder : entriesOf(cache)) {
    const auto repository = repositoryOf(folder.filename().string());
    if (!repository)
      continue;
    const RepositoryCache own(cache, *repository);
    for (const fs::path &snapshot : entriesOf(folder / "snapshots")) {
      FetchedModel model{*repository, snapshot.filename().string(), {}, 0, 0, {}};
      model.revisions = revisionsOf(folder / "refs", model.commit);
      std::set<std::pair<dev_t, ino_t>> counted;
      for (const std::string &file : own.filesOf(model.commit)) {
        struct stat blob = {}, link = {};
        if (::stat((snapshot / file).c_str(), &blob) != 0 ||
            ::lstat((snapshot / file).c_str(), &link) != 0)
          continue;
        ++model.files;
        model.fetched = std::max(model.fetched, timeOf(link.st_mtim));
        if (counted.emplace(blob.st_dev, blob.st_ino).second)
          model.bytes += static_cast<uint64_t>(blob.st_size);
      }
      models.push_back(std::move(model));
    }
  }
  return models;
}

} // namespace ingot::hub

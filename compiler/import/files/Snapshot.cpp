//===- Snapshot.cpp - See Snapshot.h --------------------------------------===//
#include "compiler/import/files/Snapshot.h"
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/files/Folder.h"

#include <filesystem>
#include <vector>

namespace fs = std::filesystem;

namespace ingot::import {

/// Returns whether the path is a folder itself, rather than a link to one.
static bool isFolder(const fs::path &path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() == fs::file_type::directory;
}

bool isRepositoryOfSnapshots(const std::string &folder) {
  std::error_code ignored;
  return isFolder(fs::path(folder) / "snapshots") &&
         !fs::exists(fs::path(folder) / "config.json", ignored);
}

static Error missing(const std::string &folder, std::string why) {
  return refuse(cause::snapshotMissing,
                line("the revision of the model in ", fileName(folder), " is ambiguous"),
                std::move(why),
                line("name one: ", wholePath(folder + "/snapshots/REVISION"),
                     " (a complete download writes refs/main)"));
}

/// Returns whether `name` is the plain name of a folder, not a path.
static bool isRevision(const std::string &name) {
  return !name.empty() && name.size() <= 255 && name[0] != '.' &&
         name.find('/') == std::string::npos && isPlainName(name);
}

Result<std::string> snapshotOf(const std::string &folder) {
  std::error_code ignored;
  std::vector<std::string> revisions;
  for (const auto &entry : fs::directory_iterator(fs::path(folder) / "snapshots", ignored))
    if (isFolder(entry.path()))
      revisions.push_back(entry.path().filename().string());
  std::string revision = revisions.size() == 1 ? revisions.front() : "";
  Folder references(folder + "/refs");
  if (isFolder(folder + "/refs") && references.has("main")) {
    Result<std::string> main = references.text("main", 1024);
    if (!main)
      return main.error();
    revision = main->substr(0, main->find_last_not_of(" \r\n") + 1);
    if (!isRevision(revision))
      return missing(folder, line("refs/main has ", main->size(), " bytes: ", inQuotes(*main)));
  }
  for (const std::string &there : revisions)
    if (there == revision)
      return folder + "/snapshots/" + revision;
  return missing(folder, revision.empty() ? line("snapshots has ", revisions.size(),
                                                 " revisions, and there is no refs/main")
                                          : line("refs/main names ", inQuotes(revision),
                                                 ", which is not one of the ", revisions.size(),
                                                 " revisions in snapshots"));
}

std::string repositoryName(const std::string &folder) {
  constexpr std::string_view kModels = "models--";
  const fs::path snapshots = fs::path(folder).parent_path();
  const std::string repository = snapshots.parent_path().filename().string();
  if (snapshots.filename() != "snapshots" || !repository.starts_with(kModels))
    return "";
  return repository.substr(repository.rfind("--") + 2);
}

} // namespace ingot::import

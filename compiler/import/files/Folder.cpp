//===- Folder.cpp - Confined opening --------------------------------------===//
#include "compiler/import/files/Folder.h"
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/files/Snapshot.h"

#include <algorithm>
#include <filesystem>
#include <simdjson.h>

namespace fs = std::filesystem;

namespace ingot::import {

std::string Folder::name() const {
  std::error_code ignored;
  fs::path real = fs::canonical(path, ignored);
  const std::string repository = repositoryName(real.string());
  return repository.empty() ? real.filename().string() : repository;
}

bool Folder::has(const std::string &name) const {
  std::error_code ignored;
  return fs::symlink_status(pathOf(name), ignored).type() != fs::file_type::not_found;
}

std::vector<std::string> Folder::filesIn(const std::string &name, std::string_view ending) const {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(pathOf(name), ignored))
    if (std::string file = entry.path().filename().string(); file.ends_with(ending))
      found.push_back(std::move(file));
  std::ranges::sort(found);
  found.resize(std::min(found.size(), kMostFiles));
  return found;
}

namespace {

/// Returns whether `file` belongs to the checkpoint in `folder`. Both must be real paths.
bool belongsTo(const fs::path &folder, const fs::path &file) {
  const fs::path inside = file.lexically_relative(folder);
  if (!inside.empty() && *inside.begin() != "..")
    return true;
  const fs::path snapshots = folder.parent_path();
  return snapshots.filename() == "snapshots" &&
         file.parent_path() == snapshots.parent_path() / "blobs";
}

} // namespace

Result<std::shared_ptr<const MappedFile>> Folder::open(const std::string &name, uint64_t limit) {
  const std::string full = pathOf(name);
  std::error_code error;
  fs::path folder = fs::canonical(path, error);
  fs::path real = error ? fs::path() : fs::canonical(full, error);
  if (error)
    return refuse(cause::cannotOpen, line("cannot open ", inQuotes(name)),
                  line(wholePath(full), ": ", error.message()),
                  "restore the file: the link is dangling, because its target was removed");
  if (!belongsTo(folder, real))
    return refuse(
        cause::linkOutside,
        line(inQuotes(name), " is a symbolic link to a file outside its folder"),
        line("it points to ", wholePath(real.string()), ", outside ", wholePath(folder.string())),
        "copy the file itself into the folder");
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(real.string());
  if (!file)
    return file.error();
  if ((*file)->bytes().size() > limit)
    return refuse(cause::fileTooLarge, line(inQuotes(name), " is too large"),
                  line((*file)->bytes().size(), " bytes, at most ", limit),
                  "replace it with the model's file: this is another file of that name");
  files.push_back(*file);
  return file;
}

Result<std::string> Folder::text(const std::string &name, uint64_t limit) {
  if (!has(name))
    return std::string();
  Result<std::shared_ptr<const MappedFile>> file = open(name, limit);
  if (!file)
    return file.error();
  std::string_view text = (*file)->text();
  if (!simdjson::validate_utf8(text.data(), text.size()))
    return refuse(cause::notUtf8, line(inQuotes(name), " is not UTF-8"),
                  line("malformed bytes among its ", text.size(), " bytes"), "download it again");
  return std::string(text);
}

std::vector<std::span<const std::byte>> Folder::opened() const {
  std::vector<std::span<const std::byte>> bytes;
  for (const auto &file : files)
    bytes.push_back(file->bytes());
  return bytes;
}

} // namespace ingot::import

//===- Folder.h - Confines reads to a checkpoint's folder -----------------===//
//
// A folder from the network must not make us read other files. Every file is opened through this class: its
// real path must lie inside the folder. There is one exception, because the Hugging Face cache depends on it:
// in <repository>/snapshots/<revision>/ a link may point into <repository>/blobs/.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/files/MappedFile.h"

#include <cstdint>
#include <vector>

namespace ingot::import {

class Folder {
public:
  explicit Folder(std::string path) : path(std::move(path)) {}

  std::string pathOf(const std::string &name) const { return path + "/" + name; }
  /// The folder's own name (its real one, for "." and the like); for a snapshot, the model's name.
  std::string name() const;

  /// Whether an entry of that name exists (a dangling link counts).
  bool has(const std::string &name) const;

  /// Names of the files in a subfolder that end in `ending`, in alphabetical order; at most kMostFiles.
  std::vector<std::string> filesIn(const std::string &name, std::string_view ending) const;
  static constexpr size_t kMostFiles = 64;

  /// Opens a file of the folder or of a subfolder, and remembers it for the content hash. Errors: those of
  /// MappedFile, E0286 for a link that leaves the folder, E0289 above `limit` bytes.
  Result<std::shared_ptr<const MappedFile>> open(const std::string &name,
                                                 uint64_t limit = UINT64_MAX);

  /// A text file's bytes, checked to be UTF-8 (E0209); empty if there is no such file.
  Result<std::string> text(const std::string &name, uint64_t limit);

  /// The bytes of all files opened so far, in the order of opening.
  std::vector<std::span<const std::byte>> opened() const;

private:
  std::string path;
  std::vector<std::shared_ptr<const MappedFile>> files;
};

} // namespace ingot::import

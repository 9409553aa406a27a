//===- Folder.h - Confines reads to a checkpoint's folder -----------------===//
//
// A folder from the network must not make us read other files. Every file is therefore opened through this class, which
// checks that its real path lies inside the folder. There is one exception, on which the Hugging Face cache depends: in
// <repository>/snapshots/<revision>/, a link may point into <repository>/blobs/.
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
  /// Returns the name of the folder. For paths such as ".", it is the name in the real path. For a snapshot, it is the
  /// model's name.
  std::string name() const;

  /// Returns whether an entry of that name exists. It may be a dangling link.
  bool has(const std::string &name) const;

  /// Returns the names of the files in a subfolder that end in `ending`, in alphabetical order, at most kMostFiles.
  std::vector<std::string> filesIn(const std::string &name, std::string_view ending) const;
  static constexpr size_t kMostFiles = 64;

  /// Opens a file of the folder or of a subfolder, and remembers it for the content hash. Errors: all errors of
  /// MappedFile, E0286 for a link that leaves the folder, E0289 above `limit` bytes.
  Result<std::shared_ptr<const MappedFile>> open(const std::string &name,
                                                 uint64_t limit = UINT64_MAX);

  /// Returns a text file's bytes, or "" if there is no such file. Errors: E0209: the bytes are not UTF-8.
  Result<std::string> text(const std::string &name, uint64_t limit);

  /// Returns the bytes of all files opened so far, in the order of opening.
  std::vector<std::span<const std::byte>> opened() const;

private:
  std::string path;
  std::vector<std::shared_ptr<const MappedFile>> files;
};

} // namespace ingot::import

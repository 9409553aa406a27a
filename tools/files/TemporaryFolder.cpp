//===- TemporaryFolder.cpp - See TemporaryFolder.h ------------------------===//
#include "tools/files/TemporaryFolder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace ingot::cli {

Result<std::unique_ptr<TemporaryFolder>> TemporaryFolder::make(const std::string &name) {
  const char *given = std::getenv("TMPDIR");
  const std::string parent = given && *given ? given : "/tmp";
  std::string path = parent + "/" + name + "-XXXXXX";
  if (!::mkdtemp(path.data()))
    return Error{ExitCode::File, "E0148", "cannot create a folder in " + parent,
                 std::strerror(errno), "set TMPDIR to a writable folder"};
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(path));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

} // namespace ingot::cli

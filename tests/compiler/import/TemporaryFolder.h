//===- TemporaryFolder.h - A folder that is deleted with the test ---------===//
#pragma once

#include <filesystem>
#include <stdlib.h>
#include <string>

namespace ingot::test {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "ingot-test-XXXXXX";
    root = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(root, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string path(const std::string &name) const { return root + "/" + name; }

private:
  std::string root;
};

} // namespace ingot::test

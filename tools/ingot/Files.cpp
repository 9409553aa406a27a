#include "tools/ingot/Files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unistd.h>

namespace ingot::cli {

namespace {
struct Close {
  void operator()(FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, Close>;
} // namespace

Result<std::string> readFile(const std::string &path) {
  auto failed = [&] {
    return Error{ExitCode::File, "E0120", "cannot read " + path, std::strerror(errno), ""};
  };
  File file(path == "-" ? fdopen(dup(0), "rb") : std::fopen(path.c_str(), "rb"));
  if (!file)
    return failed();
  std::string bytes;
  char buffer[1 << 16];
  while (size_t n = std::fread(buffer, 1, sizeof buffer, file.get()))
    bytes.append(buffer, n);
  if (std::ferror(file.get()))
    return failed();
  return bytes;
}

Result<void> writeFile(const std::string &path, std::string_view bytes) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() ||
      std::fflush(file.get()))
    return Error{ExitCode::File, "E0121", "cannot write " + path, std::strerror(errno), ""};
  return {};
}

} // namespace ingot::cli

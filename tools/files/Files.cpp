#include "tools/files/Files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::cli {

namespace {

namespace fs = std::filesystem;

struct Close {
  void operator()(FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, Close>;

Error cannotWrite(const std::string &path, int reason) {
  const bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  return {ExitCode::File, "E0121", "cannot write " + path, std::strerror(reason),
          full ? "free some space, or give another place" : "give another place"};
}

/// Returns the target of `path` with links resolved. The end of a chain of links need not exist.
std::string behindLinks(const std::string &path) {
  constexpr int kMostLinks = 40; // the kernel's limit
  std::error_code failure;
  fs::path at = path;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(at, failure)); ++i)
    at = at.parent_path() / fs::read_symlink(at, failure); // an absolute target replaces the path
  return at.string();
}

} // namespace

Result<std::string> readFile(const std::string &path) {
  auto failed = [&] {
    return Error{ExitCode::File, "E0120", "cannot read " + path, std::strerror(errno),
                 "give a readable file"};
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

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::string &path) {
  std::unique_ptr<OutputFile> output(new OutputFile); // the constructor is private
  output->path = path;
  struct stat info = {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    output->file = std::fopen(path.c_str(), "wb");
  } else {
    output->target = behindLinks(path);
    output->temporary = output->target + ".part" + std::to_string(getpid());
    output->file = std::fopen(output->temporary.c_str(), "wb");
  }
  if (!output->file)
    return cannotWrite(path, errno);
  if (exists && !output->temporary.empty())
    ::fchmod(fileno(output->file), info.st_mode & 07777);
  return output;
}

OutputFile::~OutputFile() {
  if (!file)
    return;
  std::fclose(file);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

void OutputFile::write(const void *bytes, size_t size) {
  if (!failure && std::fwrite(bytes, 1, size, file) != size)
    failure = errno;
}

Result<void> OutputFile::commit() {
  if (!failure && std::fflush(file) != 0)
    failure = errno;
  if (std::fclose(file) != 0 && !failure)
    failure = errno;
  file = nullptr;
  if (temporary.empty())
    return failure ? cannotWrite(path, failure) : Result<void>();
  if (!failure && std::rename(temporary.c_str(), target.c_str()) != 0)
    failure = errno;
  if (!failure)
    return {};
  ::unlink(temporary.c_str());
  return cannotWrite(path, failure);
}

Result<void> writeFile(const std::string &path, std::string_view bytes) {
  auto file = OutputFile::create(path);
  if (!file)
    return file.error();
  (*file)->write(bytes.data(), bytes.size());
  return (*file)->commit();
}

Result<void> checkWritable(const std::string &path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode))
      return cannotWrite(path, EISDIR);
    return ::access(path.c_str(), W_OK) == 0 ? Result<void>() : cannotWrite(path, errno);
  }
  std::string folder = fs::path(behindLinks(path)).parent_path().string();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0)
    return cannotWrite(path, errno);
  return {};
}

} // namespace ingot::cli

//===- MappedFile.cpp - open, fstat, mmap ---------------------------------===//
#include "compiler/import/files/MappedFile.h"
#include "compiler/import/error/ImportErrors.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::import {

namespace {

/// Owns a file descriptor.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
};

const char *kindOf(mode_t mode) {
  if (S_ISDIR(mode))
    return "a folder";
  if (S_ISFIFO(mode))
    return "a pipe";
  if (S_ISCHR(mode) || S_ISBLK(mode))
    return "a device";
  return "a socket";
}

} // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string &path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0)
    return refuse(cause::cannotOpen, line("cannot open ", fileName(path)),
                  line(wholePath(path), ": ", std::strerror(errno)),
                  "check the path and its permissions");
  struct stat status{};
  if (::fstat(file.fd, &status) != 0)
    return refuse(cause::readFailed, line("cannot read ", fileName(path)),
                  line(wholePath(path), ": ", std::strerror(errno)), "check the disk");
  if (!S_ISREG(status.st_mode))
    return refuse(cause::notRegularFile, line(fileName(path), " is not a regular file"),
                  line(wholePath(path), " is ", kindOf(status.st_mode)), "name a file on disk");
  if (status.st_size == 0)
    return refuse(cause::emptyFile, line(fileName(path), " is empty"),
                  line(wholePath(path), " has 0 bytes"), "download it again");
  auto size = static_cast<size_t>(status.st_size);
  void *mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (mapped == MAP_FAILED)
    return refuse(cause::readFailed, line("cannot map ", fileName(path)),
                  line(wholePath(path), ", ", size, " bytes: ", std::strerror(errno)),
                  "free some address space, or copy the file to a local disk");
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const std::byte *>(mapped), size));
}

void MappedFile::forgetPages() const { import::forgetPages(bytes()); }

void forgetPages(std::span<const std::byte> mapped) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)),
             begin = reinterpret_cast<uintptr_t>(mapped.data()),
             first = (begin + page - 1) / page * page, end = (begin + mapped.size()) / page * page;
  if (first < end) // madvise is only advice, so a failure is ignored
    (void)::madvise(reinterpret_cast<void *>(first), end - first, MADV_DONTNEED);
}

MappedFile::~MappedFile() { ::munmap(const_cast<std::byte *>(data), size); }

} // namespace ingot::import

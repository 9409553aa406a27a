//===- TemporaryFile.cpp - See TemporaryFile.h ----------------------------===//
#include "compiler/files/TemporaryFile.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace ingot::compiler {
namespace {

constexpr std::string_view kSuffix = ".ingot-tmp";
constexpr size_t kMostStem = 200; ///< file names may have at most 255 bytes

bool sameFile(int fd, const std::string &path) {
  struct stat opened, named;
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// Removes one temporary file if its lock is free, which means that its writer is dead.
void removeIfAbandoned(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0)
    return;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && sameFile(fd, path))
    ::unlink(path.c_str());
  ::close(fd);
}

void removeAbandoned(const std::string &folder) {
  DIR *entries = ::opendir(folder.c_str());
  if (!entries)
    return;
  while (const dirent *entry = ::readdir(entries)) {
    std::string_view name = entry->d_name;
    if (name.starts_with('.') && name.ends_with(kSuffix))
      removeIfAbandoned(folder + "/" + std::string(name));
  }
  ::closedir(entries);
}

std::string randomName(const std::string &folder, const std::string &stem) {
  uint64_t random = 0;
  while (::getrandom(&random, sizeof random, 0) != sizeof random)
    ;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(random));
  return folder + "/." + stem.substr(0, kMostStem) + "." + digits + std::string(kSuffix);
}

/// The name of one of this process's temporary files. It is stored in place, so that a signal handler can read it even
/// while other threads free memory.
struct Unfinished {
  enum State { Free, Changing, Named };
  std::atomic<State> state = Free;
  char name[PATH_MAX];
};

/// The temporary files of up to eight simultaneous writers. Files beyond these are removed only by the next run, but
/// only tests have more than one writer.
Unfinished unfinished[8];

void addUnfinished(const std::string &name) {
  for (Unfinished &slot : unfinished) {
    auto expected = Unfinished::Free;
    if (name.size() >= sizeof slot.name ||
        !slot.state.compare_exchange_strong(expected, Unfinished::Changing))
      continue;
    std::memcpy(slot.name, name.c_str(), name.size() + 1);
    slot.state = Unfinished::Named;
    return;
  }
}

void dropUnfinished(const std::string &name) { // names are random, hence unique
  for (Unfinished &slot : unfinished)
    if (slot.state == Unfinished::Named && name == slot.name)
      slot.state = Unfinished::Free;
}

std::string folderOf(const std::string &target) {
  size_t slash = target.rfind('/');
  return slash == target.npos ? "." : slash == 0 ? "/" : target.substr(0, slash);
}

Error noFolder(const std::string &folder) { // the reason is in errno
  return {ExitCode::File, "E0390", "cannot write to the folder " + folder, std::strerror(errno),
          "give another place: -o E"};
}

bool isOutOfSpace(int reason) { return reason == ENOSPC || reason == EDQUOT || reason == EFBIG; }

} // namespace

Error TemporaryFile::failed(const std::string &action, int reason) const {
  if (!isOutOfSpace(reason))
    return {ExitCode::File, "E0393", "cannot " + action + " " + target, std::strerror(reason),
            "check the disk; the previous contents of " + target + " are unchanged"};
  struct statvfs disk{};
  ::fstatvfs(fd, &disk);
  return {ExitCode::File, "E0392", "no space for " + target,
          std::to_string(wanted) + " bytes are needed, " +
              std::to_string(uint64_t(disk.f_bavail) * disk.f_frsize) + " are free (" +
              std::strerror(reason) + ")",
          "free some space, or write to another disk: -o E"};
}

Result<void> TemporaryFile::checkTarget(const std::string &target) {
  struct stat info;
  if (target.empty() || target.ends_with('/') ||
      (::stat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode)))
    return Error{ExitCode::File, "E0391", target + " is not a regular file",
                 "an engine can only replace a regular file", "give another name: -o E"};
  std::string folder = folderOf(target);
  if (::stat(folder.c_str(), &info) == 0 && !S_ISDIR(info.st_mode))
    errno = ENOTDIR;
  else if (::access(folder.c_str(), W_OK | X_OK) == 0)
    return {};
  return noFolder(folder);
}

Result<std::unique_ptr<TemporaryFile>> TemporaryFile::create(const std::string &target) {
  if (Result<void> ok = checkTarget(target); !ok)
    return ok.error();
  std::string folder = folderOf(target), stem = target.substr(target.rfind('/') + 1);
  removeAbandoned(folder);

  std::unique_ptr<TemporaryFile> file(new TemporaryFile); // the constructor is private
  file->folder = folder;
  file->target = target;
  for (;;) {
    std::string name = randomName(folder, stem);
    int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0 && errno == EEXIST)
      continue;
    if (fd < 0)
      return noFolder(folder);
    // Before this file was locked, another run may have considered it abandoned and removed it.
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && sameFile(fd, name)) {
      file->fd = fd;
      file->temporary = name;
      addUnfinished(name);
      return file;
    }
    ::close(fd);
    ::unlink(name.c_str());
  }
}

void TemporaryFile::removeUnfinished() noexcept {
  for (Unfinished &slot : unfinished)
    if (slot.state == Unfinished::Named)
      ::unlink(slot.name);
}

TemporaryFile::~TemporaryFile() {
  if (fd >= 0)
    dropUnfinished(temporary);
  if (!committed && fd >= 0)
    ::unlink(temporary.c_str());
  if (fd >= 0)
    ::close(fd);
}

Result<void> TemporaryFile::allocate(uint64_t size) {
  wanted = size;
  // Above this limit the kernel would send SIGXFSZ instead of returning an error.
  struct rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      size > limit.rlim_cur)
    return failed("allocate", EFBIG);
  if (int reason = ::posix_fallocate(fd, 0, static_cast<off_t>(size)))
    return failed("allocate", reason);
  return {};
}

Result<void> TemporaryFile::write(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t done = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return failed("write", done < 0 ? errno : EIO);
    offset += static_cast<uint64_t>(done);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return {};
}

Result<void> TemporaryFile::read(uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    ssize_t done = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return failed("read back", done < 0 ? errno : EIO);
    offset += static_cast<uint64_t>(done);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return {};
}

Result<void> TemporaryFile::commit() {
  auto refused = [&](const char *action) {
    return Error{ExitCode::File, "E0394", std::string("cannot ") + action + " " + target,
                 std::strerror(errno), "check the folder " + folder};
  };
  if (::fsync(fd) != 0)
    return refused("sync");
  if (::rename(temporary.c_str(), target.c_str()) != 0)
    return refused("rename the finished file to");
  committed = true;
  // The rename must survive a power failure as well. Some file systems cannot sync a folder (EINVAL).
  int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool synced = directory >= 0 && (::fsync(directory) == 0 || errno == EINVAL);
  int reason = errno;
  if (directory >= 0)
    ::close(directory);
  errno = reason;
  if (!synced)
    return refused("sync the folder of");
  return {};
}

} // namespace ingot::compiler

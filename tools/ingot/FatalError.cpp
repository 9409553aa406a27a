//===- FatalError.cpp - Out of memory, or a truncated mapping -------------===//
//
// An engine is read through a memory mapping. If the file is truncated in the meantime, or its disk fails,
// the next read raises SIGBUS. No call can return an error, so the handler reports what happened. It finds
// the file in /proc/self/maps.
//===----------------------------------------------------------------------===//
#include "tools/ingot/FatalError.h"

#include "runtime/error/OutOfMemory.h"
#include "runtime/text/Text.h"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <span>

namespace ingot::cli {

namespace {

/// Returns the path in a line of /proc/self/maps ("from-to … /path") if the mapping covers `address`; else
/// null.
const char *pathIfCovers(const char *line, uintptr_t address) {
  char *end = nullptr;
  const uintptr_t from = std::strtoull(line, &end, 16);
  const uintptr_t to = *end == '-' ? std::strtoull(end + 1, &end, 16) : 0;
  return from <= address && address < to ? std::strchr(end, '/') : nullptr;
}

/// Finds the file that is mapped at `address`; `path` stays empty if there is none. Allocates no memory; in
/// glibc, snprintf with %s and %llx allocates none either and takes no lock.
void mappedFile(uintptr_t address, std::span<char> path) {
  path[0] = '\0';
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  char line[1024], bytes[1024];
  size_t length = 0;
  for (ssize_t n; (n = ::read(maps, bytes, sizeof bytes)) > 0;)
    for (char byte : std::span(bytes, static_cast<size_t>(n))) {
      if (byte != '\n') {
        if (length + 1 < sizeof line)
          line[length++] = byte;
        continue;
      }
      line[length] = '\0';
      length = 0;
      if (const char *found = pathIfCovers(line, address))
        std::snprintf(path.data(), path.size(), "%s", found);
    }
  ::close(maps);
}

void onFileFault(int signal, siginfo_t *info, void *) {
  char path[512], text[900];
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  mappedFile(address, path);
  if (!path[0]) { // no mapped file: our bug, which should crash as usual
    ::signal(signal, SIG_DFL);
    return;
  }
  onlyOneThreadReports();
  const int length = std::snprintf(
      text, sizeof text,
      "\nerror[E0388]: %s changed while it was in use\n"
      "  one of its pages can no longer be read (at 0x%llx): the file was truncated, or its disk "
      "failed\n"
      "  restore the file and start again\n",
      path, static_cast<unsigned long long>(address));
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text, static_cast<size_t>(length));
  ::_exit(static_cast<int>(ExitCode::File));
}

} // namespace

void installFatalErrorHandler() {
  std::set_new_handler(endOutOfMemory);
  text::onOutOfMemory(endOutOfMemory);
  struct sigaction action = {};
  action.sa_sigaction = onFileFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

} // namespace ingot::cli

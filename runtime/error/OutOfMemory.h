//===- OutOfMemory.h - Fatal-error handler for exhausted memory -----------===//
//
// The handler is for std::set_new_handler and the equivalent hooks of other libraries. A thrown
// std::bad_alloc would have to propagate through LLVM, Rust and worker threads, none of which allow that.
// Since callers could not handle the exception, the program ends here, with the three lines of Error.h.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <atomic>
#include <cstdio>
#include <sys/resource.h>
#include <unistd.h>

namespace ingot {

/// Returns in the first thread that calls it, which reports and ends the process. Other threads wait forever.
inline void onlyOneThreadReports() {
  static std::atomic_flag taken;
  if (taken.test_and_set())
    for (;;)
      ::pause();
}

/// Prints E0507 and ends the process with exit code 3. Allocates nothing.
[[noreturn]] inline void endOutOfMemory() {
  onlyOneThreadReports();
  char text[320];
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const bool limited = limit.rlim_cur != RLIM_INFINITY;
  int length = std::snprintf(
      text, sizeof text,
      "error[E0507]: there is not enough memory\n  the system refused to allocate more");
  if (limited)
    length += std::snprintf(text + length, sizeof text - static_cast<size_t>(length),
                            ": this process is limited to %llu MiB of address space (ulimit -v)",
                            static_cast<unsigned long long>(limit.rlim_cur >> 20));
  length +=
      std::snprintf(text + length, sizeof text - static_cast<size_t>(length), "\n  %s\n",
                    limited ? "raise the limit, or request less: --context, --max-batch-tokens"
                            : "stop other programs, or request less: --context, -j 1");
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text, static_cast<size_t>(length));
  ::_exit(static_cast<int>(ExitCode::File));
}

} // namespace ingot

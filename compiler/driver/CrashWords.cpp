//===- CrashWords.cpp - See CrashWords.h ----------------------------------===//
#include "compiler/driver/CrashWords.h"
#include "compiler/engine/TemporaryFile.h"
#include "runtime/error/Error.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace ingot;
using namespace ingot::compiler;

namespace {

// Written before the crash, read in its handler: neither memory nor locks are to be had there.
char suspectName[256], suspectPlace[512];

void keep(char *buffer, size_t size, llvm::StringRef text) {
  size_t length = std::min(text.size(), size - 1);
  std::memcpy(buffer, text.data(), length);
  buffer[length] = '\0';
}

void onCrash(int number, siginfo_t *, void *) {
  TemporaryFile::removeUnfinished();
  if (!suspectName[0]) { // our own: as if nobody had caught it
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  char text[1024];
  const int length =
      std::snprintf(text, sizeof text, "error[E0438]: %s crashed: %s\n  %s\n  correct the plugin, or leave it out\n",
                    suspectName, sigdescr_np(number), suspectPlace);
  (void)!write(STDERR_FILENO, text, std::min<size_t>(length, sizeof text - 1));
  _exit(static_cast<int>(ExitCode::File));
}

} // namespace

void compiler::tellCrashes() {
  static char stack[64 << 10]; // endless recursion has used up its own
  stack_t other = {};
  other.ss_sp = stack, other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
  struct sigaction action = {}, before = {};
  action.sa_sigaction = onCrash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int number : {SIGSEGV, SIGABRT, SIGFPE, SIGILL})
    if (sigaction(number, nullptr, &before) == 0 && !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL)
      sigaction(number, &action, nullptr);
}

void compiler::suspect(llvm::StringRef what, llvm::StringRef where) {
  keep(suspectPlace, sizeof suspectPlace, where);
  keep(suspectName, sizeof suspectName, what);
}

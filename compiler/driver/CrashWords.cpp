//===- CrashWords.cpp - See CrashWords.h ----------------------------------===//
#include "compiler/driver/CrashWords.h"
#include "compiler/engine/TemporaryFile.h"
#include "runtime/error/Error.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ucontext.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::compiler;

namespace {

// Written before the crash, read in its handler: neither memory nor locks are to be had there.
char suspectName[256], suspectPlace[512];
bool suspectIsOurs = false;
const std::string *reproducer = nullptr, *reproducerCommand = nullptr;
char reproducerPlaces[2][512]; // in this folder, in that of temporary files

constexpr int kMostFrames = 64, kShownFrames = 12;

void keep(char *buffer, size_t size, llvm::StringRef text) {
  size_t length = std::min(text.size(), size - 1);
  std::memcpy(buffer, text.data(), length);
  buffer[length] = '\0';
}

template <typename... Words> void tell(const char *format, Words... words) {
  char text[1024];
  const int length = std::snprintf(text, sizeof text, format, words...);
  (void)!write(STDERR_FILENO, text, std::min<size_t>(length, sizeof text - 1));
}

/// "file 0xaddress" of the instruction that crashed and of those that called it, as symbolizers take them.
void tellPlaces(uintptr_t crashed) {
  void *frames[kMostFrames];
  const int count = backtrace(frames, kMostFrames);
  int first = 0; // behind the handler's own
  while (first < count && reinterpret_cast<uintptr_t>(frames[first]) != crashed)
    ++first;
  for (int i = first; i < std::min(count, first + kShownFrames); ++i) {
    Dl_info object = {};
    if (!dladdr(frames[i], &object) || !object.dli_fname)
      continue;
    // Callers are known by where they go on: the call is before.
    const auto place = reinterpret_cast<uintptr_t>(frames[i]) - (i == first ? 0 : 1);
    tell("    %s 0x%llx\n", object.dli_fname,
         static_cast<unsigned long long>(place - reinterpret_cast<uintptr_t>(object.dli_fbase)));
  }
}

/// Where the reproducer is; null: there is none, or no place for it.
const char *leaveReproducer() {
  if (!reproducer)
    return nullptr;
  for (const char *place : reproducerPlaces) {
    const int file = open(place, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0)
      continue;
    const char *at = reproducer->data();
    size_t left = reproducer->size();
    for (ssize_t done; left && (done = write(file, at, left)) > 0; left -= size_t(done))
      at += done;
    if (close(file) == 0 && !left)
      return place;
  }
  return nullptr;
}

void onCrash(int number, siginfo_t *, void *context) {
  TemporaryFile::removeUnfinished();
  if (!suspectName[0]) { // as if nobody had caught it
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  tell("error[%s]: %s crashed: %s\n  %s\n  %s; ", suspectIsOurs ? "E0492" : "E0438", suspectName,
       sigdescr_np(number), suspectPlace,
       suspectIsOurs ? "this is a bug of ingot: please report it with the checkpoint's config"
                     : "correct the plugin, or leave it out");
  if (const char *place = leaveReproducer())
    tell("`%s --run-reproducer %s` crashes alike; ", reproducerCommand->c_str(), place);
  tell("`llvm-symbolizer-22 --obj=FILE ADDRESS` tells the line of\n");
  const auto &registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
  suspectName[0] = '\0'; // a second crash, in here, is just one
  tellPlaces(static_cast<uintptr_t>(registers[REG_RIP]));
  _exit(static_cast<int>(ExitCode::Internal));
}

} // namespace

void compiler::tellCrashes() {
  const char *temporary = std::getenv("TMPDIR");
  std::snprintf(reproducerPlaces[0], sizeof reproducerPlaces[0], "ingot-crash-%d.mlir", getpid());
  std::snprintf(reproducerPlaces[1], sizeof reproducerPlaces[1], "%s/ingot-crash-%d.mlir",
                temporary ? temporary : "/tmp", getpid());
  void *frame;
  backtrace(&frame, 1);        // loads what it needs, which a handler should not
  static char stack[64 << 10]; // endless recursion has used up its own
  stack_t other = {};
  other.ss_sp = stack, other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
  struct sigaction action = {}, before = {};
  action.sa_sigaction = onCrash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int number : {SIGSEGV, SIGABRT, SIGFPE, SIGILL})
    if (sigaction(number, nullptr, &before) == 0 && !(before.sa_flags & SA_SIGINFO) &&
        before.sa_handler == SIG_DFL)
      sigaction(number, &action, nullptr);
}

compiler::Reproducer::Reproducer(std::string program, std::string command)
    : program(std::move(program)), command(std::move(command)) {
  reproducer = &this->program;
  reproducerCommand = &this->command;
}
compiler::Reproducer::~Reproducer() { reproducer = reproducerCommand = nullptr; }

void compiler::suspect(llvm::StringRef what, llvm::StringRef where, Whose whose) {
  suspectIsOurs = whose == Whose::Ours;
  keep(suspectPlace, sizeof suspectPlace, where);
  keep(suspectName, sizeof suspectName, what);
}

//===- CrashContext.cpp - See CrashContext.h ------------------------------===//
#include "compiler/crash/CrashContext.h"
#include "compiler/files/TemporaryFile.h"
#include "runtime/error/Error.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::compiler;

namespace {

// This state is written before a crash and read in the handler, which can use neither memory allocation nor
// locks.

/// The crash context of a thread.
struct Suspect {
  std::atomic<pid_t> thread{0}; ///< 0: free
  char name[256], place[512];
  bool ours;
  const char *op, *symbol; ///< null: not known
  int opLength, symbolLength;
  char stack[64 << 10]; ///< signal stack, since endless recursion uses up the normal one
};
Suspect suspects[64];

/// Returns the calling thread's entry, or null if it has none. With `take`, a thread without an entry gets a free one
/// if one is left.
Suspect *ownSuspect(bool take) {
  const pid_t self = gettid();
  for (Suspect &one : suspects)
    if (one.thread == self)
      return &one;
  for (Suspect &one : suspects)
    if (pid_t nobody = 0; take && one.thread.compare_exchange_strong(nobody, self)) {
      one.name[0] = '\0';
      stack_t other = {};
      other.ss_sp = one.stack, other.ss_size = sizeof one.stack;
      sigaltstack(&other, nullptr);
      return &one;
    }
  return nullptr;
}

/// Returns the context of the crashed thread. If that thread has none, returns the context of the process's first
/// thread, which waits for the crashed one.
Suspect *suspectOf() {
  if (Suspect *own = ownSuspect(/*take=*/false); own && own->name[0])
    return own;
  const pid_t first = getpid();
  for (Suspect &one : suspects)
    if (one.thread == first && one.name[0])
      return &one;
  return nullptr;
}

// The pipes to the copy of the process that prints the reproducer, if there is one.
int reproducerAsk = -1, reproducerAnswer = -1;
const char *reproducerCommand = nullptr;
char reproducerPlaces[2][512]; // paths in the current folder and in the folder of temporary files

constexpr const char *kPlace = "PLACE";
constexpr int kMostFrames = 64, kShownFrames = 12;

void keep(char *buffer, size_t size, std::string_view text) {
  size_t length = std::min(text.size(), size - 1);
  std::memcpy(buffer, text.data(), length);
  buffer[length] = '\0';
}

/// The crash report, which is written in one piece because other failing threads write to the same stream.
char reportText[16 << 10];
size_t reportLength = 0;

template <typename... Words> void report(const char *format, Words... words) {
  const size_t left = sizeof reportText - reportLength;
  const int length = std::snprintf(reportText + reportLength, left, format, words...);
  reportLength += std::min<size_t>(std::max(length, 0), left - 1);
}

void writeReport() {
  (void)!write(STDERR_FILENO, reportText, reportLength);
  reportLength = 0;
}

/// Reports "file 0xaddress" for the crashed instruction and its callers, in the form that symbolizers accept.
void reportFrames(uintptr_t crashed) {
  void *frames[kMostFrames];
  const int count = backtrace(frames, kMostFrames);
  int first = 0; // skips the handler's own frames
  while (first < count && reinterpret_cast<uintptr_t>(frames[first]) != crashed)
    ++first;
  for (int i = first; i < std::min(count, first + kShownFrames); ++i) {
    Dl_info object = {};
    if (!dladdr(frames[i], &object) || !object.dli_fname)
      continue;
    // A caller's frame holds the return address; the call is just before it.
    const auto place = reinterpret_cast<uintptr_t>(frames[i]) - (i == first ? 0 : 1);
    report("    %s 0x%llx\n", object.dli_fname,
           static_cast<unsigned long long>(place - reinterpret_cast<uintptr_t>(object.dli_fbase)));
  }
}

/// Writes the text to the first place that can be written. Returns the index of the place, or -1.
char leave(const std::string &text) {
  for (char i = 0; i < 2; ++i) {
    const int file = open(reproducerPlaces[int(i)], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0)
      continue;
    const char *at = text.data();
    size_t left = text.size();
    for (ssize_t done; left && (done = write(file, at, left)) > 0; left -= size_t(done))
      at += done;
    if (close(file) == 0 && !left)
      return i;
  }
  return -1;
}

/// Requests the reproducer from the copy of the process and returns its path, or null if there is no copy or the
/// reproducer could not be written.
const char *leaveReproducer() {
  char place = -1;
  if (reproducerAsk < 0 || write(reproducerAsk, "p", 1) != 1)
    return nullptr;
  pollfd soon = {reproducerAnswer, POLLIN, 0};
  if (poll(&soon, 1, /*milliseconds=*/60000) != 1 || read(reproducerAnswer, &place, 1) != 1 ||
      place < 0)
    return nullptr;
  return reproducerPlaces[int(place)];
}

/// The first thread that crashed; other crashing threads wait for the process to end.
std::atomic<pid_t> crashed{0};

void onCrash(int number, siginfo_t *, void *context) {
  pid_t nobody = 0;
  const bool first = crashed.compare_exchange_strong(nobody, gettid());
  while (!first && nobody != gettid())
    pause();
  TemporaryFile::removeUnfinished();
  Suspect *who = first ? suspectOf() : nullptr; // a crash inside this handler is not reported
  if (!who) {                                   // take the default action, as without a handler
    writeReport();
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  report("error[%s]: %s crashed: %s\n  %s", who->ours ? "E0492" : "E0438", who->name,
         sigdescr_np(number), who->place);
  if (who->op)
    report(", at %.*s", who->opLength, who->op);
  if (who->op && who->symbol)
    report(" in @%.*s", who->symbolLength, who->symbol);
  report("\n  %s; ", who->ours
                         ? "this is a bug in ingot: please report it with the checkpoint's config"
                         : "correct the plugin, or omit it");
  if (const char *place = leaveReproducer()) {
    const char *gap = std::strstr(reproducerCommand, kPlace);
    report("`%.*s%s%s` crashes alike; ", int(gap - reproducerCommand), reproducerCommand, place,
           gap + std::strlen(kPlace));
  }
  report("%s", "`llvm-symbolizer-22 --obj=FILE ADDRESS` prints the line of\n");
  const auto &registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
  reportFrames(static_cast<uintptr_t>(registers[REG_RIP]));
  writeReport();
  _exit(static_cast<int>(ExitCode::Internal));
}

} // namespace

void compiler::installCrashHandler() {
  const char *temporary = std::getenv("TMPDIR");
  std::snprintf(reproducerPlaces[0], sizeof reproducerPlaces[0], "ingot-crash-%d.mlir", getpid());
  std::snprintf(reproducerPlaces[1], sizeof reproducerPlaces[1], "%s/ingot-crash-%d.mlir",
                temporary ? temporary : "/tmp", getpid());
  void *frame;
  backtrace(&frame, 1); // the first call loads libraries, which a signal handler must not do
  ownSuspect(/*take=*/true);
  struct sigaction action = {}, before = {};
  action.sa_sigaction = onCrash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int number : {SIGSEGV, SIGABRT, SIGFPE, SIGILL})
    if (sigaction(number, nullptr, &before) == 0 && !(before.sa_flags & SA_SIGINFO) &&
        before.sa_handler == SIG_DFL)
      sigaction(number, &action, nullptr);
}

/// The code that the copy runs. It waits until the original process requests the reproducer or ends.
[[noreturn]] static void waitToPrint(const std::function<std::string()> &print, int asked,
                                     int answers) {
  for (int number : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGINT, SIGTERM, SIGHUP})
    signal(number, SIG_DFL); // the copy must not run the handlers of the original process
  char question;
  if (read(asked, &question, 1) == 1) {
    const char place = leave(print());
    (void)!write(answers, &place, 1);
  }
  _exit(0);
}

compiler::Reproducer::Reproducer(const std::function<std::string()> &print, std::string command)
    : command(std::move(command)) {
  int questions[2], answers[2];
  if (pipe2(questions, O_CLOEXEC) != 0)
    return;
  if (pipe2(answers, O_CLOEXEC) != 0) {
    close(questions[0]), close(questions[1]);
    return;
  }
  child = fork();
  if (child == 0) {
    close(questions[1]), close(answers[0]);
    waitToPrint(print, questions[0], answers[1]);
  }
  close(questions[0]), close(answers[1]);
  ask = questions[1], answer = answers[0];
  if (child < 0)
    return;
  reproducerCommand = this->command.c_str();
  reproducerAsk = ask, reproducerAnswer = answer;
}
compiler::Reproducer::~Reproducer() {
  reproducerAsk = reproducerAnswer = -1;
  reproducerCommand = nullptr;
  for (int end : {ask, answer})
    if (end >= 0)
      close(end);
  if (child > 0)
    waitpid(child, nullptr, 0); // the copy ends, because its pipes are closed
}

void compiler::suspect(std::string_view what, std::string_view where, Whose whose) {
  Suspect *own = ownSuspect(/*take=*/!what.empty());
  if (!own)
    return;
  own->ours = whose == Whose::Ours;
  own->op = own->symbol = nullptr;
  keep(own->place, sizeof own->place, where);
  keep(own->name, sizeof own->name, what);
  if (!what.empty() || gettid() == getpid())
    return;
  stack_t none = {}; // the thread may end now, so free its entry
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  own->thread = 0;
}

void compiler::suspectAt(std::string_view op, std::string_view symbol) {
  Suspect *own = ownSuspect(/*take=*/false);
  if (!own)
    return;
  own->opLength = int(op.size()), own->symbolLength = int(symbol.size());
  own->op = op.empty() ? nullptr : op.data();
  own->symbol = symbol.empty() ? nullptr : symbol.data();
}

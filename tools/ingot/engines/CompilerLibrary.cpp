#include "tools/ingot/engines/CompilerLibrary.h"

#include "runtime/engine/CacheName.h"
#include "tools/files/Files.h"

#include <array>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace ingot::cli {

static std::filesystem::path ownPath() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

Result<std::string> compilerLibraryPath() {
  const std::filesystem::path folder = ownPath().parent_path();
  const char *name = "libingot-compiler.so";
  std::error_code error;
  for (const std::filesystem::path &place : {folder / ".." / "lib" / name, folder / name})
    if (std::filesystem::exists(place, error))
      return place.lexically_normal().string();
  return Error{ExitCode::Internal, "E0110", "the compiler is not installed with this binary",
               "looked for " + std::string(name) + " in " +
                   (folder / ".." / "lib").lexically_normal().string() + " and " + folder.string(),
               "build it: ./dev build"};
}

Result<std::string> compilerFingerprint() {
  Result<std::string> path = compilerLibraryPath();
  if (!path)
    return path;
  Result<std::string> bytes = readFile(*path);
  if (!bytes)
    return bytes;
  return runtime::fingerprint(std::as_bytes(std::span(*bytes)));
}

/// Loads the library and returns one of its functions.
static Result<void *> compilerFunction(const char *name) {
  Result<std::string> path = compilerLibraryPath();
  if (!path)
    return path.error();
  void *library = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  void *symbol = library ? dlsym(library, name) : nullptr;
  if (!symbol) {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    const bool limited = limit.rlim_cur != RLIM_INFINITY;
    return Error{limited ? ExitCode::File : ExitCode::Internal, limited ? "E0114" : "E0111",
                 limited ? "the compiler cannot be loaded under a memory limit"
                         : "the compiler cannot be loaded",
                 dlerror(),
                 limited ? "LLVM takes about 500 MB of addresses: raise ulimit -v"
                         : "LLVM and MLIR 22 must be installed: ./dev setup"};
  }
  return symbol;
}

Result<int> callCompiler(int argc, const char *const *argv) {
  auto symbol = compilerFunction("ingotCompilerMain");
  if (!symbol)
    return symbol.error();
  return reinterpret_cast<int (*)(int, const char *const *)>(*symbol)(argc, argv);
}

CodeListing listCode(const std::string &target, std::string_view object, const std::string &kernels,
                     bool batchInvariant) {
  auto symbol = compilerFunction("ingotListCode");
  if (!symbol)
    return {"", symbol.error().what};
  using Take = void (*)(void *to, const char *text, size_t length);
  using List = bool (*)(const char *, const char *, size_t, const char *, bool, Take, void *);
  std::string text;
  const bool done = reinterpret_cast<List>(*symbol)(
      target.c_str(), object.data(), object.size(), kernels.c_str(), batchInvariant,
      [](void *to, const char *bytes, size_t length) {
        static_cast<std::string *>(to)->append(bytes, length);
      },
      &text);
  return done ? CodeListing{std::move(text), ""} : CodeListing{"", std::move(text)};
}

namespace {

volatile pid_t childOfOurs = 0;
volatile std::sig_atomic_t endedBy = 0;

/// Passes a signal that ends this process on to its child.
void passOn(int signal) {
  const int before = errno;
  endedBy = signal;
  if (childOfOurs > 0)
    ::kill(childOfOurs, signal);
  errno = before;
}

/// While this object lives, a signal that would end this process ends the child first. The destructor then
/// ends this process with the same signal.
class SignalsPassedOn {
public:
  SignalsPassedOn() {
    sigemptyset(&ours);
    struct sigaction action = {};
    action.sa_handler = passOn;
    for (size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &before[i]);
      if (before[i].sa_handler == SIG_IGN) // nohup relies on this
        continue;
      sigaction(kSignals[i], &action, nullptr);
      sigaddset(&ours, kSignals[i]);
    }
    sigprocmask(SIG_BLOCK, &ours, &mask); // until the child exists
  }
  void start(pid_t child) {
    childOfOurs = child;
    sigprocmask(SIG_SETMASK, &mask, nullptr);
  }
  ~SignalsPassedOn() {
    childOfOurs = 0;
    for (size_t i = 0; i < kSignals.size(); ++i)
      sigaction(kSignals[i], &before[i], nullptr);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    if (endedBy)
      std::raise(endedBy);
  }
  const sigset_t &maskOfChild() const { return mask; }

private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before = {};
  sigset_t ours = {}, mask = {};
};

/// A memory file to which a child process writes its error, in zero-terminated fields
/// (compiler/driver/Main.cpp).
class ErrorPlace {
public:
  ErrorPlace() : descriptor(memfd_create("ingot-error", MFD_CLOEXEC)) {}
  ~ErrorPlace() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
  ErrorPlace(const ErrorPlace &) = delete;
  ErrorPlace &operator=(const ErrorPlace &) = delete;

  /// Returns the error that the child wrote, with the child's exit code.
  std::optional<Error> read(int exitCode) const {
    std::string text;
    char bytes[4096];
    for (ssize_t n;
         (n = ::pread(descriptor, bytes, sizeof bytes, static_cast<off_t>(text.size()))) > 0;)
      text.append(bytes, static_cast<size_t>(n));
    std::vector<std::string> fields;
    for (size_t at = 0, end; (end = text.find('\0', at)) != std::string::npos; at = end + 1)
      fields.push_back(text.substr(at, end - at));
    if (fields.size() != 4)
      return std::nullopt;
    return Error{static_cast<ExitCode>(exitCode), fields[0], fields[1], fields[2], fields[3]};
  }

  const int descriptor; ///< -1: creation failed
};

/// Runs the child and waits for it. The descriptor `kept`, unless negative, stays open in the child.
Result<int> spawnAndWait(const std::vector<std::string> &arguments, bool silent, int kept) {
  std::string self = ownPath().string();
  std::vector<char *> argv = {const_cast<char *>("ingot")};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (silent)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  if (kept >= 0)
    posix_spawn_file_actions_adddup2(&actions, kept, kept); // clears close-on-exec
  SignalsPassedOn signals;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &signals.maskOfChild());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  int failure = posix_spawn(&child, self.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failure)
    return Error{ExitCode::Internal, "E0112", "the compiler could not be started",
                 std::strerror(failure), "stop other programs, or raise ulimit -u"};
  signals.start(child);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  return Error{ExitCode::Internal, "E0113",
               "the compiler was killed by signal " + std::to_string(WTERMSIG(status)),
               WTERMSIG(status) == 9 ? "the system may have run out of memory" : "",
               "run `ingot " + arguments[0] + " …` by itself to see more"};
}

} // namespace

Result<int> runAsChild(const std::vector<std::string> &arguments, bool silent) {
  return spawnAndWait(arguments, silent, -1);
}

Result<void> compileAsChild(const std::vector<std::string> &arguments) {
  const ErrorPlace place;
  std::vector<std::string> all = {"compile"};
  if (place.descriptor >= 0)
    all.insert(all.end(), {"--error-fd", std::to_string(place.descriptor)});
  all.insert(all.end(), arguments.begin(), arguments.end());
  auto code = spawnAndWait(all, /*silent=*/false, place.descriptor);
  if (!code)
    return code.error();
  if (*code == 0)
    return {};
  if (auto error = place.read(*code))
    return *error;
  return Error{static_cast<ExitCode>(*code), "E0133", "compiling " + arguments[0] + " failed",
               "the compiler ended with exit code " + std::to_string(*code) +
                   "; see its output above",
               "run `ingot compile` by itself to see more"};
}

} // namespace ingot::cli

//===- Trials.cpp - See Trials.h --------------------------------------------===//
//
// The child sends lines to the parent through a pipe:
//
//   *NAME      the device is open
//   @7         trial 7 begins
//   ={…}       a result: = + or -
//   !4 …       an error, after which the child ends with that code; its lines, separated by \x1f
//===----------------------------------------------------------------------===//
#include "tests/gpu/Trials.h"
#include "runtime/json/JsonText.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ingot::test {

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kBetween = '\x1f';

std::string packed(const Error &error) {
  std::string text = std::to_string(int(error.exit)) + kBetween + error.code + kBetween +
                     error.what + kBetween + error.why + kBetween + error.fix;
  for (char &c : text)
    if (c == '\n')
      c = ' ';
  return text;
}

Error unpacked(std::string_view text) {
  std::string fields[5];
  for (std::string &field : fields) {
    size_t end = std::min(text.find(kBetween), text.size());
    field = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {ExitCode(std::atoi(fields[0].c_str())), fields[1], fields[2], fields[3], fields[4]};
}

void send(int pipe, std::string line) {
  line += '\n';
  for (size_t at = 0; at < line.size();) {
    ssize_t wrote = write(pipe, line.data() + at, line.size() - at);
    if (wrote < 0 && errno != EINTR)
      std::_Exit(1); // the parent is gone
    at += wrote > 0 ? size_t(wrote) : 0;
  }
}

[[noreturn]] void beChild(const Trials &trials, size_t first, int pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); // no kernel outlives the parent
  auto fail = [&](const Error &error) {
    send(pipe, "!" + packed(error));
    std::_Exit(int(error.exit)); // the system releases a failed device
  };
  auto device = trials.open();
  if (!device)
    fail(device.error());
  send(pipe, "*" + *device);
  auto print = [&](Found found, const std::string &json) { send(pipe, char(found) + json); };
  for (size_t i = first; i < trials.all.size(); ++i) {
    send(pipe, "@" + std::to_string(i));
    if (auto ok = trials.all[i].run(print); !ok)
      fail(ok.error());
  }
  std::exit(0);
}

/// A child process as seen by its parent.
class Child {
public:
  Child(const Trials &trials, size_t first, Tally &tally) : trials(trials), tally(tally) {
    int ends[2];
    if (pipe(ends) != 0)
      return;
    std::fflush(nullptr); // else the child prints the buffer again
    process = fork();
    if (process == 0) {
      close(ends[0]);
      beChild(trials, first, ends[1]);
    }
    close(ends[1]);
    from = ends[0];
  }
  ~Child() {
    if (from >= 0)
      close(from);
  }

  /// Reads until the child has ended. Returns the cause; empty if it ended normally.
  std::string follow() {
    if (process < 0)
      return "the system gives no process";
    double limit = trials.opening;
    auto deadline = Clock::now() + std::chrono::duration<double>(limit);
    std::string pending;
    for (bool open = true; open;) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      pollfd one{from, POLLIN, 0};
      int ready = left.count() > 0 ? poll(&one, 1, int(left.count())) : 0;
      if (ready < 0 && errno == EINTR)
        continue;
      if (ready <= 0 && Clock::now() < deadline)
        continue;
      if (ready <= 0) {
        kill(process, SIGKILL);
        reap();
        char text[64];
        std::snprintf(text, sizeof text, "killed after %g s", limit);
        return text;
      }
      char bytes[4096];
      ssize_t count = read(from, bytes, sizeof bytes);
      open = count > 0;
      pending.append(bytes, size_t(std::max<ssize_t>(count, 0)));
      for (size_t end; (end = pending.find('\n')) != pending.npos; pending.erase(0, end + 1))
        if (take(std::string_view(pending).substr(0, end))) {
          limit = trials.limit;
          deadline = Clock::now() + std::chrono::duration<double>(limit);
        }
    }
    std::optional<int> status = reap();
    if (!status)
      return "does not end";
    if (WIFSIGNALED(*status))
      return "signal " + std::to_string(WTERMSIG(*status));
    if (WEXITSTATUS(*status) == 0)
      return "";
    std::string text = "exit " + std::to_string(WEXITSTATUS(*status));
    if (error)
      text +=
          ": " + error->code + " " + error->what + (error->why.empty() ? "" : ": " + error->why);
    return text;
  }

  std::optional<size_t> under; ///< the current trial
  std::optional<Error> error;  ///< the error with which the child ended

private:
  /// Handles a line from the child. Returns whether a trial begins.
  bool take(std::string_view line) {
    char kind = line.empty() ? ' ' : line[0];
    std::string rest(line.substr(line.empty() ? 0 : 1));
    if (kind == '@') {
      under = size_t(std::atoll(rest.c_str()));
      return true;
    }
    if (kind == '*') {
      tally.device = rest;
    } else if (kind == '!') {
      error = unpacked(rest);
    } else {
      ++tally.launches;
      tally.equal += kind == char(Found::Equal);
      tally.wrong += kind == char(Found::Wrong);
      std::printf("%s\n", rest.c_str());
      std::fflush(stdout);
    }
    return false;
  }

  /// Gives the child ten seconds to end and then abandons it, because a process whose GPU hangs may be impossible to
  /// kill.
  std::optional<int> reap() {
    for (auto until = Clock::now() + std::chrono::seconds(10); Clock::now() < until;) {
      int status;
      if (waitpid(process, &status, WNOHANG) == process)
        return status;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    kill(process, SIGKILL);
    return std::nullopt;
  }

  const Trials &trials;
  Tally &tally;
  pid_t process = -1;
  int from = -1;
};

} // namespace

Result<Tally> runTrials(const Trials &trials) {
  Tally tally;
  auto lose = [&](const Trial &trial, const std::string &why) {
    runtime::JsonText json;
    json.open('{').key(trials.kind).value(trial.name).key("launches").value(trial.launches);
    json.key("error").value(why).close();
    std::printf("%s\n", json.text().c_str());
    std::fflush(stdout);
    ++tally.lost;
  };
  for (size_t next = 0; next < trials.all.size();) {
    Child child(trials, next, tally);
    std::string end = child.follow();
    if (end.empty())
      break;
    if (child.under) {
      lose(trials.all[*child.under], end);
      next = *child.under + 1;
      continue;
    }
    if (next == 0 && child.error) // there is no device
      return *child.error;
    for (; next < trials.all.size(); ++next) // and later children would find none either
      lose(trials.all[next], end);
  }
  return tally;
}

} // namespace ingot::test

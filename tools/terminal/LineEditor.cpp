#include "tools/terminal/LineEditor.h"

#include "tools/terminal/Console.h"

#include <cerrno>
#include <clocale>
#include <cstring>
#include <cwchar>
#include <histedit.h>
#include <iostream>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace ingot::cli {

struct LineEditor::State {
  EditLine *line = nullptr;
  History *history = nullptr;
  std::string prompt;
  const std::atomic<bool> *flag = nullptr;
  bool interrupted = false;
};

namespace {

/// An eventfd that is readable after a wake().
const int wakeUps = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

LineEditor::State &stateOf(EditLine *line) {
  void *data = nullptr;
  el_get(line, EL_CLIENTDATA, &data);
  return *static_cast<LineEditor::State *>(data);
}

/// Waits for a byte; false if the flag is set first.
bool waitForInput(const std::atomic<bool> &flag) {
  pollfd files[] = {{STDIN_FILENO, POLLIN, 0}, {wakeUps, POLLIN, 0}};
  while (!flag) {
    if (::poll(files, std::size(files), -1) < 0)
      continue; // interrupted by a signal
    uint64_t count;
    if (files[1].revents && ::read(wakeUps, &count, sizeof count) > 0)
      continue; // the flag may have been cleared since
    if (files[0].revents)
      return true;
  }
  return false;
}

char *promptOf(EditLine *line) { return stateOf(line).prompt.data(); }

/// Reads one character. libedit's own reader continues after a signal, which would lose a Ctrl-C;
/// this reader ends the line. A signal may arrive before the wait begins or in another thread, so
/// the reader waits for the flag rather than for EINTR.
int readCharacter(EditLine *line, wchar_t *out) {
  std::mbstate_t shift{};
  for (;;) {
    LineEditor::State &state = stateOf(line);
    if (!waitForInput(*state.flag)) {
      state.interrupted = true;
      return -1;
    }
    char byte = 0;
    const ssize_t n = ::read(STDIN_FILENO, &byte, 1);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return 0;
    const size_t used = std::mbrtowc(out, &byte, 1, &shift);
    if (used == static_cast<size_t>(-1)) {
      *out = L'\xfffd';
      return 1;
    }
    if (used != static_cast<size_t>(-2))
      return 1;
  }
}

} // namespace

void LineEditor::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(wakeUps, &one, sizeof one);
}

LineEditor::LineEditor(const std::atomic<bool> &interrupted) {
  if (!isTerminal(STDIN_FILENO) || !isTerminal(STDOUT_FILENO))
    return;
  if (!std::setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1)
    std::setlocale(LC_CTYPE, "C.UTF-8");
  state = std::make_unique<State>();
  state->flag = &interrupted;
  state->line = el_init("ingot", stdin, stdout, stderr);
  state->history = history_init();
  HistEvent event;
  history(state->history, &event, H_SETSIZE, 1000);
  history(state->history, &event, H_SETUNIQUE, 1);
  el_set(state->line, EL_CLIENTDATA, state.get());
  el_set(state->line, EL_PROMPT, promptOf);
  el_set(state->line, EL_EDITOR, "emacs");
  el_set(state->line, EL_SIGNAL, 0);
  el_set(state->line, EL_HIST, history, state->history);
  el_set(state->line, EL_GETCFN, readCharacter);
}

LineEditor::~LineEditor() {
  if (!state)
    return;
  history_end(state->history);
  el_end(state->line);
}

LineEditor::Input LineEditor::read(const std::string &prompt) {
  if (!state) {
    std::string line;
    if (!std::getline(std::cin, line))
      return {Event::End, ""};
    return {Event::Line, line};
  }
  state->prompt = prompt;
  state->interrupted = false;
  int length = 0;
  const char *typed = el_gets(state->line, &length);
  if (state->interrupted) {
    el_reset(state->line);
    return {Event::Interrupted, ""};
  }
  if (!typed || length <= 0)
    return {Event::End, ""};
  std::string line(typed, static_cast<size_t>(length));
  if (line.find_first_not_of(" \n") != std::string::npos) {
    HistEvent event;
    history(state->history, &event, H_ENTER, typed);
  }
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r'))
    line.pop_back();
  return {Event::Line, line};
}

} // namespace ingot::cli

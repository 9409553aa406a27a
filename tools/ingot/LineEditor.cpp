#include "tools/ingot/LineEditor.h"

#include "tools/ingot/Console.h"

#include <cerrno>
#include <clocale>
#include <cstring>
#include <cwchar>
#include <histedit.h>
#include <iostream>
#include <unistd.h>

namespace ingot::cli {

struct LineEditor::State {
  EditLine *line = nullptr;
  History *history = nullptr;
  std::string prompt;
  bool interrupted = false;
};

namespace {

char *promptOf(EditLine *line) {
  void *data = nullptr;
  el_get(line, EL_CLIENTDATA, &data);
  return static_cast<LineEditor::State *>(data)->prompt.data();
}

/// One character. libedit's own reader goes on after a signal, so that Ctrl-C would be lost;
/// this one ends the line.
int readCharacter(EditLine *line, wchar_t *out) {
  std::mbstate_t shift{};
  for (;;) {
    char byte = 0;
    const ssize_t n = ::read(STDIN_FILENO, &byte, 1);
    if (n < 0 && errno == EINTR) {
      void *data = nullptr;
      el_get(line, EL_CLIENTDATA, &data);
      static_cast<LineEditor::State *>(data)->interrupted = true;
      return -1;
    }
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

LineEditor::LineEditor() {
  if (!isTerminal(STDIN_FILENO) || !isTerminal(STDOUT_FILENO))
    return;
  if (!std::setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1)
    std::setlocale(LC_CTYPE, "C.UTF-8");
  state = std::make_unique<State>();
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

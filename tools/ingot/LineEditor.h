//===- LineEditor.h - Lines typed by the user ------------------------------===//
//
// On a terminal, libedit with history and arrow keys; otherwise plain lines from stdin.
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>
#include <string>

namespace ingot::cli {

class LineEditor {
public:
  LineEditor();
  ~LineEditor();
  LineEditor(const LineEditor &) = delete;
  LineEditor &operator=(const LineEditor &) = delete;

  enum class Event { Line, Interrupted, End };
  struct Input {
    Event event;
    std::string line; ///< without its newline
  };
  /// `prompt` is shown on a terminal only. Interrupted: Ctrl-C at the prompt, which
  /// needs a SIGINT handler without SA_RESTART.
  Input read(const std::string &prompt);

  bool interactive() const { return state != nullptr; }

  struct State; ///< libedit's

private:
  std::unique_ptr<State> state; ///< null where stdin is no terminal
};

} // namespace ingot::cli

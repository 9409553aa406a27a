//===- LineEditor.h - Lines typed by the user ------------------------------===//
//
// On a terminal, libedit provides history and arrow keys. Otherwise lines are read from stdin as
// they are.
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <memory>
#include <string>

namespace ingot::cli {

class LineEditor {
public:
  /// Signal handlers set `interrupted` and then call wake(). The flag must outlive this object.
  explicit LineEditor(const std::atomic<bool> &interrupted);
  ~LineEditor();
  LineEditor(const LineEditor &) = delete;
  LineEditor &operator=(const LineEditor &) = delete;

  enum class Event { Line, Interrupted, End };
  struct Input {
    Event event;
    std::string line; ///< without its newline
  };
  /// Reads a line. `prompt` is shown only on a terminal. Returns Interrupted if the flag is set, or
  /// becomes set while the user types, whichever thread received the signal.
  Input read(const std::string &prompt);

  /// Makes read() check the flag. Safe in signal handlers.
  static void wake();

  bool interactive() const { return state != nullptr; }

  struct State; ///< state of libedit

private:
  std::unique_ptr<State> state; ///< null if stdin is not a terminal
};

} // namespace ingot::cli

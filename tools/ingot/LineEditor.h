//===- LineEditor.h - Lines typed by the user ------------------------------===//
//
// On a terminal, libedit with history and arrow keys; otherwise plain lines from stdin.
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <memory>
#include <string>

namespace ingot::cli {

class LineEditor {
public:
  /// `interrupted`: set by signal handlers, which then call wake(). It must outlive this.
  explicit LineEditor(const std::atomic<bool> &interrupted);
  ~LineEditor();
  LineEditor(const LineEditor &) = delete;
  LineEditor &operator=(const LineEditor &) = delete;

  enum class Event { Line, Interrupted, End };
  struct Input {
    Event event;
    std::string line; ///< without its newline
  };
  /// `prompt` is shown on a terminal only. Interrupted: the flag is set, or gets set while
  /// the user types; whichever thread the signal came to.
  Input read(const std::string &prompt);

  /// Lets read() look at the flag. For signal handlers.
  static void wake();

  bool interactive() const { return state != nullptr; }

  struct State; ///< libedit's

private:
  std::unique_ptr<State> state; ///< null where stdin is no terminal
};

} // namespace ingot::cli

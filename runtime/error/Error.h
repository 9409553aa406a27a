//===- Error.h - User-visible errors: cause, reason and remedy -----------===//
//
// Every user-visible failure is three short lines:
//
//     error[E0312]: the engine is damaged            (what)
//       section 3 (weights): hash 0x12 differs from 0x34   (why, with numbers)
//       rebuild it: ingot compile MODEL -o E           (what to type)
//
// and an exit code (docs/errors.md): 2 wrong usage, 3 a file that is
// unreadable, damaged, unsupported or does not fit this machine, 4 device,
// 70 our own bug. This header neither throws nor needs LLVM, since importers,
// the engine format and the runtime share it.
//
// Code ranges:  E01xx usage   E02xx checkpoint import   E03xx engine file
//               E04xx compile   E05xx runtime and memory   E06xx text
//               E07xx device    E08xx programs of an engine file (E084x and E085x: checkpoints;
//               E088x and E089x: checks of plans and kernels)
//               E09xx internal (from E0950: the backend of Triton Inference Server)
//
// Codes.def has a row for each code.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/NamedCodes.h"

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace ingot {

enum class ExitCode : int { Success = 0, Usage = 2, File = 3, Device = 4, Internal = 70 };

struct Error {
  ExitCode exit = ExitCode::Internal;
  std::string code; ///< "E0312"; stable, unique per cause, used by tests
  std::string what; ///< one line, lower case, no full stop
  std::string why;  ///< one line with numbers; may be empty
  std::string fix;  ///< what to type or change; may be empty

  /// Returns the three lines as they are printed, without colour, ending in a newline.
  std::string format() const {
    std::string text = "error[" + code + "]: " + what + "\n";
    if (!why.empty())
      text += "  " + why + "\n";
    if (!fix.empty())
      text += "  " + fix + "\n";
    return text;
  }
};

/// A value, or the error that explains its absence. Check with `if (!r)`.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() {
    assert(*this && "there is an error instead of a value");
    return *std::get_if<0>(&state);
  }
  const T &operator*() const {
    assert(*this && "there is an error instead of a value");
    return *std::get_if<0>(&state);
  }
  T *operator->() { return &**this; }
  const T *operator->() const { return &**this; }
  Error &error() {
    assert(!*this && "there is a value instead of an error");
    return *std::get_if<1>(&state);
  }
  const Error &error() const {
    assert(!*this && "there is a value instead of an error");
    return *std::get_if<1>(&state);
  }

private:
  std::variant<T, Error> state;
};

/// Success, or an error.
template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : failure(std::move(error)), failed(true) {}

  explicit operator bool() const { return !failed; }
  Error &error() {
    assert(failed && "there is no error");
    return failure;
  }
  const Error &error() const {
    assert(failed && "there is no error");
    return failure;
  }

private:
  Error failure;
  bool failed = false;
};

/// Returns the error that replaces std::bad_alloc at a module boundary. `doing` completes "none was left while …".
inline Error outOfMemory(const std::string &doing) {
  return {ExitCode::File, errors::kOutOfMemory, "there is not enough memory",
          "none was left while " + doing,
          "stop other programs, or raise the limit of this one (ulimit -v)"};
}

} // namespace ingot

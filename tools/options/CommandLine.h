//===- CommandLine.h - How commands look and fail ---------------------------===//
//
// Every command of `ingot` has one CommandLine, those of the compiler library too: one look of
// --help, and one error with the option that was meant. CLI11 does the parsing; CommandLine.cpp
// alone includes it, since its headers cost every file that does some three seconds.
//
//   CommandLine line("Repeats a text.", "ingot repeat");
//   line.option("TEXT", text, "what to repeat").required();
//   line.option("-n,--times", times, "how often").range(1, 1000).showDefault();
//   if (auto parsed = line.parse(argc, argv); !parsed) ...
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class Option;
} // namespace CLI

namespace ingot::cli {

/// An option of a CommandLine, which owns it: for saying more of it, and for asking whether it was
/// given. As cheap to copy as a pointer.
class Option {
public:
  Option required();
  /// The heading it stands under in --help; empty: it is left out there.
  Option group(const std::string &heading);
  std::string group() const;
  /// What --help calls its value, instead of TEXT or N.
  Option typeName(const std::string &name);
  /// --help shows the value that the variable has now.
  Option showDefault();

  /// Values from `least` to `most` alone.
  template <std::integral T> Option range(T least, T most) {
    return rangeOf(static_cast<int64_t>(least), static_cast<int64_t>(most));
  }
  template <std::floating_point T> Option range(T least, T most) {
    return rangeOf(static_cast<double>(least), static_cast<double>(most));
  }
  Option notNegative();
  Option oneOf(std::initializer_list<const char *> words);
  /// `problem` says what is wrong with a value, or nothing.
  Option check(std::function<std::string(const std::string &value)> problem);
  /// A number of bytes: 123, 800M, 2GiB.
  Option bytes();

  /// One value each time it is given: what follows is not its own. A list grows with each.
  Option takesOne();
  /// One value, once.
  Option onlyOnce();
  /// One argument may hold several values.
  Option separatedBy(char separator);
  /// It is an error to give both.
  Option excludes(Option other);
  /// It is an error to give this without the other.
  Option needs(Option other);

  bool given() const;
  /// The values as typed.
  std::vector<std::string> values() const;

private:
  friend class CommandLine;
  explicit Option(CLI::Option *option) : option(option) {}
  Option rangeOf(int64_t least, int64_t most);
  Option rangeOf(double least, double most);

  CLI::Option *option;
};

/// "123", "800M", "2GiB"; nothing for 0 and for what is no number of bytes.
std::optional<uint64_t> parseBytes(std::string text);

class CommandLine {
public:
  /// `summary` is the first line of --help, `name` what is typed before the options.
  explicit CommandLine(const std::string &summary = "", const std::string &name = "");
  ~CommandLine();

  /// An option with a value, by all its names ("-n,--times"), or a positional one ("TEXT"). `value`
  /// outlives the command line. T: a string, a number, an optional or a vector of them.
  template <typename T>
  Option option(const std::string &names, T &value, const std::string &help = "");
  Option flag(const std::string &names, bool &value, const std::string &help = "");
  /// For completion alone: options of a command that parses them elsewhere.
  Option option(const std::string &names);
  Option flag(const std::string &names);

  /// The option of that name, which is there.
  Option find(const std::string &name) const;
  void remove(Option option);
  /// The examples under --help.
  void examples(std::string_view text);

  /// Parses what stands behind the command's name, argv[0]. False: --help was printed. E0102.
  Result<bool> parse(int argc, const char *const *argv);

  /// "--name" of each option that --help shows, "-n" of those without a long name; --help first.
  std::vector<std::string> optionNames() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace ingot::cli

//===- CommandLine.h - Command-line options, help and errors ----------------===//
//
// Every command of `ingot` has one CommandLine, including the commands in the compiler library. All
// of them therefore share one layout of --help and one error that suggests the intended option.
// CLI11 does the parsing. Only CommandLine.cpp includes it, because its headers add some three
// seconds to the compilation of every file that includes them.
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

/// A handle to an option that a CommandLine owns. It refines the option and reports whether the
/// option was given. It is as cheap to copy as a pointer.
class Option {
public:
  Option required();
  /// The heading under which --help lists the option. An empty heading hides the option from
  /// --help.
  Option group(const std::string &heading);
  std::string group() const;
  /// The name that --help gives the value, instead of TEXT or N.
  Option typeName(const std::string &name);
  /// Makes --help show the variable's current value as the default.
  Option showDefault();

  /// Accepts only values from `least` to `most`.
  template <std::integral T> Option range(T least, T most) {
    return rangeOf(static_cast<int64_t>(least), static_cast<int64_t>(most));
  }
  template <std::floating_point T> Option range(T least, T most) {
    return rangeOf(static_cast<double>(least), static_cast<double>(most));
  }
  Option notNegative();
  Option oneOf(std::initializer_list<const char *> words);
  /// `problem` returns the message for an invalid value, or an empty string for a valid one.
  Option check(std::function<std::string(const std::string &value)> problem);
  /// A number of bytes: 123, 800M, 2GiB.
  Option bytes();

  /// Takes one value per occurrence; the argument after the value is not another value. Each
  /// occurrence appends to a list.
  Option takesOne();
  /// Takes one value, and only once.
  Option onlyOnce();
  /// Lets one argument hold several values.
  Option separatedBy(char separator);
  /// It is an error if the user specifies both options.
  Option excludes(Option other);
  /// Giving this option without the other is an error.
  Option needs(Option other);

  bool given() const;
  /// Returns the values as typed.
  std::vector<std::string> values() const;

private:
  friend class CommandLine;
  explicit Option(CLI::Option *option) : option(option) {}
  Option rangeOf(int64_t least, int64_t most);
  Option rangeOf(double least, double most);

  CLI::Option *option;
};

/// Parses "123", "800M" or "2GiB". Returns nothing for 0 and for text that is not a number of
/// bytes.
std::optional<uint64_t> parseBytes(std::string text);

class CommandLine {
public:
  /// `summary` is the first line of --help; `name` is the command as typed before the options.
  explicit CommandLine(const std::string &summary = "", const std::string &name = "");
  ~CommandLine();

  /// Adds an option with a value, under all its names ("-n,--times"), or a positional argument
  /// ("TEXT"). `value` must outlive the command line. T is a string, a number, or an optional or
  /// vector of either.
  template <typename T>
  Option option(const std::string &names, T &value, const std::string &help = "");
  Option flag(const std::string &names, bool &value, const std::string &help = "");
  /// Adds an option of a command that parses its options elsewhere; only completion uses it.
  Option option(const std::string &names);
  Option flag(const std::string &names);

  /// Returns the option of that name, which must exist.
  Option find(const std::string &name) const;
  void remove(Option option);
  /// Sets the examples that --help prints last.
  void examples(std::string_view text);

  /// Parses the arguments after the command's name, argv[0]. Returns false if --help was printed.
  /// Errors: E0102.
  Result<bool> parse(int argc, const char *const *argv);

  /// Returns "--name" for each option that --help shows, or "-n" for an option without a long name;
  /// --help comes first.
  std::vector<std::string> optionNames() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace ingot::cli

//===- CommandLine.cpp - See CommandLine.h --------------------------------===//
#include "tools/options/CommandLine.h"

#include "runtime/error/Suggest.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>

namespace ingot::cli {

//===----------------------------------------------------------------------===//
// Help and errors
//===----------------------------------------------------------------------===//

namespace {

/// CLI11's layout without the allowed ranges, which errors state when they matter.
class HelpText : public CLI::Formatter {
public:
  HelpText() { column_width(26); }
  std::string make_usage(const CLI::App *app, std::string name) const override;
  std::string make_option_opts(const CLI::Option *option) const override;
};

std::string HelpText::make_usage(const CLI::App *app, std::string name) const {
  std::string usage = "\nusage: " + (name.empty() ? app->get_name() : name) + " [OPTION...]";
  for (const CLI::Option *option :
       app->get_options([](const CLI::Option *o) { return o->get_positional(); }))
    usage +=
        option->get_required() ? " " + option->get_name(true) : " [" + option->get_name(true) + "]";
  return usage + "\n";
}

/// Returns the placeholder of an option's value: " N" for numbers, " a|b" for a closed set, and " TEXT" for other
/// values that have no type name.
std::string HelpText::make_option_opts(const CLI::Option *option) const {
  if (option->get_positional() || option->get_type_size() == 0)
    return "";
  std::string type = option->get_type_name();
  if (const size_t open = type.find('{'); open != std::string::npos) {
    type = type.substr(open + 1, type.find('}') - open - 1);
    for (char &c : type)
      if (c == ',')
        c = '|';
  } else {
    type = type.substr(0, type.find_first_of(": "));
    if (type == "INT" || type == "UINT" || type == "FLOAT")
      type = "N";
  }
  return " " + type;
}

/// Turns CLI11's message about a wrong command line into an error of three lines.
Error usageError(const CLI::App &app, const CLI::ParseError &error) {
  Error result{ExitCode::Usage, "E0102", error.what(), "",
               app.get_name() + " --help shows the options"};
  std::replace(result.what.begin(), result.what.end(), '\n', ' ');
  if (const auto at = result.what.find("--");
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) &&
      at != std::string::npos) {
    std::vector<std::string> names;
    for (const CLI::Option *option : app.get_options())
      if (!option->get_group().empty()) // skip the options that --help leaves out
        for (const std::string &name : option->get_lnames())
          names.push_back("--" + name);
    result.why =
        didYouMean(result.what.substr(at, result.what.find_first_of(" =]", at) - at), names);
  }
  return result;
}

/// Returns the arguments in reverse order, as CLI11 expects them. CLI11 takes the next argument as the value of
/// `--text=`, so an explicit empty value is inserted.
std::vector<std::string> reversedArguments(int argc, const char *const *argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument.starts_with("--") && argument.size() > 3 &&
        argument.find('=') == argument.size() - 1) {
      arguments.emplace_back(argument.substr(0, argument.size() - 1));
      arguments.emplace_back();
    } else {
      arguments.emplace_back(argument);
    }
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

} // namespace

//===----------------------------------------------------------------------===//
// Option
//===----------------------------------------------------------------------===//

Option Option::required() { return option->required(), *this; }
Option Option::group(const std::string &heading) { return option->group(heading), *this; }
std::string Option::group() const { return option->get_group(); }
Option Option::typeName(const std::string &name) { return option->type_name(name), *this; }
Option Option::showDefault() { return option->capture_default_str(), *this; }

Option Option::rangeOf(int64_t least, int64_t most) {
  return option->check(CLI::Range(least, most)), *this;
}
Option Option::rangeOf(double least, double most) {
  return option->check(CLI::Range(least, most)), *this;
}
Option Option::notNegative() { return option->check(CLI::NonNegativeNumber), *this; }
Option Option::oneOf(std::initializer_list<const char *> words) {
  return option->check(CLI::IsMember(std::vector<std::string>(words.begin(), words.end()))), *this;
}
Option Option::check(std::function<std::string(const std::string &)> problem) {
  return option->check(CLI::Validator(
             [problem = std::move(problem)](std::string &value) { return problem(value); }, "")),
         *this;
}
Option Option::bytes() { return option->transform(CLI::AsSizeValue(/*kb_is_1000=*/false)), *this; }

Option Option::takesOne() { return option->allow_extra_args(false), *this; }
Option Option::onlyOnce() { return option->expected(1), *this; }
Option Option::separatedBy(char separator) { return option->delimiter(separator), *this; }
Option Option::excludes(Option other) { return option->excludes(other.option), *this; }
Option Option::needs(Option other) { return option->needs(other.option), *this; }

bool Option::given() const { return option->count() != 0; }
std::vector<std::string> Option::values() const { return option->results(); }

std::optional<uint64_t> parseBytes(std::string text) {
  try {
    if (!CLI::AsSizeValue(/*kb_is_1000=*/false)(text).empty()) // replaces `text` with the number
      return std::nullopt;
  } catch (const CLI::Error &) {
    return std::nullopt;
  }
  uint64_t bytes = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (failure != std::errc() || end != text.data() + text.size() || bytes == 0)
    return std::nullopt;
  return bytes;
}

//===----------------------------------------------------------------------===//
// CommandLine
//===----------------------------------------------------------------------===//

struct CommandLine::Impl {
  CLI::App app;
};

CommandLine::CommandLine(const std::string &summary, const std::string &name)
    : impl(new Impl{CLI::App(summary, name)}) {
  impl->app.formatter(std::make_shared<HelpText>());
  impl->app.get_help_ptr()->description("this text");
}
CommandLine::~CommandLine() = default;

template <typename T>
Option CommandLine::option(const std::string &names, T &value, const std::string &help) {
  return Option(impl->app.add_option(names, value, help));
}
Option CommandLine::flag(const std::string &names, bool &value, const std::string &help) {
  return Option(impl->app.add_flag(names, value, help));
}
Option CommandLine::option(const std::string &names) { return Option(impl->app.add_option(names)); }
Option CommandLine::flag(const std::string &names) { return Option(impl->app.add_flag(names)); }

// The types of value that an option can hold.
template Option CommandLine::option(const std::string &, std::string &, const std::string &);
template Option CommandLine::option(const std::string &, uint16_t &, const std::string &);
template Option CommandLine::option(const std::string &, int32_t &, const std::string &);
template Option CommandLine::option(const std::string &, int64_t &, const std::string &);
template Option CommandLine::option(const std::string &, uint32_t &, const std::string &);
template Option CommandLine::option(const std::string &, uint64_t &, const std::string &);
template Option CommandLine::option(const std::string &, float &, const std::string &);
template Option CommandLine::option(const std::string &, double &, const std::string &);
template Option CommandLine::option(const std::string &, std::vector<std::string> &,
                                    const std::string &);
template Option CommandLine::option(const std::string &, std::vector<int32_t> &,
                                    const std::string &);
template Option CommandLine::option(const std::string &, std::vector<int64_t> &,
                                    const std::string &);
template Option CommandLine::option(const std::string &, std::vector<double> &,
                                    const std::string &);
template Option CommandLine::option(const std::string &, std::optional<int32_t> &,
                                    const std::string &);
template Option CommandLine::option(const std::string &, std::optional<int64_t> &,
                                    const std::string &);
template Option CommandLine::option(const std::string &, std::optional<uint64_t> &,
                                    const std::string &);
template Option CommandLine::option(const std::string &, std::optional<float> &,
                                    const std::string &);
template Option CommandLine::option(const std::string &, std::optional<double> &,
                                    const std::string &);
template Option CommandLine::option(const std::string &, std::optional<std::string> &,
                                    const std::string &);

Option CommandLine::find(const std::string &name) const {
  return Option(impl->app.get_option(name));
}
void CommandLine::remove(Option option) { impl->app.remove_option(option.option); }
void CommandLine::examples(std::string_view text) {
  impl->app.footer("\nExamples:\n" + std::string(text));
}

Result<bool> CommandLine::parse(int argc, const char *const *argv) {
  try {
    impl->app.parse(reversedArguments(argc, argv));
    return true;
  } catch (const CLI::CallForHelp &) {
    std::fputs(impl->app.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError &error) {
    return usageError(impl->app, error);
  }
}

std::vector<std::string> CommandLine::optionNames() const {
  std::vector<std::string> names = {"--help"};
  for (const CLI::Option *option : std::as_const(impl->app).get_options()) {
    const bool hidden = option->get_group().empty();
    if (option->check_lname("help") || option->get_positional() || hidden)
      continue;
    if (!option->get_lnames().empty())
      names.push_back("--" + option->get_lnames().front());
    else
      for (const std::string &name : option->get_snames())
        names.push_back("-" + name);
  }
  return names;
}

} // namespace ingot::cli

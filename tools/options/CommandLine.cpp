//===- CommandLine.cpp - See CommandLine.h --------------------------------===//
#include "tools/options/CommandLine.h"

#include "runtime/error/Suggest.h"

#include <algorithm>
#include <cstdio>

namespace ingot::cli {

HelpText::HelpText() { column_width(26); }

std::string HelpText::make_usage(const CLI::App *app, std::string name) const {
  std::string usage = "\nusage: " + (name.empty() ? app->get_name() : name) + " [OPTION...]";
  for (const CLI::Option *option :
       app->get_options([](const CLI::Option *o) { return o->get_positional(); }))
    usage +=
        option->get_required() ? " " + option->get_name(true) : " [" + option->get_name(true) + "]";
  return usage + "\n";
}

/// " N" for numbers, " TEXT" for what has no better name, " a|b" for a closed set.
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

void examples(CLI::App &app, std::string_view text) {
  app.footer("\nExamples:\n" + std::string(text));
}

void prepare(CLI::App &app) {
  app.formatter(std::make_shared<HelpText>());
  app.get_help_ptr()->description("this text");
}

/// CLI11's words about a wrong command line, in three lines.
static Error usageError(const CLI::App &app, const CLI::ParseError &error) {
  Error result{ExitCode::Usage, "E0102", error.what(), "",
               app.get_name() + " --help shows the options"};
  std::replace(result.what.begin(), result.what.end(), '\n', ' ');
  if (const auto at = result.what.find("--");
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) &&
      at != std::string::npos) {
    std::vector<std::string> names;
    for (const CLI::Option *option : app.get_options())
      if (!option->get_group().empty()) // not those that --help leaves out
        for (const std::string &name : option->get_lnames())
          names.push_back("--" + name);
    result.why =
        didYouMean(result.what.substr(at, result.what.find_first_of(" =]", at) - at), names);
  }
  return result;
}

/// In the reverse order that CLI11 takes. It reads `--text=` as an option whose value is
/// the next argument; what is meant is an empty one.
static std::vector<std::string> reversedArguments(int argc, const char *const *argv) {
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

Result<bool> parse(CLI::App &app, int argc, const char *const *argv) {
  try {
    app.parse(reversedArguments(argc, argv));
    return true;
  } catch (const CLI::CallForHelp &) {
    std::fputs(app.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError &error) {
    return usageError(app, error);
  }
}

} // namespace ingot::cli

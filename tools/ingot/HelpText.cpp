#include "tools/ingot/HelpText.h"

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

} // namespace ingot::cli

//===- HelpText.h - How --help looks ---------------------------------------===//
#pragma once

#include <CLI/CLI.hpp>

namespace ingot::cli {

/// CLI11's layout without the allowed ranges, which errors state when they matter.
class HelpText : public CLI::Formatter {
public:
  HelpText();
  std::string make_usage(const CLI::App *app, std::string name) const override;
  std::string make_option_opts(const CLI::Option *option) const override;
};

} // namespace ingot::cli

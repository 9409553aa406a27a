//===- CommandLine.h - How commands look and fail ---------------------------===//
//
// Every command of `ingot` has one CLI::App, those of the compiler library too: one look of --help,
// and one error with the option that was meant.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <CLI/CLI.hpp>

#include <string_view>

namespace ingot::cli {

/// CLI11's layout without the allowed ranges, which errors state when they matter.
class HelpText : public CLI::Formatter {
public:
  HelpText();
  std::string make_usage(const CLI::App *app, std::string name) const override;
  std::string make_option_opts(const CLI::Option *option) const override;
};

/// The examples under `--help`.
void examples(CLI::App &app, std::string_view text);

/// Makes the app look like all others; before its options are defined.
void prepare(CLI::App &app);

/// Parses what stands behind the command's name, argv[0]. False: --help was printed. E0102.
Result<bool> parse(CLI::App &app, int argc, const char *const *argv);

} // namespace ingot::cli

//===- ChatSettings.h - Settings that /set changes in a conversation -------===//
#pragma once

#include "runtime/sample/SamplingFields.h"

#include <string>
#include <string_view>
#include <vector>

namespace ingot::cli {

struct ChatSettings {
  runtime::AskedSampling asked;     ///< on the command line and by /set
  runtime::SamplingParams defaults; ///< the engine's
  runtime::SamplingParams sampling; ///< `asked` over `defaults`
  int64_t maxTokens = -1;           ///< -1: as many as the context leaves room for
  std::string system;
  std::vector<std::string> stopStrings;
  bool ignoreEos = false;
  bool verbose = false;

  /// Applies a setting such as "temperature 0.7". Errors: E0108, with the valid names or the
  /// invalid value; E0510: a sampling value is out of range. Nothing changes then.
  Result<void> set(std::string_view text);
  /// Returns one line per setting, for /show.
  std::string text() const;
};

} // namespace ingot::cli

//===- ChatSettings.h - What /set changes in a conversation ----------------===//
#pragma once

#include "runtime/sample/SamplingParams.h"

#include <string>
#include <string_view>
#include <vector>

namespace ingot::cli {

struct ChatSettings {
  runtime::SamplingParams sampling;
  int64_t maxTokens = -1; ///< -1: what the context leaves
  std::string system;
  std::vector<std::string> stopStrings;
  bool ignoreEos = false;
  bool verbose = false;
  int64_t vocab = 0;

  /// "temperature 0.7". E0108 with the names, or with the value that cannot be; then
  /// nothing has changed.
  Result<void> set(std::string_view text);
  /// One line each, for /show.
  std::string text() const;
};

} // namespace ingot::cli

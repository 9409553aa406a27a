//===- StrippingTokens.h - Added tokens that absorb whitespace -------------===//
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ingot::text {

/// Flags for whether an added token absorbs the whitespace before and after it.
struct Stripping {
  bool left = false, right = false;
};

/// Determines which added tokens of a GGUF vocabulary absorb whitespace. GGUF itself has no field for this.
class StrippingTokens {
public:
  /// `model` is the value of tokenizer.ggml.model, and `tokens` is the whole vocabulary.
  StrippingTokens(std::string_view architecture, std::string_view model,
                  std::span<const std::string> tokens);
  Stripping of(std::string_view token) const;

private:
  const struct StrippingRow *row = nullptr; ///< null: no token strips
};

} // namespace ingot::text

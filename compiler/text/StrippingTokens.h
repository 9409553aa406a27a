//===- StrippingTokens.h - Tokens that take in the blanks around them ------===//
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ingot::text {

/// Whether an added token takes in the blanks before and behind it.
struct Stripping {
  bool left = false, right = false;
};

/// What the added tokens of a GGUF vocabulary take in, which no GGUF can say.
class StrippingTokens {
public:
  /// `model`: tokenizer.ggml.model; `tokens`: the whole vocabulary.
  StrippingTokens(std::string_view architecture, std::string_view model,
                  std::span<const std::string> tokens);
  Stripping of(std::string_view token) const;

private:
  const struct StrippingRow *row = nullptr; ///< null: none does
};

} // namespace ingot::text

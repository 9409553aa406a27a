//===- StrippingTokens.h - Added tokens that absorb whitespace -------------===//
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ingot::text {

/// Whether an added token absorbs the whitespace before and after it.
struct Stripping {
  bool left = false, right = false;
};

/// Which added tokens of a GGUF vocabulary absorb whitespace; GGUF cannot express this.
class StrippingTokens {
public:
  /// `model`: tokenizer.ggml.model; `tokens`: the whole vocabulary.
  StrippingTokens(std::string_view architecture, std::string_view model,
                  std::span<const std::string> tokens);
  Stripping of(std::string_view token) const;

private:
  const struct StrippingRow *row = nullptr; ///< null: no token strips
};

} // namespace ingot::text

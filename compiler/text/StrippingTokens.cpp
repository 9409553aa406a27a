//===- StrippingTokens.cpp - Added tokens that absorb whitespace -----------===//
//
// These flags are `lstrip` and `rstrip` in tokenizer_config.json. For example, Phi-3's template writes
// "<|user|>\nHi<|end|>\n", but its model has never seen the line feeds, because the tokens before them absorb
// them. GGUF has no field for these flags. Of the families in docs/models.md, only the three vocabularies of
// Phi-3 and Phi-4 have tokens with these flags. Each vocabulary is recognised by tokens that no other vocabulary
// has. If the architecture is already known to be Phi-3's, fewer tokens are enough.
//===----------------------------------------------------------------------===//

#include "compiler/text/StrippingTokens.h"

#include <algorithm>
#include <initializer_list>

namespace ingot::text {

using Names = std::initializer_list<std::string_view>;

struct StrippingRow {
  std::string_view model;
  Names inFamily,
      anywhere; ///< tokens that identify the vocabulary: among models of Phi-3's family, and among all models
  Stripping strips; ///< flags of all added tokens, except tokens in `none`
  Names none;
};

static const StrippingRow kRows[] = {
    // Phi-3 mini, small context and long, medium, and Phi-3.5
    {"llama",
     {"<|end|>", "<|assistant|>"},
     {"<|end|>", "<|assistant|>", "<|placeholder1|>"},
     {.right = true},
     {"<unk>", "<s>", "<|endoftext|>"}},
    // Phi-4 mini
    {"gpt2",
     {"<|end|>", "<|assistant|>"},
     {"<|end|>", "<|assistant|>", "<|endofprompt|>", "<|tag|>"},
     {.right = true},
     {"<|endoftext|>", "<|endofprompt|>"}},
    // Phi-4
    {"gpt2", {"<|im_sep|>"}, {"<|im_sep|>", "<|dummy_0|>"}, {.left = true, .right = true}, {}},
};

StrippingTokens::StrippingTokens(std::string_view architecture, std::string_view model,
                                 std::span<const std::string> tokens) {
  auto known = [&](std::string_view name) {
    return std::ranges::find(tokens, name) != tokens.end();
  };
  for (const StrippingRow &one : kRows)
    if (one.model == model &&
        std::ranges::all_of(architecture == "phi3" ? one.inFamily : one.anywhere, known)) {
      row = &one;
      return;
    }
}

Stripping StrippingTokens::of(std::string_view token) const {
  return row && std::ranges::find(row->none, token) == row->none.end() ? row->strips : Stripping();
}

} // namespace ingot::text

//===- FillMiddle.cpp - Fill-in-the-middle marks -----------------------------===//
#include "runtime/server/api/FillMiddle.h"

#include <algorithm>

namespace ingot::api {

namespace {

/// The fill-in-the-middle marks of a vocabulary. They go before the prefix, the suffix and the middle.
struct MiddleMarks {
  const char *prefix, *suffix, *middle;
};
constexpr MiddleMarks kMiddleMarks[] = {
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"}, // Qwen, StarCoder 2 (newer)
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},       // StarCoder, SantaCoder
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
    {"▁<PRE>", "▁<SUF>", "▁<MID>"},                   // Code Llama
    {"<|fim▁begin|>", "<|fim▁hole|>", "<|fim▁end|>"}, // DeepSeek
};

} // namespace

bool fillsMiddle(const service::ServedModel &model) {
  const text::Tokenizer *tokenizer = model.tokenizer();
  return tokenizer && std::ranges::any_of(kMiddleMarks, [&](const MiddleMarks &marks) {
           return tokenizer->idOf(marks.prefix) && tokenizer->idOf(marks.suffix) &&
                  tokenizer->idOf(marks.middle);
         });
}

Result<std::vector<int32_t>> fillInTheMiddle(const service::ServedModel &model,
                                             std::string_view prefix, std::string_view suffix) {
  const text::Tokenizer &tokenizer = *model.tokenizer();
  for (const MiddleMarks &marks : kMiddleMarks) {
    auto before = tokenizer.idOf(marks.prefix), after = tokenizer.idOf(marks.suffix),
         middle = tokenizer.idOf(marks.middle);
    if (!before || !after || !middle)
      continue;
    auto head = model.session().encodeToFit(prefix, runtime::PromptText::Literal);
    auto tail = model.session().encodeToFit(suffix, runtime::PromptText::Literal);
    if (!head || !tail)
      return head ? tail.error() : head.error();
    // The model defines the order of the marks, independently of encode("") and the BOS rule.
    std::vector<int32_t> ids{*before};
    ids.insert(ids.end(), head->begin(), head->end());
    ids.push_back(*after);
    ids.insert(ids.end(), tail->begin(), tail->end());
    ids.push_back(*middle);
    return ids;
  }
  return std::vector<int32_t>();
}

} // namespace ingot::api

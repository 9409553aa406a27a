//===- Prompts.h - Reads prompts of text or ids, one or many ---------------===//
#pragma once

#include "runtime/server/api/GenerationFields.h"

namespace ingot::api {

constexpr size_t kMostPromptBytes = 8 << 20;
constexpr size_t kMostCountedBytes =
    1 << 20; ///< of a text for which token ids are returned or counted

/// Reads a field that holds a text or a list of token ids, or a list of up to `most` texts or lists of token ids.
/// Fills either `prompts` or `texts`. Returns false if it fills neither; the document then has the
/// error. Prompts in llama.cpp's additional formats become token ids. These formats are a list of token ids and
/// texts as one prompt, {"prompt_string": …}, {"content": [{"type": "text", …}]}, and lists that mix
/// them.
bool readPrompts(const Fields &body, std::string_view name, const Generation &generation,
                 std::vector<std::vector<int32_t>> &prompts, std::vector<std::string> &texts,
                 size_t most);

/// Returns an error if a rendered conversation is too long to be returned as token ids or counted.
std::optional<ApiError> tooLongToCount(std::string_view text);

} // namespace ingot::api

//===- Prompts.h - Text or ids, one or many --------------------------------===//
#pragma once

#include "runtime/server/api/GenerationFields.h"

namespace ingot::api {

constexpr size_t kMostPromptBytes = 8 << 20;
constexpr size_t kMostCountedBytes = 1 << 20; ///< that are told as ids, or counted

/// A field that holds a text or a list of ids, or a list of up to `most` of either. One of
/// `prompts` and `texts` is filled; false: neither, and the document has the error.
/// llama.cpp's wider shapes become ids: lists of ids and texts as one prompt, {"prompt_string": …},
/// {"content": [{"type": "text", …}]}, and lists of several kinds.
bool readPrompts(const Fields &body, std::string_view name, const Generation &generation,
                 std::vector<std::vector<int32_t>> &prompts, std::vector<std::string> &texts,
                 size_t most);

/// Why a rendered conversation is not told as ids or counted: it is too long for that.
std::optional<ApiError> tooLongToCount(std::string_view text);

} // namespace ingot::api

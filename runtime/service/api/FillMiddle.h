//===- FillMiddle.h - Prompts around a gap -----------------------------------===//
#pragma once

#include "runtime/service/api/ServedModel.h"

namespace ingot::api {

/// prefix + suffix as ids around what is to be filled in; empty if the vocabulary has no marks for
/// it.
Result<std::vector<int32_t>> fillInTheMiddle(const ServedModel &model, std::string_view prefix,
                                             std::string_view suffix);

} // namespace ingot::api

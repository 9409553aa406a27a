//===- FillMiddle.h - Prompts around a gap -----------------------------------===//
#pragma once

#include "runtime/service/ServedModel.h"

namespace ingot::api {

/// Whether the vocabulary has marks for it.
bool fillsMiddle(const service::ServedModel &model);

/// prefix + suffix as ids around what is to be filled in; empty if the vocabulary has no marks for
/// it.
Result<std::vector<int32_t>> fillInTheMiddle(const service::ServedModel &model,
                                             std::string_view prefix, std::string_view suffix);

} // namespace ingot::api

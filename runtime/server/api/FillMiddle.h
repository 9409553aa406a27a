//===- FillMiddle.h - Fill-in-the-middle prompts -----------------------------===//
#pragma once

#include "runtime/service/ServedModel.h"

namespace ingot::api {

/// Returns whether the vocabulary has marks for fill-in-the-middle.
bool fillsMiddle(const service::ServedModel &model);

/// Encodes prefix and suffix around the gap to be filled. Returns no tokens if the vocabulary has no
/// marks for fill-in-the-middle.
Result<std::vector<int32_t>> fillInTheMiddle(const service::ServedModel &model,
                                             std::string_view prefix, std::string_view suffix);

} // namespace ingot::api

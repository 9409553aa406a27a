//===- SearchFields.h - Fields of beam search and contrastive search ---------===//
#pragma once

#include "runtime/server/api/GenerationFields.h"

namespace ingot::api {

/// Reads use_beam_search, beam_width, length_penalty and early_stopping, and penalty_alpha with
/// top_k. Call it after readGeneration(). Fields that make no sense in a search, which does not
/// sample, are refused by name.
void readSearch(const Fields &body, Generation &out);

} // namespace ingot::api

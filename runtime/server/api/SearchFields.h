//===- SearchFields.h - Beam search and contrastive search as fields ---------===//
#pragma once

#include "runtime/server/api/GenerationFields.h"

namespace ingot::api {

/// use_beam_search, beam_width, length_penalty, early_stopping; penalty_alpha with top_k. After
/// readGeneration(): what makes no sense in a search, which draws nothing, is refused by name.
void readSearch(const Fields &body, Generation &out);

} // namespace ingot::api

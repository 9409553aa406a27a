//===- SearchFields.h - Fields of beam search and contrastive search ---------===//
#pragma once

#include "runtime/server/api/GenerationFields.h"

namespace ingot::api {

/// Reads the fields of beam search (use_beam_search, beam_width, length_penalty, early_stopping) and
/// of contrastive search (penalty_alpha, top_k). Call it after readGeneration(). A search does not
/// sample, so fields that only affect sampling are refused by name.
void readSearch(const Fields &body, Generation &out);

} // namespace ingot::api

//===- SearchParams.h - Beam search and contrastive search, as asked for ---===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>

namespace ingot::runtime {

/// Sequences that a search runs side by side, at most.
constexpr int32_t kMostBeams = 8, kMostCandidates = 8;
/// Of length penalties, up and down.
constexpr double kMostLengthPenalty = 8;

/// When a beam search has enough answers that have ended: as Hugging Face transformers'
/// `early_stopping`.
enum class EarlyStopping : uint8_t {
  No,  ///< `width` have ended, and the best that runs is worse than the worst of them as it stands
  Yes, ///< `width` have ended
  Never, ///< `width` have ended, and whatever the best that runs may become is worse
};

/// The answers with the largest sum of log-probabilities / length^lengthPenalty.
struct BeamParams {
  int32_t width = 1;
  double lengthPenalty = 1; ///< above 0 favours long answers, below 0 short ones
  EarlyStopping earlyStopping = EarlyStopping::No;

  /// E0530.
  Result<void> check() const;
};

/// Contrastive search (Su et al. 2022, "A Contrastive Framework for Neural Text Generation"): of
/// the topK likeliest ids the one with the largest (1 - alpha) * p - alpha * c, c the largest
/// cosine of its hidden state with those of all tokens before it.
struct ContrastiveParams {
  double alpha = 0.6; ///< above 0, to 1
  int32_t topK = 4;   ///< 2 or more

  /// E0531.
  Result<void> check() const;
};

} // namespace ingot::runtime

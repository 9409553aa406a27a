//===- SearchParams.h - Parameters of beam search and contrastive search ---===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>

namespace ingot::runtime {

/// Maximum number of sequences that a search runs in parallel.
constexpr int32_t kMostBeams = 8, kMostCandidates = 8;
/// Maximum absolute value of a length penalty.
constexpr double kMostLengthPenalty = 8;

/// The rule by which a beam search has enough finished answers, like `early_stopping` of Hugging Face
/// transformers.
enum class EarlyStopping : uint8_t {
  No,  ///< `width` beams have ended, and the best running one scores no better than any of them now
  Yes, ///< `width` beams have ended
  Never, ///< `width` beams have ended, and no running one can ever score better than any of them
};

/// Searches for the answers with the largest sum of log-probabilities / length^lengthPenalty.
struct BeamParams {
  int32_t width = 1;
  double lengthPenalty = 1; ///< a value above 0 favours long answers, one below 0 short answers
  EarlyStopping earlyStopping = EarlyStopping::No;

  /// Fails with E0530.
  Result<void> check() const;
};

/// Contrastive search (Su et al. 2022, "A Contrastive Framework for Neural Text Generation"): among the topK likeliest
/// tokens, it chooses the one with the largest (1 - alpha) * p - alpha * c, where c is the largest cosine between its
/// hidden state and the hidden state of any earlier token.
struct ContrastiveParams {
  double alpha = 0.6; ///< above 0, at most 1
  int32_t topK = 4;   ///< 2 or more

  /// Fails with E0531.
  Result<void> check() const;
};

} // namespace ingot::runtime

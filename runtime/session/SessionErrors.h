//===- SessionErrors.h - The errors by which a session rejects requests ---===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/kv/KvGroup.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::runtime {

/// The parallel sequences of a request, which all need positions.
struct SequencesAsked {
  int64_t count = 1;     ///< number of parallel sequences, which have a common prompt (beams)
  int64_t prompt = 0;    ///< number of prompt tokens; only relevant for several sequences
  bool feedsAll = false; ///< the last new token takes a position as well (contrastive search)
};

/// The limits of a request, for checks and messages.
struct RequestLimits {
  int64_t vocab;
  int64_t context;             ///< the limit in force
  std::vector<KvGroup> groups; ///< of KV pages
  int64_t pageTokens;
  int64_t mostTokens;   ///< maximum number of tokens in one step
  int64_t modelContext; ///< the largest possible `context`

  /// Returns the largest number of positions of a sequence, or of each of several sequences with the
  /// same prompt.
  int64_t mostPositions(const SequencesAsked &asked = {}) const;
};

/// Fails with E0503 if there are fewer than `least` tokens, and with E0504 if a token is outside the
/// vocabulary.
Result<void> checkIds(std::span<const int32_t> ids, int64_t least, const RequestLimits &limits);
/// Fails with E0505 if the length exceeds the context, and with E0506 if it exceeds the KV memory.
/// `newTokens` is 0 for logits().
Result<void> checkLength(int64_t prompt, int64_t newTokens, const RequestLimits &limits,
                         const SequencesAsked &asked = {});

/// Returns E0505 for a text after its tokenization stopped at the limit.
Error longerThanContext(size_t bytes, const RequestLimits &limits);
/// Returns E0501 for an invalid limit.
Error badLimit(const char *what, const std::string &why, const std::string &fix);
/// Returns E0520: there is no tokenizer.
Error noTokenizer(const char *forWhat);

} // namespace ingot::runtime

//===- SessionErrors.h - What a session refuses, in numbers ---------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/kv/KvGroup.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::runtime {

/// What a request takes its positions for.
struct SequencesAsked {
  int64_t count = 1;     ///< side by side, with a prompt in common (beams)
  int64_t prompt = 0;    ///< its ids; matters where they are several
  bool feedsAll = false; ///< the last new id takes a position too (contrastive search)
};

/// What limits a request, for checks and messages.
struct RequestLimits {
  int64_t vocab;
  int64_t context;             ///< the limit in force
  std::vector<KvGroup> groups; ///< of KV pages
  int64_t pageTokens;
  int64_t mostTokens;   ///< of one step
  int64_t modelContext; ///< the most that `context` can be

  /// Positions that a sequence alone may have; or each of several with the same prompt.
  int64_t mostPositions(const SequencesAsked &asked = {}) const;
};

/// E0503 empty (fewer than `least` ids), E0504 id outside the vocabulary.
Result<void> checkIds(std::span<const int32_t> ids, int64_t least, const RequestLimits &limits);
/// E0505 beyond the context, E0506 beyond the KV memory. `newTokens` 0 for logits.
Result<void> checkLength(int64_t prompt, int64_t newTokens, const RequestLimits &limits,
                         const SequencesAsked &asked = {});

/// E0501: a limit that makes no sense.
/// E0505 of a text whose ids were not all counted.
Error longerThanContext(size_t bytes, const RequestLimits &limits);
Error badLimit(const char *what, const std::string &why, const std::string &fix);
/// E0520.
Error noTokenizer(const char *forWhat);

} // namespace ingot::runtime

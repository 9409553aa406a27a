//===- SessionErrors.cpp - Error messages that state the limits -----------===//
#include "runtime/session/SessionErrors.h"

#include "runtime/schedule/Scheduler.h"

#include <string>

namespace ingot::runtime {

Result<void> checkIds(std::span<const int32_t> ids, int64_t least, const RequestLimits &limits) {
  if (int64_t(ids.size()) < least)
    return Error{ExitCode::Usage, "E0503", ids.empty() ? "the prompt is empty" : "too few ids",
                 std::to_string(ids.size()) + " ids given, at least " + std::to_string(least) +
                     (least == 1 ? " is needed" : " are needed"),
                 "give a text or ids"};
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= limits.vocab)
      return Error{ExitCode::Usage, "E0504", "id outside the vocabulary",
                   "id " + std::to_string(ids[i]) + " at index " + std::to_string(i) +
                       "; the vocabulary has ids 0 to " + std::to_string(limits.vocab - 1),
                   "use ids that `ingot tokenize` prints for this engine"};
  return {};
}

/// Returns the maximum number of pages of a group that this many positions take. If the group has no
/// window, the sequences share the full pages of their common prompt.
static int64_t pagesAsked(const KvGroup &group, int64_t positions, const SequencesAsked &asked,
                          const RequestLimits &limits) {
  const int64_t each = mostPagesHeld(group.window, positions, limits.pageTokens, limits.mostTokens);
  const int64_t shared =
      asked.count > 1 && group.window == 0 ? std::min(each, asked.prompt / limits.pageTokens) : 0;
  return shared + asked.count * (each - shared);
}

Result<void> checkLength(int64_t prompt, int64_t newTokens, const RequestLimits &limits,
                         const SequencesAsked &asked) {
  // The last new token is usually not fed back to the model. It then takes no position.
  int64_t positions = Scheduler::positionsFor(prompt, newTokens + asked.feedsAll);
  std::string needs =
      std::to_string(prompt) + (newTokens ? " prompt ids" : " positions are needed");
  if (positions > prompt)
    needs += " + " + std::to_string(newTokens) + " new ones need " + std::to_string(positions) +
             " positions" + (asked.feedsAll ? "" : " (the last needs none)");
  if (positions > limits.context) {
    const bool opens = positions <= limits.modelContext; // if opened with a larger context
    std::string fix = opens ? "shorten it, or open with --context " + std::to_string(positions)
                            : "shorten it: the model has at most " +
                                  std::to_string(limits.modelContext) + " positions";
    if (const int64_t fits = limits.context - prompt + !asked.feedsAll; newTokens > 1 && fits > 0)
      fix = "request fewer (-n " + std::to_string(fits) + ")" +
            (opens ? " or open with --context " + std::to_string(positions) : std::string());
    return Error{ExitCode::Usage, errors::kBeyondContext,
                 prompt > limits.context ? "the prompt is longer than the context"
                                         : "prompt and answer are longer than the context",
                 needs + ", the context has " + std::to_string(limits.context) + ": " +
                     std::to_string(positions - limits.context) + " too many",
                 std::move(fix)};
  }
  for (const KvGroup &group : limits.groups) {
    int64_t pages = pagesAsked(group, positions, asked, limits);
    if (pages > group.pages)
      return Error{
          ExitCode::Usage, errors::kBeyondKvMemory, "the request is larger than the KV memory",
          needs + (asked.count > 1 ? ", for " + std::to_string(asked.count) + " sequences" : "") +
              " = " + std::to_string(pages) + " pages of " + std::to_string(limits.pageTokens) +
              ", there are " + std::to_string(group.pages) +
              (group.window ? " for layers with a window of " + std::to_string(group.window) : ""),
          "raise --kv-memory, or request less"};
  }
  return {};
}

Error longerThanContext(size_t bytes, const RequestLimits &limits) {
  return {ExitCode::Usage, errors::kBeyondContext, "the prompt is longer than the context",
          "a text of " + std::to_string(bytes) + " bytes has more than the " +
              std::to_string(limits.context) + " ids that fit into the context",
          limits.context < limits.modelContext
              ? "shorten it, or open with --context " + std::to_string(limits.modelContext)
              : "shorten it: the model has at most " + std::to_string(limits.modelContext) +
                    " positions"};
}

int64_t RequestLimits::mostPositions(const SequencesAsked &asked) const {
  int64_t positions = context;
  for (const KvGroup &group : groups)
    if (pagesAsked(group, positions, asked, *this) > group.pages) {
      const int64_t shared = asked.count > 1 && group.window == 0 ? asked.prompt / pageTokens : 0;
      positions = (shared + (group.pages - shared) / asked.count) * pageTokens;
    }
  return positions;
}

Error badLimit(const char *what, const std::string &why, const std::string &fix) {
  return {ExitCode::Usage, "E0501", what, why, fix};
}

Error noTokenizer(const char *forWhat) {
  return {ExitCode::Usage, "E0520", "this engine has no tokenizer",
          std::string(forWhat) + " needs one; the checkpoint that it was compiled from had none",
          "give ids (prompt_ids), or compile from a checkpoint with a tokenizer"};
}

} // namespace ingot::runtime

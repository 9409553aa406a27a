//===- Answer.h - A request in progress: from sampled ids to an answer ----===//
//
// The text of an answer goes through three stages, each of which may hold some of it back:
//
//   id -> StreamDecoder (unfinished UTF-8) -> StopMatcher (start of a stop string)
//      -> Completion.text and onToken
//
// A chat's text goes through a ChatOutputParser instead of the StopMatcher. Stop strings then apply
// to the chat's content, but not to its reasoning and calls.
//
// Text that has left the last stage is final. Shown text is never retracted.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sample/TokenHistory.h"
#include "runtime/session/Session.h"
#include "runtime/text/Grammar.h"
#include "runtime/text/Text.h"

#include <optional>

namespace ingot::runtime {

class Answer {
public:
  /// `eos`: the engine's eos tokens. `tokenizer` may be null.
  Answer(Request request, int64_t maxTokens, std::span<const int32_t> eos,
         const text::Tokenizer *tokenizer, int64_t vocab);

  const SamplingParams &sampling() const { return request.sampling; }
  /// Returns whether the request has a hook that gets a row before a token is sampled from it.
  bool editsLogits() const { return bool(request.onLogits); }
  void editLogits(std::span<float> row) const {
    request.onLogits({request.sampling.choice, completion.ids, row});
  }
  const TokenHistory *history() const { return seen ? &*seen : nullptr; }
  bool pooled() const { return request.pooling != Pooling::None; }
  /// Takes the hidden state of a prompt token. Returns false after the last one, when the embedding
  /// is complete.
  bool pool(std::span<const float> hidden, int64_t position);
  bool constrained() const { return constraint.has_value() || mask.has_value(); }
  /// Returns whether log-probabilities of the prompt's tokens are requested.
  bool wantsPrompt() const { return request.promptLogprobs >= 0; }
  /// Returns whether the row at `position` scores the next token of the prompt that has no score yet.
  bool wantsScore(int64_t position) const { return position == int64_t(scores.size()); }
  int32_t promptTop() const { return request.promptLogprobs; }
  int64_t promptSize() const { return int64_t(completion.promptIds.size()); }
  int32_t promptId(int64_t position) const { return completion.promptIds[size_t(position)]; }
  void addScore(PromptScore score) { scores.push_back(std::move(score)); }
  void reportPrompt(); ///< calls onPrompt once, before the first token
  bool promptOnly() const { return request.promptOnly; }
  /// Returns the tokens that may come next (Sampler::choose); empty: all. Returns nullopt if the answer has
  /// ended, either because the constraint has failed or because no token is left.
  std::optional<std::span<const uint32_t>> allowed();
  /// Returns the request's flag; null if there is none.
  const std::atomic<bool> *cancelFlag() const { return request.cancel; }
  bool cancelled() const { return cancelFlag() && cancelFlag()->load(std::memory_order_relaxed); }

  /// Returns whether another token may follow the one that is taken next.
  bool mayGoOn() const { return !done && sampled + 1 < maxTokens; }
  /// Takes the next token. Returns true if it must be fed to the model, false if the answer is
  /// finished.
  bool take(int32_t id, std::span<const TokenLogprob> logprobs);
  /// Ends the answer early. Held-back text is emitted.
  void cancel();

  /// Ends the answer for a reason of its own, or by a failure other than the device's.
  void end(FinishReason reason);
  void fail(Error error);

  bool finished() const { return done; }
  Completion result(double loadMs);

  bool started() const { return begun != 0; }
  /// Called when the first step begins. `cachedTokens`: tokens of the prompt that are already cached.
  void start(int64_t cachedTokens);
  /// Called before a step. `computed`: tokens of the prompt that are done.
  void reportProgress(int64_t computed) const {
    request.onProgress({computed, completion.cachedTokens});
  }
  bool wantsProgress() const {
    return request.reportProgress && request.onProgress && sampled == 0;
  }

  /// Whether the scheduler has a sequence for this answer. Further choices get one later, when they are
  /// forked from the first one's prompt.
  bool scheduled = true;

private:
  std::string shown(std::string piece); ///< the part of a decoded piece that may be shown now
  void stopAt(int32_t id, std::span<const TokenLogprob> logprobs);
  void give(int32_t id, std::string_view text, std::span<const TokenLogprob> logprobs,
            std::span<const text::OutputPiece> pieces = {});
  /// Applies the stop strings or the chat parser to the next text of the answer, and passes it on.
  void report(int32_t id, std::string text, std::span<const TokenLogprob> logprobs);
  bool stopped() const { return (stops && stops->stopped()) || (chat && chat->ended()); }

  Request request;
  int64_t maxTokens;
  std::vector<int32_t> stopIds;
  std::optional<TokenHistory> seen;
  std::optional<text::StreamDecoder> decoder;
  std::optional<text::StopMatcher> stops;
  std::optional<text::ChatOutputParser> chat;
  std::optional<text::Constraint> constraint;
  std::optional<IdMask> mask;
  std::vector<PromptScore> scores; ///< of the prompt
  bool promptReported = false;
  Completion completion;
  std::vector<double> pooledSum; ///< sum of hidden states
  int64_t pooledPositions = 0;   ///< positions below this are in the sum
  bool done = false;
  int64_t sampled = 0, minTokens = 0;
  uint64_t submitted, firstId = 0, lastId = 0; ///< ns
  uint64_t begun = 0;
};

} // namespace ingot::runtime

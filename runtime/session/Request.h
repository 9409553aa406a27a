//===- Request.h - A request to a session ---------------------------------===//
#pragma once

#include "runtime/sample/IdRules.h"
#include "runtime/sample/SamplingParams.h"
#include "runtime/session/search/SearchParams.h"
#include "runtime/text/ChatOutput.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::text {
class Grammar;
} // namespace ingot::text

namespace ingot::runtime {

/// The argument of onToken. It is called on the session's thread, once per new token, and once more at
/// the end with id -1 if held-back text is left. `text` is valid only during the call. It may be
/// empty, because an incomplete UTF-8 sequence or a possible stop string is held back.
struct TokenEvent {
  int32_t id;
  std::string_view text;
  std::span<const text::OutputPiece> pieces; ///< the parsed text, if Request::chat is set
  std::span<const TokenLogprob>
      logprobs;             ///< of the chosen token, then of the likeliest tokens; empty
                            ///< unless requested
  uint32_t choice = 0;      ///< SamplingParams::choice of the answer
  int64_t cachedTokens = 0; ///< prompt tokens found in the prefix cache
};

/// The number of prompt tokens that are done before a step that computes more of them.
struct PromptProgress {
  int64_t computed; ///< includes the tokens found in the prefix cache
  int64_t cached;   ///< tokens found in the prefix cache
};

/// The argument of onLogits: a row of logits before a token is sampled from it.
struct LogitsRow {
  uint32_t choice;              ///< SamplingParams::choice of the request
  std::span<const int32_t> ids; ///< new tokens so far
  std::span<float> logits;      ///< [vocab]; the token is sampled from the values after the hook
};

/// The hidden states of a prompt (after the last norm) that form an embedding.
enum class Pooling : uint8_t {
  None, ///< an answer is requested, not an embedding
  Last, ///< the state of the last token
  Mean, ///< the mean over all tokens
};

/// All settings of a request, without its prompt.
struct RequestSettings {
  SamplingParams sampling;
  int64_t maxTokens = -1;       ///< maximum number of new tokens; -1: as many as the context
                                ///< allows
  std::vector<int32_t> stopIds; ///< in addition to the engine's eos tokens
  bool ignoreEos = false;       ///< the engine's eos tokens do not end the answer
  bool showSpecial = false;     ///< special tokens appear in the text, spelt out
  std::vector<std::string> stopStrings; ///< never shown, not even in part; require a tokenizer
  /// The answer belongs to a chat: its text is parsed into content, reasoning and calls. The stop strings are then in
  /// `chat`, and `stopStrings` is empty.
  std::shared_ptr<const text::ChatReading> chat;
  /// The stop string that ends the answer is shown, and so is the text of a stop token.
  bool showStop = false;
  bool reportProgress = false; ///< call onProgress with the state of the prompt; not in a search
  bool reportStop = false;     ///< call onToken for the token that ends the answer
  IdRules ids;                 ///< rules about tokens, in addition to `grammar`; not in a search
  /// For each token of the prompt except the first, the log-probability of the token itself and of this many likeliest
  /// tokens are returned; -1: none are requested. The prompt then needs a logits row for each of its tokens, and uses
  /// no pages of the prefix cache.
  int32_t promptLogprobs = -1;
  bool promptOnly = false; ///< nothing is sampled: the answer ends with the prompt (maxTokens 0)
  /// Unless this is None, nothing is sampled, maxTokens is ignored, and the result is Completion::embedding.
  Pooling pooling = Pooling::None;
  /// A search instead of sampling. At most one of the two may be set. `beams` finds the answers that are
  /// likeliest as a whole and returns them at the end, best first. `contrastive` gives one answer that
  /// does not repeat itself. A search uses only logitBias and topLogprobs of `sampling`.
  std::optional<BeamParams> beams;
  std::optional<ContrastiveParams> contrastive;
  /// The grammar that the answer must match; requires a tokenizer. Null: any text.
  std::shared_ptr<const text::Grammar> grammar;
  int32_t priority = 0;    ///< a lower number goes first, and may preempt a higher one
  int64_t user = 0;        ///< the user to whom its work is charged (SessionOptions::fair)
  bool cachePrefix = true; ///< uses the prefix cache, and leaves its pages there
  uint64_t cacheSalt = 0;  ///< shares pages only with requests that have the same salt
};

/// The callbacks of a request, and the flag that cancels it. All may be empty.
struct RequestHooks {
  std::function<void(const TokenEvent &)> onToken;
  /// Called once before the first new token, if promptLogprobs requests it. The vector has one score for
  /// each token of the prompt except the first.
  std::function<void(std::vector<PromptScore>)> onPrompt;
  /// Called before each step that computes a part of the prompt, on the session's thread, if
  /// reportProgress is set.
  std::function<void(const PromptProgress &)> onProgress;
  /// Called before each token is sampled, on the session's thread. The hook may change the row. Bias, penalties and
  /// filters apply to the changed row, and log-probabilities are computed from it. A value of -inf excludes a token; if
  /// none is left, the token with the lowest id is chosen. A step in which a row has a hook samples on the host. In a
  /// search, the hook is called for the row of each sequence, with the sequence's index as `choice`.
  std::function<void(const LogitsRow &)> onLogits;
  /// Ends the request within one step once it becomes true.
  const std::atomic<bool> *cancel = nullptr;
};

struct Request : RequestSettings, RequestHooks {
  std::vector<int32_t> promptIds; ///< used unchanged; no BOS or other token is added
};

} // namespace ingot::runtime

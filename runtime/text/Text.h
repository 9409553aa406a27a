//===- Text.h - Between text and token ids, at run time ------------------===//
//
// Tokenizers, chat templates, streamed decoding and stop strings. The work is done
// by the field's own libraries (Hugging Face `tokenizers`, `minijinja`) behind one
// Rust crate with a C ABI (TextAbi.h); this header is all that C++ sees of it.
//
// A tokenizer is made at compile time (TextBuild.h) and travels in the engine's
// tokenizer segment. What makes it start fast: the vocabulary is not parsed but
// read in place, so that a start touches only the pages that a text needs.
//
// Ids are int32_t in [0, vocabSize()). Nothing here throws. All const functions may
// be called from several threads at once.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot::text {

/// What `Text.tokenizer_kind` of the engine says: how the segment is read.
inline constexpr std::string_view kFlatBpe = "flat-bpe-1"; ///< BPE in tables that are read in place
inline constexpr std::string_view kHfJson =
    "hf-json"; ///< a tokenizer.json as it is (other models: slow start)

/// Of several chat templates, the one for requests with tools; as transformers calls it.
inline constexpr std::string_view kToolTemplate = "tool_use";

/// Rust aborts when the system gives it no memory. `report` is called first, on the thread that
/// asked; it may end the process with better words, and must not allocate.
void onOutOfMemory(void (*report)());

/// What a tokenizer's files call how: "pad_token", "<pad>".
using NamedTokens = std::vector<std::pair<std::string, std::string>>;

/// Ids with a meaning; -1: the tokenizer has none.
struct SpecialTokens {
  int32_t bos = -1;
  std::vector<int32_t> eos; ///< any of these ends a generation; no duplicates, the main one first
  int32_t pad = -1;
  int32_t unknown = -1;
  /// A plain prompt starts with these, bos or others (encode never adds them).
  std::vector<int32_t> prefix;
  /// A text whose embedding is wanted ends with these. A prompt does not: what is behind its end would be
  /// another text.
  std::vector<int32_t> suffix;
  NamedTokens names; ///< for chat templates
};

class Tokenizer {
public:
  /// Opens a tokenizer segment. `bytes` are not copied and must outlive the tokenizer
  /// (the engine's mapping does). Errors: E0601 unknown kind, E0602 damaged.
  static Result<std::unique_ptr<Tokenizer>> fromBytes(std::string_view kind,
                                                      std::span<const std::byte> bytes);
  ~Tokenizer();
  Tokenizer(const Tokenizer &) = delete;
  Tokenizer &operator=(const Tokenizer &) = delete;

  /// The ids of a text; never adds BOS or EOS. With `parseSpecial`, the strings of special
  /// tokens in the text ("<|im_start|>") become their one id; without, they are plain
  /// text (what a user typed inside a chat must not open a turn). Bytes that are not
  /// UTF-8 are read as U+FFFD. Errors: E0603 (text over 16 MiB, or the library failed).
  Result<std::vector<int32_t>> encode(std::string_view text, bool parseSpecial = true) const;
  /// The same of a text that may have up to `most` ids; nullopt: it has more. That is known from its
  /// length, or after some more than `most` ids, wherever the tokenizer lets it be (crate/src/
  /// bounds.rs): a text is not encoded in order to be refused.
  Result<std::optional<std::vector<int32_t>>> encodeWithin(std::string_view text, size_t most,
                                                           bool parseSpecial = true) const;

  /// The bytes that one id stands for, whatever its neighbours; part of a character
  /// where the vocabulary has such tokens. Empty for an id outside the vocabulary. Points
  /// into the tokenizer. A special token gives its own string.
  std::string_view tokenBytes(int32_t id) const;

  /// The text of a sequence: bytes joined, one leading space dropped where the tokenizer
  /// put one in (dropsLeadingSpace), invalid bytes as U+FFFD. Ids outside the
  /// vocabulary give nothing.
  std::string decode(std::span<const int32_t> ids, bool skipSpecial = true) const;

  int32_t vocabSize() const;        ///< one more than the largest id
  bool isSpecial(int32_t id) const; ///< a control token, which decode(skipSpecial) leaves out
  bool dropsLeadingSpace() const;   ///< the first text of a sequence loses one leading space
  std::optional<int32_t>
  idOf(std::string_view token) const; ///< as written in the vocabulary ("<|im_end|>", "Ġthe")

private:
  friend class ChatTemplate;
  friend class Vocabulary;
  explicit Tokenizer(void *handle) : handle(handle) {}
  void *handle;
};

/// A chat template (Jinja, as Hugging Face transformers renders it). Limits: 1 MiB of
/// source, 10 M instructions, 4 MiB of output, 128 levels of recursion.
/// Where a request leaves them out, `date_string` and `datetime` are today's, and `enable_thinking` is
/// true for a template that only ever says `not enable_thinking` (docs/serving.md).
class ChatTemplate {
public:
  /// Errors: E0610 with the template's line (syntax; or filters, tests, functions and methods that it
  /// uses and that do not exist), E0611 (too large).
  static Result<std::unique_ptr<ChatTemplate>> parse(std::string_view source);
  ~ChatTemplate();
  ChatTemplate(const ChatTemplate &) = delete;
  ChatTemplate &operator=(const ChatTemplate &) = delete;

  struct Options {
    bool addGenerationPrompt = true;
    std::string bosToken, eosToken; ///< token strings, as `bos_token` and `eos_token`
    NamedTokens tokens = {};        ///< further ones: `pad_token`, `unk_token`, …
    std::string extraJson; ///< a JSON object with further variables ("tools", "enable_thinking", …)
                           ///< or empty
    /// The text ends within the last message, after its content, so that the answer goes on with it;
    /// no generation prompt. E0614 if it has no text, E0612 if the template does not show it whole.
    bool continueFinalMessage = false;
  };
  /// Whether the template reads this variable: one that does not read "tools" has no room for them.
  bool uses(std::string_view variable) const;

  using Message = std::pair<std::string, std::string>; ///< role, content

  /// `messagesJson`: a JSON array of messages. Errors: E0612 (the template failed or
  /// refused the messages by raise_exception: its own words are in `why`), E0613 (a
  /// limit was hit), E0614 (not JSON, or the wrong shape).
  Result<std::string> render(std::string_view messagesJson, const Options &options) const;
  Result<std::string> render(const std::vector<Message> &messages, const Options &options) const;

  struct Encoded {
    std::string text;
    std::vector<int32_t> ids;
    bool tooLong = false; ///< the text has more ids than were asked for; `ids` is empty
  };
  /// As render(), and encoded: what the template writes of control tokens becomes their ids, what
  /// messages and variables hold of them stays text, so that no content opens or ends a turn. So do
  /// tags of the template's ("<tool_call>") in what users and tools say (crate/src/guard.rs). Where
  /// they hold none, the ids are those of encode(render()). Errors: of both.
  /// A long text that has more than `most` ids is told as such without all of them, as by
  /// Tokenizer::encodeWithin(); a short one is always encoded.
  Result<Encoded> encode(const Tokenizer &tokenizer, std::string_view messagesJson,
                         const Options &options, size_t most = SIZE_MAX) const;
  Result<Encoded> encode(const Tokenizer &tokenizer, const std::vector<Message> &messages,
                         const Options &options) const;

private:
  explicit ChatTemplate(void *handle) : handle(handle) {}
  void *handle;
};

/// Whether a JSON object of a template's variables has tools.
bool givesTools(std::string_view variablesJson);

/// Text of ids as they come, whole characters only: the bytes of an unfinished UTF-8
/// character are held back. All pieces and flush() joined equal decode(all ids).
class StreamDecoder {
public:
  /// `tokenizer` must outlive this. `continuation`: the ids follow a prompt, so that no
  /// leading space is dropped (what a completion wants).
  explicit StreamDecoder(const Tokenizer &tokenizer, bool skipSpecial = true,
                         bool continuation = false);
  std::string push(int32_t id); ///< what can be shown now; often empty
  std::string flush();          ///< the end: what was held back, invalid bytes as U+FFFD

private:
  const Tokenizer &tokenizer;
  bool skipSpecial;
  bool dropSpace;
  std::string held;
};

/// Ends a text at the first of some strings to appear, without ever showing the start of one.
class StopMatcher {
public:
  /// Empty strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  /// Takes the next piece; gives what is now known to be before any stop string. The stop
  /// that is complete first wins (of two at once the longer), and nothing of it or after
  /// it is ever given. How the text is cut into pieces changes nothing.
  std::string push(std::string_view piece);
  std::string flush(); ///< the end of the text: what was held back, unless stopped
  bool stopped() const { return matched; }
  const std::string &match() const { return found; } ///< the stop string that ended it

private:
  std::vector<std::string> stops;
  std::string held;
  std::string found;
  bool matched = false;
};

/// Valid UTF-8: each maximal invalid part becomes one U+FFFD (Unicode 3.9, as WHATWG and Rust do).
std::string replaceInvalidUtf8(std::string_view bytes);

} // namespace ingot::text

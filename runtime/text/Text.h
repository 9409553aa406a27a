//===- Text.h - Converts between text and token ids at run time ----------===//
//
// Tokenizers, chat templates, streaming decoding and stop strings. The implementation uses
// established libraries (Hugging Face `tokenizers`, `minijinja`) behind one Rust crate with a C ABI
// (TextAbi.h); this header is its C++ interface.
//
// A tokenizer is built at compile time (TextBuild.h) and stored in the engine's tokenizer segment.
// It starts fast because the vocabulary is not parsed but read in place, so that only the pages
// that a text needs are touched.
//
// Ids are int32_t in [0, vocabSize()). No function here throws. All const functions may be called
// from several threads at once.
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

/// Values of the engine's `Text.tokenizer_kind`: the format of the segment.
inline constexpr std::string_view kFlatBpe = "flat-bpe-1"; ///< BPE in tables that are read in place
inline constexpr std::string_view kHfJson =
    "hf-json"; ///< an unmodified tokenizer.json (other models: slow start)

/// The name of the chat template for requests with tools, if there are several; as in transformers.
inline constexpr std::string_view kToolTemplate = "tool_use";

/// Rust aborts when an allocation fails. `report` is called first, on the allocating thread; it may
/// end the process with a better message, and must not allocate.
void onOutOfMemory(void (*report)());

/// Names of a tokenizer's tokens and their strings, from its files: "pad_token", "<pad>".
using NamedTokens = std::vector<std::pair<std::string, std::string>>;

/// Ids with a special meaning; -1: the tokenizer has none.
struct SpecialTokens {
  int32_t bos = -1;
  std::vector<int32_t> eos; ///< each of these ends a generation; no duplicates, the main one first
  int32_t pad = -1;
  int32_t unknown = -1;
  /// A plain prompt starts with these ids, bos or others (encode never adds them).
  std::vector<int32_t> prefix;
  /// A text to be embedded ends with these ids. A prompt does not: text after its end would be a new
  /// text.
  std::vector<int32_t> suffix;
  NamedTokens names; ///< for chat templates
};

class Tokenizer {
public:
  /// Opens a tokenizer segment. `bytes` are not copied and must outlive the tokenizer (the engine's
  /// mapping does). Errors: E0601 unknown kind, E0602 damaged.
  static Result<std::unique_ptr<Tokenizer>> fromBytes(std::string_view kind,
                                                      std::span<const std::byte> bytes);
  ~Tokenizer();
  Tokenizer(const Tokenizer &) = delete;
  Tokenizer &operator=(const Tokenizer &) = delete;

  /// Returns the ids of a text; never adds BOS or EOS. With `parseSpecial`, the strings of special
  /// tokens in the text ("<|im_start|>") become the token's single id; without it, they are plain
  /// text (text that a user typed inside a chat must not open a turn). Bytes that are not UTF-8 are
  /// read as U+FFFD. Errors: E0603 (text over 16 MiB), E0604 (the library failed).
  Result<std::vector<int32_t>> encode(std::string_view text, bool parseSpecial = true) const;
  /// Like encode(), for a text that may have up to `most` ids; nullopt if it has more. Where the
  /// tokenizer allows it, this is decided from the length of the text, or after slightly more than
  /// `most` ids (crate/src/bounds.rs): a text is not encoded in full only to be rejected.
  Result<std::optional<std::vector<int32_t>>> encodeWithin(std::string_view text, size_t most,
                                                           bool parseSpecial = true) const;

  /// The bytes of one id, independent of its neighbours; part of a character if the vocabulary has
  /// such tokens. Empty for an id outside the vocabulary. Points into the tokenizer. For a special
  /// token, it is the token's own string.
  std::string_view tokenBytes(int32_t id) const;

  /// Returns the text of a sequence: bytes joined, without the one leading space that the tokenizer
  /// inserted (dropsLeadingSpace), invalid bytes as U+FFFD. Ids outside the vocabulary yield
  /// nothing.
  std::string decode(std::span<const int32_t> ids, bool skipSpecial = true) const;

  int32_t vocabSize() const;        ///< one more than the largest id
  bool isSpecial(int32_t id) const; ///< a control token, which decode(skipSpecial) omits
  bool dropsLeadingSpace() const;   ///< the first text of a sequence loses one leading space
  std::optional<int32_t>
  idOf(std::string_view token) const; ///< as written in the vocabulary ("<|im_end|>", "Ġthe")

private:
  friend class ChatTemplate;
  friend class Vocabulary;
  explicit Tokenizer(void *handle) : handle(handle) {}
  void *handle;
};

/// A chat template (Jinja, rendered as in Hugging Face transformers). Limits: 1 MiB of source, 10 M
/// instructions, 4 MiB of output, 128 levels of recursion. If a request omits them, `date_string` and
/// `datetime` are set to today, and `enable_thinking` is true for a template that uses it only as `not
/// enable_thinking` (docs/serving.md).
class ChatTemplate {
public:
  /// Errors: E0610 with the template's line (a syntax error, or a filter, test, function or method
  /// that does not exist), E0611 (too large).
  static Result<std::unique_ptr<ChatTemplate>> parse(std::string_view source);
  ~ChatTemplate();
  ChatTemplate(const ChatTemplate &) = delete;
  ChatTemplate &operator=(const ChatTemplate &) = delete;

  struct Options {
    bool addGenerationPrompt = true;
    std::string bosToken, eosToken; ///< token strings, for `bos_token` and `eos_token`
    NamedTokens tokens = {};        ///< further tokens: `pad_token`, `unk_token`, …
    std::string extraJson; ///< a JSON object with further variables ("tools", "enable_thinking", …)
                           ///< or empty
    /// The text ends within the last message, after its content, so that the answer continues it;
    /// there is no generation prompt. E0614 if that message has no text, E0612 if the template does
    /// not render it in full.
    bool continueFinalMessage = false;
  };
  /// Whether the template reads this variable: if it does not read "tools", it cannot present them.
  bool uses(std::string_view variable) const;

  using Message = std::pair<std::string, std::string>; ///< role, content

  /// `messagesJson`: a JSON array of messages. Errors: E0612 (the template failed or rejected the
  /// messages by raise_exception: its message is in `why`), E0613 (a limit was exceeded), E0614
  /// (not JSON, or the wrong shape).
  Result<std::string> render(std::string_view messagesJson, const Options &options) const;
  Result<std::string> render(const std::vector<Message> &messages, const Options &options) const;

  struct Encoded {
    std::string text;
    std::vector<int32_t> ids;
    bool tooLong = false; ///< the text has more ids than the limit; `ids` is empty
  };
  /// Renders and encodes: control tokens that the template writes become their ids; those in
  /// messages and variables stay text, so that no content opens or ends a turn. The same holds for
  /// the template's tags ("<tool_call>") in messages of users and tools (crate/src/guard.rs). If
  /// messages and variables contain none of these, the ids are those of encode(render()). Returns
  /// the errors of both. A long text with more than `most` ids is reported as too long without
  /// computing all of them, as in Tokenizer::encodeWithin(); a short one is always encoded.
  Result<Encoded> encode(const Tokenizer &tokenizer, std::string_view messagesJson,
                         const Options &options, size_t most = SIZE_MAX) const;
  Result<Encoded> encode(const Tokenizer &tokenizer, const std::vector<Message> &messages,
                         const Options &options) const;

private:
  explicit ChatTemplate(void *handle) : handle(handle) {}
  void *handle;
};

/// Whether a JSON object of a template's variables contains tools.
bool givesTools(std::string_view variablesJson);

/// Streams the text of ids in whole characters: the bytes of an unfinished UTF-8 character are held
/// back. All pieces and flush(), joined, equal decode(all ids).
class StreamDecoder {
public:
  /// `tokenizer` must outlive this. `continuation`: the ids follow a prompt, so that no leading
  /// space is dropped (as completions require).
  explicit StreamDecoder(const Tokenizer &tokenizer, bool skipSpecial = true,
                         bool continuation = false);
  std::string push(int32_t id); ///< the text that can be shown now; often empty
  std::string flush();          ///< the end: held text, with invalid bytes as U+FFFD

private:
  const Tokenizer &tokenizer;
  bool skipSpecial;
  bool dropSpace;
  std::string held;
};

/// Ends a text at the first stop string that appears, without ever showing the start of one.
class StopMatcher {
public:
  /// Empty strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  /// Takes the next piece; returns the text that is now known to precede any stop string. The stop
  /// string that is complete first wins (the longer of two at once), and no part of it or of the
  /// text after it is ever returned. How the text is cut into pieces makes no difference.
  std::string push(std::string_view piece);
  std::string flush(); ///< the end of the text: held text, unless stopped
  bool stopped() const { return matched; }
  const std::string &match() const { return found; } ///< the stop string that ended it

private:
  std::vector<std::string> stops;
  std::string held;
  std::string found;
  bool matched = false;
};

/// Converts to valid UTF-8: each maximal invalid part becomes one U+FFFD (Unicode 3.9, as in WHATWG
/// and Rust).
std::string replaceInvalidUtf8(std::string_view bytes);

} // namespace ingot::text

//===- Text.h - Converts between text and token ids at run time ----------===//
//
// Tokenizers, chat templates, streaming decoding and stop strings. The implementation uses
// established libraries (Hugging Face `tokenizers`, `minijinja`) behind one Rust crate with a C ABI
// (TextAbi.h); this header is its C++ interface.
//
// A tokenizer is built at compile time (TextBuild.h) and stored in the engine's tokenizer segment.
// It starts fast because the vocabulary is not parsed but read in place, and only the pages that a
// text needs are touched.
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
/// An unmodified tokenizer.json, for other models than BPE. It starts slowly.
inline constexpr std::string_view kHfJson = "hf-json";

/// The name of the chat template for requests with tools, as in transformers, if there are several
/// templates.
inline constexpr std::string_view kToolTemplate = "tool_use";

/// Sets a function that is called on the allocating thread when an allocation of Rust fails, before
/// Rust aborts. `report` may end the process with a better message, and must not allocate.
void onOutOfMemory(void (*report)());

/// Names of a tokenizer's tokens and their strings, such as "pad_token" and "<pad>", from its files.
using NamedTokens = std::vector<std::pair<std::string, std::string>>;

/// Ids with a special meaning; -1: the tokenizer has none.
struct SpecialTokens {
  int32_t bos = -1;
  std::vector<int32_t>
      eos; ///< each of these tokens ends a generation; no duplicates, main one first
  int32_t pad = -1;
  int32_t unknown = -1;
  /// A plain prompt starts with these tokens, bos or others (encode never adds them).
  std::vector<int32_t> prefix;
  /// A text to be embedded ends with these tokens. A prompt does not, because text after them would be a new text.
  std::vector<int32_t> suffix;
  NamedTokens names; ///< tokens that chat templates may use
};

class Tokenizer {
public:
  /// Opens a tokenizer segment. `bytes` are not copied and must outlive the tokenizer (the engine's
  /// mapping does). Fails with E0601 if the kind is unknown, and with E0602 if the segment is damaged.
  static Result<std::unique_ptr<Tokenizer>> fromBytes(std::string_view kind,
                                                      std::span<const std::byte> bytes);
  ~Tokenizer();
  Tokenizer(const Tokenizer &) = delete;
  Tokenizer &operator=(const Tokenizer &) = delete;

  /// Returns the token ids of a text; never adds BOS or EOS. With `parseSpecial`, a string of a special token in the
  /// text ("<|im_start|>") becomes the token's single id. Without it, the string is plain text, because text that a
  /// user typed inside a chat must not open a turn. Bytes that are not UTF-8 are read as U+FFFD. Fails with E0603 if
  /// the text is over 16 MiB, and with E0604 if the library failed.
  Result<std::vector<int32_t>> encode(std::string_view text, bool parseSpecial = true) const;
  /// Does the same as encode(), for a text that may have up to `most` ids. Returns nullopt if it has
  /// more. Where the tokenizer allows it, this is decided from the length of the text, or after
  /// slightly more than `most` ids (crate/src/bounds.rs), so that a text is not encoded in full only to
  /// be rejected.
  Result<std::optional<std::vector<int32_t>>> encodeWithin(std::string_view text, size_t most,
                                                           bool parseSpecial = true) const;

  /// Returns the bytes of one token, independent of its neighbours. They may be a part of a character, if the
  /// vocabulary has such tokens. For a special token, they are the token's own string. They are empty for an id outside
  /// the vocabulary. The result points into the tokenizer.
  std::string_view tokenBytes(int32_t id) const;

  /// Returns the text of a sequence. The bytes of its tokens are joined, the one leading space that the tokenizer
  /// inserted is dropped (dropsLeadingSpace), and invalid bytes become U+FFFD. Token ids outside the vocabulary have no
  /// text.
  std::string decode(std::span<const int32_t> ids, bool skipSpecial = true) const;

  int32_t vocabSize() const;        ///< one more than the largest id
  bool isSpecial(int32_t id) const; ///< the id is a control token, which decode(skipSpecial) omits
  bool dropsLeadingSpace() const;   ///< the first text of a sequence loses one leading space
  /// Returns the id of a token as the vocabulary spells it ("<|im_end|>", "Ġthe").
  std::optional<int32_t> idOf(std::string_view token) const;

private:
  friend class ChatTemplate;
  friend class Vocabulary;
  explicit Tokenizer(void *handle) : handle(handle) {}
  void *handle;
};

/// A chat template (Jinja, rendered as in Hugging Face transformers). Limits: 1 MiB of source, 10 M
/// instructions, 4 MiB of output, 128 levels of recursion. Some variables have defaults
/// (docs/serving.md): `date_string` and `datetime` are today's date, and `enable_thinking` is true for a
/// template that uses it only as `not enable_thinking`.
class ChatTemplate {
public:
  /// Fails with E0610, which has the template's line, for a syntax error or a filter, test, function or
  /// method that does not exist. Fails with E0611 if the source is too large.
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
    /// The text ends within the last message, after its content, so that the answer continues the message.
    /// There is no generation prompt. Rendering fails with E0614 if that message has no text, and with
    /// E0612 if the template does not render it in full.
    bool continueFinalMessage = false;
  };
  /// Returns whether the template reads this variable. If it does not read "tools", it cannot show them
  /// to the model.
  bool uses(std::string_view variable) const;

  using Message = std::pair<std::string, std::string>; ///< role, content

  /// Renders messages. `messagesJson`: a JSON array of messages. Fails with E0612 if the template failed, or rejected
  /// the messages by raise_exception. `why` then has the message of the exception. Fails with E0613 if a limit was
  /// exceeded, and with E0614 if the messages are not JSON or have the wrong shape.
  Result<std::string> render(std::string_view messagesJson, const Options &options) const;
  Result<std::string> render(const std::vector<Message> &messages, const Options &options) const;

  struct Encoded {
    std::string text;
    std::vector<int32_t> ids;
    bool tooLong = false; ///< the text has more ids than the limit; `ids` is empty
  };
  /// Renders and encodes messages. Control tokens that the template writes become their ids. Control
  /// tokens in messages and variables stay text, so that no content opens or ends a turn. So do the
  /// template's tags ("<tool_call>") in messages of users and tools (crate/src/guard.rs). If messages and variables
  /// contain no control tokens and no tags, the result equals encode(render()). Errors: all errors of encode() and
  /// render(). A long text with more than `most` ids is reported as too long without computing all ids, as in
  /// Tokenizer::encodeWithin(). A short text is always encoded.
  Result<Encoded> encode(const Tokenizer &tokenizer, std::string_view messagesJson,
                         const Options &options, size_t most = SIZE_MAX) const;
  Result<Encoded> encode(const Tokenizer &tokenizer, const std::vector<Message> &messages,
                         const Options &options) const;

private:
  explicit ChatTemplate(void *handle) : handle(handle) {}
  void *handle;
};

/// Returns whether a JSON object of a template's variables contains tools.
bool givesTools(std::string_view variablesJson);

/// Streams the text of ids in whole characters. The bytes of an unfinished UTF-8 character are held
/// back. All pieces and the result of flush(), joined, equal decode(all ids).
class StreamDecoder {
public:
  /// `tokenizer` must outlive this object. `continuation`: the ids follow a prompt, so no leading space
  /// is dropped.
  explicit StreamDecoder(const Tokenizer &tokenizer, bool skipSpecial = true,
                         bool continuation = false);
  std::string push(int32_t id); ///< returns the text that can be shown now, which is often empty
  std::string flush();          ///< returns the held text at the end, with invalid bytes as U+FFFD

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

  /// Takes the next piece, and returns the text that is now known to precede any stop string. The stop
  /// string that is complete first wins; if two are complete at once, the longer one does. No part of it
  /// or of the text after it is ever returned. The result does not depend on how the text is cut into
  /// pieces.
  std::string push(std::string_view piece);
  std::string flush(); ///< returns the held text at the end, unless a stop string ended the text
  bool stopped() const { return matched; }
  const std::string &match() const { return found; } ///< the stop string that ended the text

private:
  std::vector<std::string> stops;
  std::string held;
  std::string found;
  bool matched = false;
};

/// Converts bytes to valid UTF-8. Each maximal invalid part becomes one U+FFFD (Unicode 3.9, as in
/// WHATWG and Rust).
std::string replaceInvalidUtf8(std::string_view bytes);

} // namespace ingot::text

//===- Grammar.h - Constrains answers to a grammar --------------------------===//
//
// Before each token, a constraint determines which ids may come next; the sampler considers only
// those. The implementation is llguidance's, called through the Rust crate.
//
//   schema, regex, grammar --compile--> Grammar --start--> Constraint, one per sequence
//                                                            allowed() -> bits; sampler; accept(id)
//
// A Vocabulary is built once per engine, when the first constraint is requested (it is a trie of
// all tokens). Compilation is limited in size, depth and time; a mask in work. Vocabulary and
// Grammar may be used from several threads at once, a Constraint from only one at a time.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/Text.h"

namespace ingot::text {

enum class GrammarKind : uint8_t {
  JsonObject, ///< any JSON object; needs no source
  JsonSchema, ///< a JSON schema (as far as llguidance supports it; unsupported keywords are
              ///< rejected by name)
  Regex,      ///< matches the whole answer
  Lark,       ///< llguidance's Lark dialect
  Gbnf,       ///< llama.cpp's grammars, translated
  Choice,     ///< a JSON array of strings, one of which must be the answer
};

/// A trie of all tokens of a tokenizer.
class Vocabulary {
public:
  /// `vocab`: number of ids in the logits. `eos`: all ids that end an answer. The tokenizer must
  /// outlive this. E0624 if it has no tokens to build a trie from.
  static Result<std::unique_ptr<Vocabulary>> create(const Tokenizer &tokenizer, int32_t vocab,
                                                    std::span<const int32_t> eos);
  ~Vocabulary();

private:
  friend class Grammar;
  explicit Vocabulary(void *handle) : handle(handle) {}
  void *handle;
};

class Constraint {
public:
  Constraint(Constraint &&) noexcept;
  ~Constraint();
  /// One bit per id of the vocabulary: id i is bit i % 32 of word i / 32; it is set if the id may
  /// come next. An id that ends the answer is set if the grammar is complete. Valid until the next
  /// call. E0623 if the work limit was exceeded (the answer cannot continue).
  Result<std::span<const uint32_t>> allowed();
  /// Advances by the chosen id, which must have been allowed. E0623 as above.
  Result<void> accept(int32_t id);
  /// Whether only an end may follow.
  bool complete() const;
  /// An independent copy of the current state: for choices and beams.
  Constraint clone() const;

private:
  friend class Grammar;
  explicit Constraint(void *handle) : handle(handle) {}
  void *handle;
};

/// Checks whether this JSON schema can constrain answers. Errors: E0625 with the JSON pointer of the
/// fault in this schema, and no text other than the schema's own; E0622 (too large, too deep, or too
/// slow).
Result<void> checkSchema(std::string_view schema, bool closeObjects = false);
/// Closes the objects of the schema: an object that names keys and has no `additionalProperties`
/// allows no other keys, at every depth; parts of an `allOf` are closed together. Ollama, llama.cpp
/// and vLLM do the same, and OpenAI for `strict`. Errors as above; a schema that is already closed is
/// returned unchanged.
Result<std::string> closeObjects(std::string_view schema);

/// The regex for texts of a JSON schema's `format`; "" if the format is only an annotation, which
/// allows any text.
std::string formatPattern(std::string_view format);

class Grammar {
public:
  /// Errors: E0625 (not a grammar of that kind; `why` has the library's message and the place),
  /// E0622 (over 64 KiB, nested more than 64 deep, too large, or not compiled within 1.5 s).
  static Result<std::shared_ptr<const Grammar>> compile(const Vocabulary &vocabulary,
                                                        GrammarKind kind, std::string_view source);
  ~Grammar();
  Constraint start() const;

private:
  explicit Grammar(void *handle) : handle(handle) {}
  void *handle;
};

} // namespace ingot::text

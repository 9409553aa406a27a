//===- Grammar.h - Constrains answers to a grammar --------------------------===//
//
// Before each token, a constraint determines which tokens may come next. The sampler considers only
// these tokens. The implementation is llguidance's, called through the Rust crate.
//
//   schema, regex, grammar --compile--> Grammar --start--> Constraint, one per sequence
//                                                            allowed() -> bits; sampler; accept(id)
//
// A Vocabulary is a trie of all tokens. It is built once per engine, when the first constraint is
// requested. Compilation is limited in size, depth and time, and the computation of a mask in work.
// Vocabulary and Grammar may be used from several threads at once, a Constraint from only one at a
// time.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/Text.h"

namespace ingot::text {

enum class GrammarKind : uint8_t {
  JsonObject, ///< any JSON object; needs no source
  JsonSchema, ///< a JSON schema, as far as llguidance supports it; unsupported keywords are
              ///< rejected by name
  Regex,      ///< a regex that matches the whole answer
  Lark,       ///< llguidance's Lark dialect
  Gbnf,       ///< llama.cpp's grammars, translated
  Choice,     ///< a JSON array of strings, one of which must be the answer
};

/// A trie of all tokens of a tokenizer.
class Vocabulary {
public:
  /// `vocab`: number of tokens in the logits. `eos`: all tokens that end an answer. The tokenizer must outlive
  /// this object. Fails with E0624 if the tokenizer has no tokens to build a trie from.
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
  /// Returns one bit per token of the vocabulary, which is set if the token may come next. Id i is bit i % 32
  /// of word i / 32. The bit of a token that ends the answer is set if the grammar is complete. The result
  /// is valid until the next call. Fails with E0623 if the work limit is exceeded; the answer cannot
  /// continue then.
  Result<std::span<const uint32_t>> allowed();
  /// Advances by the chosen token, which must have been allowed. Fails with E0623 as allowed() does.
  Result<void> accept(int32_t id);
  /// Returns whether only the end may follow.
  bool complete() const;
  /// Returns an independent copy of the current state, for choices and beams.
  Constraint clone() const;

private:
  friend class Grammar;
  explicit Constraint(void *handle) : handle(handle) {}
  void *handle;
};

/// Checks whether this JSON schema can constrain answers. Fails with E0625, which has the JSON pointer
/// of the fault and quotes no text but the schema's, and with E0622 if the schema is too large, too
/// deep, or too slow to compile.
Result<void> checkSchema(std::string_view schema, bool closeObjects = false);
/// Closes the objects of the schema at every depth: an object that names keys and has no
/// `additionalProperties` then allows no other keys. Parts of an `allOf` are closed together. Ollama,
/// llama.cpp and vLLM do the same, and OpenAI does for `strict`. A schema that is already closed is
/// returned unchanged. Errors: all errors of checkSchema().
Result<std::string> closeObjects(std::string_view schema);

/// Returns the regex for texts of a JSON schema's `format`; "" if the format is only an annotation,
/// which allows any text.
std::string formatPattern(std::string_view format);

class Grammar {
public:
  /// Fails with E0625 if the source is not a grammar of that kind; `why` has the library's message and
  /// the place. Fails with E0622 if the source is over 64 KiB, nested more than 64 deep, too large, or
  /// not compiled within 1.5 s.
  static Result<std::shared_ptr<const Grammar>> compile(const Vocabulary &vocabulary,
                                                        GrammarKind kind, std::string_view source);
  ~Grammar();
  Constraint start() const;

private:
  explicit Grammar(void *handle) : handle(handle) {}
  void *handle;
};

} // namespace ingot::text

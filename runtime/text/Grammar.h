//===- Grammar.h - Answers that must match a grammar ------------------------===//
//
// A constraint says, before each token, which ids may come next; the sampler looks at no others.
// The work is llguidance's, behind the Rust crate.
//
//   schema, regex, grammar --compile--> Grammar --start--> Constraint, one per sequence
//                                                            allowed() -> bits; sampler; accept(id)
//
// A Vocabulary is built once per engine, when the first constraint is asked for (it is a trie of
// all tokens). Compiling is bounded in size, depth and time; a mask in work. Vocabulary and Grammar
// may be used from several threads at once, a Constraint from one at a time.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/Text.h"

namespace ingot::text {

enum class GrammarKind : uint8_t {
  JsonObject, ///< any JSON object; no source
  JsonSchema, ///< a JSON schema (what llguidance supports of it; the rest is refused by name)
  Regex,      ///< of the whole answer
  Lark,       ///< llguidance's Lark dialect
  Gbnf,       ///< llama.cpp's grammars, translated
  Choice,     ///< a JSON array of strings, one of which is the answer
};

/// Of sources: 64 KiB, nesting of 64, 2 s to compile (S13 of the tests).
class Vocabulary {
public:
  /// `vocab`: ids that logits have. `eos`: ids that end an answer, each of them.
  /// The tokenizer must outlive this. E0624 if it has no tokens to make a trie of.
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
  /// One bit per id of the vocabulary, id i at word i / 32, bit i % 32; set: it may come next. An
  /// id that ends the answer is set where the grammar is complete. Valid until the next call. E0623
  /// if the work limit was hit (the answer cannot go on).
  Result<std::span<const uint32_t>> allowed();
  /// Takes the id that was chosen, which must have been allowed. E0623 as above.
  Result<void> accept(int32_t id);
  /// Nothing but an end may follow.
  bool complete() const;
  /// As if nothing had been accepted since `this` was copied: for choices and beams.
  Constraint clone() const;

private:
  friend class Grammar;
  explicit Constraint(void *handle) : handle(handle) {}
  void *handle;
};

/// Whether answers can be bound by this JSON schema. Errors: E0625 with the JSON pointer of the place
/// in this schema, and no text but its own; E0622 (too large, too deep, or too slow).
Result<void> checkSchema(std::string_view schema, bool closeObjects = false);
/// The schema with its objects closed: one that names keys and does not say `additionalProperties`
/// has no others, at every depth; parts of an `allOf` are closed together. What Ollama, llama.cpp and
/// vLLM do, and OpenAI for `strict`. Errors as above; of a schema that is closed, the same.
Result<std::string> closeObjects(std::string_view schema);

/// The regex of texts of a JSON schema's `format`; "": of any, as the format is but an annotation.
std::string formatPattern(std::string_view format);

class Grammar {
public:
  /// Errors: E0625 (not a grammar of that kind: the library's words and the place in `why`), E0622
  /// (too large, too deep, or too slow to compile).
  static Result<std::shared_ptr<const Grammar>> compile(const Vocabulary &vocabulary,
                                                        GrammarKind kind, std::string_view source);
  ~Grammar();
  Constraint start() const;

private:
  explicit Grammar(void *handle) : handle(handle) {}
  void *handle;
};

} // namespace ingot::text

//===- TextAbi.h - The C side of the Rust crate in crate/ ----------------===//
//
// This room and compiler/text include it. Texts go in as pointer and length; results come out
// through a sink that is called before the function returns, so that no memory
// changes owner. No function unwinds.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct IngotTextSlice {
  const void *data;
  size_t size;
};

/// `sink(context, data, size)` appends; it must not throw.
struct IngotTextOutput {
  void *context;
  void (*sink)(void *context, const uint8_t *data, size_t size);
};

/// The texts of a tokenizer's files; empty: there is none. tokenizer.json is needed.
struct IngotTokenizerFiles {
  IngotTextSlice tokenizer, config, specialMap, added;
};

/// Files of a tokenizer without a tokenizer.json; empty: there is none. `modelType`: config.json's.
struct IngotVocabularyFiles {
  IngotTextSlice config, modelType, model, vocab, merges, tekken;
};

enum IngotTextStatus : int32_t {
  INGOT_TEXT_OK,
  INGOT_TEXT_DAMAGED,   // the segment or tokenizer.json cannot be read
  INGOT_TEXT_FAILED,    // the library or the template says no
  INGOT_TEXT_SYNTAX,    // the template does not parse
  INGOT_TEXT_TOO_LARGE, // source limit, or more ids than asked for
  INGOT_TEXT_LIMIT,     // fuel, output or memory limit
  INGOT_TEXT_INPUT,     // messages or variables are not the JSON that is needed
  INGOT_TEXT_PANIC,     // a bug in the crate
};

void ingot_text_on_out_of_memory(void (*report)());

/// The segment stays readable until close.
int32_t ingot_tokenizer_open(IngotTextSlice segment, void **tokenizer, IngotTextOutput error);
void ingot_tokenizer_close(void *tokenizer);
/// Gives native-endian u32 ids as bytes. More than `most` of them: INGOT_TEXT_TOO_LARGE, and none
/// are given; SIZE_MAX: as many as there are.
int32_t ingot_tokenizer_encode(const void *tokenizer, IngotTextSlice text, bool parseSpecial,
                               size_t most, IngotTextOutput ids, IngotTextOutput error);
IngotTextSlice ingot_tokenizer_token(const void *tokenizer, uint32_t id);
bool ingot_tokenizer_is_special(const void *tokenizer, uint32_t id);
uint32_t ingot_tokenizer_size(const void *tokenizer);
bool ingot_tokenizer_drops_space(const void *tokenizer);
int64_t ingot_tokenizer_id(const void *tokenizer, IngotTextSlice token);
/// `special`: a JSON object of what the files name: {"names": {"eos_token": "</s>", …}, and ids before
/// and behind a text, "prefix": [1], "suffix": []}.
int32_t ingot_tokenizer_compile(const IngotTokenizerFiles *files, bool libraryModel, bool *isFlat,
                                IngotTextOutput segment, IngotTextOutput special,
                                IngotTextOutput error);

/// What stands in for tokenizer.json and tokenizer_config.json, and of which files it was made, for people.
/// INGOT_TEXT_FAILED: none can be made; `error` says why.
int32_t ingot_tokenizer_convert(const IngotVocabularyFiles *files, IngotTextOutput tokenizer,
                                IngotTextOutput config, IngotTextOutput source,
                                IngotTextOutput error);

int32_t ingot_template_parse(IngotTextSlice source, void **chatTemplate, IngotTextOutput error);
void ingot_template_close(void *chatTemplate);
/// `tokens`: a JSON object of the tokenizer's named tokens.
int32_t ingot_template_render(const void *chatTemplate, IngotTextSlice messages,
                              IngotTextSlice tokens, IngotTextSlice variables, bool continued,
                              IngotTextOutput text, IngotTextOutput error);
/// As render, and encoded: control tokens in messages and variables are text. A long text of more
/// than `most` ids: INGOT_TEXT_TOO_LARGE, and the text alone.
int32_t ingot_template_encode(const void *chatTemplate, const void *tokenizer,
                              IngotTextSlice messages, IngotTextSlice tokens,
                              IngotTextSlice variables, bool continued, size_t most,
                              IngotTextOutput text, IngotTextOutput ids, IngotTextOutput error);
bool ingot_template_uses(const void *chatTemplate, IngotTextSlice variable);

/// Ids of logits; `eos`: those that end an answer, as int32_t. Reads the tokenizer and keeps nothing of it.
int32_t ingot_vocabulary_open(const void *tokenizer, uint32_t ids, IngotTextSlice eos,
                              void **vocabulary, IngotTextOutput error);
void ingot_vocabulary_close(void *vocabulary);
/// `kind`: GrammarKind. SYNTAX, TOO_LARGE or PANIC. What is compiled keeps the vocabulary.
int32_t ingot_grammar_compile(const void *vocabulary, uint8_t kind, IngotTextSlice source,
                              void **grammar, IngotTextOutput error);
/// Whether a schema can bind answers: SYNTAX with the place in it, TOO_LARGE or PANIC.
int32_t ingot_schema_check(IngotTextSlice schema, bool closeObjects, IngotTextOutput error);
/// The schema with its objects closed; errors as above.
int32_t ingot_schema_close(IngotTextSlice schema, IngotTextOutput closed, IngotTextOutput error);
/// The regex of a text of that JSON Schema format; nothing: it binds nothing. PANIC.
int32_t ingot_format_pattern(IngotTextSlice format, IngotTextOutput pattern, IngotTextOutput error);
void ingot_grammar_close(void *grammar);
int32_t ingot_grammar_start(const void *grammar, void **constraint, IngotTextOutput error);
/// LIMIT or PANIC; `words`: their number is the size. They stay until the constraint is next used.
int32_t ingot_constraint_allowed(void *constraint, IngotTextSlice *words, IngotTextOutput error);
int32_t ingot_constraint_accept(void *constraint, uint32_t id, IngotTextOutput error);
bool ingot_constraint_complete(const void *constraint);
int32_t ingot_constraint_clone(const void *constraint, void **copy, IngotTextOutput error);
void ingot_constraint_close(void *constraint);
}

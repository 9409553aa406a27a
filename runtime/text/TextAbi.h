//===- TextAbi.h - The C interface of the Rust crate in crate/ -----------===//
//
// This folder and compiler/text include this header. Texts are passed as pointer and length. Results
// are returned through a sink that is called before the function returns, so that no memory changes
// its owner. No function unwinds.
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

/// The texts of a tokenizer's files. An empty slice means that there is no such file. tokenizer.json
/// is required.
struct IngotTokenizerFiles {
  IngotTextSlice tokenizer, config, specialMap, added;
};

/// Files of a tokenizer without a tokenizer.json. An empty slice means that there is no such file.
/// `modelType` is from config.json.
struct IngotVocabularyFiles {
  IngotTextSlice config, modelType, model, vocab, merges, tekken;
};

enum IngotTextStatus : int32_t {
  INGOT_TEXT_OK,
  INGOT_TEXT_DAMAGED,   // the segment or tokenizer.json cannot be read
  INGOT_TEXT_FAILED,    // the library or the template rejects the input
  INGOT_TEXT_SYNTAX,    // the template does not parse
  INGOT_TEXT_TOO_LARGE, // source limit, or more ids than `most`
  INGOT_TEXT_LIMIT,     // fuel, output or memory limit
  INGOT_TEXT_INPUT,     // messages or variables are not JSON of the required shape
  INGOT_TEXT_PANIC,     // a bug in the crate
};

void ingot_text_on_out_of_memory(void (*report)());

/// The segment must stay readable until close.
int32_t ingot_tokenizer_open(IngotTextSlice segment, void **tokenizer, IngotTextOutput error);
void ingot_tokenizer_close(void *tokenizer);
/// Writes native-endian u32 ids as bytes. Returns INGOT_TEXT_TOO_LARGE, without ids, if there are more
/// than `most` ids; SIZE_MAX: no limit.
int32_t ingot_tokenizer_encode(const void *tokenizer, IngotTextSlice text, bool parseSpecial,
                               size_t most, IngotTextOutput ids, IngotTextOutput error);
IngotTextSlice ingot_tokenizer_token(const void *tokenizer, uint32_t id);
bool ingot_tokenizer_is_special(const void *tokenizer, uint32_t id);
uint32_t ingot_tokenizer_size(const void *tokenizer);
bool ingot_tokenizer_drops_space(const void *tokenizer);
int64_t ingot_tokenizer_id(const void *tokenizer, IngotTextSlice token);
/// `special` receives a JSON object with the tokens that the files name, and with the ids before and after
/// a text: {"names": {"eos_token": "</s>", …}, "prefix": [1], "suffix": []}.
int32_t ingot_tokenizer_compile(const IngotTokenizerFiles *files, bool libraryModel, bool *isFlat,
                                IngotTextOutput segment, IngotTextOutput special,
                                IngotTextOutput error);

/// Builds replacements for tokenizer.json and tokenizer_config.json. `source` receives a readable
/// description of the files that they were built from. Returns INGOT_TEXT_FAILED if they cannot be built;
/// `error` then has the reason.
int32_t ingot_tokenizer_convert(const IngotVocabularyFiles *files, IngotTextOutput tokenizer,
                                IngotTextOutput config, IngotTextOutput source,
                                IngotTextOutput error);

int32_t ingot_template_parse(IngotTextSlice source, void **chatTemplate, IngotTextOutput error);
void ingot_template_close(void *chatTemplate);
/// `tokens`: a JSON object of the tokenizer's named tokens.
int32_t ingot_template_render(const void *chatTemplate, IngotTextSlice messages,
                              IngotTextSlice tokens, IngotTextSlice variables, bool continued,
                              IngotTextOutput text, IngotTextOutput error);
/// Renders and encodes messages. Control tokens in messages and variables are text. For a long text with
/// more than `most` ids, returns INGOT_TEXT_TOO_LARGE and only the text.
int32_t ingot_template_encode(const void *chatTemplate, const void *tokenizer,
                              IngotTextSlice messages, IngotTextSlice tokens,
                              IngotTextSlice variables, bool continued, size_t most,
                              IngotTextOutput text, IngotTextOutput ids, IngotTextOutput error);
bool ingot_template_uses(const void *chatTemplate, IngotTextSlice variable);

/// `ids`: number of ids in the logits; `eos`: ids that end an answer, as int32_t. Reads the tokenizer and
/// keeps no reference to it.
int32_t ingot_vocabulary_open(const void *tokenizer, uint32_t ids, IngotTextSlice eos,
                              void **vocabulary, IngotTextOutput error);
void ingot_vocabulary_close(void *vocabulary);
/// `kind`: a GrammarKind. Fails with SYNTAX, TOO_LARGE or PANIC. The compiled grammar keeps the vocabulary
/// alive.
int32_t ingot_grammar_compile(const void *vocabulary, uint8_t kind, IngotTextSlice source,
                              void **grammar, IngotTextOutput error);
/// Checks whether a schema can constrain answers. Fails with SYNTAX and the place of the fault, TOO_LARGE
/// or PANIC.
int32_t ingot_schema_check(IngotTextSlice schema, bool closeObjects, IngotTextOutput error);
/// Writes the schema with its objects closed. Errors: all errors of ingot_schema_check().
int32_t ingot_schema_close(IngotTextSlice schema, IngotTextOutput closed, IngotTextOutput error);
/// Writes the regex for a text of that JSON Schema format; empty if it does not constrain the text. Fails
/// with PANIC.
int32_t ingot_format_pattern(IngotTextSlice format, IngotTextOutput pattern, IngotTextOutput error);
void ingot_grammar_close(void *grammar);
int32_t ingot_grammar_start(const void *grammar, void **constraint, IngotTextOutput error);
/// Fails with LIMIT or PANIC. The size in `words` is a number of words, not bytes. They stay valid until
/// the constraint is used again.
int32_t ingot_constraint_allowed(void *constraint, IngotTextSlice *words, IngotTextOutput error);
int32_t ingot_constraint_accept(void *constraint, uint32_t id, IngotTextOutput error);
bool ingot_constraint_complete(const void *constraint);
int32_t ingot_constraint_clone(const void *constraint, void **copy, IngotTextOutput error);
void ingot_constraint_close(void *constraint);
}

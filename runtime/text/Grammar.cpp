//===- Grammar.cpp - Constraints over the Rust crate ----------------------===//

#include "runtime/text/Grammar.h"
#include "runtime/text/CrateCalls.h"

namespace ingot::text {

namespace {

const char *nameOf(GrammarKind kind) {
  switch (kind) {
  case GrammarKind::JsonObject:
    return "JSON object";
  case GrammarKind::JsonSchema:
    return "JSON schema";
  case GrammarKind::Regex:
    return "regex";
  case GrammarKind::Lark:
    return "Lark grammar";
  case GrammarKind::Gbnf:
    return "GBNF grammar";
  case GrammarKind::Choice:
    return "choice";
  }
  return "grammar";
}

/// Returns the error for a source that cannot be used.
Error refused(GrammarKind kind, int32_t status, std::string why) {
  switch (status) {
  case INGOT_TEXT_TOO_LARGE:
    return Error{ExitCode::Usage, "E0622", std::string("the ") + nameOf(kind) + " is too large",
                 std::move(why), "make it smaller"};
  case INGOT_TEXT_PANIC:
    return crateFailed(std::move(why));
  default:
    return Error{ExitCode::Usage, "E0625", std::string("the ") + nameOf(kind) + " cannot be used",
                 std::move(why), "docs/structured-output.md lists what is supported"};
  }
}

Error stopped(int32_t status, std::string why) {
  if (status == INGOT_TEXT_PANIC)
    return crateFailed(std::move(why));
  return {ExitCode::Usage, "E0623", "no further token is allowed by the grammar", std::move(why),
          "give a simpler grammar"};
}

} // namespace

Result<std::unique_ptr<Vocabulary>> Vocabulary::create(const Tokenizer &tokenizer, int32_t vocab,
                                                       std::span<const int32_t> eos) {
  void *handle = nullptr;
  std::string why;
  int32_t status =
      ingot_vocabulary_open(tokenizer.handle, static_cast<uint32_t>(std::max(vocab, 0)),
                            {eos.data(), eos.size_bytes()}, &handle, appendTo(why));
  if (status == INGOT_TEXT_PANIC)
    return crateFailed(why);
  if (status != INGOT_TEXT_OK)
    return Error{ExitCode::File, "E0624", "this vocabulary cannot constrain answers", why,
                 "omit response_format and grammars, or compile the engine with its tokenizer"};
  return std::unique_ptr<Vocabulary>(new Vocabulary(handle));
}

Vocabulary::~Vocabulary() { ingot_vocabulary_close(handle); }

Result<std::shared_ptr<const Grammar>> Grammar::compile(const Vocabulary &vocabulary,
                                                        GrammarKind kind, std::string_view source) {
  void *handle = nullptr;
  std::string why;
  int32_t status = ingot_grammar_compile(vocabulary.handle, static_cast<uint8_t>(kind),
                                         {source.data(), source.size()}, &handle, appendTo(why));
  if (status != INGOT_TEXT_OK)
    return refused(kind, status, std::move(why));
  return std::shared_ptr<const Grammar>(new Grammar(handle));
}

Result<void> checkSchema(std::string_view schema, bool closeObjects) {
  std::string why;
  int32_t status = ingot_schema_check({schema.data(), schema.size()}, closeObjects, appendTo(why));
  if (status != INGOT_TEXT_OK)
    return refused(GrammarKind::JsonSchema, status, std::move(why));
  return {};
}

Result<std::string> closeObjects(std::string_view schema) {
  std::string closed, why;
  int32_t status =
      ingot_schema_close({schema.data(), schema.size()}, appendTo(closed), appendTo(why));
  if (status != INGOT_TEXT_OK)
    return refused(GrammarKind::JsonSchema, status, std::move(why));
  return closed;
}

std::string formatPattern(std::string_view format) {
  std::string pattern, why;
  ingot_format_pattern({format.data(), format.size()}, appendTo(pattern), appendTo(why));
  return pattern;
}

Grammar::~Grammar() { ingot_grammar_close(handle); }

Constraint Grammar::start() const {
  void *constraint = nullptr;
  std::string why; // unused: an empty constraint reports the failure itself
  ingot_grammar_start(handle, &constraint, appendTo(why));
  return Constraint(constraint);
}

Constraint::Constraint(Constraint &&other) noexcept
    : handle(std::exchange(other.handle, nullptr)) {}

Constraint::~Constraint() {
  if (handle)
    ingot_constraint_close(handle);
}

Result<std::span<const uint32_t>> Constraint::allowed() {
  if (!handle)
    return crateFailed("the constraint was not made");
  IngotTextSlice words{};
  std::string why;
  if (int32_t status = ingot_constraint_allowed(handle, &words, appendTo(why));
      status != INGOT_TEXT_OK)
    return stopped(status, why);
  return std::span<const uint32_t>(static_cast<const uint32_t *>(words.data), words.size);
}

Result<void> Constraint::accept(int32_t id) {
  if (!handle)
    return crateFailed("the constraint was not made");
  std::string why;
  if (int32_t status = ingot_constraint_accept(handle, static_cast<uint32_t>(id), appendTo(why));
      status != INGOT_TEXT_OK)
    return stopped(status, why);
  return {};
}

bool Constraint::complete() const { return handle && ingot_constraint_complete(handle); }

Constraint Constraint::clone() const {
  void *copy = nullptr;
  std::string why;
  if (handle)
    ingot_constraint_clone(handle, &copy, appendTo(why));
  return Constraint(copy);
}

} // namespace ingot::text

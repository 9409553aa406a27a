//===- Tokenize.cpp - ingot tokenize: the ids of a text --------------------===//
#include "runtime/engine/EngineFile.h"
#include "runtime/text/Text.h"
#include "tools/files/Files.h"
#include "tools/files/Json.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/engines/EngineOptions.h"
#include "tools/terminal/Console.h"

namespace ingot::cli {

namespace {

struct TokenizeOptions {
  EngineOptions engine;
  std::optional<std::string> text;
  std::string textFile = "-";
  bool noSpecial = false;
  bool lines = false;
};

/// Encodes text as a plain prompt is encoded.
struct Encoder {
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::vector<int32_t> prefix; ///< token ids placed first

  Result<std::vector<int32_t>> ids(std::string_view text) const {
    auto ids = tokenizer->encode(text);
    if (ids)
      ids->insert(ids->begin(), prefix.begin(), prefix.end());
    return ids;
  }
};

/// Prints one JSON object per line and flushes each, so a consumer need not wait for the last.
Result<int> tokenizeLines(const Encoder &encoder, std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    auto ids = encoder.ids(text.substr(0, end));
    if (!ids)
      return ids.error();
    emit(JsonObject().field("ids", *ids).str() + "\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 0;
}

Result<int> tokenize(const TokenizeOptions &options) {
  std::string text = options.text.value_or("");
  if (!options.text) {
    auto bytes = readFile(options.textFile);
    if (!bytes)
      return bytes.error();
    text = std::move(*bytes);
  }
  auto path = options.engine.enginePath();
  if (!path)
    return path.error();
  auto engine =
      runtime::EngineFile::open(*path, options.engine.verify ? runtime::VerifyLevel::Everything
                                                             : runtime::VerifyLevel::Table);
  if (!engine)
    return engine.error();
  const fb::Text *table = (*engine)->table().text();
  if ((*engine)->tokenizer().empty() || !table || !table->tokenizer_kind())
    return Error{ExitCode::Usage, "E0520", "this engine has no tokenizer",
                 "the checkpoint that it was made from had none", ""};
  auto tokenizer =
      text::Tokenizer::fromBytes(table->tokenizer_kind()->string_view(), (*engine)->tokenizer());
  if (!tokenizer)
    return tokenizer.error();
  Encoder encoder{std::move(*tokenizer)};
  if (!options.noSpecial)
    encoder.prefix = (*engine)->textPrefix();
  if (options.lines)
    return tokenizeLines(encoder, text);
  auto ids = encoder.ids(text);
  if (!ids)
    return ids.error();
  if (options.engine.common.json) {
    emit(JsonObject().field("ids", *ids).str() + "\n");
    return 0;
  }
  for (int32_t id : *ids)
    emit(std::to_string(id) + "\t" +
         jsonQuote(text::replaceInvalidUtf8(encoder.tokenizer->tokenBytes(id))) + "\n");
  return 0;
}

} // namespace

Action defineTokenize(CommandLine &command) {
  auto options = std::make_shared<TokenizeOptions>();
  options->engine.define(command);
  command.remove(command.find("--trace")); // no engine runs
  auto text = command.option("--text", options->text, "the text");
  command.option("--text-file", options->textFile, "a file of text; - is stdin (default)")
      .excludes(text);
  command.flag("--no-special", options->noSpecial,
               "add no special tokens (default: BOS, or whatever a plain prompt starts with)");
  command.flag("--lines", options->lines,
               "treat each line as a text and print its ids, one JSON object per line");
  command.examples("  ingot tokenize smollm2.ingot --text \"Hello, world!\"\n"
                   "  ingot tokenize smollm2.ingot --text-file page.txt --no-special --json\n"
                   "  ingot tokenize smollm2.ingot --lines < questions.txt\n"
                   "Special tokens in the text (<|im_start|>) are encoded as one id.\n");
  return [options] { return tokenize(*options); };
}

} // namespace ingot::cli

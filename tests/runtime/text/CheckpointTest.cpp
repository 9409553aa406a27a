// Tests the real vocabularies, SmolLM2's byte-level BPE and Gemma's SentencePiece, read from the GGUF
// files that `dev` fetches, against HF's ids and, on random texts, against HF's own model.

#include "Sampling.h"
#include "SchemaCheck.h"
#include "compiler/import/OpenCheckpoint.h"

#include <ctime>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>

using namespace ingot;
using namespace ingot::text;

namespace {

class Checkpoint : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    std::filesystem::path folder = INGOT_CHECKPOINT_DIR;
    file = folder / (std::string(GetParam()) + ".gguf");
    if (!std::filesystem::exists(folder))
      GTEST_SKIP() << folder << " is not there: `./dev test` fetches the checkpoints";
    ASSERT_TRUE(std::filesystem::exists(file)) << file << " is missing";
    auto opened = import::openCheckpoint(file);
    ASSERT_TRUE(opened) << opened.error().format();
    checkpoint = *opened;
    auto built = buildTokenizer(*checkpoint);
    ASSERT_TRUE(built) << built.error().format();
    ASSERT_TRUE(built->has_value());
    artifact = std::move(**built);
    EXPECT_EQ(artifact.kind, kFlatBpe);
    auto made = Tokenizer::fromBytes(artifact.kind, std::as_bytes(std::span(artifact.bytes)));
    ASSERT_TRUE(made) << made.error().format();
    tokenizer = std::move(*made);
    golden = parser.load(goldens::path(std::string(GetParam()) + ".json"));
  }

  std::string file;
  std::shared_ptr<import::Checkpoint> checkpoint;
  TokenizerArtifact artifact;
  std::unique_ptr<Tokenizer> tokenizer;
  simdjson::dom::parser parser;
  simdjson::dom::element golden;
};

/// Returns a random mixture of words, scripts, spaces, special tokens and bytes.
std::string randomText(std::mt19937 &random, const Tokenizer &tokenizer) {
  static constexpr std::pair<unsigned, unsigned> kScripts[] = {
      {0x20, 0x7F},       {0x20, 0x7F},       {0x20, 0x7F},       {0x01, 0x20},
      {0x80, 0x250},      {0x300, 0x370},     {0x370, 0x530},     {0x590, 0x700},
      {0x900, 0xA00},     {0xE00, 0xE80},     {0x1100, 0x1200},   {0x2000, 0x2100},
      {0x2150, 0x2190},   {0x2460, 0x2500},   {0x3000, 0x3100},   {0x4E00, 0xA000},
      {0xAC00, 0xD7A4},   {0xFE00, 0xFE10},   {0xFF00, 0xFFEF},   {0x1D400, 0x1D800},
      {0x1F1E6, 0x1F200}, {0x1F300, 0x1F700}, {0x20000, 0x20100}, {0xE0020, 0xE0080}};
  static constexpr const char *kSpaces[] = {" ",    "  ",   "\n",     "\n\n",   "\t",
                                            "    ", "\r\n", "\u00A0", "\u3000", " \n  "};
  static constexpr const char *kTricky[] = {"I'm",   "it'S", "WE'LL", " 12345",  "  7",
                                            "\n\n1", " ½",   "²٣",    "e\u0301", "...!?",
                                            "<",     "|>",   "▁"};
  auto below = [&](size_t n) { return random() % n; };
  std::string text;
  for (size_t parts = 1 + below(10); parts > 0; --parts) {
    switch (below(6)) {
    case 0:
      text += kSpaces[below(std::size(kSpaces))];
      break;
    case 1:
      text += kTricky[below(std::size(kTricky))];
      break;
    case 2: // any token's bytes, including special tokens and partial characters
      text += tokenizer.tokenBytes(static_cast<int32_t>(below(size_t(tokenizer.vocabSize()))));
      break;
    case 3: // the first ids, which include special tokens
      text += tokenizer.tokenBytes(static_cast<int32_t>(below(300)));
      break;
    default: {
      auto [first, last] = kScripts[below(std::size(kScripts))];
      for (size_t n = 1 + below(8); n > 0; --n) {
        char32_t c = first + unsigned(below(last - first));
        if (c < 0x80) {
          text += char(c);
        } else if (c < 0x800) {
          text += {char(0xC0 | c >> 6), char(0x80 | (c & 63))};
        } else if (c < 0x10000) {
          text += {char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
        } else {
          text += {char(0xF0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)),
                   char(0x80 | (c & 63))};
        }
      }
    }
    }
  }
  return text;
}

} // namespace

TEST_P(Checkpoint, givesTheGoldenIds) {
  for (simdjson::dom::element one : golden["tokenizer"].get_array()) {
    auto ids = tokenizer->encode(goldens::text(one["text"]));
    ASSERT_TRUE(ids) << ids.error().format();
    EXPECT_EQ(*ids, goldens::ids(one["ids"])) << goldens::text(one["text"]);
  }
  for (simdjson::dom::element one : golden["prompts"].get_array()) {
    auto ids = tokenizer->encode(goldens::text(one["text"]));
    ASSERT_TRUE(ids) << ids.error().format();
    ids->insert(ids->begin(), artifact.special.prefix.begin(), artifact.special.prefix.end());
    EXPECT_EQ(*ids, goldens::ids(one["ids"])) << goldens::text(one["text"]);
  }
  std::vector<int32_t> text = goldens::ids(golden["text_ids"]);
  auto again = tokenizer->encode(tokenizer->decode(text, false));
  ASSERT_TRUE(again) << again.error().format();
  EXPECT_EQ(*again, text);
}

TEST_P(Checkpoint, rendersAndTokenizesTheChat) {
  auto found = findChatTemplates(*checkpoint);
  ASSERT_TRUE(found) << found.error().format();
  simdjson::dom::element chat;
  ASSERT_EQ(!found->source.empty(), golden["chat"].get(chat) == simdjson::SUCCESS);
  if (found->source.empty())
    return;
  auto parsed = ChatTemplate::parse(found->source);
  ASSERT_TRUE(parsed) << parsed.error().format();
  auto text = (*parsed)->render(simdjson::minify(chat["messages"]), {});
  ASSERT_TRUE(text) << text.error().format();
  EXPECT_EQ(*text, goldens::text(chat["rendered"]));
  auto ids = tokenizer->encode(*text);
  ASSERT_TRUE(ids);
  EXPECT_EQ(*ids, goldens::ids(chat["ids"]));
}

TEST_P(Checkpoint, knowsTheSpecialIds) {
  bool gemma = std::string_view(GetParam()) == "gemma3";
  EXPECT_EQ(artifact.special.bos, gemma ? 2 : 1);
  // SmolLM2's template is ChatML; <|endoftext|> ends an answer as well.
  EXPECT_EQ(artifact.special.eos, gemma ? std::vector<int32_t>{1} : (std::vector<int32_t>{2, 0}));
  EXPECT_EQ(artifact.special.pad, gemma ? 0 : 2);
  EXPECT_EQ(artifact.special.unknown, gemma ? 3 : 0);
  EXPECT_EQ(artifact.special.prefix, gemma ? std::vector<int32_t>{2} : std::vector<int32_t>{});
  EXPECT_EQ(tokenizer->vocabSize(), gemma ? 262144 : 49152);
}

TEST_P(Checkpoint, tablesAgreeWithTheLibrarysOwnModel) {
  auto json = ggufToTokenizerJson(*checkpoint);
  ASSERT_TRUE(json) << json.error().format();
  auto library = compileTokenizerJson(*json, BpeForm::Library);
  ASSERT_TRUE(library) << library.error().format();
  ASSERT_EQ(library->kind, kHfJson);
  auto oracle = Tokenizer::fromBytes(library->kind, std::as_bytes(std::span(library->bytes)));
  ASSERT_TRUE(oracle) << oracle.error().format();
  std::mt19937 random(2026);
  for (int line = 0; line < 10000; ++line) {
    std::string text = randomText(random, *tokenizer);
    bool special = line % 4 != 0;
    auto expected = (*oracle)->encode(text, special);
    auto ids = tokenizer->encode(text, special);
    ASSERT_TRUE(expected && ids);
    ASSERT_EQ(*ids, *expected) << text;
  }
}

TEST_P(Checkpoint, answersMatchSchemas) {
  sampling::Words words(artifact, artifact.special.eos);
  const std::string schema =
      R"({"type":"object","properties":{"name":{"type":"string","maxLength":12},"n":{"type":"integer",
      "minimum":-5,"maximum":120},"kind":{"enum":["a","bé","日本"]},"list":{"type":"array","items":
      {"type":"boolean"},"maxItems":2}},"required":["name","kind","list"],"additionalProperties":false})";
  auto grammar = sampling::compile(words, GrammarKind::JsonSchema, schema);
  ASSERT_TRUE(grammar);
  std::mt19937 random(4);
  for (int round = 0; round < 12; ++round) {
    auto text = sampling::draw(words, *grammar, random);
    ASSERT_TRUE(text);
    EXPECT_EQ(schema_check::violation(schema, *text), "") << *text;
  }
  EXPECT_TRUE(
      sampling::takes(words, *grammar, R"({"name": "Åsa", "kind": "日本", "list": [true]})"));
  // Ids that have no text are never allowed, except for the end of the answer.
  auto any = sampling::compile(words, GrammarKind::Regex, "(?s:.*)");
  Constraint constraint = any->start();
  auto mask = constraint.allowed();
  ASSERT_TRUE(mask);
  size_t texts = 0;
  for (int32_t id = 0; id < words.ids; ++id) {
    bool isEnd = std::ranges::find(words.eos, id) != words.eos.end();
    if (tokenizer->isSpecial(id))
      EXPECT_EQ(sampling::has(*mask, id), isEnd) << tokenizer->tokenBytes(id);
    texts += sampling::has(*mask, id);
  }
  EXPECT_GT(texts, static_cast<size_t>(words.ids) * 9 / 10);
}

TEST_P(Checkpoint, startsFast) {
  double best =
      1e9; // milliseconds of processor time; the best of a few, since the machine may be busy
  for (int round = 0; round < 5; ++round) {
    std::clock_t begin = std::clock();
    auto made = Tokenizer::fromBytes(artifact.kind, std::as_bytes(std::span(artifact.bytes)));
    ASSERT_TRUE(made);
    ASSERT_TRUE((*made)->encode("The capital of France is"));
    best = std::min(best, (std::clock() - begin) * 1e3 / CLOCKS_PER_SEC);
  }
  RecordProperty("milliseconds", std::to_string(best));
  EXPECT_LT(best, std::string_view(GetParam()) == "gemma3" ? 110 : 30);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, Checkpoint, testing::Values("smollm2", "gemma3"),
                         [](const auto &info) { return std::string(info.param); });

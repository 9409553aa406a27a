// Tests tokenizers against Hugging Face, with committed cases of small tokenizers of every kind
// (make_tiny_tokenizers.py), and with damaged segments.

#include "Goldens.h"
#include "compiler/text/TextBuild.h"
#include "tests/Sanitizers.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <gtest/gtest.h>
#include <random>

using namespace ingot;
using namespace ingot::text;

namespace {

/// A segment and the tokenizer that reads it in place.
struct Opened {
  std::string bytes;
  std::unique_ptr<Tokenizer> tokenizer;
};

Opened compileAndOpen(const std::string &json, const char *kind) {
  Opened opened;
  auto artifact = compileTokenizerJson(json);
  EXPECT_TRUE(artifact) << artifact.error().format();
  EXPECT_EQ(artifact->kind, kind);
  opened.bytes = artifact->bytes;
  auto tokenizer = Tokenizer::fromBytes(artifact->kind, std::as_bytes(std::span(opened.bytes)));
  EXPECT_TRUE(tokenizer) << tokenizer.error().format();
  opened.tokenizer = std::move(*tokenizer);
  return opened;
}

class Tiny : public testing::TestWithParam<const char *> {};

} // namespace

TEST_P(Tiny, agreesWithHuggingFace) {
  std::string name = GetParam();
  simdjson::dom::parser parser;
  simdjson::dom::element golden = parser.load(goldens::path("tiny_" + name + ".json"));
  bool bpe = name != "wordpiece" && name != "unigram" && name != "wordlevel";
  Opened opened =
      compileAndOpen(simdjson::minify(golden["tokenizer"]), bpe ? kFlatBpe.data() : kHfJson.data());
  const Tokenizer &tokenizer = *opened.tokenizer;
  size_t cases = 0;
  for (simdjson::dom::element one : golden["cases"].get_array()) {
    std::string text = goldens::text(one["text"]);
    std::vector<int32_t> ids = goldens::ids(one["ids"]);
    auto encoded = tokenizer.encode(text);
    ASSERT_TRUE(encoded) << encoded.error().format();
    EXPECT_EQ(*encoded, ids) << text;
    auto plain = tokenizer.encode(text, /*parseSpecial=*/false);
    ASSERT_TRUE(plain) << plain.error().format();
    EXPECT_EQ(*plain, goldens::ids(one["plain"])) << text;
    EXPECT_EQ(tokenizer.decode(ids, /*skipSpecial=*/false), goldens::text(one["decoded"])) << text;
    EXPECT_EQ(tokenizer.decode(ids, /*skipSpecial=*/true), goldens::text(one["skipped"])) << text;

    StreamDecoder stream(tokenizer);
    std::string streamed;
    for (int32_t id : ids) {
      std::string piece = stream.push(id);
      EXPECT_EQ(piece, replaceInvalidUtf8(piece)) << "a piece must be whole characters";
      streamed += piece;
    }
    EXPECT_EQ(streamed + stream.flush(), goldens::text(one["skipped"]));
    ++cases;
  }
  EXPECT_GT(cases, 60u);
}

/// Uses texts that tokenizers treat specially, and every token of the vocabulary. Texts are
/// accepted with a limit of exactly their ids, refused with a limit one lower, and give the same
/// ids when cut into pieces.
TEST_P(Tiny, encodesWithinANumberOfIds) {
  std::string name = GetParam();
  simdjson::dom::parser parser;
  simdjson::dom::element golden = parser.load(goldens::path("tiny_" + name + ".json"));
  bool bpe = name != "wordpiece" && name != "unigram" && name != "wordlevel";
  Opened opened =
      compileAndOpen(simdjson::minify(golden["tokenizer"]), bpe ? kFlatBpe.data() : kHfJson.data());
  const Tokenizer &tokenizer = *opened.tokenizer;
  std::vector<std::string> words{" ",
                                 "  ",
                                 "\n",
                                 "word",
                                 " Word",
                                 "'s",
                                 "123",
                                 "4567",
                                 "\xe2\x96\x81",
                                 "e\xcc\x81",
                                 "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8",
                                 "\xe2\x84\xab",
                                 "\xff",
                                 "\t x",
                                 " \xcc\x81",
                                 "a\xcc\x8a",
                                 "..",
                                 "=="};
  for (int32_t id = 0; id < tokenizer.vocabSize(); ++id)
    words.emplace_back(tokenizer.tokenBytes(id));
  auto check = [&](const std::string &text, bool special) {
    auto whole = tokenizer.encode(text, special);
    ASSERT_TRUE(whole);
    auto fits = tokenizer.encodeWithin(text, whole->size(), special);
    ASSERT_TRUE(fits && *fits) << text.substr(0, 200);
    ASSERT_EQ(**fits, *whole) << text.substr(0, 200);
    if (whole->empty())
      return;
    auto fewer = tokenizer.encodeWithin(text, whole->size() - 1, special);
    ASSERT_TRUE(fewer);
    ASSERT_FALSE(*fewer) << text.substr(0, 200);
  };
  for (const std::string &word : words) { // words with few ids for their bytes, if any
    std::string text;
    for (int i = 0; i < 64; ++i)
      text += word;
    check(text, true);
  }
  std::mt19937 random(7);
  for (int round = 0; round < 4; ++round) {
    std::string text;
    while (text.size() < 40'000)
      text += words[random() % (round < 2 ? words.size() : 18)];
    check(text, round % 2);
  }
}

/// Returns a byte-level vocabulary of "ab" and all bytes, written as in GPT-2. Without `all` it lacks some control
/// characters, as many vocabularies do.
static std::string plainBytesJson(bool all = true) {
  std::string vocab;
  int others = 0;
  for (int byte = 0; byte < 256; ++byte) {
    if (!all && (byte == 4 || byte == 0x1d || byte >= 0xf1)) {
      others += byte < 33 || byte == 173;
      continue;
    }
    const bool shown = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    const int character = shown ? byte : 256 + others++;
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", unsigned(character));
    vocab += "\"" + std::string(escaped) + "\":" + std::to_string(byte) + ",";
  }
  return R"({"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"ByteLevel",)"
         R"("add_prefix_space":false,"trim_offsets":true,"use_regex":true},"post_processor":null,)"
         R"("decoder":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},)"
         R"("model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,)"
         R"("end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"vocab":{)" +
         vocab + R"("ab":256},"merges":["a b"]}})";
}

/// Eight megabytes are refused without encoding all of them: by their length, or once there are enough ids.
TEST(Tokenizer, refusesWhatIsFarTooLongAtOnce) {
  Opened opened = compileAndOpen(plainBytesJson(), kFlatBpe.data());
  std::string pairs, words;
  while (pairs.size() < 8 << 20)
    pairs += "abababab";
  while (words.size() < 8 << 20)
    words += "some words ";
  // `pairs` has 4 Mi ids of 2 bytes, so a limit one lower refuses it by length. (The vocabulary's longest string has
  // 2 bytes.)
  for (const auto &[text, most] : {std::pair(&pairs, (4 << 20) - 1), std::pair(&words, 20'000)}) {
    const std::clock_t begin = std::clock();
    auto found = opened.tokenizer->encodeWithin(*text, size_t(most));
    const double took = double(std::clock() - begin) / CLOCKS_PER_SEC;
    ASSERT_TRUE(found);
    EXPECT_FALSE(*found);
    EXPECT_LT(took, 2) << "of processor time";
  }
}

/// Bytes without an id in the vocabulary are dropped. Only the other bytes count.
TEST(Tokenizer, aVocabularyThatLacksSomeBytesKnowsWhatIsTooLong) {
  Opened opened = compileAndOpen(plainBytesJson(/*all=*/false), kFlatBpe.data());
  std::string numbered, silent;
  for (int i = 0; numbered.size() < 8 << 20; ++i) // no space follows a letter
    numbered += "word" + std::to_string(i) + " ";
  const std::clock_t begin = std::clock();
  auto found = opened.tokenizer->encodeWithin(numbered, 4096);
  const double took = double(std::clock() - begin) / CLOCKS_PER_SEC;
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
  EXPECT_LT(took, 0.5) << "of processor time";
  for (int i = 0; i < 5000; ++i)
    silent += i % 2 ? "\x04" : "\x1d";
  auto little = opened.tokenizer->encodeWithin(silent + "ab", 1);
  ASSERT_TRUE(little);
  ASSERT_TRUE(*little) << "an id that fits was refused";
  EXPECT_EQ(**little, std::vector<int32_t>{256});
}

/// Texts are also cut after digits and punctuation. The ids equal those of the whole text.
TEST(Tokenizer, textsAreCutBehindWhateverIsShown) {
  Opened opened = compileAndOpen(plainBytesJson(), kFlatBpe.data());
  const char *parts[] = {"12 ", "ab. ", "! ", "a) ", "  ", "'s ", "\n ", "\xc3\xa9 ", "9  b"};
  std::mt19937 random(3);
  for (int round = 0; round < (INGOT_SANITIZED ? 1 : 3); ++round) {
    std::string text;
    while (text.size() < (INGOT_SANITIZED ? 70'000 : 200'000))
      text += parts[random() % std::size(parts)];
    auto whole = opened.tokenizer->encode(text);
    ASSERT_TRUE(whole);
    auto fits = opened.tokenizer->encodeWithin(text, whole->size());
    ASSERT_TRUE(fits && *fits);
    EXPECT_EQ(**fits, *whole);
    auto fewer = opened.tokenizer->encodeWithin(text, whole->size() - 1);
    ASSERT_TRUE(fewer);
    EXPECT_FALSE(*fewer);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Tiny,
                         testing::Values("gpt2", "digits", "llama3", "qwen2", "gemma", "llama2",
                                         "metaspace", "wordpiece", "unigram", "wordlevel"),
                         [](const auto &info) { return std::string(info.param); });

namespace {

std::string tinyJson(const char *name) {
  simdjson::dom::parser parser;
  return simdjson::minify(
      parser.load(goldens::path(std::string("tiny_") + name + ".json"))["tokenizer"]);
}

} // namespace

TEST(Tokenizer, knowsItsTokens) {
  Opened opened = compileAndOpen(tinyJson("llama3"), kFlatBpe.data());
  const Tokenizer &t = *opened.tokenizer;
  std::optional<int32_t> start = t.idOf("<|im_start|>");
  ASSERT_TRUE(start);
  EXPECT_TRUE(t.isSpecial(*start));
  EXPECT_EQ(t.tokenBytes(*start), "<|im_start|>");
  std::optional<int32_t> think = t.idOf("<think>");
  ASSERT_TRUE(think);
  EXPECT_FALSE(t.isSpecial(*think));
  std::optional<int32_t> word = t.idOf("Ġthe");
  ASSERT_TRUE(word);
  EXPECT_EQ(t.tokenBytes(*word), " the");
  EXPECT_FALSE(t.idOf("no such token"));
  EXPECT_EQ(t.vocabSize(), std::max(*think, t.idOf("Word").value()) + 1);
  EXPECT_EQ(t.tokenBytes(t.vocabSize()), "");
  EXPECT_EQ(t.tokenBytes(-1), "");
  EXPECT_FALSE(t.isSpecial(-1));
  EXPECT_FALSE(t.isSpecial(t.vocabSize()));
}

TEST(Tokenizer, everyIdHasTheBytesThatItDecodesTo) {
  Opened opened = compileAndOpen(tinyJson("gpt2"), kFlatBpe.data());
  for (int32_t id = 0; id < opened.tokenizer->vocabSize(); ++id)
    EXPECT_EQ(opened.tokenizer->decode(std::vector{id}, false),
              replaceInvalidUtf8(opened.tokenizer->tokenBytes(id)));
}

TEST(Tokenizer, leadingSpaceIsDroppedOnceAndNotInAContinuation) {
  Opened opened = compileAndOpen(tinyJson("llama2"), kFlatBpe.data());
  const Tokenizer &t = *opened.tokenizer;
  ASSERT_TRUE(t.dropsLeadingSpace());
  auto ids = t.encode("the lazy dog");
  ASSERT_TRUE(ids);
  EXPECT_EQ(t.decode(*ids), "the lazy dog");
  StreamDecoder continuation(t, true, /*continuation=*/true);
  std::string text;
  for (int32_t id : *ids)
    text += continuation.push(id);
  EXPECT_EQ(text + continuation.flush(), " the lazy dog");
}

TEST(Tokenizer, readsInvalidUtf8AsReplacementCharacters) {
  Opened opened = compileAndOpen(tinyJson("gpt2"), kFlatBpe.data());
  auto broken = opened.tokenizer->encode("a\xFF\xE6\x97z");
  auto replaced = opened.tokenizer->encode("a\uFFFD\uFFFDz");
  ASSERT_TRUE(broken && replaced);
  EXPECT_EQ(*broken, *replaced);
}

TEST(Tokenizer, compilesToTheSameBytesEachTime) {
  auto first = compileTokenizerJson(tinyJson("gemma"));
  auto second = compileTokenizerJson(tinyJson("gemma"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->bytes, second->bytes);
}

TEST(Tokenizer, refusesWhatItCannotDo) {
  std::string bytes = "nothing";
  auto unknown = Tokenizer::fromBytes("flat-bpe-9", std::as_bytes(std::span(bytes)));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, "E0601");
  auto damaged = Tokenizer::fromBytes(kFlatBpe, std::as_bytes(std::span(bytes)));
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, "E0602");

  for (const char *json :
       {"", "{}", "[]", "{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[\"a b\"]}}",
        "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":4294967295},\"merges\":[]}}",
        "{\"model\":{\"type\":\"Mystery\"}}",
        "{\"decoder\":{\"type\":\"CTC\"},\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}"
        "}"}) {
    auto artifact = compileTokenizerJson(json);
    ASSERT_FALSE(artifact) << json;
    EXPECT_EQ(artifact.error().code, "E0621");
    EXPECT_FALSE(artifact.error().why.empty());
  }
}

// Damage must give an error or other ids, never a crash, a hang or an out-of-bounds read.
TEST(Tokenizer, survivesDamagedSegments) {
  auto artifact = compileTokenizerJson(tinyJson("llama3"));
  ASSERT_TRUE(artifact);
  uint64_t jsonEnd = 0; // the header's first section: offset and size
  for (size_t at : {24, 32}) {
    uint64_t value;
    std::memcpy(&value, artifact->bytes.data() + at, sizeof(value));
    jsonEnd += value;
  }
  ASSERT_LT(jsonEnd, artifact->bytes.size() / 2);
  std::mt19937 random(11);
  size_t opened = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = artifact->bytes;
    if (round % 5 == 0)
      bytes.resize(random() % bytes.size());
    // Most flips go to the tables, which are not verified when a segment is opened.
    size_t first = round % 4 == 0 ? 0 : jsonEnd;
    for (unsigned flips = 1 + random() % 200; flips > 0 && bytes.size() > first; --flips)
      bytes[first + random() % (bytes.size() - first)] = static_cast<char>(random());
    std::vector<std::byte> exact(bytes.size());
    std::ranges::transform(bytes, exact.begin(), [](char c) { return static_cast<std::byte>(c); });
    auto tokenizer = Tokenizer::fromBytes(kFlatBpe, exact);
    if (!tokenizer) {
      EXPECT_EQ(tokenizer.error().code, "E0602");
      continue;
    }
    ++opened;
    if (auto ids = (*tokenizer)->encode("The quick brown fox <|im_start|> 日本 12345"))
      (*tokenizer)->decode(*ids);
    (*tokenizer)->idOf("Ġthe");
  }
  EXPECT_GT(opened, 1000u);
}

// GGUF vocabularies: small ones against the models' own tokenizers (make_gguf_vocabularies.py),
// special ids, and what is refused.

#include "Goldens.h"
#include "runtime/text/TextBuild.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::text;
using ingot::import::Checkpoint;

namespace {

using Strings = std::vector<std::string>;

Checkpoint gguf(std::string architecture, std::string model) {
  Checkpoint checkpoint;
  checkpoint.container = import::Container::Gguf;
  checkpoint.architecture = std::move(architecture);
  checkpoint.metadata["tokenizer.ggml.model"] = std::move(model);
  return checkpoint;
}

void set(Checkpoint &checkpoint, const char *key, import::MetaArray value) {
  checkpoint.metadata[std::string("tokenizer.ggml.") + key] = std::move(value);
}

Checkpoint fromGolden(simdjson::dom::element golden) {
  simdjson::dom::element vocabulary = golden["vocabulary"];
  Checkpoint checkpoint =
      gguf(goldens::text(golden["architecture"]), goldens::text(vocabulary["tokenizer_type"]));
  simdjson::dom::element value;
  if (vocabulary["pre_tokenizer_type"].get(value) == simdjson::SUCCESS)
    checkpoint.metadata["tokenizer.ggml.pre"] = goldens::text(value);
  for (const char *key : {"tokens", "merges"}) {
    if (vocabulary[key].get(value) != simdjson::SUCCESS)
      continue;
    Strings strings;
    for (simdjson::dom::element one : value.get_array())
      strings.push_back(goldens::text(one));
    set(checkpoint, key, strings);
  }
  std::vector<int64_t> types;
  for (int32_t type : goldens::ids(vocabulary["token_type"]))
    types.push_back(type);
  set(checkpoint, "token_type", types);
  if (vocabulary["scores"].get(value) == simdjson::SUCCESS) {
    std::vector<double> scores;
    for (simdjson::dom::element one : value.get_array())
      scores.push_back(double(one));
    set(checkpoint, "scores", scores);
  }
  return checkpoint;
}

/// A byte-level vocabulary of a few tokens.
Checkpoint small() {
  Checkpoint checkpoint = gguf("llama", "gpt2");
  checkpoint.metadata["tokenizer.ggml.pre"] = std::string("gpt-2");
  set(checkpoint, "tokens", Strings{"a", "b", "ab", "<|im_end|>", "<s>", "<|eot_id|>"});
  set(checkpoint, "token_type", std::vector<int64_t>{1, 1, 1, 3, 3, 3});
  set(checkpoint, "merges", Strings{"a b"});
  return checkpoint;
}

std::string refusal(const Checkpoint &checkpoint, std::string *text = nullptr) {
  auto built = buildTokenizer(checkpoint);
  if (built)
    return "accepted";
  if (text)
    *text = built.error().format();
  return built.error().code;
}

} // namespace

TEST(GgufVocabulary, GivesTheIdsThatTheModelWasTrainedOn) {
  simdjson::dom::parser parser;
  simdjson::dom::element golden = parser.load(goldens::path("gguf_vocabularies.json"));
  size_t vocabularies = 0;
  for (auto [name, one] : golden.get_object()) {
    Checkpoint checkpoint = fromGolden(one);
    auto artifact = buildTokenizer(checkpoint);
    ASSERT_TRUE(artifact) << name << artifact.error().format();
    auto tokenizer =
        Tokenizer::fromBytes((*artifact)->kind, std::as_bytes(std::span((*artifact)->bytes)));
    ASSERT_TRUE(tokenizer) << tokenizer.error().format();
    for (simdjson::dom::element line : one["cases"].get_array()) {
      auto ids = (*tokenizer)->encode(goldens::text(line["text"]));
      ASSERT_TRUE(ids) << ids.error().format();
      EXPECT_EQ(*ids, goldens::ids(line["ids"])) << name << ": " << goldens::text(line["text"]);
    }
    ++vocabularies;
  }
  EXPECT_EQ(vocabularies, 6u);
}

TEST(GgufVocabulary, SpacesBeforeATextComeBack) {
  simdjson::dom::parser parser;
  simdjson::dom::element golden = parser.load(goldens::path("gguf_vocabularies.json"));
  for (auto [name, one] : golden.get_object()) {
    Checkpoint checkpoint = fromGolden(one);
    auto artifact = buildTokenizer(checkpoint);
    ASSERT_TRUE(artifact) << name << artifact.error().format();
    auto tokenizer =
        Tokenizer::fromBytes((*artifact)->kind, std::as_bytes(std::span((*artifact)->bytes)));
    ASSERT_TRUE(tokenizer) << tokenizer.error().format();
    for (const char *text : {"h", " h", "  h", "       h i", " ", "\n h", " 12  34"}) {
      auto ids = (*tokenizer)->encode(text);
      ASSERT_TRUE(ids) << ids.error().format();
      EXPECT_EQ((*tokenizer)->decode(*ids, false), text) << name;
    }
  }
}

TEST(GgufVocabulary, collectsTheEnds) {
  Checkpoint checkpoint = small();
  checkpoint.metadata["tokenizer.ggml.bos_token_id"] = int64_t(4);
  checkpoint.metadata["tokenizer.ggml.eos_token_id"] = int64_t(3);
  checkpoint.metadata["tokenizer.ggml.eot_token_id"] = int64_t(3);
  auto plain = buildTokenizer(checkpoint);
  ASSERT_TRUE(plain) << plain.error().format();
  EXPECT_EQ((*plain)->special.bos, 4);
  EXPECT_EQ((*plain)->special.eos, std::vector<int32_t>{3});
  EXPECT_FALSE((*plain)->special.addBos);

  checkpoint.metadata["tokenizer.ggml.add_bos_token"] = true;
  checkpoint.metadata["tokenizer.chat_template"] =
      std::string("{{ messages[0].content }}<|eot_id|>");
  auto chat = buildTokenizer(checkpoint);
  ASSERT_TRUE(chat) << chat.error().format();
  EXPECT_EQ((*chat)->special.eos, (std::vector<int32_t>{3, 5}))
      << "the template ends turns with <|eot_id|>";
  EXPECT_TRUE((*chat)->special.addBos);
  EXPECT_TRUE(checkpoint.unusedKeys().empty());
}

TEST(GgufVocabulary, LlamasLikeTakeWholeWordsFirstAndBeginWithBos) {
  // "abc" is a token that no merges make: a has none with bc, ab none with c.
  Checkpoint checkpoint = small();
  set(checkpoint, "tokens", Strings{"a", "b", "c", "ab", "abc", "<s>"});
  set(checkpoint, "token_type", std::vector<int64_t>{1, 1, 1, 1, 1, 3});
  checkpoint.metadata["tokenizer.ggml.bos_token_id"] = int64_t(5);
  for (const char *pre :
       {"gpt-2", "dbrx", "lfm2", "pixtral", "falcon3", "falcon-h1", "llama-bpe"}) {
    const bool whole = std::string_view(pre) != "gpt-2" && std::string_view(pre) != "dbrx";
    checkpoint.metadata["tokenizer.ggml.pre"] = std::string(pre);
    auto artifact = buildTokenizer(checkpoint);
    ASSERT_TRUE(artifact) << artifact.error().format();
    EXPECT_EQ((*artifact)->special.addBos, whole) << pre;
    auto tokenizer =
        Tokenizer::fromBytes((*artifact)->kind, std::as_bytes(std::span((*artifact)->bytes)));
    ASSERT_TRUE(tokenizer) << tokenizer.error().format();
    auto ids = (*tokenizer)->encode("abc");
    ASSERT_TRUE(ids) << ids.error().format();
    EXPECT_EQ(*ids, whole ? std::vector<int32_t>{4} : (std::vector<int32_t>{3, 2})) << pre;
  }
}

TEST(GgufVocabulary, noVocabularyIsNoTokenizer) {
  Checkpoint checkpoint;
  checkpoint.container = import::Container::Gguf;
  checkpoint.architecture = "llama";
  auto built = buildTokenizer(checkpoint);
  ASSERT_TRUE(built) << built.error().format();
  EXPECT_FALSE(built->has_value());
  auto chat = findChatTemplate(checkpoint);
  ASSERT_TRUE(chat);
  EXPECT_FALSE(chat->has_value());
}

TEST(GgufVocabulary, refusesByName) {
  std::string text;
  Checkpoint pre = small();
  pre.metadata["tokenizer.ggml.pre"] = std::string("mystery-pre");
  EXPECT_EQ(refusal(pre, &text), "E0620");
  EXPECT_NE(text.find("mystery-pre"), std::string::npos) << text;
  EXPECT_NE(text.find("--pre-tokenizer NAME"), std::string::npos) << text; // a way on

  Checkpoint model = small();
  model.metadata["tokenizer.ggml.model"] = std::string("rwkv");
  EXPECT_EQ(refusal(model, &text), "E0620");
  EXPECT_NE(text.find("rwkv"), std::string::npos) << text;
}

TEST(GgufVocabulary, refusesDamage) {
  Checkpoint types = small();
  set(types, "token_type", std::vector<int64_t>{1, 1});
  EXPECT_EQ(refusal(types), "E0621");

  Checkpoint kind = small();
  set(kind, "tokens", std::vector<int64_t>{1, 2});
  EXPECT_EQ(refusal(kind), "E0621");

  Checkpoint merge = small();
  set(merge, "merges", Strings{"ab"});
  EXPECT_EQ(refusal(merge), "E0621");
  set(merge, "merges", Strings{"a z"});
  EXPECT_EQ(refusal(merge), "E0621");

  Checkpoint utf8 = small();
  set(utf8, "tokens", Strings{"a", "b", "ab", "<|im_end|>", "<s>", "\xFF"});
  EXPECT_EQ(refusal(utf8), "E0621");

  Checkpoint outside = small();
  outside.metadata["tokenizer.ggml.eos_token_id"] = int64_t(6);
  EXPECT_EQ(refusal(outside), "E0621");

  Checkpoint scores = gguf("llama", "llama");
  set(scores, "tokens", Strings{"<unk>", "a"});
  EXPECT_EQ(refusal(scores), "E0621");
}

TEST(FolderTokens, everyNamedEndCounts) {
  Checkpoint folder;
  folder.container = import::Container::Safetensors;
  folder.text.tokenizerJson = R"({"added_tokens":[
    {"id":1,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
    {"id":2,"content":"</s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
    {"id":3,"content":"<|im_end|>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
    "post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}]},
    "model":{"type":"BPE","vocab":{"a":0,"<s>":1,"</s>":2,"<|im_end|>":3},"merges":[]}})";
  folder.text.generationConfigJson = R"({"eos_token_id":[2,99],"bos_token_id":1})";
  folder.text.tokenizerConfigJson =
      R"({"eos_token":{"content":"<|im_end|>"},"bos_token":"<s>","pad_token":null})";
  folder.metadata["eos_token_id"] = int64_t(2);
  folder.metadata["pad_token_id"] = int64_t(0);
  auto built = buildTokenizer(folder);
  ASSERT_TRUE(built) << built.error().format();
  const SpecialTokens &special = (*built)->special;
  EXPECT_EQ(special.eos, (std::vector<int32_t>{2, 3}))
      << "generation_config's, the tokenizer's, none outside";
  EXPECT_EQ(special.bos, 1);
  EXPECT_EQ(special.pad, 0);
  EXPECT_TRUE(special.addBos) << "the post-processor begins with <s>";

  folder.text.tokenizerConfigJson = R"({"add_bos_token":false,"bos_token":"<s>"})";
  auto without = buildTokenizer(folder);
  ASSERT_TRUE(without);
  EXPECT_FALSE((*without)->special.addBos);

  folder.text.tokenizerJson.clear();
  auto ids = configuredSpecialTokens(folder);
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->eos, (std::vector<int32_t>{2, 99}));
}

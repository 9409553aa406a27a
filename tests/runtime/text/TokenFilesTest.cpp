// Tests the fields of a folder's tokenizer files and the order in which the files are read. Expected ids, flags and
// names are those of transformers 5.24 for the same files.

#include "Goldens.h"
#include "compiler/text/TextBuild.h"

#include <gtest/gtest.h>
#include <map>

using namespace ingot;
using namespace ingot::text;
using ingot::import::Checkpoint;

namespace {

using Ids = std::vector<int32_t>;

constexpr const char *kText = "a<|eot|>b <x> </s> [P]";

/// Returns a tokenizer.json of eight tokens, six of which are added tokens. Unknown letters have id 0.
std::string tokenizerJson(const std::string &postProcessor = "null") {
  std::string added;
  for (auto [id, content] :
       {std::pair(0, "<unk>"), {1, "<s>"}, {2, "</s>"}, {6, "[gMASK]"}, {7, "<sop>"}})
    added +=
        (added.empty() ? "" : ",") + (R"({"id":)" + std::to_string(id)) + R"(,"content":")" +
        content +
        R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})";
  return R"({"added_tokens":[)" + added + R"(],"post_processor":)" + postProcessor +
         R"(,"model":{"type":"BPE","unk_token":"<unk>","fuse_unk":true,"merges":[],
            "vocab":{"<unk>":0,"<s>":1,"</s>":2,"a":3,"b":4,"▁":5,"[gMASK]":6,"<sop>":7}}})";
}

/// Returns a checkpoint folder. `config` has further members of tokenizer_config.json, each after a comma.
Checkpoint folder(const std::string &config, std::string specialMap = "", std::string added = "") {
  Checkpoint checkpoint;
  checkpoint.container = import::Container::Safetensors;
  checkpoint.text.tokenizerJson = tokenizerJson();
  // Nearly every tokenizer_config.json has this number, which does not fit in 64 bits.
  checkpoint.text.tokenizerConfigJson =
      R"({"model_max_length":1000000000000000019884624838656,"bos_token":"<s>","unk_token":"<unk>")" +
      config + "}";
  checkpoint.text.specialTokensMapJson = std::move(specialMap);
  checkpoint.text.addedTokensJson = std::move(added);
  return checkpoint;
}

struct Opened {
  TokenizerArtifact artifact;
  std::unique_ptr<Tokenizer> tokenizer;

  Ids ids(const char *text = kText) const {
    auto ids = tokenizer->encode(text);
    return ids ? *ids : Ids{};
  }
  std::string named(std::string_view name) const {
    for (const auto &[known, token] : artifact.special.names)
      if (known == name)
        return token;
    return "";
  }
};

Opened open(const Checkpoint &checkpoint) {
  auto built = buildTokenizer(checkpoint);
  EXPECT_TRUE(built) << (built ? "" : built.error().format());
  if (!built)
    return {};
  Opened opened{std::move(**built), nullptr};
  auto tokenizer =
      Tokenizer::fromBytes(opened.artifact.kind, std::as_bytes(std::span(opened.artifact.bytes)));
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().format());
  opened.tokenizer = std::move(*tokenizer);
  return opened;
}

std::string token(const char *content, const char *more = "") {
  return std::string(R"({"content":")") + content + R"(","special":true)" + more + "}";
}

std::string templateOf(const char *pieces) {
  return R"({"type":"TemplateProcessing","single":[)" + std::string(pieces) +
         R"(],"pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]},
            "</s>":{"id":"</s>","ids":[2],"tokens":["</s>"]},
            "glm":{"id":"glm","ids":[6,7],"tokens":["[gMASK]","<sop>"]}}})";
}

constexpr const char *kA = R"({"Sequence":{"id":"A","type_id":0}})";
std::string special(const char *id) {
  return std::string(R"({"SpecialToken":{"id":")") + id + R"(","type_id":0}})";
}

} // namespace

TEST(TokenFiles, TokensOfAddedTokensDecoderAlone) {
  Opened opened =
      open(folder(R"(,"eos_token":"<|eot|>","added_tokens_decoder":{"420":)" + token("<|eot|>") +
                  R"(,"8":{"content":"<x>","special":false,"lstrip":true,"normalized":false}})"));
  EXPECT_EQ(opened.ids(), (Ids{3, 9, 4, 8, 0, 2, 0}));
  EXPECT_EQ(opened.artifact.special.eos, Ids{9}) << "the end token ends the answer";
  EXPECT_TRUE(opened.tokenizer->isSpecial(9));
  EXPECT_FALSE(opened.tokenizer->isSpecial(8));
}

TEST(TokenFiles, FlagsThatTheTableChanges) {
  Opened opened = open(folder(
      R"(,"added_tokens_decoder":{"6":{"content":"[gMASK]","lstrip":true,"rstrip":true,"normalized":false}})"));
  EXPECT_EQ(opened.ids("a [gMASK] b"), (Ids{3, 6, 4}));
  EXPECT_FALSE(opened.tokenizer->isSpecial(6));
}

TEST(TokenFiles, ATokenWithANameIsSpecial) {
  Opened opened =
      open(folder(R"(,"eos_token":"<|eot|>","added_tokens_decoder":{"8":{"content":"<|eot|>"}})"));
  EXPECT_TRUE(opened.tokenizer->isSpecial(8));
}

TEST(TokenFiles, TheMapCountsWhereThereIsNoTable) {
  const std::string map =
      R"({"eos_token":"<|eot|>","pad_token":{"content":"[P]","lstrip":true},"additional_special_tokens":["<x>"]})";
  Opened opened = open(folder(R"(,"eos_token":"</s>")", map));
  EXPECT_EQ(opened.ids(), (Ids{3, 8, 4, 0, 10, 0, 2, 9}));
  EXPECT_EQ(opened.named("eos_token"), "<|eot|>");
  EXPECT_EQ(opened.artifact.special.pad, 9);

  opened =
      open(folder(R"(,"eos_token":"</s>","added_tokens_decoder":{"8":)" + token("<x>") + "}", map));
  EXPECT_EQ(opened.ids(), (Ids{3, 0, 4, 0, 8, 0, 2, 0}));
  EXPECT_EQ(opened.named("eos_token"), "</s>");
}

TEST(TokenFiles, AddedTokensJson) {
  Opened opened = open(folder(R"(,"eos_token":"</s>")", R"({"eos_token":"<|eot|>"})",
                              R"({"<|eot|>":8,"<x>":9,"[P]":12})"));
  EXPECT_EQ(opened.ids(), (Ids{3, 8, 4, 0, 9, 0, 2, 0, 10}));
  EXPECT_TRUE(opened.tokenizer->isSpecial(8));
  EXPECT_FALSE(opened.tokenizer->isSpecial(9));
  opened = open(folder("", "", R"({"<x>":9,"<|eot|>":8})"));
  EXPECT_EQ(opened.ids(), (Ids{3, 8, 4, 0, 9, 0, 2, 0})) << "the lower index first";
}

TEST(TokenFiles, FurtherSpecialTokens) {
  EXPECT_EQ(open(folder(R"(,"additional_special_tokens":["<x>","<|eot|>"])")).ids(),
            (Ids{3, 9, 4, 0, 8, 0, 2, 0}));
  Opened opened = open(folder(R"(,"extra_special_tokens":{"image_token":"<x>"})"));
  EXPECT_EQ(opened.ids(), (Ids{3, 0, 4, 0, 8, 0, 2, 0}));
  EXPECT_EQ(opened.named("image_token"), "<x>");
  opened =
      open(folder(R"(,"eot_token":{"__type":"AddedToken","content":"<|eot|>","lstrip":true})"));
  EXPECT_EQ(opened.ids("a <|eot|>"), (Ids{3, 8}));
  EXPECT_EQ(opened.named("eot_token"), "<|eot|>");
}

TEST(TokenFiles, EveryNameIsKept) {
  Opened opened = open(
      folder(R"(,"pad_token":"[P]","cls_token":"<s>","mask_token":null,"add_bos_token":true)"));
  EXPECT_EQ(opened.named("pad_token"), "[P]");
  EXPECT_EQ(opened.named("cls_token"), "<s>");
  EXPECT_EQ(opened.named("unk_token"), "<unk>");
  EXPECT_EQ(opened.artifact.special.names.size(), 4u);
}

TEST(TokenFiles, WhatThePostProcessorPutsAroundATextCounts) {
  auto around = [](const std::string &processor, const char *config = "") {
    Checkpoint checkpoint = folder(config);
    checkpoint.text.tokenizerJson = tokenizerJson(processor);
    const SpecialTokens special = open(checkpoint).artifact.special;
    return std::pair(special.prefix, special.suffix);
  };
  using Pair = std::pair<Ids, Ids>;
  const std::string bos = special("<s>"), eos = special("</s>"), comma = ",";
  const std::string first = templateOf((bos + comma + kA).c_str());
  EXPECT_EQ(around("null"), Pair());
  EXPECT_EQ(around(first), (Pair{{1}, {}}));
  EXPECT_EQ(around(first, R"(,"add_bos_token":false)"), (Pair{{1}, {}})) << "as transformers 5";
  EXPECT_EQ(around("null", R"(,"add_bos_token":true)"), Pair());
  EXPECT_EQ(around(templateOf((special("glm") + comma + kA).c_str())), (Pair{{6, 7}, {}}));
  EXPECT_EQ(around(templateOf((bos + comma + kA + comma + eos).c_str())), (Pair{{1}, {2}}));
  EXPECT_EQ(around(R"({"type":"Sequence","processors":[{"type":"ByteLevel","trim_offsets":true},)" +
                   first + "]}"),
            (Pair{{1}, {}}));
  EXPECT_EQ(
      around(R"({"type":"RobertaProcessing","sep":["</s>",2],"cls":["<s>",1],"trim_offsets":true,
                      "add_prefix_space":false})"),
      (Pair{{1}, {2}}));
  EXPECT_EQ(around(R"({"type":"BertProcessing","sep":["</s>",2],"cls":["<s>",1]})"),
            (Pair{{1}, {2}}));
}

// In some classes of transformers, tokenizer_config.json decides whether a text begins with a space.
TEST(TokenFiles, ASpaceFirst) {
  auto idsOf = [](const char *config) {
    Checkpoint checkpoint = folder(config);
    checkpoint.text.tokenizerJson =
        R"({"added_tokens":[],"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,
           "use_regex":true},"model":{"type":"BPE","vocab":{"a":0,"\u0120":1},"merges":[]}})";
    return open(checkpoint).ids("a");
  };
  EXPECT_EQ(idsOf(R"(,"tokenizer_class":"GPT2TokenizerFast","add_prefix_space":true)"),
            (Ids{1, 0}));
  EXPECT_EQ(idsOf(R"(,"tokenizer_class":"GPT2Tokenizer")"), Ids{0});
  EXPECT_EQ(idsOf(R"(,"tokenizer_class":"PreTrainedTokenizerFast","add_prefix_space":true)"),
            Ids{0});
  EXPECT_EQ(idsOf(R"(,"tokenizer_class":"Qwen2Tokenizer","add_prefix_space":true)"), (Ids{1, 0}));
  auto idsOfLlama = [](const char *config) {
    Checkpoint checkpoint = folder(config);
    checkpoint.text.tokenizerJson =
        R"({"added_tokens":[],"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},
           {"type":"Replace","pattern":{"String":" "},"content":"▁"}]},
           "model":{"type":"BPE","vocab":{"a":0,"▁":1},"merges":[]}})";
    return open(checkpoint).ids("a a");
  };
  EXPECT_EQ(idsOfLlama(R"(,"tokenizer_class":"LlamaTokenizerFast","add_prefix_space":false)"),
            (Ids{0, 1, 0}));
  EXPECT_EQ(idsOfLlama(R"(,"tokenizer_class":"LlamaTokenizerFast","add_prefix_space":null)"),
            (Ids{1, 0, 1, 0}));
}

TEST(TokenFiles, DamagedFilesAreNamed) {
  Checkpoint checkpoint = folder("");
  checkpoint.text.tokenizerConfigJson = "{";
  auto built = buildTokenizer(checkpoint);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, "E0621");
  EXPECT_NE(built.error().why.find("tokenizer_config.json"), std::string::npos);
}

namespace {

std::string fromBase64(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text.substr(0, text.find('='))) {
    bits = bits << 6 | static_cast<uint32_t>(kLetters.find(c));
    count += 6;
    if (count < 8)
      continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

/// Returns the text files of a case in goldens/folder_tokenizers.json.
Checkpoint folderOf(simdjson::dom::element golden, simdjson::dom::element one) {
  Checkpoint checkpoint;
  checkpoint.container = import::Container::Safetensors;
  checkpoint.metadata["model_type"] = goldens::text(one["model_type"]);
  import::TextFiles &text = checkpoint.text;
  const std::map<std::string, std::string *, std::less<>> targets = {
      {"tokenizer.model", &text.tokenizerModel},
      {"vocab.json", &text.vocabJson},
      {"merges.txt", &text.mergesTxt},
      {"tekken.json", &text.tekkenJson},
      {"tokenizer_config.json", &text.tokenizerConfigJson},
      {"special_tokens_map.json", &text.specialTokensMapJson},
      {"added_tokens.json", &text.addedTokensJson}};
  for (auto [name, source] : one["files"].get_object())
    *targets.at(std::string(name)) = fromBase64(golden["files"][std::string_view(source)]);
  for (auto [name, content] : one["beside"].get_object())
    *targets.at(std::string(name)) = goldens::text(content);
  return checkpoint;
}

} // namespace

// Tests folders without a tokenizer.json (make_folder_tokenizers.py).
TEST(FolderTokenizers, HaveTheIdsOfTransformers) {
  simdjson::dom::parser parser;
  simdjson::dom::element golden = parser.load(goldens::path("folder_tokenizers.json"));
  size_t cases = 0;
  for (auto [name, one] : golden["cases"].get_object()) {
    Opened opened = open(folderOf(golden, one));
    ASSERT_TRUE(opened.tokenizer) << name;
    for (simdjson::dom::element line : one["texts"].get_array())
      EXPECT_EQ(opened.ids(goldens::text(line["text"]).c_str()), goldens::ids(line["ids"]))
          << name << ": " << goldens::text(line["text"]);
    // For tekken.json, mistral-common puts <s> first.
    EXPECT_EQ(opened.artifact.special.prefix,
              name == "tekken" ? Ids{1} : goldens::ids(one["prefix"]))
        << name;
    EXPECT_EQ(opened.artifact.special.suffix, goldens::ids(one["suffix"])) << name;
    ++cases;
  }
  EXPECT_EQ(cases, 22u);
}

TEST(FolderTokenizers, WhatDoesNotSayEnoughIsRefused) {
  auto refused = [](auto change) {
    Checkpoint checkpoint;
    checkpoint.container = import::Container::Safetensors;
    checkpoint.metadata["model_type"] = std::string("granite");
    change(checkpoint.text);
    auto built = buildTokenizer(checkpoint);
    return built ? Error() : built.error();
  };
  Error error = refused([](import::TextFiles &text) { text.vocabJson = "{}"; });
  EXPECT_EQ(error.code, "E0626");
  EXPECT_NE(error.why.find("merges.txt is missing"), std::string::npos) << error.why;
  EXPECT_NE(error.fix.find("save_pretrained"), std::string::npos);
  error = refused([](import::TextFiles &text) { text.vocabJson = "{}", text.mergesTxt = "a b\n"; });
  EXPECT_EQ(error.code, "E0626");
  EXPECT_NE(error.why.find("granite"), std::string::npos) << error.why;
  error = refused([](import::TextFiles &text) { text.tokenizerModel = "no model"; });
  EXPECT_EQ(error.code, "E0626");
  error = refused([](import::TextFiles &text) { text.tokenizerModel = "YQ== 0\nYg== 1\n"; });
  EXPECT_EQ(error.code, "E0626");
  EXPECT_NE(error.why.find("tiktoken"), std::string::npos) << error.why;
  error = refused([](import::TextFiles &text) { text.tekkenJson = "{}"; });
  EXPECT_EQ(error.code, "E0626");
}

// Named templates are chosen as in transformers.
TEST(ChatTemplates, TheDefaultAndOthers) {
  Checkpoint checkpoint = folder("");
  checkpoint.text.chatTemplates = {{"tool_use", "t"}, {"default", "d"}};
  auto found = findChatTemplates(checkpoint);
  ASSERT_TRUE(found) << found.error().format();
  EXPECT_EQ(found->source, "d");
  EXPECT_EQ(found->count, 2u);
  ASSERT_EQ(found->other.size(), 1u);
  EXPECT_EQ(found->other[0].name + found->other[0].source, "tool_uset");

  found = findChatTemplates(checkpoint, "tool_use");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, "t");
  EXPECT_TRUE(found->other.empty()) << "one for all requests";
  found = findChatTemplates(checkpoint, "rag");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "E0627");
  EXPECT_NE(found.error().why.find("tool_use, default"), std::string::npos);
}

TEST(ChatTemplates, NoneOfSeveralIsTheDefault) {
  Checkpoint checkpoint = folder("");
  checkpoint.text.chatTemplates = {{"tool_use", "t"}};
  auto found = findChatTemplates(checkpoint);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, "t") << "the only one";
  checkpoint.text.chatTemplates = {{"tool_use", "t"}, {"rag", "r"}};
  found = findChatTemplates(checkpoint);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "E0627");
  EXPECT_NE(found.error().fix.find("--chat-template-name tool_use"), std::string::npos);
}

TEST(ChatTemplates, OneThatCannotBeReadIsReported) {
  Checkpoint checkpoint = folder("");
  checkpoint.text.chatTemplates = {{"default", "d"}, {"tool_use", "{% if %}"}};
  auto found = findChatTemplates(checkpoint);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "E0610");
  EXPECT_NE(found.error().why.find("tool_use"), std::string::npos);
  EXPECT_TRUE(findChatTemplates(checkpoint, "default")) << "a way out";
}

TEST(ChatTemplates, OfAGguf) {
  Checkpoint checkpoint;
  checkpoint.container = import::Container::Gguf;
  checkpoint.metadata["tokenizer.chat_template"] = std::string("d");
  checkpoint.metadata["tokenizer.chat_template.tool_use"] = std::string("t");
  checkpoint.metadata["tokenizer.chat_templates"] =
      import::MetaArray(std::vector<std::string>{"tool_use"});
  auto found = findChatTemplates(checkpoint);
  ASSERT_TRUE(found) << found.error().format();
  EXPECT_EQ(found->source, "d");
  ASSERT_EQ(found->other.size(), 1u);
  EXPECT_EQ(found->other[0].name + found->other[0].source, "tool_uset");
}

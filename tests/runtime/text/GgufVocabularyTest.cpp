// Tests GGUF vocabularies: small ones against the models' own tokenizers (make_gguf_vocabularies.py),
// special ids, and refusals.

#include "Goldens.h"
#include "compiler/text/TextBuild.h"

#include <gtest/gtest.h>
#include <set>

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

/// Returns a checkpoint with a byte-level vocabulary of a few tokens.
Checkpoint small() {
  Checkpoint checkpoint = gguf("llama", "gpt2");
  checkpoint.metadata["tokenizer.ggml.pre"] = std::string("gpt-2");
  set(checkpoint, "tokens", Strings{"a", "b", "ab", "<|im_end|>", "<s>", "<|eot_id|>"});
  set(checkpoint, "token_type", std::vector<int64_t>{1, 1, 1, 3, 3, 3});
  set(checkpoint, "merges", Strings{"a b"});
  return checkpoint;
}

/// Removes the "|" from `words` and returns the text split by the pre-tokenizer `pre`. The vocabulary can
/// merge all parts of the text, so every word becomes one token.
std::string cutBy(const std::string &pre, std::string words) {
  std::erase(words, '|');
  // GPT-2 writes visible bytes as themselves and the others as characters from U+0100 on.
  auto spelled = [](unsigned char byte) {
    const bool visible = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    const unsigned shifted = byte < 0x21 ? byte : byte < 0xA1 ? byte - 0x7F + 0x21 : 0x43;
    const unsigned c = visible ? byte : 0x100 + shifted;
    return c < 0x80 ? std::string(1, static_cast<char>(c))
                    : std::string{static_cast<char>(0xC0 | c >> 6),
                                  static_cast<char>(0x80 | (c & 0x3F))};
  };
  Strings tokens, merges;
  std::vector<std::string> meanings;
  for (size_t at = 0; at < words.size(); ++at) // merges of earlier starts come first
    for (size_t size = 1; at + size <= words.size(); ++size) {
      const std::string meaning = words.substr(at, size);
      if (std::ranges::find(meanings, meaning) != meanings.end())
        continue;
      std::string all, begin;
      for (char c : meaning) {
        begin = all;
        all += spelled(static_cast<unsigned char>(c));
      }
      if (size > 1)
        merges.push_back(begin + " " + spelled(static_cast<unsigned char>(meaning.back())));
      meanings.push_back(meaning);
      tokens.push_back(all);
    }
  Checkpoint checkpoint = gguf("llama", "gpt2");
  checkpoint.metadata["tokenizer.ggml.pre"] = pre;
  set(checkpoint, "tokens", tokens);
  set(checkpoint, "token_type", std::vector<int64_t>(tokens.size(), 1));
  set(checkpoint, "merges", merges);
  auto artifact = buildTokenizer(checkpoint);
  if (!artifact)
    return artifact.error().format();
  auto tokenizer =
      Tokenizer::fromBytes((*artifact)->kind, std::as_bytes(std::span((*artifact)->bytes)));
  auto ids =
      tokenizer ? (*tokenizer)->encode(words) : Result<std::vector<int32_t>>(tokenizer.error());
  if (!ids)
    return ids.error().format();
  std::string cut;
  for (int32_t id : *ids)
    cut += (cut.empty() ? "" : "|") + meanings[static_cast<size_t>(id)];
  return cut;
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
  EXPECT_TRUE((*plain)->special.prefix.empty());

  checkpoint.metadata["tokenizer.ggml.add_bos_token"] = true;
  checkpoint.metadata["tokenizer.chat_template"] =
      std::string("{{ messages[0].content }}<|eot_id|>");
  auto chat = buildTokenizer(checkpoint);
  ASSERT_TRUE(chat) << chat.error().format();
  EXPECT_EQ((*chat)->special.eos, (std::vector<int32_t>{3, 5}))
      << "the template ends turns with <|eot_id|>";
  EXPECT_EQ((*chat)->special.prefix, std::vector<int32_t>{4});
  EXPECT_TRUE(checkpoint.unusedKeys().empty());
}

// llama.cpp recognises Phi-3 by its name. In transformers, "<|user|>\nHi<|end|>\n" has no ids for the line feeds.
TEST(GgufVocabulary, TokensOfPhiTakeInTheBlanksBehindThem) {
  Checkpoint phi3 = gguf("phi3", "llama");
  set(phi3, "tokens",
      Strings{"<unk>", "<s>", "</s>", "<0x0A>", "▁", "H", "i", "▁Hi", "Hi", "<|endoftext|>",
              "<|assistant|>", "<|end|>", "<|user|>", "<|placeholder1|>"});
  set(phi3, "token_type", std::vector<int64_t>{2, 3, 3, 6, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3});
  set(phi3, "scores", std::vector<double>{0, 0, 0, 0, -4, -5, -6, -1, -2, 0, 0, 0, 0, 0});
  Checkpoint llama = phi3;
  llama.architecture = "llama"; // under another name, Phi-3 is recognised by its tokens
  Checkpoint other = llama;
  set(other, "tokens",
      Strings{"<unk>", "<s>", "</s>", "<0x0A>", "▁", "H", "i", "▁Hi", "Hi", "<|endoftext|>",
              "<|assistant|>", "<|end|>", "<|user|>", "<|other|>"});
  Checkpoint mini = gguf("phi3", "gpt2"), phi4 = gguf("phi3", "gpt2");
  set(mini, "tokens",
      Strings{"H", "i", "Hi", "Ċ", "Ġ", "<|endoftext|>", "<|assistant|>", "<|end|>", "<|user|>"});
  set(phi4, "tokens",
      Strings{"H", "i", "Hi", "Ċ", "Ġ", "<|endoftext|>", "<|im_start|>", "<|im_end|>",
              "<|im_sep|>"});
  for (Checkpoint *one : {&mini, &phi4}) {
    set(*one, "token_type", std::vector<int64_t>{1, 1, 1, 1, 1, 3, 3, 3, 3});
    set(*one, "merges", Strings{"H i"});
    one->metadata["tokenizer.ggml.pre"] = std::string("gpt-4o");
  }
  const std::string chat = "<|user|>\nHi<|end|>\n<|assistant|>\n";
  const struct {
    Checkpoint *checkpoint;
    std::string text;
    std::vector<int32_t> ids;
  } cases[] = {{&phi3, chat, {12, 7, 11, 10}},
               {&llama, chat, {12, 7, 11, 10}},
               {&other, chat, {12, 4, 3, 8, 11, 4, 3, 10, 4, 3}},
               {&phi3, "<|endoftext|>\nHi</s>  \n", {9, 4, 3, 8, 2}},
               {&mini, chat, {8, 2, 7, 6}},
               {&mini, "<|endoftext|>\n", {5, 3}},
               {&phi4, "<|im_start|>\nHi <|im_sep|> Hi", {6, 2, 8, 2}}};
  for (const auto &[checkpoint, text, ids] : cases) {
    auto artifact = buildTokenizer(*checkpoint);
    ASSERT_TRUE(artifact) << artifact.error().format();
    auto tokenizer =
        Tokenizer::fromBytes((*artifact)->kind, std::as_bytes(std::span((*artifact)->bytes)));
    ASSERT_TRUE(tokenizer) << tokenizer.error().format();
    auto found = (*tokenizer)->encode(text);
    ASSERT_TRUE(found) << found.error().format();
    EXPECT_EQ(*found, ids) << checkpoint->architecture << ": " << text;
  }
}

TEST(GgufVocabulary, AnEndBehindATextThatIsEmbedded) {
  Checkpoint checkpoint = small();
  checkpoint.metadata["tokenizer.ggml.eos_token_id"] = int64_t(3);
  checkpoint.metadata["tokenizer.ggml.padding_token_id"] = int64_t(4);
  checkpoint.metadata["tokenizer.ggml.add_eos_token"] = true;
  auto artifact = buildTokenizer(checkpoint);
  ASSERT_TRUE(artifact) << artifact.error().format();
  EXPECT_EQ((*artifact)->special.suffix, std::vector<int32_t>{3});
  EXPECT_EQ((*artifact)->special.names,
            (NamedTokens{{"eos_token", "<|im_end|>"}, {"pad_token", "<s>"}}));
}

namespace {

/// Returns the end-of-answer ids of a model whose control tokens are `names` (ids 1, 2, …) and whose files list
/// `stated`. The first set comes from a GGUF, which holds only the first of `stated`, the second from a folder.
std::pair<std::set<int32_t>, std::set<int32_t>> endsOf(const Strings &names, const Strings &stated,
                                                       const std::string &chatTemplate) {
  auto idOf = [&](const std::string &name) {
    return int64_t(std::ranges::find(names, name) - names.begin()) + 1;
  };
  Checkpoint file = gguf("llama", "gpt2");
  Strings tokens = {"a"};
  tokens.insert(tokens.end(), names.begin(), names.end());
  set(file, "tokens", tokens);
  std::vector<int64_t> types(tokens.size(), 3);
  types[0] = 1;
  set(file, "token_type", types);
  set(file, "merges", Strings{});
  file.metadata["tokenizer.ggml.pre"] = std::string("gpt-2");
  file.metadata["tokenizer.ggml.eos_token_id"] = idOf(stated[0]);
  file.metadata["tokenizer.chat_template"] = chatTemplate;

  Checkpoint folder;
  folder.container = import::Container::Safetensors;
  std::string added, vocabulary = R"("a":0)", ends;
  for (const std::string &name : names) {
    const std::string id = std::to_string(idOf(name));
    added +=
        (added.empty() ? "" : ",") + (R"({"id":)" + id) + R"(,"content":")" + name +
        R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})";
    vocabulary += ",\"" + name + "\":" + id;
  }
  for (const std::string &name : stated)
    ends += (ends.empty() ? "" : ",") + std::to_string(idOf(name));
  folder.text.tokenizerJson = R"({"added_tokens":[)" + added +
                              R"(],"model":{"type":"BPE","merges":[],"vocab":{)" + vocabulary +
                              "}}}";
  folder.text.generationConfigJson = R"({"eos_token_id":[)" + ends + "]}";
  folder.text.chatTemplates = {{"default", chatTemplate}};
  auto found = [](const Checkpoint &checkpoint) {
    auto built = buildTokenizer(checkpoint);
    EXPECT_TRUE(built) << (built ? "" : built.error().format());
    return built ? std::set<int32_t>((*built)->special.eos.begin(), (*built)->special.eos.end())
                 : std::set<int32_t>();
  };
  return {found(file), found(folder)};
}

} // namespace

// Uses each family's published generation_config.json, its template's marks, and ids that must not
// end an answer.
TEST(Ends, AreTheSameFromAGgufAndFromAFolder) {
  struct {
    const char *family;
    Strings names;
    Strings stated; ///< from generation_config.json; the GGUF has only the first
    std::string chatTemplate;
    Strings never = {};
  } families[] = {
      {"gpt-oss",
       {"<|return|>", "<|call|>", "<|endoftext|>", "<|end|>", "<|start|>", "<|channel|>",
        "<|message|>"},
       {"<|return|>", "<|endoftext|>", "<|call|>"},
       "<|start|>assistant<|channel|>final<|message|>x<|end|><|call|><|return|>",
       {"<|end|>"}},
      {"Llama 3.1",
       {"<|end_of_text|>", "<|eom_id|>", "<|eot_id|>", "<|start_header_id|>"},
       {"<|eot_id|>", "<|end_of_text|>", "<|eom_id|>"},
       "<|start_header_id|>user<|eot_id|>",
       {"<|start_header_id|>"}},
      {"Qwen3",
       {"<|im_start|>", "<|im_end|>", "<|endoftext|>"},
       {"<|im_end|>", "<|endoftext|>"},
       "<|im_start|>user x<|im_end|>",
       {"<|im_start|>"}},
      {"Gemma 3",
       {"<eos>", "<start_of_turn>", "<end_of_turn>"},
       {"<eos>", "<end_of_turn>"},
       "<start_of_turn>user x<end_of_turn>",
       {"<start_of_turn>"}},
      {"Gemma 4",
       {"<eos>", "<|turn>", "<turn|>", "<|tool_response>", "<tool_response|>"},
       {"<eos>", "<turn|>", "<|tool_response>"},
       "<|turn>user x<turn|>",
       {"<|turn>", "<tool_response|>"}},
      {"Phi-3",
       {"<|endoftext|>", "<|assistant|>", "<|end|>", "<|user|>"},
       {"<|endoftext|>", "<|assistant|>", "<|end|>"},
       "<|user|>x<|end|><|assistant|>",
       {"<|user|>"}},
      {"GLM-4.5",
       {"<|endoftext|>", "[gMASK]", "<sop>", "<|user|>", "<|assistant|>", "<|observation|>"},
       {"<|endoftext|>", "<|user|>", "<|observation|>"},
       "[gMASK]<sop><|user|>x<|assistant|>",
       {"<|assistant|>", "<sop>"}},
      {"Granite",
       {"<|end_of_text|>", "<|start_of_role|>"},
       {"<|end_of_text|>"},
       "<|start_of_role|>user x<|end_of_text|>",
       {"<|start_of_role|>"}},
      {"Command R",
       {"<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"},
       {"<|END_OF_TURN_TOKEN|>"},
       "<|START_OF_TURN_TOKEN|>x<|END_OF_TURN_TOKEN|>",
       {"<|START_OF_TURN_TOKEN|>"}},
      {"MiniMax-M2", {"]~b]", "[e~["}, {"[e~["}, "]~b]user x[e~[", {"]~b]"}},
      {"EXAONE 4",
       {"[|user|]", "[|endofturn|]"},
       {"[|endofturn|]"},
       "[|user|]x[|endofturn|]",
       {"[|user|]"}},
      {"Seed-OSS",
       {"<seed:bos>", "<seed:eos>"},
       {"<seed:eos>"},
       "<seed:bos>user x<seed:eos>",
       {"<seed:bos>"}},
      {"dots.llm1",
       {"<|endoftext|>", "<|response|>", "<|endofresponse|>"},
       {"<|endoftext|>", "<|endofresponse|>"},
       "<|response|>x<|endofresponse|>",
       {"<|response|>"}},
      {"Mistral", {"<s>", "</s>", "[INST]"}, {"</s>"}, "<s>[INST]x[/INST]y</s>", {"[INST]"}},
  };
  for (const auto &[family, names, stated, chatTemplate, never] : families) {
    const auto [file, folder] = endsOf(names, stated, chatTemplate);
    EXPECT_EQ(file, folder) << family;
    for (const std::string &name : stated)
      EXPECT_TRUE(file.contains(int32_t(std::ranges::find(names, name) - names.begin()) + 1))
          << family << ": " << name;
    for (const std::string &name : never)
      EXPECT_FALSE(file.contains(int32_t(std::ranges::find(names, name) - names.begin()) + 1))
          << family << ": " << name;
  }
}

TEST(GgufVocabulary, LlamasLikeTakeWholeWordsFirstAndBeginWithBos) {
  // No merge produces the token "abc": neither a with bc nor ab with c.
  Checkpoint checkpoint = small();
  set(checkpoint, "tokens", Strings{"a", "b", "c", "ab", "abc", "<s>"});
  set(checkpoint, "token_type", std::vector<int64_t>{1, 1, 1, 1, 1, 3});
  checkpoint.metadata["tokenizer.ggml.bos_token_id"] = int64_t(5);
  for (const char *pre :
       {"gpt-2", "dbrx", "lfm2", "pixtral", "falcon3", "falcon-h1", "llama-bpe", "glm4", "glm5"}) {
    const bool whole = std::string_view(pre) != "gpt-2" && std::string_view(pre) != "dbrx";
    const bool bos = whole && !std::string_view(pre).starts_with("glm");
    checkpoint.metadata["tokenizer.ggml.pre"] = std::string(pre);
    auto artifact = buildTokenizer(checkpoint);
    ASSERT_TRUE(artifact) << artifact.error().format();
    EXPECT_EQ((*artifact)->special.prefix.size(), bos) << pre;
    auto tokenizer =
        Tokenizer::fromBytes((*artifact)->kind, std::as_bytes(std::span((*artifact)->bytes)));
    ASSERT_TRUE(tokenizer) << tokenizer.error().format();
    auto ids = (*tokenizer)->encode("abc");
    ASSERT_TRUE(ids) << ids.error().format();
    EXPECT_EQ(*ids, whole ? std::vector<int32_t>{4} : (std::vector<int32_t>{3, 2})) << pre;
  }
}

// The words must match those of the models' own tokenizer.json. "|" marks the splits.
TEST(GgufVocabulary, NamesCutTextIntoTheModelsWords) {
  struct {
    std::vector<const char *> names;
    const char *words;
  } cuts[] = {
      {{"gpt-2", "granite-docling", "gigachat", "a.x-4.0", "mellum", "modern-bert"},
       "12345| a|!!|\n"},
      {{"smollm", "command-r"}, "1|2|3|4|5| a"},
      {{"llama-bpe", "glm4", "glm5", "chatglm-bpe"}, "123|45| a|!!\n"},
      {{"qwen2", "stablelm2", "hunyuan", "kormo", "f2llmv2", "solar-open", "grok-2"},
       "1|2| a|!!\n"},
      {{"qwen2"}, "a|\u0308b"}, // a combining mark
      {{"qwen35"}, "a\u0308b|1|2|!\n"},
      {{"seed-coder"}, "1|2| a|!!|\n"},
      {{"bailingmoe", "bailingmoe2", "llada-moe"}, "1|2| a|!!\n"},
      {{"exaone-moe"}, "a b|1|!/"},
      {{"gpt-4o", "minimax-m2", "kanana2", "talkie"}, "123|45|Ab|Cd|!/"},
      {{"gpt-4o"}, "a\u4e2da"},
      {{"kimi-k2"}, "a|\u4e2d|a|123|45"},
      {{"tiny_aya", "cohere2moe"}, "12|345| Ab|Cd"},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"}, "123|45|\u4e2d|a|\u3042|.b| !!\n"},
      {{"deepseek-coder"}, "1|2|ab| a|!|\n|\n"},
  };
  for (const auto &[names, words] : cuts)
    for (const char *name : names)
      EXPECT_EQ(cutBy(name, words), words) << name;
}

// Merges combine pieces, not bytes. Spaces are U+2581, no space is added before a text, and BOS is always added,
// whatever the file states.
TEST(GgufVocabulary, Gemma4ListsItsMerges) {
  Checkpoint checkpoint = gguf("gemma4", "gemma4");
  set(checkpoint, "tokens",
      Strings{"<pad>", "<bos>", "a", "▁", "▁a", "▁▁", "é", "aé", "<0xC3>", "\n", "\n\n"});
  set(checkpoint, "token_type", std::vector<int64_t>{3, 3, 1, 1, 1, 1, 1, 1, 6, 1, 1});
  set(checkpoint, "scores", std::vector<double>(11, -1));
  set(checkpoint, "merges", Strings{"▁ ▁", "▁ a", "a é", "\n \n"});
  checkpoint.metadata["tokenizer.ggml.bos_token_id"] = int64_t(1);
  checkpoint.metadata["tokenizer.ggml.add_bos_token"] = false;
  auto artifact = buildTokenizer(checkpoint);
  ASSERT_TRUE(artifact) << artifact.error().format();
  EXPECT_EQ((*artifact)->special.prefix, std::vector<int32_t>{1});
  auto tokenizer =
      Tokenizer::fromBytes((*artifact)->kind, std::as_bytes(std::span((*artifact)->bytes)));
  ASSERT_TRUE(tokenizer) << tokenizer.error().format();
  const std::pair<const char *, std::vector<int32_t>> cases[] = {
      {"a", {2}}, {" a", {4}}, {"   a", {5, 4}}, {"aé a", {7, 4}}, {"a\n\n\na", {2, 10, 9, 2}}};
  for (const auto &[text, ids] : cases) {
    auto found = (*tokenizer)->encode(text);
    ASSERT_TRUE(found) << found.error().format();
    EXPECT_EQ(*found, ids) << text;
    EXPECT_EQ((*tokenizer)->decode(*found, false), text);
  }
  checkpoint.metadata.erase("tokenizer.ggml.merges");
  EXPECT_EQ(refusal(checkpoint), "E0621");
}

TEST(GgufVocabulary, noVocabularyIsNoTokenizer) {
  Checkpoint checkpoint;
  checkpoint.container = import::Container::Gguf;
  checkpoint.architecture = "llama";
  auto built = buildTokenizer(checkpoint);
  ASSERT_TRUE(built) << built.error().format();
  EXPECT_FALSE(built->has_value());
  auto chat = findChatTemplates(checkpoint);
  ASSERT_TRUE(chat);
  EXPECT_TRUE(chat->source.empty());
}

TEST(GgufVocabulary, refusesByName) {
  std::string text;
  Checkpoint pre = small();
  pre.metadata["tokenizer.ggml.pre"] = std::string("mystery-pre");
  EXPECT_EQ(refusal(pre, &text), "E0620");
  EXPECT_NE(text.find("mystery-pre"), std::string::npos) << text;
  EXPECT_NE(text.find("--pre-tokenizer NAME"), std::string::npos) << text; // names a workaround

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
  EXPECT_EQ(special.prefix, std::vector<int32_t>{1}) << "the post-processor begins with <s>";

  folder.text.tokenizerConfigJson = R"({"add_bos_token":false,"bos_token":"<s>"})";
  auto without = buildTokenizer(folder);
  ASSERT_TRUE(without);
  EXPECT_EQ((*without)->special.prefix, std::vector<int32_t>{1}) << "the post-processor decides";

  folder.text.tokenizerJson.clear();
  auto ids = configuredSpecialTokens(folder);
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->eos, (std::vector<int32_t>{2, 99}));
}

//===- GgufVocabulary.cpp - A GGUF vocabulary as a tokenizer.json --------===//
//
// GGUF keeps tokens, scores, types and merges, but only names the rest of a tokenizer. This file writes the
// equivalent tokenizer.json: the one that the model was trained with, as far as the names determine it
// (llama.cpp's llama-vocab.cpp lists the meaning of the names):
//
//   model "gpt2"   byte-level BPE; `pre` names the regular expression that splits text into words
//   model "llama"  SentencePiece BPE with byte fallback; merges are derived from the scores. For Gemma they are derived
//                  from the ids, because its scores do not follow its merge order. If add_space_prefix is set, which is
//                  the default, a space is inserted before every piece of text, including one that begins with a space
//   model "gemma4" the same with explicit merges, and no space before a text
//
// The GGUF reader of Hugging Face transformers is not a reference here: it drops the step that first
// separates digits ("smollm" and similar ones), and it does not insert a second space before a text.
//===----------------------------------------------------------------------===//

#include "compiler/text/GgufVocabulary.h"
#include "compiler/text/StrippingTokens.h"
#include "runtime/text/Json.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>

namespace ingot::text {

using import::Checkpoint;

Error damagedVocabulary(std::string why) {
  return {
      ExitCode::File, "E0621", "the checkpoint's tokenizer is damaged", std::move(why),
      "get the checkpoint again, or remove its tokenizer to compile an engine that accepts only "
      "ids"};
}

namespace {

/// Returns E0620. `more` is advice that follows the standard advice.
Error unsupported(const std::string &what, const std::string &name, const std::string &known,
                  const std::string &more = "") {
  return {ExitCode::File, "E0620", what + " '" + name + "' is not supported", "supported: " + known,
          "compile the model's safetensors folder, whose tokenizer.json is complete" + more};
}

// tokenizer.ggml.token_type
enum TokenType : int64_t {
  Normal = 1,
  Unknown = 2,
  Control = 3,
  UserDefined = 4,
  Unused = 5,
  Byte = 6
};

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int64_t> types; ///< one per token, or empty
  std::vector<double> scores; ///< one per token, or empty
  std::vector<std::string> merges;
  bool hasMerges = false;

  int64_t type(size_t id) const { return types.empty() ? int64_t(Normal) : types[id]; }
};

struct Added {
  size_t id;
  std::string_view content;
  bool special;
  Stripping strips = {};
};

/// The properties in which the kinds differ, as JSON text.
struct Shape {
  std::string normalizer = "null", preTokenizer = "null", decoder = "null", unknown = "null";
  bool fuseUnknown = false, byteFallback = false, ignoreMerges = false;
};

constexpr std::string_view kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekkenWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4oWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// As for Qwen 2, but a combining mark is part of its word.
constexpr std::string_view kQwen35Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedCoderWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBailingWords =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kExaoneMoeWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
// As for GPT-4o, but Chinese characters form words of their own.
constexpr std::string_view kKimiK2Words =
    R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kChineseAndKana = "[一-龥\u3040-ゟ゠-ヿ]+";
constexpr std::string_view kDeepSeekWords =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepSeekFirst[] = {kThreeDigits, kChineseAndKana};
constexpr std::string_view kDeepSeekCoderFirst[] = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
                                                    "[一-龥ࠀ-一가-\uD7FF]+"};
// Splits the digits of a number into groups of three from the right; the first group has the remainder.
constexpr std::string_view kTinyAyaFirst[] = {R"(\d{1,3}(?=(?:\d{3})*\b))"};

/// Specifies how words become tokens after splitting, and how a text begins if the file does not specify it.
enum class Words : uint8_t {
  Merged,
  WholeFirst,    ///< a word that is a token needs no merges (tiktoken's rule)
  WholeFirstBos, ///< the same, and a text begins with BOS, as in llama.cpp's table
};

/// A pre-tokenizer and its name in GGUF. Empty `words` stand for GPT-2's expression, which ByteLevel contains.
struct PreTokenizer {
  std::string_view name, words;
  Words how = Words::Merged;
  bool digitsFirst = false; ///< every digit is a word, without a preceding space
  std::span<const std::string_view> first = {}; ///< split the text before `words`
};
constexpr PreTokenizer kPreTokenizers[] = {
    {"default", ""},
    {"gpt-2", ""},
    {"phi-2", ""},
    {"mpt", ""},
    {"olmo", ""},
    {"jais", ""},
    {"exaone4", ""},
    {"trillion", ""},
    {"granite-docling", ""},
    {"gigachat", ""},
    {"a.x-4.0", ""},
    {"mellum", ""},
    {"modern-bert", ""},
    {"smollm", "", Words::Merged, true},
    {"starcoder", "", Words::Merged, true},
    {"refact", "", Words::Merged, true},
    {"command-r", "", Words::Merged, true},
    {"codeshell", "", Words::Merged, true},
    {"exaone", "", Words::Merged, true},
    {"minerva-7b", "", Words::Merged, true},
    {"mellum2", "", Words::Merged, true},
    {"llama-bpe", kLlama3Words, Words::WholeFirstBos},
    {"llama3", kLlama3Words, Words::WholeFirstBos},
    {"llama-v3", kLlama3Words, Words::WholeFirstBos},
    {"falcon3", kLlama3Words, Words::WholeFirstBos},
    {"falcon-h1", kLlama3Words, Words::WholeFirstBos},
    {"pixtral", kLlama3Words, Words::WholeFirstBos},
    {"midm-2.0", kLlama3Words, Words::WholeFirstBos},
    {"lfm2", kLlama3Words, Words::WholeFirstBos},
    {"jina-v5-nano", kLlama3Words, Words::WholeFirstBos},
    {"glm4", kLlama3Words, Words::WholeFirst},
    {"glm5", kLlama3Words, Words::WholeFirst},
    {"chatglm-bpe", kLlama3Words},
    {"dbrx", kLlama3Words},
    {"smaug-bpe", kLlama3Words},
    {"qwen2", kQwen2Words},
    {"deepseek-r1-qwen", kQwen2Words},
    {"megrez", kQwen2Words},
    {"stablelm2", kQwen2Words},
    {"hunyuan", kQwen2Words},
    {"kormo", kQwen2Words},
    {"f2llmv2", kQwen2Words},
    {"solar-open", kQwen2Words},
    {"grok-2", kQwen2Words},
    {"qwen35", kQwen35Words},
    {"seed-coder", kSeedCoderWords},
    {"bailingmoe", kBailingWords},
    {"bailingmoe2", kBailingWords},
    {"llada-moe", kBailingWords},
    {"exaone-moe", kExaoneMoeWords},
    {"tekken", kTekkenWords, Words::WholeFirstBos},
    {"gpt-4o", kGpt4oWords},
    {"llama4", kGpt4oWords},
    {"minimax-m2", kGpt4oWords},
    {"kanana2", kGpt4oWords},
    {"talkie", kGpt4oWords},
    {"tiny_aya", kGpt4oWords, Words::Merged, false, kTinyAyaFirst},
    {"cohere2moe", kGpt4oWords, Words::Merged, false, kTinyAyaFirst},
    {"kimi-k2", kKimiK2Words, Words::WholeFirst}, // its original tokenizer is tiktoken
    {"deepseek-v3", kDeepSeekWords, Words::Merged, false, kDeepSeekFirst},
    {"hunyuan-dense", kDeepSeekWords, Words::Merged, false, kDeepSeekFirst},
    {"joyai-llm", kDeepSeekWords, Words::Merged, false, kDeepSeekFirst},
    {"hy_v4", kDeepSeekWords, Words::Merged, false, kDeepSeekFirst},
    {"deepseek-coder", R"(\p{N})", Words::Merged, false, kDeepSeekCoderFirst},
};

void appendUtf8(std::string &out, unsigned c) { // nothing above U+07FF is needed
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  out += static_cast<char>(0xC0 | c >> 6);
  out += static_cast<char>(0x80 | (c & 0x3F));
}

/// GPT-2's spelling of bytes as visible characters.
const std::array<std::string, 256> &byteSpelling() {
  static const std::array<std::string, 256> spelling = [] {
    std::array<std::string, 256> table;
    unsigned shifted = 0x100;
    for (unsigned b = 0; b < 256; ++b) {
      bool visible = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      appendUtf8(table[b], visible ? b : shifted++);
    }
    return table;
  }();
  return spelling;
}

size_t characterSize(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

bool isByteSpelled(std::string_view token) {
  static const std::set<std::string_view> alphabet(byteSpelling().begin(), byteSpelling().end());
  for (size_t at = 0; at < token.size();) {
    size_t size = characterSize(static_cast<unsigned char>(token[at]));
    if (!alphabet.contains(token.substr(at, size)))
      return false;
    at += size;
  }
  return true;
}

Result<Vocabulary> readVocabulary(const Checkpoint &checkpoint) {
  Vocabulary v;
  auto read = [&](const char *key, auto &into) -> Result<bool> {
    using Vector = std::remove_reference_t<decltype(into)>;
    if (!checkpoint.has(key))
      return false;
    const import::MetaArray *array = checkpoint.array(key);
    const auto *values = array ? std::get_if<Vector>(array) : nullptr;
    if (!values)
      return damagedVocabulary(std::string(key) + " is not an array of the right type");
    into = *values;
    return true;
  };
  if (auto r = read("tokenizer.ggml.tokens", v.tokens); !r)
    return r.error();
  if (auto r = read("tokenizer.ggml.token_type", v.types); !r)
    return r.error();
  if (auto r = read("tokenizer.ggml.scores", v.scores); !r)
    return r.error();
  auto merges = read("tokenizer.ggml.merges", v.merges);
  if (!merges)
    return merges.error();
  v.hasMerges = *merges;

  auto count = [&](const char *key, size_t n) -> Result<void> {
    if (n != 0 && n != v.tokens.size())
      return damagedVocabulary(std::string(key) + " has " + std::to_string(n) + " entries for " +
                               std::to_string(v.tokens.size()) + " tokens");
    return {};
  };
  if (auto r = count("tokenizer.ggml.token_type", v.types.size()); !r)
    return r.error();
  if (auto r = count("tokenizer.ggml.scores", v.scores.size()); !r)
    return r.error();
  for (size_t id = 0; id < v.tokens.size(); ++id)
    if (replaceInvalidUtf8(v.tokens[id]) != v.tokens[id])
      return damagedVocabulary("token " + std::to_string(id) + " is not UTF-8");
  return v;
}

using Ids = std::unordered_map<std::string_view, size_t>;
using Merges = std::vector<std::pair<std::string_view, std::string_view>>;

/// Returns the merges that a SentencePiece vocabulary implies: every split of a token into two tokens. Merges with
/// smaller `rank(id)` come first; ties are ordered by longer left side, then longer right side, then lower
/// id.
template <typename Rank>
Merges impliedMerges(const std::vector<std::string> &tokens, const Ids &ids, Rank rank) {
  struct Entry {
    double rank;
    size_t id, leftChars, rightChars;
    std::string_view left, right;
  };
  std::vector<Entry> entries;
  for (size_t id = 0; id < tokens.size(); ++id) {
    std::string_view token = tokens[id];
    if (ids.at(token) != id)
      continue; // a token that is listed twice counts once
    size_t chars = 0;
    for (size_t at = 0; at < token.size();
         at += characterSize(static_cast<unsigned char>(token[at])))
      ++chars;
    size_t leftChars = 0;
    for (size_t at = 0; at < token.size();) {
      at += characterSize(static_cast<unsigned char>(token[at]));
      ++leftChars;
      std::string_view left = token.substr(0, at), right = token.substr(at);
      if (!right.empty() && ids.contains(left) && ids.contains(right))
        entries.push_back({rank(id), id, leftChars, chars - leftChars, left, right});
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tuple(a.rank, b.leftChars, b.rightChars, a.id) <
           std::tuple(b.rank, a.leftChars, a.rightChars, b.id);
  });
  Merges merges;
  for (const Entry &entry : entries)
    merges.emplace_back(entry.left, entry.right);
  return merges;
}

Result<Merges> listedMerges(const std::vector<std::string> &lines) {
  Merges merges;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
      return damagedVocabulary("merge " + std::to_string(i) +
                               " is not two tokens separated by a space");
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return merges;
}

std::string writeJson(const std::vector<std::string> &tokens, const Ids &ids, const Merges &merges,
                      const std::vector<Added> &added, const Shape &shape) {
  std::string json = R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)";
  auto flag = [](bool on) { return on ? "true" : "false"; };
  std::string_view comma = "";
  for (const Added &token : added) {
    json.append(comma).append("{\"id\":").append(std::to_string(token.id)).append(",\"content\":");
    appendJsonString(json, token.content);
    json.append(R"(,"single_word":false,"lstrip":)").append(flag(token.strips.left));
    json.append(R"(,"rstrip":)").append(flag(token.strips.right));
    json.append(R"(,"normalized":false,"special":)").append(flag(token.special)).append("}");
    comma = ",";
  }
  json += "],\"normalizer\":" + shape.normalizer + ",\"pre_tokenizer\":" + shape.preTokenizer +
          ",\"post_processor\":null,\"decoder\":" + shape.decoder +
          R"(,"model":{"type":"BPE","dropout":null,"unk_token":)" + shape.unknown +
          R"(,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":)" +
          flag(shape.fuseUnknown) + ",\"byte_fallback\":" + flag(shape.byteFallback) +
          ",\"ignore_merges\":" + flag(shape.ignoreMerges) + ",\"vocab\":{";
  comma = "";
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (ids.at(tokens[id]) != id)
      continue;
    json += comma;
    appendJsonString(json, tokens[id]);
    json.append(":").append(std::to_string(id));
    comma = ",";
  }
  json += "},\"merges\":[";
  comma = "";
  for (const auto &[left, right] : merges) {
    json.append(comma).append("[");
    appendJsonString(json, left);
    json += ',';
    appendJsonString(json, right);
    json += ']';
    comma = ",";
  }
  return json + "]}}";
}

/// Maps texts to tokens; for duplicates, the last one counts.
Ids byText(const std::vector<std::string> &tokens) {
  Ids ids;
  ids.reserve(tokens.size());
  for (size_t id = 0; id < tokens.size(); ++id)
    ids[tokens[id]] = id;
  return ids;
}

/// Returns the steps that split text into words and convert these to the byte alphabet.
std::string byteLevelWords(const PreTokenizer &pre) {
  std::string steps;
  auto split = [&](std::string_view expression) {
    steps += R"({"type":"Split","pattern":{"Regex":)" + jsonString(expression) +
             R"(},"behavior":"Isolated","invert":false},)";
  };
  if (pre.digitsFirst)
    steps += R"({"type":"Digits","individual_digits":true},)";
  for (std::string_view expression : pre.first)
    split(expression);
  if (!pre.words.empty())
    split(pre.words);
  const std::string bytes =
      R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":)" +
      std::string(pre.words.empty() ? "true}" : "false}");
  return steps.empty() ? bytes : R"({"type":"Sequence","pretokenizers":[)" + steps + bytes + "]}";
}

Result<std::string> byteLevelJson(const Checkpoint &checkpoint, Vocabulary v) {
  auto pre = checkpoint.has("tokenizer.ggml.pre") ? checkpoint.string("tokenizer.ggml.pre")
                                                  : std::string("default");
  if (!pre)
    return pre.error();
  const auto *known = std::ranges::find(kPreTokenizers, *pre, &PreTokenizer::name);
  if (known == std::end(kPreTokenizers)) {
    std::string names;
    for (const PreTokenizer &p : kPreTokenizers)
      names += (names.empty() ? "" : ", ") + std::string(p.name);
    return unsupported(
        "the GGUF pre-tokenizer", *pre, names,
        "; or, if one of these splits text in the same way: gguf-new-metadata (pip install gguf) "
        "IN.gguf OUT.gguf --pre-tokenizer NAME");
  }
  Shape shape{
      .decoder =
          R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})",
      .ignoreMerges = known->how != Words::Merged};
  shape.preTokenizer = byteLevelWords(*known);

  // Added tokens are plain text (GPT-NeoX has runs of spaces among them). Other tokens that are not written
  // in the byte alphabet are converted to it; only merges can reach them.
  std::vector<std::string> tokens = v.tokens;
  const StrippingTokens strips(checkpoint.architecture, "gpt2", v.tokens);
  std::vector<Added> added;
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (v.type(id) == Control || v.type(id) == UserDefined) {
      added.push_back({id, v.tokens[id], v.type(id) == Control, strips.of(v.tokens[id])});
    } else if (!isByteSpelled(v.tokens[id])) {
      tokens[id].clear();
      for (char c : v.tokens[id])
        tokens[id] += byteSpelling()[static_cast<unsigned char>(c)];
    }
  }
  auto merges = listedMerges(v.merges);
  if (!merges)
    return merges.error();
  return writeJson(tokens, byText(tokens), *merges, added, shape);
}

/// Converts a SentencePiece vocabulary. `merged` means that it is of Gemma 4's kind, which lists its merges.
Result<std::string> sentencePieceJson(const Checkpoint &checkpoint, Vocabulary v, bool merged) {
  const bool gemma = checkpoint.architecture.starts_with("gemma") || merged;
  auto prefix = checkpoint.booleanOr("tokenizer.ggml.add_space_prefix", !gemma);
  if (!prefix)
    return prefix.error();
  if (!v.hasMerges && merged)
    return damagedVocabulary("there are no merges");
  if (!v.hasMerges && !gemma && v.scores.empty())
    return damagedVocabulary("there are neither merges nor scores");

  std::vector<std::string> tokens = v.tokens;
  if (gemma) // runs of spaces are stored unchanged, but looked up after spaces became U+2581
    for (std::string &token : tokens)
      if (token.find(' ') != std::string::npos &&
          token.find_first_not_of(' ') == std::string::npos) {
        size_t spaces = token.size();
        token.clear();
        for (size_t i = 0; i < spaces; ++i)
          token += "▁";
      }
  Ids ids = byText(tokens);

  const StrippingTokens strips(checkpoint.architecture, "llama", v.tokens);
  std::vector<Added> added;
  for (size_t id = 0; id < tokens.size(); ++id) {
    bool special = v.type(id) == Control || v.type(id) == Unknown;
    if (special || (v.type(id) == UserDefined && ids.contains(v.tokens[id])))
      added.push_back({id, v.tokens[id], special, strips.of(v.tokens[id])});
  }

  Merges merges;
  if (v.hasMerges) {
    auto listed = listedMerges(v.merges);
    if (!listed)
      return listed.error();
    merges = std::move(*listed);
  } else if (gemma) {
    merges = impliedMerges(tokens, ids, [](size_t id) { return static_cast<double>(id); });
  } else {
    merges = impliedMerges(tokens, ids, [&](size_t id) { return -v.scores[id]; });
  }

  Shape shape{.fuseUnknown = true, .byteFallback = true};
  std::string decoders =
      R"({"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"})";
  if (*prefix)
    decoders += R"(,{"type":"Strip","content":" ","start":1,"stop":0})";
  shape.decoder = R"({"type":"Sequence","decoders":[)" + decoders + "]}";
  if (gemma) {
    shape.normalizer = R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})";
    shape.preTokenizer =
        R"({"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious","invert":false})";
    for (size_t id = 0; id < tokens.size(); ++id)
      if (tokens[id] == "<unk>")
        shape.unknown = "\"<unk>\"";
  } else { // as in Llama 2's own tokenizer.json, where the text between two special tokens is one piece
    shape.normalizer = R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})";
    if (*prefix)
      shape.normalizer = R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},)" +
                         shape.normalizer + "]}";
  }
  return writeJson(tokens, ids, merges, added, shape);
}

} // namespace

bool beginsWithBos(std::string_view preTokenizer) {
  const auto *known = std::ranges::find(kPreTokenizers, preTokenizer, &PreTokenizer::name);
  return known != std::end(kPreTokenizers) && known->how == Words::WholeFirstBos;
}

Result<std::string> ggufToTokenizerJson(const Checkpoint &checkpoint) {
  auto model = checkpoint.string("tokenizer.ggml.model");
  if (!model)
    return model.error();
  auto vocabulary = readVocabulary(checkpoint);
  if (!vocabulary)
    return vocabulary.error();
  if (*model == "gpt2")
    return byteLevelJson(checkpoint, std::move(*vocabulary));
  if (*model == "llama" || *model == "gemma4")
    return sentencePieceJson(checkpoint, std::move(*vocabulary), *model == "gemma4");
  return unsupported("the GGUF vocabulary", *model, "gpt2, llama, gemma4");
}

} // namespace ingot::text

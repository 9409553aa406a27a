//===- Sampling.h - Random answers under a grammar's mask -----------------===//
#pragma once

#include "Goldens.h"
#include "compiler/text/TextBuild.h"
#include "runtime/text/Grammar.h"

#include <gtest/gtest.h>
#include <random>

namespace sampling {

using namespace ingot;
using namespace ingot::text;

/// A tokenizer, and its vocabulary in the form that constraints use.
struct Words {
  std::string bytes;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Vocabulary> vocabulary;
  std::vector<int32_t> eos;
  int32_t ids = 0;

  Words(TokenizerArtifact artifact, std::vector<int32_t> eosIds, int32_t padding = 0)
      : bytes(std::move(artifact.bytes)), eos(std::move(eosIds)) {
    auto made = Tokenizer::fromBytes(artifact.kind, std::as_bytes(std::span(bytes)));
    EXPECT_TRUE(made) << made.error().format();
    tokenizer = std::move(*made);
    ids = tokenizer->vocabSize() + padding;
    auto built = Vocabulary::create(*tokenizer, ids, eos);
    EXPECT_TRUE(built) << built.error().format();
    vocabulary = std::move(*built);
  }
};

inline TokenizerArtifact tiny(const std::string &name) {
  simdjson::dom::parser parser;
  simdjson::dom::element golden = parser.load(goldens::path("tiny_" + name + ".json"));
  auto artifact = compileTokenizerJson(simdjson::minify(golden["tokenizer"]));
  EXPECT_TRUE(artifact) << artifact.error().format();
  return std::move(*artifact);
}

/// Returns a BPE of GPT-2's kind with 700 tokens. <|im_end|> ends an answer, and three more ids are padding.
inline Words &words() {
  static Words made = [] {
    TokenizerArtifact artifact = tiny("gpt2");
    auto tokenizer = Tokenizer::fromBytes(artifact.kind, std::as_bytes(std::span(artifact.bytes)));
    return Words(artifact, {*(*tokenizer)->idOf("<|im_end|>")}, 3);
  }();
  return made;
}

inline std::shared_ptr<const Grammar> compile(const Words &words, GrammarKind kind,
                                              std::string_view source) {
  auto grammar = Grammar::compile(*words.vocabulary, kind, source);
  EXPECT_TRUE(grammar) << grammar.error().format() << source;
  return grammar ? *grammar : nullptr;
}

inline bool has(std::span<const uint32_t> mask, int32_t id) {
  return mask[static_cast<size_t>(id) / 32] >> (id % 32) & 1;
}

/// Draws ids uniformly from the allowed ones until one ends the answer, and returns the text. Once the answer is long,
/// it prefers the characters of `ends`, in this order, so that the answer ends. Any text of `marks` ends a part that
/// would otherwise never end. Returns nullopt, and records a failure, if the answer gets stuck.
inline std::optional<std::string> draw(const Words &words, const Grammar &grammar,
                                       std::mt19937 &random, size_t longAfter = 40,
                                       std::string_view ends = "\"}])>`\n0 ",
                                       const std::vector<std::string> &marks = {}) {
  Constraint constraint = grammar.start();
  std::string text;
  for (size_t count = 0; count < longAfter + 4000; ++count) {
    auto mask = constraint.allowed();
    if (!mask) {
      ADD_FAILURE() << mask.error().format() << "after " << text;
      return std::nullopt;
    }
    EXPECT_EQ(mask->size(), static_cast<size_t>(words.ids + 31) / 32);
    std::vector<int32_t> choices;
    for (int32_t id = 0; id < static_cast<int32_t>(mask->size() * 32); ++id)
      if (has(*mask, id))
        choices.push_back(id);
    if (choices.empty()) {
      ADD_FAILURE() << "nothing is allowed after " << text;
      return std::nullopt;
    }
    EXPECT_LT(choices.back(), words.ids);
    int32_t id = choices[random() % choices.size()];
    // Closing bytes are rare among the tokens, so with uniform draws strings would never end.
    if (count > longAfter || random() % 4 == 0)
      for (char end : ends)
        if (auto one = words.tokenizer->idOf(std::string(1, end)); one && has(*mask, *one)) {
          id = *one;
          break;
        }
    for (const std::string &mark : marks) {
      size_t size = count > longAfter ? std::min(mark.size() - 1, text.size()) : 0;
      while (size > 0 && !text.ends_with(mark.substr(0, size)))
        --size;
      auto one = words.tokenizer->idOf(std::string(1, mark[size]));
      if (count > longAfter && one && has(*mask, *one))
        id = *one;
    }
    if (count > longAfter)
      for (int32_t eos : words.eos)
        if (has(*mask, eos))
          id = eos;
    bool ends = std::ranges::find(words.eos, id) != words.eos.end();
    auto taken = constraint.accept(id);
    EXPECT_TRUE(taken) << taken.error().format() << "after " << text;
    if (ends)
      return text;
    text += words.tokenizer->tokenBytes(id);
  }
  ADD_FAILURE() << "no end: " << text.substr(0, 200);
  return std::nullopt;
}

/// Returns whether the grammar accepts all of `text`, tokenised by the tokenizer, and may end after
/// it.
inline bool takes(const Words &words, const Grammar &grammar, std::string_view text,
                  bool special = false) {
  Constraint constraint = grammar.start();
  auto ids = words.tokenizer->encode(text, special);
  for (int32_t id : *ids) {
    auto mask = constraint.allowed();
    if (!mask || !has(*mask, id) || !constraint.accept(id))
      return false;
  }
  auto mask = constraint.allowed();
  return mask && has(*mask, words.eos.front());
}

} // namespace sampling

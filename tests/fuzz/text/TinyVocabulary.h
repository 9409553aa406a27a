//===- TinyVocabulary.h - All bytes and some words, to fuzz grammars ------===//
#pragma once

#include "compiler/text/TextBuild.h"
#include "runtime/text/Grammar.h"

#include <cstdlib>
#include <vector>

/// Returns a vocabulary of 256 bytes, then some words, then </s>, which ends an answer.
inline const ingot::text::Vocabulary &tinyVocabulary() {
  using namespace ingot::text;
  static const auto artifact = [] {
    std::string vocab;
    for (int byte = 0; byte < 256; ++byte) {
      char name[16];
      std::snprintf(name, sizeof name, "<0x%02X>", byte);
      vocab += "\"" + std::string(name) + "\":" + std::to_string(byte) + ",";
    }
    auto made = compileTokenizerJson(
        R"({"added_tokens":[
      {"id":264,"content":"</s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
      "decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Fuse"}]},
      "model":{"type":"BPE","unk_token":null,"byte_fallback":true,"vocab":{)" +
        vocab +
        R"("a":256,"b":257,"ab":258,"abab":259,"{":260,"\"":261,"{\"":262,"é":263},
      "merges":[["a","b"],["ab","ab"],["{","\""]]}})");
    if (!made)
      std::abort();
    return *made;
  }();
  static const auto tokenizer =
      std::move(*Tokenizer::fromBytes(artifact.kind, std::as_bytes(std::span(artifact.bytes))));
  static const auto vocabulary =
      std::move(*Vocabulary::create(*tokenizer, 270, std::vector<int32_t>{264}));
  return *vocabulary;
}

/// Compiles the grammar and generates the answer that `choices` selects. Only the errors that
/// Grammar.h lists may occur.
inline void followGrammar(ingot::text::GrammarKind kind, std::string_view source,
                          std::string_view choices) {
  auto grammar = ingot::text::Grammar::compile(tinyVocabulary(), kind, source);
  if (!grammar) {
    const std::string &code = grammar.error().code;
    // A panic inside the library is an ordinary error; a panic in our own crate is a failure.
    bool panicked =
        code == "E0690" && grammar.error().why.find("ingot-text-crate") == std::string::npos;
    if (code != "E0622" && code != "E0625" && !panicked)
      std::abort();
    return;
  }
  auto constraint = (*grammar)->start();
  for (char choice : choices.substr(0, 64)) {
    auto mask = constraint.allowed();
    if (!mask)
      return;
    std::vector<int32_t> ids;
    for (int32_t id = 0; id < 270; ++id)
      if ((*mask)[static_cast<size_t>(id) / 32] >> (id % 32) & 1)
        ids.push_back(id);
    if (ids.empty() || ids.back() > 264)
      std::abort();
    int32_t id = ids[static_cast<unsigned char>(choice) % ids.size()];
    if (!constraint.accept(id) || id == 264) // a limit, or the end of the answer
      return;
  }
}

// Grammars of calls and answers: calls drawn at random under them are read back, and what families
// write is taken.

#include "ChatAnswers.h"
#include "SchemaCheck.h"
#include "runtime/text/Json.h"

using namespace chat_answers;

namespace {

const std::string kToolsJson =
    R"([{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string","maxLength":12},"days":{"type":"integer","minimum":1,"maximum":14},"units":{"enum":["C","F"]},"near":{"$ref":"#/$defs/place"}},"required":["city","units"],"additionalProperties":false,"$defs":{"place":{"type":"array","items":{"type":"boolean"},"maxItems":2}}}}},
 {"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g","parameters":{"properties":{"o":{"type":"object","properties":{"t":{"type":["boolean","null"]}},"additionalProperties":false}},"additionalProperties":false}}}])";

std::string schemaOf(const std::string &name) {
  simdjson::dom::parser parser;
  for (simdjson::dom::element tool : parser.parse(simdjson::padded_string(kToolsJson)).get_array())
    if (name == std::string_view(tool["function"]["name"])) {
      simdjson::dom::element parameters;
      if (tool["function"]["parameters"].get(parameters) == simdjson::SUCCESS)
        return simdjson::minify(parameters);
    }
  return R"({"type":"object","additionalProperties":false})";
}

} // namespace

TEST(ToolGrammar, forcedCallsAreReadBack) {
  std::mt19937 random(11);
  for (std::string_view name : toolFormatNames()) {
    OutputFormat format = formatOf(name);
    std::vector<std::string> thoughtEnds;
    if (name == "harmony" || name == "gemma4" || name == "cohere" || name == "solar")
      thoughtEnds = {name == "harmony"  ? "<|end|>"
                     : name == "gemma4" ? "<channel|>"
                     : name == "cohere" ? "<|END_THINKING|>"
                                        : "<|end|>"};
    if (name == "atem")
      thoughtEnds = {"<|eom|>"};
    if (name == "kimi-k3")
      thoughtEnds = {"<|close|>think<|sep|>"};
    for (bool parallel : {false, true}) {
      auto made =
          answerGrammar(format, {.tools = kToolsJson, .mustCall = true, .parallel = parallel},
                        words().tokenizer.get());
      ASSERT_TRUE(made) << made.error().format();
      auto grammar = compile(words(), GrammarKind::Lark, *made);
      ASSERT_TRUE(grammar) << *made;
      for (int round = 0; round < 10; ++round) {
        auto text = draw(words(), *grammar, random, 150, "\"}])>`\n0 ", thoughtEnds);
        ASSERT_TRUE(text) << name << *made;
        Parts parts = readTyped(format, *text, kToolsJson);
        EXPECT_EQ(parts.content, "") << name << ": " << *text;
        EXPECT_GE(parts.calls.size(), 1u) << name << ": " << *text;
        if (!parallel)
          EXPECT_EQ(parts.calls.size(), 1u) << name << ": " << *text;
        for (auto &[called, arguments] : parts.calls)
          EXPECT_EQ(schema_check::violation(schemaOf(called), arguments), "")
              << name << ": " << called << " " << arguments << "\n"
              << *text;
      }
    }
    auto named = answerGrammar(
        format, {.tools = kToolsJson, .tool = "f", .mustCall = true, .parallel = false});
    ASSERT_TRUE(named);
    auto grammar = compile(words(), GrammarKind::Lark, *named);
    auto text = draw(words(), *grammar, random, 40, "\"}])>`\n0 ", thoughtEnds);
    EXPECT_EQ(read(format, text.value_or("")).calls, (Calls{{"f", "{}"}}))
        << name << text.value_or("");
  }
}

// What a family's template writes is what its grammar takes, token by token.
TEST(ToolGrammar, eachFamilysSpellingIsTaken) {
  for (const Spelled &one : kSpelled) {
    std::string text(one.text);
    if (size_t at = text.find("Let me see. "); at == 0)
      text.erase(0, 12);
    else
      continue;
    // Texts that models also write, and values that are no JSON.
    if (text.starts_with("Action: ") || text.starts_with("functools") ||
        text.find("'t': True") != std::string::npos || text.find("\n\n</") != std::string::npos)
      continue;
    if (one.format == "lfm2" || one.format == "olmo3")
      continue;
    auto made = answerGrammar(formatOf(one.format), {.tools = kTypedTools, .mustCall = true});
    ASSERT_TRUE(made);
    auto grammar = compile(words(), GrammarKind::Lark, *made);
    ASSERT_TRUE(grammar) << *made;
    EXPECT_TRUE(takes(words(), *grammar, text)) << one.format << "\n" << text << "\n" << *made;
  }
}

TEST(ToolGrammar, marksThatAreSpecialTokens) {
  // The tiny vocabularies have a special token [L]; Mistral's mark plays its part by another name
  // there.
  TokenizerArtifact artifact = tiny("llama2");
  simdjson::dom::parser parser;
  simdjson::dom::element golden = parser.load(goldens::path("tiny_llama2.json"));
  std::string json = simdjson::minify(golden["tokenizer"]);
  for (size_t at = 0; (at = json.find("\"[L]\"", at)) != std::string::npos;)
    json.replace(at, 5, "\"[TOOL_CALLS]\"");
  auto made = compileTokenizerJson(json);
  ASSERT_TRUE(made) << made.error().format();
  Words local(*made, {2});
  auto mark = local.tokenizer->idOf("[TOOL_CALLS]");
  ASSERT_TRUE(mark && local.tokenizer->isSpecial(*mark));
  auto lark = answerGrammar(tools("mistral"), {.tools = kToolsJson, .mustCall = true},
                            local.tokenizer.get());
  ASSERT_TRUE(lark);
  auto grammar = compile(local, GrammarKind::Lark, *lark);
  ASSERT_TRUE(grammar);
  Constraint constraint = grammar->start();
  auto mask = constraint.allowed();
  for (int32_t id = 0; id < local.ids; ++id)
    EXPECT_EQ(has(*mask, id), id == *mark) << id;
  std::mt19937 random(3);
  auto text = draw(local, *grammar, random);
  ASSERT_TRUE(text);
  EXPECT_FALSE(read(tools("mistral"), *text).calls.empty()) << *text;
}

TEST(ToolGrammar, reasoningMayComeFirst) {
  for (bool open : {false, true}) {
    OutputFormat format{.tools = "hermes", .reasoning = "think", .reasoningOpen = open};
    auto lark = answerGrammar(
        format, {.tools = kToolsJson, .tool = "f", .mustCall = true, .parallel = false},
        words().tokenizer.get());
    ASSERT_TRUE(lark);
    auto grammar = compile(words(), GrammarKind::Lark, *lark);
    ASSERT_TRUE(grammar) << *lark;
    std::string call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
    EXPECT_TRUE(
        takes(words(), *grammar, (open ? "so</think>\n\n" : "<think>so</think>\n\n") + call))
        << open << *lark;
    EXPECT_EQ(takes(words(), *grammar, call), !open);
  }
}

TEST(ToolGrammar, jsonAfterReasoning) {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"type":"null"}},"required":["a"],"additionalProperties":false})";
  for (bool open : {false, true}) {
    OutputFormat format{.tools = "", .reasoning = "think", .reasoningOpen = open};
    auto grammar =
        compile(words(), GrammarKind::Lark,
                *answerGrammar(format, {.answer = "%json " + schema}, words().tokenizer.get()));
    ASSERT_TRUE(grammar);
    std::string opened = open ? "" : "<think>";
    EXPECT_TRUE(takes(words(), *grammar, opened + "\nhm {\n</think>\n\n{\"a\": null}"));
    EXPECT_FALSE(takes(words(), *grammar, opened + "\nhm</think>\n\nyes"));
    EXPECT_EQ(takes(words(), *grammar, "{\"a\": null}"), !open);
  }
  EXPECT_TRUE(takes(words(),
                    *compile(words(), GrammarKind::Lark,
                             *answerGrammar({}, {.answer = "%json {\"type\":\"object\"}"})),
                    "{\"b\": 1}"));
}

TEST(ToolGrammar, errors) {
  auto code = [](const OutputFormat &format, std::string_view json, std::string_view name = "") {
    auto made = answerGrammar(format, {.tools = json, .tool = name, .mustCall = true});
    return made ? std::string() : made.error().code;
  };
  EXPECT_EQ(code({}, kToolsJson), "E0631");
  EXPECT_EQ(code(tools("nope"), kToolsJson), "E0631");
  EXPECT_EQ(code(tools("hermes"), "{"), "E0632");
  EXPECT_EQ(code(tools("hermes"), "[]"), "E0632");
  EXPECT_EQ(code(tools("hermes"), "[{}]"), "E0632");
  EXPECT_EQ(code(tools("hermes"), kToolsJson, "nobody"), "E0632");
}

// Tests grammars of calls and answers: randomly drawn calls are parsed back, and the calls that each
// family writes are accepted.

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

// The grammar of a family accepts the output of its template, token by token.
TEST(ToolGrammar, eachFamilysSpellingIsTaken) {
  for (const Spelled &one : kSpelled) {
    std::string text(one.text);
    if (size_t at = text.find("Let me see. "); at == 0)
      text.erase(0, 12);
    else
      continue;
    // Skip alternative spellings that models also write, and values that are not JSON.
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
  // The tiny vocabularies have a special token [L], which stands in for Mistral's mark.
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

namespace {

/// A text of a format, with a place for a bare value between its marks.
struct BareValue {
  std::string_view format, before, after;
};
constexpr BareValue kBareValues[] = {
    {"qwen3-coder", "<tool_call>\n<function=f>\n<parameter=a>\n",
     "\n</parameter>\n</function>\n</tool_call>"},
    {"glm47", "<tool_call>f<arg_key>a</arg_key><arg_value>", "</arg_value></tool_call>"},
    {"minicpm5", "<function name=\"f\"><param name=\"a\"><![CDATA[", "]]></param></function>"},
    {"gemma4", "<|tool_call>call:f{a:<|\"|>", "<|\"|>}<tool_call|>"},
    {"minimax-m3", "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<a>",
     "]<]minimax[>[</a>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>"}};

std::string toolWith(const std::string &property, bool strict = false) {
  return R"([{"function":{"name":"f","strict":)" + std::string(strict ? "true" : "false") +
         R"(,"parameters":{"type":"object","properties":{"a":)" + property +
         R"(},"required":["a"],"additionalProperties":false}}}])";
}

} // namespace

TEST(ToolGrammar, bareTextsObeyEveryKeyword) {
  struct Bound {
    std::string_view schema;
    std::vector<std::string_view> fit, not_;
  };
  const Bound kBounds[] = {
      {R"("format":"date")", {"2024-02-29"}, {"2023-02-29", "tomorrow", ""}},
      {R"("format":"date-time")", {"2026-11-27T12:00:00Z"}, {"2026-11-27", "2026-11-27T25:00:00Z"}},
      {R"("format":"time")", {"12:30:00+01:00"}, {"12:30"}},
      {R"("format":"uuid")",
       {"123e4567-e89b-12d3-a456-426614174000"},
       {"123e4567", "123e4567-e89b-12d3-a456-42661417400g"}},
      {R"("format":"email")", {"a.b@example.org"}, {"a.b", "@example.org", "a b@c.d"}},
      {R"("format":"ipv4")", {"127.0.0.1"}, {"256.0.0.1", "1.2.3"}},
      {R"("format":"ipv6")",
       {"::", "::1", "1::", "2001:db8::8:800:200c:417a", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4"},
       {"1:2:3", ":::", "1::2::3", "1:2:3:4:5:6:7:8:9", "g::"}},
      {R"("format":"hostname")", {"a-b.example.org"}, {"-a", "a..b"}},
      {R"("format":"duration")", {"P1Y2M3DT4H", "PT5M", "P2W"}, {"P", "1D", "PT"}},
      {R"("format":"uri")", {"https://a.b/c?d=e#f", "mailto:a@b.c"}, {"a/b", "http://a b"}},
      {R"("format":"nothing")", {"any text", ""}, {}},
      {R"("pattern":"^[a-z]+$","maxLength":3)", {"abc"}, {"abcd", "ab1"}},
      {R"("pattern":"b","minLength":2)", {"ab"}, {"b", "cc"}},
      {R"("pattern":"^a|b$","maxLength":3)", {"a", "ax", "xb"}, {"xa", "bx", "x"}},
      {R"("pattern":"^(a|b)$|[|]\\|c","maxLength":4)", {"a", "b", "x||c"}, {"ax", "x"}},
      {R"("allOf":[{"pattern":"^a"},{"pattern":"z$"}])", {"a-z"}, {"a", "z"}}};
  for (const BareValue &one : kBareValues)
    for (const Bound &bound : kBounds) {
      const std::string tools = toolWith(R"({"type":"string",)" + std::string(bound.schema) + "}");
      auto made = answerGrammar(formatOf(one.format), {.tools = tools, .mustCall = true});
      ASSERT_TRUE(made);
      auto grammar = compile(words(), GrammarKind::Lark, *made);
      ASSERT_TRUE(grammar) << *made;
      auto taken = [&](std::string_view value) {
        return takes(words(), *grammar,
                     std::string(one.before) + std::string(value) + std::string(one.after));
      };
      for (std::string_view value : bound.fit)
        EXPECT_TRUE(taken(value)) << one.format << bound.schema << ": " << value;
      for (std::string_view value : bound.not_)
        EXPECT_FALSE(taken(value)) << one.format << bound.schema << ": " << value;
    }
}

namespace {

/// The grammar over words() of any text with calls, and a test of whether it accepts an answer.
struct AnyText {
  std::string source;
  std::shared_ptr<const Grammar> grammar;

  AnyText(const OutputFormat &format, std::string_view tools, bool parallel = true) {
    auto made = answerGrammar(format, {.tools = tools, .anyText = true, .parallel = parallel},
                              words().tokenizer.get());
    EXPECT_TRUE(made) << made.error().format();
    source = made ? *made : "";
    grammar = compile(words(), GrammarKind::Lark, source);
  }
  bool taken(std::string_view text) const { return grammar && takes(words(), *grammar, text); }
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? "" : text.replace(at, from.size(), to);
}

} // namespace

// Under "auto" a family's calls are accepted if their arguments fit, with any text around them.
TEST(ToolGrammar, strictToolsAmongText) {
  const std::string tools =
      R"([{"function":{"name":"get_weather","strict":true,"parameters":{"type":"object","properties":{
"city":{"type":"string"},"n":{"type":"integer"},"o":{"type":"object","properties":{"k":{"type":"array","items":{"type":"string"}},"t":{"type":"boolean"}},"additionalProperties":false}},"additionalProperties":false}}},
{"function":{"name":"f","strict":true,"parameters":{"type":"object","properties":{},"additionalProperties":false}}}])";
  for (const Spelled &one : kSpelled) {
    std::string text(one.text);
    // Skip alternative spellings that models also write, and values that are not JSON.
    if (text.find("'t': True") != std::string::npos || text.find("\n\n</") != std::string::npos ||
        text.find("[\n    {\n") != std::string::npos || one.format == "lfm2" ||
        one.format == "olmo3" || one.format == "harmony") // formats whose tokens words() lacks
      continue;
    AnyText any(formatOf(one.format), tools);
    ASSERT_TRUE(any.grammar) << any.source;
    EXPECT_TRUE(any.taken(text)) << one.format << "\n" << text << "\n" << any.source;
    EXPECT_TRUE(any.taken("Just text, {\"a\": 1} and <b> [f]\n")) << one.format << "\n"
                                                                  << any.source;
    // A value that is not an integer is refused.
    for (const std::string &wrong :
         {replaced(text, "\"n\": 1", "\"n\": x"), replaced(text, "\"n\": 1", "\"n\": \"1\""),
          replaced(text, "n:1", "n:x"), replaced(text, "n=1", "n=x"), replaced(text, ">1<", ">x<"),
          replaced(text, "\n1\n", "\nx\n"), replaced(text, ">1]<", ">x]<")})
      if (!wrong.empty())
        EXPECT_FALSE(any.taken(wrong)) << one.format << "\n" << wrong;
  }
}

TEST(ToolGrammar, anyTextAndNothingElseIsFree) {
  const std::string strict = toolWith(R"({"type":"integer"})", true);
  const std::string call =
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
  const std::string wrong =
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}\n</tool_call>";
  AnyText plain(tools("hermes"), strict);
  for (const std::string &text :
       {std::string(), std::string("Hi.\n"), "a" + call, call + " b\n" + call, call + call + "c",
        std::string("<tool_cal and {\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}")})
    EXPECT_TRUE(plain.taken(text)) << text << plain.source;
  for (const std::string &text : {wrong, "a " + wrong, call + wrong, call + "\n" + wrong})
    EXPECT_FALSE(plain.taken(text)) << text;

  // Reasoning is unconstrained, even if it does not end. Calls after it are constrained.
  for (bool open : {false, true}) {
    AnyText thinking({.tools = "hermes", .reasoning = "think", .reasoningOpen = open}, strict);
    const std::string begun = open ? "" : "<think>";
    EXPECT_TRUE(thinking.taken(begun + "so " + wrong + " no</think>\n\nHi"));
    EXPECT_TRUE(thinking.taken(begun + "so " + wrong)) << thinking.source;
    EXPECT_TRUE(thinking.taken(begun + "so</think>\n\n" + call));
    EXPECT_FALSE(thinking.taken(begun + "so</think>\n\n" + wrong));
    if (!open) {
      EXPECT_TRUE(thinking.taken(call));
      EXPECT_FALSE(thinking.taken(wrong));
    }
  }

  // The strict tool is used together with one that is not strict.
  const std::string both =
      strict.substr(0, strict.size() - 1) +
      R"(,{"function":{"name":"g","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}])";
  for (const BareValue &one : {kBareValues[0], kBareValues[1]}) {
    AnyText any(tools(std::string(one.format)), both);
    auto said = [&](const char *name, const char *value) {
      const std::string text = std::string(one.before) + value + std::string(one.after);
      const bool glm = one.format == "glm47";
      return replaced(text, glm ? ">f<" : "=f>",
                      glm ? ">" + std::string(name) + "<" : "=" + std::string(name) + ">");
    };
    EXPECT_TRUE(any.taken(said("f", "1"))) << said("f", "1") << any.source;
    EXPECT_FALSE(any.taken(said("f", "x"))) << said("f", "x");
    EXPECT_TRUE(any.taken(said("g", "x"))) << said("g", "x") << any.source;
  }
  AnyText any(tools("hermes"), both);
  EXPECT_TRUE(any.taken(replaced(wrong, "\"f\"", "\"g\"")));
  EXPECT_FALSE(any.taken(wrong));
}

// Formats whose calls have no mark are constrained starting at the tool's name.
TEST(ToolGrammar, strictToolsWithoutAMark) {
  const std::string strict = toolWith(R"({"type":"integer"})", true);
  struct {
    std::string_view format;
    std::vector<std::string_view> fit, not_;
  } const kCases[] = {
      {"llama3-json",
       {R"({"name": "f", "parameters": {"a": 1}})", R"({"name": "Ann", "age": "x"})",
        R"(<|python_tag|>{"name": "f", "parameters": {"a": 1}})",
        R"({"name": "f", "parameters": {"a": 1}}; {"name": "f", "parameters": {"a": 2}})",
        R"(As {"name": "f", "parameters": {"a": "x"}})"},
       {R"({"name": "f", "parameters": {"a": "x"}})", R"({ "name":"f", "parameters": {"a": "x"}})",
        R"(<|python_tag|>{"name": "f", "parameters": {"a": "x"}})",
        R"({"name": "f", "parameters": {"a": 1}}; {"name": "f", "parameters": {"a": "x"}})"}},
      {"llama3-pythonic",
       {"[f(a=1)]", "[f(a=1), f(a=2)]", "[1, 2]", "See [f(a='x')]"},
       {"[f(a='x')]", "[ f(a='x')]", "[f(a=1), f(a='x')]"}},
      {"gemma3",
       {"```tool_code\nf(a=1)\n```", "```json\n{\"name\": \"Ann\"}\n```",
        "```python\nf(a='x')\n```", "```json\n{\"name\": \"f\", \"parameters\": {\"a\": 1}}\n```"},
       {"```tool_code\nf(a='x')\n```", "ok ```tool_code\n[f(a='x')]\n```",
        "```json\n{\"name\": \"f\", \"parameters\": {\"a\": \"x\"}}\n```",
        "[{\"name\": \"f\", \"parameters\": {\"a\": \"x\"}}]"}},
      {"functionary-v3.2",
       {"f\n{\"a\": 1}", "all\nHi", "all\nHi>>>f\n{\"a\": 1}", "all\nf\n{\"a\": \"x\"}"},
       {"f\n{\"a\": \"x\"}", "all\nHi>>>f\n{\"a\": \"x\"}"}}};
  for (const auto &one : kCases) {
    AnyText any(formatOf(one.format), strict);
    for (std::string_view text : one.fit)
      EXPECT_TRUE(any.taken(text)) << one.format << ": " << text << "\n" << any.source;
    for (std::string_view text : one.not_)
      EXPECT_FALSE(any.taken(text)) << one.format << ": " << text;
  }
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

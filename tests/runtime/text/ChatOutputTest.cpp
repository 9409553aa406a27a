// What a chat model's text means: scripted answers in each format (no checkpoint that writes them
// is at hand), cut into pieces in every way, broken and cut off; and calls drawn at random under
// the grammars that force them, read back.

#include "runtime/text/ChatOutput.h"
#include "Sampling.h"
#include "SchemaCheck.h"
#include "runtime/text/Json.h"

using namespace sampling;

namespace {

const std::vector<std::string> kTools = {"get_weather", "f", "g"};

/// "content|…", "think|…", "0 name|args": parts joined.
struct Parts {
  std::string content, reasoning;
  std::vector<std::pair<std::string, std::string>> calls;
  bool operator==(const Parts &) const = default;
};

void add(Parts &parts, const std::vector<OutputPiece> &pieces) {
  for (const OutputPiece &piece : pieces) {
    EXPECT_FALSE(piece.text.empty());
    switch (piece.kind) {
    case OutputPiece::Kind::Content:
      parts.content += piece.text;
      EXPECT_EQ(piece.toolCall, -1);
      break;
    case OutputPiece::Kind::Reasoning:
      parts.reasoning += piece.text;
      break;
    case OutputPiece::Kind::ToolName:
      EXPECT_EQ(piece.toolCall, static_cast<int32_t>(parts.calls.size()));
      parts.calls.push_back({piece.text, ""});
      break;
    case OutputPiece::Kind::ToolArguments:
      if (piece.toolCall + 1 != static_cast<int32_t>(parts.calls.size()))
        ADD_FAILURE() << "arguments of call " << piece.toolCall << " before its name";
      else
        parts.calls.back().second += piece.text;
      break;
    }
  }
}

Parts read(const OutputFormat &format, const std::vector<std::string_view> &cuts,
           const std::vector<std::string> &tools = kTools) {
  ChatOutputParser parser(format, tools);
  Parts parts;
  for (std::string_view piece : cuts)
    add(parts, parser.push(piece));
  add(parts, parser.finish());
  EXPECT_EQ(parser.toolCalls(), static_cast<int32_t>(parts.calls.size()));
  return parts;
}

/// The same however it is cut.
Parts read(const OutputFormat &format, std::string_view text,
           const std::vector<std::string> &tools = kTools) {
  Parts whole = read(format, std::vector<std::string_view>{text}, tools);
  std::mt19937 random(1);
  for (int round = 0; round < 12; ++round) {
    std::vector<std::string_view> cuts;
    for (size_t at = 0; at < text.size();) {
      size_t size = round == 0 ? 1 : 1 + random() % (round < 6 ? 4 : 20);
      cuts.push_back(text.substr(at, size));
      at += cuts.back().size();
    }
    Parts parts = read(format, cuts, tools);
    EXPECT_EQ(parts, whole) << text << "\ncontent " << parts.content << "\nwhole   "
                            << whole.content;
  }
  return whole;
}

OutputFormat tools(std::string name) { return {.tools = std::move(name), .reasoning = ""}; }

using Calls = std::vector<std::pair<std::string, std::string>>;

void expect(const std::string &format, std::string_view text, const Calls &calls,
            const std::string &content = "") {
  Parts parts = read(tools(format), text);
  EXPECT_EQ(parts.calls, calls) << format << ": " << text;
  EXPECT_EQ(parts.content, content) << format << ": " << text;
  EXPECT_EQ(parts.reasoning, "");
}

} // namespace

TEST(ChatOutput, hermes) {
  expect("hermes",
         "Let me see.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": "
         "\"Zürich\", \"n\": [1, {\"x\": null}]}}\n</tool_call>",
         {{"get_weather", "{\"city\": \"Zürich\", \"n\": [1, {\"x\": null}]}"}}, "Let me see.");
  expect("hermes",
         "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n<tool_call>\n{\"arguments\": "
         "{\"a\": \"}</tool_call>\"}, \"name\": \"g\"}\n</tool_call>",
         {{"f", "{}"}, {"g", "{\"a\": \"}</tool_call>\"}"}});
  expect("hermes", "<tool_call>{\"name\":\"f\"}</tool_call>", {{"f", "{}"}}); // without arguments
  expect("hermes", "<tool_call>{\"name\":\"f\",\"arguments\":null}</tool_call>", {{"f", "{}"}});
  expect("hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}}</tool_call>ok",
         {{"f", "{\"a\":1}"}}, "ok");
  expect("hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}</tool_call>",
         {{"f", "{\"a\":1}"}});
  expect("hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}",
         {{"f", "{\"a\":1}"}}); // no closing mark
  expect("hermes",
         "<tool_call>[{\"name\":\"f\",\"arguments\":{\"a\":1}}, "
         "{\"name\":\"g\",\"parameters\":{}}]</tool_call>",
         {{"f", "{\"a\":1}"}, {"g", "{}"}});
  expect("hermes",
         "<tool_call>{\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":{\"a\":2}}}<"
         "/tool_call>",
         {{"f", "{\"a\":2}"}});
  expect("hermes", R"(<tool_call>{"name":"f","arguments":"{\"a\": 1}"}</tool_call>)",
         {{"f", "{\"a\": 1}"}});
}

TEST(ChatOutput, whatIsNoCallIsContent) {
  expect("hermes", "<tool_call>\n{\"name\": \"nobody\", \"arguments\": {}}\n</tool_call>", {},
         "\n{\"name\": \"nobody\", \"arguments\": {}}\n");
  expect("hermes", "a <tool_call>not JSON</tool_call> b", {}, "a not JSON b");
  expect("hermes", "a <tool_call>{\"nam", {}, "a {\"nam");
  expect("hermes", "a <tool_call>{\"name\": \"f\", \"arguments\"", {},
         "a {\"name\": \"f\", \"arguments\"");
  expect("hermes", "a <tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1", {{"f", "{\"x\": 1"}},
         "a"); // its name was out
  expect("hermes", "1 < 2 <tool 3 <tool_call", {}, "1 < 2 <tool 3 <tool_call");
  expect("hermes", "{\"name\": \"f\", \"arguments\": {}}", {},
         "{\"name\": \"f\", \"arguments\": {}}");
  expect("hermes", "<tool_call><tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>",
         {{"f", "{}"}});
  expect("hermes", "stray</tool_call> mark", {}, "stray mark");
  expect("hermes", "<tool_call>\n</tool_call>done", {}, "\ndone");
  // No tools: nothing is looked for.
  EXPECT_EQ(read(tools("hermes"), "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call> \n", {})
                .content,
            "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call> \n");
  EXPECT_EQ(read(OutputFormat{}, "<tool_call> <think> [TOOL_CALLS]").content,
            "<tool_call> <think> [TOOL_CALLS]");
}

TEST(ChatOutput, llama3Json) {
  expect("llama3-json", "{\"name\": \"f\", \"parameters\": {\"a\": \"b\"}}",
         {{"f", "{\"a\": \"b\"}"}});
  expect("llama3-json", "\n{\"type\": \"function\", \"name\": \"f\", \"parameters\": {}}<|eom_id|>",
         {{"f", "{}"}});
  expect("llama3-json",
         "<|python_tag|>{\"name\": \"f\", \"parameters\": {\"a\": 1}}; {\"name\": \"g\", "
         "\"arguments\": {}}",
         {{"f", "{\"a\": 1}"}, {"g", "{}"}});
  expect("llama3-json",
         "{\"name\": \"f\", \"parameters\": {}}\n{\"name\": \"g\", \"parameters\": {}}",
         {{"f", "{}"}, {"g", "{}"}});
  // JSON that is an answer stays one.
  expect("llama3-json", "{\"name\": \"Ada\", \"born\": 1815}", {},
         "{\"name\": \"Ada\", \"born\": 1815}");
  expect("llama3-json", "{\"name\": \"f\"}", {}, "{\"name\": \"f\"}");
  expect("llama3-json", "{\"a\": {\"name\": \"f\", \"parameters\": {}}}", {},
         "{\"a\": {\"name\": \"f\", \"parameters\": {}}}");
  expect("llama3-json", "See: {\"name\": \"f\", \"parameters\": {}}", {},
         "See: {\"name\": \"f\", \"parameters\": {}}");
  expect("llama3-json", "<|python_tag|>print(1)", {}, "print(1)");
}

TEST(ChatOutput, pythonic) {
  expect("llama3-pythonic", "[f(a=1, b=\"x\"), g()]",
         {{"f", "{\"a\": 1, \"b\": \"x\"}"}, {"g", "{}"}});
  expect(
      "llama3-pythonic",
      R"([f(s='it\'s "q"\n\x41\u00e9\q', t=True, n=None, l=[1, -2.5e3, ('a',)], d={'k': [], "m": {}},)])",
      {{"f",
        R"({"s": "it's \"q\"\n\u0041\u00e9\\q", "t": true, "n": null, "l": [1, -2.5e3, ["a"]], "d": {"k": [], "m": {}}})"}});
  expect("llama3-pythonic", "<|python_start|>[f( a = 1 )]<|python_end|>", {{"f", "{\"a\": 1}"}});
  expect("llama3-pythonic", "[1, 2] are numbers", {}, "[1, 2] are numbers");
  expect("llama3-pythonic", "[h(a=1)]", {}, "[h(a=1)]");
  expect("llama3-pythonic", "[f(1)]", {}, "[f(1)]");
  expect("llama3-pythonic", "[f", {}, "[f");
  expect("llama3-pythonic", "[f(a=1), h(b=2)]", {{"f", "{\"a\": 1}"}}, ", h(b=2)]");
}

TEST(ChatOutput, mistral) {
  for (std::string name : {"mistral", "mistral-args"}) {
    expect(name,
           "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"a\": 1}}, {\"name\": \"g\", "
           "\"arguments\": {}, \"id\": \"abc123def\"}]",
           {{"f", "{\"a\": 1}"}, {"g", "{}"}});
    expect(name, "[TOOL_CALLS]f[ARGS]{\"a\": \"[ARGS]\"}[TOOL_CALLS]g[CALL_ID]123456789[ARGS]{}",
           {{"f", "{\"a\": \"[ARGS]\"}"}, {"g", "{}"}});
    expect(name, "Yes. [TOOL_CALLS] f{\"a\": 1}", {{"f", "{\"a\": 1}"}}, "Yes.");
    expect(name, "[TOOL_CALLS]h[ARGS]{}", {}, "h[ARGS]{}");
    expect(name, "[TOOL_CAL and [1]", {}, "[TOOL_CAL and [1]");
  }
}

TEST(ChatOutput, gemma3) {
  expect("gemma3", "```tool_code\nget_weather(city=\"Rome\")\n```",
         {{"get_weather", "{\"city\": \"Rome\"}"}});
  expect("gemma3", "Sure:\n```tool_code\n[f(a=1), g()]\n```\nDone.",
         {{"f", "{\"a\": 1}"}, {"g", "{}"}}, "Sure:Done.");
  expect("gemma3", "```json\n{\"name\": \"f\", \"parameters\": {\"a\": 1}}\n```",
         {{"f", "{\"a\": 1}"}});
  expect("gemma3", "{\"name\": \"f\", \"parameters\": {}}", {{"f", "{}"}});
  expect("gemma3", "[f(a=1)]", {{"f", "{\"a\": 1}"}});
  expect("gemma3", "[{\"name\": \"f\", \"parameters\": {}}]", {{"f", "{}"}});
  // Blocks that are no calls are shown as they are.
  for (std::string text :
       {"Look:\n```json\n{\"a\": 1}\n```\nThat is it.", "```tool_code\nprint(1)\n```",
        "```python\nf(a=1)\n```", "```json\n", "``` ```json"})
    expect("gemma3", text, {}, text);
}

TEST(ChatOutput, functionGemma) {
  expect("functiongemma",
         "<start_function_call>call:get_weather{city:<escape>São "
         "\"P\"<escape>,n:[1,<escape>a<b<escape>],o:{k:true}}<end_function_call>",
         {{"get_weather",
           "{\"city\": \"São \\\"P\\\"\", \"n\": [1, \"a<b\"], \"o\": {\"k\": true}}"}});
  expect("functiongemma",
         "<start_function_call>call:f{}<end_function_call><start_function_call>call:g{}<end_"
         "function_call>",
         {{"f", "{}"}, {"g", "{}"}});
  expect("functiongemma", "<start_function_call>call:h{}<end_function_call>", {}, "call:h{}");
}

TEST(ChatOutput, reasoning) {
  OutputFormat format{.tools = "hermes", .reasoning = "think"};
  auto expectParts = [&](std::string_view text, const std::string &reasoning,
                         const std::string &content, const Calls &calls = {}) {
    Parts parts = read(format, text);
    EXPECT_EQ(parts.reasoning, reasoning) << text;
    EXPECT_EQ(parts.content, content) << text;
    EXPECT_EQ(parts.calls, calls) << text;
  };
  expectParts("<think>\nHm, a < b.\n\nSo.\n</think>\n\nFour.\n", "Hm, a < b.\n\nSo.", "Four.\n");
  expectParts("\n<think></think>Hi", "", "Hi");
  expectParts("<think>cut <tool_call> o", "cut <tool_call> o", "");
  expectParts("<think>x</think>\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", "x", "",
              {{"f", "{}"}});
  expectParts("No <think> here", "", "No <think> here");
  expectParts("<thin", "", "<thin");
  format.reasoningOpen = true;
  expectParts("\nHm.</think>Four.", "Hm.", "Four.");
  expectParts("<think>\nHm.\n</think>\nFour.", "Hm.", "Four.");
  expectParts("Hm. </thi", "Hm. </thi", "");
  format.reasoning = "magistral";
  format.reasoningOpen = false;
  expectParts("[THINK]a[/THINK]b", "a", "b");
  // A bare call after the reasoning.
  format = {.tools = "llama3-json", .reasoning = "think"};
  expectParts("<think>a</think>\n{\"name\": \"f\", \"parameters\": {}}", "a", "", {{"f", "{}"}});
}

TEST(ChatOutput, argumentsStreamAsTheyCome) {
  ChatOutputParser parser(tools("hermes"), kTools);
  EXPECT_TRUE(parser.push("<tool_call>\n{\"name\": \"f\", ").empty());
  auto pieces = parser.push("\"arguments\": {\"a");
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].text, "f");
  EXPECT_EQ(pieces[1].text, "{\"a");
  EXPECT_EQ(parser.push("\": \"long te")[0].text, "\": \"long te");
  EXPECT_EQ(parser.push("xt\"}")[0].text, "xt\"}");
  EXPECT_TRUE(parser.push("}\n</tool_call>").empty());
  EXPECT_TRUE(parser.finish().empty());
  ChatOutputParser plain(tools("hermes"), kTools);
  EXPECT_EQ(plain.push("Hello")[0].text, "Hello"); // nothing waits that need not
  EXPECT_EQ(plain.push(" world <")[0].text, " world");
  EXPECT_EQ(plain.push("b")[0].text, " <b");
}

// Any text at all: however it is cut the same comes out, no mark does, and arguments of calls that
// ended are JSON.
TEST(ChatOutput, anyTextInAnyCut) {
  static constexpr std::string_view kBits[] = {"<tool_call>",
                                               "</tool_call>",
                                               "<think>",
                                               "</think>",
                                               "[TOOL_CALLS]",
                                               "[ARGS]",
                                               "<|python_tag|>",
                                               "```json",
                                               "```tool_code",
                                               "```",
                                               "{\"name\": \"f\", \"arguments\": {",
                                               "{\"name\": \"g\", \"parameters\": {}}",
                                               "\"a\": 1",
                                               "}",
                                               "}}",
                                               "[",
                                               "]",
                                               "f(",
                                               "a=",
                                               "'x'",
                                               ")",
                                               ", ",
                                               ";",
                                               "\n",
                                               " ",
                                               "word",
                                               "<",
                                               "é",
                                               "\"",
                                               "\\",
                                               "<start_function_call>",
                                               "call:f{",
                                               "a:<escape>",
                                               "<escape>",
                                               "<end_function_call>",
                                               "{",
                                               "1",
                                               "True"};
  std::mt19937 random(5);
  for (std::string_view name : toolFormatNames())
    for (int round = 0; round < 60; ++round) {
      OutputFormat format{.tools = std::string(name),
                          .reasoning = round % 3 ? "" : "think",
                          .reasoningOpen = round % 6 == 0};
      std::string text;
      for (size_t parts = 1 + random() % 14; parts > 0; --parts)
        text += kBits[random() % std::size(kBits)];
      Parts parts = read(format, text);
      std::string shown = parts.content + "\x01" + parts.reasoning;
      std::vector<std::string_view> hidden =
          name == "hermes"           ? std::vector<std::string_view>{"<tool_call>", "</tool_call>"}
          : name.starts_with("mist") ? std::vector<std::string_view>{"[TOOL_CALLS]"}
                                     : std::vector<std::string_view>{};
      if (format.reasoning.empty())
        for (std::string_view mark : hidden)
          EXPECT_EQ(shown.find(mark), std::string::npos) << name << ": " << text << " -> " << shown;
    }
}

TEST(ChatOutput, templatesTellTheirFormat) {
  simdjson::dom::parser parser;
  simdjson::dom::element golden = parser.load(goldens::path("templates.json"));
  auto of = [&](const char *name) {
    return detectOutputFormat(goldens::text(golden["templates"][name]));
  };
  EXPECT_EQ(of("qwen25").tools, "hermes");
  EXPECT_EQ(of("llama31_tools").tools, "llama3-json");
  EXPECT_EQ(of("gemma3").tools, "gemma3");
  EXPECT_EQ(of("smollm2").tools, "");
  EXPECT_EQ(of("think_split").reasoning, "think");
  EXPECT_FALSE(of("think_split").reasoningOpen); // it closes what it opens
  EXPECT_EQ(detectOutputFormat("{{ '[TOOL_CALLS]' + name + '[ARGS]' }}").tools, "mistral-args");
  EXPECT_EQ(detectOutputFormat("{{ '[TOOL_CALLS] [' }}").tools, "mistral");
  OutputFormat open = detectOutputFormat(
      "{{ x.split('</think>') }}{% if add_generation_prompt %}{{ '<think>\\n' }}{% endif %}");
  EXPECT_EQ(open.reasoning, "think");
  EXPECT_TRUE(open.reasoningOpen);
  EXPECT_TRUE(endsInReasoning(open, "<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(endsInReasoning(open, "<|im_start|>assistant\n<think>\n\n</think>\n\n"));
}

namespace {

const std::string kToolsJson =
    R"([{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":14},"units":{"enum":["C","F"]},"near":{"$ref":"#/$defs/place"}},"required":["city","units"],"additionalProperties":false,"$defs":{"place":{"type":"array","items":{"type":"boolean"},"maxItems":2}}}}},
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
    OutputFormat format = tools(std::string(name));
    if (name == "functiongemma") {
      EXPECT_EQ(toolGrammar(format, kToolsJson, "", false).error().code, "E0631");
      continue;
    }
    for (bool parallel : {false, true}) {
      auto made = toolGrammar(format, kToolsJson, "", parallel, words().tokenizer.get());
      ASSERT_TRUE(made) << made.error().format();
      auto grammar = compile(words(), GrammarKind::Lark, made->lark);
      ASSERT_TRUE(grammar);
      size_t most = 0, all = 0;
      for (int round = 0; round < 25; ++round) {
        auto text = draw(words(), *grammar, random, 60);
        ASSERT_TRUE(text) << name;
        Parts parts = read(format, *text);
        EXPECT_EQ(parts.content, "") << name << ": " << *text;
        EXPECT_GE(parts.calls.size(), 1u) << name << ": " << *text;
        most = std::max(most, parts.calls.size());
        all += parts.calls.size();
        for (auto &[called, arguments] : parts.calls)
          EXPECT_EQ(schema_check::violation(schemaOf(called), arguments), "")
              << name << ": " << called << " " << arguments << "\n"
              << *text;
      }
      if (parallel)
        EXPECT_GT(most, 1u) << name;
      else
        EXPECT_EQ(all, 25u) << name;
    }
    auto named = toolGrammar(format, kToolsJson, "f", false, nullptr);
    ASSERT_TRUE(named);
    auto grammar = compile(words(), GrammarKind::Lark, named->lark);
    auto text = draw(words(), *grammar, random);
    EXPECT_EQ(read(format, text.value_or("")).calls, (Calls{{"f", "{}"}}))
        << name << text.value_or("");
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
  auto lark = toolGrammar(tools("mistral"), kToolsJson, "", true, local.tokenizer.get());
  ASSERT_TRUE(lark);
  auto grammar = compile(local, GrammarKind::Lark, lark->lark);
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
    auto lark = toolGrammar(format, kToolsJson, "f", false, words().tokenizer.get());
    ASSERT_TRUE(lark);
    auto grammar = compile(words(), GrammarKind::Lark, lark->lark);
    ASSERT_TRUE(grammar) << lark->lark;
    std::string call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
    EXPECT_TRUE(
        takes(words(), *grammar, (open ? "so</think>\n\n" : "<think>so</think>\n\n") + call))
        << open << lark->lark;
    EXPECT_EQ(takes(words(), *grammar, call), !open);
  }
}

TEST(ToolGrammar, jsonAfterReasoning) {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"type":"null"}},"required":["a"],"additionalProperties":false})";
  for (bool open : {false, true}) {
    OutputFormat format{.tools = "", .reasoning = "think", .reasoningOpen = open};
    auto grammar = compile(words(), GrammarKind::Lark,
                           reasoningThenJson(format, schema, words().tokenizer.get()));
    ASSERT_TRUE(grammar);
    std::string opened = open ? "" : "<think>";
    EXPECT_TRUE(takes(words(), *grammar, opened + "\nhm {\n</think>\n\n{\"a\": null}"));
    EXPECT_FALSE(takes(words(), *grammar, opened + "\nhm</think>\n\nyes"));
    EXPECT_EQ(takes(words(), *grammar, "{\"a\": null}"), !open);
  }
  EXPECT_TRUE(takes(words(),
                    *compile(words(), GrammarKind::Lark, reasoningThenJson({}, "", nullptr)),
                    "{\"b\": 1}"));
}

TEST(ToolGrammar, errors) {
  auto code = [](const OutputFormat &format, std::string_view json, std::string_view name = "") {
    auto made = toolGrammar(format, json, name, false);
    return made ? std::string() : made.error().code;
  };
  EXPECT_EQ(code({}, kToolsJson), "E0631");
  EXPECT_EQ(code(tools("nope"), kToolsJson), "E0631");
  EXPECT_EQ(code(tools("hermes"), "{"), "E0632");
  EXPECT_EQ(code(tools("hermes"), "[]"), "E0632");
  EXPECT_EQ(code(tools("hermes"), "[{}]"), "E0632");
  EXPECT_EQ(code(tools("hermes"), kToolsJson, "nobody"), "E0632");
}

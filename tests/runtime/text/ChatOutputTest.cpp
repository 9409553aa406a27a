// Tests the parsing of chat output with scripted answers in each format, since no checkpoint of these tests writes
// them. The answers are split into pieces in every way, malformed and truncated.

#include "ChatAnswers.h"
#include "runtime/text/Json.h"

using namespace chat_answers;

namespace {

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
         {{"get_weather", "{\"city\": \"Zürich\", \"n\": [1, {\"x\": null}]}"}}, "Let me see.\n");
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
         "<tool_call>\n{\"name\": \"nobody\", \"arguments\": {}}\n</tool_call>");
  expect("hermes", "a <tool_call>not JSON</tool_call> b", {},
         "a <tool_call>not JSON</tool_call> b");
  expect("hermes", "a <tool_call>{\"nam", {}, "a <tool_call>{\"nam");
  expect("hermes", "a <tool_call>{\"name\": \"f\", \"arguments\"", {},
         "a <tool_call>{\"name\": \"f\", \"arguments\"");
  expect("hermes", "a <tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1", {{"f", "{\"x\": 1}"}},
         "a "); // its name had been emitted
  expect("hermes", "1 < 2 <tool 3 <tool_call", {}, "1 < 2 <tool 3 <tool_call");
  expect("hermes", "{\"name\": \"f\", \"arguments\": {}}", {},
         "{\"name\": \"f\", \"arguments\": {}}");
  expect("hermes", "<tool_call><tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>",
         {{"f", "{}"}});
  expect("hermes", "stray</tool_call> mark", {}, "stray</tool_call> mark");
  expect("hermes", "<tool_call>\n</tool_call>done", {}, "<tool_call>\n</tool_call>done");
  // Without tools, no calls are parsed.
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
  // JSON that is an answer stays content.
  expect("llama3-json", "{\"name\": \"Ada\", \"born\": 1815}", {},
         "{\"name\": \"Ada\", \"born\": 1815}");
  expect("llama3-json", "{\"name\": \"f\"}", {}, "{\"name\": \"f\"}");
  expect("llama3-json", "{\"a\": {\"name\": \"f\", \"parameters\": {}}}", {},
         "{\"a\": {\"name\": \"f\", \"parameters\": {}}}");
  expect("llama3-json", "See: {\"name\": \"f\", \"parameters\": {}}", {},
         "See: {\"name\": \"f\", \"parameters\": {}}");
  expect("llama3-json", "<|python_tag|>print(1)", {}, "<|python_tag|>print(1)");
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
    expect(name, "Yes. [TOOL_CALLS] f{\"a\": 1}", {{"f", "{\"a\": 1}"}}, "Yes. ");
    expect(name, "[TOOL_CALLS]h[ARGS]{}", {}, "[TOOL_CALLS]h[ARGS]{}");
    expect(name, "[TOOL_CAL and [1]", {}, "[TOOL_CAL and [1]");
  }
}

TEST(ChatOutput, gemma3) {
  expect("gemma3", "```tool_code\nget_weather(city=\"Rome\")\n```",
         {{"get_weather", "{\"city\": \"Rome\"}"}});
  expect("gemma3", "Sure:\n```tool_code\n[f(a=1), g()]\n```\nDone.",
         {{"f", "{\"a\": 1}"}, {"g", "{}"}}, "Sure:\n\nDone.");
  expect("gemma3", "```json\n{\"name\": \"f\", \"parameters\": {\"a\": 1}}\n```",
         {{"f", "{\"a\": 1}"}});
  expect("gemma3", "{\"name\": \"f\", \"parameters\": {}}", {{"f", "{}"}});
  expect("gemma3", "[f(a=1)]", {{"f", "{\"a\": 1}"}});
  expect("gemma3", "[{\"name\": \"f\", \"parameters\": {}}]", {{"f", "{}"}});
  // Blocks that are not calls are returned unchanged.
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
  expect("functiongemma", "<start_function_call>call:h{}<end_function_call>", {},
         "<start_function_call>call:h{}<end_function_call>");
}

namespace {

std::string compact(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element parsed;
  if (parser.parse(simdjson::padded_string(json)).get(parsed))
    return "no JSON: " + std::string(json);
  return simdjson::minify(parsed);
}

} // namespace

TEST(ChatOutput, eachFamilysSpelling) {
  for (const Spelled &one : kSpelled) {
    Parts parts = readTyped(formatOf(one.format), one.text);
    EXPECT_EQ(parts.content, one.content) << one.format;
    ASSERT_EQ(parts.calls.size(), one.both ? 2u : 1u) << one.format << parts.content;
    EXPECT_EQ(parts.calls[0].first, "get_weather") << one.format;
    EXPECT_EQ(compact(parts.calls[0].second),
              R"({"city":"Os\"lo\nx","n":1,"o":{"k":["a"],"t":true}})")
        << one.format;
    if (one.both)
      EXPECT_EQ(parts.calls[1].first + parts.calls[1].second, "f{}") << one.format;
    // Without tools, and for unknown tools, the same text is content.
    OutputFormat format = formatOf(one.format);
    if (format.reasoning.empty()) {
      EXPECT_EQ(read(format, one.text, {}).content, one.text);
      EXPECT_EQ(read(format, one.text, {"other"}).content, one.text) << one.format;
    }
  }
  // Every format is in the table or has a separate test.
  for (std::string_view name : toolFormatNames())
    if (name != "llama3-json" && name != "llama3-pythonic" && !name.starts_with("mistral") &&
        name != "gemma3" && name != "gigachat3")
      EXPECT_NE(std::ranges::find(kSpelled, name, &Spelled::format), std::end(kSpelled)) << name;
}

TEST(ChatOutput, valuesAreTypedBySchema) {
  auto call = [](std::string_view key, std::string_view value) {
    Parts parts = readTyped(formatOf("glm47"), "<tool_call>get_weather<arg_key>" +
                                                   std::string(key) + "</arg_key><arg_value>" +
                                                   std::string(value) + "</arg_value></tool_call>");
    return parts.calls.size() == 1 ? compact(parts.calls[0].second) : parts.content;
  };
  EXPECT_EQ(call("city", "1"), R"({"city":"1"})");
  EXPECT_EQ(call("city", " a "), R"({"city":" a "})");
  EXPECT_EQ(call("city", "\x01\t\"\\"), R"({"city":"\u0001\t\"\\"})");
  EXPECT_EQ(call("city", "</arg_value> <b>x</tool_call>"),
            R"({"city":"</arg_value> <b>x</tool_call>"})");
  EXPECT_EQ(call("n", " 1\n"), R"({"n":1})");
  EXPECT_EQ(call("n", "one"), R"({"n":"one"})");
  EXPECT_EQ(call("o", "{'a': None}"), R"({"o":{"a":null}})");
  EXPECT_EQ(call("o", "{\"a\": \"b\nc\"}"), R"({"o":{"a":"b\nc"}})");
  EXPECT_EQ(call("u", "null"), R"({"u":null})");
  EXPECT_EQ(call("u", "nul"), R"({"u":"nul"})");
  EXPECT_EQ(call("u", "1"), R"({"u":"1"})");
  EXPECT_EQ(call("e", "1.5"), R"({"e":1.5})");
  EXPECT_EQ(call("e", "true"), R"({"e":"true"})");
  EXPECT_EQ(call("x", "1"), R"({"x":"1"})");         // the schema gives no type
  EXPECT_EQ(call("other", "1"), R"({"other":"1"})"); // not in the schema
}

TEST(ChatOutput, messagesInAnyOrder) {
  auto parts = [](std::string_view text, std::string_view format = "harmony") {
    return readTyped(formatOf(format), text);
  };
  // The prompt ends with <|start|>assistant.
  Parts one = parts("<|channel|>analysis<|message|>User greets.<|end|><|start|>assistant"
                    "<|channel|>final<|message|>Hello!");
  EXPECT_EQ(one.reasoning, "User greets.");
  EXPECT_EQ(one.content, "Hello!");
  one = parts("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis"
              "<|message|>b<|end|><|start|>assistant<|channel|>final<|message|>c");
  EXPECT_EQ(one.reasoning, "ab");
  EXPECT_EQ(one.content, "c");
  EXPECT_EQ(parts("<|channel|>final<|message|>x<|end|><|start|>assistant<|chan").content, "x");
  EXPECT_EQ(parts("<|channel|>comm").content, "");
  EXPECT_EQ(parts("Hello to=you").content, "Hello to=you");
  EXPECT_EQ(parts("assistants are").content, "assistants are");
  EXPECT_EQ(parts("<|message|>Hi").content, "Hi");
  // Calls of unknown tools, and calls with invalid arguments, are content.
  EXPECT_EQ(parts("<|channel|>commentary to=functions.h<|message|>{}").content, "{}");
  EXPECT_EQ(parts("<|channel|>commentary to=functions.f<|message|>no").content, "no");
  EXPECT_EQ(parts("<|channel|>analysis to=python code<|message|>1+1").reasoning, "1+1");
  // Truncated arguments are closed.
  EXPECT_EQ(parts("<|channel|>commentary to=functions.f<|message|>{\"a\": ").calls,
            (Calls{{"f", "{\"a\": null}"}}));
  one = parts(" to=self<|message|>Hm.<|eom|><|start|>assistant to=user<|message|>Yes.", "atem");
  EXPECT_EQ(one.reasoning + "|" + one.content, "Hm.|Yes.");
}

// If reasoning is returned in the content, calls in messages are still parsed.
TEST(ChatOutput, callsInMessagesWithoutReasoning) {
  const std::string thought = "<|channel|>analysis<|message|>Hm,\n\n so.<|end|>";
  const std::string call = "<|start|>assistant<|channel|>commentary to=functions.f "
                           "<|constrain|>json<|message|>{\"a\": 1}";
  Parts parts = read(tools("harmony"), thought + call + "<|call|>");
  EXPECT_EQ(parts.calls, (Calls{{"f", "{\"a\": 1}"}}));
  EXPECT_EQ(parts.content, thought);
  EXPECT_EQ(parts.reasoning, "");
  const std::string said = "<|start|>assistant<|channel|>final<|message|> Hi. \n<|return|>";
  parts = read(tools("harmony"), thought + said);
  EXPECT_EQ(parts.content, thought + said);
  parts = read(tools("harmony"), thought + call + "<|call|>" + call + "<|end|>" + said);
  EXPECT_EQ(parts.calls, (Calls{{"f", "{\"a\": 1}"}, {"f", "{\"a\": 1}"}}));
  EXPECT_EQ(parts.content, thought + said);
  for (std::string text : {"Hi", "<|channel|>ana", "<|start|>assistant to=nobody<|message|>x",
                           "<|channel|>final<|message|>a <|en"})
    EXPECT_EQ(read(tools("harmony"), text).content, text);
  EXPECT_EQ(read(tools("harmony"), thought + call, {}).content, thought + call);
  parts = read(tools("harmony"), thought + "<|start|>assistant to=functions.f<|channel|>commentary "
                                           "json<|message|>{\"a\": 1}<|call|>");
  EXPECT_EQ(parts.calls, (Calls{{"f", "{\"a\": 1}"}}));
  EXPECT_EQ(parts.content, thought);
  parts = read(tools("functionary-v3.2"), "all\nLet me see.>>>f\n{\"a\": 1}");
  EXPECT_EQ(parts.calls, (Calls{{"f", "{\"a\": 1}"}}));
  EXPECT_EQ(parts.content, "all\nLet me see.");
}

TEST(ChatOutput, marksInTextAreText) {
  OutputFormat format{.tools = "hermes", .reasoning = "think"};
  EXPECT_EQ(read(format, "<think>plan</think>re.sub(r\"<think>.*?</think>\", \"\", s)").content,
            "re.sub(r\"<think>.*?</think>\", \"\", s)");
  for (std::string text :
       {"a </think> b", "Write </tool_call> here.", "<tool_call> opens a call.",
        "x <think>y</think> z ", "`<tool_call>{\"name\": \"nobody\"}</tool_call>`"}) {
    EXPECT_EQ(read(format, text).content, text);
    EXPECT_EQ(read(format, "<think>r</think>" + text).content, text);
    EXPECT_EQ(read(format, text, {}).content, text);
  }
  format.reasoning = "think-answer";
  EXPECT_EQ(read(format, "<think>\nr\n</think>\n<answer>\na </answer> b\n</answer>").content,
            "a </answer> b");
  format.reasoning = "cohere";
  EXPECT_EQ(read(format, "<|START_THINKING|>r<|END_THINKING|><|START_RESPONSE|>a<|END_RESPONSE|>")
                .content,
            "a");
}

TEST(ChatOutput, controlCharactersInArguments) {
  expect("hermes",
         "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"1\n2\t3\x01\"}}</tool_call>",
         {{"f", "{\"a\": \"1\\n2\\t3\\u0001\"}"}});
  expect("hermes", "<tool_call>{\"arguments\": {\"a\nb\": \"\r\"},\n\"name\": \"f\"}</tool_call>",
         {{"f", "{\"a\\nb\": \"\\r\"}"}});
  expect("mistral-args", "[TOOL_CALLS]f[ARGS]{\"a\": \"1\n2\"}", {{"f", "{\"a\": \"1\\n2\"}"}});
}

TEST(ChatOutput, furtherKeysOfACallAreDropped) {
  for (std::string value : {"\"x\"", "1", "true", "null", "{\"name\": \"g\"}", "[1, {\"a\": []}]",
                            "\"a\\\"}\"", "-1.5e3"}) {
    expect("llama3-json", "{\"name\": \"f\", \"parameters\": {\"a\": 1}, \"note\": " + value + "}",
           {{"f", "{\"a\": 1}"}});
    expect("hermes",
           "<tool_call>{\"note\": " + value + ", \"name\": \"f\", \"x\": " + value +
               ", \"arguments\": {\"a\": 1}}</tool_call>",
           {{"f", "{\"a\": 1}"}});
  }
}

TEST(ChatOutput, stopStringsAndTheFirstCall) {
  auto answer = [](std::string_view text, bool oneCall, std::vector<std::string> stops = {}) {
    ChatReading made;
    made.format = {.tools = "hermes", .reasoning = "think"};
    made.tools = ToolSet(kTools);
    made.oneCall = oneCall;
    made.stops = std::move(stops);
    ChatOutputParser parser(std::make_shared<const ChatReading>(std::move(made)));
    Parts parts;
    size_t read = 0;
    for (; read < text.size() && !parser.ended(); ++read)
      add(parts, parser.push(text.substr(read, 1)));
    add(parts, parser.finish());
    return std::pair(parts, text.substr(read));
  };
  const std::string two = "a<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>"
                          "<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>";
  EXPECT_EQ(answer(two, false).first.calls.size(), 2u);
  EXPECT_EQ(answer(two, true).first.calls, (Calls{{"f", "{}"}}));
  auto [parts, rest] = answer("<think>say STOP here</think>final STOP rest", false, {"STOP"});
  EXPECT_EQ(parts.reasoning + "|" + parts.content + "|", "say STOP here|final |");
  EXPECT_EQ(rest, " rest");
  // Stop strings do not end calls. A partial stop string is held back.
  EXPECT_EQ(answer("<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"STOP\"}}</tool_call>", false,
                   {"STOP"})
                .first.calls,
            (Calls{{"f", "{\"a\":\"STOP\"}"}}));
  EXPECT_EQ(answer("<think>ST</think>OP", false, {"STOP"}).first.content, "OP");
  EXPECT_EQ(answer("x ST", false, {"STOP"}).first.content, "x ST");
}

TEST(ChatOutput, tokensOfReasoningAreCounted) {
  auto count = [](std::vector<std::string_view> tokens, OutputFormat format) {
    ChatOutputParser parser(reading(format, ToolSet(kTools)));
    for (std::string_view token : tokens)
      parser.push(token);
    parser.finish();
    return parser.reasoningTokens();
  };
  const OutputFormat think{.tools = "", .reasoning = "think"};
  EXPECT_EQ(count({"<think>", "a", "b", " ", "\n", "</think>", "c"}, think), 4);
  EXPECT_EQ(count({"<th", "ink>", "a", "b", "</", "think", ">", "c"}, think), 2);
  EXPECT_EQ(count({"<think>", "a", "</", "b"}, think), 3);
  EXPECT_EQ(count({"a", "<think>"}, think), 0);
  OutputFormat open = think;
  open.reasoningOpen = true;
  EXPECT_EQ(count({"a", "b", "</think>", "c"}, open), 2);
  EXPECT_EQ(count({"<think>", "a", "b", "</think>", "c"}, open), 2);
  EXPECT_EQ(count({"<|channel|>", "analysis", "<|message|>", "a", "b", "<|end|>", "<|start|>",
                   "assistant", "<|channel|>", "final", "<|message|>", "c"},
                  formatOf("harmony")),
            2);
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
  // A bare call follows the reasoning.
  format = {.tools = "llama3-json", .reasoning = "think"};
  expectParts("<think>a</think>\n{\"name\": \"f\", \"parameters\": {}}", "a", "", {{"f", "{}"}});
}

TEST(ChatOutput, argumentsStreamAsTheyCome) {
  ChatOutputParser parser(reading(tools("hermes"), ToolSet(kTools)));
  EXPECT_TRUE(parser.push("<tool_call>\n{\"name\": \"f\", ").empty());
  auto pieces = parser.push("\"arguments\": {\"a");
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].text, "f");
  EXPECT_EQ(pieces[1].text, "{\"a");
  EXPECT_EQ(parser.push("\": \"long te")[0].text, "\": \"long te");
  EXPECT_EQ(parser.push("xt\"}")[0].text, "xt\"}");
  EXPECT_TRUE(parser.push("}\n</tool_call>").empty());
  EXPECT_TRUE(parser.finish().empty());
  ChatOutputParser plain(reading(tools("hermes"), ToolSet(kTools)));
  EXPECT_EQ(plain.push("Hello")[0].text, "Hello"); // no needless hold-back
  EXPECT_EQ(plain.push(" world <")[0].text, " world ");
  EXPECT_EQ(plain.push("b")[0].text, "<b");
}

// For any text, the output does not depend on how the text is split and contains no marks, and the
// arguments of finished calls are JSON.
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
                                               "True",
                                               "<tool_call>f",
                                               "<arg_key>a</arg_key>",
                                               "<arg_value>",
                                               "</arg_value>",
                                               "<function=f>",
                                               "<parameter=a>",
                                               "</parameter>",
                                               "</function>",
                                               "<|channel|>",
                                               "<|message|>",
                                               "<|start|>assistant",
                                               "commentary to=functions.f",
                                               "<|end|>",
                                               "<|tool_call>call:f{",
                                               "<|\"|>",
                                               "<tool_call|>",
                                               "<invoke name=\"f\">",
                                               "<parameter name=\"a\">",
                                               "</invoke>"};
  std::mt19937 random(5);
  for (std::string_view name : toolFormatNames())
    for (int round = 0; round < 60; ++round) {
      OutputFormat format = formatOf(name);
      if (format.reasoning.empty() && round % 3 == 0)
        format.reasoning = "think";
      format.reasoningOpen = round % 6 == 0;
      std::string text;
      for (size_t parts = 1 + random() % 14; parts > 0; --parts)
        text += kBits[random() % std::size(kBits)];
      read(format, text);
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
  EXPECT_FALSE(of("think_split").reasoningOpen); // it closes the tag it opens
  EXPECT_EQ(detectOutputFormat("{{ '[TOOL_CALLS]' + name + '[ARGS]' }}").tools, "mistral-args");
  EXPECT_EQ(detectOutputFormat("{{ '[TOOL_CALLS] [' }}").tools, "mistral");
  OutputFormat open = detectOutputFormat(
      "{{ x.split('</think>') }}{% if add_generation_prompt %}{{ '<think>\\n' }}{% endif %}");
  EXPECT_EQ(open.reasoning, "think");
  EXPECT_TRUE(open.reasoningOpen);
  EXPECT_TRUE(formatBehind(open, "<|im_start|>assistant\n<think>\n").reasoningOpen);
  EXPECT_FALSE(formatBehind(open, "<|im_start|>assistant\n<think>\n\n</think>\n\n").reasoningOpen);
}

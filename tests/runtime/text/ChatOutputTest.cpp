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

std::shared_ptr<const ChatReading> reading(const OutputFormat &format, ToolSet tools) {
  ChatReading made;
  made.format = format;
  made.tools = std::move(tools);
  return std::make_shared<const ChatReading>(std::move(made));
}

Parts read(const OutputFormat &format, const std::vector<std::string_view> &cuts,
           const std::vector<std::string> &tools = kTools) {
  ChatOutputParser parser(reading(format, ToolSet(tools)));
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

/// A format of calls with the one of reasoning that its family has, where calls depend on it.
OutputFormat formatOf(std::string_view name) {
  OutputFormat format = tools(std::string(name));
  for (std::string_view both : {"harmony", "atem", "solar", "kimi-k3", "cohere", "gemma4"})
    if (name == both)
      format.reasoning = name;
  if (name == "functionary-v3.2")
    format.reasoning = "functionary";
  return format;
}

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
  expect("hermes", "a <tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1", {{"f", "{\"x\": 1"}},
         "a "); // its name was out
  expect("hermes", "1 < 2 <tool 3 <tool_call", {}, "1 < 2 <tool 3 <tool_call");
  expect("hermes", "{\"name\": \"f\", \"arguments\": {}}", {},
         "{\"name\": \"f\", \"arguments\": {}}");
  expect("hermes", "<tool_call><tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>",
         {{"f", "{}"}});
  expect("hermes", "stray</tool_call> mark", {}, "stray</tool_call> mark");
  expect("hermes", "<tool_call>\n</tool_call>done", {}, "<tool_call>\n</tool_call>done");
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
  expect("functiongemma", "<start_function_call>call:h{}<end_function_call>", {},
         "<start_function_call>call:h{}<end_function_call>");
}

namespace {

const std::string kTypedTools =
    R"([{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{
"city":{"type":"string"},"n":{"type":"integer"},"o":{"type":"object","properties":{"k":{"type":"array","items":{"type":"string"}},"t":{"type":"boolean"}}},
"u":{"type":["string","null"]},"e":{"anyOf":[{"type":"number"},{"type":"string"}]},"x":{}}}}},
{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}])";

/// What each family's template writes for the same two calls, behind "Let me see. ".
struct Spelled {
  std::string_view format, text;
  bool both = true; ///< false: a turn has one call
  std::string_view content = "Let me see. ";
};

const Spelled kSpelled[] = {
    {"hermes", R"(Let me see. <tool_call>
{"name": "get_weather", "arguments": {"city": "Os\"lo\nx", "n": 1, "o": {"k": ["a"], "t": true}}}
</tool_call>
<tool_call>
{"name": "f", "arguments": {}}
</tool_call>)"},
    {"qwen3-coder", "Let me see. <tool_call>\n<function=get_weather>\n<parameter=city>\nOs\"lo\nx\n"
                    "</parameter>\n<parameter=n>\n1\n</parameter>\n<parameter=o>\n{\"k\": [\"a\"], "
                    "\"t\": true}\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n"
                    "<function=f>\n</function>\n</tool_call>"},
    {"seed-oss", "Let me see. <seed:tool_call>\n<function=get_weather>\n<parameter=city>Os\"lo\nx"
                 "</parameter>\n<parameter=n>1</parameter>\n<parameter=o>{'k': ['a'], 't': True}"
                 "</parameter>\n</function>\n</seed:tool_call>\n<seed:tool_call>\n<function=f>\n"
                 "</function>\n</seed:tool_call>"},
    {"glm45", "Let me see. <tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Os\"lo\nx"
              "</arg_value>\n<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n<arg_key>o</arg_key>\n"
              "<arg_value>{\"k\": [\"a\"], \"t\": true}</arg_value>\n</tool_call>\n<tool_call>f\n"
              "</tool_call>"},
    {"glm47", "Let me see. <tool_call>get_weather<arg_key>city</arg_key><arg_value>Os\"lo\nx"
              "</arg_value><arg_key>n</arg_key><arg_value>1</arg_value><arg_key>o</arg_key>"
              "<arg_value>{\"k\": [\"a\"], \"t\": true}</arg_value></tool_call><tool_call>f"
              "</tool_call>"},
    {"hy3", "Let me see. <tool_calls:opensource>\n<tool_call:opensource>get_weather"
            "<tool_sep:opensource>\n<arg_key:opensource>city</arg_key:opensource>\n"
            "<arg_value:opensource>Os\"lo\nx</arg_value:opensource>\n<arg_key:opensource>n"
            "</arg_key:opensource>\n<arg_value:opensource>1</arg_value:opensource>\n"
            "<arg_key:opensource>o</arg_key:opensource>\n<arg_value:opensource>{\"k\": [\"a\"], "
            "\"t\": true}</arg_value:opensource>\n</tool_call:opensource>\n<tool_call:opensource>f"
            "<tool_sep:opensource>\n</tool_call:opensource>\n</tool_calls:opensource>"},
    {"gemma4", "Let me see. <|tool_call>call:get_weather{city:<|\"|>Os\"lo\nx<|\"|>,n:1,o:{k:"
               "[<|\"|>a<|\"|>],t:true}}<tool_call|><|tool_call>call:f{}<tool_call|>"},
    {"functiongemma",
     "Let me see. <start_function_call>call:get_weather{city:<escape>Os\"lo\nx<escape>,n:1,o:{k:"
     "[<escape>a<escape>],t:true}}<end_function_call><start_function_call>call:f{}"
     "<end_function_call>"},
    {"lfm2", "Let me see. <|tool_call_start|>[get_weather(city='Os\"lo\\nx', n=1, o={'k': ['a'], "
             "'t': True}), f()]<|tool_call_end|>"},
    {"olmo3", "Let me see. <function_calls>\nget_weather(city=\"Os\\\"lo\\nx\", n=1, o={\"k\": "
              "[\"a\"], \"t\": true})\nf()\n</function_calls>"},
    {"minimax-m2", "Let me see. <minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter "
                   "name=\"city\">Os\"lo\nx</parameter>\n<parameter name=\"n\">1</parameter>\n"
                   "<parameter name=\"o\">{\"k\": [\"a\"], \"t\": true}</parameter>\n</invoke>\n"
                   "<invoke name=\"f\">\n</invoke>\n</minimax:tool_call>"},
    {"minimax-m3",
     "Let me see. ]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"get_weather\">]<]minimax[>["
     "<city>Os\"lo\nx]<]minimax[>[</city>]<]minimax[>[<n>1]<]minimax[>[</n>]<]minimax[>[<o>]<]"
     "minimax[>[<k>]<]minimax[>[<item>a]<]minimax[>[</item>]<]minimax[>[</k>]<]minimax[>[<t>true]<]"
     "minimax[>[</t>]<]minimax[>[</o>]<]minimax[>[</invoke>\n]<]minimax[>[<invoke name=\"f\">]<]"
     "minimax[>[</invoke>\n]<]minimax[>[</tool_call>"},
    {"minimax-m1", R"(Let me see. <tool_calls>
{"name": "get_weather", "arguments": {"city": "Os\"lo\nx", "n": 1, "o": {"k": ["a"], "t": true}}}
{"name": "f", "arguments": {}}
</tool_calls>)"},
    {"dsml", "Let me see. <｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n"
             "<｜DSML｜parameter name=\"city\" string=\"true\">Os\"lo\nx</｜DSML｜parameter>\n"
             "<｜DSML｜parameter name=\"n\" string=\"false\">1</｜DSML｜parameter>\n"
             "<｜DSML｜parameter name=\"o\" string=\"false\">{\"k\": [\"a\"], \"t\": true}"
             "</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"f\">\n"
             "</｜DSML｜invoke>\n</｜DSML｜function_calls>"},
    {"dsml-v4", "Let me see. <｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"get_weather\">\n"
                "<｜DSML｜parameter name=\"city\" string=\"true\">Os\"lo\nx</｜DSML｜parameter>\n"
                "<｜DSML｜parameter name=\"n\" string=\"false\">1</｜DSML｜parameter>\n"
                "<｜DSML｜parameter name=\"o\" string=\"false\">{\"k\": [\"a\"], \"t\": true}"
                "</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"f\">\n\n"
                "</｜DSML｜invoke>\n</｜DSML｜tool_calls>"},
    {"minicpm5", "Let me see. <function name=\"get_weather\"><param name=\"city\"><![CDATA[Os\"lo\n"
                 "x]]></param><param name=\"n\">1</param><param name=\"o\">{'k': ['a'], 't': True}"
                 "</param></function>\n<function name=\"f\"></function>"},
    {"kimi-k2", "Let me see. <|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
                "<|tool_call_argument_begin|>{\"city\": \"Os\\\"lo\\nx\", \"n\": 1, \"o\": {\"k\": "
                "[\"a\"], \"t\": true}}<|tool_call_end|><|tool_call_begin|>functions.f:1"
                "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"},
    {"kimi-k3", "<|open|>response<|sep|>Let me see. <|close|>response<|sep|><|open|>tools<|sep|>"
                "<|open|>call tool=\"get_weather\" index=\"1\"<|sep|><|open|>argument key=\"city\" "
                "type=\"string\"<|sep|>Os\"lo\nx<|close|>argument<|sep|><|open|>argument key=\"n\" "
                "type=\"number\"<|sep|>1<|close|>argument<|sep|><|open|>argument key=\"o\" "
                "type=\"object\"<|sep|>{\"k\": [\"a\"], \"t\": true}<|close|>argument<|sep|>"
                "<|close|>call<|sep|><|open|>call tool=\"f\" index=\"2\"<|sep|><|close|>call<|sep|>"
                "<|close|>tools<|sep|><|close|>message<|sep|>"},
    {"deepseek-v3", "Let me see. <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function"
                    "<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"Os\\\"lo\\nx\", \"n\": 1, "
                    "\"o\": {\"k\": [\"a\"], \"t\": true}}\n```<｜tool▁call▁end｜>\n"
                    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```"
                    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
    {"deepseek-v31", "Let me see. <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather"
                     "<｜tool▁sep｜>{\"city\": \"Os\\\"lo\\nx\", \"n\": 1, \"o\": {\"k\": [\"a\"], "
                     "\"t\": true}}<｜tool▁call▁end｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}"
                     "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
    {"solar",
     "<|content|>Let me see. <|end|><|begin|>assistant<|tool_calls|><|tool_call:begin|>"
     "abcdefgh1<|tool_call:name|>get_weather<|tool_call:args|>{\"city\": \"Os\\\"lo\\nx\", "
     "\"n\": 1, \"o\": {\"k\": [\"a\"], \"t\": true}}<|tool_call:end|><|tool_call:begin|>"
     "abcdefgh2<|tool_call:name|>f<|tool_call:args|>{}<|tool_call:end|><|calls|>"},
    {"functionary-v3.1", "Let me see. <function=get_weather>{\"city\": \"Os\\\"lo\\nx\", \"n\": 1, "
                         "\"o\": {\"k\": [\"a\"], \"t\": true}}</function><function=f>{}"
                         "</function>"},
    {"functionary-v3.2", "all\nLet me see. >>>get_weather\n{\"city\": \"Os\\\"lo\\nx\", \"n\": 1, "
                         "\"o\": {\"k\": [\"a\"], \"t\": true}}>>>f\n{}"},
    {"cohere", R"(<|START_TEXT|>Let me see. <|END_TEXT|><|START_ACTION|>[
    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Os\"lo\nx", "n": 1, "o": {"k": ["a"], "t": true}}},
    {"tool_call_id": "1", "tool_name": "f", "parameters": {}}
]<|END_ACTION|>)"},
    {"command-r", R"(Let me see. Action: ```json
[
    {
        "tool_name": "get_weather",
        "parameters": {"city": "Os\"lo\nx", "n": 1, "o": {"k": ["a"], "t": true}}
    },
    {"tool_name": "f", "parameters": {}}
]```)"},
    {"granite",
     R"(Let me see. <|tool_call|>[{"name": "get_weather", "arguments": {"city": "Os\"lo\nx", "n": 1, "o": {"k": ["a"], "t": true}}}, {"name": "f", "arguments": {}}])"},
    {"phi4-mini",
     R"(Let me see. <|tool_call|>[{"name": "get_weather", "arguments": {"city": "Os\"lo\nx", "n": 1, "o": {"k": ["a"], "t": true}}}, {"name": "f", "arguments": {}}]<|/tool_call|>)"},
    {"phi4-mini",
     R"(Let me see. functools[{"name": "get_weather", "arguments": {"city": "Os\"lo\nx", "n": 1, "o": {"k": ["a"], "t": true}}}, {"name": "f", "arguments": {}}])"},
    {"tool-calls",
     R"(Let me see. <tool_calls>[{"name": "get_weather", "arguments": {"city": "Os\"lo\nx", "n": 1, "o": {"k": ["a"], "t": true}}}, {"name": "f", "arguments": {}}]</tool_calls>)"},
    {"nemotron",
     R"(Let me see. <TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Os\"lo\nx", "n": 1, "o": {"k": ["a"], "t": true}}}, {"name": "f", "arguments": {}}]</TOOLCALL>)"},
    {"apertus",
     R"(Let me see. <|tools_prefix|>[{"get_weather": {"city": "Os\"lo\nx", "n": 1, "o": {"k": ["a"], "t": true}}}, {"f": {}}]<|tools_suffix|>)"},
    {"internlm", R"(Let me see. <|action_start|><|plugin|>
{"name": "get_weather", "parameters": {"city": "Os\"lo\nx", "n": 1, "o": {"k": ["a"], "t": true}}}<|action_end|>
<|action_start|><|plugin|>
{"name": "f", "parameters": {}}<|action_end|>)"},
    {"gigachat31",
     R"(Let me see. <|function_call|>{"name": "get_weather", "arguments": {"city": "Os\"lo\nx", "n": 1, "o": {"k": ["a"], "t": true}}})",
     false},
    {"harmony",
     "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary"
     "<|message|>Let me see. <|end|><|start|>assistant<|channel|>commentary "
     "to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Os\\\"lo\\nx\", "
     "\"n\": 1, \"o\": {\"k\": [\"a\"], \"t\": true}}<|call|>",
     false},
    {"harmony",
     "<|channel|>final<|message|>Let me see. <|end|><|start|>assistant "
     "to=functions.get_weather<|channel|>commentary json<|message|>{\"city\": "
     "\"Os\\\"lo\\nx\", \"n\": 1, \"o\": {\"k\": [\"a\"], \"t\": true}}",
     false},
    {"atem", " to=user<|message|>Let me see. <|eom|><|start|>assistant to=get_weather<|message|>"
             "<atem:function_calls>\n<atem:invoke name=\"get_weather\">\n<atem:parameter "
             "name=\"city\">Os\"lo\nx</atem:parameter>\n<atem:parameter name=\"n\">1"
             "</atem:parameter>\n<atem:parameter name=\"o\">{\"k\": [\"a\"], \"t\": true}"
             "</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|><|start|>assistant "
             "to=f<|message|><atem:function_calls>\n<atem:invoke name=\"f\">\n</atem:invoke>\n"
             "</atem:function_calls><|eot|>"},
};

/// As read(), with the schemas of some tools.
Parts readTyped(const OutputFormat &format, std::string_view text,
                std::string_view toolsJson = kTypedTools) {
  Parts whole;
  for (size_t step : {text.size() + 1, size_t(1), size_t(3), size_t(7)}) {
    ChatOutputParser parser(reading(format, ToolSet::parse(toolsJson)));
    Parts parts;
    for (size_t at = 0; at < text.size(); at += step)
      add(parts, parser.push(text.substr(at, step)));
    add(parts, parser.finish());
    if (step > text.size())
      whole = parts;
    EXPECT_EQ(parts, whole) << text << "\nin steps of " << step << ": " << parts.content;
  }
  return whole;
}

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
    // Without tools, and for tools that do not exist, the same text is content.
    OutputFormat format = formatOf(one.format);
    if (format.reasoning.empty()) {
      EXPECT_EQ(read(format, one.text, {}).content, one.text);
      EXPECT_EQ(read(format, one.text, {"other"}).content, one.text) << one.format;
    }
  }
  // Every format is here, or has a test of its own.
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
  EXPECT_EQ(call("x", "1"), R"({"x":"1"})");         // the schema does not say
  EXPECT_EQ(call("other", "1"), R"({"other":"1"})"); // neither
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
  // A tool that does not exist, and arguments that are none, are content.
  EXPECT_EQ(parts("<|channel|>commentary to=functions.h<|message|>{}").content, "{}");
  EXPECT_EQ(parts("<|channel|>commentary to=functions.f<|message|>no").content, "no");
  EXPECT_EQ(parts("<|channel|>analysis to=python code<|message|>1+1").reasoning, "1+1");
  // Arguments that are cut stay as they are.
  EXPECT_EQ(parts("<|channel|>commentary to=functions.f<|message|>{\"a\": ").calls,
            (Calls{{"f", "{\"a\": "}}));
  one = parts(" to=self<|message|>Hm.<|eom|><|start|>assistant to=user<|message|>Yes.", "atem");
  EXPECT_EQ(one.reasoning + "|" + one.content, "Hm.|Yes.");
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
  // Calls do not end by stop strings, and a part of one is held back.
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
  // A bare call after the reasoning.
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
  EXPECT_EQ(plain.push("Hello")[0].text, "Hello"); // nothing waits that need not
  EXPECT_EQ(plain.push(" world <")[0].text, " world ");
  EXPECT_EQ(plain.push("b")[0].text, "<b");
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
  EXPECT_FALSE(of("think_split").reasoningOpen); // it closes what it opens
  EXPECT_EQ(detectOutputFormat("{{ '[TOOL_CALLS]' + name + '[ARGS]' }}").tools, "mistral-args");
  EXPECT_EQ(detectOutputFormat("{{ '[TOOL_CALLS] [' }}").tools, "mistral");
  OutputFormat open = detectOutputFormat(
      "{{ x.split('</think>') }}{% if add_generation_prompt %}{{ '<think>\\n' }}{% endif %}");
  EXPECT_EQ(open.reasoning, "think");
  EXPECT_TRUE(open.reasoningOpen);
  EXPECT_TRUE(formatBehind(open, "<|im_start|>assistant\n<think>\n").reasoningOpen);
  EXPECT_FALSE(formatBehind(open, "<|im_start|>assistant\n<think>\n\n</think>\n\n").reasoningOpen);
}

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

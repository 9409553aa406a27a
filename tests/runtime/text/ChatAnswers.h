//===- ChatAnswers.h - Scripted answers, and their parsed parts ------------===//
#pragma once

#include "Sampling.h"
#include "runtime/text/ChatOutput.h"

namespace chat_answers {

using namespace sampling;

inline const std::vector<std::string> kTools = {"get_weather", "f", "g"};

/// The joined parts of an answer: content, reasoning, and calls as (name, arguments).
struct Parts {
  std::string content, reasoning;
  std::vector<std::pair<std::string, std::string>> calls;
  bool operator==(const Parts &) const = default;
};

inline void add(Parts &parts, const std::vector<OutputPiece> &pieces) {
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

inline std::shared_ptr<const ChatReading> reading(const OutputFormat &format, ToolSet tools) {
  ChatReading made;
  made.format = format;
  made.tools = std::move(tools);
  return std::make_shared<const ChatReading>(std::move(made));
}

inline Parts read(const OutputFormat &format, const std::vector<std::string_view> &cuts,
                  const std::vector<std::string> &tools = kTools) {
  ChatOutputParser parser(reading(format, ToolSet(tools)));
  Parts parts;
  for (std::string_view piece : cuts)
    add(parts, parser.push(piece));
  add(parts, parser.finish());
  EXPECT_EQ(parser.toolCalls(), static_cast<int32_t>(parts.calls.size()));
  return parts;
}

/// Parses the text, and checks that the result does not depend on how the text is split.
inline Parts read(const OutputFormat &format, std::string_view text,
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

inline OutputFormat tools(std::string name) { return {.tools = std::move(name), .reasoning = ""}; }

using Calls = std::vector<std::pair<std::string, std::string>>;

/// Returns a tool-call format, together with its family's reasoning format if calls depend on it.
inline OutputFormat formatOf(std::string_view name) {
  OutputFormat format = tools(std::string(name));
  for (std::string_view both : {"harmony", "atem", "solar", "kimi-k3", "cohere", "gemma4"})
    if (name == both)
      format.reasoning = name;
  if (name == "functionary-v3.2")
    format.reasoning = "functionary";
  return format;
}

inline const std::string kTypedTools =
    R"([{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{
"city":{"type":"string"},"n":{"type":"integer"},"o":{"type":"object","properties":{"k":{"type":"array","items":{"type":"string"}},"t":{"type":"boolean"}}},
"u":{"type":["string","null"]},"e":{"anyOf":[{"type":"number"},{"type":"string"}]},"x":{}}}}},
{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}])";

/// The text that each family's template writes for the same two calls, after "Let me see. ".
struct Spelled {
  std::string_view format, text;
  bool both = true; ///< false: a turn has only one call
  std::string_view content = "Let me see. ";
};

inline const Spelled kSpelled[] = {
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

/// Parses the text like read(), with the schemas of the tools.
inline Parts readTyped(const OutputFormat &format, std::string_view text,
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

} // namespace chat_answers

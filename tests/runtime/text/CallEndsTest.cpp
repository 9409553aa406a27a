// Tests calls that models write wrongly or leave open. Their arguments are JSON, and no part of them
// becomes content, however the text is split.

#include "ChatAnswers.h"
#include "runtime/text/JsonMender.h"

#include <gtest/gtest.h>
#include <simdjson.h>

using namespace chat_answers;

namespace {

const std::string kSchemas =
    R"([{"function":{"name":"get_weather","parameters":{"properties":{"city":{"type":"string"},"n":{"type":"integer"},
"l":{"type":"array","items":{"type":"integer"}},"o":{"type":"object","properties":{"k":{"type":"string"},"t":{"type":"boolean"}}}}}}},
{"function":{"name":"f"}},{"function":{"name":"g"}}])";

Parts typed(const OutputFormat &format, std::string_view text, size_t step, bool cut = false,
            bool mustCall = false) {
  ChatReading made;
  made.format = format;
  made.tools = ToolSet::parse(kSchemas);
  made.mustCall = mustCall;
  ChatOutputParser parser(std::make_shared<const ChatReading>(std::move(made)));
  Parts parts;
  for (size_t at = 0; at < text.size(); at += step)
    add(parts, parser.push(text.substr(at, step)));
  add(parts, parser.finish(cut));
  return parts;
}

Parts typed(std::string_view format, std::string_view text, bool cut = false) {
  const Parts whole = typed(formatOf(format), text, std::max<size_t>(text.size(), 1), cut);
  for (size_t step : {1, 2, 3, 7})
    EXPECT_EQ(typed(formatOf(format), text, step, cut), whole) << text;
  return whole;
}

std::string minified(const std::string &json) {
  simdjson::dom::parser parser;
  simdjson::dom::element value;
  if (parser.parse(simdjson::padded_string(json)).get(value) != simdjson::SUCCESS)
    return "no JSON: " + json;
  return simdjson::minify(value);
}

/// Returns "name {…}" if there is exactly one call and no content; otherwise a description of the parts.
std::string only(const Parts &parts) {
  if (parts.calls.size() != 1 || !parts.content.empty())
    return std::to_string(parts.calls.size()) + " calls, content '" + parts.content + "'";
  return parts.calls[0].first + " " + minified(parts.calls[0].second);
}

std::string mended(std::string_view json) {
  JsonMender mender;
  std::string out;
  for (char c : json)
    if (mender.feed(c, out) == Reading::Bad)
      return "bad: " + out;
  mender.finish(/*close=*/true, out);
  return out;
}

} // namespace

TEST(JsonMender, jsonComesOutAsItWentIn) {
  for (std::string_view json :
       {R"({})", R"({ "a" : 1 , "b":[ ] ,"c": [1, -2.5e3,"x"], "d": {"e": null}})",
        R"({"a": "\"\\\/\b\f\n\r\té😀", "b": [true, false, [[]]]})", "[\n  1,\n  {}\n]",
        R"({"": "", "a b": "c, d: {e} [f]"})"})
    EXPECT_EQ(mended(json), json);
}

TEST(JsonMender, whatIsBrokenIsMended) {
  for (auto [written, json] : std::vector<std::pair<std::string_view, std::string_view>>{
           {R"({"a": "a\qb"})", R"({"a": "a\\qb"})"},
           {R"({"a": "a\x41 \u12 b"})", R"({"a": "a\\x41 \\u12 b"})"},
           {R"({"a": "\ud83d x", "b": "\ude00", "c": "\ud83d\n"})",
            R"({"a": "\ufffd x", "b": "\ufffd", "c": "\ufffd\n"})"},
           {R"({"a": "\ud83d\ud83d\ude00"})", R"({"a": "\ufffd\ud83d\ude00"})"},
           {"{\"a\": \"1\n2\"}", R"({"a": "1\n2"})"},
           {R"({"a": True, "b": False, "c": None})", R"({"a": true, "b": false, "c": null})"},
           {R"({"a": NaN, "b": [Infinity, -Infinity]})", R"({"a": null, "b": [null, null]})"},
           {R"({"a": 01, "b": +1, "c": .5, "d": 1., "e": 1_000, "f": 0x1f, "g": -007})",
            R"({"a": 1, "b": 1, "c": 0.5, "d": 1.0, "e": 1000, "f": 31, "g": -7})"},
           {R"({"a": maybe so, "b": 1})", R"({"a": "maybe so", "b": 1})"},
           {R"({"a": [1, 2, ], "b": {"c": 1,},})", R"({"a": [1, 2 ], "b": {"c": 1}})"},
           {R"({'a': 'it\'s "b"', c: 1})", R"({"a": "it's \"b\"", "c": 1})"},
           {R"({"a": "say "hi" now", "b": 1})", R"({"a": "say \"hi\" now", "b": 1})"},
           {R"({"a": 1 "b": "x" "c": [1 2]})", R"({"a": 1, "b": "x", "c": ["1 2"]})"},
           {R"({"a" 1, "b"})", R"({"a": 1, "b": null})"},
           {R"({"a": , "b":})", R"({"a": null, "b":null})"},
           {R"({"a": [1, {"b": 2]})", R"({"a": [1, {"b": 2}]})"},
           {R"({"a": {"b": [1}, "c": 2})", R"({"a": {"b": [1]}, "c": 2})"},
           {R"({"a": {"b": "x)", R"({"a": {"b": "x"}})"},
           {R"({"a": [1, )", R"({"a": [1]})"},
           {R"({"a": )", R"({"a": null})"},
           {R"({"a)", R"({"a": null})"},
           {R"({"a": 1, )", R"({"a": 1})"},
           {R"({"a": "x\)", R"({"a": "x"})"},
           {R"({"a": "x\ud83d)", R"({"a": "x\ufffd"})"}})
    EXPECT_EQ(mended(written), json.starts_with("{\"a\": {\"b\": [1]}, \"c\"")
                                   ? R"({"a": {"b": [1]}, "c": 2})"
                                   : json)
        << written;
}

TEST(JsonMender, whatLiesTooDeepIsNull) {
  auto lists = [](size_t depth, const std::string &inner) {
    return std::string(depth, '[') + inner + std::string(depth, ']');
  };
  EXPECT_EQ(mended(lists(64, "1")), lists(64, "1"));
  EXPECT_EQ(mended(lists(200, "1, \"]\"")), lists(64, "null"));
  EXPECT_EQ(mended(std::string(200, '[')), lists(64, "null"));
}

TEST(CallEnds, callsWithoutTheirEndAreClosed) {
  const std::string oslo = R"(get_weather {"city":"Oslo"})";
  // Per format: its name, the text up to the value, and the text after the value, which is cut at every length.
  static constexpr std::array<std::string_view, 3> kWritten[] = {
      {"hermes", "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo",
       "\"}}\n</tool_call>"},
      {"mistral", "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo",
       "\"}}]"},
      {"llama3-json", "{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Oslo", "\"}}"},
      {"harmony", "<|channel|>commentary to=functions.get_weather<|message|>{\"city\": \"Oslo",
       "\"}<|call|>"},
      {"kimi-k2",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
       "<|tool_call_argument_begin|>{\"city\": \"Oslo",
       "\"}<|tool_call_end|><|tool_calls_section_end|>"},
      {"llama3-pythonic", "[get_weather(city=\"Oslo", "\")]"},
      {"olmo3", "<function_calls>\nget_weather(city=\"Oslo", "\")\n</function_calls>"},
      {"functiongemma", "<start_function_call>call:get_weather{city:<escape>Oslo",
       "<escape>}<end_function_call>"},
      {"gemma4", "<|tool_call>call:get_weather{city:<|\"|>Oslo", "<|\"|>}<tool_call|>"},
      {"qwen3-coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo",
       "\n</parameter>\n</function>\n</tool_call>"},
      {"seed-oss", "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Oslo",
       "</parameter>\n</function>\n</seed:tool_call>"},
      {"glm45", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo",
       "</arg_value>\n</tool_call>"},
      {"glm47", "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo",
       "</arg_value></tool_call>"},
      {"hy3",
       "<tool_calls:opensource>\n<tool_call:opensource>get_weather<tool_sep:opensource>\n"
       "<arg_key:opensource>city</arg_key:opensource>\n<arg_value:opensource>Oslo",
       "</arg_value:opensource>\n</tool_call:opensource>\n</tool_calls:opensource>"},
      {"minimax-m2",
       "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Oslo",
       "</parameter>\n</invoke>\n</minimax:tool_call>"},
      {"minimax-m3",
       "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"get_weather\">"
       "]<]minimax[>[<city>Oslo",
       "]<]minimax[>[</city>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>"},
      {"kimi-k3",
       "<|open|>tools<|sep|><|open|>call tool=\"get_weather\" index=\"1\"<|sep|>"
       "<|open|>argument key=\"city\" type=\"string\"<|sep|>Oslo",
       "<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"},
      {"dsml",
       "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter "
       "name=\"city\" string=\"true\">Oslo",
       "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"},
      {"atem",
       " to=get_weather<|message|><atem:function_calls>\n<atem:invoke name=\"get_weather\">\n"
       "<atem:parameter name=\"city\">Oslo",
       "</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|>"},
      {"minicpm5", "<function name=\"get_weather\"><param name=\"city\">Oslo",
       "</param></function>"}};
  for (auto [format, head, tail] : kWritten)
    for (size_t size = 0; size <= tail.size(); ++size) {
      const std::string text = std::string(head) + std::string(tail.substr(0, size));
      if (size > 0 && std::string_view("<]").find(text.back()) != std::string_view::npos)
        continue; // a mark's first character counts as text
      EXPECT_EQ(only(typed(format, text)), oslo) << text;
    }
}

TEST(CallEnds, valuesEndAtMarksOfOuterLevels) {
  const std::string call = "<tool_call>\n<function=get_weather>\n", city = "<parameter=city>\n";
  EXPECT_EQ(only(typed("qwen3-coder", call + city + "Oslo\n</function>\n</tool_call>")),
            R"(get_weather {"city":"Oslo"})");
  EXPECT_EQ(only(typed("qwen3-coder", call + city + "Oslo\n</function>")),
            R"(get_weather {"city":"Oslo"})");
  EXPECT_EQ(
      only(typed("qwen3-coder", call + city + "Oslo\n<parameter=n>\n1\n</function>\n</tool_call>")),
      R"(get_weather {"city":"Oslo","n":1})");
  EXPECT_EQ(only(typed("qwen3-coder", call + "<parameter=n>\n1\n" + city +
                                          "Oslo\n</parameter>\n"
                                          "</function>\n</tool_call>")),
            R"(get_weather {"n":1,"city":"Oslo"})");
  EXPECT_EQ(only(typed("qwen3-coder", call + city + "Oslo\n</parameter>\n</tool_call>")),
            R"(get_weather {"city":"Oslo"})");
  Parts two = typed("qwen3-coder", call + city + "Oslo\n</function>\n</tool_call>\n" + call + city +
                                       "Bergen\n</parameter>\n</function>\n</tool_call>\nDone.");
  EXPECT_EQ(two.calls, (Calls{{"get_weather", R"({"city": "Oslo"})"},
                              {"get_weather", R"({"city": "Bergen"})"}}));
  EXPECT_EQ(two.content, "\nDone.");
  // This value contains such marks and has its own end.
  EXPECT_EQ(only(typed("qwen3-coder", call + city +
                                          "a </function> <parameter=n> b\n</parameter>\n"
                                          "</function>\n</tool_call>")),
            R"(get_weather {"city":"a </function> <parameter=n> b"})");
  EXPECT_EQ(only(typed("glm45", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo\n"
                                "</tool_call>")),
            R"(get_weather {"city":"Oslo"})");
  EXPECT_EQ(only(typed("glm45", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo\n"
                                "<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n</tool_call>")),
            R"(get_weather {"city":"Oslo","n":1})");
  two = typed("glm45",
              "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo\n</tool_call>\n"
              "<tool_call>f\n</tool_call>");
  EXPECT_EQ(two.calls, (Calls{{"get_weather", R"({"city": "Oslo"})"}, {"f", "{}"}}));
  EXPECT_EQ(
      only(typed("minimax-m2", "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter "
                               "name=\"city\">Oslo</invoke>\n</minimax:tool_call>")),
      R"(get_weather {"city":"Oslo"})");
  EXPECT_EQ(only(typed("minimax-m3",
                       "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"get_weather\">"
                       "]<]minimax[>[<o>]<]minimax[>[<k>x]<]minimax[>[</k>]<]minimax[>[<t>true")),
            R"(get_weather {"o":{"k":"x","t":true}})");
}

TEST(CallEnds, jsonCallsEndAtMarks) {
  const std::string head = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": ";
  for (std::string_view rest :
       {R"({"city": "Oslo")", R"({"city": "Oslo"})", R"({"city": "Oslo", )"}) {
    EXPECT_EQ(only(typed("hermes", head + std::string(rest) + "\n</tool_call>")),
              R"(get_weather {"city":"Oslo"})");
    const Parts two = typed("hermes", head + std::string(rest) +
                                          "\n</tool_call>\n<tool_call>\n"
                                          "{\"name\": \"f\", \"arguments\": {}}");
    EXPECT_EQ(two.calls.size(), 2u) << rest;
    EXPECT_EQ(two.content, "") << rest;
  }
}

TEST(CallEnds, brokenCallsStayWhole) {
  auto hermes = [](std::string_view object) {
    return only(typed("hermes", "<tool_call>\n" + std::string(object) + "\n</tool_call>"));
  };
  EXPECT_EQ(hermes(R"({"name": "f", "arguments": {"city": "a\qb"}})"), R"(f {"city":"a\\qb"})");
  EXPECT_EQ(hermes(R"({"name": "f", "arguments": {"x": NaN, "i": 01, "b": True}})"),
            R"(f {"x":null,"i":1,"b":true})");
  EXPECT_EQ(hermes(R"({"name": "f", "arguments": {"city": "Oslo",}})"), R"(f {"city":"Oslo"})");
  EXPECT_EQ(hermes(R"({"name": "f", "arguments": {"city": "\ud83d"}})"), "f {\"city\":\"\uFFFD\"}");
  EXPECT_EQ(hermes(R"({"name": "f", "arguments": ""})"), "f {}");
  EXPECT_EQ(hermes(R"({"name": "f", "arguments": "{\"a\": \"\u00e9\", \"b\": True"})"),
            "f {\"a\":\"é\",\"b\":true}");
  EXPECT_EQ(hermes(R"({"name": "f", "arguments": {}, "arguments": {"z": 1}})"), "f {}");
  EXPECT_EQ(hermes(R"({"name": "f", "name": "g", "arguments": {"z": 1}})"), R"(f {"z":1})");
  EXPECT_EQ(hermes(R"({"id": {"a": [1,]}, "name": "f", "arguments": {"z": 1}, "strict": True,})"),
            R"(f {"z":1})");
  EXPECT_EQ(hermes(R"({"name": "f", "arguments": {"z": 1} "id": 3, x})"), R"(f {"z":1})");

  auto python = [](std::string_view arguments) {
    return only(typed("llama3-pythonic", "[f(" + std::string(arguments) + ")]"));
  };
  EXPECT_EQ(python(R"(c="a" "b")"), R"(f {"c":"ab"})");
  EXPECT_EQ(python(R"(c="a" + 'b', d=1)"), R"(f {"c":"ab","d":1})");
  EXPECT_EQ(python("c=\"\"\"tri\n\"p\"le\"\"\", d=''"), R"(f {"c":"tri\n\"p\"le","d":""})");
  EXPECT_EQ(python(R"(c=r"a\n", d=r'\\', e=b"x", g=f"{y}")"),
            R"(f {"c":"a\\n","d":"\\\\","e":"x","g":"{y}"})");
  EXPECT_EQ(python("i=1_000, x=.5, h=0x10, m=-1_0"), R"(f {"i":1000,"x":0.5,"h":16,"m":-10})");
  EXPECT_EQ(python(R"x(a=len([1, ")"]), b=1 + 2, c=True)x"),
            R"x(f {"a":"len([1, \")\"])","b":"1 + 2","c":true})x");
  EXPECT_EQ(python(R"(a=1, "x", *y, b={1: 'i', k: 2})"), R"(f {"a":1,"b":{"1":"i","k":2}})");
  EXPECT_EQ(python(R"(a="\ud83d\ude00\ud83d \U0001F600\xe9 \u12")"),
            "f {\"a\":\"😀\uFFFD 😀é \\\\u12\"}");
  EXPECT_EQ(python(R"(a=, b=[1, [2], c=3)"), R"(f {"a":null,"b":[1,[2],"c=3"]})");
  EXPECT_EQ(only(typed("llama3-pythonic", "[f(a=[1, {'b': 2]")), R"(f {"a":[1,{"b":2}]})");
  EXPECT_EQ(only(typed("gemma4", "<|tool_call>call:f{a:some text,b:01}<tool_call|>")),
            R"(f {"a":"some text","b":1})");
}

TEST(CallEnds, callsWithoutArguments) {
  for (std::string_view text :
       {"<|channel|>commentary to=functions.f <|constrain|>json<|message|><|call|>",
        "<|channel|>commentary to=functions.f<|message|>\n",
        "<|channel|>commentary to=functions.f<|message|><|end|>"})
    EXPECT_EQ(only(typed("harmony", text)), "f {}") << text;
  EXPECT_EQ(only(typed("kimi-k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
                                  "<|tool_call_argument_begin|><|tool_call_end|>"
                                  "<|tool_calls_section_end|>")),
            "f {}");
  EXPECT_EQ(only(typed("functionary-v3.1", "<function=f></function>")), "f {}");
  EXPECT_EQ(only(typed("functionary-v3.2", "f\n")), "f {}");
  EXPECT_EQ(only(typed("mistral-args", "[TOOL_CALLS]f[ARGS]")), "f {}");
}

TEST(CallEnds, answersThatAreCut) {
  const std::string call =
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}\n</tool_call>";
  auto cut = [](std::string_view text, bool mustCall = false) {
    return typed(tools("hermes"), text, 1, /*cut=*/true, mustCall);
  };
  // Truncated arguments are returned as far as they came.
  EXPECT_EQ(cut(call.substr(0, call.find("x") + 1)).calls, (Calls{{"f", "{\"a\": \"x"}}));
  EXPECT_EQ(closedArguments("{\"a\": \"x"), "{\"a\": \"x\"}");
  EXPECT_EQ(closedArguments(""), "{}");
  for (size_t size = 0; size < call.find("arguments") + 10; ++size) {
    Parts parts = cut(call + "\n" + call.substr(0, size));
    EXPECT_EQ(parts.calls.size(), 1u);
    EXPECT_EQ(parts.content, size == 1 ? "\n<" : "") << size;
    if (size > 1)
      EXPECT_EQ(cut(call.substr(0, size), /*mustCall=*/true).content, "") << size;
  }
  // Text after a call is content, truncated or not.
  for (bool whole : {false, true})
    EXPECT_EQ(typed("mistral-args", "[TOOL_CALLS]f[ARGS]{} Done. ", whole).content, " Done. ");
  EXPECT_EQ(cut("<tool_call>\n{\"na").content, "<tool_call>\n{\"na"); // which may be plain text
}

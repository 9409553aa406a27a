// Tests chat templates against transformers' own renderer (make_templates.py), and their limits.

#include "Goldens.h"
#include "runtime/text/Text.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::text;

TEST(ChatTemplate, rendersWhatTransformersRenders) {
  simdjson::dom::parser parser;
  simdjson::dom::element golden = parser.load(goldens::path("templates.json"));
  size_t rendered = 0, refused = 0;
  for (simdjson::dom::element one : golden["cases"].get_array()) {
    std::string name = goldens::text(one["template"]);
    auto parsed = ChatTemplate::parse(goldens::text(golden["templates"][name]));
    ASSERT_TRUE(parsed) << name << ": " << parsed.error().format();
    ChatTemplate::Options options{.addGenerationPrompt = one["add_generation_prompt"].get_bool(),
                                  .bosToken = "<s>",
                                  .eosToken = "</s>",
                                  .extraJson = simdjson::minify(one["extra"]),
                                  .continueFinalMessage =
                                      one["continue_final_message"].error() == simdjson::SUCCESS};
    std::string messages = simdjson::minify(one["messages"]);
    auto text = (*parsed)->render(messages, options);
    if (one["refused"].error() == simdjson::SUCCESS) {
      ++refused;
      EXPECT_FALSE(text) << name << " " << messages << " gives " << *text;
      continue;
    }
    ++rendered;
    if (!text)
      ADD_FAILURE() << name << " " << messages << ": " << text.error().format();
    else
      EXPECT_EQ(*text, goldens::text(one["rendered"])) << name << " " << messages;
  }
  EXPECT_GT(rendered, 150u);
  EXPECT_GT(refused, 20u);
}

namespace {

std::unique_ptr<ChatTemplate> parse(const std::string &source) {
  auto parsed = ChatTemplate::parse(source);
  EXPECT_TRUE(parsed) << parsed.error().format();
  return std::move(*parsed);
}

std::string codeOf(const std::string &source, const std::string &messages = "[]",
                   const std::string &extra = "") {
  ChatTemplate::Options options;
  options.extraJson = extra;
  auto text = parse(source)->render(messages, options);
  EXPECT_FALSE(text) << *text;
  return text ? "" : text.error().code;
}

} // namespace

TEST(ChatTemplate, takesPairsOfRoleAndContent) {
  auto chat = parse("{% for m in messages %}{{ m.role }}={{ m.content }};{% endfor %}{{ "
                    "add_generation_prompt }}");
  std::vector<ChatTemplate::Message> messages = {{"user", "say \"hi\"\n\x01\\"},
                                                 {"assistant", "日本"}};
  auto text = chat->render(messages, {});
  ASSERT_TRUE(text) << text.error().format();
  EXPECT_EQ(*text, "user=say \"hi\"\n\x01\\;assistant=日本;True");
}

TEST(ChatTemplate, callersVariablesWin) {
  auto chat = parse("{{ bos_token }}{{ add_generation_prompt }}{{ unk_token is defined }}");
  ChatTemplate::Options options;
  options.bosToken = "<a>", options.extraJson = " {\"bos_token\": \"<b>\"} ";
  auto text = chat->render("[]", options);
  ASSERT_TRUE(text) << text.error().format();
  EXPECT_EQ(*text, "<b>TrueFalse");
}

TEST(ChatTemplate, everyNamedTokenIsAVariable) {
  auto chat = parse("{{ pad_token }}{{ unk_token }}{{ image_token }}{{ cls_token is defined }}");
  ChatTemplate::Options options;
  options.tokens = {{"pad_token", "<pad>"}, {"unk_token", "<unk>"}, {"image_token", "<i>"}};
  auto text = chat->render("[]", options);
  ASSERT_TRUE(text) << text.error().format();
  EXPECT_EQ(*text, "<pad><unk><i>False");
}

TEST(ChatTemplate, toolsAmongVariables) {
  EXPECT_TRUE(givesTools(R"({"tools":[]})")) << "as transformers: not None";
  EXPECT_FALSE(givesTools(R"({"tools":null,"x":1})"));
  EXPECT_FALSE(givesTools("{}"));
  EXPECT_FALSE(givesTools("no JSON"));
}

TEST(ChatTemplate, tellsWhichVariablesItReads) {
  auto chat = parse("{% set x = 1 %}{% if tools %}{{ tools | tojson }}{% endif %}{{ x }}");
  EXPECT_TRUE(chat->uses("tools"));
  EXPECT_FALSE(chat->uses("x"));
  EXPECT_FALSE(chat->uses("documents"));
}

TEST(ChatTemplate, continuesTheLastMessage) {
  auto chat = parse("{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}{% if "
                    "add_generation_prompt %}<assistant>{% endif %}");
  ChatTemplate::Options goesOn;
  goesOn.continueFinalMessage = true;
  auto text = chat->render({{"user", "a"}, {"assistant", "b "}}, goesOn);
  ASSERT_TRUE(text) << text.error().format();
  EXPECT_EQ(*text, "<user>a</s><assistant>b ");
  auto none = chat->render("[{\"role\":\"assistant\"}]", goesOn);
  EXPECT_EQ(none.error().code, "E0614");
  auto hidden = parse("x")->render({{"assistant", "b"}}, goesOn);
  EXPECT_EQ(hidden.error().code, "E0612");
}

TEST(ChatTemplate, isPythonsInWhatTemplatesOfModelsAsk) {
  auto render = [](const char *source) {
    auto text = parse(source)->render("[]", {});
    return text ? *text : text.error().format();
  };
  // Qwen3-Coder and Nemotron test for tools this way, here without any.
  EXPECT_EQ(
      render(
          "{{ tools is iterable and tools|length > 0 }},{{ 'a' is iterable }},{{ 1 is iterable }}"),
      "False,True,False");
  // This expression is from Command-R's template.
  EXPECT_EQ(render("{{ '{\n'|indent(4, first=true) }}{{ 'a\n\nb'|indent(2) }}|{{ "
                   "'a\n\n'|indent(blank=true) }}"),
            "    {\na\n\n  b|a\n    \n    ");
}

// Compares with jinja2's results in the environment of transformers (make_expressions.py).
TEST(ChatTemplate, evaluatesWhatJinjaEvaluates) {
  simdjson::dom::parser parser;
  simdjson::dom::element golden = parser.load(goldens::path("expressions.json"));
  ChatTemplate::Options options{.extraJson = simdjson::minify(golden["variables"])};
  size_t rendered = 0, failed = 0;
  for (simdjson::dom::element one : golden["cases"].get_array()) {
    const std::string source = goldens::text(one["template"]);
    auto parsed = ChatTemplate::parse(source);
    auto text = parsed ? (*parsed)->render("[]", options) : Result<std::string>(parsed.error());
    if (one["text"].error() != simdjson::SUCCESS) {
      ++failed;
      EXPECT_FALSE(text) << source << " gives " << *text;
      continue;
    }
    ++rendered;
    if (!text)
      ADD_FAILURE() << source << ": " << text.error().format();
    else
      EXPECT_EQ(*text, goldens::text(one["text"])) << source;
  }
  EXPECT_GT(rendered, 880u);
  EXPECT_GT(failed, 100u);
}

TEST(ChatTemplate, namesThatAreMissingAreErrorsOfTheTemplate) {
  const std::pair<const char *, const char *> missing[] = {
      {"{% if tools %}{{ tools|nosuch }}{% endif %}", "the filter 'nosuch' (template line 1)"},
      {"x\n{{ 1|urlize }}", "the filter 'urlize' (template line 2)"},
      {"{{ [1]|map('nosuch') }}", "the filter 'nosuch'"},
      {"{{ [1]|select('nosuch') }}", "the test 'nosuch'"},
      {"{{ [1]|selectattr('a', 'nosuch') }}", "the test 'nosuch'"},
      {"{{ 1 if 1 is nosuch }}", "the test 'nosuch'"},
      {"{% if tools %}{{ nosuch(1) }}{% endif %}", "the function 'nosuch'"},
      {"{% macro f() %}{{ lipsum() }}{% endmacro %}", "the function 'lipsum'"},
      {"{{ messages[0].content.nosuch() }}", "the method 'nosuch'"},
      {"{{ 'a'.encode() }}", "the method 'encode'"},
      {"{{ messages[0].update({}) }}", "the method 'update'"},
      {"{% macro f() %}{{ varargs }}{% endmacro %}", "the variable 'varargs'"},
      {"{{ a|b }}{{ a|c }}{{ a|q }}{{ a|f }}{{ a|g }}{{ a|h }}", "and 2 more"},
      {"{% include 'header.jinja' %}", "the tag 'include' (template line 1)"},
      {"{% autoescape true %}{% endautoescape %}", "the tag 'autoescape'"},
  };
  for (auto [source, why] : missing) {
    auto parsed = ChatTemplate::parse(source);
    ASSERT_FALSE(parsed) << source;
    EXPECT_EQ(parsed.error().code, "E0610");
    EXPECT_NE(parsed.error().why.find(why), std::string::npos) << parsed.error().why;
  }
  for (const char *guarded :
       {"{% if nosuch is defined %}{{ nosuch() }}{% endif %}",
        "{% if 'nosuch' is filter %}{{ 1|nosuch }}{% endif %}",
        "{% macro f() %}{% endmacro %}{% set ns = namespace(nosuch=f) %}{{ ns.nosuch() }}",
        "{% set ns = namespace(ids=[]) %}{% set _ = ns.ids.append(1) %}{{ ns.ids.pop(0) }}"})
    EXPECT_TRUE(ChatTemplate::parse(guarded)) << guarded;
}

TEST(ChatTemplate, listsThatItMadeCanBeChanged) {
  auto made = parse("{% set ns = namespace(ids=[]) %}{% set same = ns.ids %}{% for i in range(3) %}"
                    "{% set _ = ns.ids.append(i) %}{% endfor %}{{ ns.ids.pop(0) }}{{ same }}")
                  ->render("[]", {});
  ASSERT_TRUE(made) << made.error().format();
  EXPECT_EQ(*made, "0[1, 2]");
  EXPECT_EQ(codeOf("{{ messages.append(1) }}"), "E0612");
}

TEST(ChatTemplate, givesTheDateWhereARequestDoesNot) {
  auto render = [](const char *source, const char *extra) {
    ChatTemplate::Options options{.extraJson = extra};
    auto text = parse(source)->render("[]", options);
    return text ? *text : text.error().format();
  };
  const char *llama = "{% if not date_string is defined %}{% set date_string = '26 Jul 2024' %}"
                      "{% endif %}{{ date_string == strftime_now('%d %b %Y') }}";
  EXPECT_EQ(render(llama, ""), "True");
  EXPECT_EQ(render(llama, R"({"date_string": "1 Jan 2020"})"), "False");
  // Firefunction's template gets the text of the tools only by this name.
  const char *functions = "{{ '[' + functions + ']' }}";
  EXPECT_EQ(render(functions, "{}"), "[]");
  EXPECT_EQ(render(functions, R"({"tools": [{"name": "é"}]})"),
            "[[\n  {\n    \"name\": \"é\"\n  }\n]]");
  EXPECT_EQ(render(functions, R"({"tools": [], "functions": "mine"})"), "[mine]");
  EXPECT_EQ(render("{{ 'Today: ' + datetime == 'Today: ' + strftime_now('%b %d %Y') }}", ""),
            "True");
}

TEST(ChatTemplate, enableThinkingIsTrueOnlyForTemplatesThatNegateIt) {
  auto render = [](const char *source, const char *extra) {
    ChatTemplate::Options options{.extraJson = extra};
    auto text = parse(source)->render("[]", options);
    return text ? *text : text.error().format();
  };
  // llama.cpp's templates of DeepSeek R1, QwQ and Command R7B negate the variable.
  const char *negated = "<think>{% if not enable_thinking %}</think>{% endif %}";
  EXPECT_EQ(render(negated, ""), "<think>");
  EXPECT_EQ(render(negated, R"({"enable_thinking": false})"), "<think></think>");
  // The templates of Bielik, Qwen3, GLM 4.5, SmolLM3, Laguna and Gemma 4 choose their own default.
  EXPECT_EQ(render("{% if enable_thinking %}on{% else %}off{% endif %}", ""), "off");
  EXPECT_EQ(render("{% if enable_thinking is defined and enable_thinking is false %}off{% else "
                   "%}on{% endif %}",
                   ""),
            "on");
  EXPECT_EQ(render("{% if enable_thinking is defined and enable_thinking %}on{% else %}off{% "
                   "endif %}{% if not enable_thinking %}!{% endif %}",
                   ""),
            "off!");
  EXPECT_EQ(render("{% set enable_thinking = enable_thinking | default(false) %}{% if not "
                   "enable_thinking %}off{% endif %}",
                   ""),
            "off");
  EXPECT_EQ(render("{% if enable_thinking is not defined %}{% set enable_thinking = true %}{% "
                   "endif %}{% if enable_thinking %}on{% endif %}",
                   ""),
            "on");
}

TEST(ChatTemplate, strftimeNowGivesTheYear) {
  auto text = parse("{{ strftime_now('%Y') }}")->render("[]", {});
  ASSERT_TRUE(text) << text.error().format();
  EXPECT_GE(std::stoi(*text), 2024);
}

TEST(ChatTemplate, errorsSayWhatAndWhere) {
  auto syntax = ChatTemplate::parse("line one\n{% for m in %}");
  ASSERT_FALSE(syntax);
  EXPECT_EQ(syntax.error().code, "E0610");
  EXPECT_NE(syntax.error().why.find("line 2"), std::string::npos) << syntax.error().why;

  auto raised = parse("{{ raise_exception('roles must alternate') }}")->render("[]", {});
  ASSERT_FALSE(raised);
  EXPECT_EQ(raised.error().code, "E0612");
  EXPECT_NE(raised.error().why.find("roles must alternate"), std::string::npos)
      << raised.error().why;
}

TEST(ChatTemplate, limitsHold) {
  auto large = ChatTemplate::parse(std::string((1 << 20) + 1, 'x'));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, "E0611");

  // Tests the limits on instructions, output, recursion, and memory that few instructions allocate.
  EXPECT_EQ(codeOf("{% for a in range(9999) %}{% for b in range(9999) %}{% set c = 1 %}{% endfor "
                   "%}{% endfor %}"),
            "E0613");
  EXPECT_EQ(codeOf("{% for a in range(9999) %}" + std::string(1000, 'x') + "{% endfor %}"),
            "E0613");
  EXPECT_EQ(codeOf("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), "E0612");
  EXPECT_EQ(codeOf("{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s ~ "
                   "ns.s %}{% endfor %}"),
            "E0613");
  // Values may be nested arbitrarily deep. They are not printed, and freeing them must be safe.
  const std::string nested =
      "{% set ns = namespace(a=[]) %}{% for j in range(3) %}{% for i in range(99999) %}"
      "{% set ns.a = [ns.a] %}{% endfor %}{% endfor %}";
  EXPECT_TRUE(parse(nested)->render("[]", {}));
  EXPECT_EQ(codeOf(nested + "{{ ns.a }}"), "E0612");
  EXPECT_EQ(codeOf("{{ 'a' * 999999999 }}"), "E0612");
  EXPECT_FALSE(ChatTemplate::parse("{{ " + std::string(100000, '(') + " }}"));
  EXPECT_FALSE(ChatTemplate::parse("{{ " + std::string(100000, '-') + "1 }}"));
  std::string branches = "{% if 0 %}";
  for (int i = 0; i < 50000; ++i)
    branches += "{% elif 0 %}";
  EXPECT_TRUE(ChatTemplate::parse(branches + "{% endif %}"));
  std::string sum = "1";
  for (int i = 0; i < 50000; ++i)
    sum += "+1";
  EXPECT_FALSE(ChatTemplate::parse("{{ " + sum + " }}"));
  EXPECT_EQ(codeOf("{% set x %}{% for i in range(99999) %}" + std::string(9000, 'y') +
                   "{% endfor %}{% endset %}"),
            "E0613");
}

TEST(ChatTemplate, memoryThatIsFreedMayBeUsedAgain) {
  auto text =
      parse("{% for i in range(3000) %}{% set x = 'a' * 100000 %}{% endfor %}ok")->render("[]", {});
  ASSERT_TRUE(text) << text.error().format();
  EXPECT_EQ(*text, "ok");
}

TEST(ChatTemplate, aTemplateThatTookTooMuchIsNotRunAgain) {
  auto chat = parse("{% if messages %}{% set ns = namespace(s='x') %}{% for i in range(60) %}"
                    "{% set ns.s = ns.s ~ ns.s %}{% endfor %}{% endif %}ok");
  EXPECT_TRUE(chat->render("[]", {}));
  EXPECT_FALSE(chat->render("[{}]", {}));
  auto again = chat->render("[]", {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, "E0613");
}

TEST(ChatTemplate, refusesWhatIsNotJson) {
  EXPECT_EQ(codeOf("x", "{}"), "E0614");
  EXPECT_EQ(codeOf("x", "[1"), "E0614");
  EXPECT_EQ(codeOf("x", "[]", "[]"), "E0614");
  EXPECT_EQ(codeOf("x", "[]", "{\"a\":}"), "E0614");
  EXPECT_EQ(codeOf("x", std::string(100000, '[')), "E0614");
}

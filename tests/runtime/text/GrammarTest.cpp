// Tests grammars: random answers under the mask match, non-matching texts are refused, and no source
// exceeds its limits. Uses a tokenizer of 700 tokens; CheckpointTest.cpp has the real ones.

#include "Sampling.h"
#include "SchemaCheck.h"
#include "tests/Sanitizers.h"

#include <chrono>
#include <fstream>
#include <thread>

using namespace sampling;

namespace {

std::vector<std::string> drawMany(GrammarKind kind, std::string_view source, int count = 30) {
  std::vector<std::string> texts;
  auto grammar = compile(words(), kind, source);
  if (!grammar)
    return texts;
  std::mt19937 random(7);
  for (int i = 0; i < count; ++i)
    if (auto text = draw(words(), *grammar, random, random() % 40))
      texts.push_back(*text);
  return texts;
}

void expectTaken(GrammarKind kind, std::string_view source, std::vector<std::string_view> good,
                 std::vector<std::string_view> bad) {
  auto grammar = compile(words(), kind, source);
  ASSERT_TRUE(grammar);
  for (std::string_view text : good)
    EXPECT_TRUE(takes(words(), *grammar, text)) << source << " refuses " << text;
  for (std::string_view text : bad)
    EXPECT_FALSE(takes(words(), *grammar, text)) << source << " takes " << text;
}

Error errorOf(GrammarKind kind, std::string_view source) {
  auto grammar = Grammar::compile(*words().vocabulary, kind, source);
  EXPECT_FALSE(grammar) << source;
  return grammar ? Error{} : grammar.error();
}

void expectSchema(const std::string &schema, std::vector<std::string_view> good,
                  std::vector<std::string_view> bad, int count = 30) {
  SCOPED_TRACE(schema);
  auto texts = drawMany(GrammarKind::JsonSchema, schema, count);
  EXPECT_EQ(texts.size(), static_cast<size_t>(count));
  for (const std::string &text : texts)
    EXPECT_EQ(schema_check::violation(schema, text), "") << text;
  // Verify the check itself: it must also reject the bad texts.
  for (std::string_view text : bad)
    EXPECT_NE(schema_check::violation(schema, std::string(text)), "") << text;
  for (std::string_view text : good)
    EXPECT_EQ(schema_check::violation(schema, std::string(text)), "") << text;
  expectTaken(GrammarKind::JsonSchema, schema, good, bad);
}

} // namespace

TEST(Grammar, anyJsonObject) {
  for (const std::string &text : drawMany(GrammarKind::JsonObject, "", 60))
    EXPECT_EQ(schema_check::violation(R"({"type":"object"})", text), "") << text;
  expectTaken(GrammarKind::JsonObject, "",
              {"{}", R"({"a": [1, -2.5e3, true, null, "é\n\\", {}]})", "{\n  \"日本\": \"é\"\n}"},
              {"[]", "{", "{} x", " {}", R"({"a":1,})", R"({'a':1})", "{\"a\":\n\n1}", "{   }"});
}

TEST(Grammar, schemasOfEachKeyword) {
  expectSchema(
      R"({"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":5},
          "age":{"type":"integer","minimum":0,"maximum":150},"tag":{"enum":["a","é",7,null]}},
          "required":["name","age"],"additionalProperties":false})",
      {R"({"name":"Eva","age":150})", R"({"name":"日本","age":0,"tag":null})"},
      {R"({"name":"Eva"})", R"({"name":"","age":1})", R"({"name":"Eva","age":151})",
       R"({"name":"Eva","age":1.5})", R"({"name":"Eva","age":1,"x":2})",
       R"({"name":"Eva","age":1,"tag":"b"})", R"({"name":"abcdef","age":1})"});
  expectSchema(
      R"({"type":"array","items":{"anyOf":[{"type":"boolean"},{"const":"x"}]},"minItems":1,"maxItems":3})",
      {"[true]", R"([false, "x", true])"}, {"[]", R"(["y"])", "[true,true,true,true]", "[null]"});
  expectSchema(
      R"({"type":"object","properties":{"p":{"type":"object","properties":{"q":{"type":"array",
          "items":{"type":"object","properties":{"r":{"type":"number","exclusiveMinimum":-1,"maximum":1}},
          "required":["r"],"additionalProperties":false}}},"required":["q"],"additionalProperties":false}},
          "required":["p"],"additionalProperties":false})",
      {R"({"p":{"q":[{"r":0.25},{"r":-0.5}]}})", R"({"p":{"q":[]}})"},
      {R"({"p":{"q":[{"r":-1}]}})", R"({"p":{"q":[{}]}})", R"({"p":{}})"});
  expectSchema(
      R"({"$defs":{"tree":{"type":"object","properties":{"v":{"type":"boolean"},"kids":{"type":"array",
                   "items":{"$ref":"#/$defs/tree"},"maxItems":1}},"required":["v"],"additionalProperties":false}},
                   "$ref":"#/$defs/tree"})",
      {R"({"v":true,"kids":[{"v":false}]})"}, {R"({"v":true,"kids":[{"w":false}]})"});
  expectSchema(R"({"type":["integer","null"],"multipleOf":5,"minimum":-5000,"maximum":5000})",
               {"10", "null", "-5"}, {"7", "\"5\""});
  expectSchema(R"({"allOf":[{"type":"object","properties":{"a":{"type":"null"}},"required":["a"]},
                   {"properties":{"b":{"const":[1,{"c":2}]}},"required":["b"]}]})",
               {R"({"a":null,"b":[1,{"c":2}],"d":0})"},
               {R"({"a":null})", R"({"a":null,"b":[1,{"c":3}]})"});
  expectSchema(R"({"oneOf":[{"type":"string","maxLength":2},{"type":"integer"}]})", {"3", "\"ab\""},
               {"\"abc\"", "true"});
  expectSchema(
      R"({"type":"array","prefixItems":[{"const":1},{"type":"null"}],"items":false,"minItems":2})",
      {"[1,null]"}, {"[1]", "[1,null,2]", "[null,1]"});
}

TEST(Grammar, patternsAndFormats) {
  for (const std::string &text :
       drawMany(GrammarKind::JsonSchema,
                R"({"type":"string","pattern":"^[a-c]{2}-\\d+$","maxLength":9})")) {
    ASSERT_GE(text.size(), 6u) << text;
    EXPECT_TRUE(text[1] >= 'a' && text[1] <= 'c' && text[3] == '-') << text;
    EXPECT_EQ(text.find_first_not_of("0123456789", 4), text.size() - 1) << text;
  }
  expectTaken(GrammarKind::JsonSchema, R"({"type":"string","format":"date"})", {"\"2026-11-21\""},
              {"\"2026-13-21\"", "\"21.11.2026\"", "20261121"});
  expectTaken(GrammarKind::JsonSchema, R"({"type":"string","format":"uuid"})",
              {"\"123e4567-e89b-12d3-a456-426614174000\""}, {"\"123e4567\""});
  expectTaken(GrammarKind::JsonSchema, R"({"type":"string","format":"ipv4"})", {"\"10.0.0.255\""},
              {"\"10.0.0.256\""});
  expectTaken(GrammarKind::JsonSchema, R"({"type":"string","format":"email"})", {"\"a.b@c.de\""},
              {"\"a.b\""});
  expectTaken(
      GrammarKind::JsonSchema,
      R"({"type":"object","patternProperties":{"^x_":{"type":"integer"}},"additionalProperties":false})",
      {R"({"x_a":1})", "{}"}, {R"({"y":1})", R"({"x_a":"1"})"});
}

TEST(Grammar, regexIsOfTheWholeAnswer) {
  for (const std::string &text : drawMany(GrammarKind::Regex, "^(a+)+b$")) {
    EXPECT_EQ(text.find_first_not_of('a'), text.size() - 1) << text;
    EXPECT_EQ(text.back(), 'b');
  }
  expectTaken(GrammarKind::Regex, "ab|cd/e", {"ab", "cd/e"}, {"a", "abcd/e", "xab", ""});
  expectTaken(GrammarKind::Regex, R"((?i)x\$)", {"X$", "x$"}, {"x", "x$$"});
  expectTaken(GrammarKind::Regex, "[äö]{2}日?", {"äö", "ää日"}, {"ä", "äa"});
}

TEST(Grammar, choices) {
  std::string source = R"(["yes","no","no way","","\"q\\\u007f"])";
  for (const std::string &text : drawMany(GrammarKind::Choice, source))
    EXPECT_TRUE(text == "yes" || text == "no" || text == "no way" || text.empty() ||
                text == "\"q\\\x7f")
        << text;
  expectTaken(GrammarKind::Choice, source, {"yes", "no", "no way", ""}, {"y", "yesno", "no "});
}

TEST(Grammar, gbnf) {
  // Grammars are over characters, not words, so a text that llama.cpp accepts is accepted however it is tokenised.
  expectTaken(
      GrammarKind::Gbnf,
      "root ::= \"a\" \"b\" | \"ab\" \"c\" | x+ # end\nx ::=\n  [x-z0-9_]{2,3} | [^\\x00-\\x7f]",
      {"ab", "abc", "xy", "xyz", "xyz09", "é"}, {"a", "abcc", "x", "xyzz0a"});
  std::string arithmetic = "root  ::= expr\nexpr  ::= term ((\"+\" | \"-\") term)*\n"
                           "term  ::= [0-9]+ | \"(\" ws expr ws \")\"\nws ::= ([ \\t\\n] ws)?\n";
  expectTaken(GrammarKind::Gbnf, arithmetic, {"1", "12+3-(4)", "( (1+2)-3)-4", "((\t7\n))"},
              {"1+", "(1", "1 +2", "()"});
  for (const std::string &text : drawMany(GrammarKind::Gbnf, arithmetic)) {
    int depth = 0;
    for (char c : text) {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      EXPECT_GE(depth, 0) << text;
    }
    EXPECT_EQ(depth, 0) << text;
  }
  std::string json = R"(root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array  ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20})";
  expectTaken(GrammarKind::Gbnf, json, {R"({"a": [1, -2.5e-3, "\u00e9\\", {"b": null}]})"},
              {R"({"a": 01})", R"({"a"})", R"(["a"])"});
  for (const std::string &text : drawMany(GrammarKind::Gbnf, json))
    EXPECT_EQ(schema_check::violation(R"({"type":"object"})", text), "") << text;
}

TEST(Grammar, larkAndSpecialTokens) {
  auto grammar =
      compile(words(), GrammarKind::Lark, "start: <|im_start|> \"x\" | \"<|im_start|>y\"");
  ASSERT_TRUE(grammar);
  EXPECT_TRUE(takes(words(), *grammar, "<|im_start|>x", true));
  EXPECT_FALSE(takes(words(), *grammar, "<|im_start|>x", false)); // the spelling is not the token
  EXPECT_TRUE(takes(words(), *grammar, "<|im_start|>y", false));
  EXPECT_FALSE(
      takes(words(), *grammar, "<|im_start|>y", true)); // and the token is not its spelling
  auto schema = compile(words(), GrammarKind::Lark,
                        "start: \"call \" args\nargs: %json {\"type\":\"object\"}");
  ASSERT_TRUE(schema);
  EXPECT_TRUE(takes(words(), *schema, "call {\"a\": 1}"));
  EXPECT_FALSE(takes(words(), *schema, "call {   }")); // schema whitespace rules apply
}

TEST(Grammar, onlySpecialTokensThatAreAskedFor) {
  auto grammar = compile(words(), GrammarKind::Regex, "(?s:.*)");
  Constraint constraint = grammar->start();
  auto mask = constraint.allowed();
  ASSERT_TRUE(mask);
  for (int32_t id = 0; id < words().ids; ++id) {
    bool isEos = std::ranges::find(words().eos, id) != words().eos.end();
    bool isText = id < words().tokenizer->vocabSize() && !words().tokenizer->isSpecial(id);
    if (!isText)
      EXPECT_EQ(has(*mask, id), isEos) << id << " " << words().tokenizer->tokenBytes(id);
  }
}

TEST(Grammar, anEndOnlyWhereTheGrammarIsComplete) {
  auto grammar = compile(words(), GrammarKind::Regex, "ab?");
  Constraint constraint = grammar->start();
  int32_t eos = words().eos.front(), a = *words().tokenizer->idOf("a"),
          b = *words().tokenizer->idOf("b");
  EXPECT_FALSE(has(*constraint.allowed(), eos));
  ASSERT_TRUE(constraint.accept(a));
  EXPECT_TRUE(has(*constraint.allowed(), eos));
  EXPECT_TRUE(has(*constraint.allowed(), b));
  EXPECT_FALSE(constraint.complete());
  Constraint other = constraint.clone();
  ASSERT_TRUE(constraint.accept(b));
  EXPECT_TRUE(constraint.complete());
  auto mask = constraint.allowed();
  ASSERT_TRUE(mask);
  for (int32_t id = 0; id < words().ids; ++id)
    EXPECT_EQ(has(*mask, id), id == eos) << id;
  EXPECT_TRUE(constraint.accept(eos));
  // The copy has not moved.
  EXPECT_FALSE(other.complete());
  EXPECT_TRUE(has(*other.allowed(), b));
  EXPECT_FALSE(has(*other.allowed(), a));
  auto refused = other.accept(a);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0623");
  EXPECT_EQ(other.allowed().error().code, "E0623"); // the error persists
}

TEST(Grammar, nothingFollowsJson) {
  auto grammar = compile(words(), GrammarKind::JsonSchema, R"({"type":"object"})");
  Constraint constraint = grammar->start();
  for (const char *byte : {"{", "}"})
    ASSERT_TRUE(constraint.accept(*words().tokenizer->idOf(byte)));
  EXPECT_TRUE(constraint.complete()); // not even a space may follow
}

TEST(Grammar, errorsNameThePlace) {
  auto why = [](GrammarKind kind, std::string_view source) {
    Error error = errorOf(kind, source);
    EXPECT_EQ(error.code, "E0625") << error.format();
    EXPECT_EQ(error.why.find('\n'), std::string::npos) << error.why;
    return error.why;
  };
  auto expect = [&](GrammarKind kind, std::string_view source, std::string_view part) {
    EXPECT_NE(why(kind, source).find(part), std::string::npos) << why(kind, source);
  };
  using enum GrammarKind;
  expect(JsonSchema, "{\"type\":\n 1x}", "line 2 column");
  expect(JsonSchema, R"({"properties":{"a/b":{"type":"objec"}}})",
         "#/properties/a~1b/type: \"objec\"");
  expect(JsonSchema, R"({"items":{"not":{}}})", "at #/items/not: \"not\" is not supported");
  expect(JsonSchema, R"({"$defs":{"x":{"pattern":"a(b"}},"items":{"$ref":"#/$defs/x"}})",
         "#/$defs/x/pattern: unclosed group at character 2");
  expect(JsonSchema, R"({"anyOf":[{},{"$ref":"#/nope"}]})", "#/anyOf/1/$ref: there is no #/nope");
  expect(JsonSchema, R"({"$ref":"http://a/b"})", "#/$ref: only");
  expect(JsonSchema, R"({"type":"integer","minimum":5,"maximum":3})", "5");
  expect(JsonSchema, "false", "allows nothing");
  expect(JsonSchema,
         R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"})",
         "no answer");
  expect(Regex, "ab(c", "unclosed group at character 3");
  expect(Regex, R"(a\bc)", "not supported");
  expect(Regex, "", "empty");
  expect(Lark, "start: \"a\"\n  | nope", "unknown name: \"nope\"");
  expect(Lark, "start: <|nope|>", "unknown special token");
  expect(Lark, "start: %json {\"not\": {}}", "#/not");
  expect(Gbnf, "root ::= \"a\"\n  foo bar\n", "line 2, column 7: expected ::=");
  expect(Gbnf, "root ::= foo", "line 1, column 10: there is no rule foo");
  expect(Gbnf, "root ::= \"a", "line 1, column 12");
  expect(Gbnf, "root ::= [b-a]", "column 10: the range b-a is empty");
  expect(Gbnf, "x ::= \"a\"", "no rule root");
  expect(Choice, "[]", "the list of choices is empty");
  expect(Choice, "[1]", "column 2");
}

// Compilation of hostile sources ends in time. Each source is as large as allowed, and larger.
TEST(Grammar, bombsEndInTime) {
  auto repeated = [](std::string_view text, int count) {
    std::string result;
    for (int i = 0; i < count; ++i) {
      std::string part(text);
      for (const auto &[name, value] : {std::pair<std::string, int>{"%1", i}, {"%2", i + 1}})
        for (size_t at; (at = part.find(name)) != std::string::npos;)
          part.replace(at, 2, std::to_string(value));
      result += part;
    }
    return result;
  };
  auto last = [](std::string text) { return text.substr(0, text.size() - 1); };
  using enum GrammarKind;
  struct Bomb {
    GrammarKind kind;
    std::string source;
    std::string_view code; // expected error; "": it may compile
  } bombs[] = {
      {JsonSchema, std::string(100000, '['), "E0622"},
      {JsonSchema, std::string(60000, '['), "E0622"},
      {JsonSchema, repeated("{\"items\":", 5000) + "{}" + std::string(5000, '}'), "E0622"},
      {JsonSchema,
       "{\"$defs\":{" + last(repeated("\"a%1\":{\"$ref\":\"#/$defs/a%2\"},", 10000)) + "}}",
       "E0622"},
      {JsonSchema,
       "{\"$ref\":\"#/$defs/a0\",\"$defs\":{" +
           repeated("\"a%1\":{\"$ref\":\"#/$defs/a%2\"},", 1500) +
           "\"a1500\":{\"$ref\":\"#/$defs/a0\"}}}",
       "E0625"},
      {JsonSchema,
       "{\"$ref\":\"#/$defs/a0\",\"$defs\":{" +
           repeated("\"a%1\":{\"allOf\":[{\"$ref\":\"#/$defs/a%2\"}]},", 1100) +
           "\"a1100\":{\"type\":\"null\"}}}",
       ""},
      {JsonSchema, "{\"enum\":[" + last(repeated("%1,", 1000000)) + "]}", "E0622"},
      {JsonSchema, "{\"enum\":[" + last(repeated("%1,", 11000)) + "]}", ""},
      {JsonSchema, R"({"type":"string","maxLength":1000000000})", ""},
      {JsonSchema, R"({"type":"array","minItems":1000000000,"maxItems":1000000000})", ""},
      {JsonSchema, R"({"type":"integer","multipleOf":982451653})", "E0622"},
      {Regex, "(a+)+b", ""},
      {Regex, "((a{1,1000}){1,1000}){1,1000}", ""},
      {Regex, std::string(10000, '('), "E0622"},
      {Gbnf, "root ::= a0\n" + repeated("a%1 ::= a%2 a%2\n", 60) + "a60 ::= [a-z]\n", "E0622"},
      {Gbnf, "root ::= (((\"a\"{0,99999}){0,99999}){0,99999} \"b\" root)?", ""},
      {Gbnf, "root ::= \"a\"{0,1000000000}", "E0625"},
      {Choice, "[" + last(repeated("\"%1\",", 6000)) + "]", ""},
  };
  for (const Bomb &bomb : bombs) {
    SCOPED_TRACE(bomb.source.substr(0, 100));
    auto begin = std::chrono::steady_clock::now();
    auto grammar = Grammar::compile(*words().vocabulary, bomb.kind, bomb.source);
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_LT(seconds, 2);
    EXPECT_EQ(grammar ? "" : grammar.error().code, bomb.code)
        << (grammar ? "" : grammar.error().format());
    if (!grammar)
      continue;
    // A grammar that compiles must be usable: run some steps, where only the limit's error may occur.
    Constraint constraint = (*grammar)->start();
    std::mt19937 random(3);
    for (int step = 0; step < 50; ++step) {
      auto mask = constraint.allowed();
      if (!mask) {
        EXPECT_EQ(mask.error().code, "E0623");
        break;
      }
      std::vector<int32_t> ids;
      for (int32_t id = 0; id < words().ids; ++id)
        if (has(*mask, id) && id != words().eos.front())
          ids.push_back(id);
      if (ids.empty())
        break;
      ASSERT_TRUE(constraint.accept(ids[random() % ids.size()]));
    }
  }
}

TEST(Grammar, depthIsCountedWhereAParserWouldRecurse) {
  using enum GrammarKind;
  auto deep = [](std::string_view open, int n) {
    std::string result;
    for (int i = 0; i < n; ++i)
      result += open;
    return result;
  };
  auto isDeep = [](GrammarKind kind, const std::string &source) {
    auto grammar = Grammar::compile(*words().vocabulary, kind, source);
    return !grammar && grammar.error().code == "E0622" &&
           grammar.error().why.find("deep") != std::string::npos;
  };
  EXPECT_FALSE(isDeep(JsonSchema, deep("[", 64)));
  EXPECT_TRUE(isDeep(JsonSchema, deep("{", 65)));
  EXPECT_FALSE(isDeep(JsonSchema, "\"\\\"" + deep("[", 99) + "\""));
  EXPECT_TRUE(isDeep(Regex, deep("(", 65)));
  EXPECT_FALSE(isDeep(Regex, "[" + deep("(", 99) + "]"));
  EXPECT_FALSE(isDeep(Regex, deep("\\(", 99)));
  EXPECT_TRUE(isDeep(Lark, "start: /" + deep("(", 65) + "/"));
  EXPECT_TRUE(isDeep(Lark, "start: /[\"]/ " + deep("(", 65)));
  EXPECT_FALSE(isDeep(Lark, "// " + deep("(", 65)));
  EXPECT_TRUE(isDeep(Gbnf, "root ::= [\"] " + deep("(", 65)));
  EXPECT_FALSE(isDeep(Gbnf, "root ::= [" + deep("(", 65) + "]"));
}

#if INGOT_ADDRESS_SANITIZER
constexpr bool kSanitized = true; // freed memory stays resident for a while
// A compilation that is abandoned midway keeps its reference to the vocabulary (crate/src/job.rs).
extern "C" const char *__lsan_default_suppressions() {
  return "leak:ingot_text_crate::grammar::Vocabulary::new\n";
}
#else
constexpr bool kSanitized = false;
#endif

TEST(Grammar, whatIsGivenUpLeavesNothing) {
  auto resident = [] {
    std::ifstream file("/proc/self/statm");
    size_t all = 0, pages = 0;
    file >> all >> pages;
    return pages * 4 / 1024; // MiB
  };
  // Every pair of these patterns is compared, which is far too slow and is cut off after 1.5 s.
  std::string source = "{\"type\":\"object\",\"patternProperties\":{";
  for (int i = 0; i < 2000; ++i)
    source += (i ? ",\"^a" : "\"^a") + std::to_string(i) + "(x|y)*z$\":{}";
  source += "}}";
  // This schema expands to 28,000 copies of a text of 24 kB.
  std::string memory = "{\"allOf\":[{\"const\":\"" + std::string(24000, 'x') + "\"}";
  for (int count : {700, 40}) {
    memory += ",{\"anyOf\":[{\"type\":\"string\"}";
    for (int i = 2; i <= count; ++i)
      memory += ",{\"type\":\"string\",\"minLength\":" + std::to_string(i) + "}";
    memory += "]}";
  }
  memory += "]}";
  compile(words(), GrammarKind::JsonObject, "");
  size_t before = resident();
  for (int round = 0; round < 3; ++round) {
    Error error = errorOf(GrammarKind::JsonSchema, memory);
    EXPECT_EQ(error.code, "E0622");
    EXPECT_NE(error.why.find("256 MiB"), std::string::npos) << error.why;
  }
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(errorOf(GrammarKind::JsonSchema, source).code, "E0622");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  if (!kSanitized)
    EXPECT_LT(resident(), before + 16);
}

TEST(Grammar, oneGrammarServesManySequencesAndThreads) {
  std::string schema =
      R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"},"maxItems":4}},"required":["a"],"additionalProperties":false})";
  auto shared = compile(words(), GrammarKind::JsonSchema, schema);
  std::vector<std::string> alone;
  for (unsigned seed = 0; seed < 4; ++seed) {
    std::mt19937 random(seed);
    alone.push_back(
        draw(words(), *compile(words(), GrammarKind::JsonSchema, schema), random).value_or(""));
  }
  std::vector<std::string> together(4);
  std::vector<std::jthread> threads;
  for (unsigned seed = 0; seed < 4; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      together[seed] = draw(words(), *shared, random).value_or("");
    });
  for (int i = 0; i < 20; ++i) // other grammars compile meanwhile
    EXPECT_TRUE(Grammar::compile(*words().vocabulary, GrammarKind::Regex,
                                 "x{" + std::to_string(i + 1) + "}"));
  threads.clear();
  EXPECT_EQ(together, alone);
}

TEST(Grammar, theVocabularyMayGoFirst) {
  std::optional<Constraint> constraint;
  {
    TokenizerArtifact artifact = tiny("llama2");
    Words local(artifact, {2});
    constraint.emplace(compile(local, GrammarKind::Regex, "a")->start());
  }
  EXPECT_TRUE(constraint->allowed());
}

TEST(Grammar, severalEndsAndNoText) {
  TokenizerArtifact artifact = tiny("llama2");
  Words two(artifact, {2, 1});
  auto grammar = compile(two, GrammarKind::Regex, "a?");
  Constraint constraint = grammar->start();
  EXPECT_TRUE(has(*constraint.allowed(), 1));
  EXPECT_TRUE(has(*constraint.allowed(), 2));
  auto none = Vocabulary::create(*two.tokenizer, 3, std::vector<int32_t>{2});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "E0624");
}

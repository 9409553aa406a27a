// Tests how JSON schemas become grammars: closing objects, recursion without an end, and unsatisfiable schemas.

#include "Sampling.h"
#include "SchemaCheck.h"

using namespace sampling;

namespace {

/// Checks that random answers match the schema and that none gets stuck.
void expectDrawn(const std::string &schema, int count = 30) {
  SCOPED_TRACE(schema);
  auto grammar = compile(words(), GrammarKind::JsonSchema, schema);
  ASSERT_TRUE(grammar);
  std::mt19937 random(11);
  for (int i = 0; i < count; ++i) {
    auto text = draw(words(), *grammar, random, random() % 40);
    ASSERT_TRUE(text);
    // The check does not support patterns of keys.
    if (schema.find("patternProperties\":{\"^x") == std::string::npos)
      EXPECT_EQ(schema_check::violation(schema, *text), "") << *text;
  }
}

void expectTaken(const std::string &schema, std::vector<std::string_view> good,
                 std::vector<std::string_view> bad) {
  auto grammar = compile(words(), GrammarKind::JsonSchema, schema);
  ASSERT_TRUE(grammar);
  for (std::string_view text : good)
    EXPECT_TRUE(takes(words(), *grammar, text)) << schema << " refuses " << text;
  for (std::string_view text : bad)
    EXPECT_FALSE(takes(words(), *grammar, text)) << schema << " takes " << text;
}

/// Does the same as expectTaken, for the schema with its objects closed.
void expectClosed(const std::string &schema, std::vector<std::string_view> good,
                  std::vector<std::string_view> bad) {
  auto closed = closeObjects(schema);
  ASSERT_TRUE(closed) << closed.error().format();
  expectTaken(*closed, good, bad);
  EXPECT_TRUE(checkSchema(schema, true));
}

void expectWhy(const std::string &schema, std::string_view part) {
  auto checked = checkSchema(schema);
  ASSERT_FALSE(checked) << schema;
  EXPECT_EQ(checked.error().code, "E0625");
  EXPECT_NE(checked.error().why.find(part), std::string::npos) << checked.error().why;
  auto grammar = Grammar::compile(*words().vocabulary, GrammarKind::JsonSchema, schema);
  ASSERT_FALSE(grammar);
  EXPECT_EQ(grammar.error().why, checked.error().why);
}

} // namespace

TEST(Schema, patternsOfKeysThatAreAllNamedOfferNothing) {
  const std::string head = R"({"type":"object","properties":{"score":{"type":"integer",
      "minimum":0,"maximum":9}},"required":["score"],"additionalProperties":false,)";
  expectDrawn(head + R"("patternProperties":{"^score$":{"type":"integer"}}})");
  expectDrawn(head + R"("patternProperties":{"^(score|score)$":{"maximum":3},"^score$":true}})");
  expectDrawn(head + R"("patternProperties":{"^x[a-c]$":{"type":"null"},"^score$":{}}})");
  expectDrawn(R"({"type":"array","minItems":1,"maxItems":2,"items":)" + head +
              R"("patternProperties":{"^score$":{"type":"integer"}}}})");
  // The pattern's schema applies to the names that it matches.
  expectTaken(head + R"("patternProperties":{"^score$":{"maximum":3}}})", {R"({"score":3})"},
              {R"({"score":5})"});
  // This schema has additionalProperties together with a pattern that matches every key.
  expectDrawn(R"({"type":"object","patternProperties":{"^x?":{"type":"null"}}})");
  expectTaken(R"({"type":"object","patternProperties":{".*":{"type":"integer"}}})",
              {"{}", R"({"a":1})"}, {R"({"a":"1"})"});
}

TEST(Schema, unknownFormatsAreAnnotations) {
  for (const char *format : {"path", "password", "iban", "json-pointer", "regex", "idn-email"})
    for (const std::string &place :
         {std::string(R"({"type":"string","format":"%"})"), std::string(R"({"format":"%"})"),
          std::string(R"({"type":["string","null"],"format":"%"})")}) {
      std::string schema = place;
      schema.replace(schema.find('%'), 1, format);
      expectTaken(R"({"type":"object","properties":{"v":)" + schema +
                      R"(},"required":["v"],"additionalProperties":false})",
                  {R"({"v":"any text"})"}, {});
    }
  expectTaken(R"({"type":"integer","format":"int64"})", {"5"}, {"\"5\""});
}

TEST(Schema, datesAndTimesExist) {
  auto quoted = [](const char *text) { return "\"" + std::string(text) + "\""; };
  auto expect = [&](const char *format, std::vector<const char *> good,
                    std::vector<const char *> bad) {
    std::vector<std::string> texts;
    texts.reserve(good.size() + bad.size());
    std::vector<std::string_view> goods, bads;
    for (const char *text : good)
      goods.push_back(texts.emplace_back(quoted(text)));
    for (const char *text : bad)
      bads.push_back(texts.emplace_back(quoted(text)));
    expectTaken(R"({"type":"string","format":")" + std::string(format) + "\"}", goods, bads);
  };
  expect("time",
         {"08:30:06Z", "23:59:60Z", "23:59:60+00:00", "01:59:60+02:00", "15:59:60-08:00",
          "23:59:60.5z", "08:30:06.283185-20:00"},
         {"22:59:60Z", "23:58:60Z", "22:59:60.5-00:00", "23:59:60+01:00", "23:59:60-01:00",
          "24:00:00Z", "08:30:06", "08:30:06+24:00"});
  expect("date-time",
         {"1998-12-31T23:59:60Z", "1998-12-31t15:59:60.123-08:00", "2020-02-29T00:00:00Z"},
         {"1998-12-31T23:59:61Z", "1665-10-31T22:08:60.3244-00:00", "1998-12-31T22:59:60Z",
          "2021-02-29T00:00:00Z", "1990-02-31T15:59:59.123-08:00"});
  expect("date", {"2020-02-29", "2000-02-29", "1963-06-19"},
         {"2021-02-29", "1900-02-29", "0000-01-01", "2020-04-31"});
  expect("hostname", {"www.example.com", "a-b.c", "xn"}, {"xn--X", "-a", "a-", "a..b", ".a"});
  expectTaken(R"({"type":"string","format":"time","pattern":"^08"})", {"\"08:30:06Z\""},
              {"\"09:30:06Z\"", "\"08\""});
}

TEST(Schema, referencesAreDecoded) {
  auto refers = [](const std::string &name, const std::string &reference) {
    return R"({"$defs":{")" + name +
           R"(":{"const":1}},"type":"object","properties":{"v":{"$ref":")" + reference +
           R"("}},"required":["v"],"additionalProperties":false})";
  };
  for (auto [name, reference] : {std::pair{"P<int>", "#/$defs/P%3Cint%3E"},
                                 {"P<int>", "#/$defs/P%3cint%3e"},
                                 {"P<int>", "#/%24defs/P<int>"},
                                 {"a/b", "#/$defs/a~1b"},
                                 {"a~b", "#/$defs/a~0b"},
                                 {"a/b~c%d", "#/$defs/a~1b~0c%25d"},
                                 {"~1", "#/$defs/~01"},
                                 {"a/b", "#/$defs/a%7E1b"},
                                 {"é", "#/$defs/%C3%A9"},
                                 {"a b", "#/$defs/a%20b"},
                                 {"%41", "#/$defs/%2541"}})
    expectTaken(refers(name, reference), {R"({"v":1})"}, {R"({"v":2})"});
  expectWhy(refers("a", "#/$defs/a%2"), "at #/properties/v/$ref: \"#/$defs/a%2\" has a \"%\"");
  expectWhy(refers("a", "#/$defs/%zz"), "at #/properties/v/$ref: ");
  expectWhy(refers("a", "#/$defs/a%+1"), "two hexadecimal digits");
  expectWhy(refers("a", "#/$defs/a~2"), "neither 0 nor 1");
  expectWhy(refers("a", "#/$defs/a~"), "neither 0 nor 1");
  expectWhy(refers("a", "#/$defs/%FF"), "does not decode to UTF-8");
  expectWhy(refers("a", "#/$defs/b"), "at #/properties/v/$ref: there is no #/$defs/b");
}

TEST(Schema, recursionWithoutAnEndIsAnError) {
  auto with = [](const std::string &definitions) {
    return R"({"$ref":"#/$defs/a","$defs":{)" + definitions + "}}";
  };
  const std::string self =
      R"("a":{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/a"}}})";
  for (
      const std::string &endless :
      {with(self), with(R"("a":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/a"}})"),
       with(R"("a":{"type":"array","minItems":2,"prefixItems":[true,{"$ref":"#/$defs/a"}]})"),
       with(R"("a":{"type":"object","required":["b"],"properties":{"b":{"$ref":"#/$defs/b"}}},
                "b":{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/a"}}})"),
       with(R"("a":{"allOf":[{"$ref":"#/$defs/a"}]})"), with(R"("a":{"$ref":"#/$defs/a"})"),
       with(R"("a":{"type":"object","allOf":[{"required":["n"]},
                {"properties":{"n":{"$ref":"#/$defs/a"}}}]})"),
       with(
           R"("a":{"type":"object","required":["n"],"additionalProperties":{"$ref":"#/$defs/a"}})"),
       with(R"("a":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"array","minItems":1,
                "items":{"$ref":"#/$defs/a"}}]})"),
       with(
           R"("a":{"type":"object","required":["k"],"patternProperties":{"^k$":{"$ref":"#/$defs/a"}}})"),
       with(R"("a":{"type":"object","required":["kk"],"properties":{"kk":{"type":"object"}},
                "patternProperties":{"k":{"$ref":"#/$defs/a"}},"additionalProperties":false})"),
       with(
           R"("a":{"type":"object","minProperties":1,"additionalProperties":{"$ref":"#/$defs/a"}})"),
       with(R"("a":{"type":"object","minProperties":2,"properties":{"b":{"type":"null"},
                "c":{"$ref":"#/$defs/a"}},"additionalProperties":false})"),
       with(
           R"("a":{"type":"object","minProperties":1,"patternProperties":{"^k":{"$ref":"#/$defs/a"}},
                "additionalProperties":false})"),
       with(R"("a":{"allOf":[{"type":"object","minProperties":1},
                {"additionalProperties":{"$ref":"#/$defs/a"}}]})"),
       std::string(R"({"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}})"),
       R"({"type":"object","required":["x"],"properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{)" +
           self + "}}"})
    expectWhy(endless, "its recursion has no end");
  expectDrawn(with(R"("a":{"type":"object","minProperties":1,"additionalProperties":false,
      "properties":{"b":{"type":"null"},"c":{"$ref":"#/$defs/a"}}})"));
  expectTaken(with(R"("a":{"type":"object","required":["j"],"properties":{"j":{"type":"null"}},
      "patternProperties":{"^k$":{"$ref":"#/$defs/a"}},"additionalProperties":false})"),
              {R"({"j":null})", R"({"j":null,"k":{"j":null}})"}, {R"({"k":{)"});
  // One branch ends the recursion; optional properties that cannot end are not offered.
  expectDrawn(with(R"("a":{"type":"object","required":["n"],"additionalProperties":false,
      "properties":{"n":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/a"}]}}})"));
  expectDrawn(with(R"("a":{"type":"array","maxItems":1,"items":{"$ref":"#/$defs/a"}})"));
  expectDrawn(R"({"type":"object","additionalProperties":false,"properties":{"b":{"type":"null"},
      "x":{"$ref":"#/$defs/a"}},"$defs":{)" +
              self + "}}");
  expectTaken(R"({"type":"object","additionalProperties":false,"properties":{"b":{"type":"null"},
      "x":{"anyOf":[{"$ref":"#/$defs/a"},{"const":1}]}},"$defs":{)" +
                  self + "}}",
              {"{}", R"({"b":null,"x":1})"}, {R"({"x":{)", R"({"x":{"a":{}}})"});
}

TEST(Schema, objectsAreClosedOnDemand) {
  const std::string person = R"({"type":"object","properties":{"name":{"type":"string"},
      "age":{"type":"integer"}},"required":["name"]})";
  expectTaken(person, {R"({"name":"A","x":1})"}, {});
  expectClosed(person, {R"({"name":"A"})", R"({"name":"A","age":3})"}, {R"({"name":"A","x":1})"});
  // Objects are closed at every depth.
  expectClosed(R"({"$defs":{"P":)" + person + R"(},"type":"object","properties":{"p":
      {"$ref":"#/$defs/P"},"l":{"type":"array","items":)" +
                   person + R"(},"n":{"anyOf":[)" + person +
                   R"(,{"type":"null"}]}},"required":["p"]})",
               {R"({"p":{"name":"A"},"l":[{"name":"B"}],"n":null})"},
               {R"({"p":{"name":"A","x":1}})", R"({"p":{"name":"A"},"l":[{"name":"B","x":1}]})",
                R"({"p":{"name":"A"},"n":{"name":"A","x":1}})", R"({"p":{"name":"A"},"x":1})"});
  // Objects with their own additionalProperties, and objects that name no keys, stay open.
  expectClosed(R"({"type":"object","properties":{"a":{"type":"null"},"o":{"type":"object"},
      "t":{"type":"object","properties":{},"additionalProperties":true},
      "s":{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}}})",
               {R"({"o":{"x":1},"t":{"x":1},"s":{"x":1}})"}, {R"({"s":{"x":"1"}})"});
  expectClosed(R"({"type":"object","properties":{}})", {"{}"}, {R"({"a":1})"});
  // Parts that describe one object are closed together.
  expectClosed(
      R"({"type":"object","allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},
      {"$ref":"#/$defs/B"}],"$defs":{"B":{"type":"object","properties":{"b":{"type":"null"}},
      "required":["b"]}}})",
      {R"({"a":1,"b":null})"}, {R"({"a":1})", R"({"a":1,"b":null,"c":1})"});
  expectClosed(R"({"$ref":"#/$defs/B","properties":{"c":{"type":"integer"}},"$defs":{"B":
      {"type":"object","properties":{"b":{"type":"null"}},"required":["b"]}}})",
               {R"({"b":null,"c":1})", R"({"b":null})"}, {R"({"b":null,"x":1})"});
  expectClosed(R"({"type":"object","properties":{"k":{"const":1}},"required":["k"],"anyOf":[
      {"properties":{"a":{"type":"integer"}},"required":["a"]},
      {"properties":{"b":{"type":"null"}},"required":["b"]}]})",
               {R"({"k":1,"a":2})", R"({"k":1,"b":null})"},
               {R"({"k":1,"a":2,"b":null})", R"({"k":1,"a":2,"x":1})"});
  expectClosed(R"({"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},
      {"required":["b"]}]})",
               {R"({"a":1})", R"({"b":1})"}, {"{}", R"({"a":1,"x":1})"});
  expectClosed(R"({"type":"object","properties":{"a":{"type":"null"}},"patternProperties":{"^x":
      {"type":"integer"}}})",
               {R"({"a":null,"x1":2})"}, {R"({"y":1})", R"({"x1":"2"})"});
  // A key that occurs in several parts describes one object as well.
  expectClosed(R"({"type":"object","allOf":[{"properties":{"o":{"type":"object","properties":{"a":
      {"type":"integer"}},"required":["a"]}},"required":["o"]},{"properties":{"o":{"properties":
      {"b":{"type":"null"}},"required":["b"]}}}]})",
               {R"({"o":{"a":1,"b":null}})"},
               {R"({"o":{"a":1}})", R"({"o":{"a":1,"b":null},"x":1})"});
  // The closed schema is itself a schema, and closing it again changes nothing.
  auto once = closeObjects(person);
  ASSERT_TRUE(once);
  EXPECT_EQ(*closeObjects(*once), *once);
}

TEST(Schema, aSchemaIsCheckedAlone) {
  EXPECT_TRUE(checkSchema(R"({"type":"object","properties":{"a":{"type":"integer"}}})"));
  EXPECT_TRUE(checkSchema("true"));
  expectWhy(
      R"({"type":"object","properties":{"to":{"type":"string","pattern":"^(?!\\.)[a-z]+$"}}})",
      "at #/properties/to/pattern: ");
  expectWhy(R"({"properties":{"a":{"not":{}}}})",
            "at #/properties/a/not: \"not\" is not supported");
  EXPECT_FALSE(checkSchema("{"));
  EXPECT_FALSE(checkSchema(R"({"type":"integer","minimum":5,"maximum":3})"));
  EXPECT_EQ(checkSchema(std::string(70000, ' ')).error().code, "E0622");
  EXPECT_EQ(checkSchema(std::string(100, '[') + std::string(100, ']')).error().code, "E0622");
  std::string bomb = R"({"$ref":"#/$defs/d0","$defs":{)";
  for (int i = 0; i < 400; ++i)
    bomb += "\"d" + std::to_string(i) + R"(":{"type":"object","allOf":[{"$ref":"#/$defs/d)" +
            std::to_string(i + 1) + R"("},{"$ref":"#/$defs/d)" + std::to_string(i + 1) + "\"}]},";
  bomb += R"("d400":{}}})";
  auto closed = closeObjects(bomb); // must end in time, with any result
  EXPECT_TRUE(closed || closed.error().code == "E0622") << closed.error().format();
}

//===- SamplingFieldsTest.cpp - Every interface has every sampling field ----===//
//
// Interfaces in other languages, and documents, cannot read SamplingFields.def. Their texts are compared
// with it here, so a row that one of them lacks is an error with the file and the name.
//===----------------------------------------------------------------------===//
#include "runtime/sample/SamplingFields.h"
#include "tests/SourceDir.h"

#include <cmath>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

std::string textOf(const std::string &path) {
  std::ifstream file(ingot::test::sourceDir() + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// A text that must match `pattern` for each row. In the pattern, NAME is the row's name, and C, PY and TRITON are the
/// row's type in that language.
struct Interface {
  const char *path, *pattern;
};
constexpr Interface kInterfaces[] = {
    {"runtime/embed/include/ingot.h", R"(\bNAME[,;])"},
    {"runtime/embed/include/ingot.hpp", R"(c\.NAME = )"},
    {"python/src/ingot/_abi.py", R"re(\("NAME", c_C\))re"},
    {"python/src/ingot/_requests.py", R"(\n    NAME: PY\b)"},
    {"deploy/triton/Call.cpp", R"(\{"NAME", ("TYPE_TRITON"|nullptr),)"},
    {"docs/triton.md", "`NAME`"},
    {"docs/serving.md", "`NAME`"},
    {"docs/command-line.md", "\n\\| `NAME`"},
    {"tests/e2e/fields.py", R"re("NAME": \()re"},
};

/// Returns the range as documents write it.
std::string rangeText(const SamplingField &field) {
  if (std::holds_alternative<uint64_t SamplingParams::*>(field.member))
    return "64 bits";
  auto number = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", value);
    return std::string(text);
  };
  return number(field.least) + (field.most >= INT32_MAX ? " or more" : " to " + number(field.most));
}

/// Returns the field's row of the table in docs/command-line.md.
std::string documentRow(const SamplingField &field) {
  std::string row = "| `" + std::string(field.name) + "`";
  row += " | " + (field.apart() ? "" : "`" + replaced(field.flags, ",", "`, `") + "`");
  return row + " | " + rangeText(field) + " | " + field.help + " |\n";
}

} // namespace

TEST(SamplingFields, EveryInterfaceHasEveryField) {
  for (const Interface &interface : kInterfaces) {
    const std::string text = textOf(interface.path);
    for (const SamplingField &field : kSamplingFields) {
      static constexpr const char *kC[] = {"float", "int32", "uint64"},
                                  *kPython[] = {"float", "int", "int"},
                                  *kTriton[] = {"FP32", "INT32", "UINT64"};
      const size_t type = field.member.index();
      std::string pattern = replaced(interface.pattern, "_C\\", std::string("_") + kC[type] + "\\");
      pattern = replaced(replaced(pattern, "PY", kPython[type]), "TRITON", kTriton[type]);
      pattern = replaced(pattern, "NAME", field.name);
      EXPECT_TRUE(std::regex_search(text, std::regex(pattern)))
          << interface.path << " has no " << field.name << ": nothing matches " << pattern;
    }
  }
}

TEST(SamplingFields, TheDocumentsHaveTheTable) {
  const std::string text = textOf("docs/command-line.md");
  for (const SamplingField &field : kSamplingFields)
    EXPECT_NE(text.find("\n" + documentRow(field)), std::string::npos)
        << "docs/command-line.md lacks this row:\n" + documentRow(field);
  for (const char *path : {"docs/command-line.md", "docs/serving.md"})
    for (const SamplingField &field : kSamplingFields)
      if (*field.alias)
        EXPECT_NE(textOf(path).find("`" + std::string(field.alias) + "`"), std::string::npos)
            << path << " has no " << field.alias;
}

TEST(SamplingFields, ThePageStaysInTheRanges) {
  const std::string text = textOf("web/src/chat/settings.ts");
  const std::regex row(R"(name: '(\w+)',.* least: ([-.\d]+), most: ([-.\d]+))");
  size_t known = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at)
    for (const SamplingField &field : kSamplingFields)
      if (field.name == (*at)[1].str()) {
        ++known;
        EXPECT_GE(std::stod((*at)[2]), field.least) << field.name;
        EXPECT_LE(std::stod((*at)[3]), field.most) << field.name;
      }
  EXPECT_GE(known, 4u);
}

TEST(SamplingFields, NamesAreUniqueAndDefaultsInRange) {
  std::set<std::string> names;
  for (const SamplingField &field : kSamplingFields) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    if (*field.alias)
      EXPECT_TRUE(names.insert(field.alias).second) << field.alias;
    if (!field.apart())
      EXPECT_TRUE(field.isCalled(field.dashed())) << field.name << " has other flags";
    EXPECT_TRUE(field.check({}, field.name)) << field.name;
    EXPECT_TRUE(field.isOff({})) << field.name;
  }
}

TEST(SamplingFields, BoundsAreAllowedAndMoreIsNot) {
  for (const SamplingField &field : kSamplingFields) {
    auto check = [&](double value) {
      SamplingParams params;
      std::visit(
          [&]<typename T>(T SamplingParams::*member) { params.*member = static_cast<T>(value); },
          field.member);
      auto fine = field.check(params, "x");
      return fine ? "" : fine.error().code + ": " + fine.error().why;
    };
    if (std::holds_alternative<uint64_t SamplingParams::*>(field.member))
      continue; // every value is allowed
    EXPECT_EQ(check(field.least), "") << field.name;
    EXPECT_EQ(check(field.most), "") << field.name;
    EXPECT_NE(check(field.least - 1), "") << field.name;
    if (field.most < INT32_MAX)
      EXPECT_NE(check(field.most + 1), "") << field.name;
    if (std::holds_alternative<float SamplingParams::*>(field.member))
      EXPECT_NE(check(std::nan("")), "") << field.name;
  }
  EXPECT_EQ(kSamplingFields[1].check({.topK = -2}, "--top-k").error().why,
            "--top-k is -2, allowed: -1 to 2147483647");
}

TEST(AskedSampling, AFilterTurnsSamplingOn) {
  for (const SamplingField &field : kSamplingFields) {
    AskedSampling asked;
    EXPECT_FALSE(asked.has(field.member));
    std::visit([&](auto member) { asked.set(member, SamplingParams().*member); }, field.member);
    EXPECT_TRUE(asked.has(field.member));
    EXPECT_EQ(asked.over({}).temperature, field.filter ? 1 : 0) << field.name;
    EXPECT_EQ(asked.over({.temperature = 0.5f}).temperature,
              asked.has(&SamplingParams::temperature) ? 0 : 0.5f)
        << field.name;
    asked.set(&SamplingParams::temperature, 0.0f);
    EXPECT_TRUE(asked.over({.temperature = 0.5f}).greedy()) << field.name;
  }
}

TEST(AskedSampling, GivenFieldsReplaceDefaults) {
  AskedSampling asked;
  asked.set(&SamplingParams::topK, -1); // all
  asked.set(&SamplingParams::seed, uint64_t{7});
  asked.values.minP = 0.5f; // not given
  asked.values.logitBias = {{3, 1.0f}};
  const SamplingParams params = asked.over({.temperature = 0.5f, .topK = 9, .topP = 0.25f});
  EXPECT_EQ(params.topK, 0);
  EXPECT_EQ(params.topP, 0.25f);
  EXPECT_EQ(params.minP, 0.0f);
  EXPECT_EQ(params.seed, 7u);
  EXPECT_EQ(params.logitBias.size(), 1u);
}

TEST(AskedSampling, SamplingWithoutASeedDrawsOne) {
  AskedSampling asked;
  EXPECT_EQ(asked.over({}).seed, 0u); // greedy: no seed is needed
  asked.set(&SamplingParams::typicalP, 0.9f);
  EXPECT_NE(asked.over({}).seed, asked.over({}).seed);
}

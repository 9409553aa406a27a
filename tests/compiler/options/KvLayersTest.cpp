//===- KvLayersTest.cpp - KV cache formats of single layers ------------------===//
#include "compiler/options/KvLayers.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::compiler;

namespace {

/// The model has six layers. All but 2 and 5 have a window, and 4 has no cache.
const std::vector<LayerCache> kLayers = {{{64}, 9}, {{64}, 9}, {{64}, 0},
                                         {{64}, 9}, {{}, 0},   {{64}, 0}};

std::string codeOf(const auto &result) { return result ? "" : result.error().code; }

/// Returns the format of each layer, as in "bf16 - int8 …", or the error's code and first line.
std::string asked(const std::vector<std::pair<std::string, std::string>> &given) {
  std::vector<KvRule> rules;
  for (const auto &[layers, format] : given) {
    auto rule = kvRule(layers, format);
    if (!rule)
      return rule.error().code + " " + rule.error().what;
    rules.push_back(*rule);
  }
  auto found = askedCaches(rules, kLayers);
  if (!found)
    return found.error().code + " " + found.error().what;
  std::string text;
  for (const std::optional<KvFormat> &format : *found)
    text += (text.empty() ? "" : " ") + (format ? std::string(kvFormat(*format).name) : "-");
  return text;
}

} // namespace

TEST(KvLayers, NumbersRangesAndWords) {
  EXPECT_EQ(asked({{"0", "bf16"}}), "bf16 - - - - -");
  EXPECT_EQ(asked({{"1-3", "int8"}}), "- int8 int8 int8 - -");
  EXPECT_EQ(asked({{"3-", "int8"}}), "- - - int8 - int8"); // layer 4 has no cache
  EXPECT_EQ(asked({{" 0, 2 ", "int8"}, {"5", "f32"}}), "int8 - int8 - - f32");
  EXPECT_EQ(asked({{"window", "int4"}}), "int4 int4 - int4 - -");
  EXPECT_EQ(asked({{"window", "int4"}, {"global", "bf16"}}), "int4 int4 bf16 int4 - bf16");
  EXPECT_EQ(asked({}), "- - - - - -");
}

TEST(KvLayers, TextsAreKeptWithoutSpaces) {
  auto rule = kvRule("0-3 , 28-,window", "bf16", "r.toml, line 1, column 2");
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->layers, "0-3,28-,window");
  EXPECT_EQ(rule->place, "r.toml, line 1, column 2");
  EXPECT_EQ(layersText({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(layersText({}), "");
}

TEST(KvLayers, WhatNamesNoLayers) {
  for (const char *text : {"",        " ",      ",",    "0,",         ",0",
                           "-",       "-3",     "3-1",  "a",          "0-b",
                           "0x1",     "0-3-5",  "1.5",  "+1",         "0 1",
                           "windows", "Window", "0..3", "4294967296", "99999999999999999999"})
    EXPECT_EQ(codeOf(kvRule(text, "bf16")), "E0458") << "'" << text << "'";
  EXPECT_EQ(kvRule("windows", "bf16").error().fix, "did you mean window?");
  EXPECT_EQ(codeOf(kvRule("0", "int9")), "E0403");
  EXPECT_EQ(codeOf(kvRule("0", "")), "E0403");
}

TEST(KvLayers, WhatDoesNotFitTheModel) {
  EXPECT_EQ(asked({{"6", "bf16"}}), "E0459 --kv names layers 6, which do not exist");
  EXPECT_EQ(asked({{"0-6", "bf16"}}), "E0459 --kv names layers 0-6, which do not exist");
  EXPECT_EQ(asked({{"6-", "bf16"}}), "E0459 --kv names layers 6-, which do not exist");
  EXPECT_EQ(asked({{"4", "bf16"}}), "E0459 layers 4 have no KV cache");
  EXPECT_EQ(asked({{"0-2", "bf16"}, {"2", "bf16"}}), "E0459 the KV cache of layer 2 is set twice");
  EXPECT_EQ(asked({{"window,0", "bf16"}}), "E0459 the KV cache of layer 0 is set twice");
  auto rule = kvRule("window", "bf16", "r.toml, line 1, column 2");
  auto none = askedCaches({*rule}, {{{64}, 0}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "r.toml, line 1, column 2: no layer has windowed attention");
  EXPECT_EQ(codeOf(askedCaches({*rule}, {})), "E0459");
}

//===- CompareTest.cpp - Changes that a comparison must detect ------------===//
#include "tests/compiler/reference/Programs.h"

#include "compiler/reference/Compare.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::reference;
using tests::kLayer;
using tests::parseProgram;
using tests::programOf;
using tests::with;

static Result<Comparison> compare(const std::string &before, const std::string &after) {
  mlir::MLIRContext context;
  auto a = parseProgram(context, before), b = parseProgram(context, after);
  if (!a || !b)
    return Error{ExitCode::Internal, "parse", "", "", ""};
  SeededWeights weights;
  return comparePrograms(*a, *b, weights);
}

static void expectChange(const std::string &layer) {
  auto change = compare(programOf(kLayer), programOf(layer));
  ASSERT_TRUE(change) << change.error().format();
  EXPECT_GT(change->maxRelative, 1e-4);
}

TEST(Compare, EqualProgramsAreEqual) {
  auto change = compare(programOf(kLayer), programOf(kLayer));
  ASSERT_TRUE(change) << change.error().format();
  EXPECT_EQ(change->maxAbsolute, 0);
  EXPECT_EQ(change->layers, 1); // one kind
  EXPECT_EQ(change->values, 5 * 6);
}

TEST(Compare, SeesAnotherScale) { expectChange(with(kLayer, "scale = 0.5", "scale = 0.51")); }
TEST(Compare, SeesAnotherWindow) { expectChange(with(kLayer, "window = 3", "window = 4")); }
TEST(Compare, SeesALostWindow) { expectChange(with(kLayer, ", window = 3 : i64", "")); }
TEST(Compare, SeesAnotherRopeStyle) {
  expectChange(with(kLayer, "rope_style<half>", "rope_style<interleaved>"));
}
TEST(Compare, SeesALostRope) {
  expectChange(with(kLayer, "lm.kv_append %r, %p", "lm.kv_append %p, %p"));
}
TEST(Compare, SeesKAndVExchanged) {
  expectChange(with(kLayer, "lm.kv_append %r, %p", "lm.kv_append %p, %r"));
}
TEST(Compare, SeesALostResidual) { expectChange(with(kLayer, "lm.add %x, %z", "lm.add %z, %z")); }

TEST(Compare, ReordersOnlyWhatIsCommutative) {
  auto change =
      compare(programOf(kLayer), programOf(with(kLayer, "lm.add %x, %z", "lm.add %z, %x")));
  ASSERT_TRUE(change);
  EXPECT_EQ(change->maxAbsolute, 0);
}

TEST(Compare, ALostLayerIsAnError) {
  std::string fewer =
      with(programOf(kLayer), "kinds = [@layer, @layer], states = [[@kv.0], [@kv.1]]",
           "kinds = [@layer], states = [[@kv.0]]");
  fewer = with(fewer, "[[@norm, @q, @o, @f], [@norm, @q, @o, @f]]", "[[@norm, @q, @o, @f]]");
  auto change = compare(programOf(kLayer), fewer);
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().code, "E0456");
}

TEST(Compare, NotANumberIsAnError) {
  std::string infinite = with(kLayer, "%y = lm.add %x, %z : tensor<?x4xf32>",
                              "%s = lm.scale %z {factor = 3.0e38 : f32} : tensor<?x4xf32>\n"
                              "    %y = lm.mul %s, %s : tensor<?x4xf32>");
  auto change = compare(programOf(kLayer), programOf(infinite));
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().code, "E0457");
}

// Each check compares with the program before that pass, not with the first program.
TEST(PassChecker, ComparesWithTheProgramBefore) {
  mlir::MLIRContext context;
  auto first = parseProgram(context, programOf(kLayer));
  auto second = parseProgram(context, programOf(with(kLayer, "scale = 0.5", "scale = 0.7")));
  PassChecker checker(*first);
  auto same = checker.check(*first), changed = checker.check(*second),
       again = checker.check(*second);
  ASSERT_TRUE(same && changed && again);
  EXPECT_EQ(same->maxAbsolute, 0);
  EXPECT_GT(changed->maxRelative, 1e-4);
  EXPECT_EQ(again->maxAbsolute, 0);
}

// A pass that changes a weight's format computes the same result from unrounded numbers. The cost of rounding them is
// reported separately and grows as bits are removed.
TEST(PassChecker, MeasuresWhatFormatsCost) {
  mlir::MLIRContext context;
  auto to = [&](std::string format) {
    std::string text = programOf(kLayer);
    text = with(text, "@q : !lm.weight<8x4, f32> {source = \"q\"}",
                "@q : !lm.weight<8x4, " + format + "> {source = \"q\", stored = #lm.format<f32>}");
    for (size_t at; (at = text.find("8x4, f32")) != std::string::npos;)
      text.replace(at, 8, "8x4, " + format);
    return parseProgram(context, text);
  };
  auto floats = parseProgram(context, programOf(kLayer));
  double cost[3];
  for (auto [format, measured] :
       {std::pair{"bf16", &cost[0]}, {"int8", &cost[1]}, {"int4_g32", &cost[2]}}) {
    auto rounded = to(format);
    ASSERT_TRUE(rounded);
    PassChecker checker(*floats);
    auto change = checker.check(*rounded), later = checker.check(*rounded);
    ASSERT_TRUE(change && later);
    EXPECT_EQ(change->maxAbsolute, 0) << format;
    ASSERT_TRUE(change->rounding) << format;
    *measured = change->rounding->maxRelative;
    EXPECT_FALSE(later->rounding) << format;
  }
  EXPECT_GT(cost[0], 0);
  EXPECT_GT(cost[1], cost[0]);
  EXPECT_GT(cost[2], cost[1]);
}

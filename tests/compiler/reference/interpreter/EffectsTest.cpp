//===- EffectsTest.cpp - Ops that declare wrong effects ---------------------===//
#include "LoweredModel.h"

#include "compiler/reference/interpreter/CheckPlan.h"
#include "dialects/plan/ops/Section.h"

using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;
using tests::LoweredModel;

/// Returns the error of the checks if ops of the given name declare the effect `lie` for the given
/// operand.
static std::string findWith(const std::string &op, size_t operand, kernel::OperandEffect lie) {
  LoweredModel model("ingot-lower");
  SeededWeights weights;
  PlanEvidence evidence;
  CheckOptions options;
  options.effects = [&](plan::LaunchOp launch) {
    auto effects = launch.operandEffects();
    if (launch.anchor()->getName().stripDialect() == op)
      effects[operand] = lie;
    return effects;
  };
  auto done = checkCases(model.get(), weights, evidence, options);
  return done ? "" : done.error().format();
}

TEST(Effects, AsDeclaredNothingIsFound) { EXPECT_EQ(findWith("nothing", 0, {}), ""); }

// An op rotates a row in place but declares that it only reads it. No later op would wait for it.
TEST(Effects, ReadInsteadOfReadAndWrite) {
  const std::string found = findWith("rope_append", 0, {true, false});
  EXPECT_NE(
      found.find("error[E0880]: @rope_append_0 of layer 0 writes an operand without declaring it"),
      std::string::npos)
      << found;
  EXPECT_NE(
      found.find("operand 0, #plan.buffer<@projections>: kernel.rope_append declares only reads"),
      std::string::npos)
      << found;
}
TEST(Effects, WriteInsteadOfReadAndWrite) {
  EXPECT_NE(findWith("rope_append", 0, {false, true}).find("reads an operand without declaring it"),
            std::string::npos);
}
TEST(Effects, PoolsHaveEffectsToo) {
  EXPECT_NE(findWith("attention", 1, {false, true}).find("error[E0880]"), std::string::npos);
  EXPECT_NE(findWith("rope_append", 4, {true, false}).find("error[E0880]"), std::string::npos);
}

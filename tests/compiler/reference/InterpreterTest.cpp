//===- InterpreterTest.cpp - Programs, steps and sequences ----------------===//
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"
#include "tests/compiler/reference/Programs.h"

#include "compiler/reference/Interpreter.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::reference;
using tests::kLayer;
using tests::parseProgram;
using tests::programOf;
using tests::with;

namespace {

struct Program {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  SeededWeights weights{7};
  std::unique_ptr<Interpreter> interpreter;

  explicit Program(const std::string &text) : module(parseProgram(context, text)) {
    if (!module)
      return;
    auto created = Interpreter::create(*module, weights);
    EXPECT_TRUE(created) << created.error().format();
    if (created)
      interpreter = std::move(*created);
  }

  std::vector<float> run(const Step &step, KvState &kv) {
    auto logits = interpreter->step(step, kv);
    EXPECT_TRUE(logits) << logits.error().format();
    return logits ? logits->values : std::vector<float>();
  }
  std::vector<float> run(const Step &step) {
    KvState kv;
    return run(step, kv);
  }
};

std::vector<float> joined(std::vector<float> a, const std::vector<float> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

} // namespace

TEST(Interpreter, ChunksAndBatchChangeNoBit) {
  Program program(programOf(kLayer));
  ASSERT_TRUE(program.interpreter);
  std::vector<float> whole = program.run({{0, 1, 2, 3, 4, 5}, {}, {}, {}});

  KvState chunks;
  std::vector<float> first = program.run({{0, 1, 2, 3}, {}, {}, {}}, chunks);
  EXPECT_EQ(joined(first, program.run({{4, 5}, {}, {4, 5}, {}}, chunks)), whole);

  // Runs the same sequence in a batch with others, and requests only its logits.
  Step mixed{{5, 0, 1, 2, 5, 3, 4, 5},
             {9, 2, 2, 2, 9, 2, 2, 2},
             {0, 0, 1, 2, 1, 3, 4, 5},
             {1, 2, 3, 5, 6, 7}};
  EXPECT_EQ(program.run(mixed), whole);
}

TEST(Interpreter, LogitsOfAskedRowsOnly) {
  Program program(programOf(kLayer));
  std::vector<float> all = program.run({{3, 1, 2}, {}, {}, {}});
  std::vector<float> last = program.run({{3, 1, 2}, {}, {}, {2}});
  EXPECT_EQ(last, std::vector<float>(all.end() - 6, all.end()));
}

TEST(Interpreter, AFusedOpIsTheOpsOfItsRegion) {
  std::string fused = with(
      kLayer, R"(%z = lm.linear %a, %o : tensor<?x8xf32>, !lm.weight<4x8, f32> -> tensor<?x4xf32>
    %y = lm.add %x, %z : tensor<?x4xf32>)",
      R"(%y = lm.fused "out_residual" -> tensor<?x4xf32> {
      %z = lm.linear %a, %o : tensor<?x8xf32>, !lm.weight<4x8, f32> -> tensor<?x4xf32>
      %s = lm.add %x, %z : tensor<?x4xf32>
      lm.yield %s : tensor<?x4xf32>
    })");
  Program plain(programOf(kLayer)), other(programOf(fused));
  ASSERT_TRUE(other.interpreter);
  Step step{{0, 1, 2, 3}, {}, {}, {}};
  EXPECT_EQ(plain.run(step), other.run(step));
}

// lm does not model the rounding of an encoding.
TEST(Interpreter, RoundedRowsHaveTheSameValues) {
  std::string rounded = with(kLayer, "%z = lm.linear %a, %o : tensor<?x8xf32>,",
                             R"(%h = lm.cast %a : tensor<?x8xf32> -> tensor<?x8xf32, "q8">
    %z = lm.linear %h, %o : tensor<?x8xf32, "q8">,)");
  Program plain(programOf(kLayer)), other(programOf(rounded));
  ASSERT_TRUE(other.interpreter);
  Step step{{0, 1, 2, 3}, {}, {}, {}};
  EXPECT_EQ(plain.run(step), other.run(step));
}

// The order of append and attention is given by values, not by the order of the lines.
TEST(Interpreter, AttentionOverTheStateBeforeTheAppendMissesTheStep) {
  Program plain(programOf(kLayer)),
      before(programOf(with(kLayer, "lm.attention %r, %kv1,", "lm.attention %r, %kv,")));
  ASSERT_TRUE(before.interpreter);
  Step step{{0, 1, 2, 3}, {}, {}, {}};
  EXPECT_NE(plain.run(step), before.run(step));
}

TEST(Interpreter, LayersRunInOrderAndHaveSlotsOfTheirOwn) {
  Program program(programOf(kLayer));
  KvState kv;
  std::vector<float> both = program.run({{1, 2}, {}, {}, {}}, kv);
  ASSERT_TRUE(kv.find(0, 0) && kv.find(1, 0));
  EXPECT_NE(kv.find(0, 0)->k, kv.find(1, 0)->k);
  program.interpreter->useLayers({0});
  EXPECT_NE(program.run({{1, 2}, {}, {}, {}}), both);
}

TEST(Interpreter, AnIdOutsideTheVocabulary) {
  Program program(programOf(kLayer));
  KvState kv;
  auto logits = program.interpreter->step({{0, 6}, {}, {}, {}}, kv);
  ASSERT_FALSE(logits);
  EXPECT_EQ(logits.error().code, "E0454");
  EXPECT_NE(logits.error().format().find("ids 0 to 5"), std::string::npos);
}

TEST(Interpreter, AnOpThatIsNotOfLm) {
  std::string text =
      with(kLayer, "%y = lm.add %x, %z : tensor<?x4xf32>",
           R"(%y = "other.op"(%x, %z) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>)");
  mlir::MLIRContext context;
  context.allowUnregisteredDialects();
  auto module = parseProgram(context, programOf(text));
  ASSERT_TRUE(module);
  SeededWeights weights;
  auto interpreter = Interpreter::create(*module, weights);
  KvState kv;
  auto logits = (*interpreter)->step({{0}, {}, {}, {}}, kv);
  ASSERT_FALSE(logits);
  EXPECT_EQ(logits.error().code, "E0455");
  EXPECT_NE(logits.error().what.find("other.op"), std::string::npos);
}

TEST(Interpreter, AModuleWithoutAModel) {
  mlir::MLIRContext context;
  auto module = parseProgram(context, "module {}");
  SeededWeights weights;
  auto interpreter = Interpreter::create(*module, weights);
  ASSERT_FALSE(interpreter);
  EXPECT_EQ(interpreter.error().code, "E0453");
  auto part = parseProgram(
      context, R"(lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 8 : i64,
                                                              max_positions = 8 : i64} {})");
  auto refused = Interpreter::create(*part, weights);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().why.find("@m has no lm.entry"), std::string::npos);
}

TEST(SeededWeights, RowsAreDistinctAndProductsFollowThem) {
  Program program(with(programOf(kLayer), "lm.weight @q : !lm.weight<8x4, f32>",
                       "lm.weight @tall : !lm.weight<300x4, f32> {source = \"tall\"}\n"
                       "  lm.weight @q : !lm.weight<8x4, f32>"));
  auto tall = mlir::SymbolTable(program.interpreter->model()).lookup<lm::WeightOp>("tall");
  ASSERT_TRUE(tall);
  Matrix x(1, 4);
  x.values = {1, -2, 0.5f, 3};
  auto y = program.weights.multiply(tall, x);
  ASSERT_TRUE(y);
  std::vector<float> rowValues(4), previous(4);
  for (int64_t n : {0, 1, 126, 127, 254, 299}) {
    ASSERT_TRUE(program.weights.row(tall, n, rowValues));
    float expected = 0;
    for (int i = 0; i < 4; ++i)
      expected += rowValues[i] * x.values[i];
    EXPECT_NEAR(y->values[n], expected, 1e-5f) << n;
    EXPECT_NE(rowValues, previous);
    previous = rowValues;
  }
}

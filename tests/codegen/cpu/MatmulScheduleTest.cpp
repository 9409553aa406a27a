//===- MatmulScheduleTest.cpp - The cost model of matmuls ------------------===//
#include "codegen/cpu/schedule/MatmulSchedule.h"
#include "KernelModule.h"
#include "codegen/cpu/schedule/MatmulCost.h"
#include "dialects/kernel/ops/Matmul.h"

using namespace ingot;
using namespace ingot::codegen::cpu;
using ingot::test::KernelModule;

namespace {

/// Returns a matmul without aux operands, as text.
std::string kernelText(const std::string &format, int64_t n, int64_t k,
                       const std::string &kind = "q8", const std::string &more = "") {
  std::string x = "!kernel.activation<" + std::to_string(k) + ", " + kind + ">";
  std::string y = "!kernel.activation<" + std::to_string(n) + ", f32>";
  std::string w = "!lm.weight<" + std::to_string(n) + "x" + std::to_string(k) + ", " + format + ">";
  return "kernel.func @f(%x: " + x + ", %w: " + w + ", %y: " + y + ") { kernel.matmul %x : " + x +
         " weights(%w : " + w + ") outs(%y : " + y +
         ") attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>" + more +
         "} {\n^bb0(%acc: f32): kernel.yield %acc : f32 } kernel.return }";
}

struct Problem {
  KernelModule module;
  kernel::MatmulOp op;
  explicit Problem(const std::string &text)
      : module(text), op(mlir::cast<kernel::MatmulOp>(module.anchor())) {}
  kernel::ScheduleAttr schedule(std::vector<int64_t> tiles, int64_t block, int64_t prefetch) {
    return kernel::ScheduleAttr::get(op.getContext(), tiles, block, prefetch);
  }
  MatmulCost cost(kernel::ScheduleAttr schedule, int64_t tokens) {
    return matmulCost(op, schedule, kAvx512, kZen5, tokens);
  }
};

std::string chosen(const std::string &text, const Isa &isa) {
  Problem problem(text);
  std::string out;
  llvm::raw_string_ostream(out) << mlir::Attribute(matmulSchedule(problem.op, isa));
  return out.substr(out.find("tiles"));
}

// These schedules were the best in measurements, or as good as any (docs/cpu.md). A change of the cost model that
// alters them needs new measurements.
TEST(MatmulCost, ChoosesWhatWasMeasured) {
  for (const char *format : {"q4_0", "q4_1", "q5_0"}) {
    EXPECT_EQ(chosen(kernelText(format, 576, 576), kAvx512),
              "tiles = [6, 4, 2, 1], block = 120, prefetch = 16384>")
        << format;
    EXPECT_EQ(chosen(kernelText(format, 2048, 2048), kAvx512),
              "tiles = [6, 4, 2, 1], block = 114, prefetch = 16384>")
        << format;
    EXPECT_EQ(chosen(kernelText(format, 2048, 8192), kAvx512),
              "tiles = [6, 4, 2, 1], block = 24, prefetch = 16384>")
        << format;
  }
  EXPECT_EQ(chosen(kernelText("q4_0", 2048, 2048), kAvx2),
            "tiles = [4, 2, 1], block = 116, prefetch = 16384>");
  for (const char *format :
       {"q3_k", "q6_k", "iq4_xs", "mxfp4"}) // eight tokens share their unpacking
    EXPECT_EQ(chosen(kernelText(format, 2048, 2048), kAvx2),
              "tiles = [8, 4, 2, 1], block = 112, prefetch = 16384>")
        << format;
  EXPECT_EQ(chosen(kernelText("q6_k", 640, 2048), kAvx512),
            "tiles = [4, 2, 1], block = 116, prefetch = 16384>");
  EXPECT_EQ(chosen(kernelText("q8_0", 49152, 576, "q8x2"), kAvx512),
            "tiles = [6, 4, 2, 1], block = 120, prefetch = 16384>");
  EXPECT_EQ(chosen(kernelText("q4_0", 576, 576, "f32"), kAvx512),
            "tiles = [4, 1], block = 120, prefetch = 16384>");
  EXPECT_EQ(chosen(kernelText("q4_0", 576, 576, "f32"), kAvx2),
            "tiles = [2, 1], block = 120, prefetch = 16384>");
  EXPECT_EQ(chosen(kernelText("bf16", 576, 576, "f32", ", fast_float"), kAvx512),
            "tiles = [8, 4, 2, 1], block = 120, prefetch = 16384>");
}

TEST(MatmulCost, CountsPipes) {
  // 8 dots, a multiplication and an fma per token and register of 16 rows; two issue per cycle. The
  // rest of a tile of 6 overlaps with them, so they bound a long launch.
  Problem problem(kernelText("q4_0", 1024, 1024));
  double groups = 1024 / 32, registers = 1024 / 16, tokens = 480;
  double least = groups * registers * tokens * 10 / 2 / (kZen5.gigahertz * 1e9);
  MatmulCost cost = problem.cost(problem.schedule({6, 4, 2, 1}, 120, 16384), 480);
  EXPECT_GT(cost.coreSeconds, least);
  EXPECT_LT(cost.coreSeconds, 1.25 * least);
  // Weights are read once per block of 120.
  EXPECT_DOUBLE_EQ(cost.memoryBytes, 4.0 * 1024 * 1024 * 18 / 32);
  // The minimums of q4_1 cost one more instruction for every ten.
  Problem minimums(kernelText("q4_1", 1024, 1024));
  double ratio = minimums.cost(minimums.schedule({6, 4, 2, 1}, 120, 16384), 480).coreSeconds /
                 cost.coreSeconds;
  EXPECT_GT(ratio, 1.05);
  EXPECT_LT(ratio, 1.15);
}

TEST(MatmulCost, OneTokenWaitsForMemory) {
  Problem problem(kernelText("q4_0", 4096, 4096));
  auto schedule = problem.schedule({6, 4, 2, 1}, 36, 16384);
  MatmulCost cost = problem.cost(schedule, 1);
  EXPECT_GT(cost.memoryBytes / kZen5.readGbPerS / 1e9, cost.coreSeconds);
  EXPECT_LT(cost.seconds, 1.15 * cost.boundSeconds);
  EXPECT_GT(problem.cost(problem.schedule({6, 4, 2, 1}, 36, 0), 1).seconds, cost.seconds);
}

TEST(MatmulCost, BlocksAndTilesHaveAPrice) {
  Problem problem(kernelText("q4_0", 2048, 2048));
  double chosen = problem.cost(problem.schedule({6, 4, 2, 1}, 114, 16384), 512).seconds;
  EXPECT_GT(problem.cost(problem.schedule({6, 4, 2, 1}, 6, 16384), 512).seconds,
            chosen); // reads the weights again
  EXPECT_GT(problem.cost(problem.schedule({6, 4, 2, 1}, 480, 16384), 512).seconds,
            chosen); // x no longer fits in L2
  EXPECT_GT(problem.cost(problem.schedule({1}, 114, 16384), 512).seconds,
            1.2 * chosen); // unpacks for each token
}

TEST(MatmulCost, NoCandidateSpills) {
  for (const char *format : {"q4_0", "q4_1", "q5_0", "q6_k", "q8_0"})
    for (const Isa *isa : allIsas()) {
      Problem problem(kernelText(format, 512, 512));
      auto candidates = scheduleCandidates(problem.op, *isa);
      EXPECT_GE(candidates.size(), 12u);
      for (kernel::ScheduleAttr candidate : candidates) {
        int64_t front = candidate.getTokenTiles().front();
        EXPECT_TRUE(front == 1 || tileRegisters(problem.op, *isa, front) <= isa->registers);
        EXPECT_EQ(candidate.getTokenTiles().back(), 1);
        EXPECT_EQ(candidate.getTokenBlock() % candidate.getTokenTiles().front(), 0);
      }
    }
  // With two planes of q8x2 and the sub-scales of q6_k, a tile still fits in sixteen registers.
  Problem most(kernelText("q6_k", 512, 512, "q8x2"));
  EXPECT_EQ(matmulSchedule(most.op, kAvx2).getTokenTiles(), llvm::ArrayRef<int64_t>({3, 2, 1}));
  Problem problem(kernelText("q4_0", 512, 512)); // 2 x 8 sums and as many dots: measured to spill
  EXPECT_GT(tileRegisters(problem.op, kAvx512, 8), kAvx512.registers);
}

} // namespace

//===- CompiledKernelsTest.cpp - Compiled kernels against the plan interpreter ----===//
//
// The test runs CheckCode.h over plans of small models, at each level that the tests cover (emulated in generic IR
// where this machine lacks it), and for GPUs on the emulator. It must find wrong code.
//===----------------------------------------------------------------------===//
#include "KernelRunner.h"
#include "LoweredModel.h"

#include "compiler/targets/DifferentialCheck.h"
#include "compiler/targets/StepBatch.h"
#include "compiler/targets/cpu/CheckCode.h"
#include "compiler/targets/cuda/CheckCode.h"
#include "compiler/targets/cuda/GpuCode.h"
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/kernel/ops/Rows.h"
#include "dialects/kernel/ops/Structure.h"
#include "tests/codegen/TestCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cstring>
#include <set>
#include <thread>

using namespace ingot;
using compiler::CodeAgreement;
using tests::LoweredModel;

namespace {

constexpr const char *kExact =
    "lm-select-kernels{precision=exact kv=f32},kernel-place,plan-outline,kernel-fold-argmax{device=cpu},plan-expand-cases,"
    "plan.program(plan-elide-barriers,plan-pack-buffers)";
constexpr const char *kInt8 =
    "lm.model(lm-choose-encodings),lm-select-kernels{kv=int8},kernel-place,plan-outline,kernel-fold-argmax{device=cpu},plan-expand-cases,"
    "plan.program(plan-elide-barriers,plan-pack-buffers)";

using Kernels = llvm::SmallVector<kernel::FuncOp>;

std::string imageOf(mlir::ModuleOp module, const codegen::cpu::Isa &isa) {
  auto image = codegen::cpu::compileKernels(Kernels(module.getOps<kernel::FuncOp>()), isa, {});
  EXPECT_TRUE(succeeded(image));
  return failed(image) ? std::string() : std::string(image->begin(), image->end());
}

Result<CodeAgreement> check(mlir::ModuleOp plan, mlir::ModuleOp code, const codegen::cpu::Isa &isa,
                            double slack = 1) {
  const Kernels kernels(code.getOps<kernel::FuncOp>());
  const std::string image = imageOf(code, isa);
  auto found = compiler::checkCode(plan, {{isa, kernels, image}}, slack);
  if (!found)
    return found.error();
  return std::move(found->front());
}

void checkAll(const std::string &lowering) {
  std::map<std::string, double> largest;
  for (const char *name : {"model", "conv", "experts", "ordered"})
    for (const codegen::cpu::Isa *isa : codegen::cpu::test::hostIsas()) {
      LoweredModel model(lowering, name);
      auto found = check(model.get(), model.get(), *isa);
      ASSERT_TRUE(found) << name << ", " << std::string(isa->name) << "\n"
                         << found.error().format();
      EXPECT_GT(found->launches, 0);
      for (auto [op, off] : found->largest) {
        std::printf("%-12s %-7s largest difference %.2g\n", op.c_str(),
                    std::string(isa->name).c_str(), off);
        largest[op] = std::max(largest[op], off);
      }
    }
  EXPECT_EQ(largest.size(), 10u); // each op occurred
}

/// Checks the plan of a model against the code of a copy that `change` has modified; the error must name this
/// kernel.
template <typename Op>
void plant(const std::string &kernel, llvm::function_ref<bool(Op)> change,
           const std::string &lowering = "ingot-lower", double slack = 1) {
  LoweredModel model(lowering);
  mlir::OwningOpRef<mlir::ModuleOp> wrong = model.get().clone();
  bool changed = false;
  wrong->walk([&](Op op) {
    if (!changed && op->template getParentOfType<kernel::FuncOp>())
      changed = change(op);
  });
  ASSERT_TRUE(changed);
  auto found = check(model.get(), *wrong, codegen::cpu::kAvx2, slack);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "E0886");
  EXPECT_NE(found.error().what.find(kernel), std::string::npos) << found.error().format();
}

} // namespace

TEST(CompiledKernels, OfFastPlans) { checkAll("ingot-lower"); }
TEST(CompiledKernels, OfExactPlans) { checkAll(kExact); }
TEST(CompiledKernels, OfCachesInInt8) { checkAll(kInt8); }

TEST(CompiledKernels, ASumForAProductIsFound) {
  plant<mlir::arith::MulFOp>("@", [](mlir::arith::MulFOp op) {
    mlir::OpBuilder b(op);
    op.replaceAllUsesWith(
        mlir::arith::AddFOp::create(b, op.getLoc(), op.getLhs(), op.getRhs()).getResult());
    return true;
  });
}
TEST(CompiledKernels, AnotherScaleOfAttentionIsFound) {
  plant<kernel::AttentionOp>("@attention", [](kernel::AttentionOp op) {
    op.setScale(llvm::APFloat(op.getScale().convertToFloat() * 1.01f));
    return true;
  });
}
/// Integers round much more coarsely than floats, so the check misses smaller errors, even during a compilation.
TEST(CompiledKernels, AnotherScaleOfAttentionOverInt8IsFound) {
  plant<kernel::AttentionOp>(
      "@attention",
      [](kernel::AttentionOp op) {
        op.setScale(llvm::APFloat(op.getScale().convertToFloat() * 1.5f));
        return true;
      },
      kInt8, compiler::kCodeSlack);
}
TEST(CompiledKernels, SwappedWeightsAreFound) {
  plant<kernel::MatmulOp>("@", [](kernel::MatmulOp op) {
    if (!op.getGated())
      return false;
    mlir::Value first = op.getWeights()[0], second = op.getWeights()[1];
    op.getWeightsMutable().slice(0, 1).assign(second);
    op.getWeightsMutable().slice(1, 1).assign(first);
    return true;
  });
}
TEST(CompiledKernels, AMissingKernelIsFound) {
  LoweredModel model("ingot-lower");
  mlir::OwningOpRef<mlir::ModuleOp> fewer = model.get().clone();
  Kernels kernels(fewer->getOps<kernel::FuncOp>());
  const std::string name = kernels.back().getSymName().str();
  kernels.pop_back();
  auto image = codegen::cpu::compileKernels(kernels, codegen::cpu::kAvx2, {});
  ASSERT_TRUE(succeeded(image));
  const Kernels all(model.get().getOps<kernel::FuncOp>());
  auto found = compiler::checkCode(model.get(),
                                   {{codegen::cpu::kAvx2, all, {image->data(), image->size()}}});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "E0886");
  EXPECT_NE(found.error().what.find("@" + name), std::string::npos) << found.error().format();
}

//===----------------------------------------------------------------------===//
// Kernels for GPUs, on the emulator
//===----------------------------------------------------------------------===//

namespace {

constexpr const char *kCuda =
    "lm.model(lm-choose-encodings{device=cuda fp8-rows=true}),lm-select-kernels{device=cuda kv=bf16},kernel-place,plan-outline,"
    "kernel-choose-layouts{device=cuda},kernel-fold-argmax{device=cuda},kernel-fp8-cases{few=64},kernel-append-epilogues,"
    "kernel-norm-prologues,plan-add-workspaces,plan-find-ids,plan-expand-cases,"
    "plan.program(plan-elide-barriers,plan-pack-buffers)";

/// Checks a plan against the code of the kernels in `from`, which is the plan itself or another one.
Result<CodeAgreement> checkForGpus(mlir::ModuleOp plan, mlir::ModuleOp from,
                                   const std::string &target) {
  const Kernels kernels(from.getOps<kernel::FuncOp>());
  fb::ProgramT table;
  table.entries.push_back(
      std::make_unique<fb::EntryT>()); // without steps: launch costs do not matter
  std::vector<compiler::SegmentSource> segments;
  const std::string emulated = "cuda-emulator:" + target;
  const std::vector<std::string> targets{emulated};
  auto made = compiler::addGpuCode(
      kernels, {targets, false, int(std::thread::hardware_concurrency()), ingot::test::testCode()},
      table, segments);
  if (!made)
    return made.error();
  compiler::CodeOfArchitecture code;
  code.target = emulated, code.image = made->emulated[emulated], code.kernels = kernels;
  for (const auto &variants : table.code.front()->variants)
    code.variants.variants.push_back(std::make_unique<fb::KernelVariantsT>(*variants));
  code.shared = ingot::codegen::cuda::sharedAttention(kernels);
  code.textOf = [](kernel::FuncOp) { return std::string("text"); };
  return compiler::checkOnEmulator(plan, code, 1, /*slack=*/1);
}

void checkAllOnEmulator(std::initializer_list<const char *> models, const std::string &target) {
  for (const char *name : models) {
    LoweredModel model(kCuda, name);
    auto found = checkForGpus(model.get(), model.get(), target);
    ASSERT_TRUE(found) << name << ", " << target << "\n" << found.error().format();
    EXPECT_GT(found->launches, 20);
    for (auto [op, off] : found->largest)
      std::printf("%-8s %-13s largest difference %.2g\n", name, op.c_str(), off);
  }
}

/// Checks the plan of a model against the code of a copy that `change` has modified; the error must name this
/// kernel.
template <typename Op>
void plantForGpus(const std::string &kernel, llvm::function_ref<bool(Op)> change) {
  LoweredModel model(kCuda);
  mlir::OwningOpRef<mlir::ModuleOp> wrong = model.get().clone();
  bool changed = false;
  wrong->walk([&](Op op) {
    if (!changed && op->template getParentOfType<kernel::FuncOp>())
      changed = change(op);
  });
  ASSERT_TRUE(changed);
  auto found = checkForGpus(model.get(), *wrong, "sm_80");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "E0886");
  EXPECT_NE(found.error().what.find(kernel), std::string::npos) << found.error().format();
  EXPECT_NE(found.error().what.find("cuda-emulator:sm_80"), std::string::npos);
}

} // namespace

TEST(CompiledCuda, OfSm80) { checkAllOnEmulator({"model"}, "sm_80"); }
TEST(CompiledCuda, DISABLED_LongOfAllModels) {
  checkAllOnEmulator({"model", "conv", "experts", "ordered"}, "sm_90a");
  checkAllOnEmulator({"conv", "experts", "ordered"}, "sm_80");
}

TEST(CompiledCuda, ASumForAProductIsFound) {
  plantForGpus<mlir::arith::MulFOp>("@", [](mlir::arith::MulFOp op) {
    mlir::OpBuilder b(op);
    op.replaceAllUsesWith(
        mlir::arith::AddFOp::create(b, op.getLoc(), op.getLhs(), op.getRhs()).getResult());
    return true;
  });
}
TEST(CompiledCuda, AnotherScaleOfAttentionIsFound) {
  plantForGpus<kernel::AttentionOp>("@attention", [](kernel::AttentionOp op) {
    op.setScale(llvm::APFloat(op.getScale().convertToFloat() * 2));
    return true;
  });
}
TEST(CompiledCuda, SwappedWeightsAreFound) {
  plantForGpus<kernel::MatmulOp>("@", [](kernel::MatmulOp op) {
    if (!op.getGated())
      return false;
    mlir::Value first = op.getWeights()[0], second = op.getWeights()[1];
    op.getWeightsMutable().slice(0, 1).assign(second);
    op.getWeightsMutable().slice(1, 1).assign(first);
    return true;
  });
}
TEST(CompiledCuda, TheOtherStyleOfRopeIsFound) {
  plantForGpus<kernel::RopeAppendOp>("@", [](kernel::RopeAppendOp op) {
    op.setStyle(op.getStyle() == lm::RopeStyle::Half ? lm::RopeStyle::Interleaved
                                                     : lm::RopeStyle::Half);
    return true;
  });
}

//===----------------------------------------------------------------------===//
// Code that writes where it must not; no kernel is compiled
//===----------------------------------------------------------------------===//

namespace {

using Operands = llvm::ArrayRef<compiler::CodeUnderCheck::Operand>;

/// Writes zeros, with an unlimited allowed error, and additionally does something forbidden.
class Mischief : public compiler::CodeUnderCheck {
public:
  using Deed = std::function<void(kernel::FuncOp, Operands, const BatchView &)>;
  explicit Mischief(Deed deed) : deed(std::move(deed)) {}

  std::string name() const override { return "nothing"; }
  size_t waysOf(kernel::FuncOp, const BatchView &) override { return 1; }
  std::string nameOf(kernel::FuncOp, size_t, const BatchView &) override { return ""; }
  std::string run(kernel::FuncOp fn, size_t, Operands operands, const BatchView &batch) override {
    for (auto [argument, effect, operand] :
         llvm::zip(fn.getArguments(), fn.operandEffects(), operands))
      if (auto rows = mlir::dyn_cast<kernel::ActivationType>(argument.getType());
          rows && effect.writes)
        std::memset(operand.memory, 0,
                    size_t((fn.launch().isPerRow() ? batch.rows : batch.tokens) *
                           fn.launch().rowsOfUnit(argument) * rows.rowBytes()));
    deed(fn, operands, batch);
    return "";
  }
  double allowed(kernel::FuncOp, size_t, const BatchView &, double) override { return 1e30; }
  std::string textOf(kernel::FuncOp) override { return "text"; }
  std::string extension() const override { return ".s"; }

private:
  Deed deed;
};

/// Returns the reason for the refusal: the second line of the error.
std::string whyOf(Mischief::Deed deed) {
  LoweredModel model("ingot-lower");
  Mischief code(std::move(deed));
  auto found = compiler::checkKernels(model.get(), {&code}, 1);
  if (found)
    return "";
  EXPECT_EQ(found.error().code, "E0886") << found.error().format();
  return found.error().why;
}

} // namespace

TEST(DifferentialCheck, ReportsWritesToRowsAfterTheStep) {
  EXPECT_EQ(whyOf([](kernel::FuncOp fn, Operands operands, const BatchView &batch) {
              if (isa<kernel::GatherOp>(fn.anchor()) && batch.tokens == 3) {
                auto type = mlir::cast<kernel::ActivationType>(fn.getArgumentTypes().back());
                operands.back().memory[3 * type.rowBytes() + 5] = std::byte{1};
              }
            }),
            "it writes past the step's rows, at byte 5 of row 3 of @x");
}
TEST(DifferentialCheck, ReportsWritesAfterABuffer) {
  EXPECT_EQ(whyOf([](kernel::FuncOp fn, Operands operands, const BatchView &) {
              if (isa<kernel::GatherOp>(fn.anchor()))
                operands.back().memory[operands.back().bytes] = std::byte{1};
            }),
            "it writes past the end of @x");
}
TEST(DifferentialCheck, ReportsWritesToInputs) {
  EXPECT_EQ(whyOf([](kernel::FuncOp fn, Operands operands, const BatchView &) {
              if (isa<kernel::RowwiseOp>(fn.anchor()))
                operands.front().memory[0] ^= std::byte{1};
            }),
            "it writes to a read-only operand, byte 0 of row 0 of @x");
}
TEST(DifferentialCheck, ReportsWritesToPagesOfOthers) {
  const std::string why = whyOf([](kernel::FuncOp fn, Operands operands, const BatchView &batch) {
    if (isa<kernel::AttentionOp>(fn.anchor()))
      operands[1].memory[operands[1].bytes /
                             (compiler::StepBatch::kSequences * compiler::StepBatch::kPages) *
                             batch.blockTable[batch.blockTableStride] +
                         7] = std::byte{1};
  });
  EXPECT_EQ(why.rfind("it writes where the step has no token, at byte 7 of page ", 0), 0u) << why;
  EXPECT_NE(why.find(" of @kv.0"), std::string::npos) << why;
}

// The pages are in no order. A kernel that reads another entry of the block table, or the next page in memory,
// therefore reads another sequence.
TEST(DifferentialCheck, PagesLieInNoOrder) {
  reference::Batch step{{0, 1, 2}, {40, 0, 3}, {0}};
  const std::vector<int32_t> ids{1, 2, 3};
  compiler::StepBatch batch(step, ids);
  const BatchView &view = batch.view();
  std::set<int32_t> pages;
  for (int64_t i = 0; i < view.sequences * view.blockTableStride; ++i) {
    EXPECT_TRUE(pages.insert(view.blockTable[i]).second);
    if (i % view.blockTableStride) {
      EXPECT_NE(view.blockTable[i], view.blockTable[i - 1] + 1);
      EXPECT_NE(view.blockTable[i],
                view.blockTable[i / view.blockTableStride * view.blockTableStride] +
                    i % view.blockTableStride);
    }
  }
  EXPECT_NE(view.stateSpans[0].from, view.stateWrites[view.stateSpans[0].firstWrite].slot);
  EXPECT_EQ(view.stateSpans[1].from, -1);
}

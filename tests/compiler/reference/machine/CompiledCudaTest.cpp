//===- CompiledCudaTest.cpp - Kernels for GPUs against the slow machine -----===//
//
// compiler/targets/cuda/CheckCode.h over plans of small models, compiled for the emulator; and code that is wrong, which it
// must find.
//===----------------------------------------------------------------------===//
#include "LoweredModel.h"

#include "compiler/targets/cuda/CheckCode.h"
#include "compiler/targets/cuda/GpuCode.h"
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/plan/ops/Section.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <thread>

using namespace ingot;
using compiler::CodeAgreement;
using tests::LoweredModel;

namespace {

constexpr const char *kLowering =
    "lm.model(lm-choose-forms{device=cuda fp8-rows=true}),lm-lower-to-plan{device=cuda kv=bf16},"
    "kernel-choose-layouts{device=cuda},kernel-fold-argmax{device=cuda},kernel-fp8-cases{few=64},kernel-append-epilogues,"
    "kernel-norm-prologues,plan-add-workspaces,plan-find-ids,plan-expand-cases,"
    "plan.program(plan-elide-barriers,plan-pack-buffers)";

using Kernels = llvm::SmallVector<kernel::FuncOp>;

/// Kernels that were compiled once, for all tests: a kernel takes a second.
compiler::CodeCache &cache() {
  static auto opened = compiler::CodeCache::open(testing::TempDir() + "ingot-compiled-cuda");
  return *opened;
}

/// The plan beside the code of other kernels, or of its own.
Result<CodeAgreement> check(mlir::ModuleOp plan, mlir::ModuleOp from, const std::string &target) {
  const Kernels kernels(from.getOps<kernel::FuncOp>());
  fb::ProgramT table;
  std::vector<compiler::SegmentSource> segments;
  const std::string emulated = "cuda-emulator:" + target;
  const std::vector<std::string> targets{emulated};
  auto made = compiler::addGpuCode(
      kernels,
      {targets, false, int(std::thread::hardware_concurrency()), &cache(), "CompiledCudaTest"},
      table, segments);
  if (!made)
    return made.error();
  compiler::CodeOfArchitecture code;
  code.target = emulated, code.image = made->emulated[emulated], code.kernels = kernels;
  for (const auto &variants : table.code.front()->variants)
    code.variants.variants.push_back(std::make_unique<fb::KernelVariantsT>(*variants));
  code.shared = ingot::cuda::sharedAttention(kernels);
  code.textOf = [](kernel::FuncOp) { return std::string("text"); };
  return compiler::checkCode(plan, code, 1, /*slack=*/1);
}

void checkAll(std::initializer_list<const char *> models, const std::string &target) {
  for (const char *name : models) {
    LoweredModel model(kLowering, name);
    auto found = check(model.get(), model.get(), target);
    ASSERT_TRUE(found) << name << ", " << target << "\n" << found.error().format();
    EXPECT_GT(found->launches, 20);
    for (auto [op, off] : found->largest)
      std::printf("%-8s %-13s largest difference %.2g\n", name, op.c_str(), off);
  }
}

/// The plan of one model beside the code of a copy that `change` has changed, which must be told with this kernel.
template <typename Op> void plant(const std::string &kernel, llvm::function_ref<bool(Op)> change) {
  LoweredModel model(kLowering);
  mlir::OwningOpRef<mlir::ModuleOp> wrong = model.get().clone();
  bool changed = false;
  wrong->walk([&](Op op) {
    if (!changed && op->template getParentOfType<kernel::FuncOp>())
      changed = change(op);
  });
  ASSERT_TRUE(changed);
  auto found = check(model.get(), *wrong, "sm_80");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "E0886");
  EXPECT_NE(found.error().what.find(kernel), std::string::npos) << found.error().format();
  EXPECT_NE(found.error().what.find("cuda-emulator:sm_80"), std::string::npos);
}

} // namespace

TEST(CompiledCuda, OfSm80) { checkAll({"model"}, "sm_80"); }
TEST(CompiledCuda, DISABLED_LongOfAllModels) {
  checkAll({"model", "conv", "experts", "ordered"}, "sm_90a");
  checkAll({"conv", "experts", "ordered"}, "sm_80");
}

TEST(CompiledCuda, ASumForAProductIsFound) {
  plant<mlir::arith::MulFOp>("@", [](mlir::arith::MulFOp op) {
    mlir::OpBuilder b(op);
    op.replaceAllUsesWith(
        mlir::arith::AddFOp::create(b, op.getLoc(), op.getLhs(), op.getRhs()).getResult());
    return true;
  });
}
TEST(CompiledCuda, AnotherScaleOfAttentionIsFound) {
  plant<kernel::AttentionOp>("@attention", [](kernel::AttentionOp op) {
    op.setScale(llvm::APFloat(op.getScale().convertToFloat() * 2));
    return true;
  });
}
TEST(CompiledCuda, SwappedWeightsAreFound) {
  plant<kernel::MatmulOp>("@", [](kernel::MatmulOp op) {
    if (!op.getPair())
      return false;
    mlir::Value first = op.getWeights()[0], second = op.getWeights()[1];
    op.getWeightsMutable().slice(0, 1).assign(second);
    op.getWeightsMutable().slice(1, 1).assign(first);
    return true;
  });
}
TEST(CompiledCuda, TheOtherStyleOfRopeIsFound) {
  plant<kernel::RopeAppendOp>("@", [](kernel::RopeAppendOp op) {
    op.setStyle(op.getStyle() == lm::RopeStyle::Half ? lm::RopeStyle::Interleaved
                                                     : lm::RopeStyle::Half);
    return true;
  });
}

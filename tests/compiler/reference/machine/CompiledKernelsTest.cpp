//===- CompiledKernelsTest.cpp - Compiled kernels against the slow machine ---===//
//
// CheckCode.h over plans of small models, at each level that the tests go over, written out where this machine lacks it,
// and for GPUs on the emulator; and code that is wrong, which it must find.
//===----------------------------------------------------------------------===//
#include "KernelRunner.h"
#include "LoweredModel.h"

#include "compiler/targets/cpu/CheckCode.h"
#include "compiler/targets/cuda/CheckCode.h"
#include "compiler/targets/cuda/GpuCode.h"
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/kernel/ops/Structure.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <thread>

using namespace ingot;
using compiler::CodeAgreement;
using tests::LoweredModel;

namespace {

constexpr const char *kExact =
    "lm-lower-to-plan{precision=exact kv=f32},kernel-fold-argmax{device=cpu},plan-expand-cases,"
    "plan.program(plan-elide-barriers,plan-pack-buffers)";
constexpr const char *kInt8 =
    "lm.model(lm-choose-forms),lm-lower-to-plan{kv=int8},kernel-fold-argmax{device=cpu},plan-expand-cases,"
    "plan.program(plan-elide-barriers,plan-pack-buffers)";

using Kernels = llvm::SmallVector<kernel::FuncOp>;

std::string imageOf(mlir::ModuleOp module, const cpu::Isa &isa) {
  auto image = cpu::compileKernels(Kernels(module.getOps<kernel::FuncOp>()), isa, {});
  EXPECT_TRUE(succeeded(image));
  return failed(image) ? std::string() : std::string(image->begin(), image->end());
}

Result<CodeAgreement> check(mlir::ModuleOp plan, mlir::ModuleOp code, const cpu::Isa &isa) {
  const Kernels kernels(code.getOps<kernel::FuncOp>());
  const std::string image = imageOf(code, isa);
  auto found = compiler::checkCode(plan, {{isa, kernels, image}}, /*slack=*/1);
  if (!found)
    return found.error();
  return std::move(found->front());
}

void checkAll(const std::string &lowering) {
  std::map<std::string, double> largest;
  for (const char *name : {"model", "conv", "experts", "ordered"})
    for (const cpu::Isa *isa : cpu::test::hostIsas()) {
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
  EXPECT_EQ(largest.size(), 10u); // each op was seen
}

/// The plan of one model beside the code of a copy that `change` has changed, which must be told with this kernel.
template <typename Op> void plant(const std::string &kernel, llvm::function_ref<bool(Op)> change) {
  LoweredModel model("ingot-lower");
  mlir::OwningOpRef<mlir::ModuleOp> wrong = model.get().clone();
  bool changed = false;
  wrong->walk([&](Op op) {
    if (!changed && op->template getParentOfType<kernel::FuncOp>())
      changed = change(op);
  });
  ASSERT_TRUE(changed);
  auto found = check(model.get(), *wrong, cpu::kAvx2);
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
TEST(CompiledKernels, SwappedWeightsAreFound) {
  plant<kernel::MatmulOp>("@", [](kernel::MatmulOp op) {
    if (!op.getPair())
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
  auto image = cpu::compileKernels(kernels, cpu::kAvx2, {});
  ASSERT_TRUE(succeeded(image));
  const Kernels all(model.get().getOps<kernel::FuncOp>());
  auto found =
      compiler::checkCode(model.get(), {{cpu::kAvx2, all, {image->data(), image->size()}}});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "E0886");
  EXPECT_NE(found.error().what.find("@" + name), std::string::npos) << found.error().format();
}

//===----------------------------------------------------------------------===//
// Kernels for GPUs, on the emulator
//===----------------------------------------------------------------------===//

namespace {

constexpr const char *kCuda =
    "lm.model(lm-choose-forms{device=cuda fp8-rows=true}),lm-lower-to-plan{device=cuda kv=bf16},"
    "kernel-choose-layouts{device=cuda},kernel-fold-argmax{device=cuda},kernel-fp8-cases{few=64},kernel-append-epilogues,"
    "kernel-norm-prologues,plan-add-workspaces,plan-find-ids,plan-expand-cases,"
    "plan.program(plan-elide-barriers,plan-pack-buffers)";

/// Kernels that were compiled once, for all tests: a kernel takes a second.
compiler::CodeCache &cache() {
  static auto opened = compiler::CodeCache::open(testing::TempDir() + "ingot-compiled-cuda");
  return *opened;
}

/// The plan beside the code of other kernels, or of its own.
Result<CodeAgreement> checkForGpus(mlir::ModuleOp plan, mlir::ModuleOp from,
                                   const std::string &target) {
  const Kernels kernels(from.getOps<kernel::FuncOp>());
  fb::ProgramT table;
  table.entries.push_back(
      std::make_unique<fb::EntryT>()); // without steps: what a launch costs is of no matter
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

/// The plan of one model beside the code of a copy that `change` has changed, which must be told with this kernel.
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
    if (!op.getPair())
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

//===- AddWorkspaces.cpp - Scratch memory for kernels -----------------------===//
//
// Attention over long contexts is split among blocks, which exchange partial results
// (docs/gpu-kernels.md). One buffer serves all launches of a program: each launch both reads and writes
// it, so there is a barrier between any two.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Structure.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Target.h"

#include "llvm/ADT/StringSet.h"

namespace ingot {
#define GEN_PASS_DEF_ADDWORKSPACESPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

constexpr StringLiteral kWorkspace = "workspace";

struct AddWorkspaces : ingot::impl::AddWorkspacesPassBase<AddWorkspaces> {
  using AddWorkspacesPassBase::AddWorkspacesPassBase;

  void runOnOperation() override {
    const Target &target = targetOf(device);
    int64_t bytes = 0;
    llvm::StringSet<> asked;
    for (auto fn : getOperation().getOps<kernel::FuncOp>())
      if (int64_t own = target.shapeOf(fn).workspaceBytes; own && !fn.launch().workspace()) {
        fn.addWorkspace(own);
        bytes = std::max(bytes, own);
        asked.insert(fn.getSymName());
      }
    if (asked.empty())
      return;
    for (auto program : getOperation().getOps<plan::ProgramOp>()) {
      auto b = OpBuilder::atBlockBegin(&program.getBody().front());
      // Persistent: the buffer keeps the contents of the last step, which leaves its counters at 0.
      plan::BufferOp::create(b, program.getLoc(), kWorkspace, plan::BufferClass::Fixed,
                             roundUp(bytes, 64), IntegerAttr(), /*persistent=*/true);
      Attribute buffer = plan::BufferRefAttr::get(
          &getContext(), FlatSymbolRefAttr::get(&getContext(), kWorkspace));
      program.walk([&](plan::LaunchOp launch) {
        if (!asked.contains(launch.getKernel()))
          return;
        SmallVector<Attribute> passed(launch.getArgs().getValue());
        passed.push_back(buffer);
        launch.setArgsAttr(b.getArrayAttr(passed));
      });
    }
  }
};
} // namespace

//===- KernelFile.cpp - See KernelFile.h ----------------------------------===//
#include "compiler/extend/KernelFile.h"
#include "dialects/lm/LmInterfaces.h"
#include "dialects/lm/ops/Fused.h"
#include "dialects/lm/ops/Model.h"
#include "runtime/abi/DeviceKind.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace ingot;

static constexpr llvm::StringLiteral kOfCpus = ".kernel.mlir", kOfGpus = ".kernel.cu";

bool extend::isKernelFile(StringRef path) {
  return path.ends_with(kOfCpus) || path.ends_with(kOfGpus);
}

namespace {
struct AttachKernel : PassWrapper<AttachKernel, OperationPass<lm::ModelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AttachKernel)

  AttachKernel() = default;
  AttachKernel(const AttachKernel &other) : PassWrapper(other) { file = other.file.getValue(); }

  StringRef getArgument() const override { return extend::attachKernelName(); }
  StringRef getDescription() const override {
    return "attach the code of a kernel file to the regions of its name";
  }

  void runOnOperation() override {
    StringRef name = llvm::sys::path::filename(file);
    const bool ofCpus = name.consume_back(kOfCpus);
    if (!ofCpus && !name.consume_back(kOfGpus)) {
      getOperation().emitError("expects a file NAME") << kOfCpus << " or NAME" << kOfGpus;
      return signalPassFailure();
    }
    auto text = llvm::MemoryBuffer::getFile(file);
    if (!text) {
      getOperation().emitError("cannot read ") << file << ": " << text.getError().message();
      return signalPassFailure();
    }
    const DeviceKind device = ofCpus ? DeviceKind::Cpu : DeviceKind::Cuda;
    auto body = StringAttr::get(&getContext(), (*text)->getBuffer());
    bool used = false;
    getOperation().walk([&](lm::FusedOp fused) {
      if (fused.getPattern() != name)
        return;
      fused->setAttr(lm::kernelAttrOf(deviceKindName(device)), body);
      used = true;
    });
    if (used)
      return;
    getOperation().emitError("no pattern before it creates a region \"") << name << "\"";
    signalPassFailure();
  }

  Option<std::string> file{*this, "file", llvm::cl::desc("NAME.kernel.mlir or NAME.kernel.cu")};
};
} // namespace

StringRef extend::attachKernelName() { return "lm-attach-kernel"; }

std::unique_ptr<Pass> extend::attachKernel(const std::string &path) {
  auto pass = std::make_unique<AttachKernel>();
  pass->file = path;
  return pass;
}

void extend::registerAttachKernel() { PassRegistration<AttachKernel>(); }

//===- CheckCode.cpp - See CheckCode.h ------------------------------------===//
#include "compiler/targets/cpu/CheckCode.h"
#include "codegen/cpu/CpuCodegen.h"
#include "compiler/targets/cpu/LoadedCode.h"
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/formats/PanelLayout.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using kernel::RowKind;

namespace {

/// The bounds of ops on CPUs. The comments name the operations that cause the differences.
constexpr CodeBound kBounds[] = {
    {"matmul", 2e-6},    // the order of sums; exp
    {"attention", 4e-6}, // online softmax, exp of scores that may be large
};
/// With an int8 cache, the attention weights of positions are bytes, and 2^x is a cubic polynomial. Some weights
/// therefore round the other way, which is an error of 1/255 of the block's largest weight (AttentionInt8.h).
constexpr double kInt8Attention = 0.002;
/// The bound for attention with normalised heads, whether or not the cache rounds. The order of summation in the mean
/// changes the scores, which are large for normalised heads.
constexpr double kNormedScores = 2e-5;
/// Attention iterates over positions in blocks of 128.
constexpr int64_t kLongestPrompt = 140;
/// The number of parts into which a launch is divided, as among threads, and the byte that fills the scratch area
/// before each part. Read as floats, such bytes are NaN.
constexpr int64_t kParts = 3;
constexpr int kLeftByOthers = 0xff;
/// The additional bound if f32 rows are rounded to bf16 for vdpbf16ps. Rounding changes each value by a relative error
/// of up to 2^-9, and the product of two projections by more.
constexpr double kBf16 = 0x1p-6;

class CodeOnCpu : public CodeUnderCheck {
public:
  CodeOnCpu(ModuleOp plan, const CodeOfLevel &level, LoadedCode code)
      : level(level), code(std::move(code)) {
    for (kernel::FuncOp fn : level.kernels)
      scratch[fn.getSymName()] = codegen::cpu::scratchBytes(fn);
    plan.walk([&](kernel::RopeAppendOp op) { normsHeads |= op.getQNorm() || op.getKNorm(); });
  }

  std::string name() const override { return "cpu:" + std::string(level.isa.name); }
  size_t waysOf(kernel::FuncOp fn, const BatchView &) override {
    return code.function(fn.getSymName().str()) ? 1 : 0;
  }
  std::string nameOf(kernel::FuncOp, size_t, const BatchView &) override { return ""; }
  std::string run(kernel::FuncOp fn, size_t, ArrayRef<Operand> operands,
                  const BatchView &batch) override;
  double allowed(kernel::FuncOp fn, size_t, const BatchView &, double slack) override;
  int64_t longestPrompt() const override { return kLongestPrompt; }
  std::string textOf(kernel::FuncOp fn) override;
  std::string extension() const override { return ".s"; }

private:
  const CodeOfLevel level;
  const LoadedCode code;
  bool normsHeads = false;
  llvm::StringMap<int64_t> scratch; ///< by kernel
};

} // namespace

/// Returns the number of work items of a launch of the kernel.
static int64_t itemsOf(kernel::FuncOp fn, const BatchView &batch) {
  int64_t counts[kernel::WorkItems::Spans + 1] = {1, batch.tokens, batch.rows, batch.tiles};
  const kernel::WorkItems items = fn.launch().workItems();
  counts[kernel::WorkItems::Spans] = batch.spanCount;
  return counts[items.base] * items.factor;
}

std::string CodeOnCpu::run(kernel::FuncOp fn, size_t, ArrayRef<Operand> operands,
                           const BatchView &batch) {
  std::vector<void *> args;
  for (const Operand &operand : operands)
    args.push_back(operand.memory);
  const auto bytes = size_t(roundUp(scratch.lookup(fn.getSymName()) + 64, 64));
  std::unique_ptr<void, decltype(&std::free)> room(std::aligned_alloc(64, bytes), std::free);
  const auto kernel = code.function(fn.getSymName().str());
  // The launch runs in parts, as threads would run it. Their scratch memory holds bytes that other kernels left.
  const int64_t items = itemsOf(fn, batch), parts = std::min(items, kParts);
  const bool cyclic = fn.launch().workItems().cyclic;
  for (int64_t part = parts; part-- > 0;) {
    std::memset(room.get(), kLeftByOthers, bytes);
    const int64_t begin = cyclic ? part : items * part / parts,
                  end = cyclic ? items : items * (part + 1) / parts;
    kernel(args.data(), &batch, begin, end, cyclic ? parts : 1, static_cast<char *>(room.get()), 0);
  }
  return "";
}

double CodeOnCpu::allowed(kernel::FuncOp fn, size_t, const BatchView &, double slack) {
  double bound = boundOf(fn, kBounds);
  if (auto attention = dyn_cast<kernel::AttentionOp>(fn.anchor())) {
    const KvFormat format = attention.getKv().getType().getFormat();
    if (format == KvFormat::Int8)
      bound += kInt8Attention;
    if (normsHeads)
      bound += format == KvFormat::F32 ? kNormedScores : kRoundedKeys;
  } else if (auto matmul = dyn_cast<kernel::MatmulOp>(fn.anchor())) {
    if (level.isa.bf16Dot && matmul.getFastFloat() && matmul.xType().getKind() == RowKind::F32)
      bound += kBf16;
  }
  return slack * bound;
}

std::string CodeOnCpu::textOf(kernel::FuncOp fn) {
  for (kernel::FuncOp own : level.kernels)
    if (own.getSymName() == fn.getSymName())
      if (auto text = codegen::cpu::printKernel(own, level.isa, codegen::cpu::CodeText::Assembly);
          succeeded(text))
        return *text;
  return "";
}

Result<std::vector<CodeAgreement>> compiler::checkCode(ModuleOp plan, ArrayRef<CodeOfLevel> levels,
                                                       double slack) {
  std::vector<std::unique_ptr<CodeOnCpu>> owned;
  SmallVector<CodeUnderCheck *> codes;
  for (const CodeOfLevel &level : levels) {
    auto code = LoadedCode::load(level.image);
    if (!code)
      return code.error();
    owned.push_back(std::make_unique<CodeOnCpu>(plan, level, std::move(*code)));
    codes.push_back(owned.back().get());
  }
  return checkKernels(plan, codes, slack);
}

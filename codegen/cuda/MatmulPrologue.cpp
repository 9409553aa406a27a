//===- MatmulPrologue.cpp - See MatmulPrologue.h ---------------------------===//
//
// `compute_x` computes rows of x into shared memory with all threads of the block. It passes over all
// rows once for each statistic and once more to store. The sum of a statistic is split as in
// RowRegion.h, whatever the number of warps in the block.
//===----------------------------------------------------------------------===//
#include "codegen/cuda/MatmulPrologue.h"
#include "codegen/cuda/RowRegion.h"
#include "dialects/kernel/ops/Region.h"
#include "dialects/kernel/ops/Rows.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;

/// The columns of one mma: the largest number of tokens that a block computes.
static constexpr int64_t kMostTokens = 8;

namespace {

class PrologueEmitter {
public:
  PrologueEmitter(KernelText &k, kernel::RowwiseOp op, const MatmulShape &shape)
      : k(k), op(op), region(k, op.getBody(), op.getInputs()), n(shape.k),
        threads(32 * shape.parts), warps(rowWarps(n)), tokens(std::min(kMostTokens, k.mostCount())),
        stride(llvm::alignTo(n, 64) * 2 + 16 /* shared_row_bytes */) {}

  FailureOr<MatmulPrologue> emit() {
    int64_t statistics = region.stats().size();
    MatmulPrologue made{tokens, "", tokens * stride + statistics * tokens * warps * 4};
    std::string parameters;
    for (auto [i, value] : llvm::enumerate(op.getInputs())) {
      std::string name = ("in" + Twine(i)).str();
      k.name(value, name);
      parameters += ", const float *" + name;
      made.arguments += ", " + name;
    }
    k.line("");
    k.line(
        "DEVICE SharedRows compute_x(u8 *shared, i32 first, i32 rows{0}, const BatchView *batch) {{",
        parameters);
    k.line("static_assert(shared_row_bytes({0}) == {1}, \"what the launch asks for\");", n, stride);
    if (statistics) {
      k.line("const i32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;");
      k.line("float *sums = (float *)(shared + {0});", tokens * stride);
    }
    for (int64_t i = 0; i < statistics; ++i)
      if (failed(emitSums(i)))
        return failure();
    if (failed(emitRows()))
      return failure();
    k.line("return SharedRows{{shared, {0}};", stride);
    k.write("}");
    return made;
  }

private:
  /// Opens the loop over rows and prints the per-row values that are known before statistic `end`.
  LogicalResult openRow(int64_t end) {
    k.line("for (i32 t = 0; t < rows; t++) {{");
    k.line(op.getGather() ? "const i32 row = batch->rowTokens[first + t];"
                          : "const i32 row = first + t;");
    region.restart();
    for (int64_t i = 0; i < end; ++i) {
      if (failed(region.emitUniform(region.stats()[i])))
        return failure();
      std::string name = "s" + std::to_string(region.nextNumber());
      k.line("const float {0} = div_f32(sum_of_warps<{1}>(sums + ({2} + t) * {1}), {3});", name,
             warps, i * tokens, floatText(double(n)));
      region.setMean(region.stats()[i], name);
    }
    bool all = end == int64_t(region.stats().size());
    return region.emitUniform(all ? nullptr : kernel::RowStatOp(region.stats()[end]));
  }

  LogicalResult emitSums(int64_t number) {
    if (failed(openRow(number)))
      return failure();
    k.line("for (i32 w = warp; w < {0}; w += {1}) {{", warps, threads / 32);
    k.line("float sum = 0.0f;");
    k.line("for (i32 i = 32 * w + lane; i < {0}; i += {1}) {{", n, 32 * warps);
    kernel::RowStatOp stat = region.stats()[number];
    FailureOr<std::string> value = RowRegion::Elements(region, "row")(stat.getValue());
    if (failed(value))
      return failure();
    k.line("sum += {0};", *value);
    k.write("}");
    k.line("sum = warp_sum(sum);");
    k.line("if (lane == 0)");
    k.line("  sums[({0} + t) * {1} + w] = sum;", number * tokens, warps);
    k.write("}");
    k.write("}");
    k.line("sync_block();");
    return success();
  }

  LogicalResult emitRows() {
    if (failed(openRow(region.stats().size())))
      return failure();
    k.line("u16 *x = (u16 *)(shared + t * {0});", stride);
    k.line("for (i32 i = threadIdx.x; i < {0}; i += {1}) {{", n, threads);
    FailureOr<std::string> value = RowRegion::Elements(region, "row")(region.yielded().front());
    if (failed(value))
      return failure();
    k.line("x[i] = f32_to_bf16({0});", *value);
    k.write("}");
    if (int64_t padded = llvm::alignTo(n, 64); padded != n) {
      k.line("for (i32 i = {0} + threadIdx.x; i < {1}; i += {2})", n, padded, threads);
      k.line("  x[i] = 0;");
    }
    k.write("}");
    k.line("sync_block();");
    return success();
  }

  KernelText &k;
  kernel::RowwiseOp op;
  RowRegion region;
  int64_t n, threads, warps, tokens, stride;
};

} // namespace

FailureOr<MatmulPrologue> ingot::codegen::cuda::emitPrologue(KernelText &k, kernel::RowwiseOp rows,
                                                             const MatmulShape &shape) {
  return PrologueEmitter(k, rows, shape).emit();
}

//===- Kernels.cpp - Semantics and code of the sample's ops -----------------===//
#include "Sample.h"

#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Norm.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace ingot;

//===----------------------------------------------------------------------===//
// sample.qk_norm_rope
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> sample::QkNormRopeOp::decompose(OpBuilder &b) {
  auto turned = [&](Value rows, Value norm) -> Value {
    const int64_t heads = lm::widthOf(rows) / headDim();
    Value normed = lm::RmsNormOp::create(b, getLoc(), rows.getType(), rows, norm, getEpsAttr(),
                                         b.getI64IntegerAttr(heads), b.getF32FloatAttr(0));
    return lm::RopeOp::create(b, getLoc(), rows.getType(), normed, getFrequencies(), getBatch(),
                              b.getI64IntegerAttr(heads),
                              lm::RopeStyleAttr::get(b.getContext(), lm::RopeStyle::Half),
                              b.getF32FloatAttr(1));
  };
  return SmallVector<Value>{turned(getQ(), getQNorm()), turned(getK(), getKNorm())};
}

int64_t sample::QkNormRopeOp::operationsPerRow() {
  return 8 * (lm::widthOf(getQ()) + lm::widthOf(getK()));
}

/// {0}: eps.
static constexpr const char *kTurnMlir = R"(
func.func private @turn(%x: memref<?xf32>, %w: memref<?xf32>, %f: memref<?xf32>, %p: f32, %y: memref<?xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %eps = arith.constant {0} : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %width = memref.dim %w, %c0 : memref<?xf32>
  %half = memref.dim %f, %c0 : memref<?xf32>
  %count = arith.index_cast %width : index to i64
  %countf = arith.sitofp %count : i64 to f32
  scf.for %head = %c0 to %n step %width {{
    %sum = scf.for %i = %c0 to %width step %c1 iter_args(%s = %zero) -> (f32) {{
      %at = arith.addi %head, %i : index
      %v = memref.load %x[%at] : memref<?xf32>
      %vv = arith.mulf %v, %v : f32
      %next = arith.addf %s, %vv : f32
      scf.yield %next : f32
    }
    %mean = arith.divf %sum, %countf : f32
    %more = arith.addf %mean, %eps : f32
    %root = math.sqrt %more : f32
    %scale = arith.divf %one, %root : f32
    scf.for %i = %c0 to %half step %c1 {{
      %j = arith.addi %i, %half : index
      %first = arith.addi %head, %i : index
      %second = arith.addi %head, %j : index
      %xa = memref.load %x[%first] : memref<?xf32>
      %xb = memref.load %x[%second] : memref<?xf32>
      %wa = memref.load %w[%i] : memref<?xf32>
      %wb = memref.load %w[%j] : memref<?xf32>
      %sa = arith.mulf %xa, %scale : f32
      %sb = arith.mulf %xb, %scale : f32
      %a = arith.mulf %sa, %wa : f32
      %b = arith.mulf %sb, %wb : f32
      %frequency = memref.load %f[%i] : memref<?xf32>
      %angle = arith.mulf %p, %frequency : f32
      %cos = math.cos %angle : f32
      %sin = math.sin %angle : f32
      %ac = arith.mulf %a, %cos : f32
      %bs = arith.mulf %b, %sin : f32
      %bc = arith.mulf %b, %cos : f32
      %as = arith.mulf %a, %sin : f32
      %ya = arith.subf %ac, %bs : f32
      %yb = arith.addf %bc, %as : f32
      memref.store %ya, %y[%first] : memref<?xf32>
      memref.store %yb, %y[%second] : memref<?xf32>
    }
  }
  return
}
func.func @row(%q: memref<?xf32>, %k: memref<?xf32>, %qNorm: memref<?xf32>, %kNorm: memref<?xf32>,
               %f: memref<?xf32>, %position: i64, %turnedQ: memref<?xf32>, %turnedK: memref<?xf32>) {{
  %p = arith.sitofp %position : i64 to f32
  call @turn(%q, %qNorm, %f, %p, %turnedQ) : (memref<?xf32>, memref<?xf32>, memref<?xf32>, f32, memref<?xf32>) -> ()
  call @turn(%k, %kNorm, %f, %p, %turnedK) : (memref<?xf32>, memref<?xf32>, memref<?xf32>, f32, memref<?xf32>) -> ()
  return
}
)";

/// One warp computes one head. {0}: eps, {1}: values per head, {2} and {3}: numbers of q and k heads.
static constexpr const char *kTurnCuda = R"(#include "rope.cuh"
DEVICE void turn(const float *x, const float *w, const float *f, float position, float *y, i32 heads) {{
  constexpr i32 width = {1}, half = width / 2;
  for (i32 head = threadIdx.x / 32; head < heads; head += kThreads / 32) {{
    const i32 lane = threadIdx.x % 32;
    float sum = 0.0f;
    for (i32 i = lane; i < width; i += 32)
      sum += x[head * width + i] * x[head * width + i];
    const float scale = rsqrt_f32(div_f32(warp_sum(sum), (float)width) + {0}f);
    for (i32 i = lane; i < half; i += 32) {{
      const float a = x[head * width + i] * scale * w[i];
      const float b = x[head * width + half + i] * scale * w[half + i];
      float cosine, sine;
      cos_sin(position * f[i], cosine, sine);
      y[head * width + i] = a * cosine - b * sine;
      y[head * width + half + i] = b * cosine + a * sine;
    }
  }
}
DEVICE void row(const float *q, const float *k, const float *q_norm, const float *k_norm, const float *f,
                i32 position, float *turned_q, float *turned_k) {{
  turn(q, q_norm, f, (float)position, turned_q, {2});
  turn(k, k_norm, f, (float)position, turned_k, {3});
}
)";

std::string sample::QkNormRopeOp::kernelBody(StringRef target) {
  const std::string eps = llvm::formatv("{0:e8}", getEps().convertToFloat());
  if (target == "cpu")
    return llvm::formatv(kTurnMlir, eps);
  if (target == "cuda")
    return llvm::formatv(kTurnCuda, eps, headDim(), lm::widthOf(getQ()) / headDim(),
                         lm::widthOf(getK()) / headDim());
  return "";
}

//===----------------------------------------------------------------------===//
// sample.fading
//===----------------------------------------------------------------------===//

LogicalResult sample::FadingOp::evaluateRow(lm::RowOfOp &row) {
  const float keep = getKeep().convertToFloat();
  for (auto [x, s, y] : llvm::zip_equal(row.operands.front(), row.state, row.results.front())) {
    s = keep * s;
    s = s + x;
    y = x / (1.0f + std::abs(s));
  }
  return success();
}

std::string sample::FadingOp::kernelBody(StringRef target) {
  const std::string keep = llvm::formatv("{0:e8}", getKeep().convertToFloat());
  if (target == "cpu")
    return llvm::formatv(R"(
func.func @row(%x: memref<?xf32>, %state: memref<?xf32>, %y: memref<?xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %keep = arith.constant {0} : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {{
    %v = memref.load %x[%i] : memref<?xf32>
    %before = memref.load %state[%i] : memref<?xf32>
    %faded = arith.mulf %before, %keep : f32
    %s = arith.addf %faded, %v : f32
    memref.store %s, %state[%i] : memref<?xf32>
    %size = math.absf %s : f32
    %below = arith.addf %size, %one : f32
    %out = arith.divf %v, %below : f32
    memref.store %out, %y[%i] : memref<?xf32>
  }
  return
}
)",
                         keep);
  if (target == "cuda")
    return llvm::formatv(R"(
DEVICE void row(const float *x, float *state, float *y) {{
  for (i32 i = threadIdx.x; i < {1}; i += kThreads) {{
    const float s = state[i] * {0}f + x[i];
    state[i] = s;
    y[i] = div_f32(x[i], 1.0f + abs_f32(s));
  }
}
)",
                         keep, lm::widthOf(getX()));
  return "";
}

//===----------------------------------------------------------------------===//
// sample.gate, sample.cube: with code for CPUs only
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> sample::GateOp::decompose(OpBuilder &b) {
  auto silu = lm::ActivationKindAttr::get(b.getContext(), lm::ActivationKind::Silu);
  Value active = lm::ActivationOp::create(b, getLoc(), getType(), getGate(), silu);
  return SmallVector<Value>{lm::MulOp::create(b, getLoc(), getType(), active, getUp())};
}

std::string sample::GateOp::kernelBody(StringRef target) {
  return target != "cpu" ? "" : R"(
func.func @row(%gate: memref<?xf32>, %up: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %n = memref.dim %gate, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %g = memref.load %gate[%i] : memref<?xf32>
    %u = memref.load %up[%i] : memref<?xf32>
    %minus = arith.negf %g : f32
    %e = math.exp %minus : f32
    %below = arith.addf %e, %one : f32
    %active = arith.divf %g, %below : f32
    %product = arith.mulf %active, %u : f32
    memref.store %product, %y[%i] : memref<?xf32>
  }
  return
}
)";
}

LogicalResult sample::CubeOp::evaluateRow(lm::RowOfOp &row) {
  for (auto [x, y] : llvm::zip_equal(row.operands.front(), row.results.front()))
    y = x * x * x;
  return success();
}

std::string sample::CubeOp::kernelBody(StringRef target) {
  return target != "cpu" ? "" : R"(
func.func @row(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %square = arith.mulf %v, %v : f32
    %cube = arith.mulf %square, %v : f32
    memref.store %cube, %y[%i] : memref<?xf32>
  }
  return
}
)";
}

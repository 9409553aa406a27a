//===- ReferenceText.cpp - See ReferenceText.h ------------------------------===//
#include "tests/gpu/ReferenceText.h"
#include "codegen/cuda/KernelText.h"
#include "codegen/cuda/MatmulShape.h"
#include "codegen/cuda/RowRegion.h"
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Region.h"
#include "dialects/kernel/ops/Structure.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;
using kernel::ActivationType;
using kernel::RowKind;

namespace {

uint32_t operandOf(Value value) { return cast<BlockArgument>(value).getArgNumber(); }

std::unique_ptr<reference::RowsT> rowsOf(ActivationType type, Value value) {
  auto rows = std::make_unique<reference::RowsT>();
  rows->operand = value ? operandOf(value) : 0;
  rows->n = uint32_t(type.getN()), rows->stride = uint32_t(rowStride(type));
  rows->bf16 = type.getKind() == RowKind::BF16;
  return rows;
}
std::unique_ptr<reference::RowsT> rowsOf(Value value) {
  return rowsOf(cast<ActivationType>(value.getType()), value);
}

/// Opens `KERNEL void NAME(a0, a1, …, more, batch) {`.
void open(KernelText &k, kernel::FuncOp kernel, const std::string &name, StringRef more) {
  std::string parameters;
  for (BlockArgument argument : kernel.getBody().getArguments())
    parameters += llvm::formatv("const {0} *a{1}, ", elementText(argument.getType()),
                                argument.getArgNumber());
  k.line("");
  k.line("KERNEL void __launch_bounds__(128) {0}({1}{2}, const BatchView *batch) {{", name,
         parameters, more);
  k.line("pdl_launch();");
  k.line("pdl_wait();");
}
void close(KernelText &k, const std::string &name) {
  k.write("}");
  k.line("EXPORT_KERNEL({0})", name);
}

class ProjectionText {
public:
  ProjectionText(KernelText &k, kernel::FuncOp kernel, kernel::MatmulOp op)
      : k(k), kernel(kernel), op(op), shape(op), producer(shape.producer),
        name((kernel.getName() + "_reference").str()), width(op.xType().getN()),
        weights(op.getGated() ? 2 : 1),
        count(op.getExtent() == kernel::Extent::Rows
                  ? "batch->rows"
                  : "batch->tokens * " + std::to_string(op.rowsOfToken())) {}

  LogicalResult emit() {
    for (const char *header : {"formats.cuh", "matmul_f32.cuh", "region_math.cuh", "routes.cuh"})
      k.include(header);
    for (BlockArgument argument : kernel.getBody().getArguments())
      k.name(argument, ("a" + Twine(argument.getArgNumber())).str());
    if (producer && failed(emitX()))
      return failure();
    auto aux = op.getAux().begin();
    for (int64_t s = 0; s < op.segments(); ++s) {
      SmallVector<Value> own(aux, aux + op.getAuxCounts()[s]);
      aux += op.getAuxCounts()[s];
      if (failed(emitValue(s, own)))
        return failure();
      emitSums(s, own, /*fp8=*/false);
      if (op.getXFp8())
        emitSums(s, own, /*fp8=*/true);
    }
    return success();
  }

  std::unique_ptr<reference::ProjectionT> describe() {
    auto p = std::make_unique<reference::ProjectionT>();
    p->per_row = op.getExtent() == kernel::Extent::Rows;
    p->x = rowsOf(op.xType(), producer ? Value() : Value(op.getX()));
    p->computes = bool(producer);
    if (op.getXFp8())
      p->x_fp8 = int32_t(operandOf(op.getXFp8()));
    for (Value weight : op.getWeights())
      p->weights.push_back(operandOf(weight));
    for (ValueRange values :
         {ValueRange(op.getAux()), producer ? ValueRange(producer.getInputs()) : ValueRange()})
      for (Value value : values)
        if (isa<ActivationType>(value.getType()))
          p->inputs.push_back(rowsOf(value));
    for (int64_t s = 0; s < op.segments(); ++s) {
      const bool fusedValues = !op.getFused().empty();
      Value output = fusedValues ? shape.storedAt(op, s) : op.getOutputs()[s];
      p->outputs.push_back(
          rowsOf(kernel::activationTypeOf(output ? output : op.getFused()[s]), output));
    }
    p->gathers = producer && producer.getGather();
    if (op.getRoutes()) {
      p->routes = int32_t(operandOf(op.getRoutes()));
      p->experts = uint32_t(op.experts()), p->used = uint32_t(op.rowsOfToken());
    }
    if (kernel::ArgmaxOp argmax = shape.argmax)
      p->keys = int32_t(operandOf(argmax.getKeys()));
    if (kernel::RopeAppendOp append = shape.append) {
      kernel::KvPoolType kv = append.getKv().getType();
      p->kv = int32_t(operandOf(append.getKv()));
      p->kv_heads = uint32_t(kv.getKvHeads()), p->head_dim = uint32_t(kv.getHeadDim());
      if (append.getTable()) {
        p->table = int32_t(operandOf(append.getTable()));
        p->rotary = uint32_t(append.getTable().getType().getN());
        p->interleaved = append.getStyle() == lm::RopeStyle::Interleaved;
        p->inputs.push_back(rowsOf(append.getTable()));
      }
    }
    return p;
  }

private:
  /// One thread computes one row. The sums of statistics are in f64, in order.
  LogicalResult emitX() {
    RowRegion region(k, producer.getBody(), producer.getInputs());
    const int64_t stride = rowStride(op.xType());
    open(k, kernel, name + "_x", "u16 *x");
    k.line("const i32 t = blockIdx.x * 128 + threadIdx.x;");
    k.line("if (t >= {0}) {{", count);
    k.line("return;");
    k.write("}");
    k.line(producer.getGather() ? "const i32 row = batch->rowTokens[t];" : "const i32 row = t;");
    for (kernel::RowStatOp stat : region.stats()) {
      if (failed(region.emitUniform(stat)))
        return failure();
      int number = region.nextNumber();
      k.line("double sum{0} = 0.0;", number);
      k.line("for (i32 i = 0; i < {0}; i++) {{", width);
      FailureOr<std::string> value = RowRegion::Elements(region, "row")(stat.getValue());
      if (failed(value))
        return failure();
      k.line("sum{0} += (double){1};", number, *value);
      k.write("}");
      k.line("const float s{0} = (float)(sum{0} / {1}.0);", number, width);
      region.setMean(stat, "s" + std::to_string(number));
    }
    if (failed(region.emitUniform(nullptr)))
      return failure();
    k.line("for (i32 i = 0; i < {0}; i++) {{", width);
    FailureOr<std::string> value = RowRegion::Elements(region, "row")(region.yielded().front());
    if (failed(value))
      return failure();
    k.line("x[(i64)t * {0} + i] = f32_to_bf16({1});", stride, *value);
    k.write("}");
    k.line("for (i32 i = {0}; i < {1}; i++)", width, stride);
    k.line("  x[(i64)t * {0} + i] = 0;", stride);
    close(k, name + "_x");
    return success();
  }

  LogicalResult emitValue(size_t s, ArrayRef<Value> aux) {
    std::string parameters;
    KernelText::Texts arguments;
    for (int64_t i = 0; i < weights; ++i)
      arguments.push_back(llvm::formatv("sum[{0}]", i));
    for (size_t i = 0; i < aux.size(); ++i) {
      arguments.push_back("aux" + std::to_string(i));
      parameters += ", float " + arguments.back();
    }
    k.line("");
    k.line("DEVICE float value_{0}(const float (&sum)[{1}]{2}) {{", s, weights, parameters);
    FailureOr<KernelText::Texts> yielded = k.region(op.getEpilogues()[s], arguments);
    if (failed(yielded))
      return failure();
    k.line("return {0};", yielded->front());
    k.write("}");
    return success();
  }

  /// One thread computes one row of the weight. blockIdx.y is the token.
  void emitSums(size_t s, ArrayRef<Value> aux, bool fp8) {
    const int64_t n = op.segmentRows(int64_t(s));
    std::string own = name + (fp8 ? "_fp8_" : "_") + std::to_string(s);
    const WeightFormat id =
        cast<lm::WeightType>(op.getWeights()[s * weights].getType()).getFormat();
    const std::string format = shape.f32 ? panelText(id).str() : k.format(id);
    open(k, kernel, own,
         !producer ? "float *value, float *allowed, float limit"
                   : "const u16 *x_rows, float *value, float *allowed, float limit");
    k.line("const i32 row = blockIdx.x * 128 + threadIdx.x, token = blockIdx.y;");
    k.line("if (token >= {0} || row >= {1}) {{", count, n);
    k.line("return;");
    k.write("}");
    if (op.getRoutes()) {
      k.line("const Routes routes(a{0}, batch, {1});", operandOf(op.getRoutes()), op.rowsOfToken());
      k.line("i32 place = 0;");
      k.line("while (routes.segment(place).end <= token)");
      k.line("  place++;");
      k.line("const i64 expert = routes.segment(place).expert;");
    }
    k.line("double sums[{0}] = {{}, sizes[{0}] = {{};", weights);
    k.line("for (i32 i = 0; i < {0}; i++) {{", width);
    if (fp8) { // as in fp8_rows.cuh
      int64_t codes = llvm::alignTo(width, 128);
      k.line("const u8 *rowOfX = a{0} + (i64)token * {1};", operandOf(op.getXFp8()),
             cast<ActivationType>(op.getXFp8().getType()).rowBytes());
      k.line("const i32 in = i % 16;");
      k.line("const double x = (double)e4m3_to_f32(rowOfX[i - in + in % 8 / 2 * 4 + in % 2 * 2 + "
             "in / 8]) *");
      k.line("                 (double)*(const float *)(rowOfX + {0} + i / 128 * 4);", codes);
    } else if (shape.f32) {
      k.line("const double x = a{0}[(i64)token * {1} + i];", operandOf(op.getX()),
             rowStride(op.xType()));
    } else {
      k.line("const double x = bf16_to_f32({0}[(i64)token * {1} + i]);",
             !producer ? "a" + std::to_string(operandOf(op.getX())) : "x_rows",
             rowStride(op.xType()));
    }
    const auto stack = kernel::fragmentLayoutOf(op.segmentWeight(int64_t(s)));
    if (shape.f32) { // one weight
      k.line("u32 words[{0}::words];", format);
      k.line("{0}::load<{1}>(words, a{2} + row / 32 * {0}::panelBytes({1}), row % 32, i / 4 * 4,",
             format, width, operandOf(op.getWeights()[s]));
      k.line("{0}    weight_stream(true));", std::string(format.size(), ' '));
    }
    for (int64_t w = 0; w < weights; ++w) {
      if (shape.f32)
        k.line("const double w{0} = {1}::number(words, i % 4);", w, format);
      else
        k.line(
            "const double w{0} = {1}::value(a{2}{4}, {1}::tileBytes({3}), row, i);", w, format,
            operandOf(op.getWeights()[s * weights + w]), width,
            op.getRoutes()
                ? llvm::formatv(" + expert * {0}", stack.tilesOfMatrix() * stack.tileBytes()).str()
                : "");
      k.line("sums[{0}] += w{0} * x;", w);
      k.line("sizes[{0}] += w{0} * x < 0.0 ? -(w{0} * x) : w{0} * x;", w);
    }
    k.write("}");
    std::string rest;
    for (Value value : aux) {
      auto rows = dyn_cast<ActivationType>(value.getType());
      std::string at = rows ? llvm::formatv("(i64)token * {0} + row", rowStride(rows)).str()
                       : op.getRoutes()
                           ? llvm::formatv("expert * {0} + row", llvm::alignTo(n, kPanelRows)).str()
                           : "row";
      rest += llvm::formatv(", a{0}[{1}]", operandOf(value), at);
    }
    k.line("float sum[{0}];", weights);
    for (int64_t w = 0; w < weights; ++w)
      k.line("sum[{0}] = (float)sums[{0}];", w);
    k.line("const float result = value_{0}(sum{1});", s, rest);
    k.line("float most = 0.0f;");
    for (int64_t w = 0; w < weights; ++w)
      for (const char *sign : {"+", "-"}) {
        k.line("sum[{0}] = (float)(sums[{0}] {1} limit * sizes[{0}]);", w, sign);
        k.line("most = max_f32(most, abs_f32(value_{0}(sum{1}) - result));", s, rest);
        k.line("sum[{0}] = (float)sums[{0}];", w);
      }
    k.line("value[(i64)token * {0} + row] = result;", n);
    // The sum of either weight may be off.
    k.line("allowed[(i64)token * {0} + row] = most{1};", n, weights == 2 ? " * 2.0f" : "");
    close(k, own);
  }

  KernelText &k;
  kernel::FuncOp kernel;
  kernel::MatmulOp op;
  const codegen::cuda::MatmulShape shape;
  kernel::RowwiseOp producer;
  std::string name;
  int64_t width, weights;
  std::string count; ///< number of rows of y
};

/// One warp computes one row (a query head of a token). Its lanes take positions in turn, first for the largest score,
/// then for Σ p v and Σ p in f64.
constexpr const char *kAttention = R"(
DEVICE double exp_f64(double x) { // x <= 0; Taylor's sum of the rest of ln 2
  if (x < -700.0)
    return 0.0;
  const i32 n = (i32)(x * 1.4426950408889634 - 0.5);
  const double r = x - n * 0.6931471805599453;
  double term = 1.0, sum = 1.0;
  for (i32 i = 1; i < 20; i++) {
    term = term * r / i;
    sum += term;
  }
  return sum * as_f64((u64)(n + 1023) << 52);
}
DEVICE double lane_sum(double v) {
  for (i32 distance = 16; distance; distance /= 2) {
    const u64 bits = as_u64(v);
    const u32 hi = shfl_xor((u32)(bits >> 32), distance), lo = shfl_xor((u32)bits, distance);
    v += as_f64((u64)hi << 32 | lo);
  }
  return v;
}

struct Vectors {
  const u8 *pool;
  const i32 *pages;
  i32 head;

  MEMBER double element(i32 position, i32 d, bool ofV) const {
    const u8 *page = pool + (i64)pages[position / 32] * kPageBytes;
    const i64 vector = ((ofV ? kKvHeads : 0) + head) * 32 + position % 32;
    if (kFp8)
      return (double)e4m3_to_f32(page[vector * kHeadDim + d]) *
             (double)*(const float *)(page + 2 * kKvHeads * 32 * kHeadDim + vector * 4);
    return bf16_to_f32(*(const u16 *)(page + (vector * kHeadDim + d) * 2));
  }
  MEMBER double score(const float *q, i32 position) const {
    double sum = 0.0;
    for (i32 d = 0; d < kHeadDim; d++)
      sum += (double)bf16_to_f32(f32_to_bf16(q[d])) * element(position, d, false);
    sum *= (double)kScale;
    if (kSoftcap != 0.0f) {
      const double x = sum / (double)kSoftcap, e = exp_f64(x < 0.0 ? 2.0 * x : -2.0 * x);
      sum = (double)kSoftcap * (x < 0.0 ? (e - 1.0) / (1.0 + e) : (1.0 - e) / (1.0 + e));
    }
    return sum;
  }
};
)";
constexpr const char *kAttentionBody =
    R"(  const i32 head = blockIdx.x, token = blockIdx.y, lane = threadIdx.x;
  if (token >= batch->tokens)
    return;
  const i32 last = batch->positions[token],
            first = kWindow && last >= kWindow ? last - kWindow + 1 : 0;
  const Vectors kv{pool, batch->blockTable + batch->sequenceOf[token] * batch->blockTableStride,
                   head / (kHeads / kKvHeads)};
  const float *own = q + (i64)token * kQStride + head * kHeadDim;
  const double sink = sinks ? (double)sinks[head] : -1e300; // one position more, without a value
  double most = sink;
  for (i32 i = first + lane; i <= last; i += 32) {
    const double score = kv.score(own, i);
    most = score > most ? score : most;
  }
  for (i32 distance = 16; distance; distance /= 2) {
    const u64 bits = as_u64(most);
    const u32 hi = shfl_xor((u32)(bits >> 32), distance), lo = shfl_xor((u32)bits, distance);
    const double other = as_f64((u64)hi << 32 | lo);
    most = other > most ? other : most;
  }
  double o[kHeadDim], size[kHeadDim], l = 0.0;
  for (i32 d = 0; d < kHeadDim; d++)
    o[d] = size[d] = 0.0;
  for (i32 i = first + lane; i <= last; i += 32) {
    const double p = exp_f64(kv.score(own, i) - most);
    l += p;
    for (i32 d = 0; d < kHeadDim; d++) {
      const double v = kv.element(i, d, true);
      o[d] += p * v;
      size[d] += p * (v < 0.0 ? -v : v);
    }
  }
  l = lane_sum(l) + exp_f64(sink - most);
  for (i32 d = 0; d < kHeadDim; d++) {
    const double sum = lane_sum(o[d]) / l, sizes = lane_sum(size[d]) / l;
    if (lane == 0) {
      value[(i64)token * (kHeads * kHeadDim) + head * kHeadDim + d] = (float)sum;
      allowed[(i64)token * (kHeads * kHeadDim) + head * kHeadDim + d] = (float)(limit * sizes);
    }
  }
)";

std::unique_ptr<reference::AttentionT> emitAttention(KernelText &k, kernel::FuncOp kernel,
                                                     kernel::AttentionOp op) {
  kernel::KvPoolType kv = op.getKv().getType();
  auto made = std::make_unique<reference::AttentionT>();
  made->q = rowsOf(op.getQ()), made->output = rowsOf(op.getOutput());
  made->kv = operandOf(op.getKv());
  made->heads = uint32_t(op.getHeads());
  made->kv_heads = uint32_t(kv.getKvHeads()), made->head_dim = uint32_t(kv.getHeadDim());
  made->fp8 = kv.getFormat() == KvFormat::FP8;
  k.include("batch.cuh");
  k.line("");
  k.line("constexpr i32 kHeads = {0}, kKvHeads = {1}, kHeadDim = {2}, kWindow = {3}, kQStride = "
         "{4};",
         op.getHeads(), kv.getKvHeads(), kv.getHeadDim(), op.getWindow(),
         rowStride(op.getQ().getType()));
  k.line("constexpr bool kFp8 = {0};", made->fp8 ? "true" : "false");
  k.line("constexpr i32 kPageBytes = round_up(2 * kKvHeads * 32 * (kHeadDim * {0} + {1}), 64);",
         made->fp8 ? 1 : 2, made->fp8 ? 4 : 0);
  k.line("constexpr float kScale = {0}, kSoftcap = {1};",
         floatText(op.getScale().convertToDouble()), floatText(op.getSoftcap().convertToDouble()));
  k.write(kAttention);
  std::string name = (kernel.getName() + "_reference").str();
  open(k, kernel, name, "float *value, float *allowed, float limit");
  k.line("const float *q = a{0};", operandOf(op.getQ()));
  k.line("const u8 *pool = a{0};", operandOf(op.getKv()));
  k.line("const float *sinks = {0};",
         op.getSinks() ? "a" + std::to_string(operandOf(op.getSinks())) : "nullptr");
  k.write(kAttentionBody);
  close(k, name);
  return made;
}

} // namespace

FailureOr<std::unique_ptr<reference::KernelT>>
ingot::codegen::cuda::referenceOf(kernel::FuncOp kernel, CudaProgram &program) {
  auto made = std::make_unique<reference::KernelT>();
  made->name = kernel.getName().str();
  made->operands = kernel.getBody().getNumArguments();
  made->least = uint64_t(kernel.leastCount()), made->most = uint64_t(kernel.mostCount());
  KernelText k(kernel);
  if (auto op = dyn_cast<kernel::MatmulOp>(kernel.anchor())) {
    ProjectionText text(k, kernel, op);
    if (failed(text.emit()))
      return failure();
    made->projection = text.describe();
  } else if (auto op = dyn_cast<kernel::AttentionOp>(kernel.anchor())) {
    made->attention = emitAttention(k, kernel, op);
  } else {
    return std::unique_ptr<reference::KernelT>();
  }
  program = k.finish();
  return made;
}

//===- Custom.cpp - kernel.custom for GPUs ----------------------------------===//
//
// The text of a user-supplied kernel defines `DEVICE void row(…)` and the functions that it calls. All
// threads of a block call it together, for one token. Its parameters are the operands of the lm op, in
// order, then its results:
//
//   const float *   the token's row of an activation buffer, or a vector
//   i32             the token's position
//   float *         a state, in shared memory, or a row to write
//
// In addition to the device library it may use kThreads, and kWidth0, kWidth1, …, the widths of its
// parameters. If there is a state, a block iterates over the tokens of a span. It loads the state before
// the first token, and stores it after each token for which the span lists a write.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Custom.h"
#include "codegen/cuda/Emitters.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;
using kernel::ActivationType;

static constexpr uint32_t kThreads = 128;
/// The most state values in shared memory. They take 32 of the 48 KB that a block has by default; the
/// rest is for the body's own use.
static constexpr int64_t kMostStateValues = 8192;

static int64_t stateValues(kernel::CustomOp op) {
  return op.getState() ? op.getState().getType().getLayout().getStreams().front().values() : 0;
}

std::string ingot::codegen::cuda::refusalOf(kernel::CustomOp op) {
  const int64_t values = stateValues(op);
  return values <= kMostStateValues ? ""
                                    : "has a state of " + std::to_string(values) + " values; " +
                                          std::to_string(kMostStateValues) + " fit on GPUs";
}

/// Returns the text with its #include lines left blank, so that line numbers do not change. `k` includes
/// their headers instead.
static std::string withoutHeaders(KernelText &k, StringRef text) {
  std::string rest;
  while (!text.empty()) {
    auto [line, behind] = text.split('\n');
    StringRef header = line.trim();
    if (header.consume_front("#include \"") && header.consume_back("\""))
      k.include(header);
    else
      rest += line;
    rest += '\n';
    text = behind;
  }
  return rest;
}

/// `row(x0 + …, position, state, y0 + …);`
static std::string callOf(kernel::CustomOp op) {
  SmallVector<std::string> arguments;
  int64_t number = 0;
  for (Value memory : op.memoryOfArguments()) {
    if (!memory)
      arguments.push_back("batch->positions[token]");
    else if (auto rows = dyn_cast<ActivationType>(memory.getType()))
      arguments.push_back(llvm::formatv("x{0} + (i64)token * {1}", number++, rowStride(rows)));
    else if (memory == op.getState())
      arguments.push_back("state");
    else
      arguments.push_back("x" + std::to_string(number++));
  }
  for (auto [i, output] : llvm::enumerate(op.getOutputs()))
    arguments.push_back(llvm::formatv("y{0} + (i64)token * {1}", i,
                                      rowStride(cast<ActivationType>(output.getType()))));
  return "outside::row(" + llvm::join(arguments, ", ") + ");";
}

/// `kWidth0`, `kWidth1`, …: the number of values of each parameter of `row`; 1 for a position.
static std::string widthsOf(kernel::CustomOp op) {
  std::string text;
  SmallVector<Value> memory = op.memoryOfArguments();
  llvm::append_range(memory, op.getOutputs());
  for (auto [i, of] : llvm::enumerate(memory)) {
    auto rows = of ? dyn_cast<ActivationType>(of.getType()) : ActivationType();
    const int64_t width = rows                  ? rows.getN()
                          : !of                 ? 1
                          : of == op.getState() ? stateValues(op)
                                                : cast<lm::WeightType>(of.getType()).rows();
    text += llvm::formatv("constexpr i32 kWidth{0} = {1};\n", i, width);
  }
  return text;
}

static void emitCall(KernelText &k, kernel::CustomOp op) {
  k.write(callOf(op));
  for (auto [i, output] : llvm::enumerate(op.getOutputs())) {
    auto rows = cast<ActivationType>(output.getType());
    if (int64_t stride = rowStride(rows); stride != rows.getN())
      k.line("pad_rows<{0}, {1}>(y{2}, token, token + 1);", rows.getN(), stride, i);
  }
}

static void emitSpan(KernelText &k, kernel::CustomOp op) {
  auto copy = [&](const char *to, const char *from) {
    k.line("for (i32 i = threadIdx.x; i < {0}; i += kThreads) {{", stateValues(op));
    k.line("{0} = {1};", to, from);
    k.write("}");
  };
  k.line("if (blockIdx.x >= batch->spanCount) {{");
  k.line("return;");
  k.write("}");
  k.line("SHARED(float, state, [{0}]);", stateValues(op));
  k.line("const StateSpan span = batch->stateSpans[blockIdx.x];");
  k.line("const float *before = (const float *)(states + (i64)span.from * {0});",
         op.getState().getType().slotBytes());
  copy("state[i]", "span.from < 0 ? 0.0f : before[i]");
  k.line("const StateWrite *write = batch->stateWrites + span.firstWrite;");
  k.line("const StateWrite *last = write + span.writes;");
  k.line("for (i32 token = span.firstToken; token < span.firstToken + span.tokens; token++) {{");
  k.line("sync_block();");
  emitCall(k, op);
  k.line("sync_block();");
  k.line("for (; write < last && write->token == token; write++) {{");
  k.line("float *to = (float *)(states + (i64)write->slot * {0});",
         op.getState().getType().slotBytes());
  copy("to[i]", "state[i]");
  k.write("}");
  k.write("}");
}

LogicalResult ingot::codegen::cuda::emitCustom(KernelText &k, kernel::CustomOp op) {
  k.include("batch.cuh");
  k.include("region_math.cuh");
  k.prelude(llvm::formatv("constexpr i32 kThreads = {0};\n{3}namespace outside {{\n"
                          "#line 1 \"body of {1}\"\n{2}} // namespace outside\n",
                          kThreads, op.getOrigin(), withoutHeaders(k, op.getBody()), widthsOf(op))
                .str());
  for (auto [i, v] : llvm::enumerate(op.getInputs()))
    k.name(v, "x" + std::to_string(i));
  for (auto [i, v] : llvm::enumerate(op.getOutputs()))
    k.name(v, "y" + std::to_string(i), /*written=*/true);
  if (op.getState())
    k.name(op.getState(), "states", /*written=*/true);
  k.open("", kThreads).grid[0] = {op.getState() ? LaunchExtent::Spans : LaunchExtent::Tokens, 1, 1};
  k.line("pdl_wait();");
  if (op.getState()) {
    emitSpan(k, op);
  } else {
    k.line("const i32 token = blockIdx.x;");
    k.line("if (token >= batch->tokens) {{");
    k.line("return;");
    k.write("}");
    emitCall(k, op);
  }
  k.close();
  return success();
}

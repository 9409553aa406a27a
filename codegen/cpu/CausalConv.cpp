//===- CausalConv.cpp - kernel.causal_conv: depthwise convolution over past rows ---===//
//
// A work item is a sequence's tokens of this step (a span) times a block of channels. Therefore the
// same item reads the snapshot that the span begins with and writes the later ones:
//
//   scratch   the taps - 1 rows before the span, of these channels        copied, since the
//             from the slot that the span begins with, or zeros           slot may be written
//   y[t]      w[0] x[t-taps+1] + … + w[taps-1] x[t] (+ bias)              rows before the span: scratch
//   snapshots the taps - 1 newest rows up to a token, oldest first        into the requested slot
//
// Products are rounded and added one after another, the oldest first, so a row does not depend on
// where the step began. Vectors have 16 lanes at every level; channels past the last have weights of 0.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/CausalConv.h"
#include "codegen/cpu/Emitters.h"
#include "codegen/cpu/RowwiseLanes.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;
using kernel::kConvChannels;

namespace {

class CausalConvEmitter {
public:
  CausalConvEmitter(KernelBuilder &k, kernel::CausalConvOp op)
      : k(k), op(op), f32x16(k.vec(k.f32, kRowLanes)), channels(op.getX().getType().getN()),
        history(op.historyRows()), rowBytes(op.getX().getType().rowBytes()) {}

  void emit() {
    const int64_t full = channels / kConvChannels, rest = channels % kConvChannels,
                  blocks = full + (rest ? 1 : 0);
    k.forEachItem([&](Value item) {
      readSpan(k.divUnsigned(item, blocks));
      Value block = k.remUnsigned(item, blocks);
      if (full && rest) {
        k.when(k.less(block, k.word(full)), [&] { emitBlock(block, kConvChannels); });
        k.when(k.equal(block, k.word(full)), [&] { emitBlock(block, rest); });
      } else {
        emitBlock(block, full ? kConvChannels : rest);
      }
    });
  }

private:
  Value field(Value of, int64_t offset) { return k.widen(k.load(k.i32, k.at(of, offset)), k.i64); }

  void readSpan(Value number) {
    Value span =
        k.at(k.batchPointer(offsetof(BatchView, stateSpans)), k.mul(number, sizeof(StateSpan)));
    firstToken = field(span, offsetof(StateSpan, firstToken));
    tokens = field(span, offsetof(StateSpan, tokens));
    from = field(span, offsetof(StateSpan, from));
    firstWrite = field(span, offsetof(StateSpan, firstWrite));
    writes = field(span, offsetof(StateSpan, writes));
  }

  /// Calls body(byte in a row of this block, number of existing channels) for each 16 channels.
  void forEachPiece(int64_t width, llvm::function_ref<void(int64_t byte, int64_t count)> body) {
    for (int64_t c = 0; c < width; c += kRowLanes)
      body(c * 4, std::min(kRowLanes, width - c));
  }
  Value load(Value at, int64_t count) {
    return count == kRowLanes ? k.load(f32x16, at) : loadFirst(k, k.f32, at, count);
  }
  void store(Value v, Value to, int64_t count) {
    if (count == kRowLanes)
      k.store(v, to);
    else
      storeFirst(k, v, to, count);
  }

  Value rowOf(Value memory, Value token) {
    return k.at(k.at(k.operand(memory), k.mul(token, rowBytes)), offset);
  }
  Value slot(Value number) {
    return k.at(k.at(k.operand(op.getState()), k.mul(number, op.getState().getType().slotBytes())),
                offset);
  }
  Value remembered(Value row) { return k.at(k.scratch, k.mul(row, kConvChannels * 4)); }
  /// Returns the address of input row `s` of the span; negative rows come before the span.
  Value inputRow(Value s) {
    return k.select(k.less(s, k.word(0)), remembered(k.add(s, history)),
                    rowOf(op.getX(), k.add(firstToken, s)));
  }

  void emitBlock(Value block, int64_t width) {
    offset = k.mul(block, kConvChannels * 4);
    emitHistory(width);
    k.loop(k.word(0), tokens, k.word(1), [&](Value s) { emitRow(s, width); });
    k.loop(k.word(0), writes, k.word(1),
           [&](Value i) { emitSnapshot(k.add(firstWrite, i), width); });
  }

  void emitHistory(int64_t width) {
    Value fresh = k.less(from, k.word(0));
    auto fill = [&](llvm::function_ref<Value(int64_t row, int64_t byte, int64_t count)> value) {
      for (int64_t row = 0; row < history; ++row)
        forEachPiece(width, [&](int64_t byte, int64_t count) {
          k.store(value(row, byte, count), k.at(remembered(k.word(row)), byte));
        });
    };
    k.when(fresh, [&] { fill([&](int64_t, int64_t, int64_t) { return k.splat(f32x16, 0); }); });
    k.when(k.less(k.word(-1), from), [&] {
      Value state = slot(from);
      fill([&](int64_t row, int64_t byte, int64_t count) {
        return load(k.at(state, row * channels * 4 + byte), count);
      });
    });
  }

  void emitRow(Value s, int64_t width) {
    KernelBuilder::Values inputs;
    for (int64_t tap = 0; tap < history; ++tap)
      inputs.push_back(inputRow(k.add(s, tap - history)));
    inputs.push_back(rowOf(op.getX(), k.add(firstToken, s)));
    Value weights = k.at(k.operand(op.getWeight()), offset),
          to = rowOf(op.getOutput(), k.add(firstToken, s));
    forEachPiece(width, [&](int64_t byte, int64_t count) {
      Value sum;
      for (auto [tap, input] : llvm::enumerate(inputs)) {
        Value weight = load(k.at(weights, int64_t(tap) * channels * 4 + byte), count),
              product = k.fmul(weight, k.load(f32x16, k.at(input, byte)));
        sum = sum ? k.fadd(sum, product) : product;
      }
      if (op.getBias())
        sum = k.fadd(sum, load(k.at(k.at(k.operand(op.getBias()), offset), byte), count));
      k.store(sum, k.at(to, byte));
    });
    if (channels % kConvChannels == width) // padding after the last sixteen
      for (int64_t byte = roundUp(width, kRowLanes) * 4; byte < roundUp(width, kPanelRows) * 4;
           byte += kRowLanes * 4)
        k.store(k.splat(f32x16, 0), k.at(to, byte));
  }

  /// Writes the snapshot of the state after a token.
  void emitSnapshot(Value number, int64_t width) {
    Value write = k.at(k.batchPointer(offsetof(BatchView, stateWrites)),
                       k.mul(number, sizeof(StateWrite))),
          to = slot(field(write, offsetof(StateWrite, slot))),
          s = k.sub(field(write, offsetof(StateWrite, token)), firstToken);
    for (int64_t row = 0; row < history; ++row) {
      Value input = inputRow(k.add(s, row + 1 - history));
      forEachPiece(width, [&](int64_t byte, int64_t count) {
        store(k.load(f32x16, k.at(input, byte)), k.at(to, row * channels * 4 + byte), count);
      });
    }
  }

  KernelBuilder &k;
  kernel::CausalConvOp op;
  VectorType f32x16;
  int64_t channels, history, rowBytes;
  Value firstToken, tokens, from, firstWrite, writes; ///< of the span
  Value offset; ///< bytes from a row's start to the block's channels
};

} // namespace

LogicalResult ingot::codegen::cpu::emitCausalConv(KernelBuilder &k, kernel::CausalConvOp op) {
  CausalConvEmitter(k, op).emit();
  return success();
}

int64_t ingot::codegen::cpu::causalConvScratchBytes(kernel::CausalConvOp op) {
  return op.historyRows() * kConvChannels * 4;
}

//===- CausalConvTest.cpp - Convolutions against scalar C++, bit for bit ----===//
#include "PanelReference.h"
#include "tests/codegen/ConvReference.h"

using namespace ingot;
using namespace ingot::codegen::cpu;
using namespace ingot::codegen::cpu::test;
using ingot::test::ConvCase;

namespace {

Buffer<float> bufferOf(const std::vector<float> &values) {
  Buffer<float> buffer(values.size());
  std::ranges::copy(values, buffer.data());
  return buffer;
}

/// Checks the kernels' results for a case, with all spans in one thread's call or with the items
/// divided between two.
void expectReference(const ConvCase &of, const LoadedKernels &code, const char *isa, int threads) {
  Buffer<float> x = bufferOf(of.x), weight = bufferOf(of.weight), bias = bufferOf(of.bias),
                states = bufferOf(of.states), y(of.y.size());
  std::memset(y.data(), 0xff, y.bytes());
  BatchView batch = of.batch();
  batch.stateSpans = of.spans.data(), batch.stateWrites = of.writes.data();
  std::vector<void *> args{x.data(), weight.data()};
  if (of.biased)
    args.push_back(bias.data());
  args.push_back(states.data()), args.push_back(y.data());
  const int64_t items = batch.spanCount * ((of.channels + 127) / 128);
  for (int thread = threads - 1; thread >= 0; --thread)
    code.call("k", args, batch, thread, items, threads);
  EXPECT_TRUE(x.intact() && weight.intact() && states.intact() && y.intact());
  const auto first = static_cast<size_t>(of.spans.front().firstToken * of.stride()),
             last = static_cast<size_t>((of.spans.back().firstToken + of.spans.back().tokens) *
                                        of.stride());
  for (size_t i = first; i < last; ++i)
    ASSERT_EQ(y[i], of.y[i]) << isa << ", " << of.channels << " channels, row " << i / of.stride()
                             << " at " << i % of.stride();
  for (size_t i = 0; i < of.states.size(); ++i)
    ASSERT_EQ(states[i], of.statesAfter[i])
        << isa << ", " << of.channels << " channels, slot " << i * 4 / of.slotBytes();
}

TEST(CausalConv, IsTheReferences) {
  for (auto [channels, history, biased] :
       {std::tuple(7, 2, false), {42, 3, true}, {128, 1, true}, {200, 2, true}, {272, 6, false}}) {
    ConvCase of(channels, history, biased);
    KernelModule module(of.kernel("k"));
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      ASSERT_TRUE(code);
      for (int threads : {1, 2})
        expectReference(of, code, std::string(isa->name).c_str(), threads);
    }
  }
}

/// Runs a prompt in chunks. Each chunk continues from the snapshot that the previous one left.
TEST(CausalConv, WhereAStepBeginsChangesNoBit) {
  ConvCase whole(200, 3, true);
  whole.spans = {{0, 17, -1, 0, 1, 0}}, whole.writes = {{16, 2}};
  whole.compute();
  KernelModule module(whole.kernel("k"));
  LoadedKernels code(module, *hostIsas().front());
  ASSERT_TRUE(code);
  for (int32_t size : {1, 2, 5}) {
    ConvCase pieces = whole;
    std::vector<float> y;
    for (int32_t from = 0; from < 17; from += size) {
      const int32_t count = std::min(size, 17 - from);
      pieces.spans = {{from, count, from ? 2 : -1, 0, 1, 0}};
      pieces.writes = {{from + count - 1, 2}};
      pieces.compute();
      expectReference(pieces, code, "avx2", 1);
      pieces.states = pieces.statesAfter;
      y.insert(y.end(), pieces.y.begin() + from * pieces.stride(),
               pieces.y.begin() + (from + count) * pieces.stride());
    }
    EXPECT_EQ(y, whole.y) << "pieces of " << size;
    EXPECT_EQ(pieces.states, whole.statesAfter) << "pieces of " << size;
  }
}

} // namespace

//===- CausalConvTest.cpp - Convolutions on the emulator match the CPU -------===//
#include "CudaRunner.h"
#include "tests/codegen/ConvReference.h"

using namespace ingot;
using namespace ingot::codegen::cuda;
using namespace ingot::codegen::cuda::test;
using ingot::test::ConvCase;

namespace {

TEST(CudaCausalConv, IsTheReferences) {
  const ConvCase cases[] = {{42, 3, true}, {128, 1, false}, {200, 2, true}};
  std::string text;
  for (size_t i = 0; i < std::size(cases); ++i)
    text += cases[i].kernel("conv" + std::to_string(i));
  onEveryBuild(text, [&](Emulated &gpu, const HostKernels &) {
    for (size_t i = 0; i < std::size(cases); ++i) {
      const ConvCase &of = cases[i];
      BatchView batch = of.batch();
      batch.stateSpans = gpu.put(of.spans), batch.stateWrites = gpu.put(of.writes);
      float *states = gpu.put(of.states, "states", false), *y = gpu.make<float>(of.y.size());
      std::vector<const void *> operands{gpu.put(of.x), gpu.put(of.weight)};
      if (of.biased)
        operands.push_back(gpu.put(of.bias));
      operands.push_back(states), operands.push_back(y);
      // Launch as graphs do: with blocks for more sequences than exist.
      gpu.launch("conv" + std::to_string(i), operands, batch, /*wait=*/true, /*more=*/3);
      EXPECT_EQ(gpu.get(y, of.y.size()), of.y) << of.channels << " channels";
      EXPECT_EQ(gpu.get(states, of.states.size()), of.statesAfter) << of.channels << " channels";
    }
  });
}

} // namespace

//===- EngineCostTest.cpp - Step times, from an engine's costs -----------------===//
#include "runtime/session/EngineCost.h"
#include "runtime/engine/GpuMachine.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::runtime;

namespace {

/// A program of two layers, each with the launches of kernels 0, 1, … in order.
class Program {
public:
  explicit Program(std::string target) {
    table.abi = std::make_unique<fb::AbiT>();
    table.code.push_back(std::make_unique<fb::CodeObjectT>());
    table.code[0]->target = std::move(target);
    table.sections.push_back(std::make_unique<fb::SectionT>());
    table.sections[0]->name = "layer";
    table.sections[0]->cases.push_back(std::make_unique<fb::CaseT>());
    table.entries.push_back(std::make_unique<fb::EntryT>());
    table.entries[0]->name = "generate";
    for (int layer = 0; layer < 2; ++layer)
      table.entries[0]->steps.push_back(std::make_unique<fb::StepT>());
  }
  /// Adds a specialisation in front, for steps of at most that many tokens, with the launches added so far.
  void addCase(uint64_t mostTokens) {
    auto &cases = table.sections[0]->cases;
    cases.insert(cases.begin(), std::make_unique<fb::CaseT>(*cases.back()));
    cases.front()->when.push_back(std::make_unique<fb::ConditionT>());
    cases.front()->when[0]->quantity = fb::Quantity::Tokens,
    cases.front()->when[0]->value = mostTokens;
  }
  /// Adds a launch to the last specialisation.
  fb::KernelCostT &add() {
    auto launch = std::make_unique<fb::LaunchT>();
    launch->kernel = uint32_t(table.kernels.size());
    table.sections[0]->cases.back()->launches.push_back(std::move(launch));
    table.kernels.push_back(std::make_unique<fb::KernelT>());
    table.kernels.back()->name = "k";
    table.kernels.back()->grid = std::make_unique<fb::GridT>();
    auto list = std::make_unique<fb::KernelVariantsT>();
    list->variants.push_back(variant());
    table.code[0]->variants.push_back(std::move(list));
    table.code[0]->costs.push_back(std::make_unique<fb::KernelCostT>());
    return *table.code[0]->costs.back();
  }
  StepCostTable cost(int64_t mostTokens = 4096, int threads = 1) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Program::Pack(builder, &table));
    return engineCost(*flatbuffers::GetRoot<fb::Program>(builder.GetBufferPointer()),
                      table.code[0]->target, threads, mostTokens);
  }

private:
  static std::unique_ptr<fb::VariantT> variant() {
    auto v = std::make_unique<fb::VariantT>();
    v->symbol = "k";
    v->x = std::make_unique<fb::Extent>(fb::GridBase::Constant, 1, 1);
    v->y = std::make_unique<fb::Extent>(fb::GridBase::Constant, 1, 1);
    v->z = std::make_unique<fb::Extent>(fb::GridBase::Constant, 1, 1);
    return v;
  }
  fb::ProgramT table;
};

const GpuMachine &h200 = gpuMachine(90);

TEST(EngineCost, AGpusLaunchTakesWhatBindsAndItsStart) {
  Program program("cuda:sm_90a");
  fb::KernelCostT &cost = program.add();
  // 42 MB take 10 us at an H200's 4.2 TB/s. From about 200 tokens on, the operations take longer.
  cost.predicted = {{1, 50, 42'000'000}, {2048, 102'400, 42'000'000}};
  const StepCostTable table = program.cost();
  EXPECT_NEAR(table.seconds({1, 0, 0}), 2 * (10e-6 + h200.exposedUs * 1e-6), 1e-9);
  EXPECT_NEAR(table.seconds({2048, 0, 0}), 2 * (102.4e-6 + h200.exposedUs * 1e-6), 1e-9);
  EXPECT_NEAR(table.seconds({4096, 0, 0}), 2 * (204.8e-6 + h200.exposedUs * 1e-6), 1e-9);
}

TEST(EngineCost, WithoutAModelRowsAreWhatAGpuReads) {
  Program program("cuda-emulator:sm_90a"); // same costs as the emulated GPU
  program.add().bytes_per_unit = 42'000;
  EXPECT_NEAR(program.cost().seconds({1000, 0, 0}), 2 * (10e-6 + h200.exposedUs * 1e-6), 1e-7);
}

TEST(EngineCost, LaunchesOfOtherCasesTakeNothing) {
  Program program("cuda:sm_90a");
  program.add();
  program.addCase(8);
  program.add();
  const double start = h200.exposedUs * 1e-6;
  EXPECT_NEAR(program.cost().seconds({8, 0, 0}), 2 * start, 1e-12);
  EXPECT_NEAR(program.cost().seconds({16, 0, 0}), 4 * start, 1e-12);
}

TEST(EngineCost, KvIsReadOnceAndMultipliedForEachToken) {
  Program program("cuda:sm_90a");
  fb::KernelCostT &cost = program.add();
  cost.bytes_per_position = 4200;
  cost.operations_per_position = 1000;
  const StepCostTable table = program.cost();
  EXPECT_NEAR(table.perRead, 2e-9, 1e-15);
  EXPECT_NEAR(table.perPosition,
              2 * 1000 / (h200.gops(h200.bf16PerClock) * h200.attentionReached) * 1e-9, 1e-15);
  // A chunk reads once the data that 512 decoding sequences read 512 times.
  StepWork decodes;
  for (int i = 0; i < 512; ++i)
    decodes = decodes + StepWork::chunk(1000, 1);
  EXPECT_EQ(decodes.reads, 512 * 1001);
  EXPECT_LT(table.seconds(StepWork::chunk(1000, 512)), table.seconds(decodes));
}

TEST(EngineCost, NewerGpusAreTakenForTheNewestThatIsKnown) {
  EXPECT_EQ(&gpuMachine(87), &gpuMachine(80));
  EXPECT_EQ(&gpuMachine(103), &gpuMachine(100));
  EXPECT_EQ(&gpuMachine(300), &gpuMachine(120));
  EXPECT_STREQ(gpuMachine(121).name, "GB10");
  EXPECT_EQ(gpuMachineFor("cuda:compute_80"), &gpuMachine(80));
  EXPECT_EQ(gpuMachineFor("cpu:avx2"), nullptr);
  EXPECT_NEAR(h200.gops(h200.bf16PerClock), 989e3, 1e3);
  EXPECT_NEAR(gpuMachine(80).gops(2048), 312e3, 1e3);
}

TEST(EngineCost, ACpusTableKnowsNothingOfReads) {
  Program program("cpu:avx2");
  fb::KernelCostT &cost = program.add();
  cost.predicted = {{1, 1000, 0}, {512, 512'000, 0}};
  cost.bytes_per_position = 4200;
  const StepCostTable table = program.cost(512, 2);
  EXPECT_EQ(table.perRead, 0);
  EXPECT_NEAR(table.seconds({1, 0, 0}), 2 * 0.5e-6, 1e-12);
}

TEST(EngineCost, NoCostsNoPoints) { EXPECT_TRUE(Program("cuda:sm_90a").cost().points.empty()); }

} // namespace

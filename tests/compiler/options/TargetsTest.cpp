//===- TargetsTest.cpp - Targets that errors propose ---------------------------===//
#include "compiler/options/DeviceOptions.h"
#include "runtime/engine/GpuTarget.h"
#include "runtime/engine/Isa.h"
#include "runtime/error/Codes.h"

#include <gtest/gtest.h>
#include <regex>

using namespace ingot;
using namespace ingot::compiler;

namespace {

/// Returns the values of --target in a text.
std::vector<std::string> targetsIn(std::string_view view) {
  static const std::regex kTarget("--target ([A-Za-z0-9:_-]+)");
  const std::string text(view);
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), kTarget), end; at != end; ++at)
    found.push_back((*at)[1]);
  return found;
}

void expectAccepted(const std::string &target) {
  CompileOptions options;
  auto added = addTarget(target, options);
  EXPECT_TRUE(added) << added.error().format();
}

} // namespace

TEST(Targets, ProposedForAGpuAreAcceptedAndRunOnIt) {
  for (runtime::ComputeCapability gpu = 50; gpu < 200; ++gpu) {
    SCOPED_TRACE(gpu);
    const std::string target = runtime::targetForGpu(gpu), fix = runtime::rebuildForGpu(gpu);
    EXPECT_EQ(target.empty(), gpu < 80);
    if (target.empty()) {
      EXPECT_EQ(targetsIn(fix), std::vector<std::string>());
      continue;
    }
    expectAccepted(target);
    EXPECT_TRUE(runtime::gpuTargetNamed(target)->runsOn(gpu)) << target;
    EXPECT_EQ(targetsIn(fix), std::vector<std::string>{target});
  }
}

TEST(Targets, ProposedForAGpuAreTheNewestThatFit) {
  EXPECT_EQ(runtime::targetForGpu(80), "cuda:sm_80");
  EXPECT_EQ(runtime::targetForGpu(86), "cuda:sm_80");
  EXPECT_EQ(runtime::targetForGpu(87), "cuda:sm_80");
  EXPECT_EQ(runtime::targetForGpu(89), "cuda:sm_89");
  EXPECT_EQ(runtime::targetForGpu(90), "cuda:sm_90a");
  EXPECT_EQ(runtime::targetForGpu(103), "cuda:compute_80");
  EXPECT_EQ(runtime::targetForGpu(121), "cuda:sm_121a");
}

TEST(Targets, OfLevelsAreAccepted) {
  for (runtime::IsaLevel level : runtime::isaLevels())
    expectAccepted(std::string(runtime::isaTarget(level)));
}

TEST(Targets, InTheTextsOfCodesAreAccepted) {
  size_t count = 0;
  for (const errors::Entry &entry : errors::all())
    for (std::string_view text : {entry.cause, entry.remedy})
      for (const std::string &target : targetsIn(text)) {
        SCOPED_TRACE(entry.code);
        expectAccepted(target);
        ++count;
      }
  EXPECT_GT(count, 0u);
}

//===- PlantedBugsTest.cpp - Every planted bug is found at its line -----------===//
//
// A comment "bug N" in a kernel marks the lines at which bug N may be reported. A bug without a
// mark has no line (a copy that is never waited for).
//===----------------------------------------------------------------------===//
#include "Scenarios.h"
#include "tests/SourceDir.h"

#include <fstream>
#include <regex>
#include <set>

namespace ingot::emulator {
namespace {

struct Planted {
  int bug;
  const char *kernels;
  Scenario run;
  Rule rule;
  Rule orElse = rule; ///< the rule that another schedule may violate first
};

const Planted kPlanted[] = {
    {1, "gemv", runGemv, Rule::BeforeDependencyWait},
    {2, "gemv", runGemv, Rule::SharedRace},
    {3, "gemv", runGemv, Rule::UninitialisedShared},
    {4, "gemv", runGemv, Rule::SharedBounds},
    {5, "gemv", runGemv, Rule::DivergentBarrier},
    {6, "gemv", runGemv, Rule::DivergentBarrier},
    {7, "gemv", runGemv, Rule::GlobalBounds},
    {8, "gemv", runGemv, Rule::NoDependencyWait},
    {9, "gemv", runGemv, Rule::DivergentWarp},
    {10, "gemm", runGemm, Rule::CopyInFlight},
    {11, "gemm", runGemm, Rule::SharedRace},
    {12, "gemm", runGemm, Rule::SharedRace},
    {13, "gemv", runGemv, Rule::Misaligned},
    {14, "gemv", runGemv, Rule::ConstantWrite},
    {15, "gemm", runGemm, Rule::Misaligned},
    {16, "gemm", runGemm, Rule::CopyNeverWaited},
    {20, "stream", runStream, Rule::Mbarrier},
    {21, "stream", runStream, Rule::Deadlock},
    {22, "stream", runStream, Rule::SharedRace},
    {23, "stream", runStream, Rule::SharedRace},
    {24, "stream", runStream, Rule::Mbarrier},
    {25, "stream", runStream, Rule::SharedRace, Rule::Mbarrier},
    {26, "stream", runStream, Rule::MissingProxyFence},
    {27, "stream", runStream, Rule::CopyNeverWaited},
    {30, "wgmma", runWgmma, Rule::MissingProxyFence},
    {31, "wgmma", runWgmma, Rule::SharedRace},
    {32, "wgmma", runWgmma, Rule::MissingWgmmaFence},
    {40, "grid", runGridPhases, Rule::RaceBetweenBlocks},
    {41, "grid", runGridPhases, Rule::Deadlock},
    {42, "grid", runLastBlock, Rule::RaceBetweenBlocks},
    {50, "cluster", runClusterSum, Rule::Cluster},
    {51, "cluster", runClusterSum, Rule::Cluster},
    {52, "cluster", runClusterRing, Rule::SharedRace},
    {53, "cluster", runClusterRing, Rule::SharedRace},
    {54, "cluster", runClusterSum, Rule::SharedRace},
    {60, "tensor", runTensorBox, Rule::SharedRace},
    {60, "tensor", runTensorBox, Rule::Mbarrier},
    {61, "tensor", runTensorBox, Rule::Misaligned},
    {62, "tensor", runTensorRing, Rule::Mbarrier, Rule::SharedRace},
    {63, "tensor", runTensorRing, Rule::SharedRace, Rule::Mbarrier},
    {64, "tensor", runTensorRing, Rule::Deadlock, Rule::Mbarrier},
};

std::set<int> markedLines(const std::string &file, int bug) {
  std::ifstream in(file);
  EXPECT_TRUE(in.good()) << file;
  std::set<int> lines;
  std::string line;
  const std::regex mark("//.*\\bbug " + std::to_string(bug) + "\\b");
  for (int number = 1; std::getline(in, line); number++)
    if (std::regex_search(line, mark))
      lines.insert(number);
  return lines;
}

void PrintTo(const Planted &planted, std::ostream *out) { *out << ruleName(planted.rule); }

class PlantedBug : public testing::TestWithParam<Planted> {};

TEST_P(PlantedBug, IsFoundAtItsLine) {
  const Planted &planted = GetParam();
  const std::string file =
      test::sourceDir() + "/tests/emulator/kernels/" + std::string(planted.kernels) + ".cu";
  const std::set<int> marked = markedLines(file, planted.bug);
  for (uint32_t seed : {0u, 3u}) {
    KernelSession session(planted.kernels, "bug" + std::to_string(planted.bug), seed);
    planted.run(session, /*numbers=*/false);
    bool found = false;
    std::string all;
    for (const Finding &finding : session.device->findings()) {
      all += finding.format() + "\n";
      const bool here =
          marked.empty() || (finding.where.file.ends_with(std::string(planted.kernels) + ".cu") &&
                             marked.contains(finding.where.line));
      found |= (finding.rule == planted.rule || finding.rule == planted.orElse) && here;
    }
    EXPECT_TRUE(found) << "seed " << seed << ", wanted: " << ruleName(planted.rule) << "\nfound:\n"
                       << all;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, PlantedBug, testing::ValuesIn(kPlanted), [](const auto &info) {
  return std::string(info.param.kernels) + std::to_string(info.param.bug) + "_" +
         std::to_string(info.index);
});

struct Sound {
  const char *name, *kernels;
  Scenario run;
};
const Sound kSound[] = {
    {"gemv", "gemv", runGemv},
    {"gemm", "gemm", runGemm},
    {"stream", "stream", runStream},
    {"wgmma", "wgmma", runWgmma},
    {"gridPhases", "grid", runGridPhases},
    {"lastBlock", "grid", runLastBlock},
    {"clusterSum", "cluster", runClusterSum},
    {"clusterRing", "cluster", runClusterRing},
    {"tensorBox", "tensor", runTensorBox},
    {"tensorRing", "tensor", runTensorRing},
    {"unwrittenRows", "tensor", runUnwrittenRows},
};

void PrintTo(const Sound &sound, std::ostream *out) { *out << sound.kernels; }

class SoundKernel : public testing::TestWithParam<Sound> {};

TEST_P(SoundKernel, PassesCheckedOnEverySchedule) {
  for (uint32_t seed : {0u, 1u, 2u, 7u}) {
    KernelSession session(GetParam().kernels, "checked", seed);
    GetParam().run(session, /*numbers=*/true);
  }
}

TEST_P(SoundKernel, HasTheSameNumbersFast) {
  for (uint32_t seed : {0u, 1u, 2u, 3u, 4u, 5u}) {
    KernelSession session(GetParam().kernels, "fast", seed, /*workers=*/seed % 2 + 1);
    GetParam().run(session, /*numbers=*/true);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, SoundKernel, testing::ValuesIn(kSound),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace ingot::emulator

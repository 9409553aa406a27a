//===- LaunchLimits.cpp - Limits of a launch, by architecture -----------------===//
#include "emulator/host/LaunchLimits.h"

#include <algorithm>

namespace ingot::emulator {
namespace {

constexpr uint64_t kThreads = 1024, kSmBlocks = 32, kLargestCluster = 8;

struct ArchLimits {
  int arch;
  uint64_t blockShared, smShared; ///< bytes: per block after the opt-in, per multiprocessor
  uint64_t multiprocessors;       ///< of a typical device; for resident launches
  uint64_t smThreads;
  bool clusters;
};
constexpr ArchLimits kLimits[] = {
    {80, 163 * 1024, 164 * 1024, 108, 2048, false}, {89, 99 * 1024, 100 * 1024, 128, 1536, false},
    {90, 227 * 1024, 228 * 1024, 132, 2048, true},  {100, 227 * 1024, 228 * 1024, 148, 2048, true},
    {120, 99 * 1024, 100 * 1024, 170, 1536, true},
};

std::string text(const char *what, uint64_t is, uint64_t limit) {
  return std::string(what) + " " + std::to_string(is) + ", the limit is " + std::to_string(limit);
}

} // namespace

std::string launchProblem(const Launch &l, int arch) {
  const ArchLimits *limits = std::find_if(std::begin(kLimits), std::end(kLimits),
                                          [&](const ArchLimits &x) { return x.arch == arch; });
  if (limits == std::end(kLimits))
    return "no architecture sm_" + std::to_string(arch);
  const Extent &g = l.grid, &b = l.block, &c = l.cluster;
  if (!g.count() || !b.count() || !c.count())
    return "an extent of grid, block or cluster is 0";
  if (b.count() > kThreads || b.x > 1024 || b.y > 1024 || b.z > 64)
    return text("threads of a block:", b.count(), kThreads);
  if (g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535)
    return "the grid is " + std::to_string(g.x) + " x " + std::to_string(g.y) + " x " +
           std::to_string(g.z) + ", the limits are 2147483647 x 65535 x 65535";
  if (l.dynamicShared > limits->blockShared)
    return text("bytes of dynamic shared memory:", l.dynamicShared, limits->blockShared);
  if (c.count() > 1 && !limits->clusters)
    return "sm_" + std::to_string(arch) + " has no clusters";
  if (c.count() > kLargestCluster)
    return text("blocks of a cluster:", c.count(), kLargestCluster);
  if (g.x % c.x || g.y % c.y || g.z % c.z)
    return "the cluster does not divide the grid";
  if (!l.resident)
    return {};
  const uint64_t sharedBlocks = limits->smShared / (l.dynamicShared + 1024);
  const uint64_t perSm =
      std::min({limits->smThreads / ((b.count() + 31) / 32 * 32), kSmBlocks, sharedBlocks});
  if (g.count() > perSm * limits->multiprocessors)
    return text("blocks of a resident launch:", g.count(), perSm * limits->multiprocessors);
  return {};
}

} // namespace ingot::emulator

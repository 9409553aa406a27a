//===- Emulator.cpp - The device: memory, launches, findings -------------------===//
#include "emulator/host/Emulator.h"

#include "emulator/host/LaunchLimits.h"
#include "emulator/host/TensorMap.h"
#include "emulator/host/Workers.h"

#include <cstring>

namespace ingot::emulator {
namespace {

class EmulatedDevice final : public Device {
public:
  explicit EmulatedDevice(const Options &options)
      : options(options), memory(options.checked), workers(options.workers) {
    memory.completeBefore = 1;
  }

  Result<void *> allocate(size_t bytes, const std::string &name, bool constant) override {
    if (void *p = memory.allocate(bytes, name, constant))
      return p;
    return Error{ExitCode::Device, "E0720", "no memory for " + name + " on the emulated device",
                 std::to_string(bytes) + " bytes were requested", "choose smaller limits"};
  }
  void free(void *address) override { memory.free(address); }

  void upload(void *to, const void *from, size_t bytes) override {
    memcpy(to, from, bytes);
    memory.wroteFromHost(to, bytes);
  }
  void fill(void *to, uint8_t value, size_t bytes) override {
    memset(to, value, bytes);
    memory.wroteFromHost(to, bytes);
  }
  void download(void *to, const void *from, size_t bytes) const override {
    memcpy(to, from, bytes);
  }

  Result<void> launch(const Launch &launch) override;
  void synchronize() override { memory.completeBefore = launches + 1; }

  std::vector<Finding> findings() const override { return list.resolve(); }
  void clearFindings() override { list.clear(); }

  Result<void> encodeTensorMap(void *map, const TensorMatrix &matrix) const override;

private:
  Options options;
  GlobalMemory memory;
  FindingList list;
  Workers workers;
  u32 launches = 0;
};

Result<void> EmulatedDevice::launch(const Launch &launch) {
  if (const std::string problem = launchProblem(launch, options.arch); !problem.empty())
    return Error{ExitCode::Device, "E0721",
                 "launch of " + launch.name + " is outside the limits of sm_" +
                     std::to_string(options.arch),
                 problem, ""};
  LaunchState state{};
  state.spec = &launch;
  state.memory = &memory;
  state.findings = &list;
  state.seed = options.seed;
  state.checked = options.checked;
  state.number = ++launches;
  if (!launch.pdl)
    memory.completeBefore = state.number;
  if (options.checked)
    state.released = std::make_unique<std::atomic<u8>[]>(launch.grid.count());
  workers.run(state);
  if (launch.pdl && !state.waited && !state.stop) {
    state.broken = true;
    list.add(Rule::NoDependencyWait, launch.name,
             "no thread called pdl_wait: the next launch's wait would not cover what came before",
             {}, {});
  }
  if (!state.broken)
    return {};
  const std::vector<Finding> found = list.resolve();
  for (const Finding &finding : found)
    if (finding.kernel == launch.name)
      return Error{ExitCode::Internal, "E0722", "kernel " + launch.name + " broke a rule of CUDA",
                   finding.format(), ""};
  return {};
}

Result<void> EmulatedDevice::encodeTensorMap(void *map, const TensorMatrix &matrix) const {
  if (const std::string problem = tensorMapProblem(matrix); !problem.empty())
    return Error{ExitCode::Device, "E0721", "a tensor map cannot describe this matrix", problem,
                 ""};
  TensorMapImage image{};
  image.magic = TensorMapImage::kMagic;
  image.matrix = matrix;
  memcpy(map, &image, sizeof image);
  return {};
}

} // namespace
} // namespace ingot::emulator

ingot::emulator::Device *ingotCreateCudaEmulator(const ingot::emulator::Options &options) {
  return std::make_unique<ingot::emulator::EmulatedDevice>(options).release();
}

//===- Device.cpp - See Device.h --------------------------------------------===//
#include "runtime/session/Device.h"

#include "runtime/device/cpu/CpuExecutor.h"
#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/device/cuda/EmulatorDriver.h"
#include "runtime/device/cuda/LibcudaDriver.h"
#include "runtime/session/Session.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

constexpr int64_t kLeastDefaultContext = 256;

/// Halves the default context until it fits. Called only if the user did not set a context.
void fitContext(const EngineFile &file, const fb::Program &program, MemoryLimits &limits,
                uint64_t available) {
  while (available && limits.context > uint64_t(kLeastDefaultContext)) {
    auto planned = memoryPlan(file, limits, program);
    if (!planned || planned->needed() <= available)
      return;
    limits.context /= 2;
  }
}

/// Chooses the limits that the user did not set, for a GPU with `available` bytes free. These are the
/// tokens of a step, the KV pages (from the memory left after everything else), and a context that
/// fits.
Result<void> fitGpuLimits(const EngineFile &file, const fb::Program &program,
                          const SessionOptions &options, MemoryLimits &limits, uint64_t available) {
  if (options.maxBatchTokens == 0) {
    uint64_t tokens = kDefaultGpuBatchTokens;
    while (tokens > kDefaultBatchTokens && program.bytes_per_token() > available / 16 / tokens)
      tokens /= 2;
    limits.maxBatchTokens = std::max(tokens, limits.maxSeqs);
  }
  if (options.kvShare > 0 && !limits.kvBytes) {
    auto planned = memoryPlan(file, limits, program);
    if (!planned)
      return planned.error();
    const uint64_t others = planned->needed() - planned->kv;
    if (others < available) { // otherwise E0715 reports the excess
      uint64_t most = available - others;
      if (planned->slots) // the slots of fixed states grow with the number of pages (slotsFor)
        most = most / 5 * 4;
      limits.kvBytes = uint64_t(double(most) * options.kvShare);
    }
  }
  if (options.context == 0)
    fitContext(file, program, limits, available);
  return {};
}

Result<std::unique_ptr<Executor>> cpuExecutor(std::shared_ptr<EngineFile> file,
                                              const SessionOptions &options, MemoryLimits &limits) {
  const fb::Program &program = *file->table().programs()->Get(0);
  limits.lock = options.lock;
  uint64_t available = cpu::availableMemory();
  if (const uint64_t weights = storedWeightBytes(file->table(), program);
      options.lock && available > weights)
    available -= weights; // locked weights cannot be evicted for other memory
  if (options.kvShare > 0 && !limits.kvBytes)
    limits.kvBytes = uint64_t(double(available) * options.kvShare);
  if (options.context == 0)
    fitContext(*file, program, limits, available);
  std::optional<IsaLevel> isa;
  if (!options.isa.empty())
    isa = isaLevelNamed(options.isa);
  auto executor = cpu::CpuExecutor::create(std::move(file), limits, isa);
  if (!executor)
    return executor.error();
  return std::unique_ptr<Executor>(std::move(*executor));
}

template <bool emulated>
Result<std::unique_ptr<Executor>> gpuExecutor(std::shared_ptr<EngineFile> file,
                                              const SessionOptions &options, MemoryLimits &limits) {
  cuda::EmulatorSetup setup;
  setup.workers = int(limits.threads);
  auto driver = emulated ? cuda::openEmulator(setup) : cuda::openLibcuda();
  if (!driver)
    return driver.error();
  auto picked = cuda::pickGpuCode(file->table(), (*driver)->device(), emulated);
  if (!picked)
    return picked.error();
  auto available = (*driver)->freeMemory();
  if (!available)
    return available.error();
  limits.reserved = (*driver)->device().reserved;
  if (auto fits = fitGpuLimits(*file, *picked->program, options, limits, *available); !fits)
    return fits.error();
  auto executor = cuda::CudaExecutor::create(std::move(*driver), std::move(file), limits,
                                             {.emulated = emulated, .gpu = options.gpu});
  if (!executor)
    return executor.error();
  return std::unique_ptr<Executor>(std::move(*executor));
}

struct Row {
  Device device;
  DeviceKind kind;
  std::string_view name;
  decltype(cpuExecutor) *open;
};

constexpr Row kDevices[] = {
    {Device::Cpu, DeviceKind::Cpu, "cpu", cpuExecutor},
    {Device::Cuda, DeviceKind::Cuda, "cuda", gpuExecutor</*emulated=*/false>},
    {Device::CudaEmulator, DeviceKind::Cuda, "cuda-emulator", gpuExecutor</*emulated=*/true>}};

const Row &rowOf(Device device) { return *std::ranges::find(kDevices, device, &Row::device); }

} // namespace

std::optional<Device> deviceNamed(std::string_view name) {
  const Row *row = std::ranges::find(kDevices, name, &Row::name);
  return row == std::end(kDevices) ? std::nullopt : std::optional(row->device);
}

std::string deviceNames() {
  std::string names;
  for (size_t i = 0; i < std::size(kDevices); ++i)
    names.append(i == 0                        ? ""
                 : i + 1 < std::size(kDevices) ? ", "
                                               : " or ")
        .append(kDevices[i].name);
  return names;
}

DeviceKind kindOf(Device device) { return rowOf(device).kind; }

Result<std::unique_ptr<Executor>> openExecutor(Device device, std::shared_ptr<EngineFile> file,
                                               const SessionOptions &options,
                                               MemoryLimits &limits) {
  return rowOf(device).open(std::move(file), options, limits);
}

} // namespace ingot::runtime

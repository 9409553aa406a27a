//===- EngineOnDevice.h - Runs single kernels of an engine without an executor ----===//
#pragma once

#include "runtime/device/cuda/AttentionSplits.h"
#include "runtime/device/cuda/DeviceMemory.h"
#include "runtime/device/cuda/DummyWeightUnits.h"
#include "runtime/device/cuda/PickCode.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Program.h"

#include <map>
#include <optional>
#include <thread>

namespace ingot::cuda::check {

/// The engine's code and weights on the device, loaded as they are requested.
class EngineOnDevice {
public:
  EngineOnDevice(Driver &driver, runtime::EngineFile &file, PickedCode picked)
      : driver(driver), file(file), picked(picked) {}

  struct Place {
    const fb::Launch *launch;
    const fb::Step *step;
  };
  /// Returns the first place where the program launches a kernel.
  std::optional<Place> find(std::string_view kernel) const {
    for (const fb::Step *step : *runtime::generateEntry(*picked.program).steps())
      for (const fb::Case *one : *picked.program->sections()->Get(step->section())->cases())
        for (const fb::Launch *launch : *one->launches())
          if (picked.program->kernels()->Get(launch->kernel())->name()->string_view() == kernel)
            return Place{launch, step};
    return std::nullopt;
  }
  const fb::KernelVariants &variants(const fb::Launch &launch) const {
    return *picked.code->variants()->Get(launch.kernel());
  }
  Result<Kernel> kernelOf(const fb::Variant &variant) {
    auto found = modules.find(variant.module_());
    if (found == modules.end()) {
      const fb::Module &of = *picked.code->modules()->Get(variant.module_());
      auto module = driver.load(
          file.segment(picked.code->segment()).subspan(of.offset(), of.size()), file.path());
      if (!module)
        return module.error();
      found = modules.emplace(variant.module_(), *module).first;
    }
    return driver.find(found->second, variant.symbol()->str(), variant.shared_bytes());
  }
  AttentionSplitting sharing() const { return AttentionSplitting::of(*picked.program); }
  const fb::Buffer &buffer(uint32_t index) const { return *picked.program->buffers()->Get(index); }
  const fb::State &stateOf(const fb::Step &step) const {
    return *picked.program->states()->Get(step.states()->Get(0));
  }
  uint64_t weightBytes(uint32_t index) const {
    return picked.program->weights()->Get(index)->size();
  }

  /// Makes the weight as the executor does: with the engine's own fill kernel, or on the host.
  Result<Address> weight(uint32_t index) {
    if (auto found = weights.find(index); found != weights.end())
      return found->second.address();
    const fb::Weight &weight = *picked.program->weights()->Get(index);
    auto memory = DeviceMemory::allocate(driver, weight.size(), "weights");
    if (!memory)
      return memory.error();
    Address to = memory->address();
    if (auto ok = fill(index, weight, to); !ok)
      return ok.error();
    weights.emplace(index, std::move(*memory));
    return to;
  }

private:
  Result<void> fill(uint32_t index, const fb::Weight &weight, Address to) {
    if (weight.source() == fb::WeightSource::Stored) {
      std::span<const std::byte> bytes =
          file.segment(weight.segment()).subspan(weight.offset(), weight.size());
      auto ok = driver.copyToDevice(to, bytes.data(), bytes.size());
      return ok ? driver.wait() : ok;
    }
    uint64_t seed = file.table().seed(), tensor = weight.tensor();
    DummyWeightUnits maker(seed, weight);
    for (unsigned i = 0; picked.code->seed_fills() && i < picked.code->seed_fills()->size(); ++i) {
      const fb::SeedFill &fill = *picked.code->seed_fills()->Get(i);
      if (weight.layout() != fb::WeightLayout::Fragment16 ||
          fill.format()->string_view() != weight.format()->string_view())
        continue;
      auto kernel = kernelOf(*fill.variant());
      if (!kernel)
        return kernel.error();
      if (auto ok = driver.clear(to, weight.size()); !ok)
        return ok;
      uint64_t n = weight.shape()->Get(0), k = weight.shape()->Get(1);
      void *arguments[] = {&to, &seed, &tensor, &n, &k};
      Launch launch;
      launch.grid[0] = uint32_t(weight.size() / maker.unitBytes());
      launch.threads = fill.variant()->threads();
      launch.sharedBytes = fill.variant()->shared_bytes();
      if (auto ok = driver.launch(*kernel, launch, arguments); !ok)
        return ok;
      return driver.wait();
    }
    std::vector<std::byte> bytes(weight.size());
    maker.fill(0, bytes, int(std::thread::hardware_concurrency()));
    auto ok = driver.copyToDevice(to, bytes.data(), bytes.size());
    return ok ? driver.wait() : ok;
  }

  Driver &driver;
  runtime::EngineFile &file;
  PickedCode picked;
  std::map<uint32_t, Module> modules;
  std::map<uint32_t, DeviceMemory> weights;
};

} // namespace ingot::cuda::check

//===- KernelUnderTest.h - A kernel of an engine, its naive kernel, and memory for both ----===//
#pragma once

#include "runtime/device/cuda/StepShape.h"
#include "tests/gpu/CheckedStep.h"
#include "tests/gpu/EngineOnDevice.h"

namespace ingot::cuda::check {

class KernelUnderTest {
public:
  KernelUnderTest(Driver &driver, EngineOnDevice &engine, const reference::Kernel &naive)
      : driver(driver), engine(engine), naive(naive) {}

  /// Finds the kernel and loads the naive one. Errors: E0398 if the reference belongs to another
  /// engine.
  Result<void> open();

  uint64_t pageBytes() const { return engine.stateOf(*place.step).page_bytes(); }

  /// Operands with equal keys share one buffer in the program, and also here.
  std::pair<uint32_t, uint32_t> keyOf(uint32_t operand) const {
    return {uint32_t(arg(operand).kind()), arg(operand).index()};
  }
  DeviceMemory &memoryOf(uint32_t operand) { return memories[keyOf(operand)]; }
  Result<void> put(uint32_t operand, const Bytes &bytes);
  Result<Bytes> get(Address from, uint64_t bytes);
  /// Returns the size in bytes of all rows and some more, which the kernel must not touch.
  static uint64_t bytesOf(const reference::Rows &rows, int64_t count) {
    return uint64_t(count + 3) * rows.stride() * (rows.bf16() ? 2 : 4);
  }
  Result<void> sendBatch(const BatchView &view);

  struct Results {
    std::vector<float> value, allowed;
  };
  /// Runs variant `suffix` of the naive kernel over `x` by `y` blocks and returns `count` results.
  Result<Results> reference(const std::string &suffix, uint32_t x, uint32_t y, uint32_t threads,
                            uint64_t count, double limit);
  /// Uses the naive kernel to compute the rows of x that the kernel computes itself. Naive kernels read these
  /// rows from then on.
  Result<Bytes> makeX(uint64_t bytes, int64_t tokens);

  /// Returns the engine's variants that a step of that shape runs: one, or for attention up to two
  /// (for tiles of prompts and for decoding tiles).
  std::vector<const fb::Variant *> variantsOf(const StepShape &shape) const;
  Result<void> launch(const fb::Variant &variant, const StepShape &shape, int64_t rowsOfX);

  /// A byte that the kernel reads is changed while it runs; the naive kernel sees the original.
  struct Plant {
    uint32_t operand;
    uint64_t byte;
    uint8_t bits;
  };
  std::optional<Plant> plant;

  AttentionSplitting sharing() const { return engine.sharing(); }

private:
  const fb::Arg &arg(uint32_t operand) const { return *place.launch->args()->Get(operand); }
  Error otherEngine(std::string why) const;
  Result<void> take(uint32_t operand, uint64_t bytes);
  Result<std::vector<uint64_t>> addresses();
  Result<void> start(Kernel kernel, const Launch &launch, std::vector<uint64_t> values,
                     std::vector<TensorMap> maps = {});
  Result<void> flip();

  Driver &driver;
  EngineOnDevice &engine;
  const reference::Kernel &naive;
  EngineOnDevice::Place place{};
  Module module = nullptr;
  std::map<std::pair<uint32_t, uint32_t>, DeviceMemory> memories;
  DeviceMemory batch;
  std::optional<DeviceMemory> madeX;
};

} // namespace ingot::cuda::check

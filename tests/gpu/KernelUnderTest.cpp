//===- KernelUnderTest.cpp - Operands, launches and their results ---------------------------===//
#include "tests/gpu/KernelUnderTest.h"

#include "runtime/device/cuda/BatchImage.h"

#include <cassert>

using namespace ingot;
using namespace ingot::cuda;
using namespace ingot::cuda::check;

Error KernelUnderTest::otherEngine(std::string why) const {
  return {ExitCode::File, "E0398",
          "the reference of " + naive.name()->str() + " is another engine's", std::move(why),
          "make both from the same model with the same options"};
}

Result<void> KernelUnderTest::open() {
  auto found = engine.find(naive.name()->string_view());
  if (!found)
    return otherEngine("no kernel has that name");
  place = *found;
  if (uint32_t takes = place.launch->args() ? place.launch->args()->size() : 0;
      takes != naive.operands())
    return otherEngine(std::to_string(takes) + " operands, not " +
                       std::to_string(naive.operands()));
  auto loaded = driver.load(
      std::as_bytes(std::span(naive.module_()->data(), naive.module_()->size())), "a reference");
  if (!loaded)
    return loaded.error();
  module = *loaded;
  return {};
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Result<void> KernelUnderTest::take(uint32_t operand, uint64_t bytes) {
  auto memory = DeviceMemory::allocate(driver, bytes, "a test");
  if (!memory)
    return memory.error();
  memoryOf(operand) = std::move(*memory);
  return {};
}

Result<void> KernelUnderTest::put(uint32_t operand, const Bytes &bytes) {
  if (memoryOf(operand).size() < bytes.size())
    if (auto ok = take(operand, bytes.size()); !ok)
      return ok;
  auto ok = driver.copyToDevice(memoryOf(operand).address(), bytes.data(), bytes.size());
  return ok ? driver.wait() : ok;
}

Result<Bytes> KernelUnderTest::get(Address from, uint64_t bytes) {
  Bytes got(bytes);
  if (auto ok = driver.copyToHost(got.data(), from, bytes); !ok)
    return ok.error();
  if (auto ok = driver.wait(); !ok)
    return ok.error();
  return got;
}

/// Returns the arguments of a launch, without its batch.
Result<std::vector<uint64_t>> KernelUnderTest::addresses() {
  std::vector<uint64_t> all;
  for (uint32_t i = 0; i < place.launch->args()->size(); ++i) {
    switch (arg(i).kind()) {
    case fb::ArgKind::Weight:
    case fb::ArgKind::LayerWeight: {
      auto address = engine.weight(runtime::weightIndex(arg(i), *place.step));
      if (!address)
        return address.error();
      all.push_back(*address);
      break;
    }
    case fb::ArgKind::Buffer: // the workspace, which is filled with zeros
      if (!memoryOf(i).address()) {
        uint64_t bytes = engine.buffer(arg(i).index()).per_unit();
        if (auto ok = take(i, bytes); !ok)
          return ok.error();
        if (auto ok = driver.clear(memoryOf(i).address(), bytes); !ok)
          return ok.error();
      }
      [[fallthrough]];
    case fb::ArgKind::State:
      all.push_back(memoryOf(i).address());
    }
  }
  return all;
}

Result<void> KernelUnderTest::sendBatch(const BatchView &view) {
  uint64_t most = 8192 + uint64_t(view.tokens + view.rows) * 64 +
                  uint64_t(view.tiles + kMostSplits) * sizeof(AttentionSplit) +
                  uint64_t(view.tiles) * sizeof(AttentionTile) +
                  uint64_t(view.sequences * view.blockTableStride) * 4;
  if (batch.size() < most) {
    auto memory = DeviceMemory::allocate(driver, most, "the batch");
    if (!memory)
      return memory.error();
    batch = std::move(*memory);
  }
  std::vector<std::byte> image(most);
  uint64_t bytes = packBatch(view, engine.sharing(), batch.address(), image);
  assert(bytes);
  auto ok = driver.copyToDevice(batch.address(), image.data(), bytes);
  return ok ? driver.wait() : ok;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

Result<void> KernelUnderTest::start(Kernel kernel, const Launch &launch,
                                    std::vector<uint64_t> values, std::vector<TensorMap> maps) {
  values.push_back(batch.address());
  std::vector<void *> arguments;
  for (uint64_t &value : values)
    arguments.push_back(&value);
  for (TensorMap &map : maps)
    arguments.push_back(&map);
  auto ok = driver.launch(kernel, launch, arguments.data());
  return ok ? driver.wait() : ok;
}

Result<KernelUnderTest::Results> KernelUnderTest::reference(const std::string &suffix, uint32_t x,
                                                            uint32_t y, uint32_t threads,
                                                            uint64_t count, double limit) {
  auto values = addresses();
  if (!values)
    return values.error();
  auto kernel = driver.find(module, naive.name()->str() + "_reference" + suffix, 0);
  if (!kernel)
    return kernel.error();
  if (madeX)
    values->push_back(madeX->address());
  std::vector<DeviceMemory> made;
  for (int i = 0; i < 2; ++i) {
    auto memory = DeviceMemory::allocate(driver, count * 4, "a reference");
    if (!memory)
      return memory.error();
    values->push_back(memory->address());
    made.push_back(std::move(*memory));
  }
  auto narrow = float(limit);
  uint64_t bits = 0;
  std::memcpy(&bits, &narrow, 4);
  values->push_back(bits);
  Launch launch;
  launch.grid[0] = x, launch.grid[1] = y, launch.threads = threads;
  if (auto ok = start(*kernel, launch, *values); !ok)
    return ok.error();
  Results results;
  for (auto [memory, to] : {std::pair(&made[0], &results.value), {&made[1], &results.allowed}}) {
    to->resize(count);
    if (auto ok = driver.copyToHost(to->data(), memory->address(), count * 4); !ok)
      return ok.error();
  }
  if (auto ok = driver.wait(); !ok)
    return ok.error();
  return results;
}

Result<Bytes> KernelUnderTest::makeX(uint64_t bytes, int64_t tokens) {
  auto memory = DeviceMemory::allocate(driver, bytes, "rows of x");
  if (!memory)
    return memory.error();
  madeX = std::move(*memory);
  auto values = addresses();
  if (!values)
    return values.error();
  auto kernel = driver.find(module, naive.name()->str() + "_reference_x", 0);
  if (!kernel)
    return kernel.error();
  values->push_back(madeX->address());
  Launch launch;
  launch.grid[0] = uint32_t((tokens + 127) / 128), launch.threads = 128;
  if (auto ok = start(*kernel, launch, *values); !ok)
    return ok.error();
  return get(madeX->address(), bytes);
}

std::vector<const fb::Variant *> KernelUnderTest::variantsOf(const StepShape &shape) const {
  const fb::KernelVariants &variants = engine.variants(*place.launch);
  std::vector<const fb::Variant *> chosen;
  for (uint32_t index : variantsFor(variants, shape))
    if (const fb::Variant *variant = variants.variants()->Get(index);
        launchOf(*variant, shape)->grid[0] != 0)
      chosen.push_back(variant);
  return chosen;
}

Result<void> KernelUnderTest::launch(const fb::Variant &variant, const StepShape &shape,
                                     int64_t rowsOfX) {
  auto kernel = engine.kernelOf(variant);
  if (!kernel)
    return kernel.error();
  auto values = addresses();
  if (!values)
    return values.error();
  std::vector<TensorMap> maps;
  for (unsigned i = 0; variant.tensor_maps() && i < variant.tensor_maps()->size(); ++i) {
    const fb::TensorMap &map = *variant.tensor_maps()->Get(i);
    TensorRows rows{};
    rows.base = memoryOf(map.operand()).address();
    rows.bf16 = map.element() == fb::TensorElement::BF16;
    rows.columns = engine.buffer(arg(map.operand()).index()).per_unit() / map.unit_rows() /
                   (rows.bf16 ? 2 : 1);
    rows.rows = uint64_t(rowsOfX);
    rows.boxColumns = map.box_columns(), rows.boxRows = map.box_rows();
    rows.swizzle = map.swizzle();
    auto described = driver.describe(rows);
    if (!described)
      return described.error();
    maps.push_back(*described);
  }
  auto launch = launchOf(variant, shape);
  assert(launch);
  if (plant)
    if (auto ok = flip(); !ok)
      return ok;
  if (auto ok = start(*kernel, *launch, *values, maps); !ok)
    return ok;
  return plant ? flip() : Result<void>();
}

Result<void> KernelUnderTest::flip() {
  auto values = addresses();
  if (!values)
    return values.error();
  const Address at = (*values)[plant->operand] + plant->byte;
  auto byte = get(at, 1);
  if (!byte)
    return byte.error();
  (*byte)[0] ^= plant->bits;
  auto ok = driver.copyToDevice(at, byte->data(), 1);
  return ok ? driver.wait() : ok;
}

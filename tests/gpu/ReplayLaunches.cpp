//===- ReplayLaunches.cpp - The unit tests' launches, on this machine's GPU --------===//
//
//   replay-launches [--device cuda|cuda-emulator] FILE…
//
// Puts memory as it was before each launch on the device, launches, and compares all of it with
// what the emulator left. Prints JSON: how many launches agree, and by kernel the largest
// difference as a part of the largest number beside it. Exit 1 if one is beyond its tolerance, 4
// without a GPU.
//
// Tensor cores add in an order and with a precision of their own (docs/gpu.md), so numbers may
// differ by a little; bytes, ids and what must not be written may not.
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/DeviceMemory.h"
#include "runtime/device/cuda/EmulatorDriver.h"
#include "runtime/device/cuda/LibcudaDriver.h"
#include "runtime/engine/JsonText.h"
#include "tests/gpu/launches_generated.h"

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

using namespace ingot;
using namespace ingot::cuda;

namespace {

/// Of the largest number in the same memory.
constexpr double kF32Tolerance = 1e-3, kBf16Tolerance = 1e-2;

/// An empty list is not there.
template <typename List> auto each(const List *list) {
  std::vector<typename List::return_type> elements;
  if (list)
    elements.assign(list->begin(), list->end());
  return elements;
}

/// Whether all that is named by its number is there.
bool isWhole(const replay::Launches &file) {
  auto blobs = file.blobs() ? file.blobs()->size() : 0;
  for (const replay::Launch *launch : each(file.launches())) {
    auto memories = launch->memories() ? launch->memories()->size() : 0;
    auto arguments = launch->arguments() ? launch->arguments()->size() : 0;
    auto bytesOf = [&](uint32_t memory) {
      return file.blobs()->Get(launch->memories()->Get(memory)->before())->bytes()->size();
    };
    if (!launch->test() || launch->module_() >= blobs)
      return false;
    for (const replay::Memory *memory : each(launch->memories()))
      if (memory->before() >= blobs || memory->after() >= blobs ||
          file.blobs()->Get(memory->before())->bytes()->size() !=
              file.blobs()->Get(memory->after())->bytes()->size())
        return false;
    for (const replay::Argument *argument : each(launch->arguments()))
      if (argument->memory() >= int64_t(memories))
        return false;
    for (const replay::Pointer *pointer : each(launch->pointers()))
      if (pointer->memory() >= memories || pointer->to() >= memories ||
          bytesOf(pointer->memory()) < sizeof(Address) ||
          pointer->offset() > bytesOf(pointer->memory()) - sizeof(Address))
        return false;
    for (const replay::TensorRows *rows : each(launch->maps()))
      if (rows->argument() >= arguments || rows->row_bytes() == 0 ||
          launch->arguments()->Get(rows->argument())->memory() < 0)
        return false;
  }
  return true;
}

struct Outcome {
  uint64_t launches = 0, bitEqual = 0, failed = 0;
  double worst = 0;
  std::string problem; ///< of the first that failed
};

double valueAt(const uint8_t *bytes, replay::Element element) {
  uint32_t word = 0;
  if (element == replay::Element::F32)
    std::memcpy(&word, bytes, 4);
  else
    std::memcpy(reinterpret_cast<uint8_t *>(&word) + 2, bytes, 2);
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

/// The largest difference as a part of the largest number that the launch wrote; infinite where one
/// is a number and the other is not, or where nothing was to be written.
double difference(const replay::Memory &memory, std::span<const uint8_t> before,
                  std::span<const uint8_t> expected, std::span<const uint8_t> got) {
  if (memory.element() == replay::Element::Bytes || memory.before() == memory.after())
    return std::memcmp(expected.data(), got.data(), got.size()) == 0 ? 0 : INFINITY;
  size_t width = memory.element() == replay::Element::F32 ? 4 : 2;
  double largest = 0, worst = 0;
  for (size_t i = 0; i + width <= got.size(); i += width) {
    bool equal = std::memcmp(&expected[i], &got[i], width) == 0;
    double want = valueAt(&expected[i], memory.element()), is = valueAt(&got[i], memory.element());
    if (!std::isfinite(want) || !std::isfinite(is)) {
      if (!equal)
        return INFINITY;
      continue;
    }
    // (What is as it was may have been written all the same: a sum that came out alike.)
    if (std::memcmp(&expected[i], &before[i], width) != 0)
      largest = std::max(largest, std::abs(want));
    worst = std::max(worst, std::abs(want - is));
  }
  return worst == 0 ? 0 : worst / largest;
}

class Replayer {
public:
  Replayer(Driver &driver, const replay::Launches &file) : driver(driver), file(file) {}

  Result<void> run(const replay::Launch &launch, Outcome &outcome) {
    std::vector<DeviceMemory> memories;
    for (const replay::Memory *memory : each(launch.memories())) {
      std::span<const uint8_t> bytes = blob(memory->before());
      auto made = DeviceMemory::allocate(driver, bytes.size(), "a test");
      if (!made)
        return made.error();
      memories.push_back(std::move(*made));
    }
    std::vector<std::vector<uint8_t>> images;
    for (const replay::Memory *memory : each(launch.memories()))
      images.emplace_back(blob(memory->before()).begin(), blob(memory->before()).end());
    for (const replay::Pointer *pointer : each(launch.pointers())) {
      Address to = memories[pointer->to()].address();
      std::memcpy(&images[pointer->memory()][pointer->offset()], &to, sizeof to);
    }
    for (size_t i = 0; i < memories.size(); ++i)
      if (auto ok = driver.copyToDevice(memories[i].address(), images[i].data(), images[i].size());
          !ok)
        return ok;
    if (auto ok = start(launch, memories); !ok)
      return ok;
    double worst = 0;
    for (size_t i = 0; i < memories.size(); ++i) {
      const replay::Memory &memory = *launch.memories()->Get(unsigned(i));
      std::vector<uint8_t> got(images[i].size());
      if (auto ok = driver.copyToHost(got.data(), memories[i].address(), got.size()); !ok)
        return ok;
      if (auto ok = driver.wait(); !ok)
        return ok;
      std::vector<uint8_t> expected(blob(memory.after()).begin(), blob(memory.after()).end());
      for (const replay::Pointer *pointer : each(launch.pointers())) // addresses are this device's
        if (pointer->memory() == i)
          std::memcpy(&expected[pointer->offset()], &images[i][pointer->offset()], sizeof(Address));
      double one = difference(memory, images[i], expected, got);
      double most = memory.element() == replay::Element::F32    ? kF32Tolerance
                    : memory.element() == replay::Element::BF16 ? kBf16Tolerance
                                                                : 0;
      worst = std::max(worst, one);
      if (one > most && outcome.problem.empty())
        outcome.problem = launch.test()->str() + ": memory " + std::to_string(i) + " differs by " +
                          std::to_string(one);
      failed |= one > most;
    }
    ++outcome.launches;
    outcome.bitEqual += worst == 0;
    outcome.failed += failed;
    outcome.worst = std::max(outcome.worst, worst);
    failed = false;
    return {};
  }

private:
  std::span<const uint8_t> blob(uint32_t index) const {
    const auto *bytes = file.blobs()->Get(index)->bytes();
    return {bytes->data(), bytes->size()};
  }

  Result<void> start(const replay::Launch &launch, const std::vector<DeviceMemory> &memories) {
    auto found = modules.find(launch.module_());
    if (found == modules.end()) {
      auto module = driver.load(std::as_bytes(blob(launch.module_())), "a test");
      if (!module)
        return module.error();
      found = modules.emplace(launch.module_(), *module).first;
    }
    auto kernel = driver.find(found->second, launch.symbol()->str(), launch.shared_bytes());
    if (!kernel)
      return kernel.error();
    std::vector<uint64_t> values;
    for (const replay::Argument *argument : each(launch.arguments()))
      values.push_back(argument->memory() < 0
                           ? argument->value()
                           : memories[size_t(argument->memory())].address() + argument->value());
    std::vector<void *> arguments;
    for (uint64_t &value : values)
      arguments.push_back(&value);
    std::vector<TensorMap> maps;
    for (const replay::TensorRows *rows : each(launch.maps())) {
      const DeviceMemory &memory =
          memories[size_t(launch.arguments()->Get(rows->argument())->memory())];
      auto map = driver.describe({memory.address(), /*bf16=*/true, rows->row_bytes() / 2,
                                  memory.size() / rows->row_bytes(), 64, rows->box_rows(),
                                  /*swizzle=*/true});
      if (!map)
        return map.error();
      maps.push_back(*map);
    }
    for (TensorMap &map : maps)
      arguments.push_back(&map);
    Launch how;
    how.cluster = launch.cluster();
    how.grid[0] = launch.grid_x(), how.grid[1] = launch.grid_y();
    how.threads = launch.threads(), how.sharedBytes = launch.shared_bytes();
    if (auto ok = driver.launch(*kernel, how, arguments.data()); !ok)
      return ok;
    return driver.wait();
  }

  Driver &driver;
  const replay::Launches &file;
  std::map<uint32_t, Module> modules;
  bool failed = false;
};

int fail(const Error &error) {
  std::fputs(error.format().c_str(), stderr);
  return int(error.exit);
}

} // namespace

int main(int count, char **arguments) {
  CLI::App app(
      "Repeats the launches of the GPU unit tests and compares what they leave in memory.");
  std::vector<std::string> paths;
  std::string device = "cuda";
  app.add_option("FILE", paths, "written by a test with INGOT_RECORD_LAUNCHES=FILE")->required();
  app.add_option("--device", device)->check(CLI::IsMember({"cuda", "cuda-emulator"}));
  CLI11_PARSE(app, count, arguments);

  auto driver = device == "cuda" ? openLibcuda() : openEmulator();
  if (!driver)
    return fail(driver.error());
  std::map<std::string, Outcome> byKernel;
  Outcome all;
  for (const std::string &path : paths) {
    std::ifstream stream(path, std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
    if (!replay::VerifyLaunchesBuffer(verifier) || !isWhole(*replay::GetLaunches(bytes.data())))
      return fail({ExitCode::File, "E0389", path + " holds no launches", "",
                   "make it again: ./dev gpu-bundle"});
    const replay::Launches &file = *replay::GetLaunches(bytes.data());
    Replayer replayer(**driver, file);
    for (const replay::Launch *launch : each(file.launches())) {
      Outcome &outcome = byKernel[launch->symbol()->str()];
      if (auto ok = replayer.run(*launch, outcome); !ok)
        return fail(ok.error()); // a GPU that has failed runs nothing more
    }
  }
  runtime::JsonText json;
  auto put = [&](const Outcome &outcome) {
    json.key("launches").value(outcome.launches).key("bit_equal").value(outcome.bitEqual);
    json.key("failed").value(outcome.failed).key("largest_difference").value(outcome.worst);
    if (!outcome.problem.empty())
      json.key("problem").value(outcome.problem);
  };
  for (const auto &[symbol, outcome] : byKernel) {
    all.launches += outcome.launches, all.bitEqual += outcome.bitEqual,
        all.failed += outcome.failed;
    all.worst = std::max(all.worst, outcome.worst);
    if (all.problem.empty())
      all.problem = outcome.problem;
  }
  json.open('{').key("device").value((*driver)->device().name);
  put(all);
  json.key("kernels").open('{');
  for (const auto &[symbol, outcome] : byKernel) {
    json.key(symbol).open('{');
    put(outcome);
    json.close();
  }
  json.close().close();
  std::printf("%s\n", json.text().c_str());
  return all.failed != 0;
}

//===- ReplayLaunches.cpp - Replays the unit tests' launches on this machine's GPU ----===//
//
//   replay-launches [--device cuda|cuda-emulator] [--only SYMBOL]… [--most N] [--limit SECONDS] FILE…
//
// Writes memory as it was before each launch to the device, launches, and compares all of it with the
// emulator's results. Then launches again as two nodes of a graph, each over its own memory, with a
// programmatic edge between them if the kernel supports it. Prints a line of JSON for each launch. Symbols
// run one after the other in child processes (Trials.h), so a launch that dies or hangs marks only its own
// symbol. The last line is a summary. Exit status 1 if a result differs by more than its tolerance or was
// lost, 4 without a GPU.
//
// Tensor cores add in their own order and precision (docs/gpu-numerics.md), so numbers may differ slightly;
// bytes, ids and memory that must not be written may not.
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/DeviceMemory.h"
#include "runtime/device/cuda/EmulatorDriver.h"
#include "runtime/device/cuda/LibcudaDriver.h"
#include "runtime/formats/E4M3.h"
#include "runtime/json/JsonText.h"
#include "tests/gpu/Trials.h"
#include "tests/gpu/launches_generated.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

using namespace ingot;
using namespace ingot::cuda;
using replay::Element;

namespace {

constexpr uint64_t kPiece = 4096; ///< bytes; as in LaunchRecorder.h

/// Allowed difference from the emulator's numbers, relative to the largest number that the launch
/// wrote into the same memory. (bf16: if a sum rounds the other way, a number just above a power of
/// two changes by 2^-7 of itself.)
struct Tolerance {
  double f32, bf16;
};
Tolerance toleranceOf(const replay::Launch &launch) {
  std::string_view symbol = launch.symbol()->string_view(), test = launch.test()->string_view();
  // Hopper adds fp8 products with 13 bits of mantissa, truncated. The error is 2^-13 of the largest term at each of
  // four instructions, and sums are smaller than their terms.
  if (symbol.ends_with("_wgmma_fp8"))
    return {4e-3, 1e-2};
  // Probabilities are rounded to bf16 after an exp2 that differs from the emulator's. A probability that rounds the
  // other way changes by 2^-8 of itself, and a context of two positions has only two of them.
  if (test.starts_with("CudaAttention"))
    return {4e-3, 1e-2};
  // f32 sums of bf16 products are off by 2^-23 per term and instruction, and sums are ten or a hundred times smaller.
  return {1e-3, 1e-2};
}
double toleranceOf(const replay::Launch &launch, Element element) {
  switch (element) {
  case Element::Bytes:
    return 0;
  case Element::F32:
  case Element::Key:
    return toleranceOf(launch).f32;
  case Element::BF16:
    return toleranceOf(launch).bf16;
  case Element::E4M3: // 3 bits of mantissa
    return 1.0 / 14;
  }
  return 0;
}

size_t widthOf(Element element) {
  switch (element) {
  case Element::Bytes:
  case Element::E4M3:
    return 1;
  case Element::BF16:
    return 2;
  case Element::F32:
    return 4;
  case Element::Key:
    return 8;
  }
  return 1;
}

/// Treats an absent list as empty: flatbuffers omit empty lists.
template <typename List> auto each(const List *list) {
  std::vector<typename List::return_type> elements;
  if (list)
    elements.assign(list->begin(), list->end());
  return elements;
}

/// Returns whether everything that is referenced by index exists.
bool isWhole(const replay::Launches &file) {
  auto blobs = file.blobs() ? file.blobs()->size() : 0;
  auto holds = [&](const flatbuffers::Vector<uint32_t> *pieces, uint64_t size) {
    if (!pieces || pieces->size() != (size + kPiece - 1) / kPiece)
      return size == 0;
    for (unsigned i = 0; i < pieces->size(); ++i)
      if (pieces->Get(i) >= blobs ||
          file.blobs()->Get(pieces->Get(i))->bytes()->size() != std::min(kPiece, size - i * kPiece))
        return false;
    return true;
  };
  for (const replay::Launch *launch : each(file.launches())) {
    auto memories = launch->memories() ? launch->memories()->size() : 0;
    auto arguments = launch->arguments() ? launch->arguments()->size() : 0;
    auto bytesOf = [&](uint32_t memory) { return launch->memories()->Get(memory)->size(); };
    if (launch->module_() >= blobs)
      return false;
    for (const replay::Memory *memory : each(launch->memories())) {
      if (!holds(memory->before(), memory->size()) || !holds(memory->after(), memory->size()))
        return false;
      for (const replay::View *view : each(memory->views()))
        if (view->element() > Element::MAX || view->from() > memory->size() ||
            view->size() > memory->size() - view->from() ||
            (view->every() && view->every() < view->size()))
          return false;
    }
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

using Bytes = std::vector<uint8_t>;

double f32Of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

double valueAt(const uint8_t *bytes, Element element) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, widthOf(element));
  switch (element) {
  case Element::F32:
    return f32Of(uint32_t(word));
  case Element::BF16:
    return f32Of(uint32_t(word) << 16);
  case Element::E4M3:
    return f32FromE4M3(uint8_t(word));
  case Element::Key: { // encoded to sort as unsigned
    auto sorted = uint32_t(word >> 32);
    return word == 0 ? double(NAN) : f32Of(sorted & 0x80000000u ? sorted ^ 0x80000000u : ~sorted);
  }
  case Element::Bytes:
    break;
  }
  return double(word);
}

/// Returns the largest difference relative to the largest number that the launch wrote; infinite if
/// only one of the two is a number, or if nothing was to be written. Numbers of 1e29 and above are
/// markers (kNoScore of attention.cuh), which must be equal.
double difference(Element element, std::span<const std::pair<size_t, size_t>> ranges,
                  const Bytes &before, const Bytes &expected, const Bytes &got) {
  const size_t width = widthOf(element);
  double largest = 0, worst = 0;
  for (auto [from, size] : ranges)
    for (size_t i = from; i + width <= from + size; i += width) {
      bool equal = std::memcmp(&expected[i], &got[i], width) == 0;
      double want = valueAt(&expected[i], element), is = valueAt(&got[i], element);
      if (!(std::abs(want) < 1e29) || !(std::abs(is) < 1e29)) {
        if (!equal)
          return INFINITY;
        continue;
      }
      // (Unchanged bytes may have been written too: a sum that gave the same value.)
      if (std::memcmp(&expected[i], &before[i], width) != 0)
        largest = std::max(largest, std::abs(want));
      worst = std::max(worst, std::abs(want - is));
    }
  return worst == 0 ? 0 : worst / largest;
}

/// Compares a launch's results with the expected ones.
struct Outcome {
  bool equal = true;
  double worst = 0, limit = 0; ///< of the memory nearest to or furthest beyond its tolerance
  int memory = -1;             ///< index of that memory
  bool wrong() const { return worst > limit; }

  void add(double difference, double tolerance, size_t index) {
    auto share = [](double worst, double limit) { return worst == 0 ? 0 : worst / limit; };
    if (difference != 0 && share(difference, tolerance) >= share(worst, limit))
      worst = difference, limit = tolerance, memory = int(index);
  }
};

void compare(const replay::Launch &launch, size_t index, const Bytes &before, Bytes expected,
             const Bytes &got, Outcome &outcome) {
  if (expected == got)
    return;
  outcome.equal = false;
  const replay::Memory &memory = *launch.memories()->Get(unsigned(index));
  bool constant = std::ranges::equal(*memory.before(), *memory.after());
  std::map<Element, std::vector<std::pair<size_t, size_t>>> ranges;
  for (const replay::View *view : each(memory.views()))
    if (!constant && view->element() != Element::Bytes && view->size())
      for (uint64_t from = view->from(); from <= memory.size() - view->size();
           from += view->every()) {
        ranges[view->element()].push_back({from, view->size()});
        if (!view->every())
          break;
      }
  for (const auto &[element, list] : ranges) {
    outcome.add(difference(element, list, before, expected, got), toleranceOf(launch, element),
                index);
    for (auto [from, size] : list)
      std::copy_n(got.begin() + from, size, expected.begin() + from);
  }
  if (expected != got) // bytes outside every view
    outcome.add(INFINITY, 0, index);
}

class Replayer {
public:
  Replayer(Driver &driver, const replay::Launches &file) : driver(driver), file(file) {}

  Result<Outcome> run(const replay::Launch &launch) {
    Outcome outcome;
    Set first(*this, launch), second(*this, launch);
    if (auto ok = first.fill(); !ok)
      return ok.error();
    if (auto ok = driver.launch(first.node.kernel, first.node.launch, first.node.arguments); !ok)
      return ok.error();
    if (auto ok = first.check(outcome); !ok)
      return ok.error();
    for (Set *set : {&first, &second})
      if (auto ok = set->fill(); !ok)
        return ok.error();
    second.node.after = {0};
    auto graph = driver.createGraph(std::vector<GraphNode>{first.node, second.node});
    if (!graph)
      return graph.error();
    if (auto ok = driver.launch(*graph); !ok)
      return ok.error();
    for (Set *set : {&first, &second})
      if (auto ok = set->check(outcome); !ok)
        return ok.error();
    return outcome;
  }

private:
  Bytes contentOf(const flatbuffers::Vector<uint32_t> *pieces) const {
    Bytes bytes;
    for (uint32_t piece : each(pieces)) {
      auto one = blob(piece);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    return bytes;
  }
  std::span<const uint8_t> blob(uint32_t index) const {
    const auto *bytes = file.blobs()->Get(index)->bytes();
    return {bytes->data(), bytes->size()};
  }

  /// All memory of a launch, and the launch over it.
  struct Set {
    Set(Replayer &replayer, const replay::Launch &launch) : replayer(replayer), launch(launch) {}
    Set(const Set &) = delete; // the arguments' addresses are taken

    /// Restores the memory as it was before the launch; allocates it at the first call.
    Result<void> fill() {
      Driver &driver = replayer.driver;
      if (!node.kernel)
        if (auto ok = make(); !ok)
          return ok;
      for (size_t i = 0; i < memories.size(); ++i)
        if (auto ok =
                driver.copyToDevice(memories[i].address(), images[i].data(), images[i].size());
            !ok)
          return ok;
      return driver.wait();
    }

    Result<void> check(Outcome &outcome) {
      for (size_t i = 0; i < memories.size(); ++i) {
        Bytes got(images[i].size());
        if (auto ok = replayer.driver.copyToHost(got.data(), memories[i].address(), got.size());
            !ok)
          return ok;
        if (auto ok = replayer.driver.wait(); !ok)
          return ok;
        Bytes expected = replayer.contentOf(launch.memories()->Get(unsigned(i))->after());
        for (const replay::Pointer *pointer : each(launch.pointers())) // this device's addresses
          if (pointer->memory() == i)
            std::memcpy(&expected[pointer->offset()], &images[i][pointer->offset()],
                        sizeof(Address));
        compare(launch, i, images[i], std::move(expected), got, outcome);
      }
      return {};
    }

    GraphNode node{};

  private:
    Result<void> make() {
      Driver &driver = replayer.driver;
      for (const replay::Memory *memory : each(launch.memories())) {
        auto made = DeviceMemory::allocate(driver, memory->size(), "a test");
        if (!made)
          return made.error();
        memories.push_back(std::move(*made));
        images.push_back(replayer.contentOf(memory->before()));
      }
      for (const replay::Pointer *pointer : each(launch.pointers())) {
        Address to = memories[pointer->to()].address();
        std::memcpy(&images[pointer->memory()][pointer->offset()], &to, sizeof to);
      }
      for (const replay::Argument *argument : each(launch.arguments()))
        values.push_back(argument->memory() < 0
                             ? argument->value()
                             : memories[size_t(argument->memory())].address() + argument->value());
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
      for (uint64_t &value : values)
        arguments.push_back(&value);
      for (TensorMap &map : maps)
        arguments.push_back(&map);
      auto kernel = replayer.kernelOf(launch);
      if (!kernel)
        return kernel.error();
      node.kernel = *kernel, node.arguments = arguments.data();
      node.launch.grid[0] = launch.grid_x(), node.launch.grid[1] = launch.grid_y();
      node.launch.threads = launch.threads(), node.launch.sharedBytes = launch.shared_bytes();
      node.launch.cluster = launch.cluster(), node.launch.overlap = launch.overlap();
      return {};
    }

    Replayer &replayer;
    const replay::Launch &launch;
    std::vector<DeviceMemory> memories;
    std::vector<Bytes> images; ///< before the launch
    std::vector<uint64_t> values;
    std::vector<TensorMap> maps;
    std::vector<void *> arguments;
  };

  Result<Kernel> kernelOf(const replay::Launch &launch) {
    auto found = modules.find(launch.module_());
    if (found == modules.end()) {
      auto module = driver.load(std::as_bytes(blob(launch.module_())), "a test");
      if (!module)
        return module.error();
      found = modules.emplace(launch.module_(), *module).first;
    }
    return driver.find(found->second, launch.symbol()->str(), launch.shared_bytes());
  }

  Driver &driver;
  const replay::Launches &file;
  std::map<uint32_t, Module> modules;
};

int fail(const Error &error) {
  std::fputs(error.format().c_str(), stderr);
  return int(error.exit);
}

/// A file, and the replayer of its launches in a child.
struct File {
  std::vector<char> bytes;
  const replay::Launches *launches = nullptr;
  std::unique_ptr<Replayer> replayer;
};

Result<void> replayAll(const std::vector<std::pair<File *, const replay::Launch *>> &launches,
                       const test::Print &print) {
  for (auto [file, launch] : launches) {
    auto outcome = file->replayer->run(*launch);
    if (!outcome)
      return outcome.error();
    runtime::JsonText json;
    json.open('{').key("symbol").value(launch->symbol()->str());
    json.key("test").value(launch->test()->str());
    json.key("ok").value(!outcome->wrong()).key("equal").value(outcome->equal);
    if (!outcome->equal) // JSON has no infinity: differing bytes have no number
      json.key("memory").value(outcome->memory).key("worst").value(outcome->worst);
    json.key("limit").value(outcome->limit).close();
    print(outcome->wrong() ? test::Found::Wrong
          : outcome->equal ? test::Found::Equal
                           : test::Found::Near,
          json.text());
  }
  return {};
}

} // namespace

int main(int count, char **arguments) {
  CLI::App app(
      "Repeats the launches of the GPU unit tests and compares what they leave in memory.");
  std::vector<std::string> paths, only;
  std::string device = "cuda";
  test::Trials trials;
  size_t most = SIZE_MAX;
  app.add_option("FILE", paths, "written by a test with INGOT_RECORD_LAUNCHES=FILE")->required();
  app.add_option("--device", device)->check(CLI::IsMember({"cuda", "cuda-emulator"}));
  app.add_option("--only", only, "launches of this symbol alone (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--most", most, "at most so many launches");
  app.add_option("--limit", trials.limit, "seconds that the launches of a symbol may take")
      ->capture_default_str();
  CLI11_PARSE(app, count, arguments);

  std::vector<File> files(paths.size());
  using List = std::vector<std::pair<File *, const replay::Launch *>>;
  std::vector<std::string> symbols; // in order of first occurrence
  std::map<std::string, List> bySymbol;
  uint64_t leftOut = 0;
  for (size_t f = 0; f < paths.size(); ++f) {
    File &file = files[f];
    std::ifstream stream(paths[f], std::ios::binary);
    file.bytes.assign(std::istreambuf_iterator<char>(stream), {});
    flatbuffers::Verifier::Options options;
    options.max_tables = UINT32_MAX;
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(file.bytes.data()),
                                   file.bytes.size(), options);
    if (!replay::VerifyLaunchesBuffer(verifier) ||
        !isWhole(*replay::GetLaunches(file.bytes.data())))
      return fail({ExitCode::File, "E0389", paths[f] + " holds no launches", "",
                   "make it again: ./dev gpu-bundle"});
    file.launches = replay::GetLaunches(file.bytes.data());
    for (const replay::Launch *launch : each(file.launches->launches())) {
      std::string symbol = launch->symbol()->str();
      if (most == 0 || (!only.empty() && std::ranges::find(only, symbol) == only.end()))
        continue;
      --most;
      List &list = bySymbol[symbol];
      if (list.empty())
        symbols.push_back(symbol);
      list.push_back({&file, launch});
    }
    for (const replay::LeftOut *left : each(file.launches->left_out()))
      leftOut += left->launches();
  }

  std::unique_ptr<Driver> driver; // created in a child
  trials.kind = "symbol";
  trials.open = [&]() -> Result<std::string> {
    auto opened = device == "cuda" ? openLibcuda() : openEmulator();
    if (!opened)
      return opened.error();
    driver = std::move(*opened);
    for (File &file : files)
      file.replayer = std::make_unique<Replayer>(*driver, *file.launches);
    return driver->device().name;
  };
  for (const std::string &symbol : symbols)
    trials.all.push_back({symbol, bySymbol[symbol].size(), [&](const test::Print &print) {
                            return replayAll(bySymbol[symbol], print);
                          }});
  auto tally = test::runTrials(trials);
  if (!tally)
    return fail(tally.error());
  runtime::JsonText json;
  json.open('{').key("summary").open('{').key("device").value(tally->device);
  json.key("symbols").value(symbols.size()).key("launches").value(tally->launches);
  json.key("bit_equal").value(tally->equal).key("failed").value(tally->wrong);
  json.key("lost_symbols").value(tally->lost).key("left_out").value(leftOut).close().close();
  std::printf("%s\n", json.text().c_str());
  return tally->wrong != 0 || tally->lost != 0;
}

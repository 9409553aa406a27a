//===- LaunchRecorder.h - Records the launches of unit tests for replay on a GPU ----===//
//
// The tests of GPU kernels run on the emulator. With INGOT_RECORD_LAUNCHES=FILE they also record
// their launches: machine code compiled by NVRTC for sm_90a, and all memory that the launch can
// reach, before and after it. tests/gpu/ReplayLaunches.cpp repeats FILE on a GPU machine that has
// neither compiler nor tests. INGOT_RECORD_TARGET=cuda-emulator records the host's code instead,
// which tests the replay itself.
//
// Memory is cut into pieces and each distinct content is stored once, so the cost of a large
// workspace or pool is only that of the bytes that the tests write into it.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaCodegen.h"
#include "emulator/host/Emulator.h"
#include "runtime/abi/Batch.h"
#include "tests/codegen/TestCode.h"
#include "tests/gpu/launches_generated.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string_view>

namespace ingot::codegen::cuda::test {

/// Memory of the emulated device that a test allocated, and its contents.
struct TestMemory {
  const void *address;
  size_t bytes;
  std::vector<replay::View> views;
};

template <typename T>
constexpr replay::Element elementOf = std::is_same_v<T, float>      ? replay::Element::F32
                                      : std::is_same_v<T, uint16_t> ? replay::Element::BF16
                                                                    : replay::Element::Bytes;

class LaunchRecorder {
public:
  /// Returns null unless launches are to be recorded. The file is written when the program ends.
  static LaunchRecorder *get() {
    static LaunchRecorder recorder;
    return recorder.path ? &recorder : nullptr;
  }

  /// Called before a launch. `arguments` is the number of real arguments; tensor maps follow them.
  void begin(emulator::Device &device, const std::vector<TestMemory> &made,
             const CudaProgram &program, const std::vector<char> &hostImage,
             const emulator::Launch &launch, size_t arguments) {
    now = std::make_unique<replay::LaunchT>();
    reached.clear(), contents.clear();
    const auto *test = testing::UnitTest::GetInstance()->current_test_info();
    now->test = std::string(test->test_suite_name()) + "." + test->name();
    now->module_ = moduleOf(program, hostImage);
    now->symbol = launch.name;
    now->grid_x = launch.grid.x, now->grid_y = launch.grid.y;
    now->threads = launch.block.x, now->shared_bytes = launch.dynamicShared;
    now->cluster = launch.cluster.x;
    now->overlap = launch.pdl;
    for (size_t i = 0; i < arguments; ++i) {
      uint64_t value;
      std::memcpy(&value, launch.arguments[i], sizeof value);
      int memory = reach(device, made, value);
      now->arguments.emplace_back(memory, value - (memory < 0 ? 0 : base(memory)));
    }
    // Finds the lists of the batch, which is the last argument of a step's kernel.
    int batch = now->arguments.back().memory();
    if (batch < 0 || reached[size_t(batch)].bytes != sizeof(BatchView))
      return;
    for (size_t offset = 0; offset < sizeof(BatchView); offset += 8) {
      uint64_t value;
      std::memcpy(&value, contents[size_t(batch)].data() + offset, 8);
      if (int to = reach(device, made, value); to >= 0 && value == base(to))
        now->pointers.emplace_back(uint32_t(batch), offset, uint32_t(to));
    }
  }
  void addTensorRows(size_t argument, uint64_t rowBytes, uint32_t boxRows) {
    now->maps.emplace_back(uint32_t(argument), rowBytes, boxRows);
  }
  /// Called after the launch.
  void end(emulator::Device &device) {
    std::vector<std::vector<uint8_t>> after;
    std::set<std::string_view> fresh;
    size_t added = 0;
    auto count = [&](const std::vector<uint8_t> &bytes) {
      forPieces(bytes, [&](std::string_view piece) {
        if (!blobs.contains(piece) && fresh.insert(piece).second)
          added += piece.size();
      });
    };
    for (const TestMemory &memory : reached)
      after.push_back(bytesOf(device, memory));
    for (auto [before, later] : llvm::zip_equal(contents, after))
      count(before), count(later);
    // Few tokens or positions show the same errors as many.
    if (added > kMostOfSymbol - std::min(kMostOfSymbol, addedBy[now->symbol])) {
      ++leftOut[now->symbol];
      return;
    }
    addedBy[now->symbol] += added;
    for (auto [memory, before, later] : llvm::zip_equal(reached, contents, after)) {
      auto entry = std::make_unique<replay::MemoryT>();
      entry->size = memory.bytes;
      entry->views = memory.views;
      forPieces(before, [&](std::string_view piece) { entry->before.push_back(blobOf(piece)); });
      forPieces(later, [&](std::string_view piece) { entry->after.push_back(blobOf(piece)); });
      now->memories.push_back(std::move(entry));
    }
    out.launches.push_back(std::move(now));
  }

private:
  static constexpr size_t kMostOfSymbol = 5 << 20; ///< bytes in the file per symbol, at most
  static constexpr size_t kPiece = 4096;

  LaunchRecorder() : path(std::getenv("INGOT_RECORD_LAUNCHES")) {
    const char *target = std::getenv("INGOT_RECORD_TARGET");
    forHost = target && std::string_view(target) == "cuda-emulator";
  }
  ~LaunchRecorder() {
    if (!path)
      return;
    for (const auto &[symbol, launches] : leftOut) {
      out.left_out.push_back(std::make_unique<replay::LeftOutT>());
      out.left_out.back()->symbol = symbol, out.left_out.back()->launches = launches;
    }
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(replay::Launches::Pack(builder, &out), replay::LaunchesIdentifier());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
  }

  uint64_t base(int index) const {
    return reinterpret_cast<uintptr_t>(reached[size_t(index)].address);
  }
  /// Returns the index of the memory that contains an address among those that the launch reaches,
  /// adding the memory if necessary; -1 if there is none.
  int reach(emulator::Device &device, const std::vector<TestMemory> &made, uint64_t value) {
    auto holds = [&](const TestMemory &memory) {
      auto start = reinterpret_cast<uintptr_t>(memory.address);
      return value >= start && value < start + memory.bytes;
    };
    if (auto found = llvm::find_if(reached, holds); found != reached.end())
      return int(found - reached.begin());
    auto found = llvm::find_if(made, holds);
    if (found == made.end())
      return -1;
    reached.push_back(*found);
    contents.push_back(bytesOf(device, *found));
    return int(reached.size() - 1);
  }
  static std::vector<uint8_t> bytesOf(emulator::Device &device, const TestMemory &memory) {
    std::vector<uint8_t> bytes(memory.bytes);
    device.download(bytes.data(), memory.address, bytes.size());
    return bytes;
  }
  template <typename Visit> static void forPieces(const std::vector<uint8_t> &bytes, Visit visit) {
    for (size_t at = 0; at < bytes.size(); at += kPiece)
      visit(std::string_view(reinterpret_cast<const char *>(bytes.data()) + at,
                             std::min(kPiece, bytes.size() - at)));
  }
  uint32_t blobOf(std::string_view bytes) {
    auto found = blobs.find(bytes);
    if (found == blobs.end()) {
      found = blobs.emplace(bytes, out.blobs.size()).first;
      out.blobs.push_back(std::make_unique<replay::BlobT>());
      out.blobs.back()->bytes.assign(bytes.begin(), bytes.end());
    }
    return found->second;
  }
  uint32_t moduleOf(const CudaProgram &program, const std::vector<char> &hostImage) {
    if (forHost)
      return blobOf({hostImage.data(), hostImage.size()});
    auto [found, added] = modules.try_emplace(program.source, 0);
    if (added) {
      std::string problem;
      auto compiled = compilePrograms({program}, {"sm_90a"}, 1, problem, ingot::test::testCode());
      EXPECT_TRUE(succeeded(compiled)) << problem;
      if (succeeded(compiled)) {
        const std::vector<char> &code = compiled->front().front().code;
        found->second = blobOf({code.data(), code.size()});
      }
    }
    return found->second;
  }

  const char *path;
  bool forHost;
  replay::LaunchesT out;
  std::map<std::string, uint32_t, std::less<>> blobs, modules; ///< by content; by source
  std::map<std::string, uint32_t> leftOut;                     ///< launches, by symbol
  std::map<std::string, size_t> addedBy;                       ///< bytes, by symbol
  // The current launch.
  std::unique_ptr<replay::LaunchT> now;
  std::vector<TestMemory> reached;
  std::vector<std::vector<uint8_t>> contents; ///< contents of `reached` before the launch
};

} // namespace ingot::codegen::cuda::test

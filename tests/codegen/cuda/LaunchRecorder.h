//===- LaunchRecorder.h - Launches of unit tests, kept for a machine with a GPU -----===//
//
// The tests of GPU kernels run on the emulator. With INGOT_RECORD_LAUNCHES=FILE they also write
// down what they launched: machine code by NVRTC for sm_90a, all memory before the launch, all
// memory after it. tests/gpu/ReplayLaunches.cpp repeats FILE on a GPU, where no compiler and no
// test is. INGOT_RECORD_TARGET=cuda-emulator writes the host's code instead, which tests the replay
// itself.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaCodegen.h"
#include "runtime/device/Batch.h"
#include "runtime/device/cuda_emulator/Emulator.h"
#include "tests/gpu/launches_generated.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <string_view>

namespace ingot::cuda::test {

/// Memory of the emulated device that a test made.
struct TestMemory {
  const void *address;
  size_t bytes;
  replay::Element element;
};

template <typename T>
constexpr replay::Element elementOf = std::is_same_v<T, float>      ? replay::Element::F32
                                      : std::is_same_v<T, uint16_t> ? replay::Element::BF16
                                                                    : replay::Element::Bytes;

class LaunchRecorder {
public:
  /// Null unless launches are asked for. Written when the program ends.
  static LaunchRecorder *get() {
    static LaunchRecorder recorder;
    return recorder.path ? &recorder : nullptr;
  }

  /// Before a launch. `last` is the number of real arguments; tensor maps follow.
  void begin(emulator::Device &device, const std::vector<TestMemory> &memories,
             const CudaProgram &program, const std::vector<char> &hostImage,
             const emulator::Launch &launch, size_t arguments) {
    now.reset();
    // A bundle is to be small: what many tokens or positions show, few show as well.
    if (llvm::any_of(memories, [](const TestMemory &memory) { return memory.bytes > kMostBytes; }))
      return;
    now = std::make_unique<replay::LaunchT>();
    const auto *test = testing::UnitTest::GetInstance()->current_test_info();
    now->test = std::string(test->test_suite_name()) + "." + test->name();
    now->module_ = moduleOf(program, hostImage);
    now->symbol = launch.name;
    now->grid_x = launch.grid.x, now->grid_y = launch.grid.y;
    now->threads = launch.block.x, now->shared_bytes = launch.dynamicShared;
    now->cluster = launch.cluster.x;
    for (const TestMemory &memory : memories) {
      auto entry = std::make_unique<replay::MemoryT>();
      entry->element = memory.element;
      entry->before = blobOf(bytesOf(device, memory));
      now->memories.push_back(std::move(entry));
    }
    for (size_t i = 0; i < arguments; ++i) {
      uint64_t value;
      std::memcpy(&value, launch.arguments[i], sizeof value);
      int memory = holding(memories, value);
      now->arguments.emplace_back(memory, value - (memory < 0 ? 0 : base(memories, memory)));
    }
    // Lists of the batch, the last argument of a kernel of a step.
    int batch = now->arguments.back().memory();
    if (batch < 0 || memories[size_t(batch)].bytes != sizeof(BatchView))
      return;
    for (size_t offset : {offsetof(BatchView, ids), offsetof(BatchView, positions),
                          offsetof(BatchView, sequenceOf), offsetof(BatchView, rowTokens),
                          offsetof(BatchView, attentionTiles), offsetof(BatchView, blockTable),
                          offsetof(BatchView, earlierIds), offsetof(BatchView, sampling),
                          offsetof(BatchView, shares)}) {
      uint64_t value;
      std::memcpy(&value, out.blobs[now->memories[size_t(batch)]->before]->bytes.data() + offset,
                  8);
      if (int to = holding(memories, value); to >= 0)
        now->pointers.emplace_back(uint32_t(batch), offset, uint32_t(to));
    }
  }
  void addTensorRows(size_t argument, uint64_t rowBytes, uint32_t boxRows) {
    if (now)
      now->maps.emplace_back(uint32_t(argument), rowBytes, boxRows);
  }
  /// After it.
  void end(emulator::Device &device, const std::vector<TestMemory> &memories) {
    if (!now)
      return;
    for (auto [entry, memory] : llvm::zip_equal(now->memories, memories))
      entry->after = blobOf(bytesOf(device, memory));
    out.launches.push_back(std::move(now));
  }

private:
  static constexpr size_t kMostBytes = 1 << 20; ///< of a memory

  LaunchRecorder() : path(std::getenv("INGOT_RECORD_LAUNCHES")) {
    const char *target = std::getenv("INGOT_RECORD_TARGET");
    forHost = target && std::string_view(target) == "cuda-emulator";
  }
  ~LaunchRecorder() {
    if (!path)
      return;
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(replay::Launches::Pack(builder, &out), replay::LaunchesIdentifier());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
  }

  static uint64_t base(const std::vector<TestMemory> &memories, int index) {
    return reinterpret_cast<uintptr_t>(memories[size_t(index)].address);
  }
  /// Which memory an address is the beginning of; -1: none.
  static int holding(const std::vector<TestMemory> &memories, uint64_t value) {
    for (size_t i = 0; i < memories.size(); ++i)
      if (base(memories, int(i)) == value)
        return int(i);
    return -1;
  }
  static std::vector<uint8_t> bytesOf(emulator::Device &device, const TestMemory &memory) {
    std::vector<uint8_t> bytes(memory.bytes);
    device.download(bytes.data(), memory.address, bytes.size());
    return bytes;
  }
  uint32_t blobOf(std::vector<uint8_t> bytes) {
    auto [found, added] =
        blobs.try_emplace(std::string(bytes.begin(), bytes.end()), out.blobs.size());
    if (added) {
      out.blobs.push_back(std::make_unique<replay::BlobT>());
      out.blobs.back()->bytes = std::move(bytes);
    }
    return found->second;
  }
  uint32_t moduleOf(const CudaProgram &program, const std::vector<char> &hostImage) {
    if (forHost)
      return blobOf({hostImage.begin(), hostImage.end()});
    auto [found, added] = modules.try_emplace(program.source, 0);
    if (added) {
      std::string problem;
      auto compiled = compilePrograms({program}, {"sm_90a"}, 1, problem);
      EXPECT_TRUE(succeeded(compiled)) << problem;
      if (succeeded(compiled)) {
        const std::vector<char> &code = compiled->front().front().code;
        found->second = blobOf({code.begin(), code.end()});
      }
    }
    return found->second;
  }

  const char *path;
  bool forHost;
  replay::LaunchesT out;
  std::map<std::string, uint32_t> blobs, modules; ///< by content; by source
  std::unique_ptr<replay::LaunchT> now;
};

} // namespace ingot::cuda::test

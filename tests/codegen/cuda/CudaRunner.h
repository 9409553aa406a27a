//===- CudaRunner.h - Compiles GPU kernels for the emulator and launches them ===//
//
// The runner takes kernel IR, provides buffers of the emulated device, and launches either a given variant or the one
// whose guards hold. Every launch is a programmatic dependent launch on sm_90a, like the runtime's launches.
//===----------------------------------------------------------------------===//
#pragma once

#include "CudaKernels.h"
#include "LaunchRecorder.h"
#include "emulator/host/Emulator.h"
#include "runtime/abi/KernelAbi.h"
#include "tests/codegen/TestCode.h"
#include "tests/codegen/cpu/Bf16.h"

#include <dlfcn.h>
#include <map>
#include <thread>
#include <unistd.h>

namespace ingot::codegen::cuda::test {

/// How a build is run; the numbers must be the same for all of them.
struct Build {
  bool checked;
  uint32_t seed;
};
inline std::string nameOf(Build run) {
  return (run.checked ? "checked, seed " : "fast, seed ") + std::to_string(run.seed);
}

/// Programs compiled to a shared object of host code.
class HostKernels {
public:
  HostKernels(std::vector<CudaProgram> programs, bool checked, const char *architecture = "sm_90a")
      : programs(std::move(programs)), checked(checked) {
    std::string problem;
    auto image = compileForEmulator(
        this->programs,
        {architecture, checked, std::thread::hardware_concurrency(), ingot::test::testCode()},
        problem);
    EXPECT_TRUE(succeeded(image)) << problem;
    if (failed(image))
      return;
    // The object has its own file, which exists as long as it is loaded: addr2line reads the lines
    // of findings from it.
    path = testing::TempDir() + "ingot-kernels-XXXXXX";
    int fd = mkstemp(path.data());
    EXPECT_EQ(write(fd, image->data(), image->size()), ssize_t(image->size()));
    close(fd);
    this->image = std::move(*image);
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(handle) << dlerror();
  }
  ~HostKernels() {
    if (handle)
      dlclose(handle);
    unlink(path.c_str());
  }
  HostKernels(const HostKernels &) = delete;
  explicit operator bool() const { return handle != nullptr; }

  const CudaProgram &program(const std::string &name) const {
    for (const CudaProgram &program : programs)
      if (program.name == name)
        return program;
    ADD_FAILURE() << "no program " << name;
    return programs.front();
  }
  const CudaVariant &variant(const std::string &symbol) const {
    for (const CudaProgram &program : programs)
      for (const CudaVariant &variant : program.variants)
        if (variant.symbol == symbol)
          return variant;
    ADD_FAILURE() << "no symbol " << symbol;
    return programs.front().variants.front();
  }
  using Entry = void (*)(void *const *);
  Entry entry(const std::string &symbol) const {
    return reinterpret_cast<Entry>(dlsym(handle, (symbol + "__launch").c_str()));
  }

  /// Returns a variable of the object.
  template <typename T> T *data(const char *name) const {
    return static_cast<T *>(dlsym(handle, name));
  }

  const CudaProgram &programOf(const std::string &symbol) const {
    for (const CudaProgram &program : programs)
      for (const CudaVariant &variant : program.variants)
        if (variant.symbol == symbol)
          return program;
    return programs.front();
  }

  std::vector<CudaProgram> programs;
  const bool checked;
  std::vector<char> image; ///< the loaded image

private:
  std::string path;
  void *handle = nullptr;
};

/// The emulated device and the contents of its memory.
class Emulated {
public:
  explicit Emulated(const HostKernels &kernels, uint32_t seed = 0) : kernels(kernels) {
    emulator::Options options;
    options.workers = 2, options.seed = seed, options.checked = kernels.checked;
    device.reset(ingotCreateCudaEmulator(options));
    seedIsFirst = seed <= 2;
  }

  template <typename T>
  T *put(const std::vector<T> &values, const char *name = "input", bool constant = true) {
    auto made = device->allocate(values.size() * sizeof(T), name, constant);
    EXPECT_TRUE(bool(made));
    note<T>(*made, values.size());
    device->upload(*made, values.data(), values.size() * sizeof(T));
    return static_cast<T *>(*made);
  }
  /// Allocates uninitialised memory.
  template <typename T> T *make(size_t count, const char *name = "output") {
    auto made = device->allocate(count * sizeof(T), name, false);
    EXPECT_TRUE(bool(made));
    note<T>(*made, count);
    return static_cast<T *>(*made);
  }
  /// Uploads rows as in a step: uninitialised memory follows them.
  template <typename T> T *putBefore(const std::vector<T> &values, size_t more, const char *name) {
    T *made = make<T>(values.size() + more, name);
    device->upload(made, values.data(), values.size() * sizeof(T));
    return made;
  }
  template <typename T> std::vector<T> get(const T *from, size_t count) {
    std::vector<T> values(count);
    device->download(values.data(), from, count * sizeof(T));
    return values;
  }

  /// Declares the element type of `bytes` bytes (0: all) from offset `from`, repeated every `every`
  /// bytes, for a replay on a GPU: results of its tensor cores need not match the emulator's to the
  /// last bit. Memory without a declared type must match exactly. (float and uint16_t default to
  /// f32 and bf16.)
  void holds(const void *address, replay::Element element, size_t from = 0, size_t bytes = 0,
             size_t every = 0) {
    auto &memory = *llvm::find_if(memories, [&](auto &m) { return m.address == address; });
    memory.views.emplace_back(from, bytes ? bytes : memory.bytes - from, every, element);
  }

  /// Launches a kernel. `batch` holds the counts and device addresses and becomes the last
  /// argument. Without `wait`, the next launch may begin before this one has ended, as far as
  /// pdl_wait allows. `more` is the number of blocks beyond the batch's work, as in graphs.
  void launch(const std::string &symbol, std::vector<const void *> operands, const BatchView &batch,
              bool wait = true, uint32_t more = 0) {
    for (const emulator::Finding &finding : findingsOf(symbol, operands, batch, more))
      ADD_FAILURE() << finding.format();
    if (wait)
      device->synchronize();
  }
  /// Launches a kernel and returns the emulator's findings.
  std::vector<emulator::Finding> findingsOf(const std::string &symbol,
                                            std::vector<const void *> operands,
                                            const BatchView &batch, uint32_t more = 0) {
    const CudaVariant &variant = kernels.variant(symbol);
    operands.push_back(put(std::vector<BatchView>{batch}, "batch"));
    std::vector<void *> arguments;
    for (const void *&operand : operands)
      arguments.push_back(const_cast<void **>(&operand));
    std::vector<TensorMap> maps(variant.tensorMaps.size());
    for (auto [map, of] : llvm::zip(maps, variant.tensorMaps)) {
      const void *base = operands[of.operand];
      auto described = device->encodeTensorMap(
          &map, {base, 2, of.rowBytes / 2, sizes[base] / of.rowBytes, of.rowBytes, 64, of.boxRows,
                 /*swizzle128=*/true});
      EXPECT_TRUE(bool(described)) << symbol << ": " << described.error().why;
      if (!described)
        return {};
      arguments.push_back(&map);
    }
    emulator::Launch launch;
    launch.name = symbol, launch.entry = kernels.entry(symbol), launch.arguments = arguments.data();
    EXPECT_TRUE(launch.entry) << symbol;
    if (!launch.entry)
      return {};
    launch.cluster.x = variant.cluster;
    auto count = [&](const LaunchExtent &extent) {
      return extent(batch.tokens, batch.rows, batch.tiles, batch.splitCount, batch.promptTiles,
                    batch.spanCount);
    };
    launch.grid.x = uint32_t(roundUp(count(variant.grid[0]), variant.cluster)) + more;
    launch.grid.y = uint32_t(count(variant.grid[1]));
    launch.block.x = variant.threads;
    launch.dynamicShared = variant.sharedBytes;
    launch.pdl = variant.pdl;
    // Runs with further schedules or with planted bugs concern only the emulator.
    LaunchRecorder *recorder = kernels.checked || !seedIsFirst ? nullptr : LaunchRecorder::get();
    if (recorder) {
      device->synchronize();
      recorder->begin(*device, memories, kernels.programOf(symbol), kernels.image, launch,
                      operands.size());
      for (const TensorMapOf &of : variant.tensorMaps)
        recorder->addTensorRows(of.operand, of.rowBytes, of.boxRows);
    }
    auto done = device->launch(launch);
    auto found = device->findings();
    if (recorder) {
      device->synchronize();
      recorder->end(*device);
    }
    EXPECT_EQ(bool(done), found.empty()) << symbol;
    device->clearFindings();
    return {found.begin(), found.end()};
  }

  std::unique_ptr<emulator::Device> device;

private:
  struct alignas(64) TensorMap {
    std::byte opaque[128];
  };
  template <typename T> void note(const void *address, size_t count) {
    sizes[address] = count * sizeof(T);
    memories.push_back({address, count * sizeof(T), {}});
    if (elementOf<T> != replay::Element::Bytes)
      holds(address, elementOf<T>);
  }

  const HostKernels &kernels;
  std::map<const void *, size_t> sizes; ///< bytes of each allocation
  std::vector<TestMemory> memories;
  bool seedIsFirst; ///< the first of the seeds that a test tries in turn
};

/// Runs `body(Emulated &, const HostKernels &)` on a checked build, then on a fast one with another
/// schedule.
template <typename Body> void onEveryBuild(const std::string &text, Body body) {
  std::vector<CudaProgram> programs = emitAll(text);
  for (Build build : {Build{true, 1}, Build{false, 2}}) {
    SCOPED_TRACE(nameOf(build));
    HostKernels kernels(programs, build.checked);
    ASSERT_TRUE(bool(kernels));
    Emulated gpu(kernels, build.seed);
    body(gpu, kernels);
  }
}

/// Pseudo-random numbers, the same in every run.
class Numbers {
public:
  explicit Numbers(uint32_t seed) : state(seed * 2654435761u + 1) {}
  uint32_t bits() { return (state = state * 1664525u + 1013904223u) >> 8; }
  float uniform() { return float(bits()) / 8388608.0f - 1; }

private:
  uint32_t state;
};

/// Returns rows of random bf16 numbers, padded with zeros to a multiple of 64.
inline std::vector<uint16_t> bf16Rows(int64_t rows, int64_t n, uint32_t seed) {
  Numbers random(seed);
  std::vector<uint16_t> values(rows * roundUp(n, 64));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i)
      values[r * roundUp(n, 64) + i] = toBf16(random.uniform());
  return values;
}
inline std::vector<float> f32Rows(int64_t rows, int64_t n, uint32_t seed) {
  Numbers random(seed);
  std::vector<float> values(rows * roundUp(n, 32));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i)
      values[r * roundUp(n, 32) + i] = random.uniform();
  return values;
}

} // namespace ingot::codegen::cuda::test

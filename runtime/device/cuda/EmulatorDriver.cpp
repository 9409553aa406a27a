//===- EmulatorDriver.cpp - See EmulatorDriver.h -----------------------------===//
#include "runtime/device/cuda/EmulatorDriver.h"

#include "emulator/host/Emulator.h"
#include "runtime/device/Trace.h"
#include "runtime/device/cpu/HostMemory.h"

#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

namespace ingot::cuda {

struct ModuleHandle {
  ModuleHandle(void *object, int file) : object(object), file(file) {}
  void *object;
  int file;
};
struct KernelHandle {
  std::string name;
  void (*entry)(void *const *arguments) = nullptr;
};
struct EventHandle {
  uint64_t nanoseconds = 0;
};
struct GraphHandle {
  std::vector<GraphNode> nodes;
};

namespace {

Error emulatorError(const char *code, std::string what, std::string why, std::string fix) {
  return {ExitCode::Device, code, std::move(what), std::move(why), std::move(fix)};
}

class EmulatorDriver final : public Driver {
public:
  EmulatorDriver(std::unique_ptr<emulator::Device> emulated, const EmulatorSetup &setup)
      : gpu(std::move(emulated)), order(setup.seed) {
    info.name = "the emulator";
    info.capability = setup.capability;
    info.totalMemory = cpu::availableMemory();
    info.processors = uint32_t(setup.workers);
    info.sharedPerBlock = 232448;
  }
  ~EmulatorDriver() override {
    for (auto &module : modules) {
      dlclose(module->object);
      ::close(module->file);
    }
  }

  const DeviceInfo &device() const override { return info; }
  Result<uint64_t> freeMemory() override { return cpu::availableMemory(); }

  Result<Address> allocate(uint64_t bytes, const std::string &what) override {
    auto memory = gpu->allocate(bytes, what);
    if (!memory)
      return memory.error();
    return reinterpret_cast<Address>(*memory);
  }
  void release(Address address) override { gpu->free(reinterpret_cast<void *>(address)); }
  Result<std::byte *> allocateHost(uint64_t bytes) override {
    auto *memory = static_cast<std::byte *>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    if (!memory)
      return emulatorError("E0716", "the system refused to allocate memory for copies",
                           std::to_string(bytes) + " bytes", "lower --max-seqs");
    return memory;
  }
  void releaseHost(std::byte *memory) override { std::free(memory); }

  Result<void> copyToDevice(Address to, const void *from, uint64_t bytes) override {
    gpu->upload(reinterpret_cast<void *>(to), from, bytes);
    return {};
  }
  Result<void> copyToHost(void *to, Address from, uint64_t bytes) override {
    gpu->download(to, reinterpret_cast<const void *>(from), bytes);
    return {};
  }
  Result<void> copyOnDevice(Address to, Address from, uint64_t bytes) override {
    std::vector<std::byte> between(bytes);
    gpu->download(between.data(), reinterpret_cast<const void *>(from), bytes);
    gpu->upload(reinterpret_cast<void *>(to), between.data(), bytes);
    return {};
  }
  Result<void> clear(Address to, uint64_t bytes) override {
    gpu->fill(reinterpret_cast<void *>(to), 0, bytes);
    return {};
  }
  Result<void> launch(Kernel kernel, const Launch &launch, void *const *arguments) override;
  Result<void> launch(Graph graph) override;
  Result<void> record(Event event) override {
    event->nanoseconds = runtime::nowNanoseconds();
    return {};
  }
  Result<void> wait() override {
    gpu->synchronize();
    return {};
  }
  Result<Module> load(std::span<const std::byte> image, const std::string &what) override;
  Result<Kernel> find(Module module, const std::string &symbol, uint32_t sharedBytes,
                      int carveout) override;
  Result<TensorMap> describe(const TensorRows &rows) override {
    TensorMap map{};
    auto ok = gpu->encodeTensorMap(
        &map, {reinterpret_cast<const void *>(rows.base), rows.bf16 ? 2u : 1u, rows.columns,
               rows.rows, rows.rowBytes(), rows.boxColumns, rows.boxRows, rows.swizzle});
    if (!ok)
      return tensorMapError(rows, ok.error().why);
    return map;
  }
  Result<Event> createEvent(bool) override {
    return events.emplace_back(std::make_unique<EventHandle>()).get();
  }
  Result<void> wait(Event) override { return {}; }
  Result<double> secondsBetween(Event begin, Event end) override {
    return double(end->nanoseconds - begin->nanoseconds) * 1e-9;
  }
  Result<Graph> createGraph(std::span<const GraphNode> nodes) override {
    graphs.push_back(std::make_unique<GraphHandle>());
    graphs.back()->nodes.assign(nodes.begin(), nodes.end());
    return graphs.back().get();
  }
  void release(Graph graph) override {
    std::erase_if(graphs, [&](const auto &own) { return own.get() == graph; });
  }

private:
  std::unique_ptr<emulator::Device> gpu;
  DeviceInfo info;
  std::mt19937 order;
  std::vector<std::unique_ptr<ModuleHandle>> modules;
  std::vector<std::unique_ptr<KernelHandle>> kernels;
  std::vector<std::unique_ptr<EventHandle>> events;
  std::vector<std::unique_ptr<GraphHandle>> graphs;
};

Result<void> EmulatorDriver::launch(Kernel kernel, const Launch &launch, void *const *arguments) {
  emulator::Launch what;
  what.name = kernel->name;
  what.entry = kernel->entry;
  what.arguments = arguments;
  what.grid = {launch.grid[0], launch.grid[1], launch.grid[2]};
  what.block = {launch.threads, 1, 1};
  what.cluster = {launch.cluster, 1, 1};
  what.dynamicShared = launch.sharedBytes;
  what.pdl = launch.overlap;
  return gpu->launch(what);
}

Result<void> EmulatorDriver::launch(Graph graph) {
  const std::vector<GraphNode> &nodes = graph->nodes;
  std::vector<size_t> waits(nodes.size());
  std::vector<std::vector<uint32_t>> then(nodes.size());
  std::vector<uint32_t> ready;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    waits[i] = nodes[i].after.size();
    for (uint32_t before : nodes[i].after)
      then[before].push_back(i);
    if (waits[i] == 0)
      ready.push_back(i);
  }
  [[maybe_unused]] size_t launched = 0;
  while (!ready.empty()) {
    std::swap(ready[order() % ready.size()], ready.back());
    uint32_t index = ready.back();
    ready.pop_back();
    const GraphNode &node = nodes[index];
    Launch how = node.launch;
    how.overlap = !node.after.empty() && overlaps(nodes[node.after[0]], node);
    if (auto ok = launch(node.kernel, how, node.arguments); !ok)
      return ok;
    for (uint32_t next : then[index])
      if (--waits[next] == 0)
        ready.push_back(next);
    ++launched;
  }
  assert(launched == nodes.size() && "the graph has a cycle");
  return {};
}

Result<Module> EmulatorDriver::load(std::span<const std::byte> image, const std::string &what) {
  auto failed = [&](std::string why) {
    return emulatorError("E0717", "the emulator cannot load the code of " + what, std::move(why),
                         "rebuild it: ingot compile MODEL --target cuda-emulator:sm_90a -o E");
  };
  int file = memfd_create("ingot-kernels", MFD_CLOEXEC);
  for (size_t done = 0; file >= 0 && done < image.size();) {
    ssize_t wrote = ::write(file, image.data() + done, image.size() - done);
    if (wrote < 0) {
      ::close(file);
      file = -1;
    }
    done += size_t(wrote);
  }
  if (file < 0)
    return failed(std::strerror(errno));
  void *object = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object) {
    std::string why = dlerror();
    ::close(file);
    return failed(why);
  }
  // The file stays open: the loader identifies libraries by path, and would mistake the next file
  // with this descriptor number for this one.
  modules.push_back(std::make_unique<ModuleHandle>(object, file));
  return modules.back().get();
}

Result<Kernel> EmulatorDriver::find(Module module, const std::string &symbol, uint32_t, int) {
  void *entry = dlsym(module->object, (symbol + "__launch").c_str());
  if (!entry)
    return emulatorError("E0717", "the host code has no kernel '" + symbol + "'", dlerror(),
                         "rebuild the engine: ingot compile MODEL -o E");
  kernels.push_back(
      std::make_unique<KernelHandle>(symbol, reinterpret_cast<void (*)(void *const *)>(entry)));
  return kernels.back().get();
}

/// Finds the library relative to this program, both in the build tree and as installed.
std::string ownLibrary() {
  namespace fs = std::filesystem;
  const char *name = "libingot-cuda-emulator.so";
  std::error_code failure;
  fs::path folder = fs::read_symlink("/proc/self/exe", failure).parent_path();
  for (const fs::path &place : {folder / ".." / "lib" / name, folder / name})
    if (fs::exists(place, failure))
      return place.string();
  return name;
}

} // namespace

Result<std::unique_ptr<Driver>> openEmulator(const EmulatorSetup &setup) {
  std::string path = setup.library.empty() ? ownLibrary() : setup.library;
  // RTLD_GLOBAL lets kernels resolve the functions that they call in this library. It is never closed,
  // since kernels may be running in its fibers.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void *symbol = library ? dlsym(library, "ingotCreateCudaEmulator") : nullptr;
  if (!symbol)
    return emulatorError(errors::kNoEmulator, "the CUDA emulator is not installed", dlerror(),
                         "build it: ./dev build, or give --device cpu");
  emulator::Options options;
  options.workers = setup.workers;
  options.seed = setup.seed;
  options.checked = setup.checked;
  options.arch = setup.capability;
  auto create = reinterpret_cast<emulator::Device *(*)(const emulator::Options &)>(symbol);
  return std::unique_ptr<Driver>(
      std::make_unique<EmulatorDriver>(std::unique_ptr<emulator::Device>(create(options)), setup));
}

} // namespace ingot::cuda

//===- LibcudaDriver.cpp - Implements Driver.h with the CUDA driver API -----===//
#include "runtime/device/cuda/LibcudaDriver.h"

#include "runtime/device/cuda/LibcudaApi.h"
#include "runtime/engine/Inspect.h"

#include <algorithm>
#include <atomic>
#include <dlfcn.h>

namespace ingot::cuda {

namespace {

using std::to_string;

Error deviceError(const char *code, std::string what, std::string why, std::string fix) {
  return {ExitCode::Device, code, std::move(what), std::move(why), std::move(fix)};
}

/// "13.0" for 13000.
std::string cudaVersion(int version) {
  return to_string(version / 1000) + "." + to_string(version % 1000 / 10);
}

constexpr const char *kUpdate = "install NVIDIA driver 580 or newer, or give --device cpu";

Result<LibcudaApi> openLibrary(const std::string &name) {
  void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); // never closed: drivers do not
                                                               // unload cleanly
  if (!library)
    return deviceError("E0710", "there is no NVIDIA driver on this machine", dlerror(), kUpdate);
  LibcudaApi api;
  std::string missing;
  auto look = [&](auto &member, const char *symbol) {
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(dlsym(library, symbol));
    if (!member && missing.empty())
      missing = symbol;
  };
#define INGOT_LOOK(member, symbol, parameters) look(api.member, symbol);
  INGOT_LIBCUDA(INGOT_LOOK)
#undef INGOT_LOOK
  if (!missing.empty())
    return deviceError("E0711", "the NVIDIA driver is too old", name + " has no " + missing,
                       kUpdate);
  return api;
}

/// The serial number of the driver object that last made its context current on this thread. An address or a context
/// handle does not suffice, since a new driver object may have the same address or handle as a destroyed one.
thread_local uint64_t boundHere = 0;
std::atomic<uint64_t> driversMade = 0;

class LibcudaDriver final : public Driver {
public:
  explicit LibcudaDriver(const LibcudaApi &api) : cu(api), number(++driversMade) {}
  ~LibcudaDriver() override;

  Result<void> open(int ordinal);

  const DeviceInfo &device() const override { return info; }
  Result<uint64_t> freeMemory() override;
  Result<Address> allocate(uint64_t bytes, const std::string &what) override;
  void release(Address address) override { (void)call(cu.release, address); }
  Result<std::byte *> allocateHost(uint64_t bytes) override;
  void releaseHost(std::byte *memory) override { (void)call(cu.releaseHost, memory); }
  Result<void> copyToDevice(Address to, const void *from, uint64_t bytes) override {
    return check(call(cu.copyToDevice, to, from, bytes, stream), "cuMemcpyHtoDAsync");
  }
  Result<void> copyToHost(void *to, Address from, uint64_t bytes) override {
    return check(call(cu.copyToHost, to, from, bytes, stream), "cuMemcpyDtoHAsync");
  }
  Result<void> copyOnDevice(Address to, Address from, uint64_t bytes) override {
    return check(call(cu.copyOnDevice, to, from, bytes, stream), "cuMemcpyDtoDAsync");
  }
  Result<void> clear(Address to, uint64_t bytes) override {
    return check(call(cu.clear, to, 0, bytes, stream), "cuMemsetD8Async");
  }
  Result<void> launch(Kernel kernel, const Launch &launch, void *const *arguments) override;
  Result<void> launch(Graph graph) override {
    return check(call(cu.graphLaunch, graph, stream), "cuGraphLaunch");
  }
  Result<void> record(Event event) override {
    return check(call(cu.eventRecord, event, stream), "cuEventRecord");
  }
  Result<void> wait() override { return check(call(cu.streamWait, stream), "cuStreamSynchronize"); }
  Result<Module> load(std::span<const std::byte> image, const std::string &what) override;
  Result<Kernel> find(Module module, const std::string &symbol, uint32_t sharedBytes,
                      int carveout) override;
  Result<TensorMap> describe(const TensorRows &rows) override;
  Result<Event> createEvent(bool timed) override;
  Result<void> wait(Event event) override {
    return check(call(cu.eventWait, event), "cuEventSynchronize");
  }
  Result<double> secondsBetween(Event begin, Event end) override;
  Result<Graph> createGraph(std::span<const GraphNode> nodes) override;
  void release(Graph graph) override {
    (void)call(cu.graphExecDestroy, static_cast<CuHandle>(graph));
    std::erase(graphs, static_cast<CuHandle>(graph));
  }

private:
  /// Makes the context current on this thread: the library keeps a current context per thread, and
  /// a session may be opened, used and closed on three different threads. The driver is queried as
  /// well, since other code on this thread (a caller's hook) may have set another context; the
  /// query only reads thread-local memory.
  CuResult bind() {
    CuHandle current = nullptr;
    if (boundHere == number)
      (void)cu.contextGet(&current);
    if (current == context)
      return kCuSuccess;
    CuResult code = cu.contextSet(context);
    boundHere = code == kCuSuccess ? number : 0;
    return code;
  }
  /// All functions that need the context are called through this.
  template <typename... Parameters, typename... Values>
  CuResult call(CuResult (*function)(Parameters...), Values... values) {
    CuResult bound = bind();
    return bound == kCuSuccess ? function(values...) : bound;
  }
  /// "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected"
  std::string text(CuResult code) const;
  /// E0718 for failures while the device works.
  Result<void> check(CuResult code, const char *call) const;
  Result<void> addNode(CuHandle graph, std::span<const GraphNode> nodes, size_t index,
                       std::vector<CuHandle> &made);

  LibcudaApi cu;
  const uint64_t number;
  DeviceInfo info;
  CuDevice gpu = 0;
  CuHandle context = nullptr, stream = nullptr;
  std::vector<CuHandle> modules, events, graphs;
};

std::string LibcudaDriver::text(CuResult code) const {
  const char *name = nullptr, *words = nullptr;
  (void)cu.errorName(code, &name);
  (void)cu.errorText(code, &words);
  return std::string(name ? name : "error") + " (" + to_string(code) + ")" +
         (words ? std::string(": ") + words : std::string());
}

Result<void> LibcudaDriver::check(CuResult code, const char *call) const {
  if (code == kCuSuccess)
    return {};
  return deviceError(
      "E0718", "the GPU failed", std::string(call) + ": " + text(code),
      "try again; if it persists, see `dmesg` and `nvidia-smi`, or give --device cpu");
}

Result<void> LibcudaDriver::open(int ordinal) {
  // Check the version first: an old driver may refuse to start, and should be reported as too old.
  if (CuResult code = cu.driverVersion(&info.driverVersion); code != kCuSuccess)
    return deviceError("E0713", "the NVIDIA driver cannot be initialised", text(code), kUpdate);
  if (info.driverVersion < kLeastDriver)
    return deviceError("E0711", "the NVIDIA driver is too old",
                       "it supports CUDA " + cudaVersion(info.driverVersion) +
                           ", this ingot's kernels need " + cudaVersion(kLeastDriver),
                       kUpdate);
  const std::string noGpu = "this machine has none, or none is visible to this process";
  CuResult code = cu.init(0);
  if (code == kCuNoDevice)
    return deviceError("E0712", "there is no NVIDIA GPU", noGpu,
                       "check `nvidia-smi` and CUDA_VISIBLE_DEVICES, or give --device cpu");
  if (code != kCuSuccess)
    return deviceError("E0713", "the NVIDIA driver cannot be initialised", text(code),
                       code == kCuDriverMismatch
                           ? "driver and library differ: restart the machine, or the container"
                           : "check `nvidia-smi`, or give --device cpu");
  int count = 0;
  if (auto ok = check(cu.deviceCount(&count), "cuDeviceGetCount"); !ok)
    return ok;
  if (ordinal >= count)
    return deviceError("E0712", "there is no NVIDIA GPU",
                       count ? "there are " + to_string(count) : noGpu,
                       "check `nvidia-smi` and CUDA_VISIBLE_DEVICES, or give --device cpu");

  char name[256] = {};
  int major = 0, minor = 0, processors = 0, shared = 0;
  size_t memory = 0;
  Result<void> ok;
  auto did = [&](CuResult result, const char *call) {
    ok = check(result, call);
    return bool(ok);
  };
  auto attribute = [&](int &value, int which) {
    return did(cu.deviceAttribute(&value, which, gpu), "cuDeviceGetAttribute");
  };
  if (!did(cu.deviceGet(&gpu, ordinal), "cuDeviceGet") ||
      !did(cu.deviceName(name, sizeof name - 1, gpu), "cuDeviceGetName") ||
      !attribute(major, kCuCapabilityMajor) || !attribute(minor, kCuCapabilityMinor) ||
      !attribute(processors, kCuMultiprocessorCount) ||
      !attribute(shared, kCuSharedPerBlockOptin) ||
      !did(cu.deviceMemory(&memory, gpu), "cuDeviceTotalMem") ||
      !did(cu.contextRetain(&context, gpu), "cuDevicePrimaryCtxRetain") ||
      !did(bind(), "cuCtxSetCurrent") ||
      !did(call(cu.streamCreate, &stream, kCuStreamNonBlocking), "cuStreamCreate"))
    return ok;
  info.name = name;
  info.capability = major * 10 + minor;
  info.totalMemory = memory;
  info.reserved = reservedOf(memory);
  info.processors = uint32_t(processors);
  info.sharedPerBlock = uint32_t(shared);
  return {};
}

LibcudaDriver::~LibcudaDriver() {
  if (!context)
    return;
  if (stream)
    (void)call(cu.streamWait, stream);
  for (CuHandle graph : graphs)
    (void)call(cu.graphExecDestroy, graph);
  for (CuHandle event : events)
    (void)call(cu.eventDestroy, event);
  for (CuHandle module : modules)
    (void)call(cu.moduleUnload, module);
  if (stream)
    (void)call(cu.streamDestroy, stream);
  (void)cu.contextRelease(gpu);
}

Result<uint64_t> LibcudaDriver::freeMemory() {
  size_t free = 0, total = 0;
  if (auto ok = check(call(cu.memoryInfo, &free, &total), "cuMemGetInfo"); !ok)
    return ok.error();
  return uint64_t(free);
}

Result<Address> LibcudaDriver::allocate(uint64_t bytes, const std::string &what) {
  CuAddress address = 0;
  if (CuResult code = call(cu.allocate, &address, bytes); code != kCuSuccess)
    return deviceError("E0716", "cannot allocate GPU memory for " + what,
                       runtime::humanBytes(bytes) + ": " + text(code),
                       "lower --context, --max-seqs or --max-batch-tokens");
  return Address(address);
}

Result<std::byte *> LibcudaDriver::allocateHost(uint64_t bytes) {
  void *memory = nullptr;
  if (CuResult code = call(cu.allocateHost, &memory, bytes); code != kCuSuccess)
    return deviceError("E0716", "cannot allocate page-locked memory",
                       runtime::humanBytes(bytes) + ": " + text(code),
                       "raise the limit: ulimit -l, or lower --max-seqs");
  return static_cast<std::byte *>(memory);
}

CuLaunchAttribute clusterOf(const Launch &launch) {
  CuLaunchAttribute attribute{};
  attribute.id = kCuClusterDimension;
  attribute.value.cluster[0] = launch.cluster;
  attribute.value.cluster[1] = attribute.value.cluster[2] = 1;
  return attribute;
}

Result<void> LibcudaDriver::launch(Kernel kernel, const Launch &launch, void *const *arguments) {
  CuLaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (launch.overlap) {
    attributes[count].id = kCuProgrammaticStreamSerialization;
    attributes[count++].value.flag = 1;
  }
  if (launch.cluster > 1)
    attributes[count++] = clusterOf(launch);
  CuLaunchConfig config{};
  std::copy_n(launch.grid, 3, config.grid);
  config.block[0] = launch.threads;
  config.block[1] = config.block[2] = 1;
  config.sharedBytes = launch.sharedBytes;
  config.stream = stream;
  config.attributes = count ? attributes : nullptr;
  config.attributeCount = count;
  return check(call(cu.launch, &config, kernel, const_cast<void **>(arguments), nullptr),
               "cuLaunchKernelEx");
}

Result<Module> LibcudaDriver::load(std::span<const std::byte> image, const std::string &what) {
  char log[1024] = {};
  int options[] = {kCuJitErrorLog, kCuJitErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log - 1)};
  CuHandle module = nullptr;
  if (CuResult code = call(cu.moduleLoad, &module, image.data(), 2, options, values);
      code != kCuSuccess) {
    std::string_view words(log);
    words = words.substr(0, words.find('\n'));
    return deviceError("E0717", "the GPU cannot load the code of " + what,
                       text(code) + (words.empty() ? "" : "; " + std::string(words)),
                       runtime::rebuildForGpu(info.capability));
  }
  modules.push_back(module);
  return reinterpret_cast<Module>(module);
}

Result<Kernel> LibcudaDriver::find(Module module, const std::string &symbol, uint32_t sharedBytes,
                                   int carveout) {
  CuHandle function = nullptr;
  if (CuResult code = call(cu.moduleFunction, &function, module, symbol.c_str());
      code != kCuSuccess)
    return deviceError("E0717", "the GPU code has no kernel '" + symbol + "'", text(code),
                       "rebuild the engine: ingot compile MODEL -o E");
  if (sharedBytes > info.sharedPerBlock)
    return deviceError("E0717", "kernel '" + symbol + "' needs more shared memory than the GPU has",
                       to_string(sharedBytes) + " bytes for a block, " + info.name + " has " +
                           to_string(info.sharedPerBlock),
                       runtime::rebuildForGpu(info.capability));
  auto set = [&](int attribute, int value) {
    return check(call(cu.functionSet, function, attribute, value), "cuFuncSetAttribute");
  };
  if (auto ok = set(kCuFunctionMaxDynamicShared, int(sharedBytes)); !ok)
    return ok.error();
  if (carveout != kDriversCarveout)
    if (auto ok = set(kCuFunctionCarveout, carveout); !ok)
      return ok.error();
  return reinterpret_cast<Kernel>(function);
}

Result<TensorMap> LibcudaDriver::describe(const TensorRows &rows) {
  TensorMap map{};
  const uint64_t extents[] = {rows.columns, rows.rows}, strides[] = {rows.rowBytes()};
  const uint32_t box[] = {rows.boxColumns, rows.boxRows}, steps[] = {1, 1};
  CuResult code =
      call(cu.tensorMap, &map, rows.bf16 ? kCuTensorBf16 : kCuTensorU8, 2,
           reinterpret_cast<void *>(rows.base), extents, strides, box, steps, kCuInterleaveNone,
           rows.swizzle ? kCuSwizzle128 : kCuSwizzleNone, kCuPromote128, kCuOutsideZero);
  if (code != kCuSuccess)
    return tensorMapError(rows, "cuTensorMapEncodeTiled: " + text(code));
  return map;
}

Result<Event> LibcudaDriver::createEvent(bool timed) {
  CuHandle event = nullptr;
  const unsigned flags = timed ? kCuEventDefault : kCuEventDisableTiming;
  if (auto ok = check(call(cu.eventCreate, &event, flags), "cuEventCreate"); !ok)
    return ok.error();
  events.push_back(event);
  return reinterpret_cast<Event>(event);
}

Result<double> LibcudaDriver::secondsBetween(Event begin, Event end) {
  float milliseconds = 0;
  if (auto ok = check(call(cu.eventElapsed, &milliseconds, begin, end), "cuEventElapsedTime"); !ok)
    return ok.error();
  return double(milliseconds) * 1e-3;
}

Result<void> LibcudaDriver::addNode(CuHandle graph, std::span<const GraphNode> nodes, size_t index,
                                    std::vector<CuHandle> &made) {
  const GraphNode &node = nodes[index];
  CuGraphNodeParams params{};
  params.kernel.function = node.kernel;
  std::copy_n(node.launch.grid, 3, params.kernel.grid);
  params.kernel.block[0] = node.launch.threads;
  params.kernel.block[1] = params.kernel.block[2] = 1;
  params.kernel.sharedBytes = node.launch.sharedBytes;
  params.kernel.arguments = const_cast<void **>(node.arguments);
  std::vector<CuHandle> after;
  std::vector<CuGraphEdge> edges;
  for (uint32_t before : node.after) {
    after.push_back(made[before]);
    CuGraphEdge edge{};
    if (overlaps(nodes[before], node)) {
      edge.fromPort = kCuPortProgrammatic;
      edge.type = kCuEdgeProgrammatic;
    }
    edges.push_back(edge);
  }
  made.push_back(nullptr);
  auto ok = check(
      call(cu.graphAddNode, &made.back(), graph, after.data(), edges.data(), after.size(), &params),
      "cuGraphAddNode");
  if (!ok || node.launch.cluster <= 1)
    return ok;
  CuLaunchAttribute cluster = clusterOf(node.launch);
  return check(call(cu.nodeSetAttribute, made.back(), cluster.id, &cluster.value),
               "cuGraphKernelNodeSetAttribute");
}

Result<Graph> LibcudaDriver::createGraph(std::span<const GraphNode> nodes) {
  CuHandle graph = nullptr, executable = nullptr;
  if (auto ok = check(call(cu.graphCreate, &graph, 0), "cuGraphCreate"); !ok)
    return ok.error();
  std::vector<CuHandle> made;
  Result<void> ok;
  for (size_t i = 0; ok && i < nodes.size(); ++i)
    ok = addNode(graph, nodes, i, made);
  if (ok)
    ok = check(call(cu.graphInstantiate, &executable, graph, 0), "cuGraphInstantiate");
  (void)call(cu.graphDestroy, graph);
  if (!ok)
    return ok.error();
  graphs.push_back(executable);
  if (auto there = check(call(cu.graphUpload, executable, stream), "cuGraphUpload"); !there)
    return there.error();
  return reinterpret_cast<Graph>(executable);
}

} // namespace

Result<std::unique_ptr<Driver>> openLibcuda(const LibcudaOptions &options) {
  Result<LibcudaApi> api = openLibrary(options.library);
  if (!api)
    return api.error();
  auto driver = std::make_unique<LibcudaDriver>(*api);
  if (Result<void> ok = driver->open(options.ordinal); !ok)
    return ok.error();
  return std::unique_ptr<Driver>(std::move(driver));
}

} // namespace ingot::cuda

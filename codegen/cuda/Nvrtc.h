//===- Nvrtc.h - CUDA C++ to machine code, without a GPU ---------------------===//
//
// NVIDIA's run-time compiler, opened by dlopen: building Ingot needs no CUDA, and compiling for
// GPUs needs neither GPU nor driver. The library is looked for, in this order:
//
//   $INGOT_NVRTC                 a path of libnvrtc.so.13
//   the Python environment       …/venv/lib/python*/site-packages/nvidia/cu13/lib, beside the
//                                folder of the executable and where Ingot was built
//   the loader's path            libnvrtc.so.13
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace ingot::cuda {

/// What ptxas says of one kernel.
struct KernelResources {
  std::string symbol;
  int registers = 0, spillStores = 0, spillLoads = 0, stackBytes = 0, sharedBytes = 0;
};

struct NvrtcResult {
  bool ok = false;
  std::vector<char> code; ///< a cubin, or PTX
  std::string log;
  std::vector<KernelResources> kernels; ///< of a cubin
};

class Nvrtc {
public:
  /// The library, opened once per process; null with `problem` set (three lines: what, why, way
  /// out).
  static const Nvrtc *get(std::string &problem);

  /// Compiles `source`, which may include the device library (its headers are embedded). arch:
  /// sm_80, sm_89, sm_90a, sm_100a, sm_120a; or compute_80 for PTX. Threads may call it at once.
  NvrtcResult compile(const std::string &source, const std::string &name,
                      const std::string &arch) const;

  /// What it is compiled with.
  static std::vector<std::string> options(const std::string &arch);

  std::string version() const; ///< "13.0"
  /// Version and size of the library: builds of one version are told apart.
  std::string identity() const;
  const std::string &path() const { return libraryPath; }

private:
  struct Functions;
  explicit Nvrtc(std::shared_ptr<Functions> functions, std::string path)
      : functions(std::move(functions)), libraryPath(std::move(path)) {}
  std::shared_ptr<Functions> functions;
  std::string libraryPath;
};

} // namespace ingot::cuda

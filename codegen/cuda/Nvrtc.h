//===- Nvrtc.h - CUDA C++ to machine code, without a GPU ---------------------===//
//
// NVRTC, NVIDIA's run-time compiler, is opened by dlopen: building Ingot needs no CUDA, and
// compiling for GPUs needs neither a GPU nor a driver. The library is searched for in this order:
//
//   $INGOT_NVRTC                 a path of libnvrtc.so.13; if set, nothing else is tried
//   the Python environment       …/venv/lib/python*/site-packages/nvidia/cu13/lib, where venv is
//                                next to the folder of the executable, or next to the folder of
//                                the Ingot library
//   the loader's path            libnvrtc.so.13
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::codegen::cuda {

/// The resource usage that ptxas reports for one kernel.
struct KernelResources {
  std::string symbol;
  int registers = 0, spillStores = 0, spillLoads = 0, stackBytes = 0, sharedBytes = 0;
};

/// Parses the log of a compilation; empty for PTX.
std::vector<KernelResources> resourcesIn(llvm::StringRef log);

struct NvrtcResult {
  bool ok = false;
  std::vector<char> code; ///< a cubin, or PTX
  std::string log;
  std::vector<KernelResources> kernels; ///< for cubins only
};

class Nvrtc {
public:
  /// Returns the library, which is opened once per process. On failure returns null and sets
  /// `problem` to three lines: what failed, why, and how to fix it.
  static const Nvrtc *get(std::string &problem);

  /// Compiles `source`, which may include the device library (its headers are embedded). arch:
  /// sm_80, sm_89, sm_90a, sm_100a, sm_120a; or compute_80 for PTX. Thread-safe.
  NvrtcResult compile(const std::string &source, const std::string &name,
                      const std::string &arch) const;

  /// Returns the options that `compile` passes to NVRTC.
  static std::vector<std::string> options(const std::string &arch);

  std::string version() const; ///< "13.0"
  /// Version and file size of the library. The size distinguishes builds of one version.
  std::string identity() const;
  const std::string &path() const { return libraryPath; }

private:
  struct Functions;
  explicit Nvrtc(std::shared_ptr<Functions> functions, std::string path)
      : functions(std::move(functions)), libraryPath(std::move(path)) {}
  std::shared_ptr<Functions> functions;
  std::string libraryPath;
};

} // namespace ingot::codegen::cuda

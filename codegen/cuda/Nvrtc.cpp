//===- Nvrtc.cpp - See Nvrtc.h --------------------------------------------===//
#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/EmbeddedHeaders.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <sys/stat.h>

using namespace ingot;
using namespace ingot::codegen::cuda;
using llvm::StringRef;

/// The functions of nvrtc.h that Ingot uses.
struct Nvrtc::Functions {
  using Program = void *;
  int (*version)(int *, int *);
  const char *(*errorString)(int);
  int (*create)(Program *, const char *, const char *, int, const char *const *,
                const char *const *);
  int (*destroy)(Program *);
  int (*compile)(Program, int, const char *const *);
  int (*logSize)(Program, size_t *);
  int (*log)(Program, char *);
  int (*cubinSize)(Program, size_t *);
  int (*cubin)(Program, char *);
  int (*ptxSize)(Program, size_t *);
  int (*ptx)(Program, char *);

  bool load(void *library) {
    auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    return find(version, "nvrtcVersion") && find(errorString, "nvrtcGetErrorString") &&
           find(create, "nvrtcCreateProgram") && find(destroy, "nvrtcDestroyProgram") &&
           find(compile, "nvrtcCompileProgram") && find(logSize, "nvrtcGetProgramLogSize") &&
           find(log, "nvrtcGetProgramLog") && find(cubinSize, "nvrtcGetCUBINSize") &&
           find(cubin, "nvrtcGetCUBIN") && find(ptxSize, "nvrtcGetPTXSize") &&
           find(ptx, "nvrtcGetPTX");
  }
};

//===----------------------------------------------------------------------===//
// Finding the library
//===----------------------------------------------------------------------===//

static constexpr const char *kLibrary = "libnvrtc.so.13";

/// Adds the paths of the library in the Python environment `root`/venv.
static void addEnvironment(StringRef root, std::vector<std::string> &paths) {
  llvm::SmallString<256> lib(root);
  llvm::sys::path::append(lib, "venv", "lib");
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(lib, error), end; !error && it != end;
       it.increment(error))
    if (llvm::sys::path::filename(it->path()).starts_with("python"))
      paths.push_back(it->path() + "/site-packages/nvidia/cu13/lib/" + kLibrary);
}

static std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  if (const char *named = std::getenv("INGOT_NVRTC")) {
    paths.push_back(named); // a library that the user names is the only candidate
    return paths;
  }
  static int here;
  std::string executable = llvm::sys::fs::getMainExecutable("ingot", &here);
  StringRef bin = llvm::sys::path::parent_path(executable);
  addEnvironment(llvm::sys::path::parent_path(bin), paths);
  // In a Python process the executable is Python. Search from this library instead, which is in a
  // lib folder next to venv.
  Dl_info own;
  if (dladdr(&here, &own) && own.dli_fname)
    addEnvironment(llvm::sys::path::parent_path(llvm::sys::path::parent_path(own.dli_fname)),
                   paths);
  paths.push_back(kLibrary);
  return paths;
}

/// Opens NVRTC. NVRTC opens its built-in functions by file name, which the loader finds only in its own
/// search path or among libraries that are already open, so they are opened here first.
static void *openWithBuiltins(const std::string &path) {
  StringRef folder = llvm::sys::path::parent_path(path);
  std::error_code error;
  if (!folder.empty())
    for (llvm::sys::fs::directory_iterator it(folder, error), end; !error && it != end;
         it.increment(error))
      if (llvm::sys::path::filename(it->path()).starts_with("libnvrtc-builtins.so"))
        dlopen(it->path().c_str(), RTLD_NOW | RTLD_GLOBAL);
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

const Nvrtc *Nvrtc::get(std::string &problem) {
  static std::mutex mutex;
  static std::unique_ptr<Nvrtc> opened;
  std::lock_guard<std::mutex> lock(mutex);
  if (opened)
    return opened.get();
  std::string reason = "no file has that name";
  for (const std::string &path : candidates()) {
    if (llvm::sys::path::has_parent_path(path) && !llvm::sys::fs::exists(path))
      continue;
    void *library = openWithBuiltins(path);
    auto functions = std::make_shared<Functions>();
    if (!library)
      reason = dlerror();
    else if (!functions->load(library))
      reason = path + " lacks functions of NVRTC 13";
    else
      return (opened = std::unique_ptr<Nvrtc>(new Nvrtc(functions, path))).get();
  }
  problem = std::string("NVRTC, the compiler of CUDA kernels, was not found\n") + kLibrary + ": " +
            reason +
            "\ninstall it with `pip install nvidia-cuda-nvrtc==13.0.88`, or name the library in "
            "INGOT_NVRTC";
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// Returns the number before `what` in a line of ptxas output, or 0.
static int numberBefore(StringRef line, StringRef what) {
  size_t at = line.find(what);
  if (at == StringRef::npos)
    return 0;
  StringRef before = line.take_front(at).rtrim();
  size_t start = before.find_last_not_of("0123456789");
  int value = 0;
  before.drop_front(start == StringRef::npos ? 0 : start + 1).getAsInteger(10, value);
  return value;
}

/// Parses the output of ptxas -v: "Function properties for NAME", "… stack frame, … spill stores, …
/// spill loads", "Used … registers, …".
std::vector<KernelResources> ingot::codegen::cuda::resourcesIn(StringRef log) {
  std::vector<KernelResources> kernels;
  llvm::SmallVector<StringRef> lines;
  log.split(lines, '\n');
  auto named = [&](StringRef symbol) -> KernelResources & {
    for (KernelResources &kernel : kernels)
      if (kernel.symbol == symbol)
        return kernel;
    kernels.push_back({symbol.str()});
    return kernels.back();
  };
  StringRef current;
  for (StringRef line : lines) {
    if (auto [before, after] = line.split("Compiling entry function '"); !after.empty())
      current = after.take_until([](char c) { return c == '\''; });
    else if (auto [before, after] = line.split("Function properties for "); !after.empty())
      current = after.trim();
    if (current.empty())
      continue;
    if (line.contains("spill stores")) {
      KernelResources &kernel = named(current);
      kernel.stackBytes = numberBefore(line, " bytes stack frame");
      kernel.spillStores = numberBefore(line, " bytes spill stores");
      kernel.spillLoads = numberBefore(line, " bytes spill loads");
    } else if (line.contains("Used ") && line.contains(" registers")) {
      named(current).registers = numberBefore(line, " registers");
      named(current).sharedBytes = numberBefore(line, " bytes smem");
    }
  }
  return kernels;
}

std::vector<std::string> Nvrtc::options(const std::string &arch) {
  std::vector<std::string> options{"--gpu-architecture=" + arch, "--std=c++17", "-default-device",
                                   "--fmad=false"};
  if (!StringRef(arch).starts_with("compute_"))
    options.push_back("--ptxas-options=-v");
  return options;
}

NvrtcResult Nvrtc::compile(const std::string &source, const std::string &name,
                           const std::string &arch) const {
  const Functions &f = *functions;
  std::vector<const char *> texts, names;
  for (const EmbeddedHeader &header : deviceHeaders()) {
    texts.push_back(header.text);
    names.push_back(header.name);
  }
  NvrtcResult result;
  Functions::Program program = nullptr;
  auto check = [&](int code) {
    if (code)
      result.log += std::string(result.log.empty() ? "" : "\n") + f.errorString(code);
    return !code;
  };
  if (!check(f.create(&program, source.c_str(), (name + ".cu").c_str(), int(texts.size()),
                      texts.data(), names.data())))
    return result;
  bool ptx = StringRef(arch).starts_with("compute_");
  const std::vector<std::string> chosen = options(arch);
  std::vector<const char *> pointers;
  for (const std::string &option : chosen)
    pointers.push_back(option.c_str());
  int code = f.compile(program, int(pointers.size()), pointers.data());
  size_t size = 0;
  if (!f.logSize(program, &size) && size > 1) {
    result.log.resize(size);
    f.log(program, result.log.data());
    result.log.resize(size - 1);
  }
  if (check(code) && check((ptx ? f.ptxSize : f.cubinSize)(program, &size))) {
    result.code.resize(size);
    result.ok = check((ptx ? f.ptx : f.cubin)(program, result.code.data()));
    result.kernels = resourcesIn(result.log);
  }
  f.destroy(&program);
  return result;
}

std::string Nvrtc::version() const {
  int major = 0, minor = 0;
  functions->version(&major, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string Nvrtc::identity() const {
  struct stat file{};
  Dl_info where{}; // the path may be a name that the loader looked up
  if (dladdr(reinterpret_cast<void *>(functions->version), &where))
    (void)::stat(where.dli_fname, &file);
  return "nvrtc " + version() + ", " + std::to_string(file.st_size) + " bytes";
}

//===- LoadedCode.cpp - See LoadedCode.h ----------------------------------===//
#include "compiler/targets/cpu/LoadedCode.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace ingot;
using namespace ingot::compiler;

Result<LoadedCode> LoadedCode::load(llvm::StringRef image) {
  LoadedCode loaded;
  loaded.file = memfd_create("ingot-code", MFD_CLOEXEC);
  if (loaded.file >= 0 && write(loaded.file, image.data(), image.size()) == ssize_t(image.size()))
    loaded.handle =
        dlopen(("/proc/self/fd/" + std::to_string(loaded.file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded.handle)
    return loaded;
  const char *why = dlerror();
  return Error{ExitCode::File, "E0447", "the generated code cannot be loaded on this machine",
               why ? why : "an in-memory file could not be created",
               "mount /proc, and allow executable memory"};
}

LoadedCode::LoadedCode(LoadedCode &&other)
    : file(std::exchange(other.file, -1)), handle(std::exchange(other.handle, nullptr)) {}

LoadedCode::~LoadedCode() {
  if (handle)
    dlclose(handle);
  if (file >= 0)
    close(file);
}

KernelFn LoadedCode::function(const std::string &name) const {
  return reinterpret_cast<KernelFn>(dlsym(handle, name.c_str()));
}

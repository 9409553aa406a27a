//===- HostCompile.cpp - Kernels as host code for the emulator -------------===//
//
// clang runs as a child process, once per program and once to link, in a temporary folder that holds
// the embedded headers. No shell is involved.
//===----------------------------------------------------------------------===//
#include "codegen/cuda/CudaCodegen.h"
#include "codegen/cuda/EmbeddedHeaders.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;

namespace {

class HostCompiler {
public:
  HostCompiler(const EmulatorOptions &options, std::string &problem)
      : options(options), problem(problem) {}
  ~HostCompiler() {
    if (!folder.empty())
      llvm::sys::fs::remove_directories(folder);
  }

  FailureOr<std::vector<char>> compile(ArrayRef<CudaProgram> programs) {
    if (failed(findClang()) || failed(writeHeaders()))
      return failure();
    std::vector<std::string> objects;
    std::vector<const CudaProgram *> missing;
    for (const CudaProgram &program : programs) {
      objects.push_back(objectOf(program));
      auto known = options.cache ? options.cache->lookup(textsOf(program)) : std::nullopt;
      if (!known)
        missing.push_back(&program);
      else if (failed(write(program.name + ".o", *known)))
        return failure();
    }
    std::atomic<size_t> next = 0;
    std::atomic<bool> bad = false;
    auto work = [&] {
      for (size_t i; (i = next++) < missing.size() && !bad;)
        if (failed(compileOne(*missing[i])))
          bad = true;
    };
    std::vector<std::thread> others;
    for (size_t i = 1; i < std::min<size_t>(options.threads, missing.size()); ++i)
      others.emplace_back(work);
    work();
    for (std::thread &thread : others)
      thread.join();
    if (bad)
      return failure();
    if (options.cache)
      for (const CudaProgram *program : missing)
        if (auto bytes = llvm::MemoryBuffer::getFile(objectOf(*program)))
          options.cache->store(textsOf(*program), (*bytes)->getBuffer());
    std::string library = place("kernels.so");
    std::vector<std::string> arguments{clang,          "-shared", "-nostdlib",
                                       "-fuse-ld=lld", "-o",      library};
    llvm::append_range(arguments, objects);
    if (failed(run(arguments, "link")))
      return failure();
    auto bytes = llvm::MemoryBuffer::getFile(library);
    if (!bytes)
      return fail("cannot read " + library);
    return std::vector<char>((*bytes)->getBufferStart(), (*bytes)->getBufferEnd());
  }

private:
  LogicalResult fail(const std::string &what) {
    std::lock_guard<std::mutex> lock(mutex);
    if (problem.empty())
      problem = what;
    return failure();
  }
  std::string place(const std::string &name) const { return folder + "/" + name; }

  LogicalResult findClang() {
    clang = INGOT_HOST_CLANG;
    if (!clang.empty() && llvm::sys::fs::can_execute(clang))
      return success();
    for (const char *name : {"clang++-22", "clang++"})
      if (auto found = llvm::sys::findProgramByName(name)) {
        clang = *found;
        return success();
      }
    return fail("clang++, which compiles kernels for the emulator, was not found\nneither where "
                "Ingot was configured nor in "
                "PATH\ninstall clang-22 (apt install clang-22)");
  }

  LogicalResult write(const std::string &name, llvm::StringRef text) {
    std::string path = place(name);
    llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path));
    std::error_code error;
    llvm::raw_fd_ostream out(path, error);
    out << text;
    return error ? fail("cannot write " + path + ": " + error.message()) : success();
  }

  LogicalResult writeHeaders() {
    llvm::SmallString<128> made;
    if (llvm::sys::fs::createUniqueDirectory("ingot-emulator", made))
      return fail("cannot make a temporary folder");
    folder = made.str().str();
    for (const EmbeddedHeader &header : deviceHeaders())
      if (failed(write(std::string("device/") + header.name, header.text)))
        return failure();
    for (const EmbeddedHeader &header : emulatorHeaders())
      if (failed(write(header.name, header.text)))
        return failure();
    return success();
  }

  std::string objectOf(const CudaProgram &program) const { return place(program.name + ".o"); }

  /// Returns the compiler flags that affect the object. Paths are not among them: `-ffile-prefix-map` keeps
  /// them out of the object.
  std::vector<std::string> flags() const {
    llvm::StringRef digits = llvm::StringRef(options.architecture).drop_front(3);
    bool features = digits.consume_back("a");
    std::vector<std::string> flags{"-x",
                                   "c++",
                                   "-std=c++20",
                                   "-c",
                                   "-fPIC",
                                   "-fvisibility=hidden",
                                   "-ffp-contract=off",
                                   "-fno-math-errno",
                                   "-fno-stack-protector",
                                   "-fno-exceptions",
                                   "-fno-rtti",
                                   "-gline-tables-only",       // enough for addr2line
                                   "-ffile-compilation-dir=/", // not the user's working directory
                                   "-march=x86-64-v3",
                                   "-Wall",
                                   "-Wno-unknown-pragmas",
                                   "-Wno-unused-function",
                                   "-Wno-unused-const-variable",
                                   "-Wno-pass-failed",
                                   "-DDEVICE_ARCH=" + digits.str() + "0"};
    if (features)
      flags.push_back("-DDEVICE_ARCH_FEATURES");
    if (options.checked) // the sanitizer's calls reach the emulator's own hooks (AccessHooks.cpp)
      llvm::append_range(flags,
                         std::vector<std::string>{"-O1", "-fsanitize=thread", "-fno-vectorize",
                                                  "-fno-slp-vectorize", "-mllvm",
                                                  "-tsan-instrument-func-entry-exit=0", "-mllvm",
                                                  "-tsan-instrument-read-before-write"});
    else
      flags.push_back("-O2");
    return flags;
  }

  std::vector<std::string> textsOf(const CudaProgram &program) {
    if (identity.empty())
      identity = clangIdentity();
    std::vector<std::string> texts{identity, program.name, program.source};
    llvm::append_range(texts, flags());
    for (auto headers : {deviceHeaders(), emulatorHeaders()})
      for (const EmbeddedHeader &header : headers) {
        texts.push_back(header.name);
        texts.push_back(header.text);
      }
    return texts;
  }

  LogicalResult compileOne(const CudaProgram &program) {
    std::string source = program.name + ".cu";
    if (failed(write(source, program.source)))
      return failure();
    std::vector<std::string> arguments{clang};
    llvm::append_range(arguments, flags());
    llvm::append_range(arguments, std::vector<std::string>{place(source), "-o", objectOf(program),
                                                           "-I", folder, "-I", place("device"),
                                                           "-ffile-prefix-map=" + folder + "/="});
    return run(arguments, program.name);
  }

  /// Returns clang's path and its --version output, which names the version, the build and the target.
  std::string clangIdentity() const {
    std::string file = place("clang.version");
    std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(file),
                                                  llvm::StringRef("")};
    llvm::sys::ExecuteAndWait(clang, {clang, "--version"}, std::nullopt, redirects);
    auto text = llvm::MemoryBuffer::getFile(file);
    return clang + "\n" + (text ? (*text)->getBuffer().str() : "");
  }

  LogicalResult run(const std::vector<std::string> &arguments, const std::string &what) {
    llvm::SmallVector<llvm::StringRef> views(arguments.begin(), arguments.end());
    std::string log = place(what + ".log"), error;
    std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(log),
                                                  llvm::StringRef(log)};
    if (llvm::sys::ExecuteAndWait(clang, views, std::nullopt, redirects, 0, 0, &error) == 0)
      return success();
    auto text = llvm::MemoryBuffer::getFile(log);
    return fail(what + " cannot be compiled for the emulator\n" +
                (text ? (*text)->getBuffer().str() : error));
  }

  const EmulatorOptions &options;
  std::string &problem;
  std::string clang, folder, identity;
  std::mutex mutex;
};

} // namespace

FailureOr<std::vector<char>>
ingot::codegen::cuda::compileForEmulator(ArrayRef<CudaProgram> programs,
                                         const EmulatorOptions &options, std::string &problem) {
  return HostCompiler(options, problem).compile(programs);
}

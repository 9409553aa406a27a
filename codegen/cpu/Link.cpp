//===- Link.cpp - lld in process ------------------------------------------===//
//
// lld reads and writes files, so they are put into a private temporary folder. Their names
// do not appear in the output. lld's state is global, so one link runs at a time.
//===----------------------------------------------------------------------===//
#include "codegen/cpu/ObjectCode.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;

namespace {
/// A temporary folder that is deleted with its contents.
struct TemporaryFolder {
  llvm::SmallString<128> path;
  bool made = !llvm::sys::fs::createUniqueDirectory("ingot-link", path);
  ~TemporaryFolder() {
    if (made)
      llvm::sys::fs::remove_directories(path);
  }
  std::string file(const llvm::Twine &name) const {
    llvm::SmallString<128> full(path);
    llvm::sys::path::append(full, name);
    return std::string(full);
  }
};
} // namespace

static bool write(const std::string &path, llvm::StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (error)
    return false;
  out << bytes;
  out.close();
  bool good = !out.has_error();
  out.clear_error();
  return good;
}

FailureOr<std::vector<char>> ingot::codegen::cpu::linkShared(ArrayRef<std::string> objects,
                                                             std::string &problem) {
  TemporaryFolder folder;
  if (!folder.made) {
    problem = "cannot create a temporary folder";
    return failure();
  }
  std::string output = folder.file("kernels.so");
  std::vector<std::string> inputs;
  for (size_t i = 0; i < objects.size(); ++i) {
    inputs.push_back(folder.file(llvm::Twine(i) + ".o"));
    if (!write(inputs.back(), objects[i])) {
      problem = "cannot write " + inputs.back();
      return failure();
    }
  }
  // rodynamic: not even the dynamic section is writable. More threads do not make lld faster here.
  std::vector<const char *> args{"ld.lld",
                                 "-shared",
                                 "--no-undefined",
                                 "--threads=1",
                                 "-z",
                                 "norelro",
                                 "-z",
                                 "rodynamic",
                                 "-z",
                                 "nognustack",
                                 "--strip-all",
                                 "--build-id=none",
                                 "--hash-style=sysv",
                                 "-o",
                                 output.c_str()};
  for (const std::string &input : inputs)
    args.push_back(input.c_str());

  static std::mutex oneAtATime;
  std::lock_guard lock(oneAtATime);
  llvm::raw_string_ostream log(problem);
  lld::Result result = lld::lldMain(args, log, log, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return failure();
  auto image =
      llvm::MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!image) {
    problem = "the linked object cannot be read: " + image.getError().message();
    return failure();
  }
  return std::vector<char>((*image)->getBufferStart(), (*image)->getBufferEnd());
}

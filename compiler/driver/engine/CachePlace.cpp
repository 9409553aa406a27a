//===- CachePlace.cpp - See CachePlace.h ----------------------------------===//
#include "compiler/driver/engine/CachePlace.h"
#include "compiler/import/checkpoint/Checkpoint.h"
#include "runtime/engine/CacheName.h"

#include "compiler/import/OpenCheckpoint.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cerrno>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <span>
#include <sys/file.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::compiler;
using llvm::StringRef;

Result<std::string> compiler::placeInCache(const CompileOptions &options) {
  auto checkpoint = import::openCheckpoint(options.model);
  if (!checkpoint)
    return checkpoint.error();
  Dl_info library;
  auto bytes = dladdr(reinterpret_cast<const void *>(&compiler::placeInCache), &library)
                   ? llvm::MemoryBuffer::getFile(library.dli_fname)
                   : std::make_error_code(std::errc::no_such_file_or_directory);
  if (!bytes)
    return Error{ExitCode::File, "E0439", "the compiler's own file cannot be read",
                 bytes.getError().message(), "give -o FILE"};
  StringRef own = (*bytes)->getBuffer();
  std::filesystem::create_directories(options.cache); // CodeCache reports a failure
  return (std::filesystem::path(options.cache) /
          runtime::cacheName(options.model, (*checkpoint)->contentHash,
                             runtime::fingerprint(std::as_bytes(std::span(own.data(), own.size()))),
                             options.identity))
      .string();
}

CacheTurn::CacheTurn(const std::string &folder)
    : descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  while (descriptor >= 0 && ::flock(descriptor, LOCK_EX) != 0 && errno == EINTR)
    ;
}

CacheTurn::~CacheTurn() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Result<void> compiler::linkEngine(const std::string &link, const std::string &engine) {
  namespace fs = std::filesystem;
  auto refused = [&](const std::string &why) {
    return Error{ExitCode::File, "E0499", "cannot create the link to the engine", link + ": " + why,
                 "give --link another place; the engine is " + engine};
  };
  std::error_code failure;
  const fs::file_status there = fs::symlink_status(link, failure);
  if (fs::exists(there) && !fs::is_symlink(there))
    return refused("a file of that name exists and is not a symbolic link");
  const fs::path folder = fs::absolute(link).parent_path();
  fs::path target = fs::absolute(engine);
  if (fs::equivalent(folder, target.parent_path(), failure))
    target = target.filename();
  if (fs::is_symlink(there) && fs::read_symlink(link, failure) == target)
    return {}; // the link is already right, and the volume may be read-only by now
  const fs::path fresh =
      folder / ("." + fs::path(link).filename().string() + "." + std::to_string(::getpid()));
  fs::create_symlink(target, fresh, failure);
  if (!failure)
    fs::rename(fresh, link, failure);
  if (failure) {
    std::error_code gone;
    fs::remove(fresh, gone);
    return refused(failure.message());
  }
  return {};
}

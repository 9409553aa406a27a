//===- CachePlace.cpp - See CachePlace.h ----------------------------------===//
#include "compiler/driver/CachePlace.h"
#include "compiler/import/Checkpoint.h"
#include "runtime/engine/CacheName.h"

#include "llvm/Support/MemoryBuffer.h"

#include <dlfcn.h>
#include <filesystem>
#include <span>

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
  std::filesystem::create_directories(options.cache); // CodeCache says what is wrong with it
  return (std::filesystem::path(options.cache) /
          runtime::cacheName(options.model, (*checkpoint)->contentHash,
                             runtime::fingerprint(std::as_bytes(std::span(own.data(), own.size()))),
                             options.identity))
      .string();
}

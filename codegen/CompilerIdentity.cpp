//===- CompilerIdentity.cpp - See CompilerIdentity.h ----------------------===//
//
// The build id is read from memory rather than from the file, because a library may be
// replaced on disk while it runs.
//===----------------------------------------------------------------------===//
#include "codegen/CompilerIdentity.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <dlfcn.h>
#include <link.h>

using namespace ingot;

namespace {

/// Finds the library that contains an address.
struct Library {
  uintptr_t address;
  std::string buildId;
};

bool holds(const dl_phdr_info &library, uintptr_t address) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = library.dlpi_phdr[i];
    uintptr_t start = library.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= start && address - start < segment.p_memsz)
      return true;
  }
  return false;
}

/// Finds the build id in a library's notes. A note is a header, a name and a description; the
/// latter two are padded to words.
std::string buildIdIn(const dl_phdr_info &library) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = library.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    auto at = reinterpret_cast<const char *>(library.dlpi_addr + segment.p_vaddr),
         end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      auto note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof *note, *bytes = name + (note->n_namesz + 3) / 4 * 4;
      if (note->n_type == NT_GNU_BUILD_ID &&
          llvm::StringRef(name, note->n_namesz) == llvm::StringRef("GNU", 4))
        return llvm::toHex(llvm::StringRef(bytes, note->n_descsz), /*LowerCase=*/true);
      at = bytes + (note->n_descsz + 3) / 4 * 4;
    }
  }
  return "";
}

int visit(dl_phdr_info *library, size_t, void *data) {
  auto *wanted = static_cast<Library *>(data);
  if (!holds(*library, wanted->address))
    return 0;
  wanted->buildId = buildIdIn(*library);
  return 1;
}

/// Returns the build id of the library that contains the function, or a hash of its file if it has
/// no build id.
std::string identityOf(void *function) {
  Library library{reinterpret_cast<uintptr_t>(function), {}};
  dl_iterate_phdr(visit, &library);
  if (!library.buildId.empty())
    return library.buildId;
  Dl_info info;
  if (!dladdr(function, &info))
    return "";
  auto file = llvm::MemoryBuffer::getFile(info.dli_fname);
  return file ? llvm::utohexstr(llvm::xxh3_64bits((*file)->getBuffer())) : "";
}

} // namespace

std::string compiler::compilerIdentity() {
  std::string text = "ingot " INGOT_VERSION "\nLLVM " LLVM_VERSION_STRING;
  // One function from each library. None is inline, since this library would have its own copy of
  // an inline function.
  for (void *function : {reinterpret_cast<void *>(&compilerIdentity),
                         reinterpret_cast<void *>(&mlir::registerPassManagerCLOptions),
                         reinterpret_cast<void *>(&llvm::errs)})
    text += "\n" + identityOf(function);
  return text;
}

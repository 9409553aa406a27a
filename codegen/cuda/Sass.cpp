//===- Sass.cpp - See Sass.h ------------------------------------------------===//
#include "codegen/cuda/Sass.h"
#include "codegen/cuda/Nvrtc.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>
#include <optional>

using namespace ingot;
using namespace ingot::codegen::cuda;
using llvm::StringRef;

std::string codegen::cuda::findDisassembler() {
  std::string ignored;
  if (const Nvrtc *nvrtc = Nvrtc::get(ignored)) {
    const StringRef folder = llvm::sys::path::parent_path(nvrtc->path());
    for (const char *place : {"../bin/nvdisasm", "nvdisasm"}) {
      llvm::SmallString<256> path(folder);
      llvm::sys::path::append(path, place);
      if (!folder.empty() && llvm::sys::fs::can_execute(path))
        return path.str().str();
    }
  }
  auto found = llvm::sys::findProgramByName("nvdisasm");
  return found ? *found : std::string();
}

/// Splits a listing into functions. A function's lines follow `.section .text.SYMBOL`, up to the next
/// section.
static std::vector<SassFunction> functionsOf(StringRef listing) {
  std::vector<SassFunction> functions;
  bool inside = false;
  for (StringRef rest = listing; !rest.empty();) {
    auto [line, more] = rest.split('\n');
    rest = more;
    if (line.ltrim().starts_with("//---")) // a ruler between sections
      continue;
    if (StringRef section = line.ltrim();
        section.consume_front(".section") && section.starts_with("\t")) { // skips .sectionflags
      section = section.ltrim();
      inside = section.consume_front(".text.");
      if (inside)
        functions.push_back({section.take_until([](char c) { return c == ','; }).str(), ""});
      continue;
    }
    if (inside)
      functions.back().text += line.rtrim().str() + "\n";
  }
  return functions;
}

bool codegen::cuda::disassembleCubin(const std::string &disassembler, StringRef cubin,
                                     std::vector<SassFunction> &functions, std::string &problem) {
  llvm::SmallString<128> file, listing;
  int descriptor;
  auto fail = [&](const std::string &why) {
    problem = why;
    return false;
  };
  if (llvm::sys::fs::createTemporaryFile("ingot", "cubin", descriptor, file) ||
      llvm::sys::fs::createTemporaryFile("ingot", "sass", listing))
    return fail("cannot create temporary files");
  llvm::scope_exit remove([&] {
    llvm::sys::fs::remove(file);
    llvm::sys::fs::remove(listing);
  });
  {
    llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
    out << cubin;
  }
  const std::optional<StringRef> redirects[] = {StringRef(""), StringRef(listing),
                                                StringRef(listing)};
  const int status =
      llvm::sys::ExecuteAndWait(disassembler, {disassembler, "-c", file}, std::nullopt, redirects);
  auto text = llvm::MemoryBuffer::getFile(listing);
  if (status != 0 || !text)
    return fail(disassembler + " ends with " + std::to_string(status) +
                (text ? ": " + (*text)->getBuffer().split('\n').first.str() : ""));
  functions = functionsOf((*text)->getBuffer());
  return true;
}

size_t codegen::cuda::sizeOfElf(StringRef bytes) {
  using namespace llvm::ELF;
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header || !bytes.starts_with(StringRef(ElfMagic, 4)))
    return 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  size_t size = std::max(header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize,
                         header.e_phoff + uint64_t(header.e_phnum) * header.e_phentsize);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    const size_t at = header.e_shoff + i * header.e_shentsize;
    if (at > bytes.size() || bytes.size() - at < sizeof section)
      return 0;
    std::memcpy(&section, bytes.data() + at, sizeof section);
    if (section.sh_type != SHT_NOBITS)
      size = std::max(size, size_t(section.sh_offset + section.sh_size));
  }
  return size <= bytes.size() ? size : 0;
}

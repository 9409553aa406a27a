//===- ElfImage.cpp - See ElfImage.h --------------------------------------===//
#include "runtime/engine/ElfImage.h"
#include "runtime/engine/Pages.h"

#include <algorithm>
#include <cstring>
#include <elf.h>

namespace ingot::runtime {
namespace {

constexpr uint64_t kMostSpan = uint64_t(1) << 31;
constexpr uint64_t kMostSymbols = 1 << 20;

class ElfReader {
public:
  ElfReader(std::span<const std::byte> bytes, const std::string &label)
      : bytes(bytes), label(label) {}

  Result<ElfImage> read() {
    for (auto part : {&ElfReader::readHeader, &ElfReader::readSegments, &ElfReader::readDynamic,
                      &ElfReader::readSymbols, &ElfReader::checkSelfContained})
      if (Result<void> ok = (this->*part)(); !ok)
        return ok.error();
    return std::move(image);
  }

private:
  Error bad(const char *code, const std::string &why) const {
    return {ExitCode::File, code, "the engine contains code that cannot be loaded",
            "code object " + label + ": " + why, "rebuild it: ingot compile MODEL -o E"};
  }

  /// Copies a T from `offset` of the file; the file's data need not be aligned.
  template <typename T> bool at(uint64_t offset, T &value) const {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
      return false;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return true;
  }

  /// Returns the file offset of the `size` bytes at an address.
  std::optional<uint64_t> fileOffset(uint64_t address, uint64_t size) const {
    for (const ElfImage::Load &load : image.loads)
      if (address >= load.address && address - load.address <= load.fileSize &&
          size <= load.fileSize - (address - load.address))
        return load.fileOffset + (address - load.address);
    return std::nullopt;
  }

  Result<void> readHeader();
  Result<void> readSegments();
  Result<void> addLoad(const Elf64_Phdr &program);
  Result<void> readDynamic();
  Result<void> readSymbols();
  Result<void> checkSelfContained();
  std::optional<uint64_t> gnuHashCount(uint64_t address) const;

  std::span<const std::byte> bytes;
  const std::string &label;
  ElfImage image;
  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> writable;
  Elf64_Phdr dynamic{};
  const char *wants = nullptr; ///< something that only a linker can provide
  uint64_t symbolTable = 0, stringTable = 0, stringSize = 0, symbolCount = 0;
};

Result<void> ElfReader::readHeader() {
  if (!at(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return bad("E0336", "it is not an ELF object");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64 || header.e_type != ET_DYN)
    return bad("E0336", "it is not a 64-bit x86-64 shared object (machine " +
                            std::to_string(header.e_machine) + ", type " +
                            std::to_string(header.e_type) + ")");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > 64)
    return bad("E0337", std::to_string(header.e_phnum) + " program headers of " +
                            std::to_string(header.e_phentsize) + " bytes");
  return {};
}

Result<void> ElfReader::addLoad(const Elf64_Phdr &p) {
  if (p.p_offset > bytes.size() || p.p_filesz > bytes.size() - p.p_offset)
    return bad("E0822", "a segment at " + std::to_string(p.p_offset) + " of " +
                            std::to_string(p.p_filesz) + " bytes extends beyond the object's " +
                            std::to_string(bytes.size()));
  uint64_t from = p.p_vaddr & ~(kPage - 1);
  if (p.p_vaddr >= kMostSpan || p.p_memsz > kMostSpan || p.p_memsz < p.p_filesz ||
      p.p_vaddr % kPage != p.p_offset % kPage || from < image.span)
    return bad("E0823", "a segment at address " + std::to_string(p.p_vaddr) +
                            " is misaligned, too large or overlaps another");
  uint64_t end = p.p_vaddr + p.p_memsz;
  // Zero-initialised memory may only be padding of the last page (RELRO).
  if (end > ((p.p_vaddr + p.p_filesz + kPage - 1) & ~(kPage - 1)))
    return bad("E0338", "it has " + std::to_string(p.p_memsz - p.p_filesz) + " bytes of .bss");
  if ((p.p_flags & PF_W) && (p.p_flags & PF_X))
    return bad("E0830", "a segment is writable and executable");
  if (p.p_flags & PF_W)
    writable.push_back(p);
  image.span = (end + kPage - 1) & ~(kPage - 1);
  if (p.p_filesz != 0)
    image.loads.push_back({p.p_offset, p.p_filesz, p.p_vaddr, p.p_memsz, (p.p_flags & PF_X) != 0});
  return {};
}

Result<void> ElfReader::readSegments() {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr program;
    if (header.e_phoff > bytes.size() || !at(header.e_phoff + i * sizeof program, program))
      return bad("E0337", "the program headers extend beyond the object's end");
    if (program.p_type == PT_LOAD) {
      if (Result<void> ok = addLoad(program); !ok)
        return ok;
    } else if (program.p_type == PT_DYNAMIC) {
      dynamic = program;
    } else if (program.p_type == PT_INTERP || program.p_type == PT_TLS) {
      wants = "an interpreter or thread-local memory";
    }
  }
  if (image.loads.empty() || dynamic.p_type != PT_DYNAMIC)
    return bad("E0824", "it has no loadable segment or no dynamic section");
  return {};
}

Result<void> ElfReader::readDynamic() {
  std::optional<uint64_t> from = fileOffset(dynamic.p_vaddr, dynamic.p_filesz);
  if (!from)
    return bad("E0825", "the dynamic section is outside the loaded segments");
  uint64_t sysvHash = 0, gnuHash = 0, entrySize = sizeof(Elf64_Sym);
  for (uint64_t i = 0; i + sizeof(Elf64_Dyn) <= dynamic.p_filesz; i += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    at(*from + i, entry);
    uint64_t value = entry.d_un.d_val;
    switch (entry.d_tag) {
    case DT_NULL:
      i = dynamic.p_filesz;
      break;
    case DT_SYMTAB:
      symbolTable = value;
      break;
    case DT_STRTAB:
      stringTable = value;
      break;
    case DT_STRSZ:
      stringSize = value;
      break;
    case DT_SYMENT:
      entrySize = value;
      break;
    case DT_HASH:
      sysvHash = value;
      break;
    case DT_GNU_HASH:
      gnuHash = value;
      break;
    case DT_RELA:
    case DT_REL:
    case DT_JMPREL:
    case DT_TEXTREL:
    case 36 /*DT_RELR*/:
      wants = "relocations";
      break;
    case DT_NEEDED:
    case DT_INIT:
    case DT_FINI:
    case DT_INIT_ARRAY:
    case DT_FINI_ARRAY:
    case DT_PREINIT_ARRAY:
      wants = "other libraries or code run at load";
      break;
    default:
      break;
    }
  }
  if (!symbolTable || !stringTable || entrySize != sizeof(Elf64_Sym))
    return bad("E0826", "it has no symbol table");
  if (uint32_t chains[2]; sysvHash) {
    std::optional<uint64_t> place = fileOffset(sysvHash, sizeof chains);
    if (!place || !at(*place, chains))
      return bad("E0827", "its symbol hash table is outside the loaded segments");
    symbolCount = chains[1];
  } else if (std::optional<uint64_t> count = gnuHash ? gnuHashCount(gnuHash) : std::nullopt) {
    symbolCount = *count;
  } else {
    return bad("E0827", "its symbol hash table is missing or damaged");
  }
  return {};
}

/// A GNU hash table does not store the number of symbols; the end of the last chain gives it.
std::optional<uint64_t> ElfReader::gnuHashCount(uint64_t address) const {
  uint32_t head[4]; // buckets, first hashed symbol, bloom words, shift
  std::optional<uint64_t> place = fileOffset(address, sizeof head);
  if (!place || !at(*place, head))
    return std::nullopt;
  uint64_t buckets = address + 16 + 8 * uint64_t(head[2]), last = 0;
  if (head[0] > kMostSymbols || head[2] > kMostSymbols ||
      !fileOffset(buckets, 4 * uint64_t(head[0])))
    return std::nullopt;
  for (uint64_t i = 0; i < head[0]; ++i) {
    uint32_t first = 0; // all buckets are in the file
    at(*fileOffset(buckets + 4 * i, 4), first);
    last = std::max<uint64_t>(last, first);
  }
  if (last < head[1])
    return head[1]; // only the unhashed symbols
  for (uint64_t chains = buckets + 4 * uint64_t(head[0]); last < kMostSymbols; ++last) {
    uint32_t link;
    std::optional<uint64_t> at4 = fileOffset(chains + 4 * (last - head[1]), 4);
    if (!at4 || !at(*at4, link))
      return std::nullopt;
    if (link & 1)
      return last + 1;
  }
  return std::nullopt;
}

Result<void> ElfReader::readSymbols() {
  std::optional<uint64_t> names = fileOffset(stringTable, stringSize);
  std::optional<uint64_t> table = symbolCount <= kMostSymbols
                                      ? fileOffset(symbolTable, symbolCount * sizeof(Elf64_Sym))
                                      : std::nullopt;
  if (!names || !table || stringSize == 0 ||
      bytes[*names + stringSize - 1] != std::byte{0}) // so every name ends inside the table
    return bad("E0828", "its symbol table of " + std::to_string(symbolCount) +
                            " entries is outside the loaded segments");
  const char *strings = reinterpret_cast<const char *>(bytes.data()) + *names;
  for (uint64_t i = 1; i < symbolCount; ++i) {
    Elf64_Sym symbol;
    at(*table + i * sizeof symbol, symbol);
    if (symbol.st_name >= stringSize)
      return bad("E0829", "symbol " + std::to_string(i) + " has its name outside the string table");
    std::string_view name = strings + symbol.st_name;
    if (symbol.st_shndx == SHN_UNDEF)
      return bad("E0340", "symbol '" + std::string(name) + "' is undefined");
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
      image.symbols.push_back({name, symbol.st_value});
  }
  std::sort(image.symbols.begin(), image.symbols.end(),
            [](const auto &a, const auto &b) { return a.name < b.name; });
  return {};
}

/// Checked last, since an undefined symbol, the most likely error, also causes relocations and
/// data.
Result<void> ElfReader::checkSelfContained() {
  if (wants)
    return bad("E0339", std::string("it needs ") + wants);
  // The only content that linkers put into a writable segment here is .dynamic itself.
  for (const Elf64_Phdr &p : writable)
    if (p.p_filesz != 0 && (p.p_vaddr != dynamic.p_vaddr || p.p_filesz != dynamic.p_filesz))
      return bad("E0338", "it has " + std::to_string(p.p_filesz) + " bytes of writable data");
  return {};
}

} // namespace

std::optional<uint64_t> ElfImage::find(std::string_view name) const {
  auto it = std::lower_bound(symbols.begin(), symbols.end(), name,
                             [](const Symbol &s, std::string_view n) { return s.name < n; });
  if (it == symbols.end() || it->name != name)
    return std::nullopt;
  for (const Load &load : loads)
    if (load.execute && it->address >= load.address && it->address - load.address < load.fileSize)
      return it->address;
  return std::nullopt;
}

Result<ElfImage> parseElf(std::span<const std::byte> bytes, const std::string &label) {
  return ElfReader(bytes, label).read();
}

} // namespace ingot::runtime

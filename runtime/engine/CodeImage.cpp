//===- CodeImage.cpp - See CodeImage.h ------------------------------------===//
#include "runtime/engine/CodeImage.h"

#include "runtime/engine/ElfImage.h"

#include <cerrno>
#include <sys/mman.h>

namespace ingot::runtime {
namespace {

constexpr uint64_t kPageMask = 4095;

/// Maps one PT_LOAD straight from the file.
bool mapFromFile(std::byte *base, const ElfImage::Load &load, int fd, uint64_t segmentOffset) {
  uint64_t lead = load.address & kPageMask;
  int protection = PROT_READ | (load.execute ? PROT_EXEC : 0);
  return ::mmap(base + load.address - lead, load.fileSize + lead, protection,
                MAP_PRIVATE | MAP_FIXED, fd,
                static_cast<off_t>(segmentOffset + load.fileOffset - lead)) != MAP_FAILED;
}

/// Copies one PT_LOAD, for bytes in memory and for file systems mounted noexec. The pages are writable
/// during the copy and executable after it, never both.
bool copyToMemory(std::byte *base, const ElfImage::Load &load, std::span<const std::byte> object) {
  uint64_t lead = load.address & kPageMask;
  std::byte *page = base + load.address - lead;
  uint64_t size = load.fileSize + lead;
  if (::mprotect(page, size, PROT_READ | PROT_WRITE) != 0)
    return false;
  std::memcpy(base + load.address, object.data() + load.fileOffset, load.fileSize);
  return ::mprotect(page, size, PROT_READ | (load.execute ? PROT_EXEC : 0)) == 0;
}

} // namespace

Result<std::shared_ptr<CodeImage>> CodeImage::map(std::shared_ptr<EngineFile> engine,
                                                  const fb::CodeObject &object) {
  std::span<const std::byte> bytes = engine->segment(object.segment());
  Result<ElfImage> elf = parseElf(bytes, object.target()->str());
  if (!elf)
    return elf.error();
  auto failed = [&](int reason) {
    return Error{ExitCode::File, "E0384", "cannot load the kernels for " + object.target()->str(),
                 std::to_string(elf->span) + " bytes of code: " + std::strerror(reason),
                 "executable memory must be allowed for this process"};
  };

  std::shared_ptr<CodeImage> image(new CodeImage); // the constructor is private
  void *base = ::mmap(nullptr, elf->span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return failed(errno);
  image->base = static_cast<std::byte *>(base);
  image->length = elf->span;
  uint64_t offset = engine->table().segments()->Get(object.segment())->offset();
  for (const ElfImage::Load &load : elf->loads)
    if (engine->descriptor() < 0 || !mapFromFile(image->base, load, engine->descriptor(), offset))
      if (!copyToMemory(image->base, load, bytes))
        return failed(errno);

  for (const flatbuffers::String *name : *object.kernel_symbols())
    image->functions.push_back(
        reinterpret_cast<KernelFn>(image->base + *elf->find(name->string_view())));
  image->file = std::move(engine);
  image->object = &object;
  return image;
}

CodeImage::~CodeImage() {
  if (base)
    ::munmap(base, length);
}

Result<KernelFn> CodeImage::symbol(std::string_view name) const {
  Result<ElfImage> elf = parseElf(file->segment(object->segment()), object->target()->str());
  if (!elf)
    return elf.error();
  if (std::optional<uint64_t> address = elf->find(name))
    return reinterpret_cast<KernelFn>(base + *address);
  return Error{ExitCode::File, "E0385",
               "the engine has no kernel named '" + std::string(name) + "'",
               "its code for " + object->target()->str() + " has " +
                   std::to_string(elf->symbols.size()) + " functions",
               "list them with: ingot inspect E"};
}

} // namespace ingot::runtime

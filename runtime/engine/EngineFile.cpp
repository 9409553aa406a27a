//===- EngineFile.cpp - See EngineFile.h ----------------------------------===//
#include "runtime/engine/EngineFile.h"

#include "runtime/engine/Verify.h"

#include <cassert>
#include <cerrno>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::runtime {

static Error cannotOpen(const std::string &path, int reason) {
  return {ExitCode::File, "E0301", "cannot open " + path, std::strerror(reason),
          reason == ENOENT ? "create it: ingot compile MODEL -o " + path
                           : "check the path and its permissions"};
}

/// Opens a regular file without blocking on pipes or waking devices.
static Result<int> openRegular(const std::string &path, uint64_t &size) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return cannotOpen(path, errno);
  Error irregular{ExitCode::File, "E0302", path + " is not a regular file",
                  "an engine is mapped, which needs a file on a disk",
                  "give the path of an engine file"};
  if (!S_ISREG(info.st_mode))
    return irregular;
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return cannotOpen(path, errno);
  // The file may have been replaced in between, so check the one that was opened.
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return irregular;
  }
  size = static_cast<uint64_t>(info.st_size);
  return fd;
}

Result<std::shared_ptr<EngineFile>> EngineFile::open(const std::string &path,
                                                     VerifyLevel level) try {
  std::shared_ptr<EngineFile> file(new EngineFile); // the constructor is private
  file->name = path;
  uint64_t size = 0;
  Result<int> fd = openRegular(path, size);
  if (!fd)
    return fd.error();
  file->fd = *fd;
  if (size < sizeof(EngineHeader))
    return damaged("E0303", path,
                   "it has " + std::to_string(size) + " bytes; the header alone needs 64");
  void *base = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, *fd, 0);
  if (base == MAP_FAILED)
    return Error{ExitCode::File, errors::kCannotMapEngine, "cannot map " + path,
                 std::to_string(size) + " bytes: " + std::strerror(errno),
                 "check the limit of virtual memory: ulimit -v"};
  file->bytes = {static_cast<const std::byte *>(base), size};
  // A hint for data that is not in the page cache yet: if the file system supports it, the data is
  // read in huge pages, regardless of the disk's read-ahead setting.
  (void)::madvise(base, size, MADV_HUGEPAGE);

  if (Result<void> ok = file->verify(level); !ok)
    return ok.error();
  return file;
} catch (const std::bad_alloc &) {
  return outOfMemory("opening " + path);
}

Result<std::shared_ptr<EngineFile>> EngineFile::fromMemory(std::span<const std::byte> bytes,
                                                           VerifyLevel level) {
  std::shared_ptr<EngineFile> file(new EngineFile);
  file->name = "the engine";
  file->bytes = bytes;
  if (Result<void> ok = file->verify(level); !ok)
    return ok.error();
  return file;
}

Result<void> EngineFile::verify(VerifyLevel level) {
  Result<std::span<const std::byte>> table = verifyHeader(bytes, name);
  if (!table)
    return table.error();
  Result<const fb::Engine *> root = verifyStructure(*table, name);
  if (!root)
    return root.error();
  engine = *root;
  return verifyMeaning(bytes, *engine, level, name);
}

EngineFile::~EngineFile() {
  if (fd < 0)
    return; // the bytes are borrowed
  if (!bytes.empty())
    ::munmap(const_cast<std::byte *>(bytes.data()), bytes.size());
  ::close(fd);
}

const EngineHeader &EngineFile::header() const {
  return *reinterpret_cast<const EngineHeader *>(bytes.data());
}

std::span<const std::byte> EngineFile::segment(size_t index) const {
  assert(index < engine->segments()->size() && "the verifier refuses such a table");
  const fb::Segment *segment = engine->segments()->Get(index);
  return bytes.subspan(segment->offset(), segment->size());
}

std::span<const std::byte> EngineFile::weightData(const fb::Weight &weight) const {
  if (weight.source() == fb::WeightSource::Seed)
    return {};
  return segment(weight.segment()).subspan(weight.offset(), weight.size());
}

std::span<const std::byte> EngineFile::tokenizer() const {
  const fb::Text *text = engine->text();
  return text && text->tokenizer_segment() >= 0 ? segment(text->tokenizer_segment())
                                                : std::span<const std::byte>();
}

std::string_view EngineFile::chatTemplate(std::string_view name) const {
  const fb::Text *text = engine->text();
  int64_t index = text && name.empty() ? text->chat_template_segment() : -1;
  for (unsigned i = 0; text && text->templates() && i < text->templates()->size(); ++i)
    if (const fb::NamedTemplate *one = text->templates()->Get(i);
        one->name()->string_view() == name)
      index = one->segment();
  if (index < 0)
    return {};
  std::span<const std::byte> bytes = segment(size_t(index));
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

Result<std::string_view> EngineFile::chatTemplateCalled(const std::string &name) const {
  const bool main = name.empty() || name == "default";
  const std::string_view source = chatTemplate(main ? "" : name);
  if (main || !source.empty())
    return source;
  std::string known = chatTemplate().empty() ? "" : "default";
  for (std::string_view one : templateNames())
    known += (known.empty() ? "" : ", ") + std::string(one);
  return Error{ExitCode::Usage, "E0627", "no chat template is named '" + name + "'",
               known.empty() ? "the engine has none" : "the engine has: " + known,
               known.empty() ? "give a file: --chat-template FILE.jinja" : "choose one of these"};
}

static std::vector<int32_t> listOf(const flatbuffers::Vector<int32_t> *ids) {
  return ids ? std::vector<int32_t>(ids->begin(), ids->end()) : std::vector<int32_t>();
}

std::vector<int32_t> EngineFile::textPrefix() const {
  const fb::SpecialTokens *special = engine->text() ? engine->text()->special() : nullptr;
  if (!special)
    return {};
  if (!special->prefix() && special->add_bos() && special->bos() >= 0)
    return {special->bos()};
  return listOf(special->prefix());
}

std::vector<int32_t> EngineFile::textSuffix() const {
  const fb::SpecialTokens *special = engine->text() ? engine->text()->special() : nullptr;
  return special ? listOf(special->suffix()) : std::vector<int32_t>();
}

std::vector<std::string_view> EngineFile::templateNames() const {
  std::vector<std::string_view> names;
  const fb::Text *text = engine->text();
  for (unsigned i = 0; text && text->templates() && i < text->templates()->size(); ++i)
    names.push_back(text->templates()->Get(i)->name()->string_view());
  return names;
}

} // namespace ingot::runtime

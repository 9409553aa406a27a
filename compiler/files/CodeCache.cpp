//===- CodeCache.cpp - See CodeCache.h ------------------------------------===//
#include "compiler/files/CodeCache.h"
#include "compiler/files/TemporaryFile.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include <xxhash.h>

namespace ingot::compiler {
namespace {

/// The head of a cache file, before the bytes. The digit in the magic must change with this layout.
struct Head {
  char magic[8] = {'i', 'n', 'g', 'c', 'o', 'd', 'e', '1'};
  uint64_t high = 0, low = 0; ///< XXH3-128 of key and bytes
};
static_assert(sizeof(Head) == 24);

class Hash {
public:
  Hash() : state(XXH3_createState(), &XXH3_freeState) { XXH3_128bits_reset(state.get()); }
  void add(const void *bytes, size_t size) { XXH3_128bits_update(state.get(), bytes, size); }
  XXH128_hash_t value() const { return XXH3_128bits_digest(state.get()); }

private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state;
};

/// Returns the head for these bytes. The hash includes the key, so a file under another key's name counts as damaged.
Head headOf(const CodeCache::Key &key, std::string_view bytes) {
  Hash hash;
  hash.add(&key, sizeof key);
  hash.add(bytes.data(), bytes.size());
  Head head;
  head.high = hash.value().high64, head.low = hash.value().low64;
  return head;
}

} // namespace

std::string CodeCache::Key::hex() const {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return text;
}

CodeCache::Key CodeCache::keyOf(std::span<const std::string> texts) {
  Hash hash;
  for (const std::string &text : texts) {
    uint64_t size = text.size();
    hash.add(&size, sizeof size);
    hash.add(text.data(), text.size());
  }
  return {hash.value().high64, hash.value().low64};
}

Result<CodeCache> CodeCache::open(const std::string &folder) {
  const std::string code = folder + "/code";
  auto refused = [&](std::string why) {
    return Error{ExitCode::File, "E0431", "cannot write to the cache folder " + folder,
                 std::move(why), "give another folder, or compile without --cache"};
  };
  std::error_code failure;
  std::filesystem::create_directories(code, failure);
  if (failure)
    return refused(failure.message());
  // Creating a file is the best test of whether files can be created; it is removed again.
  if (auto trial = TemporaryFile::create(code + "/trial"); !trial)
    return refused(trial.error().why);
  return CodeCache(code);
}

std::optional<std::string> CodeCache::lookup(const Key &key) {
  std::ifstream file(path(key), std::ios::binary);
  if (!file)
    return std::nullopt;
  Head head;
  std::string bytes;
  if (file.read(reinterpret_cast<char *>(&head), sizeof head))
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  const Head expected = headOf(key, bytes);
  if (std::memcmp(&head, &expected, sizeof head)) {
    ++bad;
    return std::nullopt;
  }
  ++hits;
  return bytes;
}

std::string CodeCache::note(size_t objects) {
  const int found = hits - std::exchange(notedHits, hits);
  const int damaged = bad - std::exchange(notedBad, bad);
  std::string text =
      ", " + std::to_string(found) + " of " + std::to_string(objects) + " from the cache";
  return damaged ? text + " (" + std::to_string(damaged) + " damaged entries there)" : text;
}

bool CodeCache::store(const Key &key, std::string_view bytes) {
  auto file = TemporaryFile::create(path(key));
  if (!file)
    return false;
  const Head head = headOf(key, bytes);
  return (*file)->write(0, std::as_bytes(std::span(&head, 1))) &&
         (*file)->write(sizeof head, std::as_bytes(std::span(bytes))) && (*file)->commit();
}

} // namespace ingot::compiler

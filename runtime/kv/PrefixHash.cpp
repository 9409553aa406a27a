//===- PrefixHash.cpp - See PrefixHash.h -----------------------------------===//
#include "runtime/kv/PrefixHash.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <random>

#include <xxhash.h>

namespace ingot::runtime {

static PageName hashed(const void *bytes, size_t size, const PrefixHasher::Secret &secret) {
  XXH128_hash_t hash = XXH3_128bits_withSecret(bytes, size, secret.data(), secret.size());
  return {hash.low64, hash.high64};
}

PrefixHasher::PrefixHasher() {
  std::random_device system;
  for (size_t i = 0; i < secret.size(); i += sizeof(uint32_t)) {
    uint32_t word = system();
    std::memcpy(secret.data() + i, &word, sizeof word);
  }
}

PageName PrefixHasher::root(uint64_t salt) const { return hashed(&salt, sizeof salt, secret); }

PageName PrefixHasher::next(const PageName &parent, std::span<const int32_t> tokens) const {
  constexpr size_t kMost = 64;
  assert(tokens.size() <= kMost && "pages have fewer tokens than this buffer holds");
  std::byte bytes[sizeof(PageName) + kMost * sizeof(int32_t)];
  std::memcpy(bytes, &parent, sizeof parent);
  std::memcpy(bytes + sizeof parent, tokens.data(), tokens.size_bytes());
  return hashed(bytes, sizeof parent + tokens.size_bytes(), secret);
}

} // namespace ingot::runtime

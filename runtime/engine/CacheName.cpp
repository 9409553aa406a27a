//===- CacheName.cpp - See CacheName.h ------------------------------------===//
#include "runtime/engine/CacheName.h"

#include <cstdio>
#include <filesystem>

#include <xxhash.h>

namespace ingot::runtime {

std::string fingerprint(std::span<const std::byte> bytes) {
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

/// Returns the stem of a path. For a hub's cached snapshot, …/models--ORG--NAME/snapshots/COMMIT, it is NAME.
static std::string stemOf(std::filesystem::path path) {
  if (!path.has_filename())
    path = path.parent_path();
  const std::filesystem::path snapshots = path.parent_path();
  const std::string repository = snapshots.parent_path().filename().string();
  if (snapshots.filename() == "snapshots" && repository.starts_with("models--"))
    return repository.substr(repository.rfind("--") + 2);
  return path.stem().string();
}

std::string cacheName(const std::string &model, const std::string &contentHash,
                      const std::string &compiler, const std::vector<std::string> &arguments) {
  std::string key = contentHash + "\n" + compiler;
  for (const std::string &argument : arguments)
    key += "\n" + argument;
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(key.data(), key.size())));
  std::string stem = stemOf(std::filesystem::path(model).lexically_normal());
  return (stem.empty() ? "model" : stem) + "-" + hash + ".ingot";
}

} // namespace ingot::runtime

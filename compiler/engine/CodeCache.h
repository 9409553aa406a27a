//===- CodeCache.h - Generated code that is kept by what it was made from --===//
//
//   DIR/code/<32 hex digits of the key>     magic, hash of key and bytes, the bytes
//
// The key is a hash of everything that decides the bytes: whoever generates code says what that
// is, as whole texts and never as fields chosen by hand, and adds which compiler it is
// (compiler/driver/CompilerIdentity.h). An object's target is one of its texts, so code for CPUs
// and for GPUs lie side by side.
//
// A file gets its name when it is complete, so processes may share a folder. One that does not have
// its hash is damaged, counts as missing and is replaced. Any file may be deleted at any time.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ingot::compiler {

class CodeCache {
public:
  struct Key {
    uint64_t high, low; ///< XXH3-128
    std::string hex() const;
  };

  /// Of these texts in this order, each with its length.
  static Key keyOf(std::span<const std::string> texts);

  /// Makes the folder if need be. Error: E0431 it cannot be made or written; nothing has been
  /// compiled by then.
  static Result<CodeCache> open(const std::string &folder);

  /// The bytes that were stored under the key. Nothing: they were not, or are damaged.
  std::optional<std::string> lookup(const Key &key);

  /// False if they cannot be kept (a full disk): the next compilation generates them again.
  bool store(const Key &key, std::string_view bytes);

  /// ", 3 of 5 from the cache": how many of these objects it had since it was last asked this.
  std::string note(size_t objects);

  int found() const { return hits; }
  int damaged() const { return bad; } ///< files seen by lookup that did not have their hash

private:
  explicit CodeCache(std::string folder) : folder(std::move(folder)) {}
  std::string path(const Key &key) const { return folder + "/" + key.hex(); }

  std::string folder;
  int hits = 0, bad = 0;
  int notedHits = 0, notedBad = 0;
};

} // namespace ingot::compiler

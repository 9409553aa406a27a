//===- CodeCache.h - Generated code, keyed by its inputs -------------------===//
//
//   DIR/code/<32 hex digits of the key>     magic, hash of key and bytes, the bytes
//
// The key is a hash of everything that determines the bytes: the code generator passes its inputs as whole
// texts, never as hand-picked fields, and adds the identity of the compiler
// (codegen/CompilerIdentity.h). An object's target is one of these texts, so code for CPUs and GPUs
// can share the folder.
//
// A file gets its name only once it is complete, so processes may share a folder. A file that does not match
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

  /// Returns the key of these texts in this order, each hashed with its length.
  static Key keyOf(std::span<const std::string> texts);

  /// Creates the folder if needed. It is called before any compilation. Errors: E0431: the folder cannot be created or
  /// written.
  static Result<CodeCache> open(const std::string &folder);

  /// Returns the bytes stored under the key; nullopt if there are none or they are damaged.
  std::optional<std::string> lookup(const Key &key);

  /// Stores the bytes. Returns false if that fails (a full disk): the next compilation generates them again.
  bool store(const Key &key, std::string_view bytes);

  /// Returns how many of `objects` objects were found since the last call: ", 3 of 5 from the cache".
  std::string note(size_t objects);

  int found() const { return hits; }
  int damaged() const { return bad; } ///< number of files that did not match their hash

private:
  explicit CodeCache(std::string folder) : folder(std::move(folder)) {}
  std::string path(const Key &key) const { return folder + "/" + key.hex(); }

  std::string folder;
  int hits = 0, bad = 0;
  int notedHits = 0, notedBad = 0;
};

} // namespace ingot::compiler

//===- PrefixHash.h - Names of full KV pages -------------------------------===//
//
// The keys and values of a page depend on all tokens up to its end. So its name is a chain:
//
//   salt --> root --(32 tokens)--> name of page 0 --(32 tokens)--> name of page 1 ...
//
// Names are XXH3-128 under a secret that each process draws: nobody outside can make two prefixes
// meet. Whoever uses another salt meets nobody's pages, and so learns nothing from their speed.
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ingot::runtime {

struct PageName {
  uint64_t low = 0, high = 0;
  bool operator==(const PageName &) const = default;
};

class PrefixHasher {
public:
  using Secret = std::array<std::byte, 192>;

  PrefixHasher(); ///< with a secret from the system
  explicit PrefixHasher(const Secret &secret) : secret(secret) {}

  /// What the first page of a sequence follows.
  PageName root(uint64_t salt) const;
  /// The name of the page with these tokens behind the page `parent`.
  PageName next(const PageName &parent, std::span<const int32_t> tokens) const;

private:
  Secret secret;
};

} // namespace ingot::runtime

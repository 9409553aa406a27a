//===- PrefixHash.h - Names of full KV pages -------------------------------===//
//
// The keys and values of a page depend on all tokens up to its end. Its name is therefore a hash chain:
//
//   salt --> root --(32 tokens)--> name of page 0 --(32 tokens)--> name of page 1 ...
//
// Names are XXH3-128 with a random secret of each process, so an outsider cannot construct colliding prefixes. Requests
// with different salts share no pages, so the timing of one reveals nothing about the others.
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

  PrefixHasher(); ///< gets the secret from the operating system
  explicit PrefixHasher(const Secret &secret) : secret(secret) {}

  /// Returns the parent of the first page of a sequence.
  PageName root(uint64_t salt) const;
  /// Returns the name of the page with these tokens after the page `parent`.
  PageName next(const PageName &parent, std::span<const int32_t> tokens) const;

private:
  Secret secret;
};

} // namespace ingot::runtime

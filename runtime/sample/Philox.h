//===- Philox.h - Counter-based random numbers ----------------------------===//
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) yields four 32-bit words
// that are a pure function of a 128-bit counter and a 64-bit key. Sampling forms counter and key from seed, choice
// index and absolute position. The random number for a token therefore does not depend on the tokens that any request
// sampled before, and preemption, batching and restarts do not change it.
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>

namespace ingot::runtime {

constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t(0xD2511F53u) * counter[0];
    uint64_t product1 = uint64_t(0xCD9E8D57u) * counter[2];
    counter = {uint32_t(product1 >> 32) ^ counter[1] ^ key[0], uint32_t(product1),
               uint32_t(product0 >> 32) ^ counter[3] ^ key[1], uint32_t(product0)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

/// Returns a uniform number in 0 … 2^64 - 1, for the token at `position`.
constexpr uint64_t randomFor(uint64_t seed, uint32_t choice, uint64_t position) {
  std::array<uint32_t, 4> words =
      philox4x32({uint32_t(position), uint32_t(position >> 32), choice, 0},
                 {uint32_t(seed), uint32_t(seed >> 32)});
  return uint64_t(words[1]) << 32 | words[0];
}

} // namespace ingot::runtime

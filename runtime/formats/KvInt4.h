//===- KvInt4.h - The KV cache in int4 ------------------------------------===//
//
// A vector (one KV head at one position) is stored as codes -7 … 7 with an f16 scale for each 32 of them:
//
//   scale = f16(amax / 7)     code = the integer nearest x * (7 / amax), ties to even; 0 where
//                             7 / amax is not finite
//
// As in int8 (KvInt8.h has the reason), K is first transformed by a Hadamard matrix H, and so is q. The
// transform of K is divided by the size n of a block. n is a power of two, so the division is exact, and since H H^T =
// n I, the dot product of the transformed q and K equals the dot product of q and K.
//
// A page (KernelAbi.h) has room for codes, then for scales. A byte holds code + 8 of elements
// 32 g + i (low) and 32 g + 16 + i (high), so 16 bytes hold two vectors of 16:
//
//   u8  k[kvHeads][headDim / 32][16][pageTokens]     i is the third index
//   u8  v[kvHeads][pageTokens][headDim / 32][16]
//   f16 scalesOfK[kvHeads][headDim / 32][pageTokens], scalesOfV[kvHeads][pageTokens][headDim / 32]
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ingot {

/// Values that share a scale; the size of a head is a multiple of it.
constexpr int64_t kKvInt4Group = 32;

} // namespace ingot

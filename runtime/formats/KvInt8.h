//===- KvInt8.h - The KV cache in int8 ------------------------------------===//
//
// A vector (one KV head at one position) is stored as codes -127 … 127 with one f32 scale:
//
//   scale = max(amax / 127, 2^-64)     code = the integer nearest x * (127 / amax), ties to even
//
// and all codes are 0 where amax / 127 is below 2^-64. K is transformed first, because a few elements of K are many
// times larger than the rest. With one scale for all, the rest would round to almost nothing. A Hadamard matrix H
// (entries 1 and -1) spreads every element over all of a block. Since H H^T = n I, the dot product of a transformed
// query and a transformed K is n times the dot product of the originals. The size of a block is the largest power of
// two that divides the head size: 64 and 128 are one block, 96 is three of 32, 80 is five of 16.
//
//   for s = 1, 2, 4 … block / 2:  (x[i], x[i+s]) = (x[i] + x[i+s], x[i] - x[i+s])
//
// A page (KernelAbi.h) has room for both codes and scales:
//
//   u8  k[kvHeads][headDim / 4][pageTokens][4]    code + 128: four elements are one lane
//   s8  v[kvHeads][pageTokens / 4][headDim][4]    four positions are one lane
//   f32 scalesOfK[kvHeads][pageTokens], scalesOfV[kvHeads][pageTokens]
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ingot {

/// Smallest scale of a vector, 2^-64; its logarithm and inverse are finite.
constexpr float kKvInt8LeastScale = 0x1p-64f;

/// Returns the number of elements of a head that one Hadamard matrix transforms. headDim is a multiple of 4.
constexpr int64_t kvInt8Block(int64_t headDim) { return headDim & -headDim; }

} // namespace ingot

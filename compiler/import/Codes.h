//===- Codes.h - A stored block taken apart, nothing lost -----------------===//
//
// GGUF packs a block of 32 or 256 weights in ways that suit ggml's kernels. Our
// packer wants the numbers: the unsigned codes in natural K order, the f16
// scales as bits, the integer sub-scales. `unpackBlock` gives exactly those, so
// that a repacked weight has the same value bit for bit; NumericFormat.h has the
// formula that makes numbers of them.
//
//   Q4_0  d  qs[16]                      byte j: q[j] low nibble, q[16+j] high
//   Q4_1  d m qs[16]                     the same
//   Q5_0  d qh[4] qs[16]                 bit j of qh: bit 4 of q[j]
//   Q5_1  d m qh[4] qs[16]
//   Q8_0  d w[32]                        signed; here q = w + 128
//   Q4_K  d dmin sc[12] qs[128]          per 64 values 32 bytes: low, then high nibbles
//   Q5_K  d dmin sc[12] qh[32] qs[128]   qh byte j, bit g: bit 4 of q[32g+j]
//   Q6_K  ql[128] qh[64] s[16] d         per 128 values: 64 bytes ql, 32 bytes qh
//
// (d, m, dmin: f16; sc: eight 6-bit scales and eight 6-bit minima interleaved.)
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/NumericFormat.h"

#include <cstddef>
#include <cstdint>

namespace ingot::import {

/// The parts of one stored block, as NumericFormat's formulas name them.
struct BlockParts {
  uint8_t q[256]; ///< codes, natural K order; q8_0 as w + 128; storedBlockValues() are set
  uint16_t d;     ///< f16 bits
  uint16_t m;     ///< f16 bits of m (affine) or dmin (super-affine); 0 without a minimum
  int16_t s[16];  ///< sub-scales: 8 (q4_k, q5_k: 0..63) or 16 (q6_k: -128..127)
  uint8_t t[8];   ///< sub-minima 0..63 (q4_k, q5_k)
};

/// Values of K in a stored block (1 for floats and fp8), and its bytes in the file. Only formats
/// that files hold (not Int8 and Int4*, which --quantize makes).
int64_t storedBlockValues(WeightFormat format);
int64_t storedBlockBytes(WeightFormat format);

/// Bytes of a row of `k` values; k must be a multiple of storedBlockValues.
int64_t storedRowBytes(WeightFormat format, int64_t k);

/// Takes one block apart. Quantised formats only; `block` needs no alignment.
void unpackBlock(WeightFormat format, const std::byte *block, BlockParts &parts);

/// IEEE binary16 to binary32, exact (denormals, infinities and NaN included).
float f16ToF32(uint16_t bits);

} // namespace ingot::import

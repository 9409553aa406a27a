//===- Codes.h - Stored blocks and their lossless decoding ----------------===//
//
// GGUF packs a block of 32 or 256 weights in ways that suit ggml's kernels. Our packer needs the unsigned codes in
// natural K order, the scales as stored, and the integer sub-scales. `unpackBlock` returns exactly these, so a repacked
// weight has the same value bit for bit. NumericFormat.h has the formulas that turn them into values.
//
//   Q4_0  d  qs[16]                      byte j: q[j] low nibble, q[16+j] high
//   Q4_1  d m qs[16]                     the same
//   Q5_0  d qh[4] qs[16]                 bit j of qh: bit 4 of q[j]
//   Q5_1  d m qh[4] qs[16]
//   Q8_0  d w[32]                        signed; here q = w + 128
//   Q4_K  d dmin sc[12] qs[128]          per 64 values 32 bytes: first all low, then all high nibbles
//   Q5_K  d dmin sc[12] qh[32] qs[128]   qh byte j, bit g: bit 4 of q[32g+j]
//   Q6_K  ql[128] qh[64] s[16] d         per 128 values: 64 bytes ql, 32 bytes qh
//   Q2_K  sc[16] qs[64] d dmin           sc: 4 bits s, 4 bits t; per 128 values 32 bytes: bits 0-1 first
//   Q3_K  qh[32] qs[64] sc[12] d         qs as Q2_K; qh byte j, bit g: bit 2 of q[32g+j]; 16 6-bit scales
//   IQ4_NL  d qs[16]                     as Q4_0, codes index a table
//   IQ4_XS  d sh[2] sl[4] qs[128]        8 6-bit scales; per 32 values 16 bytes as Q4_0
//   MXFP4   e qs[16]                     e: 8 bits, d = 2^(e - 128), for a table of doubled values
//   TQ2_0   qs[64] d                     q - 1 is -1, 0 or 1; qs as Q2_K
//   TQ1_0   qs[48] qh[4] d               five base-3 digits per byte (qh: four)
//   Q2_0    d qs[16]                     four codes per byte, the first lowest; q - 1 is -1, 0, 1 or 2
//   Q1_0    d qs[16]                     eight bits per byte, the first lowest; q - 1 is -1 or 1, so q is 0 or 2
//   IQ1 … IQ3                            GridBlocks.h
//
// (d, m, dmin: f16; sc: eight 6-bit scales and eight 6-bit minima interleaved.)
//
// Other containers store codes, scales and zero points in separate tensors, each in its own order. Their readers
// (GroupedInts.h) convert them to the following blocks, which this project defines:
//
//   Int4…, Int8…  d z qs                 d: as NumericFormat::scale; z: a byte, with hasZeros; codes in
//                                        order of K, the low nibble first
//
//   Int4M…, Int8M…       d m qs               both f16 or both bf16
//   NVFP4                d s[16] qs[128]      d: f32; s: E4M3; codes in order of K, the low nibble first
//   NF4, FP4             d qs[32]             d: f32, 1 / 123.26 or 1 / 120 of a block's largest magnitude
//
// Only rows of these blocks may end inside a block. The rest of the last block is then padding.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/NumericFormat.h"

#include <cstddef>
#include <cstdint>

namespace ingot::import {

/// The components of one stored block, named as in NumericFormat's formulas.
struct BlockParts {
  uint8_t q[256]; ///< storedBlockValues() codes in natural K order; q8_0 as w + 128
  float d;        ///< exactly as stored
  float m;        ///< m (affine) or dmin (super-affine); 0 without a minimum
  int16_t s[16];  ///< sub-scales, signed in formats without a minimum; NVFP4: E4M3 bits
  uint8_t t[16];  ///< sub-minima, or t[0] the zero point
};

/// The type in which the scale of a stored block is stored.
enum class StoredScale : uint8_t { F16, BF16, F32, E8M0 };

/// The layout of a block in a file; each format adds a row to the table in Codes.cpp.
struct StoredBlock {
  WeightFormat format;
  int values, bytes;
  int scaleAt, minAt; ///< byte offset of d (-1: `unpack` finds it), and of m or dmin (-1: none)
  StoredScale scale;
  /// Sets q, s and t. On entry, d and m are already set.
  void (*unpack)(const uint8_t *block, BlockParts &parts);
  bool endsAnywhere = false; ///< rows need not be whole blocks

  StoredScale minScale() const {
    return scale == StoredScale::BF16 ? StoredScale::BF16 : StoredScale::F16;
  }
};

/// Returns the layout of a format's blocks. Returns null for floats and fp8, which have no blocks of several values.
const StoredBlock *storedBlock(WeightFormat format);

/// Returns the number of K values in a stored block (1 for floats and fp8), and its size in bytes.
int64_t storedBlockValues(WeightFormat format);
int64_t storedBlockBytes(WeightFormat format);

/// Returns whether a row of `k` values can be stored.
bool storesRowsOf(WeightFormat format, int64_t k);

/// Returns the size in bytes of a row of `k` values; requires storesRowsOf(format, k).
int64_t storedRowBytes(WeightFormat format, int64_t k);

/// Decodes one block. Quantised formats only; `block` needs no alignment.
void unpackBlock(WeightFormat format, const std::byte *block, BlockParts &parts);

/// IEEE binary16 to binary32, exact (denormals, infinities and NaN included).
float f16ToF32(uint16_t bits);

} // namespace ingot::import

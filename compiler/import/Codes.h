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
//   Q2_K  sc[16] qs[64] d dmin           sc: 4 bits s, 4 bits t; per 128 values 32 bytes: bits 0-1 first
//   Q3_K  qh[32] qs[64] sc[12] d         qs as Q2_K; qh byte j, bit g: bit 2 of q[32g+j]; 16 6-bit scales
//   IQ4_NL  d qs[16]                     as Q4_0, of a table
//   IQ4_XS  d sh[2] sl[4] qs[128]        8 6-bit scales; per 32 values 16 bytes as Q4_0
//   MXFP4   e qs[16]                     e: 8 bits, d = 2^(e - 128), for twice the numbers
//   TQ2_0   qs[64] d                     q - 1 is -1, 0 or 1; qs as Q2_K
//   TQ1_0   qs[48] qh[4] d               five numbers of base 3 to a byte (qh: four)
//   Q2_0    d qs[16]                     four codes to a byte, the first lowest; q - 1 is -1, 0, 1 or 2
//   Q1_0    d qs[16]                     eight bits to a byte, the first lowest; q - 1 is -1 or 1, so q is 0 or 2
//   IQ1 … IQ3                            GridBlocks.h
//
// (d, m, dmin: f16; sc: eight 6-bit scales and eight 6-bit minima interleaved.)
//
// Checkpoints of other containers keep codes, scales and zero points in tensors of their own, in orders of their
// own; their readers (GroupedInts.h) make blocks of them, which this project chose:
//
//   Int4…, Int8…  d z qs                 d: as NumericFormat::scale; z: a byte, with hasZeros; codes in
//                                        order of K, the low nibble first
//
//   Int4M…, Int8M…       d m qs               both f16 or both bf16
//   NVFP4                d s[16] qs[128]      d: f32; s: E4M3; codes in order of K, the low nibble first
//   NF4, FP4             d qs[32]             d: f32, 1 / 123.26 or 1 / 120 of a block's largest magnitude
//
// Only these may end inside of a block: the rest of the last one is padding.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/NumericFormat.h"

#include <cstddef>
#include <cstdint>

namespace ingot::import {

/// The parts of one stored block, as NumericFormat's formulas name them.
struct BlockParts {
  uint8_t q[256]; ///< codes, natural K order; q8_0 as w + 128; storedBlockValues() are set
  float d;        ///< as it is stored: no bit is lost
  float m;        ///< m (affine) or dmin (super-affine); 0 without a minimum
  int16_t s[16];  ///< sub-scales, signed where there is no minimum; of NVFP4 the bits of E4M3
  uint8_t t[16];  ///< sub-minima, or t[0] the zero point
};

/// How the scale of a stored block is written.
enum class StoredScale : uint8_t { F16, BF16, F32, E8M0 };

/// A block as files have it: the row that a format adds to the table of Codes.cpp.
struct StoredBlock {
  WeightFormat format;
  int values, bytes;
  int scaleAt, minAt; ///< bytes of d (-1: `unpack` finds it), and of m or dmin (-1: none)
  StoredScale scale;
  void (*unpack)(const uint8_t *block, BlockParts &parts); ///< q, s and t; d and m are there
  bool endsAnywhere = false;                               ///< rows need not be whole blocks

  StoredScale minScale() const {
    return scale == StoredScale::BF16 ? StoredScale::BF16 : StoredScale::F16;
  }
};

/// Null: floats and fp8, whose blocks are single values.
const StoredBlock *storedBlock(WeightFormat format);

/// Values of K in a stored block (1 for floats and fp8), and its bytes in the file.
int64_t storedBlockValues(WeightFormat format);
int64_t storedBlockBytes(WeightFormat format);

/// Can a row of so many values be stored?
bool storesRowsOf(WeightFormat format, int64_t k);

/// Bytes of a row of `k` values, which storesRowsOf allows.
int64_t storedRowBytes(WeightFormat format, int64_t k);

/// Takes one block apart. Quantised formats only; `block` needs no alignment.
void unpackBlock(WeightFormat format, const std::byte *block, BlockParts &parts);

/// IEEE binary16 to binary32, exact (denormals, infinities and NaN included).
float f16ToF32(uint16_t bits);

} // namespace ingot::import

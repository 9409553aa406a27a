//===- NumericFormat.h - Numeric formats of weights -----------------------===//
//
// A numeric format defines how a stored weight becomes a real number, but not where its bits lie.
// The importer reads the packing of files (compiler/import/checkpoint/Dequantize.h); PanelLayout.h
// and FragmentLayout.h define the packing for kernels.
//
//   Float        w = the stored value
//   Affine       w = d * (q - zeroPoint)        one d per `group` values of K
//                w = d * q + m                  with hasMin: one m as well, f16, or bf16 if d is bf16
//                w = d * (q - z)                with hasZeros: a zero point z of 8 bits for each group
//   SuperAffine  w = (d * s) * (q - zeroPoint)  d: f16 per `superGroup`; s: integer per `group`
//                w = (d * s) * q - (dmin * t)   with hasMin (Q2_K, Q4_K, Q5_K): t like s
//                w = (d * e4m3(s)) * (q - zeroPoint)   with floatSubScales (NVFP4)
//   ScaledFloat  w = s * e4m3(q)                s: f32, one per tensor, row of N or 128 x 128 block
//
// In a format with a table (IQ4_NL, MXFP4, NF4), q is table[code]: one of 16 unevenly spaced unsigned integers. Every
// kernel that multiplies integers therefore supports these formats too.
//
// e4m3(q) is the OCP 8-bit float: sign, 4 bits of exponent (bias 7), 3 of mantissa; subnormal below
// 2^-6, 448 the largest, no infinities; 0x7f and 0xff are NaN and not valid weights (E4M3.h). Kernels
// read all three scalings in one encoding: a scale per row for every 128 values of K.
//
// q is unsigned; a code is `bits` wide. d has the type `scale`, f16 by default. All arithmetic of the formulas
// is in f32 and rounds once per written operation: the reference de-quantisation, the interpreter and `exact`
// kernels compute exactly this.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/Grids.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot {

enum class WeightFormat : uint8_t {
  // clang-format off
  F32, F16, BF16,
  Q4_0, Q4_1, Q5_0, Q5_1, Q8_0,     // GGUF blocks of 32
  Q2_K, Q3_K, Q4_K, Q5_K, Q6_K,     // GGUF super-blocks of 256
  IQ4_NL, IQ4_XS,                   // GGUF, codes of a table: blocks of 32, super-blocks
  IQ3_S, IQ3_XXS, IQ2_S, IQ2_XS, IQ2_XXS, IQ1_S, IQ1_M, // GGUF, runs of values from a grid
  TQ2_0, TQ1_0,                     // -1, 0 and 1
  Q2_0, Q1_0,                       // -1, 0, 1 and 2 in blocks of 64; -1 and 1 in blocks of 128
  Mxfp4,                            // a table of the 16 values of E2M1, blocks of 32 with a power of two as scale
  Nvfp4,                            // the same values, an E4M3 scale per 16, times an f32 scale
  Nf4, Fp4,                         // bitsandbytes: tables, blocks of 64
  Int8, Int4G32, Int4G64, Int4G128, // made by --quantize: symmetric, f16 scales
  Int4ZG32, Int4ZG64, Int4ZG128,    // GPTQ, AWQ: a zero point per group
  Int4BG32, Int4BG128,              // compressed-tensors: bf16 scales, symmetric
  Int4ZBG32, Int4ZBG128,            // the same with a zero point per group
  Int4ZFG32, Int8F, Int8ZF,         // scales in full f32
  Int4MG32, Int4MG64, Int8MG32,     // MLX: a minimum for each group
  Int4MBG32, Int4MBG64, Int8MBG32,  // the same with scale and minimum in bf16
  Fp8Tensor, Fp8, Fp8Block128,      // E4M3, a scale per tensor, row (--quantize too), 128 x 128
  // clang-format on
};
constexpr int kWeightFormatCount = 53;

struct NumericFormat {
  enum class Kind : uint8_t { Float, Affine, SuperAffine, ScaledFloat };
  enum class Scale : uint8_t { F16, BF16, F32 }; ///< type of d, in files and in engines
  /// Specifies how layouts hold codes (PanelLayout.h, FragmentLayout.h). Planes: in bit planes. Trits: in base 3 (in
  /// tiles: in planes). Bit1: only bit 1 is stored, since all other bits are 0. Grid: as indexes of a grid; its
  /// sub-scales are odd and stored as nibbles.
  enum class Packing : uint8_t { Planes, Trits, Bit1, Grid };
  WeightFormat id;
  std::string_view name; ///< as in IR (`#lm.format<q4_1>`), `inspect` and the engine
  Kind kind;
  int bits;       ///< bits of a code, or of the float
  int group;      ///< values of K that share a scale (a sub-scale for SuperAffine); 1 for floats
  int zeroPoint;  ///< subtracted from q; 0 where hasMin
  bool hasMin;    ///< m, -(dmin * t) or -(d * z) is added to each product
  int superGroup; ///< 256 for K-quants, else 0
  Scale scale = Scale::F16;
  bool hasZeros = false;          ///< it has z instead of m; hasMin is true as well
  const uint8_t *table = nullptr; ///< 16 values: q of each code; null: q is the code
  bool floatSubScales = false;    ///< s is unsigned E4M3, not an integer; groups have 16 values
  int subScaleBits = 8;           ///< bits of integer s and t; s is signed if there is no minimum
  Packing packing = Packing::Planes;
  const Grid *grid = nullptr; ///< set for Packing::Grid

  bool isFloat() const { return kind == Kind::Float; }
  bool isScaledFloat() const { return kind == Kind::ScaledFloat; }
  /// Returns whether its codes allow exact integer dots with quantised activations.
  bool hasIntegerCodes() const { return kind == Kind::Affine || kind == Kind::SuperAffine; }
  int scaleBytes() const { return scale == Scale::F32 ? 4 : 2; }
  /// Returns the type of m and dmin.
  Scale minScale() const { return scale == Scale::BF16 ? Scale::BF16 : Scale::F16; }
  /// Returns q of a code; largest() returns the largest q.
  constexpr int numberOf(int code) const { return table ? table[code] : code; }
  int largest() const;
  /// Returns the number of values of K in one self-contained block of a row.
  int block() const { return superGroup ? superGroup : group; }
};

/// Returns the description of a format. Q8_0 and Int8 are described as q = w + 128 (zeroPoint 128).
const NumericFormat &numericFormat(WeightFormat format);

/// Returns the format of that name ("q4_1", "int4_g64", …), if there is one.
std::optional<WeightFormat> weightFormatNamed(std::string_view name);

} // namespace ingot

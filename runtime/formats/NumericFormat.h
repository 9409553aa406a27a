//===- NumericFormat.h - What the numbers of a weight are -----------------===//
//
// A numeric format says how a stored weight becomes a real number. It says
// nothing of where the bits lie: the file's packing is the importer's affair
// (compiler/import/Dequantize.h) and the kernel's packing is PanelLayout.h.
//
//   Float        w = the stored value
//   Affine       w = d * (q - zeroPoint)        one d per `group` values of K
//                w = d * q + m                  with hasMin: one m as well, f16, or bf16 where d is
//                w = d * (q - z)                with hasZeros: a zero point z of 8 bits for each group
//   SuperAffine  w = (d * s) * (q - zeroPoint)  d: f16 per `superGroup`; s: integer per `group`
//                w = (d * s) * q - (dmin * t)   with hasMin (Q2_K, Q4_K, Q5_K): t like s
//                w = (d * e4m3(s)) * (q - zeroPoint)   with floatSubScales (NVFP4)
//   ScaledFloat  w = s * e4m3(q)                s: f32, one per tensor, row of N or 128 x 128 block
//
// A format with a table (IQ4_NL, MXFP4, NF4) writes table[code] for q: 16 unsigned numbers, unevenly far from
// each other. So every kernel that multiplies integers multiplies these too.
//
// e4m3(q) is the OCP 8-bit float: sign, 4 bits of exponent (bias 7), 3 of mantissa; subnormal below
// 2^-6, 448 the largest, no infinities; 0x7f and 0xff are NaN and no weight (E4M3.h). Kernels read
// one form of the three: a scale per row for every 128 values of K.
//
// q is unsigned; a code is `bits` wide. d is f16, or what `scale` says. All arithmetic of the formulas is in f32 and
// rounds once per written operation: that is what the reference
// de-quantisation, the interpreter and `exact` kernels compute.
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
  IQ3_S, IQ3_XXS, IQ2_S, IQ2_XS, IQ2_XXS, IQ1_S, IQ1_M, // numbers of a grid, which are few
  TQ2_0, TQ1_0,                     // -1, 0 and 1
  Q2_0, Q1_0,                       // -1, 0, 1 and 2 in blocks of 64; -1 and 1 in blocks of 128
  Mxfp4,                            // a table of the 16 numbers of E2M1, blocks of 32 under a power of two
  Nvfp4,                            // the same numbers, scales of E4M3 for 16, times one of f32
  Nf4, Fp4,                         // bitsandbytes: tables, blocks of 64
  Int8, Int4G32, Int4G64, Int4G128, // made by --quantize: symmetric, f16 scales
  Int4ZG32, Int4ZG64, Int4ZG128,    // GPTQ, AWQ: a zero point per group
  Int4BG32, Int4BG128,              // compressed-tensors: bf16 scales, symmetric
  Int4ZBG32, Int4ZBG128,            // and with a zero point per group
  Int4ZFG32, Int8F, Int8ZF,         // scales of all bits of f32
  Int4MG32, Int4MG64, Int8MG32,     // MLX: a minimum for each group
  Int4MBG32, Int4MBG64, Int8MBG32,  // and both bf16
  Fp8Tensor, Fp8, Fp8Block128,      // E4M3, a scale per tensor, row (--quantize too), 128 x 128
  // clang-format on
};
constexpr int kWeightFormatCount = 53;

struct NumericFormat {
  enum class Kind : uint8_t { Float, Affine, SuperAffine, ScaledFloat };
  enum class Scale : uint8_t { F16, BF16, F32 }; ///< how d is stored, in files and in engines
  /// How panels hold codes (PanelLayout.h): bit by bit; in base 3; bit 1 alone, where the others are 0; by a grid,
  /// and then sub-scales, which are odd, as nibbles.
  enum class Packing : uint8_t { Planes, Trits, Bit1, Grid };
  WeightFormat id;
  std::string_view name; ///< as in IR (`#lm.format<q4_1>`), `inspect` and the engine
  Kind kind;
  int bits;       ///< of a code, or of the float
  int group;      ///< values of K that share a scale (a sub-scale for SuperAffine); 1 for floats
  int zeroPoint;  ///< subtracted from q; 0 where hasMin
  bool hasMin;    ///< a number is added to each product: m, -(dmin * t) or -(d * z)
  int superGroup; ///< 256 for K-quants, else 0
  Scale scale = Scale::F16;
  bool hasZeros = false;          ///< z instead of m; hasMin is true
  const uint8_t *table = nullptr; ///< 16 numbers: q of each code; null: q is the code
  bool floatSubScales = false;    ///< s is E4M3 without a sign, not an integer; groups are of 16
  int subScaleBits = 8;           ///< of integer s and t; s has a sign where there is no minimum
  Packing packing = Packing::Planes;
  const Grid *grid = nullptr; ///< of Packing::Grid

  bool isFloat() const { return kind == Kind::Float; }
  bool isScaledFloat() const { return kind == Kind::ScaledFloat; }
  /// Do its codes make exact integer dots with quantised activations?
  bool hasIntegerCodes() const { return kind == Kind::Affine || kind == Kind::SuperAffine; }
  int scaleBytes() const { return scale == Scale::F32 ? 4 : 2; }
  /// How m and dmin are stored.
  Scale minScale() const { return scale == Scale::BF16 ? Scale::BF16 : Scale::F16; }
  /// q of a code, and the largest there is.
  constexpr int numberOf(int code) const { return table ? table[code] : code; }
  int largest() const;
  /// Values of K that one self-contained run of a row covers.
  int block() const { return superGroup ? superGroup : group; }
};

/// Q8_0 and Int8 hold w as q = w + 128 in this view (zeroPoint 128).
const NumericFormat &numericFormat(WeightFormat format);

/// The format of that name ("q4_1", "int4_g64", …), if there is one.
std::optional<WeightFormat> weightFormatNamed(std::string_view name);

} // namespace ingot

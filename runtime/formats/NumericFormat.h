//===- NumericFormat.h - What the numbers of a weight are -----------------===//
//
// A numeric format says how a stored weight becomes a real number. It says
// nothing of where the bits lie: the file's packing is the importer's affair
// (compiler/import/Dequantize.h) and the kernel's packing is PanelLayout.h.
//
//   Float        w = the stored value
//   Affine       w = d * (q - zeroPoint)        one f16 d per `group` values of K
//                w = d * q + m                  with hasMin: one f16 m as well
//   SuperAffine  w = (d * s) * (q - zeroPoint)  d: f16 per `superGroup`; s: integer per `group`
//                w = (d * s) * q - (dmin * t)   with hasMin (Q4_K, Q5_K): t like s
//   ScaledFloat  w = s * e4m3(q)                s: f32, one per tensor, row of N or 128 x 128 block
//
// e4m3(q) is the OCP 8-bit float: sign, 4 bits of exponent (bias 7), 3 of mantissa; subnormal below
// 2^-6, 448 the largest, no infinities; 0x7f and 0xff are NaN and no weight (E4M3.h). Kernels read
// one form of the three: a scale per row for every 128 values of K.
//
// q is unsigned, `bits` wide. All arithmetic of the formulas is in f32 and
// rounds once per written operation: that is what the reference
// de-quantisation, the interpreter and `exact` kernels compute.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot {

enum class WeightFormat : uint8_t {
  // clang-format off
  F32, F16, BF16,
  Q4_0, Q4_1, Q5_0, Q5_1, Q8_0,     // GGUF blocks of 32
  Q4_K, Q5_K, Q6_K,                 // GGUF super-blocks of 256
  Int8, Int4G32, Int4G64, Int4G128, // made by --quantize: symmetric, f16 scales
  Fp8Tensor, Fp8, Fp8Block128,      // E4M3, a scale per tensor, row (--quantize too), 128 x 128
  // clang-format on
};
constexpr int kWeightFormatCount = 18;

struct NumericFormat {
  enum class Kind : uint8_t { Float, Affine, SuperAffine, ScaledFloat };
  WeightFormat id;
  std::string_view name; ///< as in IR (`#lm.format<q4_1>`), `inspect` and the engine
  Kind kind;
  int bits;      ///< of a code, or of the float
  int group;     ///< values of K that share a scale (a sub-scale for SuperAffine); 1 for floats
  int zeroPoint; ///< subtracted from the code; 0 where hasMin
  bool hasMin;
  int superGroup; ///< 256 for K-quants, else 0

  bool isFloat() const { return kind == Kind::Float; }
  bool isScaledFloat() const { return kind == Kind::ScaledFloat; }
  /// Do its codes make exact integer dots with quantised activations?
  bool hasIntegerCodes() const { return kind == Kind::Affine || kind == Kind::SuperAffine; }
  /// Values of K that one self-contained run of a row covers.
  int block() const { return superGroup ? superGroup : group; }
};

/// Q8_0 and Int8 hold w as q = w + 128 in this view (zeroPoint 128).
const NumericFormat &numericFormat(WeightFormat format);

/// The format of that name ("q4_1", "int4_g64", …), if there is one.
std::optional<WeightFormat> weightFormatNamed(std::string_view name);

} // namespace ingot

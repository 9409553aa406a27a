//===- NumericFormat.cpp - The table of numeric formats -------------------===//
#include "runtime/formats/NumericFormat.h"

#include <algorithm>
#include <cassert>

using namespace ingot;
using Kind = NumericFormat::Kind;
using Scale = NumericFormat::Scale;
using Packing = NumericFormat::Packing;

// q - zeroPoint is the number in the format's specification: for IQ4 (ggml-common.h, kvalues_iq4nl) -127 … 113.
// For E2M1 (OCP Microscaling Formats, 5.3.3) it is twice the number: 0, 1, 2, 3, 4, 6, 8, 12 and their
// negatives; d includes the factor 1/2.
static constexpr uint8_t kIq4[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                     129, 141, 153, 166, 181, 197, 217, 241};
// The entries of the grids (ggml-common.h) have only these numbers, with a sign: IQ3_S 1, 3, … 15; IQ3_XXS 4,
// 12, 20, 28, 36, 44, 52, 62; IQ2 8, 25, 43; IQ1 -1, 0, 1, times 8 and shifted by ±1: ±1, ±7, ±9.
static constexpr uint8_t kIq3S[16] = {17, 19, 21, 23, 25, 27, 29, 31, 15, 13, 11, 9, 7, 5, 3, 1};
static constexpr uint8_t kIq3Xxs[16] = {68, 76, 84, 92, 100, 108, 116, 126,
                                        60, 52, 44, 36, 28,  20,  12,  2};
static constexpr uint8_t kIq2[16] = {72, 89, 107, 64, 64, 64, 64, 64,
                                     56, 39, 21,  64, 64, 64, 64, 64};
static constexpr uint8_t kIq1[16] = {9, 17, 25, 16, 16, 16, 16, 16, 7, 15, 23, 16, 16, 16, 16, 16};
// The values of bitsandbytes' formats are not integers. These tables hold the integers nearest to 123.26 times the
// values of NF4, and to 120 times the values of FP4. Relative to the largest value, the errors are at most 0.0028 for
// NF4 and 0.0031 for FP4. (FP4 is exact except for its smallest value, 1/192.) For comparison, a product in bf16, as
// bitsandbytes computes it, has an error of 0.002.
static constexpr uint8_t kNf4[16] = {5,   42,  63,  79,  93,  105, 117, 128,
                                     138, 148, 158, 170, 182, 197, 217, 251};
static constexpr uint8_t kFp4[16] = {128, 129, 208, 248, 168, 188, 148, 158,
                                     128, 127, 48,  8,   88,  68,  108, 98};
static constexpr uint8_t kE2M1[16] = {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4};

static constexpr Grid kOfIq3S{kGridIq3S, 9, 4, GridSigns::Value},
    kOfIq3Xxs{kGridIq3Xxs, 8, 4, GridSigns::Value}, kOfIq2S{kGridIq2S, 10, 8, GridSigns::Value},
    kOfIq2Xs{kGridIq2Xs, 9, 8, GridSigns::Value}, kOfIq2Xxs{kGridIq2Xxs, 8, 8, GridSigns::Value},
    kOfIq1S{kGridIq1, 11, 8, GridSigns::Group}, kOfIq1M{kGridIq1, 11, 8, GridSigns::Run};

static constexpr NumericFormat kNumericFormats[kWeightFormatCount] = {
    // id                     name        kind               bits group zp   min    super scale       zeros  table  s is e4m3  packing
    {WeightFormat::F32, "f32", Kind::Float, 32, 1, 0, false, 0},
    {WeightFormat::F16, "f16", Kind::Float, 16, 1, 0, false, 0},
    {WeightFormat::BF16, "bf16", Kind::Float, 16, 1, 0, false, 0},
    {WeightFormat::Q4_0, "q4_0", Kind::Affine, 4, 32, 8, false, 0},
    {WeightFormat::Q4_1, "q4_1", Kind::Affine, 4, 32, 0, true, 0},
    {WeightFormat::Q5_0, "q5_0", Kind::Affine, 5, 32, 16, false, 0},
    {WeightFormat::Q5_1, "q5_1", Kind::Affine, 5, 32, 0, true, 0},
    {WeightFormat::Q8_0, "q8_0", Kind::Affine, 8, 32, 128, false, 0},
    {WeightFormat::Q2_K, "q2_k", Kind::SuperAffine, 2, 16, 0, true, 256, Scale::F16, false, nullptr,
     false, 4},
    {WeightFormat::Q3_K, "q3_k", Kind::SuperAffine, 3, 16, 4, false, 256, Scale::F16, false,
     nullptr, false, 6},
    {WeightFormat::Q4_K, "q4_k", Kind::SuperAffine, 4, 32, 0, true, 256, Scale::F16, false, nullptr,
     false, 6},
    {WeightFormat::Q5_K, "q5_k", Kind::SuperAffine, 5, 32, 0, true, 256, Scale::F16, false, nullptr,
     false, 6},
    {WeightFormat::Q6_K, "q6_k", Kind::SuperAffine, 6, 16, 32, false, 256},
    {WeightFormat::IQ4_NL, "iq4_nl", Kind::Affine, 4, 32, 128, false, 0, Scale::F16, false, kIq4},
    {WeightFormat::IQ4_XS, "iq4_xs", Kind::SuperAffine, 4, 32, 128, false, 256, Scale::F16, false,
     kIq4, false, 6},
    {WeightFormat::IQ3_S, "iq3_s", Kind::SuperAffine, 4, 32, 16, false, 256, Scale::F32, false,
     kIq3S, false, 8, Packing::Grid, &kOfIq3S},
    {WeightFormat::IQ3_XXS, "iq3_xxs", Kind::SuperAffine, 4, 32, 64, false, 256, Scale::F32, false,
     kIq3Xxs, false, 8, Packing::Grid, &kOfIq3Xxs},
    {WeightFormat::IQ2_S, "iq2_s", Kind::SuperAffine, 4, 16, 64, false, 256, Scale::F32, false,
     kIq2, false, 8, Packing::Grid, &kOfIq2S},
    {WeightFormat::IQ2_XS, "iq2_xs", Kind::SuperAffine, 4, 16, 64, false, 256, Scale::F32, false,
     kIq2, false, 8, Packing::Grid, &kOfIq2Xs},
    {WeightFormat::IQ2_XXS, "iq2_xxs", Kind::SuperAffine, 4, 32, 64, false, 256, Scale::F32, false,
     kIq2, false, 8, Packing::Grid, &kOfIq2Xxs},
    {WeightFormat::IQ1_S, "iq1_s", Kind::SuperAffine, 4, 32, 16, false, 256, Scale::F32, false,
     kIq1, false, 8, Packing::Grid, &kOfIq1S},
    {WeightFormat::IQ1_M, "iq1_m", Kind::SuperAffine, 4, 16, 16, false, 256, Scale::F32, false,
     kIq1, false, 8, Packing::Grid, &kOfIq1M},
    {WeightFormat::TQ2_0, "tq2_0", Kind::Affine, 2, 256, 1, false, 0},
    {WeightFormat::TQ1_0, "tq1_0", Kind::Affine, 2, 256, 1, false, 0, Scale::F16, false, nullptr,
     false, 8, Packing::Trits},
    {WeightFormat::Q2_0, "q2_0", Kind::Affine, 2, 64, 1, false, 0},
    {WeightFormat::Q1_0, "q1_0", Kind::Affine, 2, 128, 1, false, 0, Scale::F16, false, nullptr,
     false, 8, Packing::Bit1},
    {WeightFormat::Mxfp4, "mxfp4", Kind::Affine, 4, 32, 16, false, 0, Scale::BF16, false, kE2M1},
    {WeightFormat::Nvfp4, "nvfp4", Kind::SuperAffine, 4, 16, 16, false, 256, Scale::F32, false,
     kE2M1, true},
    {WeightFormat::Nf4, "nf4", Kind::Affine, 4, 64, 128, false, 0, Scale::F32, false, kNf4},
    {WeightFormat::Fp4, "fp4", Kind::Affine, 4, 64, 128, false, 0, Scale::F32, false, kFp4},
    {WeightFormat::Int8, "int8", Kind::Affine, 8, 32, 128, false, 0},
    {WeightFormat::Int4G32, "int4_g32", Kind::Affine, 4, 32, 8, false, 0},
    {WeightFormat::Int4G64, "int4_g64", Kind::Affine, 4, 64, 8, false, 0},
    {WeightFormat::Int4G128, "int4_g128", Kind::Affine, 4, 128, 8, false, 0},
    {WeightFormat::Int4ZG32, "int4z_g32", Kind::Affine, 4, 32, 0, true, 0, Scale::F16, true},
    {WeightFormat::Int4ZG64, "int4z_g64", Kind::Affine, 4, 64, 0, true, 0, Scale::F16, true},
    {WeightFormat::Int4ZG128, "int4z_g128", Kind::Affine, 4, 128, 0, true, 0, Scale::F16, true},
    {WeightFormat::Int4BG32, "int4_bf16_g32", Kind::Affine, 4, 32, 8, false, 0, Scale::BF16},
    {WeightFormat::Int4BG128, "int4_bf16_g128", Kind::Affine, 4, 128, 8, false, 0, Scale::BF16},
    {WeightFormat::Int4ZBG32, "int4z_bf16_g32", Kind::Affine, 4, 32, 0, true, 0, Scale::BF16, true},
    {WeightFormat::Int4ZBG128, "int4z_bf16_g128", Kind::Affine, 4, 128, 0, true, 0, Scale::BF16,
     true},
    {WeightFormat::Int4ZFG32, "int4z_f32_g32", Kind::Affine, 4, 32, 0, true, 0, Scale::F32, true},
    {WeightFormat::Int8F, "int8_f32_g128", Kind::Affine, 8, 128, 128, false, 0, Scale::F32},
    {WeightFormat::Int8ZF, "int8z_f32_g32", Kind::Affine, 8, 32, 0, true, 0, Scale::F32, true},
    {WeightFormat::Int4MG32, "int4m_g32", Kind::Affine, 4, 32, 0, true, 0},
    {WeightFormat::Int4MG64, "int4m_g64", Kind::Affine, 4, 64, 0, true, 0},
    {WeightFormat::Int8MG32, "int8m_g32", Kind::Affine, 8, 32, 0, true, 0},
    {WeightFormat::Int4MBG32, "int4m_bf16_g32", Kind::Affine, 4, 32, 0, true, 0, Scale::BF16},
    {WeightFormat::Int4MBG64, "int4m_bf16_g64", Kind::Affine, 4, 64, 0, true, 0, Scale::BF16},
    {WeightFormat::Int8MBG32, "int8m_bf16_g32", Kind::Affine, 8, 32, 0, true, 0, Scale::BF16},
    {WeightFormat::Fp8Tensor, "fp8_tensor", Kind::ScaledFloat, 8, 128, 0, false, 0, Scale::F32},
    {WeightFormat::Fp8, "fp8", Kind::ScaledFloat, 8, 128, 0, false, 0, Scale::F32},
    {WeightFormat::Fp8Block128, "fp8_block128", Kind::ScaledFloat, 8, 128, 0, false, 0, Scale::F32},
};

const NumericFormat &ingot::numericFormat(WeightFormat format) {
  const int index = static_cast<int>(format);
  assert(index >= 0 && index < kWeightFormatCount && "no format of the table");
  assert(kNumericFormats[index].id == format && "the table is not in the order of the formats");
  return kNumericFormats[index];
}

int NumericFormat::largest() const {
  return table ? *std::max_element(table, table + 16) : (1 << bits) - 1;
}

std::optional<WeightFormat> ingot::weightFormatNamed(std::string_view name) {
  for (const NumericFormat &format : kNumericFormats)
    if (format.name == name)
      return format.id;
  return std::nullopt;
}

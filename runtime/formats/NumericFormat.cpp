//===- NumericFormat.cpp - The table of numeric formats -------------------===//
#include "runtime/formats/NumericFormat.h"

using namespace ingot;
using Kind = NumericFormat::Kind;

static constexpr NumericFormat kFormats[kWeightFormatCount] = {
    // id                     name        kind               bits group zp   min    super
    {WeightFormat::F32, "f32", Kind::Float, 32, 1, 0, false, 0},
    {WeightFormat::F16, "f16", Kind::Float, 16, 1, 0, false, 0},
    {WeightFormat::BF16, "bf16", Kind::Float, 16, 1, 0, false, 0},
    {WeightFormat::Q4_0, "q4_0", Kind::Affine, 4, 32, 8, false, 0},
    {WeightFormat::Q4_1, "q4_1", Kind::Affine, 4, 32, 0, true, 0},
    {WeightFormat::Q5_0, "q5_0", Kind::Affine, 5, 32, 16, false, 0},
    {WeightFormat::Q5_1, "q5_1", Kind::Affine, 5, 32, 0, true, 0},
    {WeightFormat::Q8_0, "q8_0", Kind::Affine, 8, 32, 128, false, 0},
    {WeightFormat::Q4_K, "q4_k", Kind::SuperAffine, 4, 32, 0, true, 256},
    {WeightFormat::Q5_K, "q5_k", Kind::SuperAffine, 5, 32, 0, true, 256},
    {WeightFormat::Q6_K, "q6_k", Kind::SuperAffine, 6, 16, 32, false, 256},
    {WeightFormat::Int8, "int8", Kind::Affine, 8, 32, 128, false, 0},
    {WeightFormat::Int4G32, "int4_g32", Kind::Affine, 4, 32, 8, false, 0},
    {WeightFormat::Int4G64, "int4_g64", Kind::Affine, 4, 64, 8, false, 0},
    {WeightFormat::Int4G128, "int4_g128", Kind::Affine, 4, 128, 8, false, 0},
    {WeightFormat::Fp8Tensor, "fp8_tensor", Kind::ScaledFloat, 8, 128, 0, false, 0},
    {WeightFormat::Fp8, "fp8", Kind::ScaledFloat, 8, 128, 0, false, 0},
    {WeightFormat::Fp8Block128, "fp8_block128", Kind::ScaledFloat, 8, 128, 0, false, 0},
};

const NumericFormat &ingot::numericFormat(WeightFormat format) {
  return kFormats[static_cast<int>(format)];
}

std::optional<WeightFormat> ingot::weightFormatNamed(std::string_view name) {
  for (const NumericFormat &format : kFormats)
    if (format.name == name)
      return format.id;
  return std::nullopt;
}

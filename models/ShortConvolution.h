//===- ShortConvolution.h - A convolution between two gates -----------------===//
//
// In the place of attention: each channel over a few rows, which a sequence remembers.
//
//   b, c, x = the three thirds of in_proj(h)
//   mix(h)  = out_proj(c * conv(b * x))
//
// (LFM2 technical report, arXiv:2511.23404.)
//===----------------------------------------------------------------------===//
#pragma once

#include "models/Decoder.h"

namespace ingot::models {

/// Roles conv_b, conv_c, conv_x, conv and conv_output; `taps` of the decoder say over how many rows.
extern const Mixer kShortConvolution;

} // namespace ingot::models

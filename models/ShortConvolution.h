//===- ShortConvolution.h - A gated short convolution -----------------------===//
//
// The convolution replaces attention. Each channel is convolved over a few rows, which are kept as state of the
// sequence.
//
//   b, c, x = the three thirds of in_proj(h)
//   mix(h)  = out_proj(c * conv(b * x))
//
// (LFM2 technical report, arXiv:2511.23404.)
//===----------------------------------------------------------------------===//
#pragma once

#include "models/Decoder.h"

namespace ingot::models {

/// Uses the roles conv_b, conv_c, conv_x, conv and conv_output; `taps` of the decoder is the number of rows.
extern const Mixer kShortConvolution;

} // namespace ingot::models

//===- Rope.h - Inverse frequencies of rotary position embedding ----------===//
//
// Position p turns pair i of a head by the angle p * f[i]. Without scaling
//
//   f[i] = base ^ (-2i / rotary)          (RoFormer, arXiv:2104.09864)
//
// and long-context checkpoints change f, never the kernel: the vector that comes
// out of here is a weight with values in `lm`. Computed in f32 as HF transformers
// does, since at position 8,000 the last bit of f is visible in the angle.
//===----------------------------------------------------------------------===//
#pragma once

#include "models/Config.h"

#include <vector>

namespace ingot::models {

struct Rope {
  enum class Scaling { None, Linear, Llama3 };
  double base = 10000;
  Scaling scaling = Scaling::None;
  double factor = 1;
  double lowFrequencyFactor = 1, highFrequencyFactor = 4; ///< Llama3 only
  double originalContext = 8192;                          ///< Llama3 only
};

/// rotary / 2 frequencies. `divisors` (GGUF's rope_freqs.weight) divide each, if given.
std::vector<float> ropeFrequencies(const Rope &rope, int64_t rotary,
                                   llvm::ArrayRef<float> divisors = {});

/// From config.json: `scope` is "rope_scaling." or "rope_parameters.…", whose rope_theta
/// wins over the one at `baseKey`. `context`: the model's, for a scaling that does not say what it
/// was trained with. Unknown rope types are refused.
Rope readRope(Config &config, llvm::StringRef scope, llvm::StringRef baseKey, double baseOtherwise,
              int64_t context);

/// From GGUF: rope.freq_base, rope.scaling.type and .factor.
Rope readGgufRope(Config &config, double baseOtherwise);

} // namespace ingot::models

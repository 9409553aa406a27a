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
  enum class Scaling { None, Linear, Llama3, Yarn, LongRope };
  double base = 10000;
  Scaling scaling = Scaling::None;
  double factor = 1;
  double originalContext = 8192; ///< what the model was trained with before it was stretched

  double lowFrequencyFactor = 1, highFrequencyFactor = 4; ///< Llama3

  double betaFast = 32,
         betaSlow = 1;          ///< Yarn: turns within the original context between which it blends
  bool truncate = true;         ///< Yarn: the bounds of the blend are whole pairs
  std::vector<double> divisors; ///< LongRope: of each pair, those for the model's context
  double alpha = 1; ///< the base is multiplied by alpha ^ (rotary / (rotary - 2)): HunYuan

  double attentionFactor = 1; ///< cos and sin are multiplied by it (yarn, longrope)
  double reach =
      0; ///< positions that it was stretched to (yarn, linear); 0: as many as the model says
};

/// rotary / 2 frequencies. `divisors` (GGUF's rope_freqs.weight) divide each, if given.
std::vector<float> ropeFrequencies(const Rope &rope, int64_t rotary,
                                   llvm::ArrayRef<float> divisors = {});

/// From config.json: `scope` is "rope_scaling." or "rope_parameters.…", whose rope_theta
/// wins over the one at `baseKey`. `context`: the model's, for a scaling that does not say what it
/// was trained with. Unknown rope types are refused.
Rope readRope(Config &config, llvm::StringRef scope, llvm::StringRef baseKey, double baseOtherwise,
              int64_t context);

/// From GGUF: rope.freq_base, rope.scaling.type, .factor and those of yarn. `context` as above.
Rope readGgufRope(Config &config, double baseOtherwise, int64_t context);

/// How much longer or shorter than without scaling vectors come out of longrope: sqrt(1 + ln f / ln original),
/// 1 where f, how far the context was stretched, is at most 1 (LongRoPE, arXiv:2402.13753; HF's formula).
double longRopeAttentionFactor(double stretched, double originalContext);

} // namespace ingot::models

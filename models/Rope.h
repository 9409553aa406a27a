//===- Rope.h - Inverse frequencies of rotary position embedding ----------===//
//
// Position p rotates pair i of a head by the angle p * f[i]. Without scaling
//
//   f[i] = base ^ (-2i / rotary)          (RoFormer, arXiv:2104.09864)
//
// Long-context checkpoints change f, never the kernel: the resulting vector is a weight with constant
// values in `lm`. It is computed in f32, as HF transformers does, because at position 8,000 the last bit of f
// is visible in the angle.
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
  double originalContext = 8192; ///< context of the training, before it was stretched

  double lowFrequencyFactor = 1, highFrequencyFactor = 4; ///< Llama3

  double betaFast = 32,
         betaSlow = 1;          ///< Yarn: turns within the original context between which it blends
  bool truncate = true;         ///< Yarn: round the bounds of the blend to whole pairs
  std::vector<double> divisors; ///< LongRope: one per pair, for the model's context
  double alpha = 1; ///< the base is multiplied by alpha ^ (rotary / (rotary - 2)): HunYuan

  double attentionFactor = 1; ///< factor of cos and sin (yarn, longrope)
  double reach =
      0; ///< number of positions after the stretch (yarn, linear); 0: the model's context
};

/// Returns rotary / 2 frequencies, each divided by its entry in `divisors` (GGUF's rope_freqs.weight), if
/// given.
std::vector<float> ropeFrequencies(const Rope &rope, int64_t rotary,
                                   llvm::ArrayRef<float> divisors = {});

/// Reads the parameters from config.json. `scope` is "rope_scaling." or "rope_parameters.…"; a rope_theta in this
/// scope takes precedence over the key `baseKey`. `context` is the model's context, for a scaling that does not
/// state its original context. Unknown rope types are refused.
Rope readRope(Config &config, llvm::StringRef scope, llvm::StringRef baseKey, double baseOtherwise,
              int64_t context);

/// Reads GGUF's rope.freq_base, rope.scaling.type, .factor and the yarn keys. `context` is as in readRope.
Rope readGgufRope(Config &config, double baseOtherwise, int64_t context);

/// Returns the factor by which longrope scales rotated vectors: sqrt(1 + ln f / ln original), where f is the factor by
/// which the context is stretched; 1 if f is at most 1 (LongRoPE, arXiv:2402.13753; HF's formula).
double longRopeAttentionFactor(double stretched, double originalContext);

} // namespace ingot::models

//===- Sampler.h - From a row of logits to a token id ---------------------===//
//
// SamplingParams.h defines the order and meaning of the filters. The drawn id is a pure function of (logits,
// params, history, position): weights are integers, so sums do not depend on their order (Softmax.h), ties go
// to the lower id, and the random number is Philox's for (seed, choice, position). GPUs draw the same ids
// (codegen/cuda/device/draw.cuh). All memory is allocated in the constructor.
//
// A draw takes the first id of a list at which the running sum of weights exceeds  random * total / 2^64. The
// list is in order of ids if top-k, top-p and typical are off; otherwise it is sorted, most likely first
// (typical: closest to the entropy first).
//
// Most of the vocabulary is irrelevant to a filtered draw, so the sampler does not sort it: top-k keeps a
// heap of k, and top-p grows a sorted prefix (64, 1024, 16384, all) until its mass suffices. Only `typical`
// without the others sorts everything.
//
// Nor does it read the whole vocabulary if the program provides the largest logit of each panel of 32 ids
// (CPUs: codegen/cpu/MatmulKeys.h):
//
//   groups   the largest of panels g, g + 64, g + 128 …       64 different logits (1,024 for k > 64)
//   bound    the k-th largest of them                         so at least k logits reach it
//   panels   whose maximum reaches it, and their ids that do  about 100 of 8,192, for any logits
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sample/SamplingParams.h"
#include "runtime/sample/TokenHistory.h"

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace ingot::runtime {

class Sampler {
public:
  explicit Sampler(int64_t vocab);

  struct Choice {
    int32_t id;
    /// Empty unless params.topLogprobs >= 0: the chosen id, then the most likely ones. Valid until the next
    /// call.
    std::span<const TokenLogprob> logprobs;
  };

  /// `logits`: vocab floats, not modified. `history` may be null unless params.needsHistory(). `position`:
  /// absolute position of the new token. `maxima`: the largest of each kPanelRows logits, ignoring NaN (-inf
  /// if nothing is left), or null; it does not change the result. `allowed`: one bit for each id that may be
  /// chosen (text/Grammar.h), at least one set; empty: all ids.
  Choice choose(const float *logits, const SamplingParams &params, const TokenHistory *history,
                uint64_t position, const float *maxima = nullptr,
                std::span<const uint32_t> allowed = {});

  /// The score of an id in a row, and the `top` most likely ids.
  PromptScore score(const float *logits, int32_t id, int32_t top, const float *maxima = nullptr);

private:
  struct Candidate {
    float logit;
    int32_t id;
    uint64_t weight; ///< drawWeight
  };

  static bool ranksBefore(const Candidate &a, const Candidate &b);
  const float *adjust(const float *logits, const SamplingParams &params,
                      const TokenHistory *history, std::span<const uint32_t> allowed);
  int32_t best(const float *logits) const;
  void selectTop(const float *logits, size_t count);
  bool selectFromMaxima(const float *logits, size_t count);
  int32_t drawFromAll(const float *logits, float largest, const RowSampling &how, uint64_t random);
  int32_t drawFiltered(const float *logits, float largest, const SamplingParams &params,
                       const RowSampling &how, uint64_t random);
  void keepNucleus(const float *logits, float largest, const RowSampling &how);
  void keepTypical(float largest, const RowSampling &how, float share);
  std::span<const TokenLogprob> rank(const float *logits, int32_t chosen, int32_t top);

  size_t vocab;
  const float *maxima = nullptr; ///< of the current logits, if known
  // Uninitialised, so that memory which a greedy session never writes is not committed.
  std::unique_ptr<float[]> adjusted;
  std::vector<Candidate> candidates;    ///< capacity: vocab
  std::unique_ptr<uint64_t[]> weights;  ///< by id
  std::unique_ptr<double[]> typicality; ///< of candidates, by id
  std::array<TokenLogprob, size_t(kMaxTopLogprobs) + 1> logprobs;
};

/// The id of the largest logit, the lowest among equals; NaN never wins.
int32_t argmax(std::span<const float> logits);

} // namespace ingot::runtime

//===- Sampler.h - From a row of logits to a token id ---------------------===//
//
// SamplingParams.h defines the order and meaning of the filters. The sampled token is a pure function of (logits,
// params, history, position). Weights are integers, so sums do not depend on their order (Softmax.h). Ties go to the
// lower id, and Philox computes the random number from (seed, choice, position). GPUs sample the same tokens
// (codegen/cuda/device/draw.cuh). All memory is allocated in the constructor.
//
// The sampler takes the first token of a list at which the running sum of weights exceeds random * total / 2^64. The
// list is in order of token ids if top-k, top-p and typical are off. Otherwise it is sorted: most likely first or, with
// typical, closest to the entropy first.
//
// If there are filters, most of the vocabulary is irrelevant, so the sampler does not sort all of it. Top-k keeps a
// heap of k tokens, and top-p grows a sorted prefix (64, 1024, 16384, all) until its mass suffices. Only `typical`
// without the others sorts everything.
//
// If the program provides the largest logit of each panel of 32 tokens, the sampler does not even read the whole
// vocabulary (on CPUs: codegen/cpu/MatmulKeys.h):
//
//   groups   group g has the panels g, g + 64, g + 128 …      64 group maxima (1,024 for k > 64)
//   bound    the k-th largest group maximum                   so at least k logits reach it
//   read     panels whose maximum reaches the bound           about 100 of 8,192, for any logits
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
    /// The chosen token, then the most likely ones; empty unless params.topLogprobs >= 0. Valid until the next call.
    std::span<const TokenLogprob> logprobs;
  };

  /// Chooses a token.
  ///
  ///   - `logits`: vocab floats, which are not modified
  ///   - `history`: may be null unless params.needsHistory()
  ///   - `position`: absolute position of the new token
  ///   - `maxima`: the largest of each kPanelRows logits without NaN (-inf if all are NaN), or null; it makes the
  ///     choice faster and does not change the result
  ///   - `allowed`: one bit for each token, set if the token may be chosen (text/Grammar.h); at least one is set;
  ///     empty: all tokens
  Choice choose(const float *logits, const SamplingParams &params, const TokenHistory *history,
                uint64_t position, const float *maxima = nullptr,
                std::span<const uint32_t> allowed = {});

  /// Returns the score of a token in a row, and the `top` most likely tokens.
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
  const float *maxima = nullptr; ///< the panels' maxima of the current logits, if known
  // This memory is uninitialised, so that a greedy session, which never writes it, does not commit it.
  std::unique_ptr<float[]> adjusted;
  std::vector<Candidate> candidates;    ///< capacity: vocab
  std::unique_ptr<uint64_t[]> weights;  ///< by id
  std::unique_ptr<double[]> typicality; ///< of candidates, by id
  std::array<TokenLogprob, size_t(kMaxTopLogprobs) + 1> logprobs;
};

/// Returns the id of the largest logit, the lowest id among equals. NaN is never the largest.
int32_t argmax(std::span<const float> logits);

} // namespace ingot::runtime

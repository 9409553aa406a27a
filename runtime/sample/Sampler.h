//===- Sampler.h - From a row of logits to a token id ---------------------===//
//
// SamplingParams.h defines the order and meaning of the filters. The drawn id is a pure function of (logits,
// params, history, position). Weights are integers, so sums do not depend on their order (Softmax.h). Ties go to
// the lower id, and the random number is Philox's for (seed, choice, position). GPUs draw the same ids
// (codegen/cuda/device/draw.cuh). All memory is allocated in the constructor.
//
// A draw takes the first id of a list at which the running sum of weights exceeds  random * total / 2^64. The
// list is in order of ids if top-k, top-p and typical are off. Otherwise it is sorted: most likely first or, with
// typical, closest to the entropy first.
//
// Most of the vocabulary is irrelevant to a filtered draw, so the sampler does not sort it. Top-k keeps a heap of
// k ids, and top-p grows a sorted prefix (64, 1024, 16384, all) until its mass suffices. Only `typical` without
// the others sorts everything.
//
// If the program provides the largest logit of each panel of 32 ids, the sampler does not even read the whole
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
    /// The chosen id, then the most likely ones; empty unless params.topLogprobs >= 0. Valid until the next call.
    std::span<const TokenLogprob> logprobs;
  };

  /// Chooses an id.
  ///
  ///   - `logits`: vocab floats, which are not modified
  ///   - `history`: may be null unless params.needsHistory()
  ///   - `position`: absolute position of the new token
  ///   - `maxima`: the largest of each kPanelRows logits without NaN (-inf if all are NaN), or null; it makes the
  ///     choice faster and does not change the result
  ///   - `allowed`: one bit for each id, set if the id may be chosen (text/Grammar.h); at least one is set;
  ///     empty: all ids
  Choice choose(const float *logits, const SamplingParams &params, const TokenHistory *history,
                uint64_t position, const float *maxima = nullptr,
                std::span<const uint32_t> allowed = {});

  /// Returns the score of an id in a row, and the `top` most likely ids.
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

//===- ConvReference.h - kernel.causal_conv in scalar C++ ------------------===//
//
// One step has four sequences: one continues and keeps its slot, one begins and leaves two snapshots, one has
// a single token (fewer than the rows of its history), and one leaves no snapshots.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"
#include "runtime/formats/FixedState.h"
#include "runtime/formats/PanelLayout.h"

#include <random>
#include <string>
#include <vector>

namespace ingot::test {

struct ConvCase {
  int64_t channels, history;
  bool biased;
  std::vector<StateSpan> spans = {
      {0, 3, 1, 0, 1, 0}, {3, 11, -1, 1, 2, 0}, {14, 1, 2, 3, 1, 0}, {15, 2, 0, 4, 0, 0}};
  std::vector<StateWrite> writes = {{2, 1}, {6, 3}, {13, 5}, {14, 4}};
  int64_t tokens = 17, slots = 6;

  std::vector<float> x = {}, weight = {}, bias = {}, states = {}; ///< as kernels expect them
  std::vector<float> y = {}, statesAfter = {};                    ///< the expected results

  int64_t stride() const { return roundUp(channels, kPanelRows); }
  int64_t slotBytes() const { return fixedStreamBytes(history, channels); }

  ConvCase(int64_t channels, int64_t history, bool biased)
      : channels(channels), history(history), biased(biased) {
    std::minstd_rand random(static_cast<unsigned>(channels * 8 + history));
    auto numbers = [&](int64_t count) {
      std::vector<float> list(static_cast<size_t>(roundUp(count, kPanelRows)));
      for (int64_t i = 0; i < count; ++i)
        list[i] = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 613;
      return list;
    };
    x.resize(static_cast<size_t>(tokens * stride()));
    for (int64_t t = 0; t < tokens; ++t)
      std::ranges::copy(numbers(channels), x.begin() + t * stride());
    weight = numbers((history + 1) * channels);
    bias = numbers(channels);
    states = numbers(slots * slotBytes() / 4);
    compute();
  }

  void compute() {
    y.assign(x.size(), 0);
    statesAfter = states;
    for (const StateSpan &span : spans) {
      std::vector<float> rows(static_cast<size_t>(history * channels)); // newest last
      if (span.from >= 0)
        std::copy_n(states.begin() + span.from * slotBytes() / 4, rows.size(), rows.begin());
      int32_t write = span.firstWrite;
      for (int32_t t = span.firstToken; t < span.firstToken + span.tokens; ++t) {
        const float *own = x.data() + t * stride();
        rows.insert(rows.end(), own, own + channels);
        for (int64_t c = 0; c < channels; ++c) {
          float sum = weight[c] * rows[c];
          for (int64_t tap = 1; tap <= history; ++tap)
            sum = sum + weight[tap * channels + c] * rows[tap * channels + c];
          y[t * stride() + c] = biased ? sum + bias[c] : sum;
        }
        rows.erase(rows.begin(), rows.begin() + channels);
        for (; write < span.firstWrite + span.writes && writes[write].token == t; ++write)
          std::ranges::copy(rows, statesAfter.begin() + writes[write].slot * slotBytes() / 4);
      }
    }
  }

  /// Returns the batch without its lists, which the caller adds.
  BatchView batch() const {
    BatchView batch{};
    batch.tokens = tokens;
    batch.spanCount = static_cast<int64_t>(spans.size());
    return batch;
  }

  std::string kernel(const std::string &name) const {
    const std::string n = std::to_string(channels), rows = "!kernel.activation<" + n + ", f32>",
                      taps = "!lm.weight<" + std::to_string((history + 1) * channels) + ", f32>",
                      vector = "!lm.weight<" + n + ", f32>",
                      state = "!kernel.fixed_state<#lm.fixed<[x: " + std::to_string(history) + "x" +
                              n + " x f32]>>";
    return "kernel.func @" + name + "(%x: " + rows + ", %w: " + taps +
           (biased ? ", %b: " + vector : "") + ", %s: " + state + ", %y: " + rows +
           ") {\n  kernel.causal_conv %x, %w" + (biased ? " bias %b : " + vector : "") +
           " over %s : " + rows + ", " + taps + ", " + state + " outs(%y : " + rows +
           ")\n  kernel.return\n}\n";
  }
};

} // namespace ingot::test

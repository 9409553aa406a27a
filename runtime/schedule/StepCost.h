//===- StepCost.h - Predicts the time of a step ----------------------------===//
//
// A table predicts the time of a step for this engine, if the engine has costs (EngineCost.h). Measured steps
// correct the table:
//
//   predict(work) = table(work) * ratio(tokens)
//
//   ratio    1.4 |        x       median of measured / table over recent steps with a similar
//            1.2 |  x        x    number of tokens (one class per power of two); linear in
//            1.0 +--+-----+--+--  log2(tokens) between the measured classes
//                   1    32  256
//
// A median is robust against a single step that waited for the system. Predictions decide how prompts are
// split and whether pages are swapped, but never change an answer.
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::runtime {

/// The work of a step.
struct StepWork {
  int64_t tokens = 0;
  int64_t rows = 0;      ///< logits rows
  int64_t positions = 0; ///< pairs of a token and a position that it attends to
  int64_t reads = 0;     ///< positions of KV that are read; each counts once per sequence and step

  /// Returns the work of `count` tokens of one sequence, starting at position `first`.
  static StepWork chunk(int64_t first, int64_t count, int64_t rows = 0) {
    return {count, rows, count * first + count * (count + 1) / 2, first + count};
  }
  StepWork operator+(const StepWork &other) const {
    return {tokens + other.tokens, rows + other.rows, positions + other.positions,
            reads + other.reads};
  }
};

/// Seconds of a step as a function of its work.
struct StepCostTable {
  struct Point {
    int64_t tokens;
    double seconds;
  };
  /// Points in ascending order of tokens. Times are linear between them, and extrapolated through the last two.
  std::vector<Point> points;
  double perRow = 0;      ///< additional seconds of each row
  double perPosition = 0; ///< additional seconds of each of StepWork::positions
  double perRead = 0;     ///< additional seconds of each of StepWork::reads

  double seconds(const StepWork &work) const;
  /// Returns the table for unknown costs. Until steps are measured, only the ratios of its predictions mean
  /// something.
  static StepCostTable unknown();
};

class StepCost {
public:
  explicit StepCost(StepCostTable table = StepCostTable::unknown());

  double predict(const StepWork &work) const;
  void observe(const StepWork &work, double seconds);
  /// Predicts the time of one prompt of `tokens` tokens by itself, in chunks of at most `chunk`.
  double predictPrompt(int64_t tokens, int64_t chunk) const;
  const StepCostTable &table() const { return own; }

private:
  static constexpr size_t kKept = 9;
  struct Class {
    std::array<double, kKept> last{}; ///< log(measured / table)
    size_t count = 0;                 ///< total number of measurements
    double ratio = 0;                 ///< median of `last`
  };

  StepCostTable own;
  std::array<Class, 24> classes; ///< by log2(tokens)
};

} // namespace ingot::runtime

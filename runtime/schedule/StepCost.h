//===- StepCost.h - How long a step will take ------------------------------===//
//
// A table says it for this engine, if it has costs (EngineCost.h); measured steps correct the
// table:
//
//   predict(work) = table(work) * ratio(tokens)
//
//   ratio    1.4 |        x       the median of the last measured / table, for steps of about as
//            1.2 |  x        x    many tokens (a class per power of two), and a straight line in
//            1.0 +--+-----+--+--  log2(tokens) between the classes that have been measured
//                   1    32  256
//
// The median, so that one step that waited for the system does no harm. What is predicted decides
// how prompts are cut and whether pages are swapped, never what anything answers.
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::runtime {

/// What a step does.
struct StepWork {
  int64_t tokens = 0;
  int64_t rows = 0;      ///< of logits
  int64_t positions = 0; ///< pairs of a token and a position that it looks at
  int64_t reads = 0;     ///< positions whose KV is read, however many tokens look at one

  /// `count` tokens of one sequence from position `first` on.
  static StepWork chunk(int64_t first, int64_t count, int64_t rows = 0) {
    return {count, rows, count * first + count * (count + 1) / 2, first + count};
  }
  StepWork operator+(const StepWork &other) const {
    return {tokens + other.tokens, rows + other.rows, positions + other.positions,
            reads + other.reads};
  }
};

/// Seconds of a step, by its work.
struct StepCostTable {
  struct Point {
    int64_t tokens;
    double seconds;
  };
  /// Rising in tokens; straight lines between them, and on through the last two.
  std::vector<Point> points;
  double perRow = 0;      ///< further seconds
  double perPosition = 0; ///< likewise
  double perRead = 0;     ///< likewise

  double seconds(const StepWork &work) const;
  /// Where nothing is known: only the ratios of what it says count, until steps were measured.
  static StepCostTable unknown();
};

class StepCost {
public:
  explicit StepCost(StepCostTable table = StepCostTable::unknown());

  double predict(const StepWork &work) const;
  void observe(const StepWork &work, double seconds);
  /// Of one prompt of so many tokens, alone, in chunks of at most `chunk`.
  double predictPrompt(int64_t tokens, int64_t chunk) const;
  const StepCostTable &table() const { return own; }

private:
  static constexpr size_t kKept = 9;
  struct Class {
    std::array<double, kKept> last{}; ///< log(measured / table)
    size_t count = 0;                 ///< ever
    double ratio = 0;                 ///< their median
  };

  StepCostTable own;
  std::array<Class, 24> classes; ///< by log2(tokens)
};

} // namespace ingot::runtime

//===- Routes.h - The rows that each expert of a layer works on -------------===//
//
// Two launches (kernel.route, kernel.group_routes) fill a buffer of routes; the launches of the layer's
// experts read it. There are P = tokens * used pairs of a token and one of its experts. The buffer holds
//
//   i32 expert[P]     pair p belongs to token p / used; the experts of a token ascend
//   f32 weight[P]     weight of the pair
//   i32 row[P]        index of the pair among the rows that experts work on
//   i32 token[P]      the token of each row. Rows are ordered by expert, then by token
//   i32 count         number of experts that have rows, followed by 12 bytes of padding
//   { i32 expert, first, end }[count]      the rows of each of these experts, by ascending expert
//
// in this order without gaps, so the offsets depend on the number of tokens in the step. kernel.route
// writes the first two arrays, kernel.group_routes the others.
//===----------------------------------------------------------------------===//
#pragma once

#include <cmath>
#include <cstdint>

namespace ingot {

/// The rows of an expert.
struct RouteSegment {
  int32_t expert, first, end;
};
static_assert(sizeof(RouteSegment) == 12);

/// Offsets of the parts of a buffer, in bytes.
struct RoutesLayout {
  int64_t pairs;

  constexpr int64_t expert() const { return 0; }
  constexpr int64_t weight() const { return 4 * pairs; }
  constexpr int64_t row() const { return 8 * pairs; }
  constexpr int64_t token() const { return 12 * pairs; }
  constexpr int64_t count() const { return 16 * pairs; }
  constexpr int64_t segments() const { return 16 * pairs + 16; }
  /// Returns the end of the arrays that kernel.route writes, and of the whole buffer.
  constexpr int64_t endOfPairs() const { return row(); }
  constexpr int64_t end() const { return segments() + int64_t(sizeof(RouteSegment)) * pairs; }
};

/// Returns the distance, in elements, between the column permutations of consecutive experts in a vector that holds
/// one permutation for each expert (lm.permute). Kernels read whole lines, so each permutation is padded with zeros.
constexpr int64_t orderStride(int64_t width) { return (width + 31) / 32 * 32; }

/// Returns the expected fraction of experts that receive any of `tokens` tokens, if each token goes to `used`
/// experts and all experts are equally likely.
inline double shareOfExperts(double experts, double used, double tokens) {
  return 1 - std::pow(1 - used / experts, tokens);
}

/// Returns an upper bound of a buffer's bytes per token: at most as many experts have rows as there are pairs.
constexpr int64_t routesBytes(int64_t used) { return (28 * used + 16 + 63) / 64 * 64; }

} // namespace ingot

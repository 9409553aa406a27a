//===- Routes.h - Which rows the experts of a layer work on -----------------===//
//
// A buffer of routes is made by two launches (kernel.route, kernel.group_routes) and read by those of
// the layer's experts. With P = tokens * used pairs of a token and one of its experts it holds
//
//   i32 expert[P]     pair p belongs to token p / used; the experts of a token rise
//   f32 weight[P]     of the pair
//   i32 row[P]        where the pair stands among the rows that experts work on
//   i32 token[P]      the token of each row. Rows go by rising expert, then by token
//   i32 count         experts that have rows, 12 bytes of padding behind it
//   { i32 expert, first, end }[count]      their rows, by rising expert
//
// one behind the other, so that places depend on the tokens of the step. The first two are written by
// kernel.route, the others by kernel.group_routes.
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

/// Where the parts of a buffer begin, in bytes.
struct RoutesLayout {
  int64_t pairs;

  constexpr int64_t expert() const { return 0; }
  constexpr int64_t weight() const { return 4 * pairs; }
  constexpr int64_t row() const { return 8 * pairs; }
  constexpr int64_t token() const { return 12 * pairs; }
  constexpr int64_t count() const { return 16 * pairs; }
  constexpr int64_t segments() const { return 16 * pairs + 16; }
  /// Behind what kernel.route writes, and behind all of it.
  constexpr int64_t endOfPairs() const { return row(); }
  constexpr int64_t end() const { return segments() + int64_t(sizeof(RouteSegment)) * pairs; }
};

/// How far the orders of columns of two experts are apart in a vector that has one for each (lm.permute): kernels read
/// whole lines of it. Behind an order there are zeros.
constexpr int64_t orderStride(int64_t width) { return (width + 31) / 32 * 32; }

/// What part of all experts so many tokens go to, each to `used` of them, if all are as likely.
inline double shareOfExperts(double experts, double used, double tokens) {
  return 1 - std::pow(1 - used / experts, tokens);
}

/// What a token takes of such a buffer: no more experts have rows than there are pairs.
constexpr int64_t routesBytes(int64_t used) { return (28 * used + 16 + 63) / 64 * 64; }

} // namespace ingot

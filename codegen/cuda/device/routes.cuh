//===- routes.cuh - The routes of a layer's tokens to experts, for kernels ------===//
//
// runtime/abi/Routes.h defines the layout, and codegen/cuda/Experts.cpp asserts that it is the same here.
// The offsets of its parts depend on the number of tokens of the step. Only the device knows that number,
// since a CUDA graph is captured for the number of tokens of its bucket.
//===----------------------------------------------------------------------===//
#pragma once

#include "batch.cuh"

/// The rows of an expert.
struct RouteSegment {
  i32 expert, first, end;
};

/// The parts of a buffer of routes.
template <class I32, class F32> struct RoutesOf {
  I32 *expert;
  F32 *weight;
  I32 *row, *token, *count;
  I32 *segments; ///< RouteSegments, three integers each

  MEMBER RoutesOf(I32 *memory, const BatchView *batch, i32 used) {
    const i64 pairs = batch->tokens * used;
    expert = memory, weight = (F32 *)(memory + pairs);
    row = memory + 2 * pairs, token = memory + 3 * pairs, count = memory + 4 * pairs;
    segments = count + 4;
  }
  MEMBER RouteSegment segment(i32 number) const {
    const I32 *at = segments + 3 * number;
    return {at[0], at[1], at[2]};
  }
};
using Routes = RoutesOf<const i32, const float>;
using WrittenRoutes = RoutesOf<i32, float>;

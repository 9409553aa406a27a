//===- experts.cuh - Expert routing, grouping and combining -------------------===//
//
//   route          one warp per token, with the scores and ranks of all experts in shared memory. It
//                  searches for the largest rank once for each expert that the token uses
//   group_routes   one block: a counting sort of the (token, expert) pairs. Each warp owns a range of
//                  tokens, and no two pairs of a token have the same expert, so a warp counts them
//                  without atomics:
//
//                      counts[warp][expert]   ▶ the warp's first row of that expert
//                                             ▶ a row for each pair, by ascending token
//
//   combine        one block per 1,024 columns of a token; it adds the token's rows one by one
//
// The choice of experts and the order of all sums are as on CPUs (codegen/cpu/Experts.cpp), except that
// a sum over all experts (softmax) is split among lanes.
//===----------------------------------------------------------------------===//
#pragma once

#include "routes.cuh"
#include "sample.cuh"

// The dialect's enumerators: dialects/lm/LmEnums.td.
enum class RouteScore { none, softmax, sigmoid, sqrtsoftplus };
enum class RouteNorm { none, sum, softmax };

constexpr i32 kRouteWarps = 4;  ///< tokens per block
constexpr i32 kMostUsed = 32;   ///< experts per token, one per lane
constexpr i32 kCombined = 1024; ///< columns per block, four per thread
constexpr i32 kMostGroups = 64; ///< groups of experts, one bit each
constexpr float kLowestRank = -0x1.fffffep+127f;

/// Returns a value below all ranks.
DEVICE float out_rank() { return as_f32(0xff800000u); }

/// sqrt(ln(1 + e^x)). For z = e^-|x|, ln(1 + z) is 2 atanh(z / (2 + z)). The argument of atanh is at most 1/3.
DEVICE float sqrt_softplus(float x) {
  const float z = exp_f32(-abs_f32(x)), s = div_f32(z, z + 2.0f), square = s * s;
  float sum = 1.0f / 15.0f;
  UNROLL
  for (i32 term = 13; term > 0; term -= 2)
    sum = fma_f32(sum, square, 1.0f / (float)term);
  return sqrt_f32(max_f32(x, 0.0f) + s * 2.0f * sum);
}

/// Returns the rank of a score, by which experts are chosen: -inf and NaN get the lowest finite value.
DEVICE float rank_of(float score) { return score > kLowestRank ? score : kLowestRank; }

/// The scratch memory of a warp. The emitter defines a router as struct R { experts, used, groups,
/// usedGroups; score, normalize; groupsByMax, hasBias, hasScales; normEps, normFloor, scale }.
template <class R> struct RouteScratch {
  float scores[R::experts], ranks[R::experts], groups[R::groups];
  i32 rising[kMostUsed];
};

/// Returns to all lanes the index of the largest of `count` values; the lowest index among equals.
DEVICE i32 largest_of(const float *values, i32 count) {
  u64 most = 0;
  for (i32 i = threadIdx.x % 32; i < count; i += 32) {
    const u64 key = argmax_key(values[i], i);
    most = key > most ? key : most;
  }
  return (i32) ~(u32)max_key<16>(most);
}

/// Computes the scores of all experts; with softmax, also their sum, by which they are divided.
template <class R> DEVICE void score_experts(const float *logits, float *scores) {
  const i32 lane = threadIdx.x % 32;
  float most = kLowestRank, sum = 0.0f;
  if constexpr (R::score == RouteScore::softmax) {
    for (i32 e = lane; e < R::experts; e += 32)
      most = max_f32(most, logits[e]);
    most = warp_max(most);
  }
  for (i32 e = lane; e < R::experts; e += 32) {
    float score = logits[e];
    if constexpr (R::score == RouteScore::softmax)
      sum += score = exp_f32(score - most);
    else if constexpr (R::score == RouteScore::sigmoid)
      score = sigmoid_f32(score);
    else if constexpr (R::score == RouteScore::sqrtsoftplus)
      score = sqrt_softplus(score);
    scores[e] = score;
  }
  if constexpr (R::score == RouteScore::softmax) {
    sum = warp_sum(sum);
    for (i32 e = lane; e < R::experts; e += 32)
      scores[e] = div_f32(scores[e], sum);
  }
}

/// Sets the rank of each expert to -inf if its group is not among the best groups.
template <class R> DEVICE void drop_groups(RouteScratch<R> &scratch) {
  constexpr i32 size = R::experts / R::groups;
  const i32 lane = threadIdx.x % 32;
  for (i32 g = lane; g < R::groups; g += 32) {
    float first = out_rank(), second = first;
    for (i32 i = 0; i < size; i++) {
      const float v = scratch.ranks[g * size + i];
      second = max_f32(second, v > first ? first : v);
      first = max_f32(first, v);
    }
    scratch.groups[g] = R::groupsByMax ? first : rank_of(first + second);
  }
  sync_warp();
  u64 kept = 0;
  for (i32 i = 0; i < R::usedGroups; i++) {
    const i32 best = largest_of(scratch.groups, R::groups);
    sync_warp();
    if (lane == 0)
      scratch.groups[best] = out_rank();
    kept |= 1ull << best;
    sync_warp();
  }
  for (i32 e = lane; e < R::experts; e += 32)
    if (!(kept >> (e / size) & 1))
      scratch.ranks[e] = out_rank();
  sync_warp();
}

/// Chooses the experts of a token and returns them in ascending order, each to the lane of its pair.
template <class R> DEVICE i32 choose_experts(RouteScratch<R> &scratch) {
  const i32 lane = threadIdx.x % 32;
  i32 chosen = R::experts; // the expert that this lane keeps; initially beyond all
  for (i32 i = 0; i < R::used; i++) {
    const i32 best = largest_of(scratch.ranks, R::experts);
    chosen = lane == i ? best : chosen;
    sync_warp();
    if (lane == 0)
      scratch.ranks[best] = out_rank();
    sync_warp();
  }
  i32 before = 0; // chosen experts with a smaller index
  for (i32 i = 0; i < R::used; i++)
    before += shfl_idx(chosen, i) < chosen;
  if (lane < R::used)
    scratch.rising[before] = chosen;
  sync_warp();
  return lane < R::used ? scratch.rising[lane] : 0;
}

/// Returns the weight of the lane's pair from its score; only the first R::used lanes have a pair.
template <class R> DEVICE float normalized(float weight) {
  float divisor = 0.0f;
  if constexpr (R::normalize == RouteNorm::softmax) {
    float most = kLowestRank;
    for (i32 i = 0; i < R::used; i++)
      most = max_f32(most, shfl_idx(weight, i));
    weight = exp_f32(weight - most);
  }
  if constexpr (R::normalize != RouteNorm::none)
    for (i32 i = 0; i < R::used; i++)
      divisor += shfl_idx(weight, i);
  if constexpr (R::normalize == RouteNorm::sum)
    divisor = max_f32(divisor + R::normEps, R::normFloor);
  return (R::normalize == RouteNorm::none ? weight : div_f32(weight, divisor)) * R::scale;
}

/// Routes tokens. logits: f32 rows; bias, scales: a value for each expert, if the router has them.
template <class R>
DEVICE void route_tokens(const float *logits, const float *bias, const float *scales, i32 *memory,
                         const BatchView *batch, RouteScratch<R> (&scratches)[kRouteWarps]) {
  static_assert(R::used <= kMostUsed && R::groups <= kMostGroups);
  pdl_wait();
  const i32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const i32 token = blockIdx.x * kRouteWarps + warp;
  if (token >= batch->tokens)
    return;
  RouteScratch<R> &scratch = scratches[warp];
  score_experts<R>(logits + (i64)token * round_up(R::experts, 32), scratch.scores);
  for (i32 e = lane; e < R::experts; e += 32) // the scores that this lane itself wrote
    scratch.ranks[e] = rank_of(R::hasBias ? scratch.scores[e] + bias[e] : scratch.scores[e]);
  sync_warp();
  if constexpr (R::groups > 1)
    drop_groups<R>(scratch);
  const i32 expert = choose_experts<R>(scratch);
  float weight = normalized<R>(scratch.scores[expert]);
  if (lane >= R::used)
    return;
  if constexpr (R::hasScales)
    weight *= scales[expert];
  const WrittenRoutes routes(memory, batch, R::used);
  routes.expert[(i64)token * R::used + lane] = expert;
  routes.weight[(i64)token * R::used + lane] = weight;
}

/// Calls body(token, pair, expert) for the pairs of tokens from … end - 1. One warp does this, token by
/// token. The pairs of a token, which have different experts, are processed at once.
template <i32 Used, class Body>
DEVICE void each_pair(const i32 *expert, i32 from, i32 end, Body body) {
  constexpr i32 atOnce = 32 / Used; ///< tokens that a warp reads at once
  const i32 lane = threadIdx.x % 32, own = lane / Used;
  for (i32 t = from; t < end; t += atOnce) {
    const bool there = own < atOnce && t + own < end;
    const i32 of = there ? expert[t * Used + lane] : 0;
    for (i32 i = 0; i < atOnce; i++) {
      if (there && own == i)
        body(t + own, t * Used + lane, of);
      sync_warp();
    }
  }
}

/// Sorts the pairs by expert. The number of warps is limited by `counts`, which takes at most 32 KB.
template <i32 Experts, i32 Used, i32 Warps>
DEVICE void group_pairs(i32 *memory, const BatchView *batch, i32 (&counts)[Warps][Experts],
                        i32 (&firsts)[Experts]) {
  const i32 thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  for (i32 e = lane; e < Experts; e += 32)
    counts[warp][e] = 0;
  sync_warp();
  pdl_wait();
  const WrittenRoutes routes(memory, batch, Used);
  const i32 tokens = (i32)batch->tokens, share = divide_up(tokens, Warps), from = warp * share,
            end = from + share < tokens ? from + share : tokens;
  each_pair<Used>(routes.expert, from, end, [&](i32, i32, i32 e) { counts[warp][e]++; });
  sync_block();

  for (i32 e = thread; e < Experts; e += 32 * Warps) {
    i32 sum = 0;
    for (i32 w = 0; w < Warps; w++) {
      const i32 count = counts[w][e];
      counts[w][e] = sum;
      sum += count;
    }
    firsts[e] = sum; // a count of rows, which the next loop turns into a first row
  }
  sync_block();

  if (warp == 0) {
    i32 rows = 0, segments = 0; // of the preceding experts
    for (i32 at = 0; at < Experts; at += 32) {
      const i32 e = at + lane, count = e < Experts ? firsts[e] : 0;
      i32 last = count;
      UNROLL
      for (i32 distance = 1; distance < 32; distance *= 2) {
        const i32 other = shfl_up(last, distance);
        last += lane >= distance ? other : 0;
      }
      last += rows;
      const u32 some = warp_ballot(count > 0);
      if (count > 0) {
        i32 *to = routes.segments + 3 * (segments + (i32)popcount(some & ((1u << lane) - 1)));
        to[0] = e, to[1] = last - count, to[2] = last;
      }
      if (e < Experts)
        firsts[e] = last - count;
      rows = shfl_idx(last, 31), segments += (i32)popcount(some);
    }
    if (lane == 0)
      *routes.count = segments;
  }
  sync_block();

  each_pair<Used>(routes.expert, from, end, [&](i32 token, i32 pair, i32 e) {
    const i32 row = firsts[e] + counts[warp][e]++;
    routes.row[pair] = row;
    routes.token[row] = token;
  });
}

/// y[t] = the weighted sum of the rows of x that belong to token t.
template <i32 N, i32 Used>
DEVICE void combine_rows(const float *x, const i32 *memory, float *y, const BatchView *batch) {
  constexpr i32 stride = round_up(N, 32), blocks = divide_up(stride, kCombined);
  pdl_wait();
  const i32 token = blockIdx.x / blocks, column = blockIdx.x % blocks * kCombined + 4 * threadIdx.x;
  if (token >= batch->tokens || column >= stride)
    return;
  const Routes routes(memory, batch, Used);
  const float *from[Used];
  float weight[Used];
  UNROLL
  for (i32 i = 0; i < Used; i++) {
    from[i] = x + (i64)routes.row[(i64)token * Used + i] * stride + column;
    weight[i] = routes.weight[(i64)token * Used + i];
  }
  float sum[4] = {};
  UNROLL
  for (i32 i = 0; i < Used; i++) {
    const float4 v = *(const float4 *)from[i];
    const float four[4] = {v.x, v.y, v.z, v.w};
    UNROLL
    for (i32 j = 0; j < 4; j++)
      sum[j] = fma_f32(weight[i], four[j], sum[j]);
  }
  UNROLL
  for (i32 j = 0; j < 4; j++)
    sum[j] = column + j < N ? sum[j] : 0.0f;
  *(float4 *)(y + (i64)token * stride + column) = float4{sum[0], sum[1], sum[2], sum[3]};
}

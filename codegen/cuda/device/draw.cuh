//===- draw.cuh - Samples with temperature, top-k, top-p and min-p -------------===//
//
// For the same logits, the sampled tokens equal the tokens that runtime/sample/Sampler.h samples. The order of
// additions does not matter: weights are integers (draw_weight), so their sums are exact.
//
// Sampling finds the first token, in some order, at which the running sum of weights exceeds random * total / 2^64. It
// takes two launches after the one that finds the row's largest logit (sample.cuh: keys):
//
//   weigh   many blocks per row   adds up the weights of each 256 tokens, or of each bin
//   draw    one block per row     finds the sum that crosses the target, then the token within that sum
//
// Without top-k and top-p, tokens are in the order of their ids. With them the order is "likeliest first, then the
// lower id". The row is not sorted for this. Instead its tokens are counted and weighed in 1,024 bins by x = (logit -
// largest) / temperature,
//
//   bin     0        1      2             …      1008 |
//   x       0 … -1/36    -1/36 … -2/36              … -28: tokens below have no weight
//
// and every step is the same query, `select`: at which token does the number of tokens so far, or their
// weight, exceed a target?
//
//   top-k   number > k - 1                      -> kept weight
//   top-p   weight > topP * kept - 1            -> kept weight
//   min-p   no query: `weigh` adds up the weight of x >= least; if it is smaller, it is the kept weight
//   draw    weight > random * kept / 2^64       -> the token
//
// The sums of the bins show which bin contains the token. The tokens of all bins up to this one are collected in shared
// memory if there are at most 512, otherwise only the tokens of this bin. A bin is an interval of keys. Its end is
// found by bisection, so the pass over the row only compares keys. Then each thread adds up the weights of the tokens
// that precede its own. A bin with more than 512 tokens (equal logits, temperatures far from 1) is divided into 1,024
// intervals of keys, again and again, until one has few enough. Keys are distinct, so this terminates.
//===----------------------------------------------------------------------===//
#pragma once

#include "sample.cuh"

constexpr i32 kDrawBins = 1024, kDrawThreads = 512, kDrawWarps = kDrawThreads / 32, kDrawFew = 512;
constexpr i32 kWeighPieces = 32, kWeighThreads = 256, kWeighWarps = kWeighThreads / 32;
constexpr i32 kWeighBlock = 256; ///< tokens per sum of weights
constexpr i32 kBinsOfThread = kDrawBins / kDrawThreads;
static_assert(kDrawFew <= kDrawThreads && kWeighBlock <= kDrawThreads, "an id a thread");

/// runtime/sample/Softmax.h: expNonPositive.
DEVICE double exp_nonpositive(double x) {
  constexpr double log2e = 1.4426950408889634, ln2Hi = 0.6931471803691238,
                   ln2Lo = 1.9082149292705877e-10, round = 6755399441055744.0;
  const double bounded = x > -708.0 ? x : -708.0;
  const double shifted = bounded * log2e + round, k = shifted - round;
  const double r = (bounded - k * ln2Hi) - k * ln2Lo;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * (r * r) + r + 1.0;
  const double scale = as_f64((as_u64(shifted) << 52) + as_u64(1.0));
  return x > -708.0 ? p * scale : 0.0;
}

constexpr double kLeastExponent = -28.0, kBinsPerUnit = 36.0;
static_assert(-kLeastExponent * kBinsPerUnit < kDrawBins);

/// runtime/sample/Softmax.h: drawWeight.
DEVICE u64 draw_weight(double x) {
  const u64 bits = as_u64(exp_nonpositive(x) * 0x1p42 + 0x1p52);
  return x >= kLeastExponent ? bits - as_u64(0x1p52) : 0;
}

/// runtime/sample/Philox.h: randomFor.
DEVICE u64 draw_random(u64 seed, u32 choice, u64 position) {
  u32 counter[4] = {(u32)position, (u32)(position >> 32), choice, 0};
  u32 key[2] = {(u32)seed, (u32)(seed >> 32)};
  UNROLL
  for (i32 round = 0; round < 10; round++) {
    const u64 first = 0xd2511f53ull * counter[0], second = 0xcd9e8d57ull * counter[2];
    counter[0] = (u32)(second >> 32) ^ counter[1] ^ key[0];
    counter[1] = (u32)second;
    counter[2] = (u32)(first >> 32) ^ counter[3] ^ key[1];
    counter[3] = (u32)first;
    key[0] += 0x9e3779b9u, key[1] += 0xbb67ae85u;
  }
  return (u64)counter[1] << 32 | counter[0];
}

/// Describes how a row is sampled, and its largest logit.
struct DrawRow {
  RowSampling how;
  u64 best; ///< key of the largest logit
  double largest;

  MEMBER DrawRow(const BatchView *batch, i32 row, const u64 *keys)
      : how(batch->sampling[row]), best(keys[row]), largest(logit_of_key(best)) {}
  /// Returns whether the token is sampled. Otherwise the token with the largest logit is the result, because the row is
  /// greedy, its largest logit is infinite, or all logits are NaN.
  MEMBER bool isDrawn() const {
    return how.scale != 0.0 && best != 0 && largest - largest == 0.0; // no infinity
  }
  MEMBER double exponent(float logit) const { return ((double)logit - largest) * how.scale; }
  /// Returns whether tokens are ordered by their logits.
  template <i32 Width> MEMBER bool isSorted() const {
    return (how.topK > 0 && how.topK < Width) || how.topP < 1.0f;
  }
  MEMBER static i32 bin(double x) { return (i32)(-x * kBinsPerUnit); }
  /// Returns the least key of a logit in `bin` or a better bin.
  MEMBER u64 key_of_bin(i32 bin) const {
    u32 outside = 0x007fffffu, inside = (u32)(best >> 32); // from -inf to the largest
    while (inside - outside > 1) {
      const u32 middle = outside + (inside - outside) / 2;
      const double x = exponent(logit_of_key((u64)middle << 32));
      if (x >= kLeastExponent && -x * kBinsPerUnit < (double)(bin + 1))
        inside = middle;
      else
        outside = middle;
    }
    return (u64)inside << 32;
  }
};

/// The sums that `weigh` passes to `draw`. All members but `blocks` are 0 before and after a step.
template <i32 Width> struct DrawSums {
  u64 mass[kDrawBins];
  u64 likely; ///< weight of the tokens that pass min-p
  u64 blocks[divide_up(Width, kWeighBlock)];
  u32 count[kDrawBins];
};
template <i32 Width> DEVICE DrawSums<Width> *draw_sums(u8 *sums, i32 row) {
  return (DrawSums<Width> *)(sums + (i64)row * round_up(sizeof(DrawSums<Width>), 64));
}

DEVICE u64 warp_total(u64 value) {
  UNROLL
  for (i32 distance = 16; distance; distance /= 2)
    value += shfl_xor_u64(value, distance);
  return value;
}

template <i32 Width>
DEVICE void weigh_blocks(const float *values, const DrawRow &row, i32 piece, u64 *blocks) {
  const i32 lane = threadIdx.x % 32;
  for (i32 block = piece * kWeighWarps + threadIdx.x / 32; block < divide_up(Width, kWeighBlock);
       block += kWeighPieces * kWeighWarps) {
    u64 sum = 0;
    UNROLL
    for (i32 j = 0; j < kWeighBlock; j += 32)
      if (const i32 i = block * kWeighBlock + j + lane; i < Width) {
        const double x = row.exponent(values[i]);
        sum += x >= row.how.least ? draw_weight(x) : 0;
      }
    sum = warp_total(sum);
    if (lane == 0)
      blocks[block] = sum;
  }
}

template <i32 Width>
DEVICE void weigh_bins(const float *values, const DrawRow &row, i32 piece, DrawSums<Width> *out,
                       u64 (&mass)[kDrawBins], u32 (&count)[kDrawBins]) {
  for (i32 bin = threadIdx.x; bin < kDrawBins; bin += kWeighThreads)
    mass[bin] = 0, count[bin] = 0;
  sync_block();
  u64 likely = 0;
  for (i32 i = piece * kWeighThreads + threadIdx.x; i < Width; i += kWeighPieces * kWeighThreads) {
    const double x = row.exponent(values[i]);
    const u64 weight = draw_weight(x);
    if (weight == 0)
      continue;
    atomic_add(mass + DrawRow::bin(x), weight);
    atomic_add(count + DrawRow::bin(x), 1u);
    likely += x >= row.how.least ? weight : 0;
  }
  likely = warp_total(likely);
  if (threadIdx.x % 32 == 0 && likely)
    atomic_add(&out->likely, likely);
  sync_block();
  for (i32 bin = threadIdx.x; bin < kDrawBins; bin += kWeighThreads)
    if (count[bin]) {
      atomic_add(out->mass + bin, mass[bin]);
      atomic_add(out->count + bin, count[bin]);
    }
}

template <i32 Width>
DEVICE void weigh_piece(const float *logits, const u64 *keys, u8 *sums, const BatchView *batch,
                        u64 (&mass)[kDrawBins], u32 (&count)[kDrawBins]) {
  pdl_wait();
  const i32 row = blockIdx.x / kWeighPieces, piece = blockIdx.x % kWeighPieces;
  if (row >= batch->rows)
    return;
  const DrawRow draw(batch, row, keys);
  if (!draw.isDrawn())
    return;
  const float *values = logits + (i64)row * round_up(Width, 32);
  DrawSums<Width> *out = draw_sums<Width>(sums, row);
  if (draw.template isSorted<Width>())
    weigh_bins<Width>(values, draw, piece, out, mass, count);
  else
    weigh_blocks<Width>(values, draw, piece, out->blocks);
}

/// A number of tokens, and the sum of their weights.
struct DrawMeasure {
  u64 count, mass;
  MEMBER u64 by(bool number) const { return number ? count : mass; }
};

/// The block's shared memory.
struct DrawScratch {
  u64 warps[2][kDrawWarps];
  u64 mass[kDrawBins]; ///< of the intervals that a bin is divided into
  u32 count[kDrawBins];
  u64 keys[kDrawFew], weights[kDrawFew];
  u32 filled; ///< number of entries in `keys`
  // The result of a search, written by the thread that found it.
  i32 index;
  DrawMeasure before, inside;
  u64 key, through;
};

/// The sums over the threads before this one, and over all.
struct DrawScan {
  u64 before, all;
};
DEVICE DrawScan scan_block(u64 own, u64 (&warps)[kDrawWarps]) {
  const i32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u64 sum = own;
  UNROLL
  for (i32 distance = 1; distance < 32; distance *= 2) {
    const u64 other = shfl_up_u64(sum, distance);
    sum += lane >= distance ? other : 0;
  }
  sync_block(); // all threads have read warps[] of the previous call
  if (lane == 31)
    warps[warp] = sum;
  sync_block();
  DrawScan scan = {sum - own, 0};
  UNROLL
  for (i32 w = 0; w < kDrawWarps; w++) {
    scan.before += w < warp ? warps[w] : 0;
    scan.all += warps[w];
  }
  return scan;
}

/// Finds the bin at which the running sum crosses the target, and stores it in scratch.index, .before and
/// .inside. Each thread passes kBinsOfThread consecutive bins.
DEVICE void find_bin(const DrawMeasure (&bins)[kBinsOfThread], bool number, u64 target,
                     DrawScratch &scratch) {
  DrawMeasure own = {0, 0};
  UNROLL
  for (i32 j = 0; j < kBinsOfThread; j++)
    own.count += bins[j].count, own.mass += bins[j].mass;
  DrawMeasure before = {scan_block(own.count, scratch.warps[0]).before,
                        scan_block(own.mass, scratch.warps[1]).before};
  UNROLL
  for (i32 j = 0; j < kBinsOfThread; j++) {
    if (before.by(number) <= target && target - before.by(number) < bins[j].by(number)) {
      scratch.index = threadIdx.x * kBinsOfThread + j;
      scratch.before = before;
      scratch.inside = bins[j];
    }
    before.count += bins[j].count, before.mass += bins[j].mass;
  }
  sync_block();
}

/// `select` on one row, likeliest tokens first.
template <i32 Width> struct SortedDraw {
  const float *values;
  const DrawRow &row;
  DrawScratch &scratch;
  DrawMeasure bins[kBinsOfThread]; ///< this thread's bins of the row
  // above: the tokens better than all tokens in shared memory. held: the tokens in shared memory. better: the
  // tokens better than this thread's token. key, weight: this thread's token (key 0 if it has none).
  DrawMeasure above = {0, 0}, held = {0, 0}, better = {0, 0};
  u64 key = 0, weight = 0;

  /// Finds the first token at which the number or the weight of the tokens exceeds the target, sets `id` to
  /// it, and returns the weight of all tokens up to and including it. The target must be below the
  /// number or the weight of all tokens.
  MEMBER u64 select(bool number, u64 target, i32 &id) {
    if (target < above.by(number) || target - above.by(number) >= held.by(number))
      load(number, target);
    const u64 own = number ? key != 0 : weight;
    if (better.by(number) <= target && target - better.by(number) < own) {
      scratch.key = key;
      scratch.through = better.mass + weight;
    }
    sync_block();
    const u64 through = scratch.through;
    id = (i32) ~(u32)scratch.key;
    sync_block(); // the next call may overwrite scratch
    return through;
  }

private:
  /// Calls f(key) for the keys of the row in low … high.
  template <class F> MEMBER void for_keys(u64 low, u64 high, F f) const {
    constexpr i32 ahead = 8; // loads in flight
    for (i32 first = threadIdx.x; first < Width; first += ahead * kDrawThreads) {
      float logits[ahead];
      UNROLL
      for (i32 j = 0; j < ahead; j++) {
        const i32 i = first + j * kDrawThreads;
        logits[j] = i < Width ? values[i] : as_f32(0x7fffffffu);
      }
      UNROLL
      for (i32 j = 0; j < ahead; j++)
        if (const u64 key = argmax_key(logits[j], first + j * kDrawThreads);
            key >= low && key <= high)
          f(key);
    }
  }

  /// Divides keys low … high into bins, and narrows low … high to the bin that crosses the target.
  MEMBER void cut(u64 &low, u64 &high, bool number, u64 target) {
    i32 shift = 0;
    while ((high - low) >> shift >= kDrawBins)
      shift++;
    for (i32 bin = threadIdx.x; bin < kDrawBins; bin += kDrawThreads)
      scratch.mass[bin] = 0, scratch.count[bin] = 0;
    sync_block();
    const u64 top = high;
    for_keys(low, high, [&](u64 key) {
      const i32 bin = (i32)((top - key) >> shift);
      atomic_add(scratch.mass + bin, draw_weight(row.exponent(logit_of_key(key))));
      atomic_add(scratch.count + bin, 1u);
    });
    sync_block();
    DrawMeasure parts[kBinsOfThread];
    UNROLL
    for (i32 j = 0; j < kBinsOfThread; j++) {
      const i32 bin = threadIdx.x * kBinsOfThread + j;
      parts[j] = {scratch.count[bin], scratch.mass[bin]};
    }
    find_bin(parts, number, target - above.by(number), scratch);
    above.count += scratch.before.count, above.mass += scratch.before.mass;
    held = scratch.inside;
    high -= (u64)scratch.index << shift;
    const u64 last = ((u64)1 << shift) - 1;
    low = high - low > last ? high - last : low;
  }

  /// Collects the tokens around the target in shared memory.
  MEMBER void load(bool number, u64 target) {
    find_bin(bins, number, target, scratch);
    const i32 bin = scratch.index;
    u64 low = row.key_of_bin(bin), high = row.best;
    above = scratch.before, held = scratch.inside;
    if (above.count + held.count <= kDrawFew) {
      held = {above.count + held.count, above.mass + held.mass};
      above = {0, 0};
    } else if (bin > 0) {
      high = row.key_of_bin(bin - 1) - 1;
    }
    while (held.count > kDrawFew)
      cut(low, high, number, target);

    if (threadIdx.x == 0)
      scratch.filled = 0;
    sync_block();
    for_keys(low, high, [&](u64 key) { scratch.keys[atomic_add(&scratch.filled, 1u)] = key; });
    sync_block();
    const i32 count = (i32)held.count;
    key = 0, weight = 0, better = above;
    if ((i32)threadIdx.x < count) {
      key = scratch.keys[threadIdx.x];
      weight = draw_weight(row.exponent(logit_of_key(key)));
      scratch.weights[threadIdx.x] = weight;
    }
    sync_block();
    if ((i32)threadIdx.x < count)
      for (i32 j = 0; j < count; j++)
        if (scratch.keys[j] > key)
          better.count++, better.mass += scratch.weights[j];
  }
};

template <i32 Width>
DEVICE i32 draw_sorted(const float *values, const DrawRow &row, u64 random, DrawSums<Width> *sums,
                       DrawScratch &scratch) {
  SortedDraw<Width> draw = {values, row, scratch};
  DrawMeasure own = {0, 0};
  UNROLL
  for (i32 j = 0; j < kBinsOfThread; j++) {
    const i32 bin = threadIdx.x * kBinsOfThread + j;
    draw.bins[j] = {sums->count[bin], sums->mass[bin]};
    own.count += draw.bins[j].count, own.mass += draw.bins[j].mass;
    sums->count[bin] = 0, sums->mass[bin] = 0;
  }
  const u64 likely = sums->likely;
  const u64 ids = scan_block(own.count, scratch.warps[0]).all;
  u64 kept = scan_block(own.mass, scratch.warps[1]).all;
  if (threadIdx.x == 0) // all threads have read it
    sums->likely = 0;
  i32 id = 0;
  if (row.how.topK > 0 && (u64)row.how.topK < ids)
    kept = draw.select(/*number=*/true, row.how.topK - 1, id);
  if (row.how.topP < 1.0f) {
    const u64 wanted = (u64)((double)row.how.topP * (double)kept);
    kept = draw.select(false, wanted ? wanted - 1 : 0, id);
  }
  kept = likely < kept ? likely : kept;
  draw.select(false, mul_hi(random, kept), id);
  return id;
}

template <i32 Width>
DEVICE i32 draw_from_all(const float *values, const DrawRow &row, u64 random, const u64 *blocks,
                         DrawScratch &scratch) {
  constexpr i32 count = divide_up(Width, kWeighBlock), each = divide_up(count, kDrawThreads);
  u64 sum = 0;
  for (i32 j = 0; j < each; j++)
    if (const i32 block = threadIdx.x * each + j; block < count)
      sum += blocks[block];
  const DrawScan all = scan_block(sum, scratch.warps[0]);
  const u64 target = mul_hi(random, all.all);
  if (all.before <= target && target - all.before < sum) {
    u64 before = all.before;
    i32 block = threadIdx.x * each;
    for (; target - before >= blocks[block]; block++)
      before += blocks[block];
    scratch.index = block;
    scratch.before.mass = before;
  }
  sync_block();
  const i32 i = scratch.index * kWeighBlock + threadIdx.x;
  u64 weight = 0;
  if (threadIdx.x < kWeighBlock && i < Width) {
    const double x = row.exponent(values[i]);
    weight = x >= row.how.least ? draw_weight(x) : 0;
  }
  const u64 before = scratch.before.mass + scan_block(weight, scratch.warps[1]).before;
  if (before <= target && target - before < weight)
    scratch.index = i;
  sync_block();
  return scratch.index;
}

template <i32 Width>
DEVICE void draw_rows(const float *logits, u64 *keys, u8 *sums, i32 *ids, const BatchView *batch,
                      DrawScratch &scratch) {
  pdl_wait();
  const i32 row = blockIdx.x;
  if (row >= batch->rows)
    return;
  const DrawRow draw(batch, row, keys);
  i32 id = draw.best ? (i32) ~(u32)draw.best : 0; // all logits are NaN: id 0
  if (draw.isDrawn()) {
    const float *values = logits + (i64)row * round_up(Width, 32);
    const u64 random = draw_random(draw.how.seed, draw.how.choice,
                                   (u64)batch->positions[batch->rowTokens[row]] + 1);
    DrawSums<Width> *of = draw_sums<Width>(sums, row);
    id = draw.template isSorted<Width>()
             ? draw_sorted<Width>(values, draw, random, of, scratch)
             : draw_from_all<Width>(values, draw, random, of->blocks, scratch);
  }
  sync_block(); // all threads have read the key
  if (threadIdx.x == 0) {
    ids[row] = id;
    keys[row] = 0;
  }
}

//===- seed.cuh - Dummy weights, generated on the device ---------------------===//
//
// runtime/formats/DummyWeights.h defines the value of weight (n, k) of a tensor. DummyFragments.cpp
// generates the same bytes on the host. A block generates a tile of 16 rows. Its lanes hold the rows that
// they hold in a fragment, so a thread needs the keys of only two rows. The memory must be zero before
// the launch, since padding is not written.
//===----------------------------------------------------------------------===//
#pragma once

#include "formats_grid.cuh"

/// splitmix64
DEVICE u64 seed_mix(u64 z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// A row's two sequences of random words, which its codes are cut from. `in` is the index within a step
/// of 16 k: k = 16 step + in.
struct SeedRow {
  u64 keys[2];

  MEMBER u64 word(i32 plane, i32 index) const {
    return seed_mix(keys[plane] + (u64)index * 0x9e3779b97f4a7c15ull);
  }
  template <i32 Bits> MEMBER u32 code(i32 step, i32 in) const {
    if constexpr (Bits == 8)
      return word(0, 2 * step + in / 8) >> (8 * (in % 8)) & 255;
    const u32 low =
        word(0, step) >> (8 * (in % 8) + 4 * (in / 8)) & (Bits < 4 ? (1 << Bits) - 1 : 15);
    if constexpr (Bits == 5) {
      const i32 k = step % 4 * 16 + in; // index among the 64 codes that share a word
      return low | (word(1, step / 4) >> (32 * (k / 32) + 8 * (k % 4) + k % 32 / 4) & 1) << 4;
    } else if constexpr (Bits == 6) {
      return low | (word(1, step / 2) >> (32 * (step % 2) + 8 * (in % 4) + 2 * (in / 4)) & 3) << 4;
    }
    return low;
  }
  MEMBER float number(i32 step, i32 in) const {
    const u64 fields = word(0, 4 * step + in / 4) >> (16 * (in % 4));
    i32 sum = 0;
    UNROLL
    for (i32 field = 0; field < 5; field++)
      sum += (i32)(fields >> (3 * field)) & 7;
    return (float)(2 * sum - 35) / 512.0f;
  }
};

/// The scales that all blocks of a format have (`seedScales` and kSeedFp8Scale). trits: codes are in base 3.
struct SeedScales {
  u16 d, m;
  u8 s, t;
  float fp8;
  bool trits;
};

/// The two rows of the tile that this lane generates.
struct SeedLane {
  SeedRow rows[2];
  i32 valid; ///< how many of the two rows exist

  MEMBER SeedLane(u64 seed, u64 tensor, i32 n) {
    const i32 first = blockIdx.x * 16 + threadIdx.x % 32 / 4;
    UNROLL
    for (i32 half = 0; half < 2; half++) {
      UNROLL
      for (i32 plane = 0; plane < 2; plane++)
        rows[half].keys[plane] =
            seed_mix(seed_mix(seed ^ seed_mix(tensor)) ^ (2 * (u64)(first + 8 * half) + plane));
    }
    valid = first + 8 < n ? 2 : first < n;
  }
  /// For value v of a fragment: `half` is its row among the lane's two, `in` its index within a step.
  MEMBER i32 half(i32 v) const { return v / 2 % 2; }
  MEMBER i32 in(i32 v) const { return threadIdx.x % 4 * 2 + v % 2 + v / 4 * 8; }
  MEMBER bool exists(i32 v, i32 step, i32 k) const {
    return half(v) < valid && 16 * step + in(v) < k;
  }
};

template <i32 Bits, i32 Group, i32 ZeroPoint, bool HasMin, bool Super, Scale Stored, bool Zeros,
          class Numbers, bool FloatSubs>
DEVICE void
seed_tile(CodeFormat<Bits, Group, ZeroPoint, HasMin, Super, Stored, Zeros, Numbers, FloatSubs>,
          u8 *tile, u64 seed, u64 tensor, i32 n, i32 k, SeedScales made) {
  using F = CodeFormat<Bits, Group, ZeroPoint, HasMin, Super, Stored, Zeros, Numbers, FloatSubs>;
  constexpr i32 lowBits = F::lowBits, upperBits = F::upperBits;
  const SeedLane mine(seed, tensor, n);
  const i32 lane = threadIdx.x % 32;
  for (i32 run = threadIdx.x / 32; run < divide_up(k, 64); run += blockDim.x / 32) {
    u8 *codes =
        tile + (i64)(run / F::runsPerBlock) * F::blockBytes + run % F::runsPerBlock * F::runBytes;
    u32 words[Bits] = {};
    UNROLL
    for (i32 s = 0; s < 4; s++) {
      UNROLL
      for (i32 v = 0; v < 8; v++) {
        const i32 step = 4 * run + s, j = v / 2, high = 16 * (v % 2);
        u32 q = 0;
        if (mine.exists(v, step, k)) {
          const SeedRow &row = mine.rows[mine.half(v)];
          if constexpr (Bits == 1)
            q = row.code<4>(step, mine.in(v)) >> 1 & 1;
          else if (Bits == 2 && made.trits)
            q = row.code<4>(step, mine.in(v)) % 3;
          else
            q = row.code<Bits>(step, mine.in(v));
        }
        if constexpr (Bits == 8) {
          words[2 * s + j / 2] |= q << (8 * (j % 2) + high);
        } else {
          if constexpr (lowBits == 4)
            words[s] |= (q & 15) << (4 * j + high);
          else if constexpr (lowBits == 1)
            words[0] |= q << (4 * s + j + high);
          else
            words[s / 2] |= (q & 3) << (8 * (s % 2) + 2 * j + high);
          if constexpr (upperBits == 1)
            words[lowBits] |= (q >> lowBits) << (4 * s + j + high);
          else if constexpr (upperBits == 2)
            words[lowBits + s / 2] |= (q >> lowBits) << (8 * (s % 2) + 2 * j + high);
        }
      }
    }
    if constexpr (lowBits == 1)
      *(u32 *)(codes + lane * 4) = words[0];
    else if constexpr (lowBits == 2)
      *(uint2 *)(codes + lane * 8) = uint2{words[0], words[1]};
    else
      *(uint4 *)(codes + lane * 16) = uint4{words[0], words[1], words[2], words[3]};
    if constexpr (upperBits == 1)
      *(u32 *)(codes + 128 * lowBits + lane * 4) = words[lowBits];
    else if constexpr (upperBits == 2)
      *(uint2 *)(codes + 128 * lowBits + lane * 8) = uint2{words[lowBits], words[lowBits + 1]};
    else if constexpr (Bits == 8)
      *(uint4 *)(codes + 512 + lane * 16) = uint4{words[4], words[5], words[6], words[7]};
  }
  constexpr i32 block =
      Super ? 256 : Group; // the format's block; a block of the layout may hold several
  for (i32 i = threadIdx.x; i < divide_up(k, block) * 16; i += blockDim.x) {
    const i32 row = i % 16, b = i / 16, from = b * block, global = blockIdx.x * 16 + row;
    if (global >= n)
      continue;
    u8 *at = tile + (i64)(from / F::blockK) * F::blockBytes;
    const i32 slot = F::scale_place(row, from % F::blockK / block, F::scales);
    const bool odd = (ZeroPoint != 0 || Zeros) && (global + b) % 2 != 0;
    const u16 d = made.d ^ (odd ? 0x8000 : 0);
    u8 *const scale = at + F::scaleOffset + slot * F::scaleBytes;
    if constexpr (Stored == Scale::F32)
      *(float *)scale = f16_to_f32(d);
    else
      *(u16 *)scale = Stored == Scale::BF16 ? f32_to_bf16(f16_to_f32(d)) : d;
    if constexpr (F::halfMin)
      *(u16 *)(at + F::minOffset + 2 * slot) =
          Stored == Scale::BF16 ? f32_to_bf16(f16_to_f32(made.m)) : made.m;
    if constexpr (Zeros)
      at[F::subMinOffset + slot] = made.t;
    if constexpr (Super) {
      for (i32 g = 0; g < 256 / Group; g++) {
        const i32 place = F::scale_place(row, g, 256 / Group);
        at[F::subScaleOffset + place] = made.s;
        if constexpr (HasMin)
          at[F::subMinOffset + place] = made.t;
      }
    }
  }
}

/// A warp generates a block. Each lane generates the indexes that it looks up and the signs of its
/// fragments.
template <i32 Group, i32 ZeroPoint, class Numbers, GridSigns Signs, class Entries>
DEVICE void seed_tile(GridFormat<Group, ZeroPoint, Numbers, Signs, Entries>, u8 *tile, u64 seed,
                      u64 tensor, i32 n, i32 k, SeedScales made) {
  using F = GridFormat<Group, ZeroPoint, Numbers, Signs, Entries>;
  constexpr i32 perStep = F::indexes / 4;
  const SeedLane mine(seed, tensor, n);
  const i32 lane = threadIdx.x % 32, half = lane % 2, first = lane % 4 / 2 * 8;
  for (i32 b = threadIdx.x / 32; b < divide_up(k, 256); b += blockDim.x / 32) {
    u8 *const block = tile + (i64)b * F::blockBytes;
    u64 upper[2] = {};
    for (i32 r = 0; r < 4; r++) {
      u8 *const run = block + r * F::runBytes;
      u32 signs = 0;
      for (i32 i = 0; i < F::indexes && half < mine.valid; i++) {
        const i32 step = 16 * b + 4 * r + i / perStep, in = first + i % perStep * Entries::run;
        if (16 * step + in >= k)
          continue;
        u32 index = 0;
        for (i32 v = 0; v < 4; v++)
          index |= (mine.rows[half].code<4>(step, in + v) & 7) << (3 * v);
        index &= (1u << Entries::bits) - 1u;
        if constexpr (Signs == GridSigns::Run)
          index |= mine.rows[half].code<4>(step, in) >> 3 << Entries::bits;
        run[lane * F::indexes + i] = (u8)index;
        for (i32 p = 0; p < F::planes; p++)
          upper[p] |= (u64)(index >> (8 + 2 * p) & ((1u << F::width(p)) - 1u))
                      << ((r * F::indexes + i) * F::width(p));
      }
      for (i32 s = 0; s < 4; s++)
        for (i32 v = 0; v < 8; v++) {
          const i32 step = 16 * b + 4 * r + s, in = mine.in(v);
          // A run that begins before K has the signs of all its values.
          if (mine.exists(v, step, k + in % Entries::run))
            signs |=
                mine.rows[mine.half(v)].code<4>(step, in) >> 3 << (8 * (v % 4) + 2 * s + v / 4);
        }
      if constexpr (F::ofValues)
        *(u32 *)(run + 128 * F::words + lane * 4) = signs;
    }
    for (i32 p = 0; p < F::planes; p++) {
      u8 *const plane = block + F::planeOffset + 32 * F::indexes * p;
      if (F::indexes * F::width(p) == 8)
        ((u32 *)plane)[lane] = (u32)upper[p];
      else
        ((u16 *)plane)[lane] = (u16)upper[p];
    }
  }
  constexpr i32 groups = 256 / Group, pairs = F::runGroups / 2; ///< pairs: of a run, a byte each
  for (i32 i = threadIdx.x; i < divide_up(k, 256) * 16; i += blockDim.x) {
    const i32 row = i % 16, b = i / 16, global = blockIdx.x * 16 + row;
    if (global >= n)
      continue;
    u8 *const block = tile + (i64)b * F::blockBytes;
    *(float *)(block + F::scaleOffset + 4 * (row % 8 * 2 + row / 8)) =
        f16_to_f32((u16)(made.d ^ ((global + b) % 2 ? 0x8000 : 0)));
    SeedRow own;
    own.keys[0] = seed_mix(seed_mix(seed ^ seed_mix(tensor)) ^ (2 * (u64)global));
    for (i32 g = 0; g < groups; g += 2) {
      u32 s = (made.s >> 1) * 0x11u;
      if constexpr (Signs == GridSigns::Group)
        for (i32 odd = 0; odd < 2; odd++)
          if (const i32 from = b * 256 + (g + odd) * Group; from < k)
            s |= own.code<4>(from / 16, 0) >> 3 << (4 * odd + 3);
      block[F::subScaleOffset + (row % 8 * 4 + g / F::runGroups) * 2 * pairs + row / 8 * pairs +
            g % F::runGroups / 2] = (u8)s;
    }
  }
}

/// Clears bit 6 of the codes, so magnitudes are below 2 and none is NaN.
DEVICE void seed_tile(Fp8Format, u8 *tile, u64 seed, u64 tensor, i32 n, i32 k, SeedScales made) {
  const SeedLane mine(seed, tensor, n);
  const i32 lane = threadIdx.x % 32;
  for (i32 run = threadIdx.x / 32; run < divide_up(k, 64); run += blockDim.x / 32) {
    u8 *codes =
        tile + (i64)(run / 2) * Fp8Format::blockBytes + run % 2 * Fp8Format::runBytes + lane * 16;
    u32 words[8] = {};
    UNROLL
    for (i32 s = 0; s < 4; s++) {
      UNROLL
      for (i32 v = 0; v < 8; v++) {
        const i32 step = 4 * run + s, j = v / 2;
        if (mine.exists(v, step, k))
          words[2 * s + j % 2] |=
              (mine.rows[mine.half(v)].template code<8>(step, mine.in(v)) & 0xbf)
              << (8 * (j / 2) + 16 * (v % 2));
      }
    }
    *(uint4 *)codes = uint4{words[0], words[1], words[2], words[3]};
    *(uint4 *)(codes + 512) = uint4{words[4], words[5], words[6], words[7]};
  }
  for (i32 i = threadIdx.x; i < divide_up(k, 128) * 16; i += blockDim.x)
    if ((i32)blockIdx.x * 16 + i % 16 < n)
      *(float *)(tile + (i64)(i / 16) * Fp8Format::blockBytes + Fp8Format::scaleOffset +
                 8 * (i % 8) + i % 16 / 8 * 4) = made.fp8;
}

template <bool Half>
DEVICE void seed_tile(FloatFormat<Half>, u8 *tile, u64 seed, u64 tensor, i32 n, i32 k, SeedScales) {
  const SeedLane mine(seed, tensor, n);
  for (i32 step = threadIdx.x / 32; step < divide_up(k, 16); step += blockDim.x / 32) {
    u32 words[4] = {};
    UNROLL
    for (i32 v = 0; v < 8; v++) {
      const float w =
          mine.exists(v, step, k) ? mine.rows[mine.half(v)].number(step, mine.in(v)) : 0.0f;
      words[v / 2] |= (u32)(Half ? f32_to_f16(w) : f32_to_bf16(w)) << (16 * (v % 2));
    }
    *(uint4 *)(tile + (i64)step * 512 + threadIdx.x % 32 * 16) =
        uint4{words[0], words[1], words[2], words[3]};
  }
}

/// Generates the weight [n][k] of tensor number `tensor` at `out`. One block per tile.
template <class F>
DEVICE void seed_weight(u8 *out, u64 seed, u64 tensor, i64 n, i64 k, SeedScales made) {
  seed_tile(F(), out + blockIdx.x * F::tileBytes((i32)k), seed, tensor, (i32)n, (i32)k, made);
}

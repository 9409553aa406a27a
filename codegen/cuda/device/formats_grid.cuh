//===- formats_grid.cuh - Weights as indexes of a grid: IQ1, IQ2 and IQ3 -----===//
//
// The interface of formats.cuh for formats in which tiles hold an index for each run of 8 or 4 values. A lane looks up
// the entries of eight values of a step, then its quad exchanges them (FragmentLayout.h):
//
//   entry      nibble i has the magnitude of value i. IQ2 adds 4 to it, so that the permutation takes the values from
//              its second operand, which is part of the instruction. In IQ1 signs belong to runs or groups, and bit 2
//              of a nibble is the sign
//   exchange   lane c needs byte c of the four entries of its quad, which have the codes of its v0 … v7.
//              The exchange takes two shuffles and two permutations
//   fragment   one permutation finds the values of four codes. A second one pairs them, and applies the signs if each
//              value has its own. The rest is the same as for 8-bit codes
//
// A fragment has the value that a table has for a 4-bit code of the same weight (NumericFormat.h). All lanes of a warp
// must call F::fragment together.
//
// Entries is the grid: `bits` of an index, `run`, and `at(index)`. The text of a kernel contains the
// grids that it uses (codegen/cuda/KernelText.cpp). A grid has 0.5 to 8 KiB and is read through L1.
//===----------------------------------------------------------------------===//
#pragma once

#include "formats.cuh"

/// Returns byte c of the words of lanes 0 … 3 of the quad, for lane c. Called by all lanes of a
/// warp.
DEVICE u32 quad_bytes(u32 own) {
  const i32 c = threadIdx.x % 4;
  // Byte 2 (c / 2) and the next one, of the lane's own word and of the word of lane c ^ 2.
  const u32 halves = prmt(own, shfl_xor(own, 2), c < 2 ? 0x5410u : 0x7632u);
  // Byte c of lanes 0 … 3. This lane's `halves` has the bytes of lanes c and c ^ 2; the `halves` of lane c ^ 1 has the
  // bytes of lanes c ^ 1 and c ^ 3.
  return prmt(halves, shfl_xor(halves, 1), (u32)(0x1537406237156240ull >> (16 * c)));
}

/// Which unit has a sign of its own.
enum class GridSigns : u8 { Value, Run, Group };

/// Blocks of 256 values with an f32 scale. Each `Group` values have a sub-scale 2 u + 1, where u is
/// stored in a nibble.
template <i32 Group, i32 ZeroPoint, class Numbers, GridSigns Signs, class Entries>
struct GridFormat {
  static constexpr bool isFloat = false, hasMin = false, ofValues = Signs == GridSigns::Value;
  static constexpr i32 group = Group, blockK = 256, runsPerBlock = 4, chunkRuns = 2, unit = 64;
  static constexpr i32 indexes = 32 / Entries::run, words = indexes / 4; ///< per lane and run
  static constexpr i32 upperBits = Entries::bits - 8 + (Signs == GridSigns::Run ? 1 : 0);
  static constexpr i32 planes = divide_up(upperBits, 2);
  static constexpr i32 runBytes = 128 * (words + (ofValues ? 1 : 0));
  static constexpr i32 planeOffset = runsPerBlock * runBytes;
  static constexpr i32 scaleOffset = planeOffset + 16 * indexes * upperBits;
  static constexpr i32 subScaleOffset = scaleOffset + 64;
  static constexpr i32 runGroups = 64 / Group;
  static constexpr i32 blockBytes = subScaleOffset + 32 * runGroups;
  /// The approximate number of registers of a chunk.
  static constexpr i32 registers = 2 * (words + (ofValues ? 1 : 0) + planes) + 2 + runGroups / 2;

  static constexpr i64 tileBytes(i32 k) { return (i64)divide_up(k, blockK) * blockBytes; }
  /// Returns the bits per index in plane p of upper bits.
  static constexpr i32 width(i32 p) { return upperBits - 2 * p < 2 ? 1 : 2; }

  struct Run {
    u32 index[words];
    u32 signs;    ///< of the lane's fragments
    u32 upper[2]; ///< words of the planes, with the bits of the run's indexes lowest
    u32 d[2];
    u32 s; ///< nibbles: the run's groups of row l / 4, then of row l / 4 + 8
  };

  struct Place {
    const u8 *block;
    MEMBER explicit Place(const u8 *block) : block(block) {}
    MEMBER void advance(i32 bytes) { block += bytes; }
  };

  template <class Load>
  static MEMBER void codes_of(Run &run, const u8 *block, i32 in, i32 lane, Load load) {
    words_of(run.index, block + in * runBytes + lane * 4 * words, load);
    run.signs = ofValues ? load((const u32 *)(block + in * runBytes + 128 * words + lane * 4)) : 0;
  }
  /// Loads a lane's upper bits of a whole block. Two lanes share a word if they have 16 bits each.
  template <class Load>
  static MEMBER void planes_of(u32 (&upper)[2], const u8 *block, i32 lane, Load load) {
    UNROLL
    for (i32 p = 0; p < planes; p++) {
      const i32 at = lane * indexes * width(p) / 2;
      upper[p] = load((const u32 *)(block + planeOffset + 32 * indexes * p + at / 4 * 4)) >>
                 (8 * (at % 4));
    }
  }
  /// Loads run `in` of a block as `lane` holds it.
  template <class Load>
  static MEMBER void run_of(Run &run, const u8 *block, i32 in, i32 lane, Load load) {
    const auto read = [](auto *p) { return *p; };
    codes_of(run, block, in, lane, load);
    // The runs of a block share cache lines of the others, so these may stay in L1.
    planes_of(run.upper, block, lane, read);
    UNROLL
    for (i32 p = 0; p < planes; p++)
      run.upper[p] >>= in * indexes * width(p);
    read_words(run.d, block + scaleOffset + lane / 4 * 8);
    const u8 *const s = block + subScaleOffset + (lane / 4 * 4 + in) * runGroups;
    if constexpr (runGroups == 4)
      run.s = *(const u32 *)s;
    else
      run.s = *(const u16 *)s;
  }

  static MEMBER void load(Run &run, const u8 *tile, i32 r, i32, WeightStream stream) {
    run_of(run, tile + (i64)(r / 4) * blockBytes, r % 4, threadIdx.x % 32,
           [&](auto *p) { return ld_stream(p, stream); });
  }
  static MEMBER void load_chunk(Run (&runs)[2], const Place &place, i32 ahead, i32 in, i32, i32,
                                WeightStream stream) {
    const auto load = [&](auto *p) { return ld_stream(p, stream); };
    const i32 lane = threadIdx.x % 32, first = in * 2;
    const u8 *const block = place.block + ahead;
    u32 upper[2], d[2], s[runGroups / 2];
    UNROLL
    for (i32 i = 0; i < 2; i++)
      codes_of(runs[i], block, first + i, lane, load);
    planes_of(upper, block, lane, load);
    words_of(d, block + scaleOffset + lane / 4 * 8, load);
    words_of(s, block + subScaleOffset + (lane / 4 * 4 + first) * runGroups, load);
    UNROLL
    for (i32 i = 0; i < 2; i++) {
      UNROLL
      for (i32 p = 0; p < planes; p++)
        runs[i].upper[p] = upper[p] >> ((first + i) * indexes * width(p));
      runs[i].d[0] = d[0], runs[i].d[1] = d[1];
      runs[i].s = runGroups == 4 ? s[i % (runGroups / 2)] : s[0] >> (16 * i);
    }
  }

  /// Returns index i of a lane's run, and above it the sign of its run of values (IQ1_M).
  static MEMBER u32 index(const Run &run, i32 i) {
    u32 index = byte_permute(run.index[i / 4], 0, 0x4440u + i % 4);
    UNROLL
    for (i32 p = 0; p < planes; p++) {
      const i32 from = i * width(p), to = 8 + 2 * p;
      const u32 moved = from < to ? run.upper[p] << (to - from) : run.upper[p] >> (from - to);
      index = mask_or(moved, ((1u << width(p)) - 1u) << to, index);
    }
    return index;
  }
  static MEMBER u32 nibble(const Run &run, i32 i, i32 half) {
    return run.s >> (4 * (half * runGroups + i)) & 15;
  }
  /// Returns the codes of the eight values that `lane` looks up for a step.
  static MEMBER u32 entry(const Run &run, i32 step, i32 lane) {
    if constexpr (Entries::run == 4) {
      return Entries::at(index(run, 2 * step)) | Entries::at(index(run, 2 * step + 1)) << 16;
    } else if constexpr (ofValues) {
      return Entries::at(index(run, step));
    } else {
      const u32 all = index(run, step);
      const u32 sign = Signs == GridSigns::Run ? all >> Entries::bits
                                               : nibble(run, step * 16 / Group, lane % 2) >> 3;
      return Entries::at(all & ((1u << Entries::bits) - 1u)) | sign * 0x44444444u;
    }
  }

  static MEMBER void fragment(u32 (&a)[4], const Run &run, i32 step) {
    constexpr u32 both = 0x00010001u, zeros = ofValues ? ZeroPoint * 0x01010101u : 0,
                  back = minus_part(ofValues ? 0 : ZeroPoint);
    // The values of codes 0 … 3 and of codes 4 … 7. In IQ3 all eight are magnitudes. In IQ2 only codes 4 … 7 are. In
    // IQ1 the first four are the values of positive codes, and the last four are the values of negative codes.
    constexpr bool offset = ofValues && Entries::run == 8;
    constexpr u32 low = offset ? 0 : Numbers::a - zeros, high = (offset     ? Numbers::a
                                                                 : ofValues ? Numbers::b
                                                                            : Numbers::c) -
                                                                zeros;
    const u32 codes = quad_bytes(entry(run, step, threadIdx.x % 32));
    UNROLL
    for (i32 h = 0; h < 2; h++) {
      const u32 numbers = prmt(low, high, codes >> (16 * h));
      const u32 signs = ofValues ? run.signs << (7 - 2 * step - h) & 0x80808080u : 0;
      a[2 * h] = bf16x2_fma(byte_permute(numbers, signs, 0x5140), 0x7f00 * both, back);
      a[2 * h + 1] = bf16x2_fma(byte_permute(numbers, signs, 0x7362), 0x7f00 * both, back);
    }
  }

  static MEMBER float scale(const Run &run, i32 i, i32 half) {
    constexpr float magic = 8388608.0f; // 2^23: the bits of 2^23 + n end in n
    const i32 from = 4 * (half * runGroups + i);
    const u32 twice = from ? run.s >> (from - 1) : run.s << 1;
    const float number = as_f32(mask_or(twice, Signs == GridSigns::Group ? 14 : 30, 0x4b000001u));
    const float d = as_f32(run.d[half]);
    return fma_f32(d, number, -magic * d); // d (2 u + 1), rounded once
  }
  static MEMBER float minimum(const Run &, i32, i32) { return 0.0f; }

  static MEMBER float value(const u8 *weight, i64 tileBytes, i32 n, i32 k) {
    const i32 row = n % 16, in = k % blockK / 64, step = k % 64 / 16, first = row % 8 * 4;
    const i32 v = k % 16 / 8 * 4 + row / 8 * 2 + k % 2; // of lane first + k % 8 / 2
    const u8 *block = weight + n / 16 * tileBytes + (i64)(k / blockK) * blockBytes;
    const i32 lane = first + v / 2;
    Run run;
    run_of(run, block, in, lane, [](auto *p) { return *p; });
    u32 code = entry(run, step, lane) >> (4 * (k % 8)) & (ofValues && Entries::run == 8 ? 3 : 7);
    if constexpr (ofValues) {
      const u8 *const signs = block + in * runBytes + 128 * words + (first + k % 8 / 2) * 4 + v % 4;
      code |= (*signs >> (2 * step + v / 4) & 1) << 3;
    } else {
      code += code & 4; // the sign
    }
    const u32 numbers[4] = {Numbers::a, Numbers::b, Numbers::c, Numbers::d};
    const i32 q = numbers[code / 4] >> (8 * (code % 4)) & 255;
    return scale(run, step * 16 / Group, row / 8) * (float)(q - ZeroPoint);
  }
};

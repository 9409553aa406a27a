//===- formats.cuh - Unpacking weights for tensor cores ---------------------===//
//
// Reads the stream of a tile of 16 rows (runtime/formats/FragmentLayout.h), one *run* of 64 k at a time:
//
//   F::Run run;
//   F::load(run, tile, r, steps);         loads run r of the tile to registers: codes and scales
//   F::Place place(block);                the addresses of a lane's parts of a block: pointers that
//                                         advance together (decode)
//   F::load_chunk(runs, place, ahead, in, …)  loads the chunkRuns runs of chunk `in` of the block
//                                         `ahead` bytes further on, with few, wide loads
//   F::fragment(a, run, step);            A of mma.m16n8k16 in bf16: 1 / F::unit of the value, exact
//   F::scale(run, group, half)            f32, of the lane's rows l / 4 (half 0) and l / 4 + 8 (half 1)
//   F::minimum(run, group, half)          the amount that a group adds per unit of Σx (hasMin)
//   F::value(weight, tileBytes, n, k)     one weight by the formula of NumericFormat.h (gather)
//
// bf16 subnormals, and values up to twice the smallest normal value, are multiples of 2^-133. For these the lower eight
// bits of a bf16 *are* an integer in that unit, so a code may be anywhere in the eight bits. Unpacking a code of 4 or 8
// bits therefore takes a mask; half of the codes also need a shift or a permutation, one for two codes. Then one fma on
// a pair, which is exact, subtracts the zero point:
//
//   word of a lane (4 bits)   … p3 p2 p1 p0    (word & 000f000f) * 2^127 - zero point / 64
//                                              (word & 00f000f0) * 2^123 - zero point / 64
//
// One-bit codes stand for 0 and 2, so their bit is moved one place up. Formats with a grid are in
// formats_grid.cuh.
//
// 2^-133 times the largest power of two is 1/64, so fragments are 1/64 of the code. Sums are multiplied
// by F::unit = 64 at the end of a part, and powers of two change no rounding. Codes of 3, 5 and 6 bits
// are first assembled below the exponent of 128; since bf16 has 7 bits of mantissa, this gives
// 128 + code. Codes of a table select among its 16 bytes by byte permutations: one for each half of the
// table and one that chooses between the halves. The resulting bytes are treated like 8-bit codes.
//===----------------------------------------------------------------------===//
#pragma once

#include "batch.cuh"

/// Loads `Count` words: one, two or four at once, with that alignment.
template <class Load, i32 Count> DEVICE void words_of(u32 (&to)[Count], const u8 *from, Load load) {
  static_assert(Count == 1 || Count == 2 || Count % 4 == 0);
  if constexpr (Count == 1) {
    to[0] = load((const u32 *)from);
  } else if constexpr (Count == 2) {
    const uint2 v = load((const uint2 *)from);
    to[0] = v.x, to[1] = v.y;
  } else {
    UNROLL
    for (i32 i = 0; i < Count; i += 4) {
      const uint4 v = load((const uint4 *)(from + 4 * i));
      to[i] = v.x, to[i + 1] = v.y, to[i + 2] = v.z, to[i + 3] = v.w;
    }
  }
}
template <i32 Count> DEVICE void read_words(u32 (&to)[Count], const u8 *from) {
  words_of(to, from, [](auto *p) { return *p; });
}
template <i32 Count> DEVICE void stream_words(u32 (&to)[Count], const u8 *from, WeightStream s) {
  words_of(to, from, [&](auto *p) { return ld_stream(p, s); });
}

struct NoTable {
  static constexpr bool isThere = false;
};
/// The values of codes (NumericFormat.h), one byte each. A has the values of codes 0-3, and so on.
template <u32 A, u32 B, u32 C, u32 D> struct Table {
  static constexpr bool isThere = true;
  static constexpr u32 a = A, b = B, c = C, d = D;
};

/// Returns the values of the four codes in the nibbles of the lower half of `codes`.
template <class Numbers> DEVICE u32 look_up(u32 codes) {
  const u32 low = byte_permute(Numbers::a, Numbers::b, codes & 0x7777u),
            high = byte_permute(Numbers::c, Numbers::d, codes & 0x7777u);
  // Selector nibble i chooses byte i of `low` (0 … 3) or of `high` (4 … 7).
  return byte_permute(low, high, 0x3210u | (codes >> 1 & 0x4444u));
}

/// Returns -number / 64 as bf16 in both halves of a word; `number` is a power of two or 0.
DEVICE constexpr u32 minus_part(i32 number) {
  u32 exponent = 127 - 6;
  for (i32 n = number; n > 1; n /= 2)
    exponent++;
  return (number ? 0x8000u | exponent << 7 : 0x8000u) * 0x00010001u;
}

enum class Scale : u8 { F16, BF16, F32 };

template <i32 Value> struct Constant {
  static constexpr i32 value = Value;
};

/// Codes with scales. Group: values of K per (sub-)scale. Super: each 256 values have one f16 scale and
/// integer sub-scales (FloatSubs: E4M3). Zeros: each group has a zero point of one byte, stored where
/// other formats have sub-minimums.
template <i32 Bits, i32 Group, i32 ZeroPoint, bool HasMin, bool Super, Scale Stored = Scale::F16,
          bool Zeros = false, class Numbers = NoTable, bool FloatSubs = false>
struct CodeFormat {
  static constexpr bool isFloat = false, hasMin = HasMin, halfMin = HasMin && !Zeros;
  static constexpr i32 group = Group;
  static constexpr i32 runBytes = 128 * Bits;
  static constexpr i32 scaleBytes = Stored == Scale::F32 ? 4 : 2;
  static constexpr i32 lowBits = Bits >= 8   ? 8
                                 : Bits >= 4 ? 4
                                 : Bits >= 2 ? 2
                                             : 1,
                       upperBits = Bits - lowBits;
  /// A block has leastK values of K, or twice as many if it would not end on a multiple of 64 bytes.
  static constexpr i32 leastK = Super ? 256 : Group > 64 ? Group : 64;
  static constexpr i32 blockK =
      !Super && !Zeros &&
              (leastK / 64 * runBytes + (scaleBytes + (HasMin ? 2 : 0)) * 16 * (leastK / Group)) %
                  64
          ? 2 * leastK
          : leastK;
  static constexpr i32 runsPerBlock = blockK / 64;
  static constexpr i32 chunkRuns = Group > 128 ? Group / 64 : runsPerBlock < 2 ? runsPerBlock : 2;
  static constexpr i32 unit = upperBits == 0 ? 64 : 1;
  static constexpr i32 scales = Super ? 1 : blockK / Group; ///< scales per row of a block
  static constexpr i32 scaleOffset = runsPerBlock * runBytes;
  static constexpr i32 minOffset = scaleOffset + 16 * scaleBytes * scales;
  static constexpr i32 subScaleOffset = minOffset + (halfMin ? 32 * scales : 0);
  static constexpr i32 subMinOffset = subScaleOffset + (Super ? 256 / Group * 16 : 0);
  static constexpr i32 blockBytes =
      round_up(subMinOffset + ((Super && HasMin) || Zeros ? blockK / Group * 16 : 0), 64);
  static constexpr i32 runGroups = Group >= 64 ? 1 : 64 / Group; ///< groups that a run touches
  static constexpr i32 runScales = Super ? 1 : runGroups;
  static constexpr i32 scaleK = Group > 64 ? Group : 64; ///< k covered by the scales of a run
  static constexpr i32 words = Bits; ///< 32-bit words of codes, per lane and run
  static constexpr i32 subWords = Super ? runGroups / 2 : 0;    ///< of sub-scales, per lane and run
  static constexpr i32 scaleWords = runScales * scaleBytes / 2; ///< of scales, per lane and run
  static constexpr i32 zeroBytes = 2 * runGroups; ///< of zero points, per lane and run
  /// The approximate number of registers of a chunk.
  static constexpr i32 registers =
      chunkRuns * (words + (HasMin ? 2 : 1) * ((Group > 64 ? 0 : scaleWords) + subWords)) +
      (Group > 64 ? scaleWords : 0);

  static constexpr i64 tileBytes(i32 k) { return (i64)divide_up(k, blockK) * blockBytes; }

  /// Scales and minimums in memory order: the run's groups of row l / 4, then the run's groups of row l / 4 + 8.
  struct Run {
    u32 code[words];
    u32 d[scaleWords], m[halfMin ? runScales : 1];
    u32 s[Super ? subWords : 1], t[(Super && HasMin) ? subWords : 1]; ///< t[0]: zero points as well
  };

  struct Place {
    const u8 *codes, *upper, *scales, *subScales;
    MEMBER explicit Place(const u8 *block) {
      const i32 lane = threadIdx.x % 32, pair = lane / 4;
      codes = block + lane * (lowBits < 4 ? 4 * lowBits : 16);
      upper = block + 128 * lowBits + lane * 4 * upperBits;
      scales = block + scaleOffset + pair * CodeFormat::scales * 2 * scaleBytes;
      subScales = block + (Zeros ? subMinOffset + pair * 2 * CodeFormat::scales
                                 : subScaleOffset + pair * runsPerBlock * 4 * subWords);
    }
    MEMBER void advance(i32 bytes) {
      codes += bytes, upper += bytes, scales += bytes, subScales += bytes;
    }
  };

  static MEMBER void codes_of(Run &run, const u8 *codes, const u8 *rest, WeightStream stream) {
    if constexpr (lowBits == 1) {
      run.code[0] = ld_stream((const u32 *)codes, stream);
    } else if constexpr (lowBits == 2) {
      const uint2 first = ld_stream((const uint2 *)codes, stream);
      run.code[0] = first.x, run.code[1] = first.y;
    } else {
      const uint4 first = ld_stream((const uint4 *)codes, stream);
      run.code[0] = first.x, run.code[1] = first.y, run.code[2] = first.z, run.code[3] = first.w;
    }
    if constexpr (upperBits == 1) {
      run.code[lowBits] = ld_stream((const u32 *)rest, stream);
    } else if constexpr (upperBits == 2) {
      const uint2 upper = ld_stream((const uint2 *)rest, stream);
      run.code[lowBits] = upper.x, run.code[lowBits + 1] = upper.y;
    } else if constexpr (Bits == 8) {
      const uint4 second = ld_stream((const uint4 *)(codes + 512), stream);
      run.code[4] = second.x, run.code[5] = second.y, run.code[6] = second.z,
      run.code[7] = second.w;
    }
  }

  /// Loads the zero points of a lane's rows for a run.
  static MEMBER void zeros_of(Run &run, const u8 *from) {
    if constexpr (zeroBytes == 4)
      run.t[0] = *(const u32 *)from;
    else
      run.t[0] = *(const u16 *)from;
  }

  static MEMBER void load(Run &run, const u8 *tile, i32 r, i32, WeightStream stream) {
    const i32 in = r % runsPerBlock, pair = threadIdx.x % 32 / 4;
    const u8 *block = tile + (i64)(r / runsPerBlock) * blockBytes;
    const Place place(block);
    codes_of(run, place.codes + in * runBytes, place.upper + in * runBytes, stream);
    // The runs of a block share cache lines of scales, so these may stay in L1.
    const i32 at = Super ? pair : pair * (blockK / scaleK) + in * 64 / scaleK;
    read_words(run.d, block + scaleOffset + at * 4 * scaleWords);
    if constexpr (halfMin)
      read_words(run.m, block + minOffset + at * 4 * runScales);
    if constexpr (Zeros)
      zeros_of(run, place.subScales + (Group > 64 ? 0 : in * zeroBytes));
    if constexpr (Super) {
      read_words(run.s, block + subScaleOffset + (pair * runsPerBlock + in) * 4 * subWords);
      if constexpr (HasMin)
        read_words(run.t, block + subMinOffset + (pair * runsPerBlock + in) * 4 * subWords);
    }
  }

  static MEMBER void load_chunk(Run (&runs)[chunkRuns], const Place &place, i32 ahead, i32 in, i32,
                                i32, WeightStream stream) {
    const i32 first = in * chunkRuns;
    UNROLL
    for (i32 i = 0; i < chunkRuns; i++) {
      const i32 at = ahead + (first + i) * runBytes;
      codes_of(runs[i], place.codes + at, place.upper + at, stream);
    }
    auto scales_of = [&](const u8 *from, auto each, auto part) {
      constexpr i32 count = decltype(each)::value;
      if constexpr (Super || Group > 64) { // the chunk has one set of scales
        const i32 at = Super ? 0 : in * chunkRuns * 64 / Group;
        u32 words[count];
        stream_words(words, from + at * 4 * count, stream);
        UNROLL
        for (i32 i = 0; i < chunkRuns * count; i++)
          part(runs[i / count])[i % count] = words[i % count];
      } else {
        u32 words[chunkRuns * count];
        stream_words(words, from, stream);
        UNROLL
        for (i32 i = 0; i < chunkRuns * count; i++)
          part(runs[i / count])[i % count] = words[i];
      }
    };
    auto sub_scales_of = [&](const u8 *from, auto part) {
      constexpr i32 each = Super ? subWords : 1;
      u32 words[chunkRuns * each];
      stream_words(words, from + first * 4 * each, stream);
      UNROLL
      for (i32 i = 0; i < chunkRuns * each; i++)
        part(runs[i / each])[i % each] = words[i];
    };
    const u8 *const d = place.scales + ahead, *const s = place.subScales + ahead;
    scales_of(d, Constant<scaleWords>(), [](Run &run) -> u32 * { return run.d; });
    if constexpr (halfMin)
      scales_of(d + (minOffset - scaleOffset), Constant<runScales>(),
                [](Run &run) -> u32 * { return run.m; });
    if constexpr (Zeros) {
      UNROLL
      for (i32 i = 0; i < chunkRuns; i++)
        zeros_of(runs[i],
                 s + (Group > 64 ? in * chunkRuns * 128 / Group : (first + i) * zeroBytes));
    }
    if constexpr (Super) {
      sub_scales_of(s, [](Run &run) -> u32 * { return run.s; });
      if constexpr (HasMin)
        sub_scales_of(s + (subMinOffset - subScaleOffset), [](Run &run) -> u32 * { return run.t; });
    }
  }

  static MEMBER void fragment(u32 (&a)[4], const Run &run, i32 step) {
    constexpr u32 both = 0x00010001u, back = minus_part(ZeroPoint);
    if constexpr (Numbers::isThere) {
      const u32 even = look_up<Numbers>(run.code[step]),
                odd = look_up<Numbers>(run.code[step] >> 16);
      UNROLL
      for (u32 j = 0; j < 4; j++)
        a[j] = bf16x2_fma(byte_permute(even, odd, 0x0400u + 0x0101u * j) & 0xff * both,
                          0x7f00 * both, back);
    } else if constexpr (Bits == 4) {
      const u32 q = run.code[step], upper = q >> 8;
      a[0] = bf16x2_fma(q & 0xf * both, 0x7f00 * both, back);
      a[1] = bf16x2_fma(q & 0xf0 * both, 0x7d00 * both, back);
      a[2] = bf16x2_fma(upper & 0xf * both, 0x7f00 * both, back);
      a[3] = bf16x2_fma(upper & 0xf0 * both, 0x7d00 * both, back);
    } else if constexpr (Bits == 1) {
      const u32 q = step ? run.code[0] >> (4 * step - 1) : run.code[0] << 1;
      UNROLL
      for (u32 j = 0; j < 4; j++)
        a[j] = bf16x2_fma(q & (2u << j) * both, (0x7f00 - 0x80 * j) * both, back);
    } else if constexpr (Bits == 2) {
      const u32 q = run.code[step / 2] >> (8 * (step % 2));
      UNROLL
      for (u32 j = 0; j < 4; j++)
        a[j] = bf16x2_fma(q & (3u << (2 * j)) * both, (0x7f00 - 0x100 * j) * both, back);
    } else if constexpr (Bits == 8) {
      UNROLL
      for (i32 j = 0; j < 4; j += 2) {
        const u32 q = run.code[2 * step + j / 2];
        a[j] = bf16x2_fma(q & 0xff * both, 0x7f00 * both, back);
        a[j + 1] = bf16x2_fma(byte_permute(q, 0, 0x4341), 0x7f00 * both, back);
      }
    } else {
      constexpr u32 magic = 0x4300 * both, taken = (0xc300 | ZeroPoint) * both;
      // Moves bit `from` of a word to bit lowBits.
      auto upper_of = [](u32 word, i32 from) {
        return from < lowBits ? word << (lowBits - from) : word >> (from - lowBits);
      };
      constexpr u32 mask = ((1u << upperBits) - 1u) << lowBits;
      UNROLL
      for (i32 j = 0; j < 4; j++) {
        u32 q = lowBits == 4 ? run.code[step] >> (4 * j)
                             : run.code[step / 2] >> (8 * (step % 2) + 2 * j);
        q = mask_or(q, ((1u << lowBits) - 1u) * both, magic);
        q = mask_or(upperBits == 1 ? upper_of(run.code[lowBits], 4 * step + j)
                                   : upper_of(run.code[lowBits + step / 2], 8 * (step % 2) + 2 * j),
                    mask * both, q);
        a[j] = bf16x2_add(q, taken);
      }
    }
  }

  /// Returns the 16-bit number of group i, at index `half * runScales + i` of the words: bf16 if scales
  /// are bf16, otherwise f16.
  static MEMBER float half_of(const u32 *words, i32 i, i32 half) {
    const i32 at = half * runScales + (Super ? 0 : i);
    if constexpr (Stored == Scale::BF16)
      return at % 2 ? bf16_hi(words[at / 2]) : bf16_lo(words[at / 2]);
    return at % 2 ? f16_hi(words[at / 2]) : f16_lo(words[at / 2]);
  }
  static MEMBER u32 byte_of(const u32 *words, i32 i, i32 half) {
    const i32 at = half * runGroups + i;
    return words[at / 4] >> (8 * (at % 4)) & 255;
  }
  static MEMBER float scale_of(const Run &run, i32 i, i32 half) {
    if constexpr (Stored == Scale::F32)
      return as_f32(run.d[half * runScales + (Super ? 0 : i)]);
    else
      return half_of(run.d, i, half);
  }
  /// Converts a sub-scale to f32.
  static MEMBER float number_of(u32 s) {
    return FloatSubs ? e4m3_to_f32((u8)s) : HasMin ? (float)s : (float)(i8)s;
  }
  static MEMBER float scale(const Run &run, i32 i, i32 half) {
    const float d = scale_of(run, i, half);
    if constexpr (!Super)
      return d;
    else
      return d * number_of(byte_of(run.s, i, half));
  }
  static MEMBER float minimum(const Run &run, i32 i, i32 half) {
    if constexpr (Zeros) {
      return -(scale_of(run, i, half) * (float)byte_of(run.t, i, half));
    } else {
      const float m = half_of(run.m, i, half);
      if constexpr (!Super)
        return m;
      else
        return -(m * (float)byte_of(run.t, i, half));
    }
  }

  /// Returns the index of the scale (or minimum) of row `row` for group i in a block that holds `groups` scales per
  /// row. The scales that a lane loads for a run or a block are adjacent (FragmentLayout.h).
  static MEMBER i32 scale_place(i32 row, i32 i, i32 groups) {
    const i32 per = groups < runGroups ? groups : runGroups;
    return (row % 8 * (groups / per) + i / per) * 2 * per + row / 8 * per + i % per;
  }

  static MEMBER float value(const u8 *weight, i64 tileBytes, i32 n, i32 k) {
    const i32 row = n % 16, in = k % blockK, step = k % 64 / 16;
    const u8 *block = weight + n / 16 * tileBytes + (i64)(k / blockK) * blockBytes,
             *run = block + in / 64 * runBytes;
    const i32 lane = row % 8 * 4 + k % 8 / 2, j = k % 16 / 8 * 2 + row / 8, odd = 16 * (k % 2);
    i32 q;
    if constexpr (Bits == 8) {
      q = *(const u32 *)(run + step / 2 * 512 + lane * 16 + (2 * (step % 2) + j / 2) * 4) >>
              (8 * (j % 2) + odd) &
          255;
    } else {
      // A plane of 4, 2 or 1 bits has 4, 2 or 1 words per lane, each for 1, 2 or 4 steps.
      auto plane = [&](const u8 *from, i32 bits) {
        const i32 steps = 4 / bits;
        return (i32)(*(const u32 *)(from + lane * 4 * bits + step / steps * 4) >>
                         (step % steps * 4 * bits + bits * j + odd) &
                     ((1u << bits) - 1u));
      };
      q = plane(run, lowBits);
      if constexpr (upperBits > 0)
        q |= plane(run + 128 * lowBits, upperBits) << lowBits;
      if constexpr (Bits == 1)
        q *= 2;
    }
    if constexpr (Numbers::isThere) {
      const u32 words[4] = {Numbers::a, Numbers::b, Numbers::c, Numbers::d};
      q = words[q / 4] >> (8 * (q % 4)) & 255;
    }
    auto half = [&](i32 offset) {
      const u16 bits =
          *(const u16 *)(block + offset + 2 * scale_place(row, Super ? 0 : in / Group, scales));
      return Stored == Scale::BF16 ? bf16_to_f32(bits) : f16_to_f32(bits);
    };
    const u8 *const stored =
        block + scaleOffset + scaleBytes * scale_place(row, Super ? 0 : in / Group, scales);
    const float d = Stored == Scale::F32    ? *(const float *)stored
                    : Stored == Scale::BF16 ? bf16_to_f32(*(const u16 *)stored)
                                            : f16_to_f32(*(const u16 *)stored);
    if constexpr (Zeros)
      q -= block[subMinOffset + scale_place(row, in / Group, scales)];
    const float code = (float)(q - ZeroPoint);
    if constexpr (!Super) {
      const float w = d * code;
      return halfMin ? w + half(minOffset) : w;
    } else {
      const i32 place = scale_place(row, in / Group, 256 / Group);
      const u8 s = block[subScaleOffset + place];
      const float w = d * number_of(s) * code;
      if constexpr (HasMin)
        return w - half(minOffset) * (float)block[subMinOffset + place];
      else
        return w;
    }
  }
};

/// bf16, or f16 as the sum of two bf16: the upper 8 bits of its significand, and the other 3. The sum is
/// exact, but takes a second mma.
template <bool Half> struct FloatFormat {
  static constexpr bool isFloat = true, hasMin = false, split = Half;
  static constexpr i32 blockK = 64, runsPerBlock = 1, chunkRuns = 1, group = 64, registers = 16;
  static constexpr i32 blockBytes = 2048, unit = 1;

  static constexpr i64 tileBytes(i32 k) { return (i64)divide_up(k, 16) * 512; }

  struct Run {
    uint4 step[4];
  };
  struct Place {
    const u8 *codes;
    MEMBER explicit Place(const u8 *block) : codes(block + threadIdx.x % 32 * 16) {}
    MEMBER void advance(i32 bytes) { codes += bytes; }
  };

  /// `steps` steps of 16 k are stored; values beyond them are 0.
  static MEMBER void load(Run &run, const u8 *tile, i32 r, i32 steps, WeightStream stream) {
    load_run(run, Place(tile + (i64)r * blockBytes).codes, r, steps, stream);
  }
  static MEMBER void load_chunk(Run (&runs)[1], const Place &place, i32 ahead, i32, i32 r,
                                i32 steps, WeightStream stream) {
    load_run(runs[0], place.codes + ahead, r, steps, stream);
  }
  static MEMBER void load_run(Run &run, const u8 *from, i32 r, i32 steps, WeightStream stream) {
    UNROLL
    for (i32 s = 0; s < 4; s++)
      run.step[s] = steps % 4 == 0 || 4 * r + s < steps
                        ? ld_stream((const uint4 *)(from + s * 512), stream)
                        : uint4{0, 0, 0, 0};
  }
  static MEMBER void fragment(u32 (&a)[4], const Run &run, i32 step) {
    a[0] = run.step[step].x, a[1] = run.step[step].y, a[2] = run.step[step].z,
    a[3] = run.step[step].w;
    if constexpr (Half) {
      UNROLL
      for (i32 j = 0; j < 4; j++)
        a[j] = byte_permute(as_u32(f16_lo(a[j])), as_u32(f16_hi(a[j])), 0x7632);
    }
  }
  /// Returns in `a` the remainders that `fragment` leaves.
  static MEMBER void rest(u32 (&a)[4], const Run &run, i32 step) {
    const u32 w[4] = {run.step[step].x, run.step[step].y, run.step[step].z, run.step[step].w};
    UNROLL
    for (i32 j = 0; j < 4; j++) {
      const float lo = f16_lo(w[j]), hi = f16_hi(w[j]);
      a[j] =
          pack_bf16(lo - as_f32(as_u32(lo) & 0xffff0000u), hi - as_f32(as_u32(hi) & 0xffff0000u));
    }
  }
  static MEMBER float value(const u8 *weight, i64 tileBytes, i32 n, i32 k) {
    const i32 row = n % 16, lane = row % 8 * 4 + k % 8 / 2,
              v = k % 16 / 8 * 4 + row / 8 * 2 + k % 2;
    const u16 bits =
        *(const u16 *)(weight + n / 16 * tileBytes + (i64)(k / 16) * 512 + lane * 16 + v * 2);
    return Half ? f16_to_f32(bits) : bf16_to_f32(bits);
  }
};

/// E4M3 codes with an f32 scale per row and 128 k, whatever the checkpoint's scales cover. A code's bits
/// in the corresponding positions of a bf16 are its value up to a factor of 2^120, subnormals included;
/// the multiplication is exact. Each word of a step belongs to one row, as tensor cores require for fp8 MMAs
/// (matmul_wgmma_fp8.cuh).
struct Fp8Format {
  static constexpr bool isFloat = false, hasMin = false;
  static constexpr i32 group = 128, blockK = 128, runsPerBlock = 2, chunkRuns = 2, runBytes = 1024;
  static constexpr i32 scaleOffset = 2 * runBytes, blockBytes = scaleOffset + 64;
  static constexpr i32 registers = 18, unit = 1;

  static constexpr i64 tileBytes(i32 k) { return (i64)divide_up(k, blockK) * blockBytes; }

  struct Run {
    u32 code[8];
    float s[2];
  };

  struct Place {
    const u8 *codes;
    const float2 *scales; ///< scales of the lane's two rows
    MEMBER explicit Place(const u8 *block)
        : codes(block + threadIdx.x % 32 * 16),
          scales((const float2 *)(block + scaleOffset) + threadIdx.x % 32 / 4) {}
    MEMBER void advance(i32 bytes) { codes += bytes, scales += bytes / 8; }
  };

  static MEMBER void codes_of(Run &run, const u8 *codes, WeightStream stream) {
    const uint4 first = ld_stream((const uint4 *)codes, stream),
                second = ld_stream((const uint4 *)(codes + 512), stream);
    run.code[0] = first.x, run.code[1] = first.y, run.code[2] = first.z, run.code[3] = first.w;
    run.code[4] = second.x, run.code[5] = second.y, run.code[6] = second.z, run.code[7] = second.w;
  }
  static MEMBER void load(Run &run, const u8 *tile, i32 r, i32, WeightStream stream) {
    const Place place(tile + (i64)(r / 2) * blockBytes);
    codes_of(run, place.codes + r % 2 * runBytes, stream);
    const float2 s = *place.scales;
    run.s[0] = s.x, run.s[1] = s.y;
  }
  static MEMBER void load_chunk(Run (&runs)[2], const Place &place, i32 ahead, i32, i32, i32,
                                WeightStream stream) {
    codes_of(runs[0], place.codes + ahead, stream);
    codes_of(runs[1], place.codes + ahead + runBytes, stream);
    const uint2 s = ld_stream((const uint2 *)(place.scales + ahead / 8), stream);
    UNROLL
    for (i32 i = 0; i < 2; i++)
      runs[i].s[0] = as_f32(s.x), runs[i].s[1] = as_f32(s.y);
  }

  static MEMBER void fragment(u32 (&a)[4], const Run &run, i32 step) {
    UNROLL
    for (i32 j = 0; j < 4; j++) {
      const u32 q = run.code[2 * step + j % 2];
      const u32 sign = (j < 2 ? q << 8 : q) & 0x80008000u;
      a[j] = bf16x2_mul(mask_or(j < 2 ? q << 4 : q >> 4, 0x07f007f0u, sign), 0x7b807b80u);
    }
  }
  static MEMBER float scale(const Run &run, i32, i32 half) { return run.s[half]; }
  static MEMBER float minimum(const Run &, i32, i32) { return 0.0f; }

  static MEMBER float value(const u8 *weight, i64 tileBytes, i32 n, i32 k) {
    const i32 row = n % 16, in = k % blockK, step = k % 64 / 16;
    const u8 *block = weight + n / 16 * tileBytes + (i64)(k / blockK) * blockBytes;
    const i32 lane = row % 8 * 4 + k % 8 / 2, word = 2 * (step % 2) + row / 8;
    const u8 code =
        block[in / 64 * runBytes + step / 2 * 512 + lane * 16 + word * 4 + k % 2 * 2 + k % 16 / 8];
    return *(const float *)(block + scaleOffset + 8 * (row % 8) + row / 8 * 4) * e4m3_to_f32(code);
  }
};

using F16 = FloatFormat<true>;
using BF16 = FloatFormat<false>;
//                       bits group zero  min    super
using Q4_0 = CodeFormat<4, 32, 8, false, false>;
using Q4_1 = CodeFormat<4, 32, 0, true, false>;
using Q5_0 = CodeFormat<5, 32, 16, false, false>;
using Q5_1 = CodeFormat<5, 32, 0, true, false>;
using Q8_0 = CodeFormat<8, 32, 128, false, false>;
using Q4_K = CodeFormat<4, 32, 0, true, true>;
using Q5_K = CodeFormat<5, 32, 0, true, true>;
using Q6_K = CodeFormat<6, 16, 32, false, true>;
using Int4G64 = CodeFormat<4, 64, 8, false, false>;
using Int4G128 = CodeFormat<4, 128, 8, false, false>;
using Int8 = Q8_0;
using Int4G32 = Q4_0;

//===- FragmentLayout.h - Layout class gpu-frag16: weights for tensor cores ---------===//
//
// A weight [N][K] is cut into tiles of 16 rows. A tile is one linear stream of blocks
// along K; every GPU kernel reads the same bytes. N is padded with rows that have scales of 0 (floats: values of 0). K
// is padded with codes that are multiplied by activations of 0. Blocks start on 64-byte lines.
//
// Lane l of a warp (g = l / 4, c = l % 4) holds eight values of a *step* of 16 k, the A
// fragment of mma.m16n8k16 (PTX ISA, "Matrix Fragments for mma.m16n8k16"):
//
//   v0 (g, 2c)    v1 (g, 2c+1)    v2 (g+8, 2c)    v3 (g+8, 2c+1)
//   v4 (g, 2c+8)  v5 (g, 2c+9)    v6 (g+8, 2c+8)  v7 (g+8, 2c+9)
//
// Floats (bf16, f16; blockK = 16):  32 lanes x {v0..v7}, 16 bytes a lane: 512 B.
//
// Codes come in runs of four steps (64 k), s = 0..3. Pair j = {v2j, v2j+1}. The even value
// of a pair lies in the low half of a 32-bit word, the odd one 16 bits higher:
//
//   2 bits   256 B: lane x 2 words: step s, pair j in word s / 2 at bits 8 (s % 2) + 2j and
//            16 + 8 (s % 2) + 2j
//   3 bits   the 256 B, then 128 B: lane x 1 word: bit 2 of step s, pair j at bits 4s + j
//            and 16 + 4s + j
//   4 bits   512 B: lane x 4 words: word s, pair j at bits 4j and 16 + 4j
//   5 bits   the 512 B, then 128 B: lane x 1 word: bit 4 of step s, pair j at bits 4s + j
//            and 16 + 4s + j
//   6 bits   the 512 B, then 256 B: lane x 2 words: bits 4,5 of step s, pair j in word s / 2
//            at bits 8 (s % 2) + 2j and 16 + 8 (s % 2) + 2j
//   8 bits   1024 B: half h = s / 2: lane x 4 words: word 2 (s % 2) + j / 2, pair j at bits
//            8 (j % 2) and 16 + 8 (j % 2)
//   bit 1    128 B: lane x 1 word: bit 1 of step s, pair j at bits 4s + j and 16 + 4s + j
//            (q1_0, which has the codes 0 and 2)
//
// So (word >> shift) & mask gives both values of a pair, one in each half of a word. E4M3 codes
// lie like 8-bit codes, except that a word holds values of one row only, as the fp8 MMAs of tensor cores require:
//
//   fp8      1024 B: half h = s / 2: lane x 4 words: word 2 (s % 2) + j % 2, pair j at bits
//            8 (j / 2) and 16 + 8 (j / 2)
//
// An fp8 MMA therefore sees the 16 k of a step in the order {2c, 2c+8, 2c+1, 2c+9} for lanes c = 0..3; fp8 activations
// are stored in the same order (fp8Slot).
//
// Codes in base 3 (tq1_0) take two bits, 2.06 bits per weight with their scale. Digits in base 3 would save
// 0.3 bits per weight, but the instructions that decode them would take a GPU longer than it saves on bytes.
//
// A *grid* (iq1 to iq3; Grids.h) has an index for each run of 8 or 4 values. Lane l holds the indexes of
// 8 values of each step, k = 8 (c / 2) … 8 (c / 2) + 7 of row g + 8 (c % 2): one index, or two if runs have
// 4 values. The lane looks up their entries and shares them with its quad (lanes 4g … 4g + 3), which holds
// the same 32 values of the step as v0 … v7. Let e = 4 or 8 be the number of a lane's indexes in 64 k:
//
//   indexes  32 e B: lane x e bytes: bits 0 to 7 of index i, which belongs to step i (e = 4), or to step
//            i / 2, half i % 2 (e = 8)
//   signs    128 B, if each value has its own: lane x 1 word: the sign of step s, v at bit
//            8 (v % 4) + 2s + v / 4
//
// The bits of an index above the eighth, followed by the sign of its run (iq1_m), lie after the codes of
// the block. They are split into planes of two bits, and a last plane of one bit if their number is odd.
// A plane of w bits:
//
//   plane    16 e w B: lane x e w / 2 bytes: index i of run r at bit (e r + i) w
//
// A *block* covers blockK = max(64, the format's block) values of K, or twice as many if it would
// otherwise not end on a 64-byte line (int4-g64, int4-g128):
//
//   codes    blockK / 64 runs as above
//   then, with a grid:      the planes of upper bits
//   then, for Affine:       d[16 rows x blockK / group]
//                           f16 m[16 x blockK / group]    if hasMin
//                           u8 z[16 x blockK / group]     if hasZeros, instead of m
//   then, for ScaledFloat:  f32 s[16]
//   then, for SuperAffine:  f16 d[16]                     (f32 for nvfp4 and the grid formats)
//                           f16 dmin[16]                  if hasMin
//                           u8/s8 s[16 x 256 / group]     (signed without a minimum)
//                           u4 s[16 x 256 / group]        with a grid, instead; as in PanelLayout.h
//                           u8 t[16 x 256 / group]        if hasMin
//
// padded to 64 bytes. Only q3_k and q6_k (1 %) and formats with zero points (up to 5 %) have such padding.
// Vectors are as in PanelLayout.h (`vector-f32`).
//
// A lane holds values of rows g and g + 8 and loads the scales of both, for a run or for the whole
// block, at once. An array of scales is therefore ordered by g; then by run (by group, if a group is
// longer than a run); then row g before row g + 8; then by the groups of the run (scalePlace):
//
//   int4-g64, blocks of 128    g: row g: run 0 | row g + 8: run 0 | row g: run 1 | row g + 8: run 1
//   q4_0, blocks of 64         g: row g: groups 0, 1 | row g + 8: groups 0, 1
//
// Example, int4-g64, K = 576: 5 blocks of 1024 + 2*32 = 1088 B; the last block is half used.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/PanelLayout.h"

#include <cassert>

namespace ingot {

constexpr int64_t kFragmentRows = 16;
constexpr int64_t kStepK = 16; ///< values of K of one mma
constexpr int64_t kRunK = 64;  ///< values of K of a run of codes
constexpr int64_t kLanes = 32; ///< lanes of a warp

/// Returns the number of a grid's indexes that a lane holds in a run of 64 k.
constexpr int64_t indexesOfLane(const Grid &grid) {
  return kRunK * kFragmentRows / kLanes / grid.run;
}
/// Returns the number of bits above the eighth of an index, with the sign of its run.
constexpr int64_t planeBits(const Grid &grid) { return masksOfLine(grid); }
/// Returns the number of bytes that `bits` of these bits take in a block, for all indexes.
constexpr int64_t planeBytes(const Grid &grid, int64_t bits) {
  return kLanes * indexesOfLane(grid) / 2 * bits;
}

/// Returns the size in bytes of 16 rows x 64 codes, without scales and planes of upper bits.
constexpr int64_t codeBytesOfRun(const NumericFormat &format) {
  if (format.packing == NumericFormat::Packing::Bit1)
    return 4 * kLanes;
  if (const Grid *grid = format.grid)
    return kLanes * (indexesOfLane(*grid) + (grid->signs == GridSigns::Value ? 4 : 0));
  return codeBytesOfGroup(format.bits); // as many as a panel's 32 x 32
}

struct FragmentLayout {
  WeightFormat format;
  int64_t n, k;
  int64_t blockK;         ///< values of K per block
  int64_t runBytes;       ///< bytes of 16 rows x 64 codes (floats: 16 rows x 16 values)
  int64_t scaleOffset;    ///< offset of d or s in a block; -1 for floats
  int64_t minOffset;      ///< offset of m or dmin; -1 if none
  int64_t subScaleOffset; ///< offset of s; -1 if none
  int64_t subMinOffset;   ///< offset of t or z; -1 if none
  int64_t blockBytes;
  int64_t blocks; ///< per tile
  int64_t tiles;  ///< in all matrices
  int64_t matrices = 1;
  int64_t planeOffset = -1; ///< offset of a grid's planes of upper bits; -1 if none

  /// As in PanelLayout.
  int64_t tilesOfMatrix() const { return tiles / matrices; }
  RowSpan rowsOf(int64_t tile) const {
    assert(tile >= 0 && tile < tiles && "the weight has fewer tiles");
    const int64_t of = tilesOfMatrix(), row = tile % of * kFragmentRows;
    return {tile / of * n + row, std::min(kFragmentRows, n - row)};
  }
  int64_t tileBytes() const { return blocks * blockBytes; }
  int64_t bytes() const { return tiles * tileBytes(); }
};

/// Returns the layout of a weight of `n` rows and `k` columns, or of a stack of `matrices` such weights. f32
/// weights are stored as bf16.
inline FragmentLayout fragmentLayout(WeightFormat id, int64_t n, int64_t k, int64_t matrices = 1) {
  const NumericFormat &f = numericFormat(id);
  FragmentLayout l{id, n, k, 0, 0, -1, -1, -1, -1, 0, 0, 0, matrices};
  l.tiles = matrices * ((n + kFragmentRows - 1) / kFragmentRows);
  if (f.isFloat()) {
    l.blockK = kStepK;
    l.runBytes = l.blockBytes = 512;
  } else {
    l.runBytes = codeBytesOfRun(f);
    l.blockK = f.block() > kRunK ? f.block() : kRunK;
    if (f.kind == NumericFormat::Kind::Affine && !f.hasZeros &&
        (l.blockK / kRunK * l.runBytes +
         (f.scaleBytes() + (f.hasMin ? 2 : 0)) * kFragmentRows * (l.blockK / f.group)) %
                64 !=
            0)
      l.blockK *= 2;
    int64_t at = l.blockK / kRunK * l.runBytes;
    auto take = [&](int64_t bytes) {
      int64_t from = at;
      at += bytes;
      return from;
    };
    if (f.grid && planeBits(*f.grid))
      l.planeOffset = take(planeBytes(*f.grid, planeBits(*f.grid)));
    int64_t scales = f.superGroup ? 1 : l.blockK / f.group;
    l.scaleOffset = take(f.scaleBytes() * scales * kFragmentRows);
    if (f.hasZeros)
      l.subMinOffset = take(scales * kFragmentRows);
    else if (f.hasMin)
      l.minOffset = take(2 * scales * kFragmentRows);
    if (f.superGroup)
      l.subScaleOffset = take(f.superGroup / f.group * kFragmentRows / (f.grid ? 2 : 1));
    if (f.superGroup && f.hasMin)
      l.subMinOffset = take(f.superGroup / f.group * kFragmentRows);
    l.blockBytes = roundUp(at, 64);
  }
  l.blocks = (k + l.blockK - 1) / l.blockK;
  return l;
}

/// The place of value (row, k) of a step: the lane of the warp and the index among its values v0..v7.
struct FragmentPlace {
  int64_t lane, value;
};
constexpr FragmentPlace fragmentPlace(int64_t row, int64_t k) {
  return {row % 8 * 4 + k % 8 / 2, k / 8 * 4 + row / 8 * 2 + k % 2};
}

/// Returns the index of row `row` (of a tile) and group `group` (of a block) in an array of scales
/// for `groups` groups of `groupK` values of K.
constexpr int64_t scalePlace(int64_t row, int64_t group, int64_t groups, int64_t groupK) {
  int64_t inRun = groupK < kRunK ? kRunK / groupK : 1;
  inRun = inRun < groups ? inRun : groups;
  return (row % 8 * (groups / inRun) + group / inRun) * 2 * inRun + row / 8 * inRun + group % inRun;
}

/// Returns the index of value k of a step among the 16 bytes that an fp8 MMA reads. Lane c of four takes bytes 4c …
/// 4c+3, which hold its values of the step.
constexpr int64_t fp8Slot(int64_t k) { return k % 8 / 2 * 4 + k % 2 * 2 + k / 8; }

/// Returns the size in bytes of a row of bf16 activations, padded with zeros to whole runs.
constexpr int64_t gpuRowBytes(int64_t n) { return roundUp(n, kRunK) * 2; }

constexpr int64_t kFp8GroupK = 128; ///< values of K that share a scale
/// Returns the size in bytes of a row of E4M3 activations for GPUs: codes of whole groups, then an f32 scale for each
/// group.
constexpr int64_t fp8RowBytes(int64_t n) {
  int64_t codes = roundUp(n, kFp8GroupK);
  return roundUp(codes + 4 * (codes / kFp8GroupK), 64);
}

} // namespace ingot

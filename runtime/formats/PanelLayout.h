//===- PanelLayout.h - Layout class cpu-panel32: CPU weights in an engine ----===//
//
// A weight [N][K] is cut into panels of 32 rows. A panel is one linear stream
// of blocks along K, and every CPU kernel (decode, prefill, any ISA level, fast
// or exact) reads the same bytes in the same order. N is padded with rows that have scales of 0. K is padded with codes
// that are multiplied by activations of 0. Panels, blocks and arrays start on 64-byte lines.
//
// Kernels read in order of ascending addresses and never go back. The prefetchers of CPUs follow such a
// stream, but lose one that alternates between rows 0-15 and 16-31 in two places (docs/cpu.md). Scales
// therefore come first, then the upper bits of codes, then the lower ones.
//
// Codes of one *group* of 32 values of K (quantised formats) are lines of 128 B, with a 32-bit word per
// row (a 512-bit register has a lane per row with 4 consecutive k; a line is two registers):
//
//   2 bits   2 lines:  line h, byte 4*row + i, bits 2s,2s+1:
//                                               q[row][16h+4s+i]                s = 0..3
//   3 bits   1 line of third bits, then the 2 lines:
//                      byte 4*row + i, bit s:   bit 2 of q[row][4s+i]           s = 0..7
//   4 bits   4 lines:  line j, byte 4*row + i:  low nibble  q[row][4j+i],
//                                               high nibble q[row][16+4j+i]     j = 0..3
//   5 bits   1 line of fifth bits, then the 4 lines:
//                      byte 4*row + i, bit s:   bit 4 of q[row][4s+i]           s = 0..7
//   6 bits   2 lines of upper bit pairs, then the 4 lines:
//                      line h, byte 4*row + i, bits 2s,2s+1:
//                                               bits 4,5 of q[row][16h+4s+i]    s = 0..3
//   8 bits   8 lines:  line s, byte 4*row + i:  q[row][4s+i]                    s = 0..7
//   bit 1    1 line:   byte 4*row + i, bit s:   bit 1 of q[row][4s+i]           s = 0..7
//                      (q1_0, which has the codes 0 and 2)
//
// Codes in base 3 (tq1_0) are digits of three numbers per group: a and b, below 27, have three digits, and c,
// below 9, has two:
//
//   a = q[row][i] + 3 q[row][4+i] + 9 q[row][8+i], b the same with 12, 16 and 20, c = q[row][24+i] + 3 q[row][28+i]
//
// Four groups g = 0..3 share 7 lines:
//
//   line 0, byte 4*row + i, bits 2g,2g+1:                             bit 4 of a and of b
//   line 1, 3, 4, 6 (1 + (3g+1)/2), the same, lower and upper nibble: bits 0 to 3 of a, of b
//   line 2, 5 (2 + g/2*3), the same, nibble g%2:                      c
//
// so lines are first touched in ascending order.
//
// A *grid* (iq1 to iq3; Grids.h) has an index for each run of 8 or 4 values. A group has one line of indexes (two if
// runs have 4 values), followed by a line of signs if each value has its own:
//
//   line l, byte 4*row + i:         bits 0 to 7 of the index of run 4l + i
//   next line, byte 4*row + i, bit s: sign of q[row][4s+i]                      s = 0..7
//
// Index bits above the eighth lie at the start of the block, as masks of one bit per run, and so do signs of
// whole runs (iq1_m). A mask of a line is 16 B: bit i of nibble `row`, counted from the lower nibble of the
// first byte, belongs to run 4l + i. 64 bits are thus a mask register for 16 rows.
//
// A *block* covers blockK values of K (32, 64, 128 or 256):
//
//   for Affine:       d[32 rows]                          64 B (f32: 128 B)
//                     f16 m[32]        if hasMin          64 B
//                     u8 z[32]         if hasZeros, instead of m, and 32 B of padding
//   for SuperAffine:  f16 d[32] (nvfp4: f32)              64 B (f32: 128 B)
//                     f16 dmin[32]     if hasMin          64 B
//                     u8/s8 s[256/group][32]   (signed without a minimum: q3_k, q6_k, iq4_xs)
//                     u8 t[256/group][32]      if hasMin
//   with a grid:      f32 d[32]                128 B
//                     u4 s[256/group][32]      s = 2 u + 1; u of groups 0, 2, … in the low nibbles of bytes, of groups
//                                              1, 3, … in the high ones; in iq1_s bit 3 is the sign of the group
//                     masks [bits of an index above 8, then signs of runs][8 groups][lines of indexes]
//   then codes        blockK/32 groups as above (base 3: twice 7 lines)
//
// Floats (blockK = 2 for bf16, 1 otherwise; K is padded only to blockK):
//   f32      128 B per k: f32 w[32 rows]
//   f16       64 B per k: f16 w[32 rows]
//   bf16     128 B per k pair: 32 rows x {w[k], w[k+1]}; rows 0-15 in the first 64 B
//
// Scaled floats (fp8; blockK = 128): one k after another, so 16 rows take one load and one conversion
//   f32 s[32 rows]                                 128 B, s of the tensor, the row or the 128 x 128
//                                                  block of this row and these k
//   then 32 B per k:  u8 q[32 rows]                k = 0..127
//
// Vectors (norm weights, biases, rope frequencies) are plain f32 arrays, padded
// with zeros to a multiple of 32 values: layout class `vector-f32`.
//
// The matrices of a stack (experts) are stored one after another, each in whole panels.
//
// Example, q4_1, K = 576: 18 blocks of 64 + 64 + 4*128 = 640 B.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/NumericFormat.h"

#include <algorithm>
#include <cassert>

namespace ingot {

constexpr int64_t kPanelRows = 32;
constexpr int64_t kPanelLine = 4 * kPanelRows; ///< bytes of a line of codes
constexpr int64_t kGroupK = 32;                ///< values of K that share an activation scale

constexpr int64_t roundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

/// Rows first … first + count - 1 of a weight. In a stack, rows are numbered through all matrices.
struct RowSpan {
  int64_t first, count;
};

struct PanelLayout {
  WeightFormat format;
  int64_t n, k;           ///< rows and columns of a matrix
  int64_t blockK;         ///< values of K per block
  int64_t groupCodeBytes; ///< code bytes of 32 rows x 32 k (0 for floats)
  int64_t codeOffset;     ///< offset of the first group's codes in a block (0 for floats)
  int64_t scaleOffset;    ///< offset of d (s of scaled floats) in a block
  int64_t minOffset;      ///< offset of m or dmin; -1 if none
  int64_t subScaleOffset; ///< offset of s; -1 if none
  int64_t subMinOffset;   ///< offset of t or z; -1 if none
  int64_t blockBytes;
  int64_t blocks; ///< per panel
  int64_t panels; ///< in all matrices
  int64_t matrices = 1;
  int64_t maskOffset = -1; ///< offset of a grid's masks; -1 if none

  int64_t panelBytes() const { return blocks * blockBytes; }
  int64_t panelsOfMatrix() const { return panels / matrices; }
  /// Returns the rows of a panel; the rest of its 32 rows are padding.
  RowSpan rowsOf(int64_t panel) const {
    assert(panel >= 0 && panel < panels && "the weight has fewer panels");
    const int64_t of = panelsOfMatrix(), row = panel % of * kPanelRows;
    return {panel / of * n + row, std::min(kPanelRows, n - row)};
  }
  int64_t bytes() const { return panels * panelBytes(); }
};

constexpr int64_t codeBytesOfGroup(int bits) { return bits <= 8 ? kPanelLine * bits : 0; }

/// Codes lie in planes: one for the lower 8, 4 or 2 bits, and one for the 0, 1 or 2 bits above them.
constexpr int lowBitsOf(int bits) { return bits >= 8 ? 8 : bits >= 4 ? 4 : 2; }
constexpr int upperBitsOf(int bits) { return bits < 8 ? bits - lowBitsOf(bits) : 0; }

// Base 3.
constexpr int64_t kTritGroups = 4; ///< groups that share lines
constexpr int64_t kTritLines = 7;
/// Returns the line of the numbers a and b of group g (0 … 3), and the line of its number c.
constexpr int64_t tritLineOfPair(int64_t g) { return (g * 3 + 3) / 2; }
constexpr int64_t tritLineOfLast(int64_t g) { return g / 2 * 3 + 2; }

// Grids.
constexpr int64_t kRunsOfLine = 4;
constexpr int64_t kMaskBytes = kPanelRows * kRunsOfLine / 8;
constexpr int64_t indexLines(const Grid &grid) { return kGroupK / grid.run / kRunsOfLine; }
/// Returns the number of masks for each line of indexes.
constexpr int64_t masksOfLine(const Grid &grid) {
  return grid.upperBits() + (grid.signs == GridSigns::Run);
}

/// Returns the code bytes of 32 rows x 32 k, without scales and masks.
constexpr int64_t codeBytesOfGroup(const NumericFormat &format) {
  switch (format.packing) {
  case NumericFormat::Packing::Planes:
    return codeBytesOfGroup(format.bits);
  case NumericFormat::Packing::Bit1:
    return kPanelLine;
  case NumericFormat::Packing::Trits:
    return kTritLines * kPanelLine / kTritGroups;
  case NumericFormat::Packing::Grid:
    return (indexLines(*format.grid) + (format.grid->signs == GridSigns::Value)) * kPanelLine;
  }
  return 0;
}

/// Returns the layout of a weight of `n` rows and `k` columns, or of a stack of `matrices` such weights.
inline PanelLayout panelLayout(WeightFormat id, int64_t n, int64_t k, int64_t matrices = 1) {
  const NumericFormat &f = numericFormat(id);
  PanelLayout l{id, n, k, 0, 0, 0, -1, -1, -1, -1, 0, 0, 0, matrices};
  l.panels = matrices * ((n + kPanelRows - 1) / kPanelRows);
  if (f.isFloat()) {
    l.blockK = id == WeightFormat::BF16 ? 2 : 1;
    l.blockBytes = l.blockK * kPanelRows * f.bits / 8;
  } else if (f.isScaledFloat()) {
    l.blockK = f.group;
    l.groupCodeBytes = codeBytesOfGroup(f.bits);
    l.scaleOffset = 0;
    l.codeOffset = 4 * kPanelRows;
    l.blockBytes = l.codeOffset + l.blockK / kGroupK * l.groupCodeBytes;
  } else {
    l.blockK = f.superGroup ? f.superGroup : f.group;
    l.groupCodeBytes = codeBytesOfGroup(f);
    int64_t at = 0;
    auto take = [&](int64_t bytes) {
      int64_t from = at;
      at += bytes;
      return from;
    };
    l.scaleOffset = take(f.scaleBytes() * kPanelRows);
    if (f.hasZeros)
      l.subMinOffset = take(2 * kPanelRows); // half of it is padding
    else if (f.hasMin)
      l.minOffset = take(2 * kPanelRows);
    if (f.superGroup)
      l.subScaleOffset = take(f.superGroup / f.group * kPanelRows / (f.grid ? 2 : 1));
    if (f.grid && masksOfLine(*f.grid))
      l.maskOffset =
          take(masksOfLine(*f.grid) * f.superGroup / kGroupK * indexLines(*f.grid) * kMaskBytes);
    if (f.superGroup && f.hasMin)
      l.subMinOffset = take(f.superGroup / f.group * kPanelRows);
    l.codeOffset = roundUp(at, 64);
    l.blockBytes = l.codeOffset + l.blockK / kGroupK * l.groupCodeBytes;
  }
  l.blocks = (k + l.blockK - 1) / l.blockK;
  return l;
}

//===----------------------------------------------------------------------===//
// Rows of activations
//
// An f32 row of n values takes roundUp(n, 32) floats; the kernel that writes the
// row sets the padding to 0. A quantised row (`q8`) of k values, with
// k' = roundUp(k, 32) and g = k'/32 groups, holds, from its 64-byte aligned start:
//
//   s8  q[k']              q = roundeven(x * (127/amax)); 0 where amax = 0
//   f32 scale[g]           amax/127                    (x ~ q * scale)
//   f32 scaledSum[g]       scale * float(sum of q)     (for minimums)
//   i32 negSum[g]          -(sum of q of the 32)       (for zero points)
//   i32 negSum16[2g]       -(sum of q of each 16)      (for q2_k, q3_k, q6_k)
//
// rounded up to 64 bytes. One amax per 32 values improves perplexity by 3 to 8 %
// over one per token (kernel measurements in docs/numerics.md).
//===----------------------------------------------------------------------===//

struct Q8Row {
  int64_t k, groups, scaleOffset, scaledSumOffset, negSumOffset, negSum16Offset, bytes;
};

constexpr Q8Row q8Row(int64_t k) {
  int64_t kPadded = roundUp(k, kGroupK), g = kPadded / kGroupK;
  return {kPadded,
          g,
          kPadded,
          kPadded + 4 * g,
          kPadded + 8 * g,
          kPadded + 12 * g,
          roundUp(kPadded + 20 * g, 64)};
}

/// A `q8x2` row is two consecutive q8 rows, x ~ (256 * q + q') * scale'. The second holds the residual of the
/// first: q' = roundeven((x - q * scale) * (127/amax) * 256) within -127 … 127, scale' = scale / 256,
/// scaledSum' = scale' * float(sum of 256 * q + q'), negSum' and negSum16' for q' only. It gives 15 bits
/// instead of 7 for twice the dots, and is used for the head, where int8 loses most accuracy.
constexpr int64_t q8x2RowBytes(int64_t k) { return 2 * q8Row(k).bytes; }

constexpr int64_t f32RowBytes(int64_t n) { return roundUp(n, kPanelRows) * 4; }

} // namespace ingot

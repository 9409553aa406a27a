//===- PanelGroup.h - Inputs of dots for one group of 32 k -----------------===//
//
// Provides codes and scales of the rows of a tile, from either of two places:
//
//   PackedGroup    the panel as it is in the engine (PanelLayout.h). Each tile unpacks it again.
//   UnpackedGroup  a thread's scratch, to which one pass over the panel (emitUnpackedPanel) has written the values of
//                  a PackedGroup. Many tiles over one panel, as in a prompt, share the cost of that pass.
//
// Both provide the same values, so a sum has the same bits. An unpacked panel is a sequence of parts. A part has the
// fewest rows that a tile takes (all 32, or a register of AVX2), so tiles read ascending streams. A part is a sequence
// of groups. A group holds, for its rows:
//
//   u8  q[8 steps][rows][4 k]   values of codes; q - 128 where dots split signs (Pmaddubsw, 8 bits)
//   f32 scale[rows]             d, times s if s covers 32 k
//   f32 minimum[rows]           if there are minimums: m, -(dmin*t), -(d*z), or dmin if they cover 16 k
//   i32 s[2][rows]              if scales cover 16 k: one per half; f32 d*s for NVFP4
//   i32 t[2][rows]              if minimums cover 16 k
//
// Where s * (q - zeroPoint) fits a byte (Q2_K, Q3_K) and dots need no widening (vpdpbusd), q holds s * (q - zeroPoint)
// plus `productZero`, and there is no s. A group then costs one dot product of 32 k, instead of two of 16 k that are
// scaled and added. The resulting integer is the same.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/PanelCodes.h"

#include <optional>

namespace ingot::codegen::cpu {

/// Offsets of the arrays of an unpacked group; -1: it has no such array.
struct UnpackedLayout {
  int64_t rows;   ///< rows of a part
  int64_t line;   ///< bytes of one word per row of a part
  int64_t groups; ///< number of groups of 32 k
  int64_t scaleOffset, minimumOffset = -1, subScaleOffset = -1, subMinimumOffset = -1;
  int64_t groupBytes = 0;
  bool floatSubScales = false;
  std::optional<int> productZero; ///< zero point of q if q is a product with s

  UnpackedLayout(const PanelLayout &layout, const Isa &isa);

  int64_t partBytes() const { return groups * groupBytes; }
  int64_t panelBytes() const { return kPanelRows / rows * partBytes(); }
  /// Returns the offset in group 0 of a register of rows that begins with `row`.
  int64_t placeOf(int64_t row) const { return row / rows * partBytes() + row % rows * 4; }
};

/// Returns the number of steps that Pmaddubsw can sum without overflow in lanes of int16, to which each step adds two
/// products. 0 means that even one step could overflow.
int stepsThatFit(const NumericFormat &format);
/// Returns whether dots of such codes take |w| and x with the sign of w (MatmulFast.cpp).
inline bool splitsSign(const NumericFormat &format, DotKind dot) {
  return dot == DotKind::Pmaddubsw && stepsThatFit(format) == 0;
}

class PanelGroup {
public:
  virtual ~PanelGroup() = default;

  /// Returns q of step s of the rows of register v, as u8.
  virtual mlir::Value code(size_t v, int s) = 0;
  /// Returns q - 128 of step line + s, as s8, where dots split signs.
  virtual mlir::Value signedCode(size_t v, mlir::Value line, int s) = 0;
  virtual mlir::Value scale(size_t v) = 0;
  /// Returns the factor of the sum of x that is added to a dot; dmin itself if there is a minimum per 16. Null:
  /// none.
  virtual mlir::Value minimum(size_t v) = 0;
  /// Returns s of half 0 or 1 of the group, as i32; if sub-scales are floats, d*s as f32.
  virtual mlir::Value subScale(size_t v, int half) = 0;
  virtual mlir::Value subMinimum(size_t v, int half) = 0;
};

class PackedGroup : public PanelGroup {
public:
  /// Group `g` of the panels of `rows`.
  PackedGroup(KernelBuilder &k, llvm::ArrayRef<TileRows> rows, const PanelLayout &layout,
              mlir::Value g);

  mlir::Value code(size_t v, int s) override;
  mlir::Value signedCode(size_t v, mlir::Value line, int s) override;
  mlir::Value scale(size_t v) override;
  mlir::Value minimum(size_t v) override;
  mlir::Value subScale(size_t v, int half) override;
  mlir::Value subMinimum(size_t v, int half) override;

  /// Returns the address of the group's codes.
  mlir::Value codesOf(size_t v) const { return groups[v].codes; }
  /// Returns the address of the block that holds group `g` of the panel at `panel`.
  static mlir::Value blockOf(KernelBuilder &k, const PanelLayout &layout, mlir::Value panel,
                             mlir::Value g);

private:
  mlir::Value scalesAt(size_t v, int64_t offset, NumericFormat::Scale stored);
  /// Loads the sub-scales or sub-minimums of group `group` of the block, or of a half of it, as i32: signed if the
  /// format has no minimum.
  mlir::Value integers(size_t v, int64_t offset, mlir::Value group, int half);
  mlir::Value scaled(size_t v, int64_t offset, int64_t subOffset, mlir::Value group);

  KernelBuilder &k;
  llvm::ArrayRef<TileRows> rows;
  const PanelLayout &layout;
  const NumericFormat &format;
  PanelCodes codes;
  mlir::Value inBlock;
  llvm::SmallVector<mlir::Value> blocks;
  llvm::SmallVector<GroupPlace> groups;
};

class UnpackedGroup : public PanelGroup {
public:
  /// Group `g` of the unpacked panel at `unpacked`.
  UnpackedGroup(KernelBuilder &k, llvm::ArrayRef<TileRows> rows, const UnpackedLayout &layout,
                mlir::Value unpacked, mlir::Value g);

  mlir::Value code(size_t v, int s) override { return wordsAt(bytes, v, s * layout.line); }
  mlir::Value signedCode(size_t v, mlir::Value line, int s) override {
    return k.load(bytes, k.at(k.at(groups[v], k.mul(line, layout.line)), s * layout.line),
                  4 * k.lanes);
  }
  mlir::Value scale(size_t v) override { return wordsAt(k.f32s, v, layout.scaleOffset); }
  mlir::Value minimum(size_t v) override {
    return layout.minimumOffset < 0 ? mlir::Value() : wordsAt(k.f32s, v, layout.minimumOffset);
  }
  mlir::Value subScale(size_t v, int half) override {
    return wordsAt(layout.floatSubScales ? k.f32s : k.i32s, v,
                   layout.subScaleOffset + half * layout.line);
  }
  mlir::Value subMinimum(size_t v, int half) override {
    return wordsAt(k.i32s, v, layout.subMinimumOffset + half * layout.line);
  }

private:
  mlir::Value wordsAt(mlir::VectorType type, size_t v, int64_t offset) {
    return k.load(type, k.at(groups[v], offset), 4 * k.lanes);
  }

  KernelBuilder &k;
  const UnpackedLayout &layout;
  const mlir::VectorType bytes;
  llvm::SmallVector<mlir::Value> groups;
};

/// Unpacks the panel at `panel` to `to`, which has UnpackedLayout::panelBytes, aligned to 64.
void emitUnpackedPanel(KernelBuilder &k, const PanelLayout &layout, mlir::Value panel,
                       mlir::Value to);

} // namespace ingot::codegen::cpu

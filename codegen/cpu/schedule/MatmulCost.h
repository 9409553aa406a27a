//===- MatmulCost.h - Cost model of matmul schedules ----------------------===//
//
// The model computes the time of a launch of T tokens on one core from four counts. A block of b
// tokens passes over every panel (32 rows) once; the chain of tiles divides b:
//
//   per tile of t tokens, per group of 32 k, R registers of rows to the panel:
//
//     multiply = R t m               m: dots + f32 mul + f32 fma; 8 + 1 + 1 for q4_0 and q8_0
//     vector   = multiply + R t o + R u      o: conversions; u: unpacking of codes
//     loads    = t (R / v) a + R w           a: broadcasts of activations; w: loads of codes
//     core     = groups * max(multiply / multiplyPipes + groupLatency,
//                             vector / vectorPipes, loads / loadsPerCycle,
//                             (vector + loads) / issuedPerCycle) + epilogue
//     L2       = (panel, if it does not stay in L1, + t rows of x) / l2BytesPerCycle
//
//   per launch:
//
//     memory   = ceil(T / block) * weights / (readGbPerS * reached(prefetch))
//     seconds  = overlap(sum over blocks, panels and tiles of overlap(core, L2), memory)
//
//   overlap(a, b) = max(a, b) + min(a, b) / 8: caches and pipes overlap, but not perfectly
//
//   reached(d): 1, or `prefetchless` where d = 0
//
// Tiles that need more registers than the level has spill in the innermost loop (except f32 sums of AVX2, which
// are needed only once per group). A block that has rows of x larger than 3/8 of L2 reads them again from memory for
// every panel. Schedules with such tiles or blocks are not candidates. A schedule is chosen by the mean of seconds(T) /
// bound(T) over steps of 1, 8, 32 and 512 tokens. bound(T) is the larger of two times: the time for all memory traffic
// at full bandwidth, and the time for all multiplications at full rate. Taking twice as long as the machine allows
// therefore has the same weight in decode and in prefill.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/Isa.h"
#include "dialects/kernel/KernelDialect.h"

namespace ingot::kernel {
class MatmulOp;
}

namespace ingot::codegen::cpu {

/// The cost of a launch on one core.
struct MatmulCost {
  double coreSeconds = 0; ///< time of the core and L2, without memory
  double memoryBytes = 0; ///< weights, and x if a block is too large
  double boundSeconds = 0;
  double seconds = 0;
};

/// Tokens of the steps that a schedule is optimised for.
inline constexpr int64_t kModelTokens[] = {1, 8, 32, 512};

MatmulCost matmulCost(kernel::MatmulOp op, kernel::ScheduleAttr schedule, const Isa &isa,
                      const Machine &machine, int64_t tokens);

/// Returns the mean of seconds / bound over kModelTokens: 1 is as fast as the machine allows.
double matmulSlowness(kernel::MatmulOp op, kernel::ScheduleAttr schedule, const Isa &isa,
                      const Machine &machine);

/// Returns the number of vector registers that the main loop needs at once for a tile of `tokens` tokens.
int64_t tileRegisters(kernel::MatmulOp op, const Isa &isa, int64_t tokens);

/// Returns whether tiles of a prompt read panels of this layout from scratch memory, where each panel is unpacked
/// once for all tiles (PanelGroup.h). They do not if codes are bytes, or if an unpacked panel is too large to stay in
/// L2. The choice of a schedule ignores unpacking, because it speeds up all plausible schedules alike.
bool unpacksPanels(kernel::MatmulOp op, const PanelLayout &layout, const Isa &isa);
inline constexpr int64_t kTilesToUnpackFor =
    3; ///< minimum number of tiles of the largest size; measured

/// Returns whether AMX multiplies the weights of this layout, for all tokens of a block at once (MatmulAmx.cpp).
/// Token tiles of the schedule then only finish sums.
bool multipliesInTiles(kernel::MatmulOp op, const PanelLayout &layout, const Isa &isa);

/// Returns schedules that do not spill. Those with short tiles come first, because their code is shorter.
llvm::SmallVector<kernel::ScheduleAttr> scheduleCandidates(kernel::MatmulOp op, const Isa &isa);

/// The arithmetic unit that multiplies; `inspect --roofline` compares the operations with its peak rate.
enum class Arithmetic : uint8_t { Int8, Bf16, F32 };
Arithmetic arithmeticOf(kernel::MatmulOp op, const Isa &isa);

} // namespace ingot::codegen::cpu

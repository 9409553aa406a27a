//===- MatmulCost.h - What a schedule of a matmul costs -------------------===//
//
// Time of a launch of T tokens on one core, from four counts. A block of b tokens passes over
// every panel (32 rows) once; the chain of tiles cuts b:
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
//   overlap(a, b) = max(a, b) + min(a, b) / 8: caches and pipes run side by side, not perfectly
//
//   reached(d): 1, or `prefetchless` where d = 0
//
// Tiles that want more registers than there are spill in the innermost loop (f32 sums of AVX2 apart, which are needed once
// a group), and blocks whose rows
// of x take more than 3/8 of L2 read them again from memory for every panel: they are no
// candidates. A schedule is chosen by the mean of seconds(T) / bound(T) over steps of 1, 8, 32 and
// 512 tokens, bound(T) being the larger of memory at full rate and of multiplications at full rate:
// being twice as slow as the machine is as bad in decode as in prefill.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/Isa.h"
#include "dialects/kernel/KernelDialect.h"

namespace ingot::kernel {
class MatmulOp;
}

namespace ingot::cpu {

/// What one core does in a launch.
struct MatmulCost {
  double coreSeconds = 0; ///< with L2, without memory
  double memoryBytes = 0; ///< of weights, and of x where a block is too large
  double boundSeconds = 0;
  double seconds = 0;
};

/// How many tokens the steps have that a schedule is made for.
inline constexpr int64_t kModelTokens[] = {1, 8, 32, 512};

MatmulCost matmulCost(kernel::MatmulOp op, kernel::ScheduleAttr schedule, const Isa &isa,
                      const Machine &machine, int64_t tokens);

/// The mean of seconds / bound over kModelTokens: 1 is as fast as the machine.
double matmulSlowness(kernel::MatmulOp op, kernel::ScheduleAttr schedule, const Isa &isa,
                      const Machine &machine);

/// Vector registers that the main loop wants at once with a tile of so many tokens.
int64_t tileRegisters(kernel::MatmulOp op, const Isa &isa, int64_t tokens);

/// Do tiles of a prompt read such a panel from scratch, where it is unpacked once for all of them (PanelGroup.h)? They do
/// not where codes are bytes, and where an unpacked panel is too long to stay in L2. Schedules are chosen as if none did:
/// it makes all of those that come into question faster alike.
bool unpacksPanels(kernel::MatmulOp op, const PanelLayout &layout, const Isa &isa);
inline constexpr int64_t kTilesToUnpackFor = 3; ///< of the largest size; measured

/// Schedules that do not spill: those of short tiles first, whose code is shorter.
llvm::SmallVector<kernel::ScheduleAttr> scheduleCandidates(kernel::MatmulOp op, const Isa &isa);

/// Which unit multiplies: what `inspect --roofline` holds the operations against.
enum class Arithmetic : uint8_t { Int8, Bf16, F32 };
Arithmetic arithmeticOf(kernel::MatmulOp op, const Isa &isa);

} // namespace ingot::cpu

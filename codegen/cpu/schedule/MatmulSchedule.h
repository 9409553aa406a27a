//===- MatmulSchedule.h - How the main loop of a matmul is cut ------------===//
//
// The accumulators of a register tile (vectors of rows x tokens) want as many
// registers as there are, less those that codes, scales and unpacking need. Wide tiles
// come first in the chain; each takes what the ones before left:
//
//   13 tokens, tiles 6 4 2 1:   [6][6][1]
//
// A tile on its own computes the same bits as any other, so a schedule is only about
// time. The choice here is the best of the candidates by the model of MatmulCost.h; an op may carry
// its own, from a test or from a measured row (TuningRows.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/Isa.h"
#include "dialects/kernel/KernelDialect.h"

namespace ingot::kernel {
class MatmulOp;
}

namespace ingot::cpu {

/// The schedule of `op`: its attribute, or the model's choice. Tiles fall and end in 1.
kernel::ScheduleAttr matmulSchedule(kernel::MatmulOp op, const Isa &isa);

/// Registers of rows that a tile of so many tokens holds. They divide a panel; a tile that does not
/// cover it is run over its parts.
int tileVectors(const Isa &isa, int64_t tokens);

} // namespace ingot::cpu

//===- MatmulSchedule.h - How the main loop of a matmul is tiled ----------===//
//
// The accumulators of a register tile (vectors of rows x tokens) should fill all
// registers that codes, scales and unpacking leave free. Wide tiles come first in the
// chain; each takes the tokens that the ones before it left:
//
//   13 tokens, tiles 6 4 2 1:   [6][6][1]
//
// Tiles of all sizes compute the same bits, so a schedule affects only time. matmulSchedule
// chooses the best candidate by the model of MatmulCost.h, unless the op carries a schedule of
// its own, which a test or a developer wrote.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/Isa.h"
#include "dialects/kernel/KernelDialect.h"

namespace ingot::kernel {
class MatmulOp;
}

namespace ingot::codegen::cpu {

/// Returns the schedule of `op`: its attribute, or the model's choice. Tile sizes descend and end in 1.
kernel::ScheduleAttr matmulSchedule(kernel::MatmulOp op, const Isa &isa);

/// Returns the registers of rows in a tile of `tokens` tokens. They divide a panel; a tile that does not
/// cover the panel runs over its parts in turn.
int tileVectors(const Isa &isa, int64_t tokens);

} // namespace ingot::codegen::cpu

//===- EngineTable.h - The engine's table, from the plan ------------------===//
#pragma once

#include "compiler/engine/EngineWriter.h"
#include "compiler/import/checkpoint/Checkpoint.h"
#include "dialects/plan/PlanDialect.h"

#include <optional>

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::plan {
class ProgramOp;
}

namespace ingot::compiler {

/// Choices for the placement of a program in the engine.
struct TableChoices {
  int64_t greedyRows = 0;     ///< see CodeTarget.h
  bool seeded = false;        ///< the device generates the weights at load
  uint32_t weightSegment = 0; ///< segment of the stored weights
};

/// Fills the kernels, buffers, weights, states, sections and entries of `table` from the plan, one to one,
/// and the targets of its kernels. Assigns stored weights their offsets in their segment and returns the
/// segment's size. With `seeded`, only vectors that have their values in the program are stored; the device generates
/// all other weights at load. `kernels` receives the kernels in table order.
uint64_t planToTable(plan::ProgramOp program, fb::ProgramT &table, const TableChoices &choices,
                     llvm::SmallVectorImpl<kernel::FuncOp> &kernels);

/// Returns the engine's description of its model: sizes and counts from the program and its table.
std::unique_ptr<fb::ModelT> describeModel(const std::string &name, plan::ProgramOp program,
                                          const fb::ProgramT &table);

/// Returns the jobs that fill the segment of the stored weights. Without a seed they pack the rows of the
/// checkpoint, which must outlive them. The import has already refused a checkpoint with a missing tensor.
/// With a seed they write dummy weights, the values of DummyWeights.h, and do not read the checkpoint.
std::vector<FillJob> weightJobs(plan::ProgramOp program, const fb::ProgramT &table,
                                const import::Checkpoint &checkpoint, std::optional<uint64_t> seed);

} // namespace ingot::compiler

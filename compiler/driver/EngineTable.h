//===- EngineTable.h - From the plan to the engine's table ----------------===//
#pragma once

#include "compiler/engine/EngineWriter.h"
#include "compiler/import/Checkpoint.h"
#include "dialects/plan/PlanDialect.h"

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::plan {
class ProgramOp;
}

namespace ingot::compiler {

/// What of the program goes where.
struct TableChoices {
  int64_t greedyRows = 0;     ///< of the target (CodeTarget.h)
  bool seeded = false;        ///< the device makes the weights at load
  uint32_t weightSegment = 0; ///< where stored weights lie
};

/// Fills kernels, buffers, weights, states, sections and entries of `table` from the plan, one to one, and what its
/// kernels were compiled for. Stored weights get their offsets in their segment; the return value is its size. With
/// `seeded` only the vectors that the program gives values are stored: the device makes the others at load.
/// `kernels` receives the kernels in table order.
uint64_t planToTable(plan::ProgramOp program, fb::ProgramT &table, const TableChoices &choices,
                     llvm::SmallVectorImpl<kernel::FuncOp> &kernels);

/// What an engine says of its model: sizes and counts, of the program and its table.
std::unique_ptr<fb::ModelT> describeModel(const std::string &name, plan::ProgramOp program,
                                          const fb::ProgramT &table);

/// The jobs that pack all weights of the program from the checkpoint into their segment. A tensor that the
/// checkpoint misses was refused at import. The checkpoint must outlive the jobs.
std::vector<FillJob> weightJobs(plan::ProgramOp program, const fb::ProgramT &table,
                                const import::Checkpoint &checkpoint);

/// As weightJobs, without a checkpoint: the numbers of SeedWeights.h for the weights that are stored.
std::vector<FillJob> madeUpWeightJobs(plan::ProgramOp program, const fb::ProgramT &table,
                                      uint64_t seed);

} // namespace ingot::compiler

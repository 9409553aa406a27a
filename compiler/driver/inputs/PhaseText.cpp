//===- PhaseText.cpp - See PhaseText.h ------------------------------------===//
#include "compiler/driver/inputs/PhaseText.h"
#include "compiler/import/checkpoint/RowSource.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"

#include "compiler/options/PhaseOptions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

static Error otherPhase(const CompileOptions &options, std::string why, std::string fix) {
  return {ExitCode::File, "E0484", options.fromFile + " is not IR of " + phaseName(options.from),
          std::move(why), std::move(fix)};
}

/// Checks the sizes that a model or program declares and that nothing else checks.
template <typename Op> static Result<void> checkSizes(Op op, const CompileOptions &options) {
  constexpr uint64_t kMostPositions = (uint64_t(1) << 31) - 1;
  if (const uint64_t positions = op.getMaxPositions(); positions < 1 || positions > kMostPositions)
    return otherPhase(options,
                      "max_positions is " + std::to_string(int64_t(positions)) +
                          "; expected 1 to " + std::to_string(kMostPositions),
                      "correct it");
  return {};
}

static Result<void> checkVocabulary(lm::ModelOp model, const CompileOptions &options) {
  for (lm::EntryOp entry : model.getBody().getOps<lm::EntryOp>())
    if (auto logits = dyn_cast<RankedTensorType>(entry.getFunctionType().getResult(0));
        logits && logits.getRank() == 2 && logits.getDimSize(1) != int64_t(model.getVocab()))
      return otherPhase(options,
                        "vocab is " + std::to_string(model.getVocab()) + "; its entry outputs " +
                            std::to_string(logits.getDimSize(1)) + " logits",
                        "correct it");
  return {};
}

/// Checks that the module belongs to the phase of --from.
static Result<void> checkPhase(ModuleOp module, const CompileOptions &options) {
  const auto models = llvm::range_size(module.getOps<lm::ModelOp>());
  const auto programs = llvm::range_size(module.getOps<plan::ProgramOp>());
  if (options.from <= Phase::Fused) {
    if (models == 1 && programs == 0) {
      lm::ModelOp model = *module.getOps<lm::ModelOp>().begin();
      if (model.getBody().getOps<lm::EntryOp>().empty())
        return otherPhase(options, "its model is incomplete: it has no lm.entry",
                          std::string("write it with --to ") + phaseName(options.from));
      if (auto ok = checkSizes(model, options); !ok)
        return ok;
      return checkVocabulary(model, options);
    }
    return otherPhase(options,
                      "it has " + std::to_string(models) + " lm.model and " +
                          std::to_string(programs) + " plan.program; expected one lm.model",
                      programs ? "--from plan=" + options.fromFile
                               : std::string("write it with --to ") + phaseName(options.from));
  }
  if (models != 0 || programs != 1)
    return otherPhase(options,
                      "it has " + std::to_string(models) + " lm.model and " +
                          std::to_string(programs) + " plan.program; expected one plan.program",
                      models ? "--from lm=" + options.fromFile
                             : std::string("write it with --to ") + phaseName(options.from) +
                                   ": --emit kernel omits the launches");
  plan::ProgramOp program = *module.getOps<plan::ProgramOp>().begin();
  plan::EntryOp entry = program.generateEntry();
  if (!entry || llvm::none_of(entry.getBody().getOps<plan::OutputOp>(), [](plan::OutputOp output) {
        return output.getRole() == plan::OutputRole::Logits;
      }))
    return otherPhase(options, "no entry of its program outputs logits",
                      std::string("write it with --to ") + phaseName(options.from));
  if (auto ok = checkSizes(program, options); !ok)
    return ok;
  const bool planned = program.getPeak().has_value();
  if (planned == (options.from == Phase::Plan))
    return {};
  return otherPhase(
      options,
      planned ? "its buffers are already packed" : "its buffers are not packed (peak is missing)",
      planned ? "--from plan=" + options.fromFile : "--from kernel=" + options.fromFile);
}

/// Checks that the checkpoint has the values of a weight, in its shape and its declared format.
template <typename Weight>
static Result<void> checkWeight(Weight weight, const CompileOptions &options,
                                const import::Checkpoint &checkpoint) {
  if (!weight.getSource())
    return {};
  const lm::WeightType type = weight.getType();
  auto wrong = [&](const std::string &why) {
    return Error{ExitCode::File, "E0485",
                 options.fromFile + " does not belong to the checkpoint " + options.model,
                 "weight " + weight.getSymName().str() + ": " + why,
                 "use the checkpoint that it was printed from"};
  };
  auto rows =
      import::RowSource::find(checkpoint, lm::rowsOf(*weight.getSource()),
                              type.isVectors() ? import::Unit::Numbers : import::Unit::Rows);
  if (!rows)
    return wrong(rows.error().what + (rows.error().why.empty() ? "" : ": " + rows.error().why));
  const int64_t numbers = llvm::product_of(type.getShape());
  if (rows->rows() * rows->columns() != numbers ||
      (!type.isVectors() && rows->columns() != type.getShape().back()))
    return wrong("the checkpoint has " + std::to_string(rows->rows()) + " x " +
                 std::to_string(rows->columns()) + " numbers, the IR expects " +
                 std::to_string(numbers));
  const WeightFormat stored = weight.getStored() ? weight.getStored()->getId() : type.getFormat();
  if (!type.isVectors() && stored != rows->format())
    return wrong("it is stored as " + std::string(numericFormat(rows->format()).name) +
                 ", in the IR as " + std::string(numericFormat(stored).name));
  return {};
}

Result<OwningOpRef<ModuleOp>> compiler::readPhase(MLIRContext &context,
                                                  const CompileOptions &options,
                                                  const import::Checkpoint &checkpoint,
                                                  const Diagnostics &diagnostics) {
  auto file = llvm::MemoryBuffer::getFile(options.fromFile, /*IsText=*/true);
  if (!file)
    return Error{ExitCode::File, "E0483", "cannot read the IR of --from",
                 options.fromFile + ": " + file.getError().message(),
                 std::string("write it with --to ") + phaseName(options.from)};
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>((*file)->getBuffer(), ParserConfig(&context), options.fromFile);
  if (!module)
    return Error{ExitCode::File, "E0483",
                 options.fromFile + " is not valid IR for this version of ingot",
                 diagnostics.first(), "correct it; ingot-opt FILE reports the same errors"};
  if (auto ok = checkPhase(*module, options); !ok)
    return ok.error();
  if (options.weights != WeightOrigin::Checkpoint)
    return module;
  std::optional<Error> wrong;
  module->walk([&](Operation *op) {
    auto ok = isa<lm::WeightOp>(op)     ? checkWeight(cast<lm::WeightOp>(op), options, checkpoint)
              : isa<plan::WeightOp>(op) ? checkWeight(cast<plan::WeightOp>(op), options, checkpoint)
                                        : Result<void>();
    if (ok)
      return WalkResult::advance();
    wrong = ok.error();
    return WalkResult::interrupt();
  });
  if (wrong)
    return *wrong;
  return module;
}

/// Returns the layouts of all weights, in order.
static SmallVector<lm::WeightLayout> layoutsOf(ModuleOp module) {
  SmallVector<lm::WeightLayout> layouts;
  module.walk([&](plan::WeightOp weight) { layouts.push_back(weight.getType().getLayout()); });
  return layouts;
}

Result<void> compiler::checkMadeFor(ModuleOp module, const CodeTarget &target,
                                    const KvCaches &caches, const CompileOptions &options) {
  auto wrong = [&](const std::string &why, const std::string &fix) {
    return Error{ExitCode::Usage, "E0486", options.fromFile + " was made with other options", why,
                 fix};
  };
  if (auto other = caches.firstOther(module, target, options)) {
    std::string as;
    for (const std::string &word : kvWords(*module.getOps<plan::ProgramOp>().begin()))
      as += (as.empty() ? "--kv " : " --kv ") + word;
    return wrong(*other, as + ", or the --target that it was made for");
  }
  // The target chooses the layouts of matrices, so choosing them again must give the same result.
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager pm(module.getContext());
  pm.addPass(createChooseLayoutsPass({target.kind()}));
  if (failed(pm.run(*copy)) || layoutsOf(*copy) != layoutsOf(module))
    return wrong("its matrices do not have the layout that kernels of " + target.name().str() +
                     " read",
                 "give the --target that it was made for");
  return {};
}

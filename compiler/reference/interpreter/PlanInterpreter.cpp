//===- PlanInterpreter.cpp - See PlanInterpreter.h ------------------------===//
#include "compiler/reference/interpreter/PlanInterpreter.h"
#include "dialects/kernel/KernelOps.h"
#include "dialects/lm/ops/Weights.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"

#include "compiler/reference/interpreter/Launch.h"
#include "compiler/reference/interpreter/Regions.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;
using kernel::ActivationType;
using kernel::RowKind;
using plan::BufferClass;
using plan::Mode;

namespace {

class PlanInterpreterImpl : public PlanInterpreter {
public:
  PlanInterpreterImpl(ModuleOp module, plan::ProgramOp program, WeightProvider &weights,
                      InterpreterOptions options);
  ~PlanInterpreterImpl() override;

  void pretendPast(int64_t sequence, int64_t length, uint64_t seed) override {
    interpreter.pools->pretendPast(sequence, length, seed);
  }
  Result<StepResult> step(const Step &step, Mode mode, int64_t asIf) override;
  int64_t launches() const override { return int64_t(interpreter.trace.size()); }
  const std::vector<Written> &trace() const override { return interpreter.trace; }

private:
  Result<void> runStep(plan::StepOp step, const Batch &batch, const std::vector<int32_t> &ids,
                       const plan::StepCounts &counts);
  Result<void> runLaunch(plan::LaunchOp op, plan::StepOp step, const Batch &batch,
                         const std::vector<int32_t> &ids, Mode mode);
  void checkCounts(plan::LaunchOp op, const plan::StepCounts &counts);
  StepResult fetch(const Batch &batch, Mode mode);
  void fetchBeside(const Matrix &logits);
  std::vector<std::byte> fetchRow(plan::OutputOp output, int64_t row, int64_t bytes);
  void leaveKeys(Mode mode);
  bool runs(plan::StepOp step) const {
    return interpreter.options.layers.empty() || !step.getLayer() ||
           llvm::is_contained(interpreter.options.layers, int64_t(*step.getLayer()));
  }

  ModuleOp module;
  plan::ProgramOp program;
  plan::EntryOp entry;
  llvm::DenseMap<Attribute, Operation *>
      symbols; ///< kernels of the module, sections of the program
  InterpreterState interpreter;
  std::vector<int64_t> zeros; ///< buffers of keys and sums, which are 0 between steps
};

} // namespace

PlanInterpreterImpl::PlanInterpreterImpl(ModuleOp module, plan::ProgramOp program,
                                         WeightProvider &weights, InterpreterOptions options)
    : module(module), program(program), entry(program.generateEntry()),
      interpreter(weights, std::move(options)) {
  OpBuilder b(program.getContext());
  for (plan::WeightOp weight : program.getBody().getOps<plan::WeightOp>()) {
    auto own = lm::WeightOp::create(b, weight.getLoc(), weight.getSymName(), weight.getType(),
                                    weight.getSourceAttr(), weight.getStoredAttr(),
                                    weight.getValuesAttr());
    own->setDiscardableAttrs(weight->getDiscardableAttrDictionary()); // lm::originsOf
    interpreter.weights[weight.getSymName().str()] = own;
  }
  interpreter.memory =
      std::make_unique<Memory>(program, interpreter.options.tokens, interpreter.options.rows,
                               interpreter.timeline, interpreter.findings);
  interpreter.pools = std::make_unique<PoolMemory>(interpreter.options.rounds, interpreter.timeline,
                                                   interpreter.findings);
  int64_t number = 0;
  for (auto [name, known] : interpreter.options.states)
    number = std::max(number, known + 1);
  for (plan::StateOp state : program.getBody().getOps<plan::StateOp>())
    if (interpreter.options.states.try_emplace(state.getSymName().str(), number).second)
      ++number;
  for (kernel::FuncOp fn : module.getOps<kernel::FuncOp>()) {
    symbols[fn.getSymNameAttr()] = fn;
    for (Type type : fn.getArgumentTypes())
      if (auto rows = dyn_cast<ActivationType>(type))
        interpreter.gpu |= rows.getKind() == RowKind::BF16;
  }
  for (plan::SectionOp section : program.getBody().getOps<plan::SectionOp>())
    symbols[section.getSymNameAttr()] = section;
  llvm::DenseSet<int64_t> seen;
  program.walk([&](plan::LaunchOp launch) {
    auto fn = cast<kernel::FuncOp>(symbols.lookup(launch.getKernelAttr().getAttr()));
    for (auto [type, passed] : llvm::zip_equal(fn.getArgumentTypes(), launch.getArgs())) {
      auto rows = dyn_cast<ActivationType>(type);
      if (!rows || (rows.getKind() != RowKind::Key && rows.getKind() != RowKind::Bytes))
        continue;
      const int64_t buffer =
          interpreter.memory->find(cast<plan::BufferRefAttr>(passed).getSymbol().getValue());
      if (seen.insert(buffer).second)
        zeros.push_back(buffer);
    }
  });
}

PlanInterpreterImpl::~PlanInterpreterImpl() {
  for (auto &[name, weight] : interpreter.weights)
    weight->erase();
}

Result<std::unique_ptr<PlanInterpreter>>
PlanInterpreter::create(ModuleOp module, WeightProvider &weights, InterpreterOptions options) {
  auto programs = module.getOps<plan::ProgramOp>();
  if (!llvm::hasSingleElement(programs) || !(*programs.begin()).generateEntry())
    return Error{ExitCode::Internal, "E0892",
                 "the module does not have exactly one program with an entry",
                 "it has " + std::to_string(llvm::range_size(programs)) + " plan.program",
                 "give the plan interpreter a lowered program"};
  return std::unique_ptr<PlanInterpreter>(
      new PlanInterpreterImpl(module, *programs.begin(), weights, std::move(options)));
}

Result<void> PlanInterpreterImpl::runLaunch(plan::LaunchOp op, plan::StepOp step,
                                            const Batch &batch, const std::vector<int32_t> &ids,
                                            Mode mode) {
  auto fn = cast<kernel::FuncOp>(symbols.lookup(op.getKernelAttr().getAttr()));
  std::string name = "@" + op.getKernel().str();
  if (step.getLayer())
    name += " of layer " + std::to_string(*step.getLayer());
  interpreter.timeline.begin(name);
  interpreter.trace.push_back({name, 0});
  Launch launch(interpreter, op, step, batch, ids, mode);
  LaunchObserver *observer = interpreter.options.observer;
  if (observer)
    observer->before(op, step, batch, mode, *interpreter.memory);
  Result<void> done;
  for (Operation &part : fn.ops())
    if (done)
      done = llvm::TypeSwitch<Operation *, Result<void>>(&part)
                 .Case<kernel::MatmulOp, kernel::RowwiseOp, kernel::GatherOp, kernel::Fp8RowsOp,
                       kernel::StoreOp, kernel::PanelMaximaOp, kernel::RopeTableOp,
                       kernel::RopeAppendOp, kernel::AttentionOp, kernel::CausalConvOp,
                       kernel::CustomOp, kernel::RouteOp, kernel::GroupRoutesOp, kernel::CombineOp,
                       kernel::ArgmaxOp, kernel::ArgmaxFinishOp, kernel::DrawWeighOp,
                       kernel::DrawIdsOp>([&](auto known) { return run(launch, known); })
                 .Default([](Operation *other) { return notInterpreted(other); });
  if (observer && done)
    observer->behind(op, step, batch, mode, *interpreter.memory);
  return done;
}

/// Checks that the step's count is one that the kernel declares, because generators omit code for other counts.
void PlanInterpreterImpl::checkCounts(plan::LaunchOp op, const plan::StepCounts &counts) {
  auto fn = cast<kernel::FuncOp>(symbols.lookup(op.getKernelAttr().getAttr()));
  const bool perRow = fn.launch().isPerRow();
  const int64_t count = perRow ? counts.rows : counts.tokens;
  if (count >= fn.leastCount() && count <= fn.mostCount())
    return;
  std::string why;
  llvm::raw_string_ostream(why) << "its kernel is for " << *fn.getCounts();
  interpreter.findings.add("E0885",
                           "@" + op.getKernel().str() + " is launched in a step of " +
                               (count == plan::kManyTokens ? "many" : std::to_string(count)) +
                               (perRow ? " rows" : " tokens"),
                           why);
}

Result<void> PlanInterpreterImpl::runStep(plan::StepOp step, const Batch &batch,
                                          const std::vector<int32_t> &ids,
                                          const plan::StepCounts &counts) {
  auto section = cast<plan::SectionOp>(symbols.lookup(step.getSectionAttr().getAttr()));
  for (plan::LaunchOp op : section.launchesIn(counts)) {
    checkCounts(op, counts);
    if (auto done = runLaunch(op, step, batch, ids, counts.mode); !done)
      return done;
    if (interpreter.findings.first())
      return *interpreter.findings.first();
    if (!op.getNoBarrier())
      interpreter.timeline.barrier();
  }
  return {};
}

std::vector<std::byte> PlanInterpreterImpl::fetchRow(plan::OutputOp output, int64_t row,
                                                     int64_t bytes) {
  const std::byte *at = interpreter.memory->read(interpreter.memory->find(output.getBuffer()),
                                                 row * bytes, bytes, Items::one(0));
  return {at, at + bytes};
}

StepResult PlanInterpreterImpl::fetch(const Batch &batch, Mode mode) {
  StepResult result;
  const auto rows = int64_t(batch.logitsRows.size());
  if (mode == Mode::Logits) {
    auto type = ActivationType::get(module.getContext(), int64_t(program.getVocab()), RowKind::F32);
    result.logits = Matrix(rows, type.getN());
    for (int64_t r = 0; r < rows; ++r)
      decodeRow(type, fetchRow(entry.outputOf(plan::OutputRole::Logits), r, type.rowBytes()).data(),
                result.logits.row(r));
    fetchBeside(result.logits);
    return result;
  }
  plan::OutputOp ids = entry.outputOf(plan::OutputRole::Ids),
                 keys = entry.outputOf(plan::OutputRole::Keys);
  for (int64_t r = 0; r < rows; ++r) {
    int32_t id;
    uint64_t key;
    if (ids)
      std::memcpy(&id, fetchRow(ids, r, sizeof id).data(), sizeof id);
    else
      std::memcpy(&key, fetchRow(keys, r, sizeof key).data(), sizeof key), id = idOf(key);
    result.ids.push_back(id);
  }
  return result;
}

/// Reads the other outputs of a step that outputs logits, and checks the maxima.
void PlanInterpreterImpl::fetchBeside(const Matrix &logits) {
  auto typeOf = [&](int64_t n, RowKind kind) {
    return ActivationType::get(module.getContext(), n, kind);
  };
  if (plan::OutputOp hidden = entry.outputOf(plan::OutputRole::Hidden)) {
    ActivationType type =
        typeOf(int64_t(program.getHidden()),
               hidden.getEncoding() == plan::Encoding::Q8x2 ? RowKind::Q8x2 : RowKind::F32);
    for (int64_t r = 0; r < logits.rows; ++r)
      (void)fetchRow(hidden, r, type.rowBytes());
  }
  plan::OutputOp output = entry.outputOf(plan::OutputRole::Maxima);
  if (!output)
    return;
  ActivationType type = typeOf((logits.columns + kPanelRows - 1) / kPanelRows, RowKind::F32);
  std::vector<float> maxima(size_t(type.getN()));
  for (int64_t r = 0; r < logits.rows; ++r) {
    decodeRow(type, fetchRow(output, r, type.rowBytes()).data(), maxima);
    for (int64_t panel = 0; panel < type.getN(); ++panel) {
      auto values =
          logits.row(r).subspan(size_t(panel * kPanelRows),
                                size_t(std::min(kPanelRows, logits.columns - panel * kPanelRows)));
      if (maxima[size_t(panel)] != *std::ranges::max_element(values))
        interpreter.findings.add("E0885", "a step outputs maxima that do not match its logits",
                                 "row " + std::to_string(r) + ", panel " + std::to_string(panel));
    }
  }
}

/// Checks or clears keys and sums after a step. They must be 0 between steps. On a GPU, the launches reset them, except
/// in steps that output logits. In such steps, and on CPUs, the host clears the keys (CpuExecutor.cpp,
/// CudaExecutor.cpp).
void PlanInterpreterImpl::leaveKeys(Mode mode) {
  for (int64_t buffer : zeros) {
    const Memory::Buffer &own = interpreter.memory->buffer(buffer);
    const std::byte *at = interpreter.memory->peek(buffer, 0);
    if (!interpreter.gpu || mode == Mode::Logits) {
      if (own.persistent)
        interpreter.memory->clear(buffer);
      continue;
    }
    if (std::any_of(at, at + own.bytes, [](std::byte byte) { return byte != std::byte{0}; }))
      interpreter.findings.add(
          "E0888", "@" + own.name + " is not 0 after a step in mode " + stringifyMode(mode).str(),
          "the launches of the next step start from that value");
  }
}

Result<StepResult> PlanInterpreterImpl::step(const Step &step, Mode mode, int64_t asIf) {
  Batch batch{step.sequences, step.positions, step.logitsRows};
  if (batch.sequences.empty())
    batch.sequences.assign(step.ids.size(), 0);
  if (batch.positions.empty()) {
    batch.positions.resize(step.ids.size());
    std::iota(batch.positions.begin(), batch.positions.end(), 0);
  }
  if (batch.logitsRows.empty()) {
    batch.logitsRows.resize(step.ids.size());
    std::iota(batch.logitsRows.begin(), batch.logitsRows.end(), 0);
  }
  assert(int64_t(step.ids.size()) <= interpreter.options.tokens &&
         int64_t(batch.logitsRows.size()) <= interpreter.options.rows &&
         "the machine has no memory for such a step");
  interpreter.memory->beginStep();
  interpreter.exact.clear();
  interpreter.timeline.barrier();
  auto atLeast = [&](size_t count) { return std::max(int64_t(count), asIf); };
  const plan::StepCounts counts{mode, atLeast(step.ids.size()), atLeast(batch.logitsRows.size()),
                                atLeast(1)};
  for (plan::StepOp one : entry.getBody().getOps<plan::StepOp>())
    if (runs(one))
      if (auto done = runStep(one, batch, step.ids, counts); !done)
        return std::move(done.error());
  interpreter.timeline.begin("the host");
  StepResult result = fetch(batch, mode);
  interpreter.timeline.barrier();
  leaveKeys(mode);
  if (interpreter.findings.first())
    return *interpreter.findings.first();
  return result;
}

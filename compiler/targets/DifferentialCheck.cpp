//===- DifferentialCheck.cpp - See DifferentialCheck.h --------------------===//
#include "compiler/targets/DifferentialCheck.h"
#include "compiler/crash/CrashContext.h"
#include "compiler/options/OutputPlace.h"
#include "compiler/reference/interpreter/CheckPlan.h"
#include "compiler/reference/interpreter/PanelWeights.h"
#include "compiler/reference/interpreter/RowEncodings.h"
#include "compiler/targets/CompareRows.h"
#include "compiler/targets/StepBatch.h"
#include "dialects/kernel/ops/Custom.h"
#include "dialects/kernel/ops/Experts.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/kernel/ops/Structure.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "runtime/abi/Routes.h"
#include "runtime/sample/Sampler.h"

#include "llvm/ADT/DenseSet.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;
using kernel::ActivationType;
using kernel::RowKind;

namespace {

/// Returns the sampling parameters of the rows in a step that samples. Successive rows sample from the full vocabulary,
/// sample from a truncated list, or choose the largest logit.
std::vector<runtime::SamplingParams> waysToDraw(int64_t rows) {
  std::vector<runtime::SamplingParams> all{size_t(rows)};
  for (size_t r = 0; r < all.size(); ++r) {
    all[r].seed = 11 * r + 3;
    all[r].temperature = r % 3 == 2 ? 0.0f : 0.8f;
    if (r % 3 == 1)
      all[r].topK = 20, all[r].topP = 0.9f;
  }
  return all;
}

/// Zeroed memory aligned to 256 bytes, as executors provide it. Kernels read whole tiles of rows, so they may read
/// beyond the rows of a step.
class Bytes {
public:
  explicit Bytes(int64_t size)
      : size(size), memory(static_cast<std::byte *>(
                        std::aligned_alloc(256, size_t(roundUp(size + kBehind, 256))))) {
    std::memset(memory.get(), 0, size_t(size + kBehind));
  }
  std::byte *data() const { return memory.get(); }
  const int64_t size;
  static constexpr int64_t kBehind = 64 << 10; ///< bytes of slack after the end

private:
  struct Free {
    void operator()(std::byte *p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> memory;
};

class DifferentialCheck : public LaunchObserver {
public:
  DifferentialCheck(ModuleOp module, CodeUnderCheck &code, PanelWeights &weights, double slack)
      : module(module), code(code), weights(weights), slack(slack) {}

  void before(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode mode,
              Memory &memory) override;
  void behind(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode mode,
              Memory &memory) override;

  const std::vector<int32_t> *ids = nullptr; ///< ids of the current step
  CodeAgreement agreement;
  std::optional<Error> wrong; ///< the first error

private:
  /// Returns the operand that the compiled kernel gets. Its memory is null if there is none.
  CodeUnderCheck::Operand operand(Attribute passed, Type type, plan::StepOp step, Memory &memory);
  void compare(kernel::FuncOp fn, plan::LaunchOp launch, const Batch &batch, Memory &memory);
  void compareBuffer(kernel::FuncOp fn, unsigned argument, StringRef name, const Batch &batch,
                     Memory &memory);
  /// Checks that bytes which the launch must not touch are unchanged.
  void compareRest(kernel::FuncOp fn, plan::LaunchOp launch, const Batch &batch, Memory &memory);
  void comparePages(plan::LaunchOp launch, plan::StepOp step, const BatchView &view);
  /// Compares the tokens that a launch has sampled with the tokens that the host samples from the same logits.
  void compareDrawn(kernel::FuncOp fn, plan::LaunchOp launch, const Batch &batch, Memory &memory);
  void find(const std::string &why);

  /// The current launch, for error reports.
  struct UnderWay {
    kernel::FuncOp fn;
    plan::StepOp step;
    std::string way, op, buffer;
    double allowed = 0;
  };

  ModuleOp module;
  CodeUnderCheck &code;
  PanelWeights &weights;
  const double slack; ///< factor on the bounds
  llvm::DenseMap<Attribute, std::unique_ptr<Bytes>>
      kept; ///< kept between launches: states, and bytes that kernels share
  std::map<int64_t, std::unique_ptr<Bytes>> found,
      copies; ///< buffers of the current launch: contents before it, and the copy that it uses
  std::map<std::byte *, std::vector<std::byte>>
      earlier; ///< states and shared bytes before the current launch
  UnderWay now;
  int64_t idsOff = 0;
};

} // namespace

double compiler::boundOf(kernel::FuncOp fn, ArrayRef<CodeBound> ofDevice) {
  // The bounds that all devices have. The comments name the operations that cause a difference or exclude one.
  static constexpr CodeBound kOfAll[] = {
      {"gather", 0},         // one product
      {"rope_table", 2e-7},  // the last bit of cos and sin
      {"rope_append", 0},    // two products and a sum
      {"rowwise", 1e-6},     // the order of a mean
      {"causal_conv", 1e-6}, // the order of a sum
      {"route", 1e-6},       // exp; the choice is the same
      {"group_routes", 0},   // integers
      {"combine", 0},        // fused multiplications in one order
  };
  if (auto custom = dyn_cast<kernel::CustomOp>(fn.anchor()))
    return custom.getError().convertToDouble();
  const StringRef name = fn.anchor()->getName().stripDialect();
  auto isOfOp = [&](const CodeBound &own) { return name == own.op; };
  const CodeBound *found = llvm::find_if(ofDevice, isOfOp);
  if (found == ofDevice.end())
    found = llvm::find_if(kOfAll, isOfOp);
  assert(found != std::end(kOfAll) && "an op that the plan interpreter knows has a bound");
  if (auto append = dyn_cast<kernel::RopeAppendOp>(fn.anchor());
      append && (append.getQNorm() || append.getKNorm()))
    return found->allowed + 1e-6; // for the summation order of the means of heads
  if (auto matmul = dyn_cast<kernel::MatmulOp>(fn.anchor())) // the order matters more in a long sum
    return found->allowed * std::max(1.0, std::sqrt(double(matmul.xType().getN()) / 64));
  return found->allowed;
}

double CodeAgreement::largestOfAll() const {
  double most = 0;
  for (const auto &[op, off] : largest)
    most = std::max(most, off);
  return most;
}

void DifferentialCheck::before(plan::LaunchOp launch, plan::StepOp, const Batch &, plan::Mode,
                               Memory &memory) {
  found.clear();
  for (Attribute passed : launch.getArgs())
    if (auto ref = dyn_cast<plan::BufferRefAttr>(passed)) {
      const int64_t buffer = memory.find(ref.getSymbol().getValue());
      auto &copy = found[buffer];
      if (copy)
        continue;
      copy = std::make_unique<Bytes>(memory.buffer(buffer).bytes);
      std::memcpy(copy->data(), memory.peek(buffer, 0), size_t(copy->size));
    }
}

CodeUnderCheck::Operand DifferentialCheck::operand(Attribute passed, Type type, plan::StepOp step,
                                                   Memory &memory) {
  plan::ProgramOp program = *module.getOps<plan::ProgramOp>().begin();
  auto lent = [](Bytes &bytes) { return CodeUnderCheck::Operand{bytes.data(), bytes.size}; };
  if (auto ref = dyn_cast<plan::BufferRefAttr>(passed)) {
    const int64_t buffer = memory.find(ref.getSymbol().getValue());
    auto rows = dyn_cast<ActivationType>(type);
    if (!rows || rows.getKind() != RowKind::Bytes)
      return lent(*copies[buffer]);
    auto &own = kept[ref]; // compiled kernels share these bytes; the interpreter does not use them
    if (!own)
      own = std::make_unique<Bytes>(memory.buffer(buffer).bytes);
    return lent(*own);
  }
  if (auto ref = dyn_cast<plan::StateRefAttr>(passed)) {
    auto symbol = cast<FlatSymbolRefAttr>((*step.getStates())[ref.getIndex()]).getAttr();
    auto &pool = kept[symbol];
    if (!pool) {
      auto state = cast<plan::StateOp>(SymbolTable::lookupSymbolIn(program, symbol));
      pool = std::make_unique<Bytes>(int64_t(state.getBytes()) * StepBatch::kSequences *
                                     StepBatch::kPages);
    }
    return lent(*pool);
  }
  auto layer = dyn_cast<plan::LayerWeightRefAttr>(passed);
  auto symbol = layer ? cast<FlatSymbolRefAttr>((*step.getWeights())[layer.getIndex()])
                      : cast<plan::WeightRefAttr>(passed).getSymbol();
  auto weight = cast<plan::WeightOp>(SymbolTable::lookupSymbolIn(program, symbol.getAttr()));
  const void *packed = weights.packed(weight.getSymName(), weight.getType(),
                                      weight.getValues().value_or(ArrayRef<float>()));
  return {static_cast<std::byte *>(const_cast<void *>(packed)),
          kernel::packedBytes(weight.getType())};
}

void DifferentialCheck::find(const std::string &what) {
  if (wrong)
    return;
  kernel::FuncOp fn = now.fn;
  std::string where = "@" + fn.getSymName().str();
  if (!now.way.empty())
    where += " (" + now.way + ")";
  if (now.step.getLayer())
    where += " in layer " + std::to_string(*now.step.getLayer());
  const std::string why = what + (now.buffer.empty() ? "" : " of @" + now.buffer);
  auto custom = dyn_cast<kernel::CustomOp>(fn.anchor());
  const std::string number = custom ? errors::kWrongUserKernel : errors::kWrongKernel;
  const std::string file = "ingot-" + number + code.extension();
  const bool left = bool(writeText(code.textOf(fn), file));
  const std::string text = left ? "; its source: " + file : "";
  if (custom) {
    wrong = Error{ExitCode::File, errors::kWrongUserKernel,
                  "the kernel of " + custom.getOrigin().str() + " for " + code.name() +
                      " does not compute the op's definition",
                  where + ": " + why,
                  "correct its body or its definition, or raise the tolerance "
                  "(RowOpInterface::largestError)" +
                      text};
    return;
  }
  wrong = Error{
      ExitCode::Internal, errors::kWrongKernel,
      "the generated code of " + where + " for " + code.name() + " does not match its plan", why,
      "this is a bug in ingot: please report it with the kernel" +
          (left ? " in " + file : std::string("")) + "; another --target may avoid the problem"};
}

void DifferentialCheck::behind(plan::LaunchOp launch, plan::StepOp step, const Batch &batch,
                               plan::Mode mode, Memory &memory) {
  if (wrong)
    return;
  auto fn = module.lookupSymbol<kernel::FuncOp>(launch.getKernel());
  now = {fn, step, "", fn.anchor()->getName().stripDialect().str(), ""};
  StepBatch stepBatch(batch, *ids);
  std::vector<RowSampling> sampling;
  for (const runtime::SamplingParams &params : waysToDraw(int64_t(batch.logitsRows.size())))
    sampling.push_back(runtime::rowSampling(params));
  if (mode == plan::Mode::Drawn)
    stepBatch.draw(sampling);
  const BatchView &view = stepBatch.view();
  const size_t ways = code.waysOf(fn, view);
  if (ways == 0)
    return find("it is not in the code object");
  // Every way starts from the contents that the buffers had before the first way.
  earlier.clear();
  for (size_t way = 0; way < ways && !wrong; ++way) {
    now.way = code.nameOf(fn, way, view), now.buffer.clear();
    now.allowed = code.allowed(fn, way, view, slack);
    for (auto &[buffer, bytes] : found) {
      auto &copy = copies[buffer];
      if (!copy || copy->size != bytes->size)
        copy = std::make_unique<Bytes>(bytes->size);
      std::memcpy(copy->data(), bytes->data(), size_t(bytes->size));
    }
    SmallVector<CodeUnderCheck::Operand> operands;
    for (auto [passed, type] : llvm::zip_equal(launch.getArgs(), fn.getArgumentTypes())) {
      const CodeUnderCheck::Operand own = operand(passed, type, step, memory);
      if (!own.memory)
        return find("there is not enough memory for its operands");
      operands.push_back(own);
      const auto rows = dyn_cast<ActivationType>(type);
      if (isa<plan::StateRefAttr>(passed) ||
          (ways > 1 && rows && rows.getKind() == RowKind::Bytes)) {
        std::vector<std::byte> &was = earlier[own.memory];
        if (way == 0)
          was.assign(own.memory, own.memory + own.bytes);
        else
          std::ranges::copy(was, own.memory);
      }
    }
    suspect("the code of @" + fn.getSymName().str() +
                (now.way.empty() ? "" : " (" + now.way + ")") + " for " + code.name(),
            "it was compared with the plan interpreter",
            isa<kernel::CustomOp>(fn.anchor()) ? Whose::Theirs : Whose::Ours);
    const std::string problem = code.run(fn, way, operands, view);
    suspect("");
    if (!problem.empty())
      return find(problem);
    ++agreement.launches;
    compare(fn, launch, batch, memory);
    compareRest(fn, launch, batch, memory);
    comparePages(launch, step, view);
  }
  copies.clear();
}

void DifferentialCheck::compareDrawn(kernel::FuncOp fn, plan::LaunchOp launch, const Batch &batch,
                                     Memory &memory) {
  const auto nameAt = [&](unsigned argument) {
    return cast<plan::BufferRefAttr>(launch.getArgs()[argument]).getSymbol().getValue();
  };
  const auto logitsType = cast<ActivationType>(fn.getArgumentTypes().front());
  const auto rows = int64_t(batch.logitsRows.size());
  const std::byte *logitsRow = memory.peek(memory.find(nameAt(0)), 0);
  std::vector<float> logits(size_t(logitsType.getN()));
  runtime::Sampler sampler(logitsType.getN());
  const auto ways = waysToDraw(rows);
  now.buffer = nameAt(fn.getNumArguments() - 1).str();
  agreement.largest.try_emplace(now.op, 0);
  for (int64_t row = 0; row < rows; ++row, logitsRow += logitsType.rowBytes()) {
    decodeRow(logitsType, logitsRow, logits);
    int32_t id;
    std::memcpy(&id, copies[memory.find(now.buffer)]->data() + 4 * row, sizeof id);
    const int64_t position = batch.positions[size_t(batch.logitsRows[size_t(row)])] + 1;
    const int32_t wanted = sampler
                               .choose(logits.data(), ways[size_t(row)],
                                       /*history=*/nullptr, uint64_t(position))
                               .id;
    if (id != wanted)
      return find("the id of row " + std::to_string(row) + " is " + std::to_string(id) +
                  ", expected " + std::to_string(wanted));
  }
}

/// Returns the number of units of a step: its tokens, or its logits rows if the launch is per row.
static int64_t unitsOf(kernel::FuncOp fn, const Batch &batch) {
  return int64_t(fn.launch().isPerRow() ? batch.logitsRows.size() : batch.positions.size());
}

/// Returns the number of rows of an operand in a step.
static int64_t rowsOf(kernel::FuncOp fn, unsigned argument, const Batch &batch) {
  return unitsOf(fn, batch) * fn.launch().rowsOfUnit(fn.getArgument(argument));
}

void DifferentialCheck::compareBuffer(kernel::FuncOp fn, unsigned argument, StringRef name,
                                      const Batch &batch, Memory &memory) {
  const int64_t buffer = memory.find(name);
  now.buffer = name.str();
  const std::byte *expected = memory.peek(buffer, 0), *seen = copies[buffer]->data();
  BufferAgreement one;
  if (auto routes = dyn_cast<kernel::RoutesType>(fn.getArgumentTypes()[argument])) {
    const RoutesLayout layout{unitsOf(fn, batch) * routes.getUsed()};
    one = isa<kernel::GroupRoutesOp>(fn.anchor())
              ? compareGroupedRoutes(layout, expected, seen)
              : compareRoutes(layout, expected, seen, now.allowed);
  } else {
    const auto rows = cast<ActivationType>(fn.getArgumentTypes()[argument]);
    const int64_t count = rowsOf(fn, argument, batch);
    if (rows.getKind() == RowKind::Bytes)
      return;
    one = holdsNumbers(rows.getKind())
              ? compareNumbers(rows, count, expected, seen, now.allowed)
              : compareWords(rows, count, expected, seen, now.allowed, idsOff);
  }
  if (one.wrong)
    return find(*one.wrong);
  agreement.largest[now.op] = std::max(agreement.largest[now.op], one.largest);
  agreement.largestAbsolute = std::max(agreement.largestAbsolute, one.largestAbsolute);
}

void DifferentialCheck::compare(kernel::FuncOp fn, plan::LaunchOp launch, const Batch &batch,
                                Memory &memory) {
  if (now.op == "draw_ids")
    return compareDrawn(fn, launch, batch, memory);
  for (auto [argument, type, passed, effect] :
       llvm::enumerate(fn.getArgumentTypes(), launch.getArgs(), fn.operandEffects()))
    if (effect.writes && !wrong && isa<ActivationType, kernel::RoutesType>(type))
      compareBuffer(fn, argument, cast<plan::BufferRefAttr>(passed).getSymbol().getValue(), batch,
                    memory);
}

/// Returns the index of the first differing byte; -1 if there is none.
static int64_t firstOther(const std::byte *a, const std::byte *b, int64_t from, int64_t to) {
  if (from >= to || std::memcmp(a + from, b + from, size_t(to - from)) == 0)
    return -1;
  return std::mismatch(a + from, a + to, b + from).first - a;
}

void DifferentialCheck::compareRest(kernel::FuncOp fn, plan::LaunchOp launch, const Batch &batch,
                                    Memory &memory) {
  struct Rest {
    StringRef name;
    int64_t rowBytes; ///< 0: routes, which are not rows
    int64_t from;     ///< end of the part that the launch writes
  };
  std::map<int64_t, Rest> rests; ///< by buffer, since a buffer may be passed twice
  for (auto [argument, type, passed, effect] :
       llvm::enumerate(fn.getArgumentTypes(), launch.getArgs(), fn.operandEffects())) {
    const auto rows = dyn_cast<ActivationType>(type);
    const auto routes = dyn_cast<kernel::RoutesType>(type);
    const auto ref = dyn_cast<plan::BufferRefAttr>(passed);
    if (!ref || (rows ? rows.getKind() == RowKind::Bytes : !routes))
      continue;
    const StringRef name = ref.getSymbol().getValue();
    const int64_t buffer = memory.find(name);
    const int64_t rowBytes = rows ? rows.rowBytes() : 0;
    Rest &rest = rests.try_emplace(buffer, Rest{name, rowBytes, 0}).first->second;
    if (!effect.writes)
      continue;
    int64_t end = 0;
    if (routes) {
      const RoutesLayout layout{unitsOf(fn, batch) * routes.getUsed()};
      end = isa<kernel::GroupRoutesOp>(fn.anchor()) ? layout.end() : layout.endOfPairs();
    } else {
      end = rowsOf(fn, unsigned(argument), batch) * rowBytes;
    }
    rest.from = std::max(rest.from, end);
  }
  for (const auto &[buffer, rest] : rests) {
    const Bytes &own = *copies[buffer];
    now.buffer = rest.name.str();
    if (const int64_t at = firstOther(found[buffer]->data(), own.data(), rest.from, own.size);
        at >= 0)
      return find((rest.from == 0  ? "it writes to a read-only operand, byte "
                   : rest.rowBytes ? "it writes past the step's rows, at byte "
                                   : "it writes outside its part, at byte ") +
                  (rest.rowBytes ? std::to_string(at % rest.rowBytes) + " of row " +
                                       std::to_string(at / rest.rowBytes)
                                 : std::to_string(at)));
    const std::byte *behind = own.data() + own.size;
    if (std::any_of(behind, behind + Bytes::kBehind,
                    [](std::byte byte) { return byte != std::byte{0}; }))
      return find("it writes past the end");
  }
}

/// Checks that the step did not write to other KV pages or snapshot slots than its own.
void DifferentialCheck::comparePages(plan::LaunchOp launch, plan::StepOp step,
                                     const BatchView &view) {
  plan::ProgramOp program = *module.getOps<plan::ProgramOp>().begin();
  for (auto [passed, effect] : llvm::zip_equal(launch.getArgs(), launch.operandEffects())) {
    auto ref = dyn_cast<plan::StateRefAttr>(passed);
    if (!ref)
      continue;
    auto symbol = cast<FlatSymbolRefAttr>((*step.getStates())[ref.getIndex()]).getAttr();
    auto state = cast<plan::StateOp>(SymbolTable::lookupSymbolIn(program, symbol));
    std::byte *const own = kept[symbol]->data();
    std::set<int64_t> written;
    if (effect.writes && isa<kernel::KvPoolType>(state.memoryType()))
      for (int64_t t = 0; t < view.tokens; ++t)
        written.insert(view.blockTable[view.sequenceOf[t] * view.blockTableStride +
                                       view.positions[t] / kPageTokens]);
    else if (effect.writes)
      for (int64_t i = 0; i < view.spanCount; ++i)
        for (int64_t w = 0; w < view.stateSpans[i].writes; ++w)
          written.insert(view.stateWrites[view.stateSpans[i].firstWrite + w].slot);
    const auto bytes = int64_t(state.getBytes());
    now.buffer = symbol.getValue().str();
    for (int64_t page = 0; page < StepBatch::kSequences * StepBatch::kPages; ++page)
      if (const int64_t at = written.contains(page) ? -1
                                                    : firstOther(earlier[own].data(), own,
                                                                 page * bytes, (page + 1) * bytes);
          at >= 0)
        return find("it writes where the step has no token, at byte " +
                    std::to_string(at - page * bytes) + " of page " + std::to_string(page));
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
struct Run {
  plan::Mode mode;
  Step step;
  int64_t asIf = 1; ///< number of tokens and rows for which the specialisation is chosen
};

/// Passes the launches of a single run of the plan interpreter to the checks of all code.
class AllCode : public LaunchObserver {
public:
  void before(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode mode,
              Memory &memory) override {
    for (auto &one : each)
      one->before(launch, step, batch, mode, memory);
  }
  void behind(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode mode,
              Memory &memory) override {
    for (auto &one : each)
      one->behind(launch, step, batch, mode, memory);
  }
  std::vector<std::unique_ptr<DifferentialCheck>> each;
};
} // namespace

/// Returns the step after a step with one token for each sequence.
static Step behind(Step step) {
  for (int64_t &position : step.positions)
    ++position;
  return step;
}

/// Returns the launches of a step in `mode` with these counts of tokens and rows.
static std::vector<Operation *> launchesAt(plan::ProgramOp program, plan::Mode mode, int64_t tokens,
                                           int64_t rows) {
  std::vector<Operation *> launches;
  for (plan::SectionOp section : program.getBody().getOps<plan::SectionOp>())
    for (plan::LaunchOp launch : section.launchesIn({mode, tokens, rows, tokens}))
      launches.push_back(launch);
  return launches;
}

/// Returns the steps that cover all code. The first step has a prompt of the given number of tokens (at least two tiles
/// and two pages) and a short prompt. The second step decodes both, while another prompt begins. Modes differ only in
/// the use of the logits, so each other mode gets one step, which continues the last one. A step for each
/// specialisation that is not covered yet follows, and at the end a step of one token.
static std::vector<Run> runsOf(plan::ProgramOp program, int64_t prompt) {
  const auto vocabulary = int64_t(program.getVocab());
  auto id = [&](int64_t i) { return int32_t((i * 7919 + 13) % vocabulary); };
  Step first, second;
  for (int64_t t = 0; t < prompt; ++t)
    first.ids.push_back(id(t)), first.sequences.push_back(0), first.positions.push_back(t);
  for (int64_t t = 0; t < 3; ++t)
    first.ids.push_back(id(prompt + 5 + t)), first.sequences.push_back(2),
        first.positions.push_back(t);
  first.logitsRows = {int32_t(prompt - 1), int32_t(prompt + 2)};
  second.ids = {id(prompt + 15), id(prompt + 16), id(prompt + 17)};
  second.sequences = {0, 1, 2};
  second.positions = {prompt, 0, 3};
  second.logitsRows = {0, 1, 2};

  const std::vector<int64_t> counts = countsOfCases(program);
  std::set<std::vector<Operation *>> seen;
  std::vector<Run> runs;
  auto add = [&](plan::Mode mode, const Step &step, int64_t asIf, bool always) {
    auto atLeast = [&](size_t count) { return std::max(int64_t(count), asIf); };
    const bool isNew = seen.insert(launchesAt(program, mode, atLeast(step.ids.size()),
                                              atLeast(step.logitsRows.size())))
                           .second;
    if (isNew || always)
      runs.push_back({mode, step, asIf});
    return isNew || always;
  };
  add(plan::Mode::Logits, first, counts.size() > 1 ? plan::kManyTokens : 1, true);
  add(plan::Mode::Logits, second, 1, true);
  Step next = behind(second);
  auto goOn = [&](plan::Mode mode, int64_t asIf, bool always = false) {
    if (next.positions.front() < StepBatch::kPages * kPageTokens && add(mode, next, asIf, always))
      next = behind(next);
  };
  for (plan::Mode mode : program.generateEntry().getModes().getModes()) {
    if (mode != plan::Mode::Logits)
      goOn(mode, 1, /*always=*/true);
    if (counts.size() > 1)
      for (int64_t count : counts)
        goOn(mode, count);
  }
  const Step alone{{next.ids[0]}, {next.sequences[0]}, {next.positions[0]}, {0}};
  if (next.positions.front() < StepBatch::kPages * kPageTokens)
    add(plan::Mode::Logits, alone, 1, false);
  return runs;
}

Result<std::vector<CodeAgreement>>
compiler::checkKernels(ModuleOp plan, ArrayRef<CodeUnderCheck *> codes, double slack) {
  plan::ProgramOp program = *plan.getOps<plan::ProgramOp>().begin();
  PanelWeights weights;
  AllCode all;
  for (CodeUnderCheck *code : codes)
    all.each.push_back(std::make_unique<DifferentialCheck>(plan, *code, weights, slack));
  int64_t prompt = 35;
  for (CodeUnderCheck *code : codes)
    prompt = std::max(prompt, code->longestPrompt());
  const std::vector<Run> runs = runsOf(program, prompt);
  InterpreterOptions options;
  options.tokens = int64_t(runs.front().step.ids.size());
  options.rows = StepBatch::kSequences;
  options.layers = firstLayers(program);
  options.observer = &all;
  auto interpreter = PlanInterpreter::create(plan, weights, std::move(options));
  if (!interpreter)
    return interpreter.error();
  for (const Run &run : runs) {
    for (auto &one : all.each)
      one->ids = &run.step.ids;
    auto done = (*interpreter)->step(run.step, run.mode, run.asIf);
    if (!done)
      return done.error();
    for (auto &one : all.each)
      if (one->wrong)
        return *one->wrong;
  }
  std::vector<CodeAgreement> agreements;
  for (auto &one : all.each)
    agreements.push_back(std::move(one->agreement));
  return agreements;
}

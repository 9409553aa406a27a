//===- CheckPlan.cpp - See CheckPlan.h ------------------------------------===//
#include "compiler/reference/interpreter/CheckPlan.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <bit>
#include <cmath>
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;
using plan::Mode;

namespace {

/// Sequences 0 and 2 have a past; sequence 1 starts empty.
constexpr int64_t kShortPast = 7;

struct Slice {
  std::vector<int64_t> layers;
  int64_t past;
  uint64_t seed;
  std::vector<Step> steps;
  std::map<std::string, int64_t>
      states; ///< the index of each state of the model, by symbol; empty: as in the plan
};

plan::ProgramOp programOf(ModuleOp module) { return *module.getOps<plan::ProgramOp>().begin(); }

} // namespace

std::vector<int64_t> interpreter::firstLayers(plan::ProgramOp program) {
  std::vector<int64_t> layers;
  llvm::DenseSet<Attribute> seen;
  for (plan::StepOp step : program.generateEntry().getBody().getOps<plan::StepOp>())
    if (step.getLayer() && seen.insert(step.getSectionAttr()).second)
      layers.push_back(int64_t(*step.getLayer()));
  return layers;
}

static Slice sliceOf(ModuleOp module, uint64_t seed) {
  plan::ProgramOp program = programOf(module);
  Slice slice{firstLayers(program), 19, seed, {}, {}};
  // The past exceeds each attention window, except windows so long that generating such a past would be slow.
  for (plan::StateOp state : program.getBody().getOps<plan::StateOp>())
    if (constexpr int64_t kLongest = 1024; int64_t(state.getWindow().value_or(0)) <= kLongest)
      slice.past = std::max(slice.past, int64_t(state.getWindow().value_or(0)) + 3);
  slice.past = std::min(slice.past, int64_t(program.getMaxPositions()) / 2);
  const auto vocabulary = static_cast<float>(program.getVocab());
  auto id = [&](uint64_t i) { return static_cast<int32_t>(uniform(seed, i) * (vocabulary - 1)); };
  const int64_t past = slice.past, shortPast = std::min(kShortPast, past);
  slice.steps = {Step{{id(0), id(1), id(2), id(3), id(4), id(5)},
                      {0, 1, 1, 1, 2, 2},
                      {past, 0, 1, 2, shortPast, shortPast + 1},
                      {0, 3, 5}},
                 Step{{id(6), id(7), id(8)}, {0, 1, 2}, {past + 1, 3, shortPast + 2}, {0, 1, 2}}};
  return slice;
}

static void pretendPasts(auto &keeper, const Slice &slice) {
  keeper.pretendPast(0, slice.past, slice.seed);
  keeper.pretendPast(2, std::min(kShortPast, slice.past), slice.seed);
}

static Result<std::unique_ptr<PlanInterpreter>> interpreterFor(ModuleOp plan,
                                                               WeightProvider &weights,
                                                               const Slice &slice, bool rounds,
                                                               const CheckOptions &options) {
  InterpreterOptions how;
  how.tokens = int64_t(slice.steps.front().ids.size());
  how.rows = 3;
  how.rounds = rounds;
  how.layers = slice.layers;
  how.effects = options.effects;
  how.states = slice.states;
  how.keepsRows = options.keepsRows;
  auto interpreter = PlanInterpreter::create(plan, weights, std::move(how));
  if (interpreter)
    pretendPasts(**interpreter, slice);
  return interpreter;
}

/// Returns the logits of each step, in order.
static Result<std::vector<Matrix>> logitsOf(PlanInterpreter &interpreter, const Slice &slice) {
  std::vector<Matrix> all;
  for (const Step &step : slice.steps) {
    auto found = interpreter.step(step, Mode::Logits);
    if (!found)
      return std::move(found.error());
    all.push_back(std::move(found->logits));
  }
  return all;
}

static Result<std::vector<Matrix>> logitsOfModel(ModuleOp model, WeightProvider &weights,
                                                 const Slice &slice, ArrayRef<int64_t> layers,
                                                 Interpreter::WatchRows watch = {}) {
  auto interpreter = Interpreter::create(model, weights);
  if (!interpreter)
    return std::move(interpreter.error());
  (*interpreter)->useLayers({layers.begin(), layers.end()});
  (*interpreter)->watchRows(std::move(watch));
  KvState kv;
  pretendPasts(kv, slice);
  std::vector<Matrix> all;
  for (const Step &step : slice.steps) {
    auto logits = (*interpreter)->step(step, kv);
    if (!logits)
      return std::move(logits.error());
    all.push_back(std::move(*logits));
  }
  return all;
}

/// The largest difference between the logits of two programs, and a description of the first difference that exceeds
/// the bound, for the error's `why`.
struct Difference {
  Comparison size;
  std::string where;
};
static Difference differenceOf(const std::vector<Matrix> &a, const std::vector<Matrix> &b) {
  Difference difference;
  double largest = 0;
  for (const Matrix &logits : a)
    for (float value : logits.values)
      largest = std::max(largest, std::abs(double(value)));
  for (size_t step = 0; step < a.size(); ++step)
    for (size_t i = 0; i < a[step].values.size(); ++i) {
      const double x = a[step].values[i], y = b[step].values[i], off = std::abs(x - y);
      ++difference.size.values;
      if (!(off <= difference.size.maxAbsolute) && !std::isnan(difference.size.maxAbsolute))
        difference.size.maxAbsolute = off; // the condition is also true for NaN, which then stays
      if (off <= kLargestWiringError * largest || !difference.where.empty())
        continue;
      const int64_t columns = a[step].columns;
      difference.where = "logit " + std::to_string(int64_t(i) % columns) + " of row " +
                         std::to_string(int64_t(i) / columns) + " of step " + std::to_string(step) +
                         " is " + std::to_string(y) + ", expected " + std::to_string(x);
    }
  difference.size.maxRelative = largest > 0 ? difference.size.maxAbsolute / largest : 0;
  return difference;
}

//===----------------------------------------------------------------------===//
// Specialisations and counts
//===----------------------------------------------------------------------===//

/// Runs each step in its mode in `modes` and checks the tokens against the logits.
static Result<void> checkModes(ModuleOp plan, WeightProvider &weights, const Slice &slice,
                               const std::vector<Matrix> &logits, std::vector<Mode> modes,
                               const CheckOptions &options) {
  auto interpreter = interpreterFor(plan, weights, slice, /*rounds=*/true, options);
  if (!interpreter)
    return std::move(interpreter.error());
  for (size_t i = 0; i < slice.steps.size(); ++i) {
    const Step &step = slice.steps[i];
    auto found = (*interpreter)->step(step, modes[i]);
    if (!found)
      return std::move(found.error());
    for (size_t row = 0; row < found->ids.size(); ++row) {
      std::span<const float> values = logits[i].row(int64_t(row));
      const int64_t position = step.positions[size_t(step.logitsRows[row])];
      const auto expected = modes[i] == Mode::Drawn
                                ? drawnId(values, position)
                                : int32_t(std::ranges::max_element(values) - values.begin());
      if (found->ids[row] != expected)
        return Error{ExitCode::Internal, "E0885",
                     "steps of mode " + plan::stringifyMode(modes[i]).str() +
                         " output ids that do not match their logits",
                     "row " + std::to_string(row) + " of step " + std::to_string(i) + ": id " +
                         std::to_string(found->ids[row]) + ", expected " + std::to_string(expected),
                     ""};
    }
  }
  return {};
}

/// Checks a step's result for a row against the logits of the same token in a step of several tokens, bit for bit. `in`
/// names the checked step.
static Result<void> holdRow(const StepResult &found, int64_t row, std::span<const float> expected,
                            const std::string &in) {
  std::string other;
  if (found.logits.rows == 0) {
    const auto id = int32_t(std::ranges::max_element(expected) - expected.begin());
    if (found.ids[size_t(row)] != id)
      other = "id " + std::to_string(found.ids[size_t(row)]) + ", expected " + std::to_string(id);
  } else {
    for (size_t i = 0; i < expected.size() && other.empty(); ++i)
      if (const float value = found.logits.row(row)[i];
          std::bit_cast<uint32_t>(value) != std::bit_cast<uint32_t>(expected[i]))
        other = "logit " + std::to_string(i) + " is " + std::to_string(value) + ", expected " +
                std::to_string(expected[i]);
  }
  if (other.empty())
    return {};
  return Error{ExitCode::Internal, "E0885",
               "rows of " + in + " differ from those of a step of several tokens",
               "row " + std::to_string(row) + ": " + other, ""};
}

std::vector<int64_t> interpreter::countsOfCases(plan::ProgramOp program) {
  std::set<int64_t> counts{plan::kManyTokens};
  program.walk([&](Operation *op) {
    plan::WhenAttr when = isa<plan::WhenOp>(op)   ? cast<plan::WhenOp>(op).getWhenAttr()
                          : isa<plan::CaseOp>(op) ? cast<plan::CaseOp>(op).getWhenAttr()
                                                  : plan::WhenAttr();
    for (const plan::Condition &condition :
         when ? when.getConditions() : ArrayRef<plan::Condition>())
      if (condition.quantity != plan::Quantity::Mode)
        counts.insert(int64_t(condition.value));
  });
  return {counts.begin(), counts.end()};
}

/// Returns the launches of a step with these counts of tokens and rows, in all modes.
static std::vector<Operation *> launchesAt(plan::ProgramOp program, int64_t tokens, int64_t rows) {
  std::vector<Operation *> launches;
  for (plan::SectionOp section : program.getBody().getOps<plan::SectionOp>())
    for (Mode mode : program.generateEntry().getModes().getModes())
      for (plan::LaunchOp launch : section.launchesIn({mode, tokens, rows, tokens}))
        launches.push_back(launch);
  return launches;
}

/// Checks that a specialisation is also correct for fewer tokens or rows than it is meant for. Runs the first step, or
/// its first token alone, in each specialisation that it would not use.
static Result<void> checkCounts(ModuleOp plan, WeightProvider &weights, const Slice &slice,
                                const Matrix &some, Mode mode, const CheckOptions &options) {
  const Step &step = slice.steps.front();
  const Step first{{step.ids[0]}, {step.sequences[0]}, {step.positions[0]}, {0}};
  const auto tokens = int64_t(step.ids.size());
  std::set<std::vector<Operation *>> seen{launchesAt(programOf(plan), 1, 1),
                                          launchesAt(programOf(plan), tokens, some.rows)};
  for (int64_t count : countsOfCases(programOf(plan))) {
    if (!seen.insert(launchesAt(programOf(plan), count, count)).second)
      continue;
    auto interpreter = interpreterFor(plan, weights, slice, /*rounds=*/true, options);
    if (!interpreter)
      return std::move(interpreter.error());
    auto found = (*interpreter)->step(count < tokens ? first : step, mode, count);
    if (!found)
      return std::move(found.error());
    const std::string in =
        "the case for " +
        (count == plan::kManyTokens ? "many" : "at most " + std::to_string(count)) + " tokens";
    for (int64_t row = 0; row < (count < tokens ? 1 : some.rows); ++row)
      if (auto held = holdRow(*found, row, some.row(row), in); !held)
        return held;
  }
  return {};
}

/// Runs the first step's tokens one by one, each in its own step, and checks that their logits stay the same.
static Result<void> checkAlone(ModuleOp plan, WeightProvider &weights, const Slice &slice,
                               const Matrix &some, const CheckOptions &options) {
  auto interpreter = interpreterFor(plan, weights, slice, /*rounds=*/true, options);
  if (!interpreter)
    return std::move(interpreter.error());
  const Step &step = slice.steps.front();
  for (size_t t = 0; t < step.ids.size(); ++t) {
    auto found = (*interpreter)
                     ->step(Step{{step.ids[t]}, {step.sequences[t]}, {step.positions[t]}, {0}},
                            Mode::Logits);
    if (!found)
      return std::move(found.error());
    for (int64_t row = 0; row < some.rows; ++row)
      if (step.logitsRows[size_t(row)] == int32_t(t))
        if (auto held = holdRow(*found, 0, some.row(row), "a step of one token"); !held)
          return held;
  }
  return {};
}

Result<void> interpreter::checkCases(ModuleOp plan, WeightProvider &weights, PlanEvidence &evidence,
                                     const CheckOptions &options) {
  const Slice slice = sliceOf(plan, options.seed);
  auto interpreter = interpreterFor(plan, weights, slice, /*rounds=*/true, options);
  if (!interpreter)
    return std::move(interpreter.error());
  auto logits = logitsOf(**interpreter, slice);
  if (!logits)
    return std::move(logits.error());
  evidence.launches = (*interpreter)->launches();
  plan::EntryOp entry = programOf(plan).generateEntry();
  evidence.modes = {plan::stringifyMode(Mode::Logits).str()};
  std::vector<std::vector<Mode>> orders;
  if (options.idsToCome)
    orders = {};
  else if (entry.hasMode(Mode::Drawn))
    orders = {{Mode::Greedy, Mode::Drawn}, {Mode::Drawn, Mode::Greedy}};
  else if (entry.hasMode(Mode::Greedy))
    orders = {{Mode::Greedy, Mode::Greedy}};
  for (const std::vector<Mode> &modes : orders) {
    evidence.modes.push_back(plan::stringifyMode(modes.front()).str());
    if (auto done = checkModes(plan, weights, slice, *logits, modes, options); !done)
      return done;
  }
  if (countsOfCases(programOf(plan)).size() == 1)
    return {};
  if (auto done = checkAlone(plan, weights, slice, logits->front(), options); !done)
    return done;
  for (Mode mode : {Mode::Logits, Mode::Greedy})
    if (entry.hasMode(mode) && !(mode == Mode::Greedy && options.idsToCome))
      if (auto done = checkCounts(plan, weights, slice, logits->front(), mode, options); !done)
        return done;
  return {};
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

static lm::LayersOp layersOf(ModuleOp module) {
  lm::LayersOp found;
  module.walk([&](lm::LayersOp op) { found = op; });
  return found;
}

/// Checks that a step uses the symbols of its layer (`layer`) in the same positions in which the reference step uses
/// the symbols of the reference layer (`knownLayer`). Returns the first index at which this is not so.
static std::optional<size_t> firstStranger(ArrayAttr own, ArrayAttr known, ArrayAttr layer,
                                           ArrayAttr knownLayer) {
  for (size_t i = 0; own && i < own.size(); ++i) {
    bool fits = false;
    for (size_t j = 0; j < layer.size() && j < knownLayer.size(); ++j)
      fits |= known && i < known.size() && knownLayer[j] == known[i] && layer[j] == own[i];
    if (!fits)
      return i;
  }
  return std::nullopt;
}

/// Checks the steps outside the slice. Their launches do not run. Each step must use the weights and states of its own
/// layer in the same operand positions as the step of the same section inside the slice.
static Result<void> checkSteps(ModuleOp model, ModuleOp plan) {
  lm::LayersOp op = layersOf(model);
  llvm::DenseMap<Attribute, plan::StepOp> inSlice;
  auto wrong = [](plan::StepOp step, const std::string &why) {
    std::string what;
    llvm::raw_string_ostream(what) << "the step of layer " << *step.getLayer() << " (@"
                                   << step.getSection() << ") does not match its layer";
    return Error{ExitCode::Internal, "E0887", what, why, ""};
  };
  for (plan::StepOp step : programOf(plan).generateEntry().getBody().getOps<plan::StepOp>()) {
    if (!step.getLayer())
      continue;
    const auto layer = int64_t(*step.getLayer());
    if (layer >= int64_t(op.getKinds().size()))
      return wrong(step, "the model has " + std::to_string(op.getKinds().size()) + " layers");
    plan::StepOp known = inSlice.try_emplace(step.getSectionAttr(), step).first->second;
    const auto first = int64_t(*known.getLayer());
    for (auto [word, own, others, lists] :
         {std::tuple("weight", step.getWeightsAttr(), known.getWeightsAttr(), op.getWeights()),
          std::tuple("state", step.getStatesAttr(), known.getStatesAttr(), op.getStates())})
      if (std::optional<size_t> i = firstStranger(own, others, cast<ArrayAttr>(lists[layer]),
                                                  cast<ArrayAttr>(lists[first]))) {
        std::string why;
        llvm::raw_string_ostream(why) << word << " " << *i << " is " << own[*i] << ", where layer "
                                      << first << " takes " << others[*i];
        return wrong(step, why);
      }
  }
  return {};
}

/// Describes the first layer of the slice after which plan and model differ: "layer 3 (@global)".
static std::string firstWrongLayer(ModuleOp model, ModuleOp plan, WeightProvider &weights,
                                   Slice slice, const CheckOptions &options) {
  const std::vector<int64_t> all = slice.layers;
  for (size_t count = 1; count <= all.size(); ++count) {
    slice.layers.assign(all.begin(), all.begin() + int64_t(count));
    auto interpreter = interpreterFor(plan, weights, slice, /*rounds=*/false, options);
    if (!interpreter)
      return "";
    auto found = logitsOf(**interpreter, slice),
         expected = logitsOfModel(model, weights, slice, slice.layers);
    if (!found || !expected ||
        !(differenceOf(*expected, *found).size.maxRelative <= kLargestWiringError))
      for (plan::StepOp step : programOf(plan).generateEntry().getBody().getOps<plan::StepOp>())
        if (step.getLayer() && int64_t(*step.getLayer()) == all[count - 1])
          return "layer " + std::to_string(all[count - 1]) + " (@" + step.getSection().str() +
                 "), or the sections around it: ";
  }
  return "";
}

using Rows = std::vector<std::vector<float>>;

static bool haveOneShape(const Rows &rows, const Matrix &value) {
  return int64_t(rows.size()) == value.rows && int64_t(rows.front().size()) == value.columns;
}

/// Returns whether the rows equal the rows of a value of the model, up to rounding.
static bool areRowsOf(const Rows &rows, const Matrix &value) {
  if (!haveOneShape(rows, value))
    return false;
  double largest = 0;
  for (float number : value.values)
    largest = std::max(largest, std::abs(double(number)));
  for (int64_t r = 0; r < value.rows; ++r)
    for (int64_t i = 0; i < value.columns; ++i)
      if (!(std::abs(double(rows[size_t(r)][size_t(i)]) - double(value.row(r)[size_t(i)])) <=
            kLargestWiringError * largest))
        return false;
  return true;
}

/// Describes the first launch that writes rows which no op of the model produces: "@residual_0 of layer 3 is the first
/// launch …". Rows are ignored if no op produces rows of their shape. Maxima of logits are an example.
static std::string firstWrongLaunch(ModuleOp model, ModuleOp plan, WeightProvider &weights,
                                    const Slice &slice, CheckOptions options) {
  std::vector<Matrix> values;
  auto expected = logitsOfModel(model, weights, slice, slice.layers,
                                [&](const Matrix &rows) { values.push_back(rows); });
  options.keepsRows = true;
  auto interpreter = interpreterFor(plan, weights, slice, /*rounds=*/false, options);
  if (!interpreter || !expected || !logitsOf(**interpreter, slice))
    return "";
  for (const Written &launch : (*interpreter)->trace())
    for (const auto &[operand, rows] : launch.rows)
      if (llvm::any_of(values, [&](const Matrix &value) { return haveOneShape(rows, value); }) &&
          llvm::none_of(values, [&](const Matrix &value) { return areRowsOf(rows, value); }))
        return launch.launch +
               " is the first launch whose rows do not occur in the model, and may be the cause; ";
  return "";
}

/// Returns whether the model routes tokens to experts: if two experts score almost equally, an arbitrarily small
/// difference can then change the result a lot.
static bool hasChoices(ModuleOp plan) {
  return llvm::any_of(plan.getOps<FunctionOpInterface>(), [](FunctionOpInterface fn) {
    return llvm::any_of(fn.getArgumentTypes(), llvm::IsaPred<kernel::RoutesType>);
  });
}

static Result<void> compareWithModel(ModuleOp model, ModuleOp plan, WeightProvider &weights,
                                     PlanEvidence &evidence, const CheckOptions &options) {
  Slice slice = sliceOf(plan, options.seed);
  for (auto [i, state] :
       llvm::enumerate((*model.getOps<lm::ModelOp>().begin()).getBody().getOps<lm::StateOp>()))
    slice.states[state.getSymName().str()] = int64_t(i);
  auto expected = logitsOfModel(model, weights, slice, slice.layers);
  if (!expected)
    return std::move(expected.error());
  for (bool rounds : {false, true}) {
    auto interpreter = interpreterFor(plan, weights, slice, rounds, options);
    if (!interpreter)
      return std::move(interpreter.error());
    auto found = logitsOf(**interpreter, slice);
    if (!found)
      return std::move(found.error());
    Difference difference = differenceOf(*expected, *found);
    difference.size.layers = int64_t(slice.layers.size());
    (rounds ? evidence.rounding : evidence.wiring) = difference.size;
    if (!rounds && !(difference.size.maxRelative <= kLargestWiringError))
      return Error{ExitCode::Internal, "E0883", "the plan's result differs from the model's",
                   firstWrongLayer(model, plan, weights, slice, options) +
                       firstWrongLaunch(model, plan, weights, slice, options) + difference.where +
                       " without rounding (relative " +
                       std::to_string(difference.size.maxRelative) + ", allowed 0.0001)",
                   ""};
  }
  return {};
}

Result<void> interpreter::checkLowering(ModuleOp model, ModuleOp plan, WeightProvider &weights,
                                        PlanEvidence &evidence, const CheckOptions &options) {
  if (auto done = checkSteps(model, plan); !done)
    return done;
  Result<void> compared = compareWithModel(model, plan, weights, evidence, options);
  // If a close choice between experts caused the difference, other prompts avoid it. A real error shows with all
  // prompts.
  CheckOptions others = options;
  for (int left = hasChoices(plan) ? 2 : 0; left && !compared; --left) {
    ++others.seed;
    if (Result<void> again = compareWithModel(model, plan, weights, evidence, others))
      return again;
  }
  return compared;
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

Result<void> interpreter::checkPlanning(ModuleOp before, ModuleOp after, WeightProvider &weights,
                                        const CheckOptions &options) {
  const Slice slice = sliceOf(before, options.seed);
  std::vector<Matrix> logits[2];
  std::vector<Written> traces[2];
  for (size_t i = 0; i < 2; ++i) {
    auto interpreter = interpreterFor(i ? after : before, weights, slice, /*rounds=*/true, options);
    if (!interpreter)
      return std::move(interpreter.error());
    auto found = logitsOf(**interpreter, slice);
    if (!found)
      return std::move(found.error());
    logits[i] = std::move(*found);
    traces[i] = (*interpreter)->trace();
  }
  for (size_t step = 0; step < slice.steps.size(); ++step)
    for (size_t i = 0; i < logits[0][step].values.size(); ++i) {
      const float a = logits[0][step].values[i], b = logits[1][step].values[i];
      if (std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b))
        continue;
      auto [first, second] =
          std::ranges::mismatch(traces[0], traces[1], [](const Written &x, const Written &y) {
            return x.numbers == y.numbers;
          });
      return Error{ExitCode::Internal, "E0884", "planning changed the result",
                   (second == traces[1].end()
                        ? ""
                        : second->launch + " is the first launch with a different output; ") +
                       "logit " + std::to_string(int64_t(i) % logits[0][step].columns) +
                       " of step " + std::to_string(step) + " is " + std::to_string(b) +
                       ", expected " + std::to_string(a),
                   ""};
    }
  return {};
}

//===- CompiledKernelsTest.cpp - Compiled kernels against the slow machine ---===//
//
// Every launch of a plan, compiled for this CPU, on the memory that the machine's own launch found: what both leave
// is held against each other, by a table of bounds. Weights are random panels, which the machine reads de-quantised.
//===----------------------------------------------------------------------===//
#include "LoweredModel.h"
#include "PanelReference.h"

#include "compiler/reference/Products.h"
#include "compiler/reference/machine/RowForms.h"
#include "compiler/reference/machine/SlowMachine.h"
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/Structure.h"
#include "dialects/lm/ops/Weights.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "runtime/abi/Routes.h"

using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::machine;
using cpu::test::Buffer;
using cpu::test::RandomWeight;
using ingot::test::readFrom;
using kernel::RowKind;
using kernel::RowsType;
using tests::LoweredModel;

namespace {

/// How far a compiled op may be from the machine's, against the largest magnitude of the row; 0: to the bit. A q8 row may
/// be a code off beside that.
struct Bound {
  const char *op;
  double allowed;
};
constexpr Bound kBounds[] = {
    {"gather", 0},         // one product
    {"rope_table", 2e-7},  // the last bit of cos and sin
    {"rope_append", 0},    // two products and a sum
    {"rowwise", 1e-6},     // the order of a mean
    {"matmul", 2e-6},      // the order of sums; exp
    {"attention", 1e-6},   // online softmax, exp
    {"causal_conv", 1e-6}, // the order of a sum
    {"route", 1e-6},       // exp; the choice is the same
    {"group_routes", 0},   // integers
    {"combine", 0},        // fused multiplications in one order
};
constexpr double kCode = 1.01 / 127;
/// Over caches of int8 queries and weights of positions are int8 too (docs/numerics.md), which the machine does not do.
constexpr double kInt8Attention = 0.01;

class PanelWeights : public WeightProvider {
public:
  Result<void> row(lm::WeightOp weight, int64_t index, std::span<float> out) override {
    const std::vector<float> &all = numbersOf(weight);
    std::copy_n(all.begin() + index * weight.getType().columns(), out.size(), out.begin());
    return {};
  }
  Result<Matrix> multiply(lm::WeightOp weight, const Matrix &x, int64_t matrix) override {
    Matrix y(x.rows, weight.getType().rows());
    multiplyRows(x, numbersOf(weight).data() + matrix * y.columns * x.columns, y.columns,
                 y.values.data(), y.columns);
    return y;
  }
  void *address(plan::WeightOp weight) {
    const lm::WeightType type = weight.getType();
    Own &own = make(weight.getSymName(), type);
    if (auto values = weight.getValues())
      std::copy(values->begin(), values->end(), own.vector->data());
    return type.isVector() ? static_cast<void *>(own.vector->data()) : own.panels->data();
  }

private:
  struct Own {
    std::unique_ptr<Buffer<char>> panels; ///< of all matrices
    std::unique_ptr<Buffer<float>> vector;
    std::vector<float> numbers;
  };
  Own &make(llvm::StringRef name, lm::WeightType type) {
    Own &own = all[name.str()];
    if (own.panels || own.vector)
      return own;
    const auto seed = unsigned(all.size());
    if (type.isVector()) {
      own.vector = std::make_unique<Buffer<float>>(size_t(roundUp(type.rows(), 32)));
      for (int64_t i = 0; i < type.rows(); ++i)
        own.numbers.push_back((*own.vector)[size_t(i)] = 1 + 0.01f * float((i * 7 + seed) % 31));
      return own;
    }
    own.panels = std::make_unique<Buffer<char>>(size_t(kernel::panelLayoutOf(type).bytes()));
    for (int64_t matrix = 0; matrix < type.matrices(); ++matrix) {
      const RandomWeight made(type.getFormat(), type.rows(), type.columns(),
                              seed + 1000 * unsigned(matrix));
      std::memcpy(own.panels->data() + matrix * made.layout.bytes(), made.bytes.data(),
                  size_t(made.layout.bytes()));
      for (int64_t n = 0; n < type.rows(); ++n)
        for (int64_t k = 0; k < type.columns(); ++k)
          own.numbers.push_back(made.value(n, k));
    }
    return own;
  }
  const std::vector<float> &numbersOf(lm::WeightOp weight) {
    return make(weight.getSymName(), weight.getType()).numbers;
  }
  std::map<std::string, Own> all;
};

/// Runs the compiled kernel beside each launch.
class Lockstep : public LaunchObserver {
public:
  Lockstep(LoweredModel &model, PanelWeights &weights, const cpu::Isa &isa)
      : model(model), weights(weights), isa(isa) {
    llvm::SmallVector<kernel::FuncOp> kernels(model.get().getOps<kernel::FuncOp>());
    auto image = cpu::compileKernels(kernels, isa, {});
    EXPECT_TRUE(succeeded(image));
    const int fd = memfd_create("kernels", MFD_CLOEXEC);
    EXPECT_EQ(write(fd, image->data(), image->size()), ssize_t(image->size()));
    handle = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(handle) << dlerror();
    for (plan::StateOp state : model.program().getBody().getOps<plan::StateOp>())
      pools[state.getSymNameAttr()] =
          std::make_unique<Buffer<char>>(size_t(state.getBytes()) * kSequences);
  }

  void before(plan::LaunchOp launch, plan::StepOp, const Batch &, plan::Mode,
              Memory &memory) override {
    copies.clear();
    for (mlir::Attribute passed : launch.getArgs())
      if (auto ref = llvm::dyn_cast<plan::BufferRefAttr>(passed)) {
        const int64_t buffer = memory.find(ref.getSymbol().getValue());
        auto &copy = copies[buffer];
        if (copy)
          continue;
        copy = std::make_unique<Buffer<char>>(size_t(memory.buffer(buffer).bytes));
        std::memcpy(copy->data(), memory.peek(buffer, 0), copy->bytes());
      }
  }
  void behind(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode mode,
              Memory &memory) override;

  std::vector<int32_t> ids;              ///< of the step under way
  std::map<std::string, double> largest; ///< difference seen, by op

private:
  static constexpr int64_t kSequences = 3;

  void *address(mlir::Attribute passed, plan::StepOp step, Memory &memory);
  void call(kernel::FuncOp fn, std::vector<void *> args, const Batch &batch);
  double compareRoutes(const std::string &op, RoutesLayout layout, Memory &memory, int64_t buffer);
  void compare(kernel::FuncOp fn, plan::LaunchOp launch, const Batch &batch, Memory &memory);

  LoweredModel &model;
  PanelWeights &weights;
  const cpu::Isa &isa;
  void *handle = nullptr;
  llvm::DenseMap<mlir::Attribute, std::unique_ptr<Buffer<char>>> pools; ///< by state
  std::map<int64_t, std::unique_ptr<Buffer<char>>> copies;
};

} // namespace

void *Lockstep::address(mlir::Attribute passed, plan::StepOp step, Memory &memory) {
  if (auto ref = llvm::dyn_cast<plan::BufferRefAttr>(passed))
    return copies[memory.find(ref.getSymbol().getValue())]->data();
  if (auto ref = llvm::dyn_cast<plan::StateRefAttr>(passed))
    return pools[llvm::cast<mlir::FlatSymbolRefAttr>((*step.getStates())[ref.getIndex()]).getAttr()]
        ->data();
  auto layer = llvm::dyn_cast<plan::LayerWeightRefAttr>(passed);
  auto symbol = layer ? llvm::cast<mlir::FlatSymbolRefAttr>((*step.getWeights())[layer.getIndex()])
                      : llvm::cast<plan::WeightRefAttr>(passed).getSymbol();
  return weights.address(mlir::cast<plan::WeightOp>(
      mlir::SymbolTable::lookupSymbolIn(model.program(), symbol.getAttr())));
}

void Lockstep::call(kernel::FuncOp fn, std::vector<void *> args, const Batch &batch) {
  std::vector<int32_t> positions(batch.positions.begin(), batch.positions.end()), table;
  for (int32_t page = 0; page < kSequences; ++page)
    table.push_back(page); // sequences stay within a page
  std::vector<AttentionTile> tiles;
  for (size_t t = 0; t < positions.size(); ++t)
    if (t > 0 && batch.sequences[t] == batch.sequences[t - 1])
      ++tiles.back().tokens;
    else
      tiles.push_back({int32_t(t), 1, batch.sequences[t], positions[t]});
  BatchView view{};
  view.tokens = int64_t(positions.size()), view.sequences = kSequences;
  view.rows = int64_t(batch.logitsRows.size()), view.tiles = int64_t(tiles.size());
  view.ids = ids.data(), view.positions = positions.data();
  view.sequenceOf = batch.sequences.data(), view.rowTokens = batch.logitsRows.data();
  view.attentionTiles = tiles.data(), view.blockTable = table.data(), view.blockTableStride = 1;
  const kernel::WorkItems items = fn.launch().workItems();
  std::vector<StateSpan> spans; // the version of a sequence is replaced where it lies
  std::vector<StateWrite> writes;
  for (const AttentionTile &tile : tiles) {
    writes.push_back({tile.firstToken + tile.tokens - 1, tile.sequence});
    spans.push_back({tile.firstToken, tile.tokens, tile.firstPosition ? tile.sequence : -1,
                     int32_t(writes.size()) - 1, 1, 0});
  }
  view.stateSpans = spans.data(), view.spanCount = int64_t(spans.size());
  view.stateWrites = writes.data();
  int64_t counts[kernel::WorkItems::Spans + 1] = {1, view.tokens, view.rows, view.tiles};
  counts[kernel::WorkItems::Spans] = view.spanCount;
  Buffer<char> scratch(size_t(cpu::scratchBytes(fn)) + 64);
  auto kernel = reinterpret_cast<cpu::KernelFn>(dlsym(handle, fn.getSymName().str().c_str()));
  ASSERT_TRUE(kernel);
  kernel(args.data(), &view, 0, counts[items.base] * items.factor, 1, scratch.data());
}

void Lockstep::behind(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode,
                      Memory &memory) {
  auto fn = model.get().lookupSymbol<kernel::FuncOp>(launch.getKernel());
  std::vector<void *> args;
  for (mlir::Attribute passed : launch.getArgs())
    args.push_back(address(passed, step, memory));
  call(fn, std::move(args), batch);
  compare(fn, launch, batch, memory);
}

/// How far the weights are off that a launch leaves in a buffer of routes. Whatever else it leaves is the same.
double Lockstep::compareRoutes(const std::string &op, RoutesLayout layout, Memory &memory,
                               int64_t buffer) {
  const auto *expected = reinterpret_cast<const char *>(memory.peek(buffer, 0)),
             *found = copies[buffer]->data();
  auto same = [&](int64_t at, int64_t words) {
    EXPECT_EQ(std::memcmp(expected + at, found + at, size_t(4 * words)), 0)
        << op << ", byte " << at;
  };
  if (op == "group_routes") {
    int32_t segments;
    std::memcpy(&segments, expected + layout.count(), 4);
    same(layout.row(), 2 * layout.pairs), same(layout.count(), 1);
    same(layout.segments(), 3 * segments);
    return 0;
  }
  same(layout.expert(), layout.pairs);
  double off = 0;
  for (int64_t at = layout.weight(); at < layout.row(); at += 4)
    off = std::max(off, std::abs(double(readFrom<float>(expected + at)) -
                                 double(readFrom<float>(found + at))));
  EXPECT_LE(off, std::ranges::find(kBounds, op, &Bound::op)->allowed);
  return off;
}

void Lockstep::compare(kernel::FuncOp fn, plan::LaunchOp launch, const Batch &batch,
                       Memory &memory) {
  const std::string op = fn.anchor()->getName().stripDialect().str();
  const auto units = fn.launch().isPerRow() ? batch.logitsRows.size() : batch.positions.size();
  const auto *bound = std::ranges::find(kBounds, op, &Bound::op);
  ASSERT_NE(bound, std::end(kBounds)) << op;
  auto attention = llvm::dyn_cast<kernel::AttentionOp>(fn.anchor());
  const bool int8 = attention && attention.getKv().getType().getFormat() == KvFormat::Int8;
  for (auto [argument, type, passed, effect] :
       llvm::enumerate(fn.getArgumentTypes(), launch.getArgs(), fn.operandEffects())) {
    auto rows = llvm::dyn_cast<RowsType>(type);
    auto routes = llvm::dyn_cast<kernel::RoutesType>(type);
    if (!effect.writes || !(routes || (rows && holdsNumbers(rows.getKind()))))
      continue;
    const int64_t buffer =
        memory.find(llvm::cast<plan::BufferRefAttr>(passed).getSymbol().getValue());
    if (routes) {
      const RoutesLayout layout{int64_t(units) * routes.getUsed()};
      largest[op] = std::max(largest[op], compareRoutes(op, layout, memory, buffer));
      continue;
    }
    std::vector<float> expected(size_t(rows.getN())), found(expected.size());
    const size_t count = units * size_t(fn.launch().rowsOfUnit(fn.getArgument(argument)));
    for (size_t unit = 0; unit < count; ++unit) {
      const int64_t at = int64_t(unit) * rows.rowBytes();
      decodeRow(rows, memory.peek(buffer, at), expected);
      decodeRow(rows, reinterpret_cast<const std::byte *>(copies[buffer]->data()) + at, found);
      double size = 0, off = 0;
      for (size_t i = 0; i < expected.size(); ++i) {
        size = std::max(size, double(std::abs(expected[i])));
        off = std::max(off, std::abs(double(found[i]) - double(expected[i])));
      }
      const double allowed = bound->allowed + (rows.getKind() == RowKind::Q8 ? kCode : 0) +
                             (int8 ? kInt8Attention : 0);
      EXPECT_LE(off, allowed * size)
          << launch.getKernel().str() << " row " << unit << " at " << std::string(isa.name);
      largest[op] = std::max(largest[op], size > 0 ? off / size : 0);
    }
  }
}

/// What was seen goes to `largest`.
static void runInLockstep(const std::string &lowering, const char *name,
                          std::map<std::string, double> &largest) {
  for (const cpu::Isa *isa : cpu::test::hostIsas()) {
    LoweredModel model(lowering, name);
    PanelWeights weights;
    Lockstep lockstep(model, weights, *isa);
    MachineOptions options;
    options.observer = &lockstep;
    auto machine = SlowMachine::create(model.get(), weights, options);
    ASSERT_TRUE(machine) << machine.error().format();
    const Step steps[] = {{{5, 17, 33, 8, 90}, {0, 0, 0, 2, 2}, {0, 1, 2, 0, 1}, {2, 4}},
                          {{71, 20, 3}, {0, 1, 2}, {3, 0, 2}, {0, 1, 2}}};
    std::vector<int32_t> ids;
    for (plan::Mode mode : {plan::Mode::Logits, plan::Mode::Greedy})
      for (const Step &step : steps) {
        lockstep.ids = step.ids;
        auto found = (*machine)->step(step, mode);
        ASSERT_TRUE(found) << found.error().format();
      }
    for (auto [op, off] : lockstep.largest) {
      std::printf("%-12s %-7s largest difference %.2g\n", op.c_str(),
                  std::string(isa->name).c_str(), off);
      largest[op] = std::max(largest[op], off);
    }
  }
}

static void runInLockstep(const std::string &lowering) {
  std::map<std::string, double> largest;
  for (const char *name : {"model", "conv", "experts", "ordered"})
    runInLockstep(lowering, name, largest);
  EXPECT_EQ(largest.size(), std::size(kBounds)); // each op was seen
}

TEST(CompiledKernels, OfFastPlans) { runInLockstep("ingot-lower"); }
TEST(CompiledKernels, OfExactPlans) {
  runInLockstep(
      "lm-lower-to-plan{precision=exact kv=f32},kernel-fold-argmax{device=cpu},plan-expand-cases,"
      "plan.program(plan-elide-barriers,plan-pack-buffers)");
}
TEST(CompiledKernels, OfCachesInInt8) {
  runInLockstep("lm.model(lm-choose-forms),lm-lower-to-plan{kv=int8},"
                "kernel-fold-argmax{device=cpu},plan-expand-cases,"
                "plan.program(plan-elide-barriers,plan-pack-buffers)");
}

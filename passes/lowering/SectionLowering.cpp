//===- SectionLowering.cpp - Op by op, one launch each --------------------===//
//
// Rows that pass between launches are held as f32, in a rounded form, or as both. The
// rounded form is what projections multiply with: on CPUs q8 (int8 with a scale per 32
// values; q8x2 before the head) where a quantised weight reads them in `fast`, on GPUs bf16
// for every projection. All else reads f32. Who makes a value writes the forms that its
// readers need; where it cannot write the rounded form itself, a row-wise launch converts.
//===----------------------------------------------------------------------===//
#include "passes/lowering/SectionLowering.h"
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/CausalConv.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Region.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/kernel/ops/Rows.h"
#include "dialects/lm/LmOps.h"
#include "dialects/plan/ops/Section.h"
#include "passes/lowering/RegionLowering.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot;
using kernel::Extent;
using kernel::RowKind;
using kernel::RowsType;

namespace ingot {

class SectionLowering {
public:
  SectionLowering(ProgramBuilder &program, plan::SectionOp section, Block &block)
      : program(program), section(section), block(block),
        roundedKind(program.choices.bf16Rows                ? RowKind::BF16
                    : isa<lm::EntryOp>(block.getParentOp()) ? RowKind::Q8x2
                                                            : RowKind::Q8) {}

  /// Lowers the ops of [first, last) and binds results; `known` values were bound before.
  LogicalResult lowerRange(Block::iterator first, Block::iterator last) {
    for (auto it = first; it != last; ++it)
      if (failed(lower(&*it)))
        return failure();
    return success();
  }

  /// The value lives in that buffer as f32 rows.
  void bind(Value value, StringRef buffer, Extent extent) {
    forms[value] = {buffer.str(), "", extent};
  }
  /// Makes sure that `value` ends up in the buffer, with a copy if need be.
  void moveTo(Value value, StringRef buffer);
  std::string f32BufferOf(Value value) { return forms[value].f32; }
  void bindWeight(Value value, Attribute ref) { weights[value] = ref; }
  void launchTable(const ProgramBuilder::Table &table);

private:
  struct Forms {
    std::string f32, rounded;
    Extent extent = Extent::Tokens;
    std::string fp8 = {};
  };

  LogicalResult lower(Operation *op);
  LogicalResult lowerEmbed(lm::EmbedOp op);
  LogicalResult lowerMatmul(Operation *top, ArrayRef<Operation *> ops, StringRef hint);
  LogicalResult lowerRowwise(Operation *top, ArrayRef<Operation *> ops, StringRef hint);
  LogicalResult lowerRopeAppend(Operation *top, ArrayRef<Operation *> ops);
  LogicalResult lowerAttention(lm::AttentionOp op);
  LogicalResult lowerCausalConv(lm::CausalConvOp op);

  // What readers need of a value.
  bool readsRounded(OpOperand &use) const {
    auto linear = dyn_cast<lm::LinearOp>(use.getOwner());
    return linear && use.getOperandNumber() == 0 && !program.choices.exact &&
           (program.choices.bf16Rows || linear.getWeight().getType().numeric().hasIntegerCodes());
  }
  bool needsRounded(Value value) const {
    return llvm::any_of(value.getUses(), [&](OpOperand &use) { return readsRounded(use); });
  }
  bool needsF32(Value value) const {
    return llvm::any_of(value.getUses(), [&](OpOperand &use) { return !readsRounded(use); });
  }
  /// No op after `top` reads the value (and it does not leave the section).
  bool diesAt(Value value, Operation *top) const {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      Operation *ancestor = block.findAncestorOpInBlock(*user);
      return ancestor && (ancestor == top || ancestor->isBeforeInBlock(top)) &&
             !ancestor->hasTrait<OpTrait::IsTerminator>();
    });
  }

  MLIRContext *context() { return section.getContext(); }
  RowsType rows(int64_t n, RowKind kind) { return RowsType::get(context(), n, kind); }
  Attribute bufferRef(StringRef name) {
    return plan::BufferRefAttr::get(context(), FlatSymbolRefAttr::get(context(), name));
  }
  LaunchOperand f32Operand(Value value) {
    return {rows(lm::widthOf(value), RowKind::F32), bufferRef(forms[value].f32)};
  }
  LaunchOperand roundedOperand(Value value) {
    return {rows(lm::widthOf(value), roundedKind), bufferRef(forms[value].rounded)};
  }
  /// The memory of a state, as a value of it names it.
  LaunchOperand stateOperand(Value value) {
    BlockArgument argument = lm::stateArgumentOf(value);
    lm::StateType type = cast<lm::StateType>(value.getType());
    Type memory;
    if (lm::FixedAttr fixed = type.fixed()) {
      memory = kernel::FixedStateType::get(context(), fixed);
    } else {
      lm::StreamAttr keys = type.paged().getStreams().front();
      memory =
          kernel::KvPoolType::get(context(), keys.getRows(), keys.getWidth(), program.choices.kv);
    }
    program.stateUses[argument].memory = memory;
    return {memory, plan::StateRefAttr::get(context(), argument.getArgNumber() - 1)};
  }
  LaunchOperand weightOperand(Value value) { return {value.getType(), weights.lookup(value)}; }
  LaunchOperand newRows(StringRef hint, Value value, RowKind kind, Extent extent) {
    RowsType type = rows(lm::widthOf(value), kind);
    std::string name = program.addBuffer(hint, type, extent, false).getSymName().str();
    Forms &form = forms[value];
    form.extent = extent;
    (kind == RowKind::F32 ? form.f32 : kind == RowKind::FP8 ? form.fp8 : form.rounded) = name;
    return {type, bufferRef(name)};
  }
  void launch(StringRef hint, ArrayRef<LaunchOperand> operands,
              llvm::function_ref<void(ImplicitLocOpBuilder &, ValueRange)> build);
  /// A row-wise launch that writes `to` from `from`, element by element.
  void copyRows(StringRef hint, LaunchOperand from, LaunchOperand to, Extent extent);
  /// The fp8 form, written from the rounded one where it is first asked for.
  LaunchOperand fp8Operand(Value value);
  /// Writes the rounded form from the f32 form.
  void addRounded(Value value);

  ProgramBuilder &program;
  plan::SectionOp section;
  Block &block;
  /// How projections are fed. On CPUs the head (the entry's own projections) gets two planes: it runs on few rows
  /// and waits for memory, and int8 costs more quality there than in any other projection (docs/numerics.md).
  const RowKind roundedKind;
  llvm::DenseMap<Value, Forms> forms;
  llvm::DenseMap<Value, Attribute> weights;
};

} // namespace ingot

void SectionLowering::launch(StringRef hint, ArrayRef<LaunchOperand> operands,
                             llvm::function_ref<void(ImplicitLocOpBuilder &, ValueRange)> build) {
  std::string kernel = program.kernelFor(hint, operands, build);
  auto b = ImplicitLocOpBuilder::atBlockEnd(section.getLoc(), &section.getBody().front());
  SmallVector<Attribute> refs;
  for (const LaunchOperand &operand : operands)
    refs.push_back(operand.ref);
  plan::LaunchOp::create(b, kernel, b.getArrayAttr(refs), /*no_barrier=*/false);
}

void SectionLowering::copyRows(StringRef hint, LaunchOperand from, LaunchOperand to,
                               Extent extent) {
  launch(hint, {from, to}, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    auto op = kernel::RowwiseOp::create(b, args.take_front(1), args.drop_front(1), extent,
                                        /*gather=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&op.getBody(), {}, b.getF32Type(), b.getLoc());
    kernel::YieldOp::create(b, op.getBody().getArguments());
  });
}

void SectionLowering::addRounded(Value value) {
  LaunchOperand from = f32Operand(value);
  bool bf16 = roundedKind == RowKind::BF16;
  copyRows(bf16 ? "round" : "quantize", from,
           newRows(bf16 ? "r" : "q", value, roundedKind, forms[value].extent), forms[value].extent);
}

LaunchOperand SectionLowering::fp8Operand(Value value) {
  if (!forms[value].fp8.empty())
    return {rows(lm::widthOf(value), RowKind::FP8), bufferRef(forms[value].fp8)};
  LaunchOperand from = roundedOperand(value),
                to = newRows("e", value, RowKind::FP8, forms[value].extent);
  launch("fp8", {from, to}, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    kernel::Fp8RowsOp::create(b, args[0], args[1], forms[value].extent);
  });
  return to;
}

void SectionLowering::moveTo(Value value, StringRef buffer) {
  if (forms[value].f32 == buffer)
    return;
  copyRows("copy", f32Operand(value), {rows(lm::widthOf(value), RowKind::F32), bufferRef(buffer)},
           forms[value].extent);
  forms[value].f32 = buffer.str();
}

void SectionLowering::launchTable(const ProgramBuilder::Table &table) {
  auto *symbols = program.program.getOperation();
  auto frequencies = cast<plan::WeightOp>(SymbolTable::lookupSymbolIn(symbols, table.symbol));
  LaunchOperand weight{
      frequencies.getType(),
      plan::WeightRefAttr::get(context(), FlatSymbolRefAttr::get(context(), table.symbol))};
  launch("rope_table", {weight, {table.rows, bufferRef(table.buffer)}},
         [&](ImplicitLocOpBuilder &b, ValueRange args) {
           kernel::RopeTableOp::create(b, args[0], args[1], b.getF32FloatAttr(table.factor));
         });
}

LogicalResult SectionLowering::lower(Operation *op) {
  if (auto get = dyn_cast<lm::GetWeightOp>(op)) {
    bindWeight(get, plan::WeightRefAttr::get(context(), get.getWeightAttr()));
    return success();
  }
  if (auto fused = dyn_cast<lm::FusedOp>(op)) {
    SmallVector<Operation *> ops;
    for (Operation &inner : fused.getBody().front().without_terminator())
      ops.push_back(&inner);
    if (llvm::any_of(ops, llvm::IsaPred<lm::KvAppendOp>))
      return lowerRopeAppend(op, ops);
    if (llvm::any_of(ops, llvm::IsaPred<lm::LinearOp>))
      return lowerMatmul(op, ops, fused.getPattern());
    return lowerRowwise(op, ops, fused.getPattern());
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](lm::EmbedOp embed) { return lowerEmbed(embed); })
      .Case([&](lm::LinearOp) { return lowerMatmul(op, {op}, "linear"); })
      .Case([&](lm::AttentionOp attention) { return lowerAttention(attention); })
      .Case([&](lm::CausalConvOp conv) { return lowerCausalConv(conv); })
      .Case([&](lm::KvAppendOp) { return lowerRopeAppend(op, {op}); })
      .Case([&](lm::RmsNormOp norm) -> LogicalResult {
        if (norm.getHeads() != 1)
          return norm.emitOpError(
              "of heads is lowered only where keys enter the cache (pattern rope_append)");
        return lowerRowwise(op, {op}, "norm");
      })
      .Case([&](lm::LayerNormOp) { return lowerRowwise(op, {op}, "norm"); })
      .Case<lm::AddOp, lm::MulOp, lm::ScaleOp, lm::ActivationOp, lm::SoftcapOp, lm::SelectRowsOp>(
          [&](Operation *) { return lowerRowwise(op, {op}, op->getName().stripDialect()); })
      .Default([](Operation *other) { return other->emitOpError("has no kernel"); });
}

LogicalResult SectionLowering::lowerEmbed(lm::EmbedOp op) {
  LaunchOperand weight = weightOperand(op.getWeight()),
                y = newRows("embedded", op.getResult(), RowKind::F32, Extent::Tokens);
  // The embedding is the hidden state: written where layers expect it.
  if (lm::widthOf(op.getResult()) == int64_t(program.program.getHidden())) {
    forms[op.getResult()].f32 = "x";
    y.ref = bufferRef("x");
  }
  launch("embed", {weight, y}, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    kernel::GatherOp::create(b, args[0], args[1], op.getScaleAttr());
  });
  if (needsRounded(op.getResult()))
    addRounded(op.getResult());
  return success();
}

/// The value as it is seen outside of the region it is yielded from.
static Value outside(Value value, Operation *top) {
  auto fused = dyn_cast<lm::FusedOp>(top);
  if (!fused)
    return value;
  auto yields = fused.getBody().front().getTerminator()->getOperands();
  auto it = llvm::find(yields, value);
  return it == yields.end() ? Value() : fused.getResult(it - yields.begin());
}

LogicalResult SectionLowering::lowerMatmul(Operation *top, ArrayRef<Operation *> ops,
                                           StringRef hint) {
  SmallVector<lm::LinearOp> linears;
  llvm::SmallPtrSet<Operation *, 8> inside(ops.begin(), ops.end());
  for (Operation *op : ops)
    if (auto linear = dyn_cast<lm::LinearOp>(op))
      linears.push_back(linear);
  Value x = linears.front().getX();
  if (llvm::any_of(linears, [&](lm::LinearOp linear) { return linear.getX() != x; }))
    return top->emitOpError("expects projections of one input");

  // With elementwise ops behind them all linears belong to one segment (two: a pair), else each is its own.
  bool single = ops.size() > linears.size() || linears.size() == 1;
  if (single && top->getNumResults() != 1)
    return top->emitOpError("expects one result behind a projection and its epilogue");
  bool pair = single && linears.size() == 2;
  if (single && linears.size() > 2)
    return top->emitOpError("expects at most two projections in one epilogue");
  if (pair && hint == "gate_up") // gate (the activated one) first
    if (isa<lm::MulOp>(*linears[0]->user_begin()))
      std::swap(linears[0], linears[1]);

  bool rounded = readsRounded(linears.front()->getOpOperand(0));
  Extent extent = forms[x].extent;
  SmallVector<LaunchOperand> operands{rounded ? roundedOperand(x) : f32Operand(x)};
  for (lm::LinearOp linear : linears)
    operands.push_back(weightOperand(linear.getWeight()));

  // aux operands: biases, and rows read by the epilogue
  size_t firstAux = operands.size();
  SmallVector<SmallVector<Value>> aux(single ? 1 : linears.size());
  for (auto [i, linear] : llvm::enumerate(linears))
    if (linear.getBias())
      aux[single ? 0 : i].push_back(linear.getBias());
  for (Operation *op : ops)
    if (!isa<lm::LinearOp>(op))
      for (Value operand : op->getOperands())
        if (isa<RankedTensorType>(operand.getType()) && !inside.contains(operand.getDefiningOp()) &&
            !llvm::is_contained(aux[0], operand))
          aux[0].push_back(operand);
  for (auto &list : aux)
    for (Value operand : list)
      operands.push_back(isa<lm::WeightType>(operand.getType()) ? weightOperand(operand)
                                                                : f32Operand(operand));

  // outputs: in place of a residual that dies here, if f32; else a new buffer
  size_t firstOutput = operands.size();
  SmallVector<Value> results;
  for (size_t s = 0; s < aux.size(); ++s)
    results.push_back(single ? top->getResult(0) : outside(linears[s].getResult(), top));
  SmallVector<Value> roundLater;
  for (auto [s, result] : llvm::enumerate(results)) {
    bool wantsF32 = needsF32(result), wantsRounded = needsRounded(result);
    if (wantsRounded && !wantsF32 && roundedKind != RowKind::Q8x2) {
      operands.push_back(newRows(hint, result, roundedKind, extent));
      continue;
    }
    if (wantsRounded)
      roundLater.push_back(result);
    Value reused;
    for (Value operand : aux[s])
      if (isa<RankedTensorType>(operand.getType()) && operand.getType() == result.getType() &&
          diesAt(operand, top) && forms[operand].extent == extent)
        reused = operand;
    if (reused) {
      forms[result] = {forms[reused].f32, "", extent};
      operands.push_back(f32Operand(result));
    } else {
      operands.push_back(newRows(hint, result, RowKind::F32, extent));
    }
  }

  // Last: fp8 rows, where all weights are fp8.
  bool fp8 = program.choices.fp8Rows && llvm::all_of(linears, [](lm::LinearOp linear) {
               return linear.getWeight().getType().numeric().isScaledFloat();
             });
  size_t lastOutput = operands.size();
  if (fp8)
    operands.push_back(fp8Operand(x));

  bool fastFloat = !program.choices.exact && !program.choices.bf16Rows &&
                   llvm::all_of(linears, [](lm::LinearOp linear) {
                     return linear.getWeight().getType().getFormat() == WeightFormat::BF16;
                   });
  launch(hint, operands, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    SmallVector<int64_t> counts;
    for (auto &list : aux)
      counts.push_back(list.size());
    auto op = kernel::MatmulOp::create(
        b, /*flows=*/TypeRange(), args[0], args.slice(1, firstAux - 1),
        args.slice(firstAux, firstOutput - firstAux),
        args.slice(firstOutput, lastOutput - firstOutput), fp8 ? args.back() : Value(), counts,
        extent, pair, fastFloat, kernel::ScheduleAttr(), aux.size());
    for (size_t s = 0; s < aux.size(); ++s) {
      OpBuilder::InsertionGuard guard(b);
      size_t accumulators = pair ? 2 : 1;
      SmallVector<Type> types(accumulators + aux[s].size(), b.getF32Type());
      SmallVector<Location> locations(types.size(), b.getLoc());
      Block *body = b.createBlock(&op.getEpilogues()[s], {}, types, locations);
      IRMapping scalars;
      for (auto [i, value] : llvm::enumerate(aux[s]))
        scalars.map(value, body->getArgument(accumulators + i));
      for (size_t i = 0; i < accumulators; ++i) {
        lm::LinearOp linear = linears[single ? i : s];
        Value sum = body->getArgument(i);
        if (linear.getBias())
          sum = arith::AddFOp::create(b, sum, scalars.lookup(linear.getBias()));
        scalars.map(linear.getResult(), sum);
      }
      for (Operation *inner : ops)
        if (single && !isa<lm::LinearOp>(inner))
          lowerToScalar(b, inner, scalars);
      Value yielded =
          single ? (isa<lm::FusedOp>(top)
                        ? cast<lm::FusedOp>(top).getBody().front().getTerminator()->getOperand(0)
                        : top->getResult(0))
                 : linears[s].getResult();
      kernel::YieldOp::create(b, ValueRange{scalars.lookup(yielded)});
    }
  });
  for (Value value : roundLater)
    addRounded(value);
  return success();
}

LogicalResult SectionLowering::lowerRowwise(Operation *top, ArrayRef<Operation *> ops,
                                            StringRef hint) {
  llvm::SmallPtrSet<Operation *, 8> inside(ops.begin(), ops.end());
  bool gather = llvm::any_of(ops, llvm::IsaPred<lm::SelectRowsOp>);
  SmallVector<Value> inputs;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType, lm::WeightType>(operand.getType()) &&
          !inside.contains(operand.getDefiningOp()) && !llvm::is_contained(inputs, operand))
        inputs.push_back(operand);
  Extent extent = gather ? Extent::Rows : Extent::Tokens;
  SmallVector<LaunchOperand> operands;
  for (Value input : inputs) {
    bool weight = isa<lm::WeightType>(input.getType());
    if (!weight && !gather)
      extent = forms[input].extent;
    operands.push_back(weight ? weightOperand(input) : f32Operand(input));
  }

  // One output per result and form; f32 results take the place of an input that dies here.
  SmallVector<Value> outputs;
  llvm::SmallPtrSet<Value, 4> reused;
  for (Value result : top->getResults()) {
    if (needsF32(result) || !needsRounded(result)) {
      Value place;
      for (Value input : inputs)
        if (!gather && input.getType() == result.getType() && forms[input].extent == extent &&
            diesAt(input, top) && !reused.contains(input))
          place = input;
      if (place) {
        reused.insert(place);
        forms[result] = {forms[place].f32, "", extent};
        operands.push_back(f32Operand(result));
      } else {
        operands.push_back(newRows(hint, result, RowKind::F32, extent));
      }
      outputs.push_back(result);
    }
    if (needsRounded(result)) {
      operands.push_back(newRows(hint, result, roundedKind, extent));
      outputs.push_back(result);
    }
  }

  launch(hint, operands, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    auto op = kernel::RowwiseOp::create(b, args.take_front(inputs.size()),
                                        args.drop_front(inputs.size()), extent, gather);
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Type> types(inputs.size(), b.getF32Type());
    SmallVector<Location> locations(types.size(), b.getLoc());
    Block *body = b.createBlock(&op.getBody(), {}, types, locations);
    IRMapping scalars;
    scalars.map(inputs, body->getArguments());
    for (Operation *inner : ops)
      lowerToScalar(b, inner, scalars);
    SmallVector<Value> yields;
    for (Value output : outputs) {
      auto fused = dyn_cast<lm::FusedOp>(top);
      Value inner = fused ? fused.getBody().front().getTerminator()->getOperand(
                                cast<OpResult>(output).getResultNumber())
                          : output;
      yields.push_back(scalars.lookup(inner));
    }
    kernel::YieldOp::create(b, yields);
  });
  return success();
}

LogicalResult SectionLowering::lowerRopeAppend(Operation *top, ArrayRef<Operation *> ops) {
  auto append = cast<lm::KvAppendOp>(*llvm::find_if(ops, llvm::IsaPred<lm::KvAppendOp>));
  llvm::SmallPtrSet<Operation *, 8> inside(ops.begin(), ops.end());
  // Follow the chain of keys from the append, of queries from the region's other result.
  struct Chain {
    Value start;
    lm::RopeOp rope;
    lm::RmsNormOp norm;
  };
  auto follow = [&](Value value) {
    Chain chain{value, {}, {}};
    if (auto rope = chain.start.getDefiningOp<lm::RopeOp>(); rope && inside.contains(rope))
      chain.rope = rope, chain.start = rope.getX();
    if (auto norm = chain.start.getDefiningOp<lm::RmsNormOp>(); norm && inside.contains(norm))
      chain.norm = norm, chain.start = norm.getX();
    return chain;
  };
  Chain k = follow(append.getK());
  Value qOutside, qInside;
  if (auto fused = dyn_cast<lm::FusedOp>(top))
    for (auto [inner, outer] :
         llvm::zip(fused.getBody().front().getTerminator()->getOperands(), fused.getResults()))
      if (isa<RankedTensorType>(inner.getType()))
        qInside = inner, qOutside = outer;
  if (!qInside) { // neither norm nor rotation: the attention reads q as it is
    for (Operation *user : outside(append.getResult(), top).getUsers())
      if (auto attention = dyn_cast<lm::AttentionOp>(user))
        qInside = qOutside = attention.getQ();
    if (!qInside)
      return append.emitOpError("expects an attention to read the appended state");
  }
  Chain q = follow(qInside);
  if (q.norm && k.norm &&
      (q.norm.getEps() != k.norm.getEps() || q.norm.getWeightOffset() != k.norm.getWeightOffset()))
    return append.emitOpError("expects norms of one epsilon and one weight offset");

  LaunchOperand pool = stateOperand(append.getKv());
  int64_t headDim = cast<kernel::KvPoolType>(pool.type).getHeadDim();
  const ProgramBuilder::Table *table = k.rope ? program.tableFor(k.rope) : nullptr;

  // q is written in place: forget other readers of the unrotated rows, which the op order rules out.
  if (qOutside != q.start && !diesAt(q.start, top))
    return append.emitOpError("expects the queries before rotation to have no later reader");
  SmallVector<LaunchOperand> operands{f32Operand(q.start), f32Operand(k.start),
                                      f32Operand(append.getV())};
  if (table)
    operands.push_back({table->rows, bufferRef(table->buffer)});
  if (q.norm)
    operands.push_back(weightOperand(q.norm.getWeight()));
  if (k.norm)
    operands.push_back(weightOperand(k.norm.getWeight()));
  operands.push_back(pool);
  launch("rope_append", operands, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    size_t at = 3;
    Value tableArg = table ? args[at++] : Value(), qNorm = q.norm ? args[at++] : Value(),
          kNorm = k.norm ? args[at++] : Value();
    lm::RmsNormOp norm = q.norm ? q.norm : k.norm;
    kernel::RopeAppendOp::create(
        b, /*rotated=*/Type(), args[0], args[1], args[2], tableArg, qNorm, kNorm, args[at],
        lm::widthOf(q.start) / headDim, k.rope ? k.rope.getStyle() : lm::RopeStyle::Half,
        norm ? norm.getEps() : APFloat(0.0f), norm ? norm.getWeightOffset() : APFloat(0.0f));
  });
  if (qOutside != q.start)
    forms[qOutside] = {forms[q.start].f32, "", Extent::Tokens};
  return success();
}

LogicalResult SectionLowering::lowerAttention(lm::AttentionOp op) {
  StateUse &use = program.stateUses[lm::stateArgumentOf(op.getKv())];
  if (!use.memory)
    return op.emitOpError("expects keys to be appended before it");
  use.window = op.getWindow();
  LaunchOperand pool = stateOperand(op.getKv());
  Value result = op.getResult();
  bool direct =
      needsRounded(result) && !needsF32(result) &&
      (program.choices.bf16Rows || cast<kernel::KvPoolType>(pool.type).getHeadDim() % kGroupK == 0);
  LaunchOperand y = newRows("attention", result,
                            !direct                    ? RowKind::F32
                            : program.choices.bf16Rows ? RowKind::BF16
                                                       : RowKind::Q8,
                            Extent::Tokens);
  launch("attention", {f32Operand(op.getQ()), pool, y},
         [&](ImplicitLocOpBuilder &b, ValueRange args) {
           kernel::AttentionOp::create(b, args[0], args[1], args[2], /*workspace=*/Value(),
                                       op.getHeadsAttr(), op.getScaleAttr(), op.getWindowAttr(),
                                       op.getSoftcapAttr());
         });
  if (!direct && needsRounded(result))
    addRounded(result);
  return success();
}

LogicalResult SectionLowering::lowerCausalConv(lm::CausalConvOp op) {
  Value result = op.getResult();
  SmallVector<LaunchOperand> operands{f32Operand(op.getX()), weightOperand(op.getWeight())};
  if (op.getBias())
    operands.push_back(weightOperand(op.getBias()));
  operands.push_back(stateOperand(op.getBefore()));
  operands.push_back(newRows("conv", result, RowKind::F32, Extent::Tokens));
  launch("conv", operands, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    kernel::CausalConvOp::create(b, args[0], args[1], op.getBias() ? args[2] : Value(),
                                 args.take_back(2)[0], args.back());
  });
  if (needsRounded(result))
    addRounded(result);
  return success();
}

//===----------------------------------------------------------------------===//
// The three kinds of section
//===----------------------------------------------------------------------===//

LogicalResult ProgramBuilder::lowerBegin(lm::EntryOp entry, lm::LayersOp layers) {
  Block &block = entry.getBody().front();
  SectionLowering lowering(*this, addSection(kBeginSection), block);
  for (const Table &table : tables)
    lowering.launchTable(table);
  if (failed(lowering.lowerRange(block.begin(), layers->getIterator())))
    return failure();
  lowering.moveTo(layers.getX(), "x");
  return success();
}

LogicalResult ProgramBuilder::lowerKind(lm::LayerKindOp kind) {
  Block &block = kind.getBody().front();
  SectionLowering lowering(*this, addSection(kind.getSymName()), block);
  lowering.bind(block.getArgument(0), "x", Extent::Tokens);
  for (auto [i, argument] : llvm::enumerate(block.getArguments().drop_front(kind.firstWeight())))
    lowering.bindWeight(argument, plan::LayerWeightRefAttr::get(kind.getContext(), i));
  if (failed(lowering.lowerRange(block.begin(), std::prev(block.end()))))
    return failure();
  lowering.moveTo(block.getTerminator()->getOperand(0), "x");
  return success();
}

LogicalResult ProgramBuilder::lowerEnd(lm::EntryOp entry, lm::LayersOp layers) {
  Block &block = entry.getBody().front();
  SectionLowering lowering(*this, addSection(kEndSection), block);
  lowering.bind(layers.getY(), "x", Extent::Tokens);
  // Weights that were named before the layers are read after them too.
  for (auto get : block.getOps<lm::GetWeightOp>())
    lowering.bindWeight(get, plan::WeightRefAttr::get(entry.getContext(), get.getWeightAttr()));
  if (failed(lowering.lowerRange(std::next(layers->getIterator()), std::prev(block.end()))))
    return failure();
  logits = lowering.f32BufferOf(block.getTerminator()->getOperand(0));
  return success();
}

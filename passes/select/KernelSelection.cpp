//===- KernelSelection.cpp - See KernelSelection.h -------------------------===//
#include "passes/select/KernelSelection.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Region.h"
#include "dialects/kernel/ops/Rows.h"
#include "dialects/lm/LmInterfaces.h"
#include "dialects/lm/LmOps.h"
#include "passes/lowering/Origin.h"
#include "passes/select/OneKernel.h"
#include "passes/select/ScalarOps.h"

using namespace mlir;
using namespace ingot;
using kernel::Extent;
using kernel::RowKind;

//===----------------------------------------------------------------------===//
// Dispatches
//===----------------------------------------------------------------------===//

Type KernelSelection::memoryOf(Value value) const {
  KvFormat kv = choices.kv;
  if (isa<lm::StateType>(value.getType())) {
    BlockArgument argument = lm::stateArgumentOf(value);
    auto kind = cast<lm::LayerKindOp>(argument.getOwner()->getParentOp());
    if (StringAttr element = kind.elementOf(argument.getArgNumber() - 1))
      kv = *kvFormatNamed(element.getValue());
  }
  return kernel::memoryOf(value.getType(), kv);
}

std::string KernelSelection::opsBeingSelected() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  selected->print(stream, names);
  stream << '\n';
  return text;
}

void KernelSelection::dispatch(StringRef name, StringRef rows, ArrayRef<Value> operands,
                               ArrayRef<Result> results, Build build) {
  const Location location = block.getParentOp()->getParentOp()->getLoc();
  ImplicitLocOpBuilder b(location, selected);
  SmallVector<Value> inputs;
  SmallVector<Type> arguments, types;
  SmallVector<int64_t> tied;
  for (Value operand : operands) {
    inputs.push_back(values.lookupOrDefault(operand));
    arguments.push_back(memoryOf(operand));
  }
  for (const Result &result : results) {
    types.push_back(result.value.getType());
    tied.push_back(result.tied);
    if (result.tied < 0)
      arguments.push_back(memoryOf(result.value));
  }
  auto op = kernel::DispatchOp::create(b, types, name, inputs, rows, tied);
  op->setLoc(originIn(location, opsBeingSelected()));
  SmallVector<Location> locations(arguments.size(), location);
  Block *body = b.createBlock(&op.getBody(), {}, arguments, locations);
  build(b, body->getArguments().take_front(inputs.size()),
        body->getArguments().drop_front(inputs.size()));
  for (auto [result, value] : llvm::zip(results, op.getResults()))
    values.map(result.value, value);
  made.push_back(op);
}

/// Whether the op is an lm.dispatch whose rows are read only by ops that permute their columns. Those ops then read the
/// tokens' rows instead, and the lm.dispatch needs no kernel.
static bool isReadInOrderAlone(Operation *op) {
  return isa<lm::DispatchOp>(op) && llvm::all_of(op->getUsers(), llvm::IsaPred<lm::PermuteOp>);
}

void KernelSelection::copyRows(StringRef name, StringRef rows, Value from, Value to) {
  const RowCount count = rowCountOf(from);
  dispatch(name, rows, from, Result(to),
           [&](ImplicitLocOpBuilder &b, ValueRange in, ValueRange out) {
             kernel::copyRows(b, b.getLoc(), in[0], out, count.extent, count.ofToken);
           });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult KernelSelection::run() {
  bool afterLayers = false;
  llvm::DenseSet<Value> gone; // rows made before lm.layers do not exist after it
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (isa<lm::LayersOp>(op)) {
      for (Operation *before : replaced)
        gone.insert_range(before->getResults());
      afterLayers = true;
    }
    if (isa<lm::GetWeightOp, lm::LayersOp>(op))
      continue;
    if (afterLayers)
      for (Operation *inner : opsOf(&op))
        for (Value read : inner->getOperands())
          if (gone.contains(read) && isa<RankedTensorType>(read.getType()))
            return inner->emitOpError(
                "expects rows of its own stage, or rows that lm.layers passes on");
    if (failed(select(&op)))
      return failure();
  }
  for (Operation &op : block)
    if (isa<lm::LayersOp>(op) || op.hasTrait<OpTrait::IsTerminator>())
      for (OpOperand &operand : op.getOpOperands())
        operand.set(values.lookupOrDefault(operand.get()));
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
  return success();
}

LogicalResult KernelSelection::select(Operation *op) {
  selected = op;
  if (failed(selectKernels(op)))
    return failure();
  replaced.push_back(op);
  return success();
}

LogicalResult KernelSelection::selectKernels(Operation *op) {
  if (auto conversion = dyn_cast<lm::CastOp>(op))
    return selectCast(conversion);
  if (isReadInOrderAlone(op))
    return success();
  SmallVector<Operation *> ops = opsOf(op);
  if (auto outside = dyn_cast<lm::RowOpInterface>(op))
    return selectOutside(outside);
  if (auto body = op->getAttrOfType<StringAttr>(lm::kernelAttrOf(choices.device)))
    return selectWithKernel(cast<lm::FusedOp>(op), body.getValue());
  if (llvm::any_of(ops, llvm::IsaPred<lm::KvAppendOp>))
    return selectRopeAppend(op, ops);
  if (llvm::any_of(ops, llvm::IsaPred<lm::LinearOp>))
    return selectMatmul(op, ops, launchName(op));
  if (auto attention = dyn_cast<lm::AttentionOp>(ops.front()))
    return selectAttention(op, attention);
  if (auto conv = dyn_cast<lm::CausalConvOp>(op))
    return selectCausalConv(conv);
  if (auto route = dyn_cast<lm::RouteOp>(op))
    return selectRoute(route);
  if (auto combine = dyn_cast<lm::CombineOp>(op))
    return selectCombine(combine);
  if (auto embed = dyn_cast<lm::EmbedOp>(op))
    return selectEmbed(embed);
  if (auto positions = dyn_cast<lm::EmbedPositionsOp>(op))
    return selectEmbedPositions(positions);
  if (auto permute = dyn_cast<lm::PermuteOp>(ops.front()); permute && ops.size() == 1)
    return selectPermute(op, permute);
  auto other = llvm::find_if_not(ops, isRowwise);
  if (other == ops.end())
    return selectRowwise(op, ops, launchName(op));
  if (isa<lm::NormInterface>(*other))
    return (*other)->emitOpError(
        "of heads is supported only where keys enter the cache (pattern rope_append)");
  return (*other)->emitOpError("has no kernel");
}

LogicalResult KernelSelection::selectEmbed(lm::EmbedOp op) {
  dispatch("embed", "embedded", Value(op.getWeight()), Result(op),
           [&](ImplicitLocOpBuilder &b, ValueRange in, ValueRange out) {
             kernel::GatherOp::create(b, in[0], out[0], op.getScale(), /*by_position=*/false);
           });
  return success();
}

LogicalResult KernelSelection::selectEmbedPositions(lm::EmbedPositionsOp op) {
  dispatch("positions", "positions", Value(op.getTable()), Result(op),
           [&](ImplicitLocOpBuilder &b, ValueRange in, ValueRange out) {
             kernel::GatherOp::create(b, in[0], out[0], APFloat(1.0f), /*by_position=*/true);
           });
  return success();
}

LogicalResult KernelSelection::selectCast(lm::CastOp op) {
  const RowCount count = rowCountOf(op.getX());
  std::optional<RowKind> encoding = encodingOf(op.getResult().getType());
  if (encoding == RowKind::FP8)
    dispatch("fp8", "e", Value(op.getX()), Result(op),
             [&](ImplicitLocOpBuilder &b, ValueRange in, ValueRange out) {
               kernel::Fp8RowsOp::create(b, in[0], out[0], count.extent, count.ofToken);
             });
  else if (encoding == RowKind::BF16)
    copyRows("round", "r", op.getX(), op);
  else if (encoding == RowKind::Q8 || encoding == RowKind::Q8x2)
    copyRows("quantize", "q", op.getX(), op);
  else
    return op.emitOpError("has an encoding that projections cannot read");
  return success();
}

/// Whether an activation function is applied to the projection's result, as it is to a gate.
static bool isActivated(lm::LinearOp linear) {
  return llvm::any_of(linear->getUsers(), [&](Operation *user) {
    auto unit = dyn_cast<lm::SwigluOaiOp>(user);
    return isa<lm::ActivationOp>(user) || (unit && unit.getGate() == linear.getResult());
  });
}

LogicalResult KernelSelection::selectMatmul(Operation *top, ArrayRef<Operation *> ops,
                                            StringRef name) {
  if (auto why = whyNotOneMatmul(ops, top->getNumResults()))
    return top->emitOpError("cannot be one kernel: ") << *why;
  SmallVector<lm::LinearOp> linears;
  llvm::SmallPtrSet<Operation *, 8> within(ops.begin(), ops.end());
  for (Operation *op : ops)
    if (auto linear = dyn_cast<lm::LinearOp>(op))
      linears.push_back(linear);
  Value x = linears.front().getX();

  // If elementwise ops follow, all linears belong to one segment (two linears are a gated pair). Otherwise
  // each result has a segment of its own.
  const bool single = ops.size() > linears.size() || linears.size() == 1;
  if (!single)
    linears = llvm::map_to_vector(top->getResults(), [](OpResult result) {
      return inside(result).getDefiningOp<lm::LinearOp>();
    });
  const bool gated = single && linears.size() == 2;
  if (gated && isActivated(linears[1]) && !isActivated(linears[0])) // the gate comes first
    std::swap(linears[0], linears[1]);

  // The kernel gets both the fp8 rows and the rows from which they are made: only its code for many tokens reads fp8.
  Value fp8;
  if (encodingOf(x.getType()) == RowKind::FP8)
    fp8 = x, x = beforeRounding(x);
  const Extent extent = rowCountOf(x).extent;
  SmallVector<Value> operands{x};
  for (lm::LinearOp linear : linears)
    operands.push_back(linear.getWeight());

  // aux operands: biases, and rows and vectors that the epilogue reads
  const size_t firstAux = operands.size();
  SmallVector<SmallVector<Value>> aux(single ? 1 : linears.size());
  for (auto [i, linear] : llvm::enumerate(linears))
    if (linear.getBias())
      aux[single ? 0 : i].push_back(linear.getBias());
  for (Operation *op : ops)
    if (!isa<lm::LinearOp>(op))
      for (Value operand : op->getOperands())
        if (isa<RankedTensorType, lm::WeightType>(operand.getType()) &&
            !within.contains(operand.getDefiningOp()) && !llvm::is_contained(aux[0], operand))
          aux[0].push_back(operand);
  for (auto &list : aux)
    llvm::append_range(operands, list);
  const size_t lastAux = operands.size();
  if (fp8)
    operands.push_back(fp8);
  Value routes = linears.front().getRoutes();
  if (routes)
    operands.push_back(routes);

  const bool fastFloat = !choices.exact && !choosesExperts(top) &&
                         encodingOf(x.getType()) == RowKind::F32 &&
                         llvm::all_of(linears, [](lm::LinearOp linear) {
                           return linear.getWeight().getType().getFormat() == WeightFormat::BF16;
                         });
  SmallVector<Result> results(top->getResults().begin(), top->getResults().end());
  dispatch(name, name, operands, results,
           [&](ImplicitLocOpBuilder &b, ValueRange in, ValueRange out) {
             SmallVector<int64_t> counts;
             for (auto &list : aux)
               counts.push_back(list.size());
             auto op = kernel::MatmulOp::create(
                 b, /*fused=*/TypeRange(), in[0], in.slice(1, firstAux - 1),
                 in.slice(firstAux, lastAux - firstAux), out, fp8 ? in[lastAux] : Value(),
                 routes ? in.back() : Value(), counts, extent, gated, fastFloat,
                 kernel::ScheduleAttr(), aux.size());
             for (size_t s = 0; s < aux.size(); ++s) {
               OpBuilder::InsertionGuard guard(b);
               const size_t accumulators = gated ? 2 : 1;
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
               kernel::YieldOp::create(b, ValueRange{scalars.lookup(inside(top->getResult(s)))});
             }
           });
  return success();
}

LogicalResult KernelSelection::selectRowwise(Operation *top, ArrayRef<Operation *> ops,
                                             StringRef name) {
  if (auto why = whyNotRowwise(ops))
    return top->emitOpError("cannot be one kernel: ") << *why;
  llvm::SmallPtrSet<Operation *, 8> within(ops.begin(), ops.end());
  const bool gather = llvm::any_of(ops, llvm::IsaPred<lm::SelectRowsOp>);
  Value routes;
  for (Operation *op : ops)
    if (auto dispatch = dyn_cast<lm::DispatchOp>(op))
      routes = dispatch.getRoutes();
  SmallVector<Value> inputs;
  for (Operation *op : ops)
    for (Value read : op->getOperands())
      if (isa<RankedTensorType, lm::WeightType>(read.getType()) &&
          !within.contains(read.getDefiningOp()) && !llvm::is_contained(inputs, read))
        inputs.push_back(read);
  SmallVector<Value> operands = inputs;
  if (routes)
    operands.push_back(routes);

  const RowCount count = rowCountOf(top->getResult(0));
  SmallVector<Result> results(top->getResults().begin(), top->getResults().end());
  dispatch(
      name, name, operands, results, [&](ImplicitLocOpBuilder &b, ValueRange in, ValueRange out) {
        auto op =
            kernel::RowwiseOp::create(b, in.take_front(inputs.size()), out, count.extent, gather);
        op.setRowsOfToken(count.ofToken);
        if (routes)
          op.getRoutesMutable().assign(in.back());
        OpBuilder::InsertionGuard guard(b);
        SmallVector<Type> types(inputs.size(), b.getF32Type());
        SmallVector<Location> locations(types.size(), b.getLoc());
        Block *body = b.createBlock(&op.getBody(), {}, types, locations);
        IRMapping scalars;
        scalars.map(inputs, body->getArguments());
        for (Operation *inner : ops)
          lowerToScalar(b, inner, scalars);
        SmallVector<Value> yields;
        for (OpResult result : top->getResults())
          yields.push_back(scalars.lookup(inside(result)));
        kernel::YieldOp::create(b, yields);
      });
  return success();
}

/// The kernel writes each result in the encoding of its type.
LogicalResult KernelSelection::selectPermute(Operation *top, lm::PermuteOp op) {
  Value from = op.getX(), routes = op.getRoutes();
  bool dispatched = bool(routes);
  if (auto dispatch = from.getDefiningOp<lm::DispatchOp>();
      dispatch && isReadInOrderAlone(dispatch))
    from = dispatch.getX(), routes = dispatch.getRoutes(), dispatched = false;
  SmallVector<Value> operands{from, op.getColumns()};
  if (routes)
    operands.push_back(routes);
  const RowCount count = rowCountOf(top->getResult(0));
  SmallVector<Result> results(top->getResults().begin(), top->getResults().end());
  dispatch("permute", "permuted", operands, results,
           [&](ImplicitLocOpBuilder &b, ValueRange in, ValueRange out) {
             auto rows = kernel::copyRows(b, b.getLoc(), in[0], out, count.extent, count.ofToken);
             rows.getColumnsMutable().assign(in[1]);
             if (routes)
               rows.getRoutesMutable().assign(in[2]);
             rows.setDispatched(dispatched);
           });
  return success();
}

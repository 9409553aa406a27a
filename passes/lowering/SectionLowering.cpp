//===- SectionLowering.cpp - Op by op, one launch each --------------------===//
#include "passes/lowering/SectionLowering.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Region.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/kernel/ops/Rows.h"
#include "dialects/lm/LmInterfaces.h"
#include "dialects/lm/LmOps.h"
#include "passes/lowering/Origin.h"
#include "passes/lowering/RegionLowering.h"

using namespace mlir;
using namespace ingot;
using kernel::Extent;
using kernel::RowKind;

//===----------------------------------------------------------------------===//
// Operands, results, launches
//===----------------------------------------------------------------------===//

LaunchOperand SectionLowering::operand(Value value) const {
  Type type = value.getType();
  if (auto routes = dyn_cast<lm::RoutesType>(type))
    type = kernel::RoutesType::get(type.getContext(), routes.getExperts(), routes.getUsed());
  else if (!isa<lm::WeightType>(type))
    type = rowsOf(type);
  return {type, refs.lookup(value)};
}

/// Whether an expert's rows are only read to permute their columns. If so, the consumer reads the tokens'
/// rows, without a launch.
static bool isReadInOrderAlone(Operation *op) {
  return isa<lm::DispatchOp>(op) && llvm::all_of(op->getUsers(), llvm::IsaPred<lm::PermuteOp>);
}

bool SectionLowering::diesAt(Value value, Operation *top) const {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isReadInOrderAlone(user))
      return diesAt(user->getResult(0), top);
    Operation *ancestor = block.findAncestorOpInBlock(*user);
    return ancestor && (ancestor == top || ancestor->isBeforeInBlock(top)) &&
           !ancestor->hasTrait<OpTrait::IsTerminator>();
  });
}

LaunchOperand SectionLowering::output(StringRef hint, Value result, ArrayRef<Value> read) {
  Operation *top = result.getDefiningOp();
  auto givesItsPlace = [&](Value value) {
    return value.getType() == result.getType() && rowCountOf(value) == rowCountOf(result) &&
           diesAt(value, top) && llvm::none_of(top->getResults(), [&](Value other) {
             return refs.lookup(other) == refs.lookup(value);
           });
  };
  if (!refs.contains(result)) {
    auto place = llvm::find_if(llvm::reverse(read), givesItsPlace);
    bind(result, place != read.rend()
                     ? refs.lookup(*place)
                     : program.addBuffer(hint, rowsOf(result.getType()), rowCountOf(result),
                                         /*persistent=*/false));
  }
  return operand(result);
}

std::string SectionLowering::opsBeingLowered() {
  if (!names)
    names.emplace(block.getParentOp(), OpPrintingFlags().printNameLocAsPrefix());
  std::string text;
  llvm::raw_string_ostream stream(text);
  lowered->print(stream, *names);
  stream << '\n';
  return text;
}

void SectionLowering::launch(StringRef hint, ArrayRef<LaunchOperand> operands, Build build) {
  std::string kernel = program.kernelFor(hint, operands, build);
  auto b = ImplicitLocOpBuilder::atBlockEnd(section.getLoc(), &section.getBody().front());
  SmallVector<Attribute> refs;
  for (const LaunchOperand &operand : operands)
    refs.push_back(operand.ref);
  auto made = plan::LaunchOp::create(b, kernel, b.getArrayAttr(refs), /*no_barrier=*/false);
  if (lowered)
    setOrigin(made, opsBeingLowered());
}

void SectionLowering::copyRows(StringRef hint, LaunchOperand from, ArrayRef<LaunchOperand> to,
                               RowCount count, const Order &order) {
  SmallVector<LaunchOperand> operands{from};
  if (order.columns)
    operands.push_back(*order.columns);
  const size_t firstOutput = operands.size();
  llvm::append_range(operands, to);
  if (order.routes)
    operands.push_back(*order.routes);
  launch(hint, operands, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    auto op = kernel::RowwiseOp::create(b, args.take_front(1), args.slice(firstOutput, to.size()),
                                        count.extent, /*gather=*/false);
    op.setRowsOfToken(count.ofToken);
    if (order.columns)
      op.getColumnsMutable().assign(args[1]);
    if (order.routes)
      op.getRoutesMutable().assign(args.back());
    op.setDispatched(order.dispatched);
    OpBuilder::InsertionGuard guard(b);
    Value x = b.createBlock(&op.getBody(), {}, b.getF32Type(), b.getLoc())->getArgument(0);
    kernel::YieldOp::create(b, SmallVector<Value>(to.size(), x));
  });
}

void SectionLowering::moveTo(Value value, Attribute buffer) {
  if (refs[value] == buffer)
    return;
  LaunchOperand from = operand(value);
  copyRows("copy", from, LaunchOperand{from.type, buffer}, rowCountOf(value));
  bind(value, buffer);
}

void SectionLowering::launchTable(const ProgramBuilder::Table &table) {
  launch("rope_table", {table.frequencies, table.rows},
         [&](ImplicitLocOpBuilder &b, ValueRange args) {
           kernel::RopeTableOp::create(b, args[0], args[1], b.getF32FloatAttr(table.factor));
         });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult SectionLowering::lowerRange(Block::iterator first, Block::iterator last) {
  for (auto it = first; it != last; ++it) {
    lowered = &*it;
    if (failed(lower(lowered)))
      return failure();
  }
  lowered = nullptr;
  return success();
}

LogicalResult SectionLowering::lower(Operation *op) {
  if (auto get = dyn_cast<lm::GetWeightOp>(op)) {
    bind(get, plan::WeightRefAttr::get(op->getContext(), get.getWeightAttr()));
    return success();
  }
  if (auto conversion = dyn_cast<lm::CastOp>(op))
    return lowerCast(conversion);
  if (isReadInOrderAlone(op))
    return success();
  SmallVector<Operation *> ops = opsOf(op);
  StringRef hint = launchName(op);
  for (Operation *inner : ops)
    for (Value read : inner->getOperands())
      if (auto producer = read.getDefiningOp();
          producer && producer->getBlock() == &block && isa<RankedTensorType>(read.getType()) &&
          !refs.contains(read) && !isReadInOrderAlone(producer))
        return inner->emitOpError(
            "expects rows of its own stage, or rows that lm.layers passes on");
  if (auto outside = dyn_cast<lm::RowOpInterface>(op))
    return lowerOutside(outside);
  if (auto body = op->getAttrOfType<StringAttr>(lm::kernelAttrOf(program.choices.device)))
    return lowerWithKernel(cast<lm::FusedOp>(op), body.getValue());
  if (llvm::any_of(ops, llvm::IsaPred<lm::KvAppendOp>))
    return lowerRopeAppend(op, ops);
  if (llvm::any_of(ops, llvm::IsaPred<lm::LinearOp>))
    return lowerMatmul(op, ops, hint);
  if (auto attention = dyn_cast<lm::AttentionOp>(ops.front()))
    return lowerAttention(op, attention);
  if (auto conv = dyn_cast<lm::CausalConvOp>(op))
    return lowerCausalConv(conv);
  if (auto route = dyn_cast<lm::RouteOp>(op))
    return lowerRoute(route);
  if (auto combine = dyn_cast<lm::CombineOp>(op))
    return lowerCombine(combine);
  if (auto embed = dyn_cast<lm::EmbedOp>(op))
    return lowerEmbed(embed);
  if (auto positions = dyn_cast<lm::EmbedPositionsOp>(op))
    return lowerEmbedPositions(positions);
  if (auto permute = dyn_cast<lm::PermuteOp>(ops.front()); permute && ops.size() == 1)
    return lowerPermute(op, permute);
  auto other = llvm::find_if_not(ops, isRowwise);
  if (other == ops.end())
    return lowerRowwise(op, ops, hint);
  if (isa<lm::NormInterface>(*other))
    return (*other)->emitOpError(
        "of heads is supported only where keys enter the cache (pattern rope_append)");
  return (*other)->emitOpError("has no kernel");
}

LogicalResult SectionLowering::lowerEmbed(lm::EmbedOp op) {
  launch("embed", {operand(op.getWeight()), output("embedded", op.getResult())},
         [&](ImplicitLocOpBuilder &b, ValueRange args) {
           kernel::GatherOp::create(b, args[0], args[1], op.getScale(), /*by_position=*/false);
         });
  return success();
}

LogicalResult SectionLowering::lowerEmbedPositions(lm::EmbedPositionsOp op) {
  launch("positions", {operand(op.getTable()), output("positions", op.getResult())},
         [&](ImplicitLocOpBuilder &b, ValueRange args) {
           kernel::GatherOp::create(b, args[0], args[1], APFloat(1.0f), /*by_position=*/true);
         });
  return success();
}

LogicalResult SectionLowering::lowerCast(lm::CastOp op) {
  const RowCount count = rowCountOf(op.getX());
  std::optional<RowKind> encoding = encodingOf(op.getResult().getType());
  if (encoding == RowKind::FP8) {
    launch("fp8", {operand(op.getX()), output("e", op.getResult())},
           [&](ImplicitLocOpBuilder &b, ValueRange args) {
             kernel::Fp8RowsOp::create(b, args[0], args[1], count.extent, count.ofToken);
           });
    return success();
  }
  if (encoding == RowKind::BF16)
    copyRows("round", operand(op.getX()), output("r", op.getResult()), count);
  else if (encoding == RowKind::Q8 || encoding == RowKind::Q8x2)
    copyRows("quantize", operand(op.getX()), output("q", op.getResult()), count);
  else
    return op.emitOpError("has an encoding that projections cannot read");
  return success();
}

/// Whether an activation function takes the projection's result, as it does of a gate.
static bool isActivated(lm::LinearOp linear) {
  return llvm::any_of(linear->getUsers(), [&](Operation *user) {
    auto unit = dyn_cast<lm::SwigluOaiOp>(user);
    return isa<lm::ActivationOp>(user) || (unit && unit.getGate() == linear.getResult());
  });
}

LogicalResult SectionLowering::lowerMatmul(Operation *top, ArrayRef<Operation *> ops,
                                           StringRef hint) {
  SmallVector<lm::LinearOp> linears;
  llvm::SmallPtrSet<Operation *, 8> within(ops.begin(), ops.end());
  for (Operation *op : ops)
    if (auto linear = dyn_cast<lm::LinearOp>(op))
      linears.push_back(linear);
  Value x = linears.front().getX();
  if (llvm::any_of(linears, [&](lm::LinearOp linear) { return linear.getX() != x; }))
    return top->emitOpError("expects projections of one input");

  // If elementwise ops follow, all linears belong to one segment (two linears are a gated pair). Otherwise
  // each result has a segment of its own.
  bool single = ops.size() > linears.size() || linears.size() == 1;
  if (single && top->getNumResults() != 1)
    return top->emitOpError("expects one result of a projection and its epilogue");
  if (!single)
    linears = llvm::map_to_vector(top->getResults(), [](OpResult result) {
      return inside(result).getDefiningOp<lm::LinearOp>();
    });
  bool gated = single && linears.size() == 2;
  if (single && linears.size() > 2)
    return top->emitOpError("expects at most two projections in one epilogue");
  if (gated && isActivated(linears[1]) && !isActivated(linears[0])) // the gate comes first
    std::swap(linears[0], linears[1]);

  // Weights other than fp8 read the rows from which the fp8 rows are made.
  Value fp8;
  if (encodingOf(x.getType()) == RowKind::FP8)
    fp8 = x, x = beforeRounding(x);
  Extent extent = rowCountOf(x).extent;
  SmallVector<LaunchOperand> operands{operand(x)};
  for (lm::LinearOp linear : linears)
    operands.push_back(operand(linear.getWeight()));

  // aux operands: biases, and rows read by the epilogue
  size_t firstAux = operands.size();
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
    for (Value read : list)
      operands.push_back(operand(read));

  // outputs: each replaces an f32 residual that is not used after this, or has a new buffer. Each output
  // value needs a whole row of x, so no output replaces x.
  size_t firstOutput = operands.size();
  for (auto [s, read] : llvm::enumerate(aux)) {
    SmallVector<Value> inOrder(
        llvm::make_filter_range(read, [&](Value value) { return value != x; }));
    operands.push_back(output(hint, top->getResult(s), inOrder));
  }
  size_t lastOutput = operands.size();
  if (fp8)
    operands.push_back(operand(fp8));
  Value routes = linears.front().getRoutes();
  if (routes)
    operands.push_back(operand(routes));

  bool fastFloat = !program.choices.exact && !choosesExperts(top) &&
                   encodingOf(x.getType()) == RowKind::F32 &&
                   llvm::all_of(linears, [](lm::LinearOp linear) {
                     return linear.getWeight().getType().getFormat() == WeightFormat::BF16;
                   });
  launch(hint, operands, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    SmallVector<int64_t> counts;
    for (auto &list : aux)
      counts.push_back(list.size());
    auto op = kernel::MatmulOp::create(
        b, /*fused=*/TypeRange(), args[0], args.slice(1, firstAux - 1),
        args.slice(firstAux, firstOutput - firstAux),
        args.slice(firstOutput, lastOutput - firstOutput), fp8 ? args[lastOutput] : Value(),
        routes ? args.back() : Value(), counts, extent, gated, fastFloat, kernel::ScheduleAttr(),
        aux.size());
    for (size_t s = 0; s < aux.size(); ++s) {
      OpBuilder::InsertionGuard guard(b);
      size_t accumulators = gated ? 2 : 1;
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

LogicalResult SectionLowering::lowerRowwise(Operation *top, ArrayRef<Operation *> ops,
                                            StringRef hint) {
  llvm::SmallPtrSet<Operation *, 8> within(ops.begin(), ops.end());
  bool gather = llvm::any_of(ops, llvm::IsaPred<lm::SelectRowsOp>);
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
  SmallVector<LaunchOperand> operands;
  for (Value input : inputs)
    operands.push_back(operand(input));
  // Where rows are gathered, a row may be read after another was written: no output replaces an input.
  const bool inOrder = !gather && !routes;
  for (Value result : top->getResults())
    operands.push_back(output(hint, result, inOrder ? ArrayRef<Value>(inputs) : ArrayRef<Value>()));
  if (routes)
    operands.push_back(operand(routes));

  const RowCount count = rowCountOf(top->getResult(0));
  launch(hint, operands, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    auto op = kernel::RowwiseOp::create(b, args.take_front(inputs.size()),
                                        args.slice(inputs.size(), top->getNumResults()),
                                        count.extent, gather);
    op.setRowsOfToken(count.ofToken);
    if (routes)
      op.getRoutesMutable().assign(args.back());
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

/// Results have the requested encodings, and are never written in place.
LogicalResult SectionLowering::lowerPermute(Operation *top, lm::PermuteOp op) {
  SmallVector<LaunchOperand> results;
  for (Value result : top->getResults())
    results.push_back(output("permuted", result));
  Value from = op.getX();
  Order order{operand(op.getColumns())};
  if (op.getRoutes())
    order.routes = operand(op.getRoutes());
  if (auto dispatch = from.getDefiningOp<lm::DispatchOp>();
      dispatch && isReadInOrderAlone(dispatch))
    from = dispatch.getX(), order.routes = operand(dispatch.getRoutes());
  else
    order.dispatched = bool(op.getRoutes());
  copyRows("permute", operand(from), results, rowCountOf(top->getResult(0)), order);
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
  for (auto [value, buffer] : llvm::zip(rowsAmong(layers->getOperands()), carried))
    lowering.bind(value, buffer);
  return lowering.lowerRange(block.begin(), layers->getIterator());
}

LogicalResult ProgramBuilder::lowerKind(lm::LayerKindOp kind) {
  Block &block = kind.getBody().front();
  SectionLowering lowering(*this, addSection(kind.getSymName()), block);
  for (auto [value, buffer] : llvm::zip(rowsAmong(block.getArguments()), carried))
    lowering.bind(value, buffer);
  for (auto [i, argument] : llvm::enumerate(block.getArguments().drop_front(kind.firstWeight())))
    lowering.bind(argument, plan::LayerWeightRefAttr::get(kind.getContext(), i));
  if (failed(lowering.lowerRange(block.begin(), std::prev(block.end()))))
    return failure();
  for (auto [value, buffer] : llvm::zip(rowsAmong(block.getTerminator()->getOperands()), carried))
    lowering.moveTo(value, buffer);
  return success();
}

/// The rows whose projection, possibly followed by elementwise ops, gives the logits; null if there are none.
static Value readByHead(Value logits) {
  while (auto result = dyn_cast<OpResult>(logits)) {
    Operation *op = inside(result).getDefiningOp();
    if (auto head = dyn_cast_or_null<lm::LinearOp>(op))
      return head.getX();
    if (!op || !isRowwise(op))
      break;
    logits = op->getOperand(0);
  }
  return {};
}

/// The rows before their columns were permuted for the head; `rows` itself if they were not permuted.
static Value beforeOrder(Value rows) {
  auto made = dyn_cast<OpResult>(beforeRounding(rows));
  auto permute = made ? inside(made).getDefiningOp<lm::PermuteOp>() : lm::PermuteOp();
  return permute ? permute.getX() : rows;
}

LogicalResult ProgramBuilder::lowerEnd(lm::EntryOp entry, lm::LayersOp layers) {
  Block &block = entry.getBody().front();
  SectionLowering lowering(*this, addSection(kEndSection), block);
  for (auto [value, buffer] : llvm::zip(rowsAmong(layers->getResults()), carried))
    lowering.bind(value, buffer);
  // Weights named before the layers may also be read after them.
  for (auto get : block.getOps<lm::GetWeightOp>())
    lowering.bind(get, plan::WeightRefAttr::get(entry.getContext(), get.getWeightAttr()));
  if (failed(lowering.lowerRange(std::next(layers->getIterator()), std::prev(block.end()))))
    return failure();
  Value logits = block.getTerminator()->getOperand(0);
  outputs.push_back({plan::OutputRole::Logits, plan::Encoding::F32, lowering.bufferOf(logits)});
  // The rows that the head reads are the model's last hidden state, if they have an encoding that the runtime
  // decodes.
  Value read = readByHead(logits);
  if (!read || rowCountOf(read).extent != Extent::Rows)
    return success();
  if (std::optional<RowKind> encoding = encodingOf(read.getType());
      encoding != RowKind::F32 && encoding != RowKind::Q8x2)
    return success();
  Value hidden = beforeOrder(read);
  outputs.push_back(
      {plan::OutputRole::Hidden,
       encodingOf(hidden.getType()) == RowKind::F32 ? plan::Encoding::F32 : plan::Encoding::Q8x2,
       lowering.bufferOf(hidden)});
  return success();
}

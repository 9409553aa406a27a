//===- WeightNatives.cpp - Weights made of rows of others -----------------===//
//
// A weight is a reference, so rows of it, or rows of several below each other, are a reference too: bytes are read from
// the checkpoint as the engine is packed, in any format. In a layer a weight is an argument, and lm.layers says which
// each layer passes: the kind gets an argument more, and each of its layers a weight more.
//
//   Rows(%q, 0, 64)      lm.weight @blk.7.attn_q.rows_0_64 {source = #lm.rows<"q.weight" from 0 [64]>}
//
// `lm.rows_of` keeps whose rows they are, since numbers made from a seed go by the weight's symbol.
//===----------------------------------------------------------------------===//
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"
#include "passes/patterns/Natives.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;
using patterns::asks;
using patterns::does;
using patterns::Native;

//===----------------------------------------------------------------------===//
// Rows of rows
//===----------------------------------------------------------------------===//

/// Rows from..from + count of an order, as orders: one, unless it begins or ends within a loop.
static void slice(RowOrder order, int64_t from, int64_t count, SmallVectorImpl<RowOrder> &out) {
  if (count == 0)
    return;
  if (order.loops.size() <= 1) {
    const int64_t stride = order.loops.empty() ? 1 : order.loops[0].stride;
    out.push_back({order.first + from * stride, {{count, stride}}});
    return;
  }
  const RowOrder::Loop outer = order.loops.front();
  const RowOrder inner{order.first, {order.loops.begin() + 1, order.loops.end()}};
  const int64_t turn = inner.count(0);
  auto at = [&](int64_t n) {
    RowOrder one = inner;
    one.first += n * outer.stride;
    return one;
  };
  if (int64_t into = from % turn) {
    const int64_t head = std::min(count, turn - into);
    slice(at(from / turn), into, head, out);
    from += head, count -= head;
  }
  if (int64_t whole = count / turn) {
    RowOrder all = at(from / turn);
    all.loops.insert(all.loops.begin(), {whole, outer.stride});
    out.push_back(all);
    from += whole * turn, count -= whole * turn;
  }
  slice(at(from / turn), 0, count, out);
}

static std::vector<TensorRows> slice(Attribute source, int64_t total, int64_t from, int64_t count) {
  std::vector<TensorRows> parts;
  for (const TensorRows &part : rowsOf(source)) {
    const int64_t rows = part.order.loops.empty() ? total : part.order.count(0);
    const int64_t first = std::clamp<int64_t>(from, 0, rows),
                  last = std::clamp<int64_t>(from + count, 0, rows);
    SmallVector<RowOrder> orders;
    slice(part.order, first, last - first, orders);
    for (RowOrder &order : orders)
      parts.push_back({part.tensor, part.matrix, std::move(order), part.transposed});
    from -= rows, total -= rows;
  }
  return parts;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

namespace {

/// Rows of a weight.
struct Piece {
  WeightOp weight;
  int64_t first, count;
};

/// Whose rows a weight's are, as `lm.rows_of` has it: symbol, first row, rows, rows of that symbol's weight.
void addOrigins(Piece piece, Builder &b, SmallVectorImpl<Attribute> &origins) {
  auto add = [&](StringRef symbol, int64_t first, int64_t count, int64_t total) {
    origins.push_back(b.getArrayAttr({b.getStringAttr(symbol), b.getI64IntegerAttr(first),
                                      b.getI64IntegerAttr(count), b.getI64IntegerAttr(total)}));
  };
  auto known = piece.weight->getAttrOfType<ArrayAttr>(kRowsOfAttr);
  if (!known)
    return add(piece.weight.getSymName(), piece.first, piece.count, piece.weight.getType().rows());
  int64_t from = piece.first, count = piece.count;
  for (auto origin : known.getAsRange<ArrayAttr>()) {
    auto number = [&](int i) { return cast<IntegerAttr>(origin[i]).getInt(); };
    const int64_t first = std::clamp<int64_t>(from, 0, number(2)),
                  last = std::clamp<int64_t>(from + count, 0, number(2));
    if (first < last)
      add(cast<StringAttr>(origin[0]).getValue(), number(1) + first, last - first, number(3));
    from -= number(2);
  }
}

/// The weight of these rows; one of that name is it already.
WeightOp weightOf(ArrayRef<Piece> pieces, StringRef name, WeightType type, ModelOp model) {
  if (auto there = SymbolTable::lookupSymbolIn(model, name))
    return dyn_cast<WeightOp>(there);
  WeightOp first = pieces.front().weight;
  std::vector<TensorRows> parts;
  SmallVector<float> values;
  SmallVector<Attribute> origins;
  OpBuilder b(model.getContext());
  for (Piece piece : pieces) {
    addOrigins(piece, b, origins);
    if (auto own = piece.weight.getValues())
      values.append(own->begin() + piece.first, own->begin() + piece.first + piece.count);
    else
      llvm::append_range(parts, slice(*piece.weight.getSource(), piece.weight.getType().rows(),
                                      piece.first, piece.count));
  }
  b.setInsertionPointAfter(first);
  auto made = cast<WeightOp>(b.clone(*first));
  made.setSymName(name);
  made.setType(type);
  if (values.empty())
    made.setSourceAttr(sourceOf(model.getContext(), parts));
  else
    made.setValues(values);
  made->setAttr(kRowsOfAttr, b.getArrayAttr(origins));
  return made;
}

//===----------------------------------------------------------------------===//
// Where they are read
//===----------------------------------------------------------------------===//

/// A value of a weight, and how many of its rows, from which on.
struct Wanted {
  Value weight;
  int64_t first, count;
};

/// The weight that each layer passes for an argument of its kind.
FlatSymbolRefAttr passedBy(ArrayAttr layer, BlockArgument argument, LayerKindOp kind) {
  return cast<FlatSymbolRefAttr>(layer[argument.getArgNumber() - kind.firstWeight()]);
}

std::string rangeOf(int64_t first, int64_t count, int64_t of) {
  return count == of ? "" : ".rows_" + std::to_string(first) + "_" + std::to_string(count);
}

std::string nameOf(ArrayRef<Piece> pieces) {
  std::string name;
  for (Piece piece : pieces)
    name += (name.empty() ? "" : "_and_") + piece.weight.getSymName().str() +
            rangeOf(piece.first, piece.count, piece.weight.getType().rows());
  return name;
}

/// The argument of the kind that its layers pass these rows for, one that is there already (PDLL may call twice for what
/// is written once) or a new one.
Value inLayers(LayerKindOp kind, ArrayRef<Wanted> wanted, WeightType type) {
  auto model = kind->getParentOfType<ModelOp>();
  std::string role;
  for (const Wanted &each : wanted) {
    auto own = kind.getArgAttrOfType<StringAttr>(cast<BlockArgument>(each.weight).getArgNumber(),
                                                 kRoleAttr);
    role += (role.empty() ? "" : "_and_") + (own ? own.getValue().str() : "weight") +
            rangeOf(each.first, each.count, cast<WeightType>(each.weight.getType()).rows());
  }
  for (BlockArgument argument : kind.getArguments())
    if (auto known = kind.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kRoleAttr);
        known && known.getValue() == role && argument.getType() == type)
      return argument;
  model.walk([&](LayersOp layers) {
    SmallVector<Attribute> lists(layers.getWeights().getValue());
    for (auto [name, list] : llvm::zip(layers.getKinds().getAsRange<FlatSymbolRefAttr>(), lists)) {
      if (name.getValue() != kind.getSymName())
        continue;
      SmallVector<Piece> pieces;
      for (const Wanted &each : wanted)
        pieces.push_back(
            {cast<WeightOp>(SymbolTable::lookupSymbolIn(
                 model, passedBy(cast<ArrayAttr>(list), cast<BlockArgument>(each.weight), kind))),
             each.first, each.count});
      SmallVector<Attribute> passed(cast<ArrayAttr>(list).getValue());
      passed.push_back(
          FlatSymbolRefAttr::get(weightOf(pieces, nameOf(pieces), type, model).getSymNameAttr()));
      list = ArrayAttr::get(model.getContext(), passed);
    }
    layers.setWeightsAttr(ArrayAttr::get(model.getContext(), lists));
  });
  Builder b(model.getContext());
  const unsigned last = kind.getNumArguments();
  (void)kind.insertArgument(last, type,
                            b.getDictionaryAttr({b.getNamedAttr(kRoleAttr, b.getStringAttr(role))}),
                            kind.getLoc());
  return kind.getArgument(last);
}

Value inEntry(PatternRewriter &rewriter, ArrayRef<Wanted> wanted, WeightType type) {
  SmallVector<Piece> pieces;
  ModelOp model;
  for (const Wanted &each : wanted) {
    auto get = each.weight.getDefiningOp<GetWeightOp>();
    model = get->getParentOfType<ModelOp>();
    pieces.push_back({cast<WeightOp>(SymbolTable::lookupSymbolIn(model, get.getWeightAttr())),
                      each.first, each.count});
  }
  WeightOp made = weightOf(pieces, nameOf(pieces), type, model);
  Operation *last = wanted.front().weight.getDefiningOp();
  for (const Wanted &each : wanted)
    if (last->isBeforeInBlock(each.weight.getDefiningOp()))
      last = each.weight.getDefiningOp();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfter(last);
  return GetWeightOp::create(rewriter, last->getLoc(), type,
                             FlatSymbolRefAttr::get(made.getSymNameAttr()));
}

/// The rows below each other. What cannot be gives the first weight as it is, which the verifier of its reader refuses.
Value derive(PatternRewriter &rewriter, ArrayRef<Wanted> wanted) {
  auto first = cast<WeightType>(wanted.front().weight.getType());
  int64_t rows = 0;
  for (const Wanted &each : wanted)
    rows += each.count;
  auto type = first.isVector()
                  ? WeightType::get(first.getContext(), {rows}, first.getFormat())
                  : WeightType::get(first.getContext(), {rows, first.columns()}, first.getFormat());
  if (auto argument = dyn_cast<BlockArgument>(wanted.front().weight))
    if (auto kind = dyn_cast<LayerKindOp>(argument.getOwner()->getParentOp()))
      return inLayers(kind, wanted, type);
  return inEntry(rewriter, wanted, type);
}

} // namespace

/// Whether a weight's rows can be had: a matrix or a vector that its function knows by name.
static bool hasRows(Value value) {
  auto type = value ? dyn_cast<WeightType>(value.getType()) : WeightType();
  if (!type || type.isStack())
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<LayerKindOp>(argument.getOwner()->getParentOp());
  return value.getDefiningOp<GetWeightOp>() != nullptr;
}

static bool goTogether(Value a, Value b) {
  if (!hasRows(a) || !hasRows(b) || isa<BlockArgument>(a) != isa<BlockArgument>(b) ||
      a.getParentBlock() != b.getParentBlock())
    return false;
  auto one = cast<WeightType>(a.getType()), two = cast<WeightType>(b.getType());
  return one.getFormat() == two.getFormat() && one.isVector() == two.isVector() &&
         (one.isVector() || one.columns() == two.columns());
}

static LogicalResult canConcatRows(PatternRewriter &, Value a, Value b) {
  return success(goTogether(a, b));
}

static Value rows(PatternRewriter &rewriter, Value weight, Attribute first, Attribute count) {
  auto from = dyn_cast_or_null<IntegerAttr>(first), number = dyn_cast_or_null<IntegerAttr>(count);
  if (!hasRows(weight) || !from || !number || from.getInt() < 0 || number.getInt() < 1 ||
      from.getInt() + number.getInt() > cast<WeightType>(weight.getType()).rows())
    return weight;
  return derive(rewriter, Wanted{weight, from.getInt(), number.getInt()});
}

static Value concatRows(PatternRewriter &rewriter, ValueRange weights) {
  SmallVector<Wanted> wanted;
  for (Value weight : weights) {
    if (!goTogether(weights.front(), weight))
      return weights.front();
    wanted.push_back({weight, 0, cast<WeightType>(weight.getType()).rows()});
  }
  return derive(rewriter, wanted);
}

static constexpr Native kNatives[] = {
    asks<canConcatRows>("CanConcatRows(value, value)"),
    does<rows>("Rows(value, attribute, attribute) -> value"),
    does<concatRows>("ConcatRows(range<value>) -> value"),
};

ArrayRef<Native> patterns::weightNatives() { return kNatives; }

void patterns::dropUnreadWeights(ModelOp model) {
  for (auto kind : model.getBody().getOps<LayerKindOp>())
    for (unsigned i = kind.getNumArguments(); i-- > kind.firstWeight();) {
      if (!kind.getArgument(i).use_empty())
        continue;
      model.walk([&](LayersOp layers) {
        SmallVector<Attribute> lists(layers.getWeights().getValue());
        for (auto [name, list] :
             llvm::zip(layers.getKinds().getAsRange<FlatSymbolRefAttr>(), lists)) {
          if (name.getValue() != kind.getSymName())
            continue;
          SmallVector<Attribute> passed(cast<ArrayAttr>(list).getValue());
          passed.erase(passed.begin() + (i - kind.firstWeight()));
          list = ArrayAttr::get(model.getContext(), passed);
        }
        layers.setWeightsAttr(ArrayAttr::get(model.getContext(), lists));
      });
      (void)kind.eraseArgument(i);
    }
  llvm::DenseSet<StringAttr> read;
  model.walk([&](GetWeightOp get) { read.insert(get.getWeightAttr().getAttr()); });
  model.walk([&](LayersOp layers) {
    for (auto list : layers.getWeights().getAsRange<ArrayAttr>())
      for (auto symbol : list.getAsRange<FlatSymbolRefAttr>())
        read.insert(symbol.getAttr());
  });
  for (auto weight : llvm::make_early_inc_range(model.getBody().getOps<WeightOp>()))
    if (!read.contains(weight.getSymNameAttr()))
      weight.erase();
}

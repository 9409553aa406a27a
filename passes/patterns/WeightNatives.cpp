//===- WeightNatives.cpp - Weights made of rows of other weights ----------===//
//
// A weight is a reference to rows of the checkpoint, whose bytes are read when the engine is packed. A range of its
// rows, or a stack of rows of several weights, is therefore a reference as well, in any format.
//
//   Rows(%q, 0, 64)      lm.weight @blk.7.attn_q.rows_0_64 {source = #lm.rows<"q.weight" from 0 [64]>}
//
//===----------------------------------------------------------------------===//
#include "passes/patterns/DerivedWeights.h"
#include "passes/patterns/Natives.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;
using patterns::constraint;
using patterns::Native;
using patterns::rewrite;
using patterns::Run;

//===----------------------------------------------------------------------===//
// Ranges of row orders
//===----------------------------------------------------------------------===//

/// Appends `count` rows of an order, starting at `from`, to `out`. They are one order, or several if the range begins
/// or ends within a loop.
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
      parts.push_back({part.tensor, part.matrix, std::move(order), part.transposed,
                       part.columnFactors, part.rowFactors});
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

/// A weight value and a range of its rows.
struct Wanted {
  Value weight;
  int64_t first, count;
};

void addOrigins(Piece piece, std::vector<WeightRows> &origins) {
  int64_t from = piece.first, count = piece.count;
  for (const WeightRows &origin : originsOf(piece.weight)) {
    const int64_t first = std::clamp<int64_t>(from, 0, origin.count),
                  last = std::clamp<int64_t>(from + count, 0, origin.count);
    if (first < last) {
      WeightRows &part = origins.emplace_back(origin);
      part.first += first, part.count = last - first;
    }
    from -= origin.count;
  }
}

std::string rangeOf(int64_t first, int64_t count, int64_t of) {
  return count == of ? "" : ".rows_" + std::to_string(first) + "_" + std::to_string(count);
}

/// The weight whose rows are those of `pieces`.
WeightOp weightOf(ArrayRef<Piece> pieces, WeightType type) {
  std::string name;
  for (Piece piece : pieces)
    name += (name.empty() ? "" : "_and_") + piece.weight.getSymName().str() +
            rangeOf(piece.first, piece.count, piece.weight.getType().rows());
  auto [made, isNew] = patterns::addWeight(pieces.front().weight, name, type);
  if (!isNew)
    return made;
  std::vector<TensorRows> parts;
  SmallVector<float> values;
  std::vector<WeightRows> origins;
  for (Piece piece : pieces) {
    addOrigins(piece, origins);
    if (auto own = piece.weight.getValues())
      values.append(own->begin() + piece.first, own->begin() + piece.first + piece.count);
    else
      llvm::append_range(parts, slice(*piece.weight.getSource(), piece.weight.getType().rows(),
                                      piece.first, piece.count));
  }
  if (values.empty())
    made.setSourceAttr(sourceOf(made.getContext(), parts));
  else
    made.setValues(values);
  setOrigins(made, origins);
  return made;
}

/// Returns a value for a weight that stacks these rows.
Value deriveRows(PatternRewriter &rewriter, ArrayRef<Wanted> wanted) {
  auto first = cast<WeightType>(wanted.front().weight.getType());
  int64_t rows = 0;
  SmallVector<Value> from;
  std::string role;
  for (const Wanted &each : wanted) {
    rows += each.count;
    from.push_back(each.weight);
    role += (role.empty() ? "" : "_and_") + patterns::roleOf(each.weight) +
            rangeOf(each.first, each.count, cast<WeightType>(each.weight.getType()).rows());
  }
  auto type = first.isVector()
                  ? WeightType::get(first.getContext(), {rows}, first.getFormat())
                  : WeightType::get(first.getContext(), {rows, first.columns()}, first.getFormat());
  return patterns::derive(rewriter, from, role, type, [&](ArrayRef<WeightOp> weights) {
    SmallVector<Piece> pieces;
    for (auto [weight, each] : llvm::zip_equal(weights, wanted))
      pieces.push_back({weight, each.first, each.count});
    return weightOf(pieces, type);
  });
}

} // namespace

static bool goTogether(Value a, Value b) {
  if (!patterns::areNamedTogether(a, b))
    return false;
  auto one = cast<WeightType>(a.getType()), two = cast<WeightType>(b.getType());
  return one.getFormat() == two.getFormat() && one.isVector() == two.isVector() &&
         (one.isVector() || one.columns() == two.columns());
}

static LogicalResult canConcatRows(PatternRewriter &, Value a, Value b) {
  return success(goTogether(a, b));
}

// An impossible request ends the run. The function still has to return a value, which is the first weight.

static Value rows(Run &run, PatternRewriter &rewriter, Value weight, Attribute first,
                  Attribute count) {
  auto from = dyn_cast_or_null<IntegerAttr>(first), number = dyn_cast_or_null<IntegerAttr>(count);
  if (!patterns::isNamed(weight) || !from || !number || from.getInt() < 0 || number.getInt() < 1 ||
      from.getInt() + number.getInt() > cast<WeightType>(weight.getType()).rows()) {
    std::string range;
    llvm::raw_string_ostream out(range);
    out << "Rows: there are no " << (number ? number.getInt() : 0) << " rows from row "
        << (from ? from.getInt() : 0) << " in '" << weight.getType() << "'";
    run.fail(range);
    return weight;
  }
  return deriveRows(rewriter, Wanted{weight, from.getInt(), number.getInt()});
}

static Value concatRows(Run &run, PatternRewriter &rewriter, ValueRange weights) {
  SmallVector<Wanted> wanted;
  for (Value weight : weights) {
    if (!goTogether(weights.front(), weight)) {
      run.fail(
          "ConcatRows: the weights must have the same format and number of columns, and be in one "
          "layer; check with CanConcatRows");
      return weights.front();
    }
    wanted.push_back({weight, 0, cast<WeightType>(weight.getType()).rows()});
  }
  return deriveRows(rewriter, wanted);
}

static constexpr Native kNatives[] = {
    constraint<canConcatRows>("CanConcatRows(value, value)"),
    rewrite<rows>("Rows(value, attribute, attribute) -> value"),
    rewrite<concatRows>("ConcatRows(range<value>) -> value"),
};

ArrayRef<Native> patterns::weightNatives() { return kNatives; }

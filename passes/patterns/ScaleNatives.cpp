//===- ScaleNatives.cpp - Weights multiplied by vectors ---------------------===//
//
// Like a range of rows (WeightNatives.cpp), a product of weights is only a reference: the numbers are multiplied in
// f32 when the engine is packed. The weights must therefore be floats, and the format of the product is f32 until a
// pass chooses another one. All passes that choose formats run after the point `import`.
//
//   ScaleColumns(%q, %g, 1.0)   lm.weight @blk.7.attn_q.columns_by.blk.7.attn_norm : !lm.weight<576x576, f32>
//                                 {source = #lm.rows<"q.weight" columns by "input_layernorm.weight" plus 1.0>}
//
// A norm of whole rows without a bias is x * f(x) * (g + offset), so its consumers can absorb the last factor
// into the columns of their weights. FoldNorm does this, and leaves a norm whose weight is 1 everywhere.
//===----------------------------------------------------------------------===//
#include "dialects/lm/ops/Linear.h"
#include "dialects/lm/ops/Norm.h"
#include "passes/patterns/DerivedWeights.h"
#include "passes/patterns/Natives.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;
using patterns::constraint;
using patterns::Native;
using patterns::rewrite;
using patterns::Run;

namespace {
enum class Axis { Columns, Rows };

StringRef nameOf(Axis axis) { return axis == Axis::Columns ? "columns" : "rows"; }
} // namespace

/// The tensor row with which a part's rows begin, if they are contiguous; else nullopt.
static std::optional<int64_t> firstOfRun(const RowOrder &order) {
  if (order.loops.size() > 1 || (order.loops.size() == 1 && order.loops.front().stride != 1))
    return std::nullopt;
  return order.first;
}

/// Why a weight's numbers cannot be multiplied by a vector along this axis; "" if they can be.
static StringRef whyNot(WeightOp weight, WeightOp vector, Axis axis) {
  if (weight.getValues() || !weight.getType().numeric().isFloat() ||
      (weight.getStored() && !weight.getStored()->format().isFloat()))
    return "the weight is not a tensor of floats";
  if (vector.getValues() || !isa<StringAttr>(*vector.getSource()))
    return "the vector is not a whole tensor of the checkpoint";
  for (const TensorRows &part : rowsOf(*weight.getSource())) {
    if (axis == Axis::Columns ? part.columnFactors.has_value() : part.rowFactors.has_value())
      return "the weight already has such factors";
    if (axis == Axis::Rows && !firstOfRun(part.order))
      return "the weight's rows are not consecutive";
  }
  return "";
}

static bool canScale(Value weight, Value vector, Axis axis) {
  if (!patterns::areNamedTogether(weight, vector))
    return false;
  auto type = cast<WeightType>(weight.getType()), by = cast<WeightType>(vector.getType());
  if (!by.isVector() || (axis == Axis::Columns && type.isVector()) ||
      by.rows() != (axis == Axis::Columns ? type.columns() : type.rows()))
    return false;
  return llvm::all_of(
      llvm::zip_equal(patterns::weightsOf(weight), patterns::weightsOf(vector)),
      [&](auto pair) { return whyNot(std::get<0>(pair), std::get<1>(pair), axis).empty(); });
}

static LogicalResult canScaleColumns(PatternRewriter &, Value weight, Value vector) {
  return success(canScale(weight, vector, Axis::Columns));
}

static LogicalResult canScaleRows(PatternRewriter &, Value weight, Value vector) {
  return success(canScale(weight, vector, Axis::Rows));
}

/// Adds the factors to the parts of a source or of origins; the rows of each part are contiguous. `begins` returns the
/// first row of a part, as numbered in the tensor or weight that it refers to, and `counts` the number of its rows.
template <typename Rows, typename Begins, typename Counts>
static void multiply(Rows &rows, Axis axis, StringRef vector, float offset, Begins begins,
                     Counts counts) {
  int64_t before = 0;
  for (auto &part : rows) {
    if (axis == Axis::Columns)
      part.columnFactors = Factors{vector.str(), offset};
    else
      part.rowFactors = Factors{vector.str(), offset, begins(part) - before};
    before += counts(part);
  }
}

static Value scaled(PatternRewriter &rewriter, Value weight, Value vector, float offset,
                    Axis axis) {
  auto type = cast<WeightType>(weight.getType());
  type = WeightType::get(type.getContext(), type.getShape(), WeightFormat::F32);
  const std::string by = ("." + nameOf(axis) + "_by.").str();
  const std::string role = patterns::roleOf(weight) + by + patterns::roleOf(vector);
  return patterns::derive(
      rewriter, {weight, vector}, role, type, [&](ArrayRef<WeightOp> from) -> WeightOp {
        WeightOp own = from[0], factors = from[1];
        auto [made, isNew] =
            patterns::addWeight(own, (own.getSymName() + by + factors.getSymName()).str(), type);
        if (!isNew)
          return made;
        std::vector<TensorRows> parts = rowsOf(*own.getSource());
        const int64_t rows = type.rows();
        multiply(
            parts, axis, cast<StringAttr>(*factors.getSource()).getValue(), offset,
            [](const TensorRows &part) { return *firstOfRun(part.order); },
            [&](const TensorRows &part) { return part.order.count(rows); });
        made.setSourceAttr(sourceOf(made.getContext(), parts));
        made.removeStoredAttr();
        std::vector<WeightRows> origins = originsOf(own);
        multiply(
            origins, axis, factors.getSymName(), offset,
            [](const WeightRows &origin) { return origin.first; },
            [](const WeightRows &origin) { return origin.count; });
        setOrigins(made, origins);
        return made;
      });
}

/// A number given by a pattern, as a float or an integer.
static float numberOf(Attribute attr) {
  if (auto number = dyn_cast_or_null<FloatAttr>(attr))
    return static_cast<float>(number.getValueAsDouble());
  if (auto number = dyn_cast_or_null<IntegerAttr>(attr))
    return static_cast<float>(number.getInt());
  return 0;
}

// An impossible request ends the run, so patterns have to check first (CanScaleColumns, CanScaleRows).

static Value scaleColumns(Run &run, PatternRewriter &rewriter, Value weight, Value vector,
                          Attribute plus) {
  if (!canScale(weight, vector, Axis::Columns)) {
    run.fail(
        "ScaleColumns: the weight is not of floats, or the vector has a different length or is in "
        "another layer; check with CanScaleColumns");
    return weight;
  }
  return scaled(rewriter, weight, vector, numberOf(plus), Axis::Columns);
}

static Value scaleRows(Run &run, PatternRewriter &rewriter, Value weight, Value vector,
                       Attribute plus) {
  if (!canScale(weight, vector, Axis::Rows)) {
    run.fail(
        "ScaleRows: the weight is not of floats, or the vector has a different length or is in "
        "another layer; check with CanScaleRows");
    return weight;
  }
  return scaled(rewriter, weight, vector, numberOf(plus), Axis::Rows);
}

/// A vector of f32 of the same length, all ones.
static Value ones(PatternRewriter &rewriter, Value like) {
  auto type = WeightType::get(like.getContext(), {cast<WeightType>(like.getType()).rows()},
                              WeightFormat::F32);
  const std::string name = "ones_" + std::to_string(type.rows());
  return patterns::derive(rewriter, like, name, type, [&](ArrayRef<WeightOp> from) {
    auto [made, isNew] = patterns::addWeight(from[0], name, type);
    if (isNew) {
      made.removeSourceAttr();
      made.removeStoredAttr();
      made.setValues(SmallVector<float>(static_cast<size_t>(type.rows()), 1.0f));
    }
    return made;
  });
}

/// Whether the op is a norm of whole rows without a bias, and all its consumers are projections that can
/// absorb its weight into their columns.
static bool foldsIntoConsumers(Operation *op) {
  auto norm = dyn_cast<NormInterface>(op);
  if (!norm || norm.getHeads() != 1 || op->getNumOperands() != 2 || op->use_empty())
    return false;
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    auto projection = dyn_cast<LinearOp>(use.getOwner());
    return projection && projection.getX() == use.get() &&
           canScale(projection.getWeight(), norm.getWeight(), Axis::Columns);
  });
}

static LogicalResult canFoldNorm(PatternRewriter &, Operation *norm) {
  return success(foldsIntoConsumers(norm));
}

static void foldNorm(Run &run, PatternRewriter &rewriter, Operation *op) {
  if (!foldsIntoConsumers(op)) { // or it is already folded
    run.leftAsItWas = true;
    return;
  }
  auto norm = cast<NormInterface>(op);
  const float offset = norm.getWeightOffset().convertToFloat();
  for (Operation *consumer : llvm::reverse(llvm::to_vector(op->getUsers()))) { // in program order
    auto projection = cast<LinearOp>(consumer);
    Value folded =
        scaled(rewriter, projection.getWeight(), norm.getWeight(), offset, Axis::Columns);
    rewriter.modifyOpInPlace(consumer, [&] { projection.getWeightMutable().assign(folded); });
  }
  Value one = ones(rewriter, norm.getWeight());
  rewriter.modifyOpInPlace(op, [&] {
    op->setOperand(1, one);
    op->setAttr("weight_offset", rewriter.getF32FloatAttr(0));
  });
}

static constexpr Native kNatives[] = {
    constraint<canScaleColumns>("CanScaleColumns(value, value)"),
    constraint<canScaleRows>("CanScaleRows(value, value)"),
    constraint<canFoldNorm>("CanFoldNorm(operation)"),
    rewrite<scaleColumns>("ScaleColumns(value, value, attribute) -> value"),
    rewrite<scaleRows>("ScaleRows(value, value, attribute) -> value"),
    rewrite<ones>("Ones(value) -> value"),
    rewrite<foldNorm>("FoldNorm(operation)"),
};

ArrayRef<Native> patterns::scaleNatives() { return kNatives; }

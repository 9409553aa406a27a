//===- ModelWeights.cpp - The weights of a model, by reference -------------===//
//
// Each weight is an lm.weight before the first layer kind. Its source is a tensor or rows of tensors, or its values are
// constants in the op.
//===----------------------------------------------------------------------===//
#include "compiler/import/error/ImportErrors.h"
#include "models/ModelBuilder.h"
#include "models/ModelErrors.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::models;
using import::inQuotes;
using import::line;

lm::WeightOp ModelBuilder::addWeight(StringRef symbol, ArrayRef<int64_t> extents,
                                     WeightFormat stored, Attribute source) {
  OpBuilder::InsertionGuard guard(builder);
  if (firstKind)
    builder.setInsertionPoint(firstKind);
  else
    builder.setInsertionPointToEnd(modelBody);
  WeightFormat format = isVectors(extents) ? WeightFormat::F32 : stored;
  return lm::WeightOp::create(builder, NameLoc::get(builder.getStringAttr(symbol)), symbol,
                              lm::WeightType::get(&context, extents, format), source,
                              format == stored ? lm::FormatAttr()
                                               : lm::FormatAttr::get(&context, stored),
                              DenseF32ArrayAttr());
}

lm::WeightOp ModelBuilder::weight(StringRef symbol, StringRef source, ArrayRef<int64_t> extents) {
  return weight(symbol, TensorRows{source.str()}, extents);
}

lm::WeightOp ModelBuilder::weight(StringRef symbol, ArrayRef<TensorRows> parts,
                                  ArrayRef<int64_t> extents) {
  Attribute source = lm::sourceOf(&context, parts);
  if (checkpoint.tensors.empty()) {
    bool ofLayer =
        !isVectors(extents) && StringRef(parts.front().tensor).starts_with(shape.names.layers);
    return addWeight(symbol, extents, ofLayer ? checkpoint.layerFormat.value_or(dtype) : dtype,
                     source);
  }
  const import::Tensor *tensor = takeRows(parts, extents);
  return tensor ? addWeight(symbol, extents, tensor->format, source) : lm::WeightOp();
}

std::string ModelBuilder::sourceOf(int64_t layer, StringRef tensor) const {
  return line(isGguf() ? "blk." : shape.names.layers.str(), layer, '.', tensor.str());
}

std::string ModelBuilder::sourceOf(int64_t layer, const LayerTensor &tensor,
                                   StringRef ending) const {
  return sourceOf(layer,
                  (isGguf() ? tensor.gguf : tensor.hf).str() + (tensor.whole ? "" : ending.str()));
}

std::string ModelBuilder::symbolOf(int64_t layer, StringRef role) {
  return line("blk.", layer, '.', role.str());
}

void ModelBuilder::addBias(LayerWeights &weights, int64_t layer, const LayerTensor &tensor,
                           int64_t length, Bias bias, const RowOrder &order) {
  std::string source = sourceOf(layer, tensor, ".bias");
  if (bias == Bias::None || (bias == Bias::IfPresent && !hasTensor(source)))
    return;
  std::string role = (tensor.role + "_bias").str();
  weights.add(role, weight(symbolOf(layer, role), TensorRows{source, -1, order}, {length}));
}

void ModelBuilder::addMatrix(LayerWeights &weights, int64_t layer, const LayerTensor &tensor,
                             int64_t rows, int64_t columns, Bias bias, const RowOrder &order,
                             bool transposed) {
  weights.add(tensor.role,
              weight(symbolOf(layer, tensor.role),
                     TensorRows{sourceOf(layer, tensor, ".weight"), -1, order, transposed},
                     {rows, columns}));
  addColumns(weights, layer, tensor.role, sourceOf(layer, tensor, ".weight"), columns);
  addBias(weights, layer, tensor, rows, bias, order);
}

void ModelBuilder::addVector(LayerWeights &weights, int64_t layer, const LayerTensor &tensor,
                             int64_t length, Bias bias) {
  weights.add(tensor.role,
              weight(symbolOf(layer, tensor.role), sourceOf(layer, tensor, ".weight"), {length}));
  addBias(weights, layer, tensor, length, bias, {});
}

void ModelBuilder::addVectors(LayerWeights &weights, int64_t layer, const LayerTensor &tensor,
                              int64_t count, int64_t length, bool apart) {
  SmallVector<TensorRows> parts;
  if (apart && !isGguf()) {
    for (int64_t i = 0; i < count; ++i) {
      parts.push_back({sourceOf(layer, tensor, line(".", i, ".weight"))});
      expectShape(parts.back().tensor, {length});
    }
  } else {
    parts.push_back({sourceOf(layer, tensor, ".weight"), -1, RowOrder::range(0, count * length)});
    expectShape(parts.back().tensor, {count, length});
  }
  weights.add(tensor.role, weight(symbolOf(layer, tensor.role), parts, {count * length}));
}

void ModelBuilder::addStack(LayerWeights &weights, int64_t layer, StringRef role,
                            ArrayRef<TensorRows> parts, std::array<int64_t, 3> extents) {
  weights.add(role, weight(symbolOf(layer, role), parts, extents));
  if (static_cast<int64_t>(parts.size()) == extents[0])
    addStackColumns(weights, layer, role, parts, extents[2]);
}

void ModelBuilder::addTaps(LayerWeights &weights, int64_t layer, const LayerTensor &tensor,
                           int64_t channels, int64_t taps, Bias bias) {
  const std::string source = sourceOf(layer, tensor, ".weight");
  const import::Tensor *stored = checkpoint.find(source);
  const std::vector<int64_t> flat = {channels, taps}, deep = {channels, 1, taps};
  if (stored && stored->shape != flat && stored->shape != deep)
    return refuseShape(*stored, deep, "");
  const RowOrder byTap{0, {{taps}, {channels, taps}}};
  weights.add(tensor.role, weight(symbolOf(layer, tensor.role), TensorRows{source, -1, byTap},
                                  {taps * channels}));
  addBias(weights, layer, tensor, channels, bias, {});
}

lm::WeightOp ModelBuilder::values(StringRef symbol, ArrayRef<float> numbers) {
  OpBuilder::InsertionGuard guard(builder);
  if (firstKind)
    builder.setInsertionPoint(firstKind);
  else
    builder.setInsertionPointToEnd(modelBody);
  return lm::WeightOp::create(
      builder, NameLoc::get(builder.getStringAttr(symbol)), symbol,
      lm::WeightType::get(&context, {int64_t(numbers.size())}, WeightFormat::F32), StringAttr(),
      lm::FormatAttr(), builder.getDenseF32ArrayAttr(numbers));
}

std::vector<float> ModelBuilder::take(StringRef source, int64_t length) {
  const import::Tensor *tensor = takeRows(TensorRows{source.str()}, {length});
  std::vector<float> numbers(length, 1);
  if (!tensor)
    return numbers;
  auto read = import::RowSource(*tensor).read(0, numbers);
  if (!read)
    refuse(std::move(read.error()));
  return numbers;
}

bool ModelBuilder::hasOwnHead(lm::WeightOp embedding, StringRef outputSource) {
  const import::Tensor *output = checkpoint.find(outputSource);
  if (!output || !embedding)
    return false;
  const import::Tensor *table = checkpoint.find(cast<StringAttr>(*embedding.getSource()).str());
  if (import::sameRows(*output, *table)) {
    takeUnread(outputSource);
    return false;
  }
  mlir::emitWarning(modelBody->getParentOp()->getLoc())
      << "'tie_word_embeddings' is true, but the checkpoint has a separate head, "
      << inQuotes(outputSource)
      << ", that differs from the embedding. The head is used, as in transformers; set the key to "
         "false to silence this";
  return true;
}

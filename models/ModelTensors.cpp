//===- ModelTensors.cpp - Tensors that a family takes ---------------------===//
//
// A family names the tensors that it needs and their shapes. This file finds them and checks their shapes.
// Each row may be taken only once, and after the last layer every row must have been taken: ignoring a tensor
// silently would result in a wrong model.
//===----------------------------------------------------------------------===//
#include "compiler/import/error/ImportErrors.h"
#include "models/ModelBuilder.h"
#include "models/ModelErrors.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace mlir;
using namespace ingot;
using namespace ingot::models;
using import::inQuotes;
using import::line;

//===----------------------------------------------------------------------===//
// Finding and taking
//===----------------------------------------------------------------------===//

static std::string printed(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

const import::Tensor *ModelBuilder::find(StringRef source) const { return checkpoint.find(source); }

bool ModelBuilder::hasTensor(StringRef source) const { return find(source) != nullptr; }

int64_t ModelBuilder::rowsOf(StringRef source) const {
  const import::Tensor *tensor = checkpoint.find(source);
  return tensor ? tensor->shape.front() : 0;
}

/// The elements of a vector may be stored in a tensor of several dimensions.
static import::Unit unitOf(ArrayRef<int64_t> shape) {
  return isVectors(shape) ? import::Unit::Numbers : import::Unit::Rows;
}

/// Rows of a weight: the matrices of a stack are concatenated by rows.
static int64_t rowsOfShape(ArrayRef<int64_t> shape) {
  int64_t rows = 1;
  for (int64_t extent : isVectors(shape) ? shape : shape.drop_back())
    rows *= extent;
  return rows;
}

/// For vectors, dimensions of 1 are ignored: biases of experts are stored as [count][length] or as
/// [count][length][1].
static bool isShapeOf(ArrayRef<int64_t> found, ArrayRef<int64_t> expected) {
  if (!isVectors(expected))
    return found == expected;
  auto isLonger = [](int64_t extent) { return extent != 1; };
  return llvm::to_vector(llvm::make_filter_range(found, isLonger)) ==
         llvm::to_vector(llvm::make_filter_range(expected, isLonger));
}

/// Returns the shape as the part uses it: a transposed vector is a matrix with one column.
static std::vector<int64_t> shapeFor(const TensorRows &part, const import::Tensor &tensor) {
  std::vector<int64_t> shape = tensor.shape;
  if (part.transposed && shape.size() == 1)
    shape.push_back(1);
  return shape;
}

void ModelBuilder::refuseShape(const import::Tensor &tensor, ArrayRef<int64_t> expected,
                               const std::string &rows) {
  refuse(import::refuse(cause::tensorShape,
                        line("the tensor ", inQuotes(tensor.name), " has the wrong shape"),
                        line("found ", printed(tensor.shape), ", the configuration requires ",
                             printed(expected), rows),
                        "take configuration and tensors from the same checkpoint"));
}

/// Finds a tensor with a name that differs from `source` only in its first components. A layer number must be the same.
/// Returns null if there is no such tensor.
static const import::Tensor *renamed(const import::Checkpoint &checkpoint, StringRef source) {
  for (auto [first, rest] = source.split('.');
       rest.contains('.') && !llvm::all_of(first, llvm::isDigit);
       std::tie(first, rest) = rest.split('.'))
    for (const import::Tensor &tensor : checkpoint.tensors) {
      StringRef name = tensor.name;
      if (name.consume_back(rest) && (name.empty() || name.ends_with(".")))
        return &tensor;
    }
  return nullptr;
}

void ModelBuilder::refuseMissing(StringRef source, ArrayRef<int64_t> expected) {
  const import::Tensor *other = renamed(checkpoint, source);
  const bool head = !isGguf() && source == shape.names.output;
  const char *fix =
      head ? "set \"tie_word_embeddings\": true in config.json if the head is the embedding; "
             "otherwise add the file that has the head"
      : other
          ? "rename its tensors as in the published model, or name the family with these tensors "
            "in config.json"
          : "if files are missing, download them; otherwise take config.json and tensors from the "
            "same checkpoint";
  refuse(import::refuse(
      cause::tensorMissing, line("the checkpoint has no tensor ", inQuotes(source)),
      line(head ? "'tie_word_embeddings' is false, or missing and false by default; " : "", "the ",
           shape.family.str(), " family needs it as ", printed(expected), "; the checkpoint has ",
           checkpoint.tensors.size(), " tensors, ",
           other ? line("among them ", inQuotes(other->name))
                 : line("the first is ", inQuotes(checkpoint.tensors.front().name))),
      fix));
}

/// Finds the tensor of one part of a weight of the shape `expected`. `alone`: the weight has no other part.
const import::Tensor *ModelBuilder::findPart(const TensorRows &part, ArrayRef<int64_t> expected,
                                             bool alone) {
  const std::string &source = part.tensor;
  const import::Tensor *tensor = checkpoint.find(source);
  if (const import::UnreadTensor *other = checkpoint.findUnread(source)) {
    refuseType(*other);
    return nullptr;
  }
  if (!tensor) {
    refuseMissing(source, expected);
    return nullptr;
  }
  const bool whole = alone && part == TensorRows{source}, stack = part.matrix >= 0,
             vectors = isVectors(expected);
  const std::vector<int64_t> found = shapeFor(part, *tensor);
  const bool matrix =
      found.size() == size_t(stack ? 3 : 2) || (expected.size() == 3 && found.size() == 3);
  const int64_t height = stack && matrix ? found[1] : import::rowsOf(*tensor, unitOf(expected)),
                available = part.transposed ? found.back() : height,
                columns = part.transposed ? height : found.back(),
                last = part.order.last(available);
  const bool fits = (vectors ? !stack : matrix && columns == expected.back()) &&
                    (!stack || part.matrix < found[0]) && last >= part.order.first &&
                    last < available;
  if (whole ? !isShapeOf(found, expected) : !fits) {
    refuseShape(*tensor, expected,
                whole ? "" : line(", from rows ", part.order.first, " to ", last, " of it"));
    return nullptr;
  }
  if (vectors && !numericFormat(tensor->format).isFloat()) {
    refuse(import::refuse(
        cause::tensorFormat, line("the vector ", inQuotes(source), " is quantised"),
        line("found ", numericFormat(tensor->format).name, ", supported: f32, f16, bf16"),
        "convert the checkpoint again with a current converter"));
    return nullptr;
  }
  return tensor;
}

/// Marks the rows of a part as taken. Returns their number, 0 after an error.
int64_t ModelBuilder::markTaken(const TensorRows &part, const import::Tensor &tensor,
                                import::Unit unit) {
  llvm::BitVector &rows = taken[tensor.name];
  const int64_t stacked = part.matrix >= 0 ? tensor.shape[0] : 1;
  const int64_t available = part.transposed    ? shapeFor(part, tensor).back()
                            : part.matrix >= 0 ? tensor.shape[1]
                                               : import::rowsOf(tensor, unit),
                before = part.matrix >= 0 ? part.matrix * available : 0,
                count = part.order.count(available);
  rows.resize(static_cast<unsigned>(stacked * available));
  for (int64_t n = 0; n < count; ++n) {
    const auto row = static_cast<unsigned>(before + part.order.at(n));
    if (rows.test(row)) {
      refuse({ExitCode::Internal, cause::rowsTwice,
              line("row ", row, " of the tensor ", inQuotes(tensor.name), " is used twice"),
              line("by the ", shape.family.str(), " family, which declares no shared rows"),
              "report this, with the checkpoint's name"});
      return 0;
    }
    rows.set(row);
  }
  return count;
}

const import::Tensor *ModelBuilder::takeRows(ArrayRef<TensorRows> parts,
                                             ArrayRef<int64_t> expected) {
  int64_t rows = 0;
  const import::Tensor *leading = nullptr;
  for (const TensorRows &part : parts) {
    const import::Tensor *tensor = findPart(part, expected, parts.size() == 1);
    const int64_t count = tensor ? markTaken(part, *tensor, unitOf(expected)) : 0;
    if (!count)
      return nullptr;
    rows += count;
    leading = leading ? leading : tensor;
    if (tensor->format != leading->format) {
      refuse(import::refuse(cause::formatsDiffer,
                            line("the tensors ", inQuotes(leading->name), " and ",
                                 inQuotes(tensor->name), " have different formats"),
                            line("found ", numericFormat(leading->format).name, " and ",
                                 numericFormat(tensor->format).name, "; they make up one weight"),
                            "convert the checkpoint again, both in one format"));
      return nullptr;
    }
  }
  if (rows == rowsOfShape(expected))
    return leading;
  refuse(import::refuse(cause::tensorShape,
                        line("the tensor ", inQuotes(leading->name), " has the wrong shape"),
                        line("its part of the weight has ", rows,
                             " rows, the configuration requires ", printed(expected)),
                        "take configuration and tensors from the same checkpoint"));
  return nullptr;
}

void ModelBuilder::takeUnread(StringRef source) {
  if (const import::Tensor *tensor = checkpoint.find(source))
    taken[source] = llvm::BitVector(static_cast<unsigned>(import::rowsOf(*tensor)), true);
  if (checkpoint.findUnread(source))
    needless.insert(source);
}

void ModelBuilder::expectShape(StringRef source, ArrayRef<int64_t> expected) {
  const import::Tensor *tensor = checkpoint.find(source);
  if (tensor && tensor->shape != std::vector<int64_t>(expected))
    refuseShape(*tensor, expected, "");
}

//===----------------------------------------------------------------------===//
// Tensors that were not taken
//===----------------------------------------------------------------------===//

/// Returns whether the tensor belongs to a layer after the last one. Such tensors exist because some users truncate
/// models by changing only num_hidden_layers.
bool ModelBuilder::isOfCutLayer(StringRef tensor) const {
  int64_t layer;
  return checkpoint.container == import::Container::Safetensors &&
         tensor.consume_front(shape.names.layers) && !tensor.consumeInteger(10, layer) &&
         tensor.starts_with(".") && layer >= int64_t(layerKinds.size());
}

/// Returns whether transformers ignores the tensor in every family. It ignores values that models compute themselves,
/// and the value heads of trl's trainers.
static bool isPassedOver(StringRef tensor) {
  for (StringRef ending : {"rotary_emb.inv_freq", "rotary_emb.cos_cached", "rotary_emb.sin_cached",
                           "rotary_emb.original_inv_freq", "rotary_pos_emb.inv_freq"})
    if (tensor == ending || tensor.ends_with(("." + ending).str()))
      return true;
  for (StringRef head : {"v_head.", "value_head."})
    if (tensor.starts_with(head) || tensor.starts_with(("model." + head).str()))
      return true;
  return false;
}

void ModelBuilder::checkAllTaken() {
  if (first)
    return; // nothing was taken after the error
  std::vector<std::string> unused;
  int64_t cut = 0;
  for (const import::Tensor &tensor : checkpoint.tensors) {
    auto rows = taken.find(tensor.name);
    if (isOfCutLayer(tensor.name))
      ++cut;
    else if (!isGguf() && isPassedOver(tensor.name))
      continue;
    else if (rows == taken.end())
      unused.push_back(tensor.name);
    else if (!rows->second.all())
      refuseHalfUsed(tensor, rows->second);
  }
  for (const import::UnreadTensor &tensor : checkpoint.unread)
    if (isOfCutLayer(tensor.name))
      ++cut;
    else if (!needless.contains(tensor.name))
      refuseType(tensor);
  if (cut)
    mlir::emitWarning(modelBody->getParentOp()->getLoc())
        << "warning: " << cut << " tensors of layers from " << layerKinds.size()
        << " on are ignored: config.json has " << layerKinds.size() << " layers";
  if (!unused.empty())
    refuseUnused(unused);
}

void ModelBuilder::refuseUnused(ArrayRef<std::string> unused) {
  const size_t shown = std::min<size_t>(unused.size(), 8); // a checkpoint may have thousands
  std::string names;
  for (const std::string &name : unused.take_front(shown))
    names += (names.empty() ? "" : ", ") + inQuotes(name);
  if (shown < unused.size())
    names += line(", and ", unused.size() - shown, " more");
  refuse(import::refuse(cause::tensorUnused,
                        line("the checkpoint has ", unused.size() > 1 ? "tensors" : "a tensor",
                             " that its family does not support: ", names),
                        line("the ", shape.family.str(), " family uses ",
                             checkpoint.tensors.size() - unused.size(), " of ",
                             checkpoint.tensors.size(), " tensors"),
                        "use a checkpoint of the plain architecture, without adapters"));
}

void ModelBuilder::refuseType(const import::UnreadTensor &tensor) {
  refuse(import::refuse(import::cause::typeUnsupported,
                        line("tensor ", inQuotes(tensor.name), " has the type ", tensor.type),
                        line("the ", shape.family.str(), " family has no tensor of that name and ",
                             "type; weights are F32 F16 BF16 F8_E4M3"),
                        "use the original checkpoint in BF16, F16 or F32"));
}

void ModelBuilder::refuseHalfUsed(const import::Tensor &tensor, const llvm::BitVector &rows) {
  refuse(import::refuse(
      cause::rowsUnused, line("the tensor ", inQuotes(tensor.name), " is only partly used"),
      line("the ", shape.family.str(), " family uses ", rows.count(), " of its ", rows.size(),
           " rows; the first unused row is ", rows.find_first_unset()),
      "take configuration and tensors from the same checkpoint"));
}

//===- ModelBuilder.h - Emits lm: the part all families share -------------===//
//
// A family states, layer by layer, which tensors there are and how a layer computes; the builder turns that
// into `lm`:
//
//   tensors ──weight()──► lm.weight @blk.0.attn_q {source = "the tensor's own name"}, or the
//                         tensor rows that it is made of (RowOrder.h)
//   layers  ──layer()───► lm.layer_kind, one for each *kind*: two layers are of one
//                         kind if name, roles and weight types agree, so a checkpoint
//                         with several weight formats has a kind for each combination
//   finish() ───────────► lm.entry, and the check that every row of every tensor was taken
//
// The first error is kept, and everything built after it is discarded, so a family does not need a check
// after every line.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/RowSource.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Weights.h"
#include "models/Config.h"
#include "models/Family.h"
#include "models/LayerEmitter.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace ingot::models {

/// Returns whether the shape is the shape of a vector, or of one vector per expert (lm::WeightType::isVectors).
inline bool isVectors(llvm::ArrayRef<int64_t> shape) {
  return shape.size() == 1 || (shape.size() == 3 && shape.back() == 1);
}

struct ModelShape {
  llvm::StringRef family;
  int64_t vocab, hidden, context;
  HfNames names = {};
};

/// The weights of one layer, in the order of the kind's arguments.
class LayerWeights {
public:
  void add(llvm::StringRef role, lm::WeightOp weight) { list.emplace_back(role.str(), weight); }
  /// Makes both roles use one argument of the kind.
  void share(llvm::StringRef role, llvm::StringRef other) {
    shared.emplace_back(role.str(), other.str());
  }

private:
  friend class ModelBuilder;
  llvm::SmallVector<std::pair<std::string, lm::WeightOp>, 16> list;
  llvm::SmallVector<std::pair<std::string, std::string>> shared;
};

/// The weights and settings outside the layers: embedding, final norm, head.
struct EntryWeights {
  lm::WeightOp embedding, outputNorm;
  lm::WeightOp positions;      ///< added to the embedding's rows, by position; may be null
  lm::WeightOp outputNormBias; ///< bias of a layer norm; may be null
  lm::WeightOp output;         ///< the embedding itself if they are tied
  lm::WeightOp outputBias;     ///< may be null
  lm::WeightOp outputColumns;  ///< column permutation of the head; may be null
  Norm norm = Norm::Rms;
  double embeddingScale = 1;
  double normEps = 1e-5, normWeightOffset = 0;
  double logitsScale = 1;
  double softcap = 0; ///< of the logits, after their scale; 0: none
};

class ModelBuilder {
public:
  ModelBuilder(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
               const ModelShape &shape);

  bool isGguf() const { return checkpoint.container == import::Container::Gguf; }
  const import::Tensor *find(llvm::StringRef source) const; ///< null if missing
  bool hasTensor(llvm::StringRef source) const;
  int64_t rowsOf(llvm::StringRef source) const; ///< 0 if there is no such tensor
  /// Takes the tensor `source`, which must have exactly this shape, as the weight @symbol. Matrices keep
  /// their format; vectors become f32 and must be stored as floats.
  lm::WeightOp weight(llvm::StringRef symbol, llvm::StringRef source,
                      llvm::ArrayRef<int64_t> shape);
  /// Takes a concatenation of tensor rows as the weight @symbol. No row may be taken twice.
  lm::WeightOp weight(llvm::StringRef symbol, llvm::ArrayRef<TensorRows> parts,
                      llvm::ArrayRef<int64_t> shape);
  /// Returns the column permutation of a matrix of the entry point (ColumnOrders.cpp); null if it has none.
  lm::WeightOp columnsOf(llvm::StringRef symbol, llvm::StringRef matrix, int64_t length);
  /// Takes layer i's matrix [rows][columns], its bias under the role "<role>_bias", and its column
  /// permutation under "<role>_columns" if it has one (GroupedInts.h). Matrix and bias are whole tensors, or the rows
  /// `order` of packed tensors. With `transposed`, the matrix's tensor is [columns][rows]; the bias is not affected.
  void addMatrix(LayerWeights &weights, int64_t layer, const LayerTensor &tensor, int64_t rows,
                 int64_t columns, Bias bias = Bias::None, const RowOrder &order = {},
                 bool transposed = false);
  void addVector(LayerWeights &weights, int64_t layer, const LayerTensor &tensor, int64_t length,
                 Bias bias = Bias::None);
  /// Takes concatenated vectors as one weight: the rows of a tensor [count][length] or, if they are `apart`
  /// (safetensors only), the tensors <tensor>.0, <tensor>.1, …
  void addVectors(LayerWeights &weights, int64_t layer, const LayerTensor &tensor, int64_t count,
                  int64_t length, bool apart);
  /// Takes a stack of matrices, or of vectors as [count][length][1]. Its rows are the concatenated rows of `parts`. If
  /// each part is a matrix, also takes their column permutations under "<role>_columns".
  void addStack(LayerWeights &weights, int64_t layer, llvm::StringRef role,
                llvm::ArrayRef<TensorRows> parts, std::array<int64_t, 3> shape);
  /// Refuses a tensor that exists with another shape. This error is clearer than a later error about its parts.
  void expectShape(llvm::StringRef source, llvm::ArrayRef<int64_t> shape);
  /// Returns the name of layer i's tensor in this checkpoint: the layer's prefix and `tensor`.
  std::string sourceOf(int64_t layer, llvm::StringRef tensor) const;
  /// Takes the taps of a depthwise convolution, oldest first, as a vector [taps][channels]. The checkpoint's tensor is
  /// [channels][taps], with or without a dimension of 1 in between.
  void addTaps(LayerWeights &weights, int64_t layer, const LayerTensor &tensor, int64_t channels,
               int64_t taps, Bias bias = Bias::None);
  /// Adds a vector of constants that is not a tensor of the checkpoint.
  lm::WeightOp values(llvm::StringRef symbol, llvm::ArrayRef<float> numbers);
  /// Takes the elements of a float vector, to compute something from them.
  std::vector<float> take(llvm::StringRef source, int64_t length);
  /// Marks a redundant tensor as taken, if it exists (older files store rope's frequencies).
  void takeUnread(llvm::StringRef source);
  /// Returns whether a model has a separate head although its configuration ties the head to the embedding. The
  /// separate head is then used, with a warning. A head that equals the embedding byte for byte is ignored.
  bool hasOwnHead(lm::WeightOp embedding, llvm::StringRef outputSource);

  /// Adds the next layer. `name` is the base of the kind's name and distinguishes kinds that have the same
  /// weights ("local", "global").
  void layer(llvm::StringRef name, const LayerWeights &weights,
             llvm::function_ref<mlir::Value(LayerEmitter &)> emit);

  void refuse(Error error);
  bool failed() const { return first.has_value(); }
  ImportedModel finish(const EntryWeights &entry, Error &why);

private:
  // ModelTensors.cpp
  /// Returns the first part's tensor; if the parts do not form a weight of that shape, returns null and keeps
  /// an error.
  const import::Tensor *takeRows(llvm::ArrayRef<TensorRows> parts, llvm::ArrayRef<int64_t> shape);
  const import::Tensor *findPart(const TensorRows &part, llvm::ArrayRef<int64_t> shape, bool alone);
  int64_t markTaken(const TensorRows &part, const import::Tensor &tensor, import::Unit unit);
  bool isOfCutLayer(llvm::StringRef tensor) const;
  void checkAllTaken();
  void refuseShape(const import::Tensor &tensor, llvm::ArrayRef<int64_t> expected,
                   const std::string &rows);
  void refuseMissing(llvm::StringRef source, llvm::ArrayRef<int64_t> shape);
  void refuseUnused(llvm::ArrayRef<std::string> tensors);
  void refuseType(const import::UnreadTensor &tensor);
  void refuseHalfUsed(const import::Tensor &tensor, const llvm::BitVector &rows);
  // ModelWeights.cpp
  std::string sourceOf(int64_t layer, const LayerTensor &tensor, llvm::StringRef ending) const;
  static std::string symbolOf(int64_t layer, llvm::StringRef role);
  lm::WeightOp addWeight(llvm::StringRef symbol, llvm::ArrayRef<int64_t> shape, WeightFormat stored,
                         mlir::Attribute source);
  void addBias(LayerWeights &weights, int64_t layer, const LayerTensor &tensor, int64_t length,
               Bias bias, const RowOrder &order);
  // ColumnOrders.cpp
  std::vector<float> takeColumns(llvm::StringRef matrix, int64_t length);
  void addColumns(LayerWeights &weights, int64_t layer, llvm::StringRef of,
                  llvm::ArrayRef<float> numbers);
  void addColumns(LayerWeights &weights, int64_t layer, llvm::StringRef role,
                  llvm::StringRef matrix, int64_t length);
  void addStackColumns(LayerWeights &weights, int64_t layer, llvm::StringRef role,
                       llvm::ArrayRef<TensorRows> matrices, int64_t length);
  // ModelBuilder.cpp
  struct Kind {
    lm::LayerKindOp op;
    llvm::SmallVector<std::string> states; ///< state names without the layer
  };
  Kind emitKind(llvm::StringRef name, const LayerWeights &weights,
                llvm::function_ref<mlir::Value(LayerEmitter &)> emit);
  llvm::SmallVector<mlir::Attribute> emitStates();
  void emitEntry(const EntryWeights &entry);
  void nameKinds();

  mlir::MLIRContext &context;
  const import::Checkpoint &checkpoint;
  ModelShape shape;
  WeightFormat dtype; ///< the format of matrices if the checkpoint has no tensors
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Block *modelBody = nullptr; ///< body of lm.model
  mlir::OpBuilder builder;
  mlir::Operation *firstKind = nullptr; ///< weights are inserted before it
  std::map<std::string, Kind> kinds;    ///< by name and weights
  llvm::SmallVector<mlir::Attribute> layerWeights;
  llvm::SmallVector<const Kind *> layerKinds;
  llvm::StringMap<llvm::BitVector> taken; ///< taken rows, by tensor
  llvm::StringSet<> needless;             ///< unread tensors of the checkpoint that are not needed
  std::optional<Error> first;
};

} // namespace ingot::models

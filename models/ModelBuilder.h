//===- ModelBuilder.h - Emitting lm, the part all families share ----------===//
//
// A family says, layer by layer, which tensors there are and how a layer computes;
// the builder turns that into `lm`:
//
//   tensors ──weight()──► lm.weight @blk.0.attn_q {source = "the tensor's own name"}, or the
//                         rows of tensors that it is made of (RowOrder.h)
//   layers  ──layer()───► lm.layer_kind, one for each *kind*: two layers are of one
//                         kind if name, roles and weight types agree, so a
//                         mixed checkpoint gets as many kinds as it has mixtures
//   finish() ───────────► lm.entry, and the check that every row of every tensor was taken
//
// Errors are kept (the first one), and what is built afterwards is thrown away: so a
// family reads without a check after every line.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/RowSource.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Weights.h"
#include "models/Config.h"
#include "models/Family.h"
#include "models/LayerEmitter.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace ingot::models {

/// Of a vector, or of one for each expert (lm::WeightType::isVectors).
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
  /// The kind has one argument for both roles.
  void share(llvm::StringRef role, llvm::StringRef other) {
    shared.emplace_back(role.str(), other.str());
  }

private:
  friend class ModelBuilder;
  llvm::SmallVector<std::pair<std::string, lm::WeightOp>, 16> list;
  llvm::SmallVector<std::pair<std::string, std::string>> shared;
};

/// What surrounds the layers: embedding, final norm, head.
struct EntryWeights {
  lm::WeightOp embedding, outputNorm;
  lm::WeightOp positions;      ///< rows that are added to the embedding's, by position; may be null
  lm::WeightOp outputNormBias; ///< of a layer norm; may be null
  lm::WeightOp output;         ///< the embedding again where they are tied
  lm::WeightOp outputBias;     ///< may be null
  lm::WeightOp outputColumns;  ///< the order of its columns; may be null
  Norm norm = Norm::Rms;
  double embeddingScale = 1;
  double normEps = 1e-5, normWeightOffset = 0;
  double logitsScale = 1;
  double softcap = 0; ///< of the logits, behind their scale; 0: none
};

class ModelBuilder {
public:
  ModelBuilder(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
               const ModelShape &shape);

  bool isGguf() const { return checkpoint.container == import::Container::Gguf; }
  const import::Tensor *find(llvm::StringRef source) const; ///< or null
  bool hasTensor(llvm::StringRef source) const;
  int64_t rowsOf(llvm::StringRef source) const; ///< 0 where there is no such tensor
  /// Takes the tensor `source` of exactly this shape as the weight @symbol. Matrices keep
  /// their format; vectors become f32 and must be of a float format.
  lm::WeightOp weight(llvm::StringRef symbol, llvm::StringRef source,
                      llvm::ArrayRef<int64_t> shape);
  /// The same of rows of tensors, which follow each other. No row may be taken twice.
  lm::WeightOp weight(llvm::StringRef symbol, llvm::ArrayRef<TensorRows> parts,
                      llvm::ArrayRef<int64_t> shape);
  /// The order of the columns of a matrix of the entry (ColumnOrders.cpp); null: they have none.
  lm::WeightOp columnsOf(llvm::StringRef symbol, llvm::StringRef matrix, int64_t length);
  /// Takes layer i's matrix [rows][columns], its bias under the role "<role>_bias", and the order of its columns under
  /// "<role>_columns" where they have one (GroupedInts.h): the whole tensors, or the rows of packed ones. `transposed`:
  /// the tensor is [columns][rows]; its bias is as ever.
  void addMatrix(LayerWeights &weights, int64_t layer, const LayerTensor &tensor, int64_t rows,
                 int64_t columns, Bias bias = Bias::None, const RowOrder &order = {},
                 bool transposed = false);
  void addVector(LayerWeights &weights, int64_t layer, const LayerTensor &tensor, int64_t length,
                 Bias bias = Bias::None);
  /// Vectors, one behind the other, as one: the rows of a tensor [count][length], or if they are `apart`, in
  /// safetensors alone, the tensors <tensor>.0, <tensor>.1, …
  void addVectors(LayerWeights &weights, int64_t layer, const LayerTensor &tensor, int64_t count,
                  int64_t length, bool apart);
  /// A stack of matrices, or of vectors as [count][length][1], whose rows the parts have one below the other, in order;
  /// where each part is a matrix, with the orders of their columns under "<role>_columns".
  void addStack(LayerWeights &weights, int64_t layer, llvm::StringRef role,
                llvm::ArrayRef<TensorRows> parts, std::array<int64_t, 3> shape);
  /// Refuses a tensor that is there and of another shape: parts of it say less.
  void expectShape(llvm::StringRef source, llvm::ArrayRef<int64_t> shape);
  /// The name of layer i's tensor in this checkpoint, `tensor` behind the layer's prefix.
  std::string sourceOf(int64_t layer, llvm::StringRef tensor) const;
  /// The taps of a convolution of each channel alone, oldest first, as a vector [taps][channels]; tensors have
  /// [channels][taps], with or without a dimension of 1 in between.
  void addTaps(LayerWeights &weights, int64_t layer, const LayerTensor &tensor, int64_t channels,
               int64_t taps, Bias bias = Bias::None);
  /// A vector that is no tensor of the checkpoint.
  lm::WeightOp values(llvm::StringRef symbol, llvm::ArrayRef<float> numbers);
  /// Takes a float vector's numbers, to compute something from them.
  std::vector<float> take(llvm::StringRef source, int64_t length);
  /// A tensor that says nothing new, if it is there (older files store rope's frequencies).
  void takeUnread(llvm::StringRef source);
  /// Whether the head is the embedding. A tied model whose checkpoint has a head that differs from the embedding, of whatever
  /// format, has that head, as in transformers 5 and vLLM: a warning. An untied one without a head is refused (E0295).
  bool isTied(bool configured, lm::WeightOp embedding, llvm::StringRef outputSource);

  /// The next layer. `name` is the base of the kind's name, and tells apart kinds that
  /// their weights do not ("local", "global").
  void layer(llvm::StringRef name, const LayerWeights &weights,
             llvm::function_ref<mlir::Value(LayerEmitter &)> emit);

  void refuse(Error error);
  bool failed() const { return first.has_value(); }
  ImportedModel finish(const EntryWeights &entry, Error &why);

private:
  // ModelTensors.cpp
  /// The first part's tensor; null, and an error is kept, if the parts do not make up a weight of that shape.
  const import::Tensor *takeRows(llvm::ArrayRef<TensorRows> parts, llvm::ArrayRef<int64_t> shape);
  std::string closest(llvm::StringRef source) const;
  const import::Tensor *findPart(const TensorRows &part, llvm::ArrayRef<int64_t> shape, bool alone);
  int64_t markTaken(const TensorRows &part, const import::Tensor &tensor, import::Unit unit);
  bool isOfCutLayer(llvm::StringRef tensor) const;
  void checkAllTaken();
  void refuseShape(const import::Tensor &tensor, llvm::ArrayRef<int64_t> expected,
                   const std::string &rows);
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
    llvm::SmallVector<std::string> states; ///< their names, without the layer
  };
  Kind emitKind(llvm::StringRef name, const LayerWeights &weights,
                llvm::function_ref<mlir::Value(LayerEmitter &)> emit);
  llvm::SmallVector<mlir::Attribute> emitStates();
  void emitEntry(const EntryWeights &entry);
  void nameKinds();

  mlir::MLIRContext &context;
  const import::Checkpoint &checkpoint;
  ModelShape shape;
  WeightFormat dtype; ///< of matrices where the checkpoint has no tensors
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Block *modelBody = nullptr; ///< of lm.model
  mlir::OpBuilder builder;
  mlir::Operation *firstKind = nullptr; ///< weights stand before it
  std::map<std::string, Kind> kinds;    ///< by name and weights
  llvm::SmallVector<mlir::Attribute> layerWeights;
  llvm::SmallVector<const Kind *> layerKinds;
  llvm::StringMap<llvm::BitVector> taken; ///< by tensor: its rows
  llvm::StringSet<> needless;             ///< of the checkpoint's unread tensors
  std::optional<Error> first;
};

} // namespace ingot::models

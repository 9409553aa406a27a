//===- LayerEmitter.h - Emits the ops of one layer kind -------------------===//
#pragma once

#include "models/LayerParts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <utility>
#include <vector>

namespace ingot::models {

struct AttentionShape {
  int64_t heads, kvHeads;
  double scale;
  int64_t window = 0; ///< 0: all positions
  double softcap = 0; ///< 0: none
};

/// A stream of a state: `rows` vectors of `width` values. A paged state has them for every position.
struct StateStream {
  llvm::StringRef name;
  int64_t rows, width;
};

/// Emits the ops of one layer kind. The location of an op is the role of its weight or, without a weight, its name.
class LayerEmitter {
public:
  mlir::Value x; ///< the layer's input; a family reads it and returns the output

  bool has(llvm::StringRef role) const { return arguments.contains(role); }
  mlir::Value weight(llvm::StringRef role) const;

  mlir::Value rmsNorm(mlir::Value value, llvm::StringRef role, double eps, int64_t heads = 1,
                      double weightOffset = 0);
  /// Adds the bias "<role>_bias" if the layer has one. `linear` does the same.
  mlir::Value layerNorm(mlir::Value value, llvm::StringRef role, double eps, int64_t heads = 1,
                        double weightOffset = 0);
  /// With `routes`, multiplies each row by the matrix of its expert. If the layer has "<role>_columns", the columns of
  /// the matrix (or of each expert's matrix) are in that order, and the value is permuted to match.
  mlir::Value linear(mlir::Value value, llvm::StringRef role, mlir::Value routes = {});
  mlir::Value rope(mlir::Value value, llvm::StringRef role, int64_t heads, lm::RopeStyle style,
                   double attentionFactor = 1);
  /// Multiplies the value by the factor of its position's period.
  mlir::Value scaleByPosition(mlir::Value value, llvm::StringRef role, int64_t period);
  /// Adds a state that each layer of the kind keeps: @<name>.<layer>. Returns a reference to the state's current
  /// value; code that emits an op on the state assigns the op's result to it.
  mlir::Value &addState(llvm::StringRef name, llvm::ArrayRef<StateStream> streams, bool fixed);
  /// Appends k and v to a paged state of the layer, then attends, using "attn_sinks" if the layer has them.
  mlir::Value attention(mlir::Value q, mlir::Value k, mlir::Value v, const AttentionShape &shape);
  /// Convolves each channel over its own past rows, which become a state of the layer. Adds "<role>_bias" if the
  /// layer has it.
  mlir::Value causalConv(mlir::Value value, llvm::StringRef role);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value scale(mlir::Value value, double factor); ///< returns the value itself if factor is 1
  mlir::Value activation(mlir::Value value, lm::ActivationKind kind);
  /// down(activation(up(value))) with roles ffn_up, ffn_down.
  mlir::Value mlp(mlir::Value value, lm::ActivationKind activation);
  /// Does the same as mlp(), with the activation xIELU. Its slopes are the weights xielu_linear, xielu_positive and
  /// xielu_negative.
  mlir::Value xieluMlp(mlir::Value value);
  /// down(activation(gate(value)) * up(value)) with roles ffn_gate, ffn_up, ffn_down, each followed by
  /// `ending`.
  mlir::Value gatedMlp(mlir::Value value, lm::ActivationKind activation,
                       llvm::StringRef ending = "", mlir::Value routes = {});
  mlir::Value swigluOai(mlir::Value gate, mlir::Value up, double alpha, double limit);
  /// Chooses the experts of each row of logits, using "exp_probs_b" if the layer has it.
  mlir::Value route(mlir::Value logits, const RouteShape &shape);
  mlir::Value dispatch(mlir::Value value, mlir::Value routes);
  mlir::Value combine(mlir::Value value, mlir::Value routes);
  mlir::Value scaleRows(mlir::Value value, mlir::Value factors);
  /// Returns the insertion point, the location and the batch, with which families emit ops of other dialects.
  mlir::OpBuilder &ops() { return builder; }
  mlir::Location at(llvm::StringRef role);
  mlir::Value stepBatch() const { return batch; }

private:
  friend class ModelBuilder;
  LayerEmitter(mlir::OpBuilder builder, mlir::Block &body) : builder(builder), body(body) {}
  mlir::Value permuted(mlir::Value value, llvm::StringRef role, mlir::Value routes);

  mlir::OpBuilder builder;
  mlir::Block &body;
  mlir::Value batch;
  std::vector<std::pair<std::string, mlir::Value>> states; ///< values after the ops so far
  llvm::StringMap<mlir::Value> arguments;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, mlir::Value>
      inOrder; ///< permuted values, by value and columns
};

} // namespace ingot::models

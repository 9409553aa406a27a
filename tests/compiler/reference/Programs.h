//===- Programs.h - Small lm programs for tests ---------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <string>

namespace ingot::tests {

/// Returns a model of 6 tokens and hidden size 4, whose two layers are of one kind. `layer` is the body of the kind up
/// to its return of %y and %kv1. Weights of the kind: %norm (4), %q (8x4), %o (4x8), %f (2).
inline std::string programOf(const std::string &layer) {
  return R"(
lm.model @model attributes {family = "test", vocab = 6 : i64, hidden = 4 : i64, max_positions = 64 : i64} {
  lm.weight @table : !lm.weight<6x4, f32> {source = "table"}
  lm.weight @norm : !lm.weight<4, f32> {source = "norm"}
  lm.weight @q : !lm.weight<8x4, f32> {source = "q"}
  lm.weight @o : !lm.weight<4x8, f32> {source = "o"}
  lm.weight @f : !lm.weight<2, f32> {values = array<f32: 1.0, 0.1>}
  lm.state @kv.0 : #lm.paged<[k: 2x4, v: 2x4]>
  lm.state @kv.1 : #lm.paged<[k: 2x4, v: 2x4]>
  lm.layer_kind @layer(%x: tensor<?x4xf32>, %kv: !lm.state<#lm.paged<[k: 2x4, v: 2x4]>>, %b: !lm.batch,
                       %norm: !lm.weight<4, f32> {lm.role = "norm"}, %q: !lm.weight<8x4, f32> {lm.role = "q"},
                       %o: !lm.weight<4x8, f32> {lm.role = "o"}, %f: !lm.weight<2, f32> {lm.role = "f"})
                       -> (tensor<?x4xf32>, !lm.state<#lm.paged<[k: 2x4, v: 2x4]>>) {
)" + layer +
         R"(
    lm.return %y, %kv1 : tensor<?x4xf32>, !lm.state<#lm.paged<[k: 2x4, v: 2x4]>>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x6xf32>, !lm.states) {
    %t = lm.get_weight @table : !lm.weight<6x4, f32>
    %x = lm.embed %ids, %t : tensor<?xi32>, !lm.weight<6x4, f32> -> tensor<?x4xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@layer, @layer], states = [[@kv.0], [@kv.1]],
                 weights = [[@norm, @q, @o, @f], [@norm, @q, @o, @f]]} : tensor<?x4xf32> -> tensor<?x4xf32>
    %r = lm.select_rows %y, %b : tensor<?x4xf32> -> tensor<?x4xf32>
    %l = lm.linear %r, %t : tensor<?x4xf32>, !lm.weight<6x4, f32> -> tensor<?x6xf32>
    lm.return %l, %kv1 : tensor<?x6xf32>, !lm.states
  }
})";
}

/// A typical layer without an MLP.
inline const char *const kLayer = R"(
    %n = lm.rms_norm %x, %norm {eps = 1.0e-5 : f32} : tensor<?x4xf32>, !lm.weight<4, f32>
    %p = lm.linear %n, %q : tensor<?x4xf32>, !lm.weight<8x4, f32> -> tensor<?x8xf32>
    %r = lm.rope %p, %f, %b {heads = 2 : i64, style = #lm.rope_style<half>} : tensor<?x8xf32>, !lm.weight<2, f32>
    %kv1 = lm.kv_append %r, %p, %kv at %b : tensor<?x8xf32>, tensor<?x8xf32>, !lm.state<#lm.paged<[k: 2x4, v: 2x4]>>
    %a = lm.attention %r, %kv1, %b {heads = 2 : i64, scale = 0.5 : f32, window = 3 : i64} : tensor<?x8xf32>, !lm.state<#lm.paged<[k: 2x4, v: 2x4]>> -> tensor<?x8xf32>
    %z = lm.linear %a, %o : tensor<?x8xf32>, !lm.weight<4x8, f32> -> tensor<?x4xf32>
    %y = lm.add %x, %z : tensor<?x4xf32>
)";

inline mlir::OwningOpRef<mlir::ModuleOp> parseProgram(mlir::MLIRContext &context,
                                                      const std::string &text) {
  context.loadDialect<lm::LmDialect>();
  return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
}

/// Returns `text` with one occurrence of `from` replaced.
inline std::string with(std::string text, const std::string &from, const std::string &to) {
  return text.replace(text.find(from), from.size(), to);
}

} // namespace ingot::tests

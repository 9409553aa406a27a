//===- MatmulEpilogue.cpp - Main loop calls and epilogues on their sums -----===//
#include "codegen/cuda/MatmulEmitter.h"
#include "runtime/formats/FragmentLayout.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;
using kernel::ActivationType;
using kernel::RowKind;

std::string MatmulEmitter::auxText(const Segment &segment, size_t i, const std::string &row) {
  std::string at = row;
  if (auto rows = dyn_cast<ActivationType>(segment.aux[i].getType()))
    at = llvm::formatv("(i64)token * {0} + {1}", rowStride(rows), row);
  else if (op.getRoutes())
    at = llvm::formatv("expert * {0} + {1}", llvm::alignTo(segment.type.getN(), kPanelRows), row);
  return (k.nameOf(segment.aux[i]) + "[" + at + "]").str();
}

LogicalResult MatmulEmitter::emitEpilogue(size_t s, Segment &segment) {
  std::string parameters;
  KernelText::Texts arguments;
  for (int64_t i = 0; i < shape.weights; ++i)
    arguments.push_back(llvm::formatv("sum[{0}]", i));
  for (size_t i = 0; i < segment.aux.size(); ++i) {
    arguments.push_back("aux" + std::to_string(i));
    parameters += ", float " + arguments.back();
  }
  k.line("");
  if (append) { // emitAppendGroup emits the stores
    k.line("DEVICE float value_{0}(i32 token, i32 row, const float (&sum)[1]{1}) {{", s,
           parameters);
    FailureOr<KernelText::Texts> yielded = k.region(op.getEpilogues()[s], arguments);
    if (failed(yielded))
      return failure();
    k.line("return {0};", yielded->front());
    k.write("}");
    return success();
  }
  k.line("DEVICE {0} store_{1}({2} *y, i32 token, i32 row, const float (&sum)[{3}]{4}) {{",
         argmax ? "float" : "void", s, elementText(segment.type), shape.weights, parameters);
  FailureOr<KernelText::Texts> yielded = k.region(op.getEpilogues()[s], arguments);
  if (failed(yielded))
    return failure();
  bool bf16 = segment.type.getKind() == RowKind::BF16;
  k.line("y[(i64)token * {0} + row] = {1};", rowStride(segment.type),
         bf16 ? "f32_to_bf16(" + yielded->front() + ")" : yielded->front());
  if (argmax)
    k.line("return {0};", yielded->front());
  k.write("}");
  return success();
}

std::string MatmulEmitter::choose(ArrayRef<size_t> among,
                                  llvm::function_ref<std::string(size_t)> value) {
  std::string text;
  bool same = llvm::all_of(among, [&](size_t s) { return value(s) == value(among.front()); });
  for (size_t s : same ? among.take_back() : among)
    text += (text.empty() ? "" : " : ") +
            (s == among.back() ? "" : "segment == " + std::to_string(s) + " ? ") + value(s);
  return text;
}

void MatmulEmitter::emitGroup(ArrayRef<size_t> group, Loop loop, int64_t tokens, bool folds) {
  std::string weights, ofExpert, matrixBytes, expert;
  const bool stacks = op.getRoutes() && loop >= Loop::Wgmma; // the loop finds the experts itself
  if (op.getRoutes()) {
    const FragmentLayout layout = kernel::fragmentLayoutOf(op.segmentWeight(0));
    matrixBytes = std::to_string(layout.tilesOfMatrix() * layout.tileBytes());
    (stacks ? expert : ofExpert) = stacks ? "i32 expert, " : " + (i64)expert * " + matrixBytes;
  }
  for (int64_t i = 0; i < shape.weights; ++i)
    weights += (i ? ", " : "") +
               choose(group, [&](size_t s) { return k.nameOf(segments[s].weights[i]).str(); }) +
               ofExpert;
  k.line("const u8 *const weights[{0}] = {{{1}};", shape.weights, weights);
  std::string rows =
      choose(group, [&](size_t s) { return std::to_string(segments[s].type.getN()); });
  const size_t held = heldOf(group);
  const std::string of =
      llvm::formatv("{0}, {1}, {2}", k.format(segments[group[0]].format), shape.k, shape.parts);
  std::string function, x = "(const u8 *)x";
  switch (loop) {
  case Loop::F32Few:
  case Loop::F32Many:
    function = llvm::formatv("f32_{0}<{1}, {2}, {3}>", loop == Loop::F32Few ? "few" : "many",
                             panelText(segments[group[0]].format), shape.k, held);
    x = "x";
    break;
  case Loop::Few:
    function = llvm::formatv("decode_of<{0}, 1, {1}, {2}>", of, tokens, held);
    x = llvm::formatv("[&](i32 rows) {{ return compute_x(shared + {0}, first, rows{1}, batch); }",
                      partialBytes(8, false), prologue.arguments);
    break;
  case Loop::Decode:
    function = llvm::formatv("decode<{0}, {1}, {2}>", of, tokens / 8, held);
    break;
  case Loop::Prefill:
    function = llvm::formatv("prefill<{0}, {1}, {2}>", of, tokens / 16, held);
    break;
  case Loop::Wgmma:
    function = stacks ? llvm::formatv("experts_wgmma<{0}, {1}>", of, held).str()
                      : llvm::formatv("wgmma<{0}, {1}, {2}>", of, tokens, held).str();
    x = stacks ? matrixBytes + ", &x_map" : "&x_map";
    break;
  case Loop::WgmmaFp8:
    function = llvm::formatv("{0}_fp8<{1}, {2}>", stacks ? "experts" : "wgmma", shape.k, held);
    x = stacks ? matrixBytes + ", xFp8" : "xFp8";
    break;
  }
  k.line("matmul_{0}(weights, {1}, {2}, tile, {3}, shared,", function, x, rows,
         stacks ? std::string("tiles") : std::string("first, &") + count());
  auto whenSegment = [&](size_t i) {
    return (i ? "else " : "") +
           (i + 1 == group.size() ? "" : llvm::formatv("if (segment == {0}) ", group[i]).str());
  };
  k.line("    [&]({0}i32 token, i32 row, float (&held)[{1}]) {{", expert, held);
  for (size_t s : group)
    for (size_t a = 0; a < segments[s].aux.size(); ++a)
      k.line("{0}held[{1}] = {2};",
             group.size() > 1 ? llvm::formatv("if (segment == {0}) ", s).str() : "", a,
             auxText(segments[s], a));
  k.write("},");
  k.line("    [&]({0}i32 token, i32 row, const float (&sum)[{1}], const float (&held)[{2}]) {{",
         expert, shape.weights, held);
  for (auto [i, s] : llvm::enumerate(group)) {
    std::string aux;
    for (size_t a = 0; a < segments[s].aux.size(); ++a)
      aux += llvm::formatv(", held[{0}]", a);
    k.line("{0}{1}store_{2}({3}, token, row, sum{4});", whenSegment(i), folds ? "return " : "", s,
           k.nameOf(segments[s].y), aux);
  }
  k.write(folds ? "}, FoldKeys{keys});" : "});");
}

size_t MatmulEmitter::heldOf(ArrayRef<size_t> group) const {
  size_t most = 1;
  for (size_t s : group)
    most = std::max(most, segments[s].aux.size());
  return most;
}

const char *MatmulEmitter::count() {
  if (op.getRoutes())
    return "end";
  return op.getExtent() == kernel::Extent::Rows ? "batch->rows" : "batch->tokens";
}

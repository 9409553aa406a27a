//===- MatmulAppend.cpp - Projections that append to the KV pool -----------===//
// device/append.cuh rotates and stores, with the same results as a separate kernel.rope_append.
//===----------------------------------------------------------------------===//
#include "codegen/cuda/MatmulEmitter.h"
#include "runtime/formats/FragmentLayout.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;

void MatmulEmitter::emitHeads() {
  kernel::KvPoolType kv = append.getKv().getType();
  k.include("append.cuh");
  k.line("");
  k.line("struct Heads {{");
  k.line("static constexpr i32 kvHeads = {0}, headDim = {1}, rotary = {2};", kv.getKvHeads(),
         kv.getHeadDim(), rotary());
  k.line("static constexpr i32 pageElements = kvHeads * kPageTokens * headDim;");
  k.write("};");
}

void MatmulEmitter::emitAppendGroup(ArrayRef<size_t> group, Loop loop, int64_t tokens) {
  const Segment &any = segments[group[0]];
  bool halves = any.pairs == Pairs::Halves, pairs = any.pairs != Pairs::None;
  int64_t distance = halves ? headDim() / 2 : 1;
  const std::string format = k.format(any.format);
  std::string weight =
      choose(group, [&](size_t s) { return k.nameOf(segments[s].weights[0]).str(); });
  k.line("const u8 *const lower = {0};", weight);
  if (halves)
    k.line("const u8 *const weights[2] = {{lower, lower + {0} * {1}::tileBytes({2})};",
           distance / kFragmentRows, format, shape.k);
  else
    k.line("const u8 *const weights[1] = {{lower};");
  std::string rows =
      choose(group, [&](size_t s) { return std::to_string(segments[s].type.getN()); });
  std::string x = loop == Loop::Few
                      ? llvm::formatv("compute_x(shared + {0}, first, rows{1}, batch)",
                                      partialBytes(8, true), prologue.arguments)
                            .str()
                      : llvm::formatv("rows_of<{0}>((const u8 *)x, first)", shape.k).str();
  k.line(
      "matmul_decode_of<{0}, {1}, {2}, {3}, {4}, 1, {5}>(weights, [&](i32 rows) {{ return {6}; }, "
      "{7}, tile, first, &{8}, shared, NothingHeld{{},",
      format, shape.k, shape.parts, llvm::divideCeil(tokens, 8), tokens, pairs && !halves ? 2 : 1,
      x, rows, count());
  k.line("    [&](i32 token, i32 row, const float (&sum)[{0}], const float (&)[1]) {{",
         pairs ? 2 : 1);
  for (auto [i, s] : llvm::enumerate(group)) {
    std::string aux, aux2;
    for (size_t a = 0; a < segments[s].aux.size(); ++a) {
      aux += ", " + auxText(segments[s], a);
      aux2 += ", " + auxText(segments[s], a, "row + " + std::to_string(distance));
    }
    if (group.size() > 1)
      k.line(i == 0                 ? "if (segment == {0}) {{"
             : i + 1 < group.size() ? "} else if (segment == {0}) {{"
                                    : "} else {{",
             s);
    if (pairs) {
      k.line("const float low[1] = {{sum[0]}, high[1] = {{sum[1]};");
      k.line("float a = value_{0}(token, row, low{1}), b = value_{0}(token, row + {2}, high{3});",
             s, aux, distance, aux2);
      if (rotary() < headDim())
        k.line("if (row % {0} < {1})", headDim(), rotary());
      k.line("{0}rotate_pair<Heads>(table, token, row % {1}{2}, a, b);",
             rotary() < headDim() ? "  " : "", headDim(), halves ? "" : " / 2");
    } else {
      k.line("const float a = value_{0}(token, row, sum{1});", s, aux);
    }
    auto stored = [&](const char *value) {
      return s == 0 ? value : llvm::formatv("f32_to_bf16({0})", value).str();
    };
    if (s == 0)
      k.line("float *to = {0} + (i64)token * {1} + row;", k.nameOf(segments[s].y),
             rowStride(segments[s].type));
    else
      k.line("u16 *to = append_place<Heads>(pool, batch, token, row){0};",
             s == 2 ? " + Heads::pageElements" : "");
    k.line("to[0] = {0};", stored("a"));
    if (pairs)
      k.line("to[{0}] = {1};", distance, stored("b"));
  }
  if (group.size() > 1)
    k.write("}");
  k.write("});");
}

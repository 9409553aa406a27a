//===- CudaKernels.h - Kernel IR for tests of GPU kernels -------------------===//
#pragma once

#include "codegen/cuda/CudaCodegen.h"
#include "runtime/formats/FragmentLayout.h"
#include "tests/codegen/cpu/KernelModule.h"

#include <map>

namespace ingot::codegen::cuda::test {

using ingot::test::KernelModule;

/// Returns the programs of all kernels in a text, each with the workspace that it needs.
std::vector<CudaProgram> emitAll(const std::string &text, const EmitOptions &options = {});
/// Returns the program of a module's first kernel, or failure if it is refused.
mlir::FailureOr<CudaProgram> emitFirst(const KernelModule &module);
/// Returns workspace bytes by kernel name; kernels without a workspace are omitted.
std::map<std::string, int64_t> workspacesOf(const std::string &text);

//===----------------------------------------------------------------------===//
// Formats for tests that cover all of them
//===----------------------------------------------------------------------===//

/// Returns one format per kind of decoding: floats, four bits with and without a minimum, super-blocks, codes in two
/// planes, a table, bytes, and one bit; grids of runs of eight and of four values, and grids with signs per run and per
/// group; and a group longer than 128. These tests always run.
inline auto eachKindOfFormat() {
  return testing::Values(WeightFormat::BF16, WeightFormat::Int4G128, WeightFormat::Q4_1,
                         WeightFormat::Q4_K, WeightFormat::Q3_K, WeightFormat::IQ4_XS,
                         WeightFormat::Fp8Tensor, WeightFormat::Q1_0, WeightFormat::TQ2_0,
                         WeightFormat::IQ2_XS, WeightFormat::IQ3_S, WeightFormat::IQ1_S,
                         WeightFormat::IQ1_M);
}
/// Returns the other formats, for the long tests. The three fp8 formats are packed alike and produce the same kernels,
/// so one is enough.
inline auto otherFormats() {
  return testing::Values(
      WeightFormat::F32, WeightFormat::F16, WeightFormat::Q4_0, WeightFormat::Q5_0,
      WeightFormat::Q5_1, WeightFormat::Q8_0, WeightFormat::Q2_K, WeightFormat::Q5_K,
      WeightFormat::Q6_K, WeightFormat::Int8, WeightFormat::Int4G32, WeightFormat::Int4G64,
      WeightFormat::Int4ZG128, WeightFormat::IQ4_NL, WeightFormat::Mxfp4, WeightFormat::Nvfp4,
      WeightFormat::Nf4, WeightFormat::Fp4, WeightFormat::Int4ZG32, WeightFormat::Int4ZG64,
      WeightFormat::Int4BG32, WeightFormat::Int4BG128, WeightFormat::Int4ZBG32,
      WeightFormat::Int4ZBG128, WeightFormat::Int4ZFG32, WeightFormat::Int8F, WeightFormat::Int8ZF,
      WeightFormat::Int4MG64, WeightFormat::Int8MG32, WeightFormat::Int4MBG32,
      WeightFormat::Int4MBG64, WeightFormat::Int8MBG32, WeightFormat::Q2_0, WeightFormat::IQ3_XXS,
      WeightFormat::IQ2_S, WeightFormat::IQ2_XXS);
}
inline std::string nameOfFormat(const testing::TestParamInfo<WeightFormat> &info) {
  return std::string(numericFormat(info.param).name);
}

inline std::string activationType(const char *kind, int64_t n) {
  return "!kernel.activation<" + std::to_string(n) + ", " + kind + ">";
}
inline std::string weightType(WeightFormat format, int64_t n, int64_t k) {
  return "!lm.weight<" + std::to_string(n) + "x" + std::to_string(k) + ", " +
         std::string(numericFormat(format).name) + ">";
}
inline std::string fusedType(const char *kind, int64_t n) {
  return "!kernel.fused<" + std::to_string(n) + ", " + kind + ">";
}
inline std::string vectorType(int64_t n) { return "!lm.weight<" + std::to_string(n) + ", f32>"; }

/// Return the operand with fp8 rows, and the clause with which a projection reads it.
inline std::string fp8Argument(int64_t k) { return ", %xfp8: " + activationType("fp8", k); }
inline std::string fp8Clause(int64_t k) { return " fp8(%xfp8 : " + activationType("fp8", k) + ")"; }

inline std::string fp8Rows(const std::string &name, int64_t k, int64_t ofToken = 1) {
  return "kernel.func @" + name + "(%x: " + activationType("bf16", k) + fp8Argument(k) +
         ") {\n  kernel.fp8_rows %x : " + activationType("bf16", k) +
         " outs(%xfp8 : " + activationType("fp8", k) +
         ") {extent = #kernel.extent<tokens>, rows_of_token = " + std::to_string(ofToken) +
         " : i64}\n  kernel.return\n}\n";
}

/// Returns a projection with one weight and one output: y = x w^T.
inline std::string plainMatmul(const std::string &name, WeightFormat format, int64_t n, int64_t k,
                               const char *output = "f32", int extent = 0, bool fp8 = false) {
  std::string x = activationType("bf16", k), w = weightType(format, n, k),
              y = activationType(output, n);
  return "kernel.func @" + name + "(%x: " + x + ", %w: " + w + ", %y: " + y +
         (fp8 ? fp8Argument(k) : "") + ") {\n  kernel.matmul %x : " + x + " weights(%w : " + w +
         ") outs(%y : " + y + ")" + (fp8 ? fp8Clause(k) : "") +
         " attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<" +
         (extent ? "rows" : "tokens") +
         ">} {\n  ^bb0(%acc: f32):\n    kernel.yield %acc : f32\n  }\n  kernel.return\n}\n";
}

/// Returns a projection in place: y = y + x w^T.
inline std::string residualMatmul(const std::string &name, WeightFormat format, int64_t n,
                                  int64_t k) {
  std::string x = activationType("bf16", k), w = weightType(format, n, k),
              y = activationType("f32", n);
  return "kernel.func @" + name + "(%x: " + x + ", %w: " + w + ", %r: " + y + ", %y: " + y +
         ") {\n  kernel.matmul %x : " + x + " weights(%w : " + w + ") aux(%r : " + y +
         ") outs(%y : " + y +
         ") attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>} {\n  ^bb0(%acc: f32, %r0: "
         "f32):\n"
         "    %s = arith.addf %acc, %r0 : f32\n    kernel.yield %s : f32\n  }\n  "
         "kernel.return\n}\n";
}

/// Returns a kernel of y = gate * up, as bf16 rows. SiLU is left out unless `silu` is set, because its accuracy is
/// tested elsewhere.
inline std::string gateUp(const std::string &name, WeightFormat format, int64_t n, int64_t k,
                          bool silu, bool fp8 = false) {
  std::string x = activationType("bf16", k), w = weightType(format, n, k),
              y = activationType("bf16", n);
  std::string body = silu ? "    %n = arith.negf %g : f32\n    %e = math.exp %n : f32\n    %one = "
                            "arith.constant 1.0 : f32\n"
                            "    %d = arith.addf %e, %one : f32\n    %a = arith.divf %g, %d : "
                            "f32\n    %m = arith.mulf %a, %u : f32\n"
                          : "    %m = arith.mulf %g, %u : f32\n";
  return "kernel.func @" + name + "(%x: " + x + ", %w0: " + w + ", %w1: " + w + ", %y: " + y +
         (fp8 ? fp8Argument(k) : "") + ") {\n  kernel.matmul %x : " + x +
         " weights(%w0, %w1 : " + w + ", " + w + ") outs(%y : " + y + ")" +
         (fp8 ? fp8Clause(k) : "") +
         " attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>, gated} {\n  ^bb0(%g: f32, %u: "
         "f32):\n" +
         body + "    kernel.yield %m : f32\n  }\n  kernel.return\n}\n";
}

/// Returns a kernel of q, k and v, each with its own format, with or without a bias. Outputs are f32 rows. `rows` is
/// the encoding of x.
inline std::string projections(const std::string &name, int64_t k,
                               std::vector<std::pair<WeightFormat, int64_t>> outputs,
                               bool bias = false, const char *rows = "bf16") {
  std::string x = activationType(rows, k), arguments = "%x: " + x, weights, weightTypes, ys, yTypes,
              biases, biasTypes, counts, regions;
  auto add = [](std::string &list, const std::string &item) {
    list += (list.empty() ? "" : ", ") + item;
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string n = std::to_string(i), w = weightType(outputs[i].first, outputs[i].second, k);
    arguments += ", %w" + n + ": " + w;
    add(weights, "%w" + n), add(weightTypes, w);
    add(ys, "%y" + n), add(yTypes, activationType("f32", outputs[i].second));
    add(biases, "%b" + n), add(biasTypes, vectorType(outputs[i].second));
    add(counts, bias ? "1" : "0");
    add(regions, bias ? "{\n  ^bb0(%acc: f32, %b: f32):\n    %s = arith.addf %acc, %b : f32\n"
                        "    kernel.yield %s : f32\n  }"
                      : "{\n  ^bb0(%acc: f32):\n    kernel.yield %acc : f32\n  }");
  }
  for (size_t i = 0; bias && i < outputs.size(); ++i)
    arguments += ", %b" + std::to_string(i) + ": " + vectorType(outputs[i].second);
  for (size_t i = 0; i < outputs.size(); ++i)
    arguments += ", %y" + std::to_string(i) + ": " + activationType("f32", outputs[i].second);
  return "kernel.func @" + name + "(" + arguments + ") {\n  kernel.matmul %x : " + x + " weights(" +
         weights + " : " + weightTypes + ")" +
         (bias ? " aux(" + biases + " : " + biasTypes + ")" : "") + " outs(" + ys + " : " + yTypes +
         ") attributes {aux_counts = array<i64: " + counts +
         ">, extent = #kernel.extent<tokens>} " + regions + "\n  kernel.return\n}\n";
}

/// Returns the region that an RMS norm applies to element a with weight b.
inline std::string normRegion() {
  return "{\n  ^bb0(%a: f32, %b: f32):\n    %s = arith.mulf %a, %a : f32\n    %m = "
         "kernel.row_stat mean %s : f32\n"
         "    %eps = arith.constant 1.0e-5 : f32\n    %t = arith.addf %m, %eps : f32\n    %r = "
         "math.sqrt %t : f32\n"
         "    %one = arith.constant 1.0 : f32\n    %i = arith.divf %one, %r : f32\n    %u = "
         "arith.mulf %a, %i : f32\n"
         "    %v = arith.mulf %u, %b : f32\n    kernel.yield %v : f32\n  }";
}

/// Returns an RMS norm that writes f32 or bf16 rows.
inline std::string norm(const std::string &name, int64_t n, const char *output,
                        bool gather = false) {
  std::string x = activationType("f32", n), w = vectorType(n), y = activationType(output, n);
  return "kernel.func @" + name + "(%x: " + x + ", %w: " + w + ", %y: " + y +
         ") {\n  kernel.rowwise ins(%x, %w : " + x + ", " + w + ") outs(%y : " + y +
         ") attributes {extent = " +
         (gather ? "#kernel.extent<rows>, gather" : "#kernel.extent<tokens>") + "} " +
         normRegion() + "\n  kernel.return\n}\n";
}

/// Adds operands to a projection's kernel, ops before the projection, and ops after it.
inline std::string extended(std::string kernel, const std::string &arguments,
                            const std::string &before, const std::string &behind) {
  kernel.insert(kernel.rfind(')', kernel.find(" {\n")), arguments);
  kernel.insert(kernel.find("  kernel.return"), behind);
  return kernel.insert(kernel.find(" {\n") + 3, before);
}
/// Makes the projection's results fused values %f0, %f1, … of f32 instead of rows.
inline std::string withFusedResults(std::string matmul, const std::vector<int64_t> &widths) {
  std::string names, types;
  for (size_t i = 0; i < widths.size(); ++i) {
    names += (i ? ", %f" : "%f") + std::to_string(i);
    types += (i ? ", " : "") + fusedType("f32", widths[i]);
  }
  const size_t outs = matmul.find(" outs(");
  matmul.replace(outs, matmul.find(" attributes {", outs) - outs, " -> " + types);
  return matmul.insert(matmul.find("kernel.matmul"), names + " = ");
}
/// Returns the kernel under another name, for steps of `least` to `most` tokens only; it gets the
/// variants for those.
inline std::string counted(std::string matmul, const std::string &name, int64_t least,
                           int64_t most) {
  const size_t at = matmul.find('@') + 1;
  matmul.replace(at, matmul.find('(') - at, name);
  matmul.insert(matmul.find(" {\n"), " attributes {counts = #kernel.counts<" +
                                         std::to_string(least) + " to " + std::to_string(most) +
                                         ">}");
  return matmul;
}
/// Removes an argument and the text after it up to the next one.
inline std::string without(std::string text, const std::string &argument) {
  const size_t at = text.find(argument + ": ");
  const bool first = text[at - 1] == '(';
  const size_t end = text.find('>', at) + 1;
  return first ? text.erase(at, end + 2 - at) : text.erase(at - 2, end - (at - 2));
}
/// Puts the norm before the projection. Two operands, rows and weight, replace x.
inline std::string withNorm(const std::string &matmul, int64_t k, bool gather = false) {
  const std::string rows = activationType("f32", k), weight = vectorType(k),
                    fusedValue = fusedType("bf16", k);
  std::string text = without(matmul, "%x");
  const std::string x = "%x : " + activationType("bf16", k);
  text.replace(text.find(x), x.size(), "%x : " + fusedValue);
  return extended(text, ", %in: " + rows + ", %inw: " + weight,
                  "  %x = kernel.rowwise ins(%in, %inw : " + rows + ", " + weight + ") -> " +
                      fusedValue + " attributes {extent = " +
                      (gather ? "#kernel.extent<rows>, gather" : "#kernel.extent<tokens>") + "} " +
                      normRegion() + "\n",
                  "");
}

/// Stores the logits of a projection of n rows and updates the keys; adds one operand.
inline std::string withKeys(const std::string &matmul, int64_t n) {
  const std::string fusedValue = fusedType("f32", n), keys = activationType("key", 1);
  return extended(withFusedResults(matmul, {n}), ", %keys: " + keys, "",
                  "  kernel.store %f0 : " + fusedValue + " into %y : " + activationType("f32", n) +
                      "\n  kernel.argmax %f0 : " + fusedValue + " keys %keys : " + keys + "\n");
}

inline std::string gatherKernel(const std::string &name, WeightFormat format, int64_t n,
                                int64_t k) {
  std::string w = weightType(format, n, k), y = activationType("f32", k);
  return "kernel.func @" + name + "(%w: " + w + ", %y: " + y + ") {\n  kernel.gather %w : " + w +
         " outs(%y : " + y + ") {scale = 1.25 : f32}\n  kernel.return\n}\n";
}

inline std::string ropeTable(const std::string &name, int64_t count) {
  std::string f = vectorType(count), y = activationType("f32", 2 * count);
  return "kernel.func @" + name + "(%f: " + f + ", %y: " + y +
         ") {\n  kernel.rope_table %f : " + f + " outs(%y : " + y +
         ") {factor = 1.25 : f32}\n  kernel.return\n}\n";
}

struct RopeProblem {
  int64_t heads, kvHeads, headDim, rotary; ///< rotary 0: no table
  bool interleaved, norm, fp8 = false;
  bool own = false, centred = false; ///< norms: a weight per head; mean subtracted
};
inline std::string poolType(int64_t kvHeads, int64_t headDim, bool fp8) {
  return "!kernel.kv_pool<" + std::to_string(kvHeads) + ", " + std::to_string(headDim) +
         (fp8 ? ", fp8>" : ", bf16>");
}
inline std::string ropeAppend(const std::string &name, const RopeProblem &p) {
  std::string q = activationType("f32", p.heads * p.headDim),
              k = activationType("f32", p.kvHeads * p.headDim);
  std::string table = activationType("f32", p.rotary),
              qw = vectorType(p.headDim * (p.own ? p.heads : 1)),
              kw = vectorType(p.headDim * (p.own ? p.kvHeads : 1));
  std::string kv = poolType(p.kvHeads, p.headDim, p.fp8);
  std::string text =
      "kernel.func @" + name + "(%q: " + q + ", %k: " + k + ", %v: " + k + ", %kv: " + kv;
  if (p.rotary)
    text += ", %t: " + table;
  if (p.norm)
    text += ", %qn: " + qw + ", %kn: " + kw;
  text += ") {\n  kernel.rope_append %q, %k, %v";
  if (p.rotary)
    text += " table %t : " + table;
  if (p.norm)
    text += " q_norm %qn : " + qw + " k_norm %kn : " + kw;
  return text + " into %kv {heads = " + std::to_string(p.heads) +
         " : i64, style = #lm.rope_style<" + (p.interleaved ? "interleaved" : "half") +
         ">, eps = 1.0e-6 : f32, weight_offset = 1.0 : f32" +
         (p.centred ? ", centred} : " : "} : ") + q + ", " + k + ", " + k + ", " + kv +
         "\n  kernel.return\n}\n";
}

/// Rotates and appends the projection's q, k and v. Two operands, pool and table (if there is a rotation), replace the
/// rows of k and v.
inline std::string withAppend(const std::string &matmul, const RopeProblem &p) {
  const int64_t q = p.heads * p.headDim, k = p.kvHeads * p.headDim;
  const std::string kv = poolType(p.kvHeads, p.headDim, false),
                    table = activationType("f32", p.rotary), qFused = fusedType("f32", q),
                    kFused = fusedType("f32", k);
  std::string text = withFusedResults(without(without(matmul, "%y1"), "%y2"), {q, k, k});
  return extended(text, ", %kv: " + kv + ", %table: " + table, "",
                  "  %rotated = kernel.rope_append %f0, %f1, %f2 table %table : " + table +
                      " into %kv {heads = " + std::to_string(p.heads) +
                      " : i64, style = #lm.rope_style<" + (p.interleaved ? "interleaved" : "half") +
                      ">} : " + qFused + ", " + kFused + ", " + kFused + ", " + kv + " -> " +
                      qFused + "\n  kernel.store %rotated : " + qFused +
                      " into %y0 : " + activationType("f32", q) + "\n");
}

struct AttentionProblem {
  int64_t heads, kvHeads, headDim, window;
  float softcap;
  const char *output;
  bool fp8 = false, sinks = false;
};
inline std::string attention(const std::string &name, const AttentionProblem &p) {
  std::string q = activationType("f32", p.heads * p.headDim),
              y = activationType(p.output, p.heads * p.headDim);
  std::string kv = poolType(p.kvHeads, p.headDim, p.fp8);
  return "kernel.func @" + name + "(%q: " + q + ", %kv: " + kv + ", %y: " + y +
         (p.sinks ? ", %s: " + vectorType(p.heads) : "") +
         ") {\n  kernel.attention %q, %kv : " + q + ", " + kv + " outs(%y : " + y + ")" +
         (p.sinks ? " sinks %s : " + vectorType(p.heads) : "") +
         " {heads = " + std::to_string(p.heads) +
         " : i64, scale = 0.125 : f32, window = " + std::to_string(p.window) +
         " : i64, softcap = " + std::to_string(p.softcap) + " : f32}\n  kernel.return\n}\n";
}

/// Returns the kernels that find the ids of logits rows: @argmax, @argmax_finish, @draw_weigh, @draw_ids.
inline std::string samplingKernels(int64_t vocabulary) {
  const std::string logits = activationType("f32", vocabulary), keys = activationType("key", 1),
                    ids = activationType("i32", 1),
                    sums = activationType("bytes", drawSumsBytes(vocabulary));
  auto kernel = [](const std::string &name, const std::string &operands, const std::string &op) {
    return "kernel.func @" + name + "(" + operands + ") {\n  kernel." + name + " " + op +
           "\n  kernel.return\n}\n";
  };
  const std::string l = "%l: " + logits + ", ", k = "%k: " + keys, s = ", %s: " + sums,
                    i = ", %i: " + ids, both = "%l, %k : " + logits + ", " + keys;
  return kernel("argmax", l + k, "%l : " + logits + " keys %k : " + keys) +
         kernel("argmax_finish", k + i, "%k : " + keys + " outs(%i : " + ids + ")") +
         kernel("draw_weigh", l + k + s, both + " sums %s : " + sums) +
         kernel("draw_ids", l + k + s + i, both + " sums %s : " + sums + " outs(%i : " + ids + ")");
}

} // namespace ingot::codegen::cuda::test

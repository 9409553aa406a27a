//===- ExpertKernels.h - Kernel IR for experts, for tests of GPU kernels -----===//
#pragma once

#include "CudaKernels.h"

namespace ingot::codegen::cuda::test {

inline std::string routesType(int64_t experts, int64_t used) {
  return "!kernel.routes<" + std::to_string(experts) + ", " + std::to_string(used) + ">";
}
inline std::string stackType(int64_t experts, int64_t n, int64_t k, const std::string &format) {
  return "!lm.weight<" + std::to_string(experts) + "x" + std::to_string(n) + "x" +
         std::to_string(k) + ", " + format + ">";
}

/// A kernel.route.
struct Router {
  int64_t experts, used;
  const char *score, *normalize;
  int64_t groups = 1, usedGroups = 1;
  const char *groupScore = "max";
  bool bias = false, scales = false;
  float normEps = 0, normFloor = 0, scale = 1;

  std::string kernel(const std::string &name) const {
    const std::string l = activationType("f32", experts), v = vectorType(experts),
                      r = routesType(experts, used);
    auto number = [](float value) {
      char text[32];
      std::snprintf(text, sizeof text, "%e", double(value));
      return std::string(text);
    };
    return "kernel.func @" + name + "(%l: " + l + (bias ? ", %b: " + v : "") +
           (scales ? ", %s: " + v : "") + ", %r: " + r + ") {\n  kernel.route %l : " + l +
           (bias ? " select %b : " + v : "") + (scales ? " expert_scale %s : " + v : "") +
           " outs(%r : " + r + ") {score = #lm.score<" + score + ">, normalize = #lm.normalize<" +
           normalize + ">, groups = " + std::to_string(groups) +
           " : i64, used_groups = " + std::to_string(usedGroups) +
           " : i64, group_score = #lm.group_score<" + groupScore +
           ">, norm_eps = " + number(normEps) + " : f32, norm_floor = " + number(normFloor) +
           " : f32, scale = " + number(scale) + " : f32}\n  kernel.return\n}\n";
  }
};
/// A kernel.matmul over routes.
struct Stack {
  WeightFormat format;
  int64_t experts, used, n, k;
  bool pair; ///< (gate + bias) * up as bf16 rows; else the sums and a residual as f32 rows

  /// Returns the kernel. With `fp8`, its last operand holds fp8 rows in addition to the bf16 rows.
  std::string kernel(const std::string &name, bool fp8 = false) const {
    const std::string x = activationType("bf16", k), r = routesType(experts, used),
                      w = stackType(experts, n, k, std::string(numericFormat(format).name)),
                      b = stackType(experts, n, 1, "f32"),
                      y = activationType(pair ? "bf16" : "f32", n), a = pair ? b : y;
    return "kernel.func @" + name + "(%x: " + x + ", %w0: " + w +
           (pair ? ", %w1: " + w : std::string()) + ", %a: " + a + ", %y: " + y + ", %r: " + r +
           (fp8 ? fp8Argument(k) : "") + ") {\n  kernel.matmul %x : " + x +
           (pair ? " weights(%w0, %w1 : " + w + ", " + w : " weights(%w0 : " + w) +
           ") aux(%a : " + a + ") outs(%y : " + y + ")" + (fp8 ? fp8Clause(k) : "") +
           " of %r : " + r +
           " attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>" +
           (pair
                ? ", gated} {\n  ^bb0(%g: f32, %u: f32, %b: f32):\n    %s = arith.addf %g, %b : f32\n"
                  "    %m = arith.mulf %s, %u : f32\n"
                : "} {\n  ^bb0(%g: f32, %b: f32):\n    %m = arith.addf %g, %b : f32\n") +
           "    kernel.yield %m : f32\n  }\n  kernel.return\n}\n";
  }
};

inline std::string groupRoutes(const std::string &name, int64_t experts, int64_t used) {
  const std::string r = routesType(experts, used);
  return "kernel.func @" + name + "(%r: " + r + ") {\n  kernel.group_routes %r : " + r +
         "\n  kernel.return\n}\n";
}
inline std::string combine(const std::string &name, int64_t n, int64_t experts, int64_t used) {
  const std::string x = activationType("f32", n), r = routesType(experts, used);
  return "kernel.func @" + name + "(%x: " + x + ", %r: " + r + ", %y: " + x +
         ") {\n  kernel.combine %x by %r : " + x + ", " + r + " outs(%y : " + x +
         ")\n  kernel.return\n}\n";
}

} // namespace ingot::codegen::cuda::test

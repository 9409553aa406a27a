//===- Experts.cpp - kernel.route, group_routes and combine for GPUs --------===//
#include "dialects/kernel/ops/Experts.h"
#include "codegen/cuda/Emitters.h"
#include "runtime/abi/Limits.h"
#include "runtime/abi/Routes.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;

// device/routes.cuh repeats this layout, in 32-bit words.
static_assert(RoutesLayout{3}.weight() == 12 && RoutesLayout{3}.row() == 24 &&
              RoutesLayout{3}.token() == 36 && RoutesLayout{3}.count() == 48 &&
              RoutesLayout{3}.segments() == 64 && sizeof(RouteSegment) == 12 &&
              offsetof(RouteSegment, first) == 4 && offsetof(RouteSegment, end) == 8);

// device/experts.cuh repeats these values.
static constexpr int64_t kRouteWarps = 4, kCombined = 1024;

static std::string refusalOf(kernel::RoutesType type) {
  if (type.getUsed() <= kGpuLimits.expertsUsed && type.getExperts() <= kGpuLimits.experts)
    return "";
  return llvm::formatv("expects at most {0} of {1} experts for a token on GPUs, got {2} of {3}",
                       kGpuLimits.expertsUsed, kGpuLimits.experts, type.getUsed(),
                       type.getExperts());
}
std::string ingot::codegen::cuda::refusalOf(kernel::RouteOp op) {
  if (int64_t(op.getGroups()) > kGpuLimits.expertGroups)
    return llvm::formatv("expects at most {0} groups of experts on GPUs, got {1}",
                         kGpuLimits.expertGroups, op.getGroups());
  return ::refusalOf(op.routesType());
}
std::string ingot::codegen::cuda::refusalOf(kernel::GroupRoutesOp op) {
  return ::refusalOf(op.getRoutes().getType());
}

LogicalResult ingot::codegen::cuda::emitRoute(KernelText &k, kernel::RouteOp op) {
  const kernel::RoutesType type = op.routesType();
  auto number = [](const APFloat &value) { return floatText(value.convertToFloat()); };
  auto truth = [](bool value) { return value ? "true" : "false"; };
  k.include("experts.cuh");
  k.name(op.getLogits(), "logits");
  if (op.getBias())
    k.name(op.getBias(), "bias");
  if (op.getExpertScale())
    k.name(op.getExpertScale(), "scales");
  k.name(op.getRoutes(), "routes", /*written=*/true);
  k.line("");
  k.line("struct Router {{");
  k.line("static constexpr i32 experts = {0}, used = {1}, groups = {2}, usedGroups = {3};",
         type.getExperts(), type.getUsed(), op.getGroups(), op.getUsedGroups());
  k.line("static constexpr RouteScore score = RouteScore::{0};",
         lm::stringifyRouteScore(op.getScore()));
  k.line("static constexpr RouteNorm normalize = RouteNorm::{0};",
         lm::stringifyRouteNorm(op.getNormalize()));
  k.line("static constexpr bool groupsByMax = {0}, hasBias = {1}, hasScales = {2};",
         truth(op.getGroupScore() == lm::GroupScore::Max), truth(bool(op.getBias())),
         truth(bool(op.getExpertScale())));
  k.line("static constexpr float normEps = {0}, normFloor = {1}, scale = {2};",
         number(op.getNormEps()), number(op.getNormFloor()), number(op.getScale()));
  k.write("};");
  k.open("", 32 * kRouteWarps).grid[0] = {LaunchExtent::Tokens, 1, kRouteWarps};
  k.line("SHARED(RouteScratch<Router>, scratch, [kRouteWarps]);");
  k.line("route_tokens<Router>(logits, {0}, {1}, routes, batch, scratch);",
         op.getBias() ? "bias" : "nullptr", op.getExpertScale() ? "scales" : "nullptr");
  k.close();
  return success();
}

LogicalResult ingot::codegen::cuda::emitGroupRoutes(KernelText &k, kernel::GroupRoutesOp op) {
  const kernel::RoutesType type = op.getRoutes().getType();
  int64_t warps = 32; // counts take 32 KB at most
  while (warps * type.getExperts() > 8192)
    warps /= 2;
  k.include("experts.cuh");
  k.name(op.getRoutes(), "routes", /*written=*/true);
  k.open("", 32 * warps).grid[0] = {LaunchExtent::Constant, 1, 1};
  k.line("SHARED(i32, counts, [{0}][{1}]);", warps, type.getExperts());
  k.line("SHARED(i32, firsts, [{0}]);", type.getExperts());
  k.line("group_pairs<{0}, {1}>(routes, batch, counts, firsts);", type.getExperts(),
         type.getUsed());
  k.close();
  return success();
}

LogicalResult ingot::codegen::cuda::emitCombine(KernelText &k, kernel::CombineOp op) {
  const kernel::ActivationType rows = op.getOutput().getType();
  k.include("experts.cuh");
  k.name(op.getX(), "x");
  k.name(op.getRoutes(), "routes");
  k.name(op.getOutput(), "y", /*written=*/true);
  k.open("", kCombined / 4).grid[0] = {LaunchExtent::Tokens,
                                       int64_t(llvm::divideCeil(rowStride(rows), kCombined)), 1};
  k.line("combine_rows<{0}, {1}>(x, routes, y, batch);", rows.getN(),
         op.getRoutes().getType().getUsed());
  k.close();
  return success();
}

//===- NvrtcTest.cpp - Every kernel of two models, for every architecture ---===//
//
// Compiles with NVRTC, which needs no GPU, and checks ptxas's report: no spills anywhere, and
// registers and shared memory within the limits of the launch and of the architecture's smallest
// GPU.
//===----------------------------------------------------------------------===//
#include "CudaKernels.h"
#include "ExpertKernels.h"
#include "tests/codegen/TestCode.h"

#include <cstdio>
#include <thread>

using namespace ingot;
using namespace ingot::codegen::cuda;
using namespace ingot::codegen::cuda::test;

namespace {

/// Returns the kernels of a step of a llama-like model. Projections compute norms for up to `few` tokens.
std::string modelKernels(int64_t hidden, int64_t heads, int64_t kvHeads, int64_t headDim,
                         int64_t inner, int64_t vocabulary, WeightFormat format, int64_t few) {
  WeightFormat head = WeightFormat::Q8_0;
  const RopeProblem rope{heads, kvHeads, headDim, headDim, false, false};
  const std::string qkv = projections(
      "projections", hidden,
      {{format, heads * headDim}, {format, kvHeads * headDim}, {format, kvHeads * headDim}});
  const std::string pair = gateUp("gate_up", format, inner, hidden, true),
                    logits = plainMatmul("head", head, vocabulary, hidden, "f32", 1);
  return gatherKernel("embed", head, vocabulary, hidden) + ropeTable("rope_table", headDim / 2) +
         norm("norm_0", hidden, "bf16") + norm("select_0", hidden, "bf16", true) + qkv +
         (few < 8 ? counted(withAppend(qkv, rope), "projections_append", few + 1, 8) : "") +
         counted(withAppend(withNorm(qkv, hidden), rope), "projections_few", 1, few) +
         ropeAppend("rope_append", rope) +
         attention("attention", {heads, kvHeads, headDim, 0, 0, "bf16"}) +
         residualMatmul("out", format, hidden, heads * headDim) + pair +
         counted(withNorm(pair, hidden), "gate_up_few", 1, few) +
         residualMatmul("down", format, hidden, inner) + logits +
         counted(withKeys(logits, vocabulary), "head_keys", few + 1, 32) +
         counted(withKeys(withNorm(logits, hidden, /*gather=*/true), vocabulary), "head_few", 1,
                 few);
}

void compileEverywhere(const std::vector<CudaProgram> &programs,
                       std::vector<std::string> architectures, bool print,
                       EmitOptions options = {}) {
  std::string problem;
  if (!Nvrtc::get(problem))
    GTEST_SKIP() << problem;
  auto compiled = compilePrograms(programs, architectures, std::thread::hardware_concurrency(),
                                  problem, ingot::test::testCode());
  ASSERT_TRUE(succeeded(compiled)) << problem;
  for (size_t a = 0; a < architectures.size(); ++a)
    for (size_t p = 0; p < programs.size(); ++p) {
      // "Potential Performance Loss: wgmma.mma_async instructions are serialized"
      EXPECT_EQ((*compiled)[a][p].log.find("Performance Loss"), std::string::npos)
          << programs[p].name << "\n"
          << (*compiled)[a][p].log;
      for (const CudaVariant &variant : programs[p].variants) {
        const KernelResources *found = nullptr;
        for (const KernelResources &kernel : (*compiled)[a][p].kernels)
          if (kernel.symbol == variant.symbol)
            found = &kernel;
        ASSERT_TRUE(found) << variant.symbol << "\n" << (*compiled)[a][p].log;
        if (print)
          std::printf("%-8s %-24s %3d registers %4d+%4d spilled %6d + %6u shared\n",
                      architectures[a].c_str(), variant.symbol.c_str(), found->registers,
                      found->spillStores, found->spillLoads, found->sharedBytes,
                      variant.sharedBytes);
        EXPECT_EQ(found->spillStores + found->spillLoads, 0)
            << architectures[a] << " " << variant.symbol;
        EXPECT_LE(found->registers * variant.threads, 65536u)
            << architectures[a] << " " << variant.symbol;
        // sm_89 and sm_120 have 99 KB per block, sm_90 227 KB.
        EXPECT_LE(found->sharedBytes + int64_t(variant.sharedBytes),
                  (options.wgmma ? 227 : 99) * 1024)
            << architectures[a] << " " << variant.symbol;
      }
    }
}

void compileEverywhere(const std::string &text, std::vector<std::string> architectures, bool print,
                       EmitOptions options = {}) {
  compileEverywhere(emitAll(text, options), std::move(architectures), print, options);
}

const std::vector<std::string> kArchitectures = {"sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"};
bool printing() { return std::getenv("INGOT_PRINT_RESOURCES") != nullptr; }

/// These tests compile for the first architecture, the last one, and the one with its own kernels. The long tests cover
/// all architectures.
std::string smallModel() { return modelKernels(576, 9, 3, 64, 1536, 49152, WeightFormat::Q4_1, 8); }
std::string largeModel() {
  return modelKernels(4096, 32, 8, 128, 14336, 128256, WeightFormat::Int4G128, 2);
}
TEST(Nvrtc, SmallModel) { compileEverywhere(smallModel(), {"sm_80", "sm_120a"}, printing()); }
TEST(Nvrtc, LargeModel) { compileEverywhere(largeModel(), {"sm_90a"}, printing()); }
TEST(DISABLED_LongNvrtc, SmallModel) {
  compileEverywhere(smallModel(), kArchitectures, printing());
}
TEST(DISABLED_LongNvrtc, LargeModel) {
  compileEverywhere(largeModel(), kArchitectures, printing());
}

TEST(Nvrtc, Sampling) { compileEverywhere(samplingKernels(262144), kArchitectures, printing()); }

class NvrtcFormats : public testing::TestWithParam<WeightFormat> {};
TEST_P(NvrtcFormats, Matmuls) {
  WeightFormat format = GetParam();
  std::string qkv = projections("qkv", 2048, {{format, 1024}, {format, 256}, {format, 256}});
  const RopeProblem rope{8, 2, 128, 128, false, false};
  compileEverywhere(
      counted(withAppend(withNorm(qkv, 2048), rope), "few", 1, 4) +
          counted(withAppend(qkv, rope), "append", 5, 8) +
          counted(withNorm(gateUp("pair", format, 1024, 1024, true), 1024), "pair", 1, 8),
      {"sm_90a"}, printing());
}
TEST_P(NvrtcFormats, Experts) {
  compileEverywhere(Stack{GetParam(), 128, 8, 768, 2048, true}.kernel("pair") +
                        Stack{GetParam(), 128, 8, 2048, 768, false}.kernel("down"),
                    {"sm_90a"}, printing());
}
TEST(Nvrtc, Routes) {
  Router router{256, 8, "sigmoid", "sum", 8, 4, "top2sum", true, true};
  compileEverywhere(router.kernel("route") + groupRoutes("group", 256, 8) +
                        groupRoutes("group_most", 1024, 8) + combine("combine", 7168, 256, 8),
                    kArchitectures, printing());
  using enum WeightFormat;
  compileEverywhere(projections("router", 7168, {{F32, 256}}, /*bias=*/true, "f32") +
                        projections("shared", 2050, {{BF16, 60}, {F16, 1}}, false, "f32"),
                    kArchitectures, printing());
}

INSTANTIATE_TEST_SUITE_P(All, NvrtcFormats, eachKindOfFormat(), nameOfFormat);
INSTANTIATE_TEST_SUITE_P(DISABLED_Long, NvrtcFormats, otherFormats(), nameOfFormat);

TEST(NvrtcHeads, WideAndOdd) {
  compileEverywhere(attention("wide", {4, 1, 256, 512, 50, "bf16"}) +
                        attention("odd", {6, 2, 80, 0, 0, "f32"}) +
                        attention("many", {32, 2, 128, 0, 0, "bf16"}) +
                        attention("scaled", {32, 8, 128, 0, 0, "bf16", true}) +
                        attention("sunk", {64, 8, 64, 0, 0, "bf16", false, true}) +
                        attention("sunk_wide", {32, 8, 128, 0, 0, "bf16", false, true}) +
                        ropeAppend("norms", {4, 1, 256, 256, false, true}),
                    {"sm_80", "sm_90a"}, printing());
}

EmitOptions withWgmma() {
  EmitOptions options;
  options.wgmma = true;
  return options;
}
TEST_P(NvrtcFormats, Wgmma) {
  WeightFormat format = GetParam();
  compileEverywhere(plainMatmul("plain", format, 4096, 14336) +
                        gateUp("pair", format, 14336, 4096, true),
                    {"sm_90a"}, printing(), withWgmma());
}
TEST(NvrtcWgmma, Fp8) {
  compileEverywhere(plainMatmul("plain", WeightFormat::Fp8Block128, 4096, 14336, "f32", 0, true) +
                        gateUp("pair", WeightFormat::Fp8Block128, 14336, 4096, true, true) +
                        fp8Rows("rows", 4096) + fp8Rows("rows_wide", 14336),
                    {"sm_90a"}, printing(), withWgmma());
}
/// The formats that leave the fewest registers are tested only in the variants with the most rows.
TEST(NvrtcWgmma, Experts) {
  std::string text;
  for (WeightFormat format : {WeightFormat::F16, WeightFormat::Q2_K, WeightFormat::Q4_K,
                              WeightFormat::Q6_K, WeightFormat::IQ1_M})
    for (bool pair : {false, true}) {
      const std::string name =
          std::string(pair ? "pair_" : "plain_") + std::string(numericFormat(format).name);
      text +=
          counted(Stack{format, 128, 8, pair ? 700 : 2048, pair ? 2048 : 768, pair}.kernel(name),
                  name, 1 << 20, 1 << 21);
    }
  compileEverywhere(text, {"sm_90a"}, printing(), withWgmma());
}
/// Two main loops in one kernel, and padded rows.
TEST(NvrtcWgmma, Segments) {
  compileEverywhere(
      projections(
          "projections", 4096,
          {{WeightFormat::Q4_K, 4096}, {WeightFormat::Q4_K, 1000}, {WeightFormat::Q6_K, 1024}}),
      {"sm_90a"}, printing(), withWgmma());
}

TEST(Nvrtc, ErrorsSayWhere) {
  std::string problem;
  const Nvrtc *nvrtc = Nvrtc::get(problem);
  if (!nvrtc)
    GTEST_SKIP() << problem;
  NvrtcResult result = nvrtc->compile(
      "#include \"device.cuh\"\nKERNEL void f(float *x) { x[0] = y; }\n", "broken", "sm_80");
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.log.find("broken.cu(2)"), std::string::npos) << result.log;
}

TEST(Nvrtc, PtxForGpusThatAreNotListed) {
  std::string problem;
  if (!Nvrtc::get(problem))
    GTEST_SKIP() << problem;
  std::vector<CudaProgram> programs = emitAll(samplingKernels(1000));
  ASSERT_FALSE(programs.empty());
  programs.resize(1); // argmax
  auto compiled = compilePrograms(programs, {"compute_80"}, 1, problem);
  ASSERT_TRUE(succeeded(compiled)) << problem;
  std::string text((*compiled)[0][0].code.begin(), (*compiled)[0][0].code.end());
  EXPECT_NE(text.find(".target sm_80"), std::string::npos);
}

} // namespace

//===- TuningMacrosTest.cpp - The tuning macros of device/tuning.cuh ------===//
//
// Every tuning macro compiles with NVRTC without spills and changes no bit on the emulator.
//===----------------------------------------------------------------------===//
#include "CudaRunner.h"
#include "FragmentReference.h"

using namespace ingot;
using namespace ingot::codegen::cuda;
using namespace ingot::codegen::cuda::test;

namespace {

constexpr const char *kMacros[] = {"INGOT_DEPTH 2",    "INGOT_DEPTH 12", "INGOT_MIN_BLOCKS 2",
                                   "INGOT_STAGES 5",   "INGOT_EVICT 0",  "INGOT_EVICT 1",
                                   "INGOT_X_PITCH 128"};

EmitOptions withWgmma() {
  EmitOptions options;
  options.wgmma = true;
  return options;
}

/// Returns the programs with `#define macro` prepended. Variants whose rings change length get the
/// memory that they need.
std::vector<CudaProgram> withMacro(std::vector<CudaProgram> programs, const std::string &macro) {
  for (CudaProgram &program : programs) {
    program.source = "#define " + macro + "\n" + program.source;
    for (CudaVariant &variant : program.variants)
      if (llvm::StringRef(macro).starts_with("INGOT_STAGES") && variant.threads == 384)
        variant.sharedBytes += 128 * 128 + 1024 + 24; // a stage, its Σx and its barriers
  }
  return programs;
}

std::vector<CudaProgram> kernels(int64_t n, int64_t k) {
  return emitAll(
      plainMatmul("codes", WeightFormat::Int4G64, n, k) +
          plainMatmul("minimums", WeightFormat::Q4_1, n, k) +
          plainMatmul("grid", WeightFormat::IQ2_XS, n, roundUp(k, 256)) +
          plainMatmul("products", WeightFormat::Fp8Block128, n, k, "f32", 0, /*fp8=*/true),
      withWgmma());
}

void expectNoSpills(llvm::ArrayRef<const char *> macros) {
  std::string problem;
  if (!Nvrtc::get(problem))
    GTEST_SKIP() << problem;
  std::vector<CudaProgram> all;
  for (const char *macro : macros)
    for (CudaProgram &program : withMacro(kernels(4096, 4096), macro))
      all.push_back(std::move(program));
  auto compiled = compilePrograms(all, {"sm_90a"}, std::thread::hardware_concurrency(), problem,
                                  ingot::test::testCode());
  ASSERT_TRUE(succeeded(compiled)) << problem;
  for (auto [program, code] : llvm::zip_equal(all, compiled->front()))
    for (const KernelResources &kernel : code.kernels) {
      // A sweep searches for settings that fit. Deep rings of 64 tokens need not fit.
      llvm::StringRef symbol = kernel.symbol;
      if (!symbol.ends_with("_t8") && !symbol.contains("_wgmma"))
        continue;
      EXPECT_EQ(kernel.spillStores + kernel.spillLoads, 0)
          << program.source.substr(0, program.source.find('\n')) << " " << kernel.symbol;
      // Two blocks of 256 threads share 65,536 registers.
      if (llvm::StringRef(program.source).starts_with("#define INGOT_MIN_BLOCKS") &&
          symbol.ends_with("_t8"))
        EXPECT_LE(kernel.registers, 128) << kernel.symbol;
    }
}

TEST(TuningMacros, CompileWithoutSpills) { expectNoSpills({"INGOT_DEPTH 12", "INGOT_STAGES 5"}); }
TEST(DISABLED_LongTuningMacros, CompileWithoutSpills) { expectNoSpills(kMacros); }

/// Register limits and the L2 policy have no effect on the emulator, so this test leaves them out. A program takes long
/// to compile.
TEST(DISABLED_LongTuningMacros, SameBits) {
  const int64_t n = 40, k = 1111, tokens = 5;
  std::vector<uint16_t> x = bf16Rows(tokens, k, 6);
  std::vector<uint16_t>
      spread; // the same rows, 128 bytes apart; no kernel may use the bytes between
  for (int64_t t = 0; t < tokens; ++t) {
    spread.insert(spread.end(), x.begin() + t * roundUp(k, 64),
                  x.begin() + (t + 1) * roundUp(k, 64));
    spread.insert(spread.end(), 64, uint16_t(0x7fc0)); // NaN
  }
  BatchView batch{};
  batch.tokens = tokens;
  std::vector<uint8_t> rows(tokens * fp8RowBytes(k), 0x31); // the value of both codes and scales
  std::map<std::string, std::vector<float>> first;
  const std::pair<std::string, std::vector<std::string>> macros[] = {
      {"INGOT_NO_MACRO", {"codes", "minimums", "products"}},
      {"INGOT_DEPTH 2", {"codes"}},
      {"INGOT_DEPTH 12", {"codes"}},
      {"INGOT_X_PITCH 128", {"codes"}},
      {"INGOT_STAGES 5", {"minimums", "products"}}};
  for (const auto &[macro, names] : macros) {
    std::vector<CudaProgram> programs = withMacro(kernels(n, k), macro);
    llvm::erase_if(programs, [&](const CudaProgram &program) {
      return !llvm::is_contained(names, program.name);
    });
    HostKernels built(std::move(programs), /*checked=*/false);
    ASSERT_TRUE(bool(built)) << macro;
    for (const CudaProgram &program : built.programs) {
      WeightFormat format = program.name == "codes"      ? WeightFormat::Int4G64
                            : program.name == "minimums" ? WeightFormat::Q4_1
                                                         : WeightFormat::Fp8Block128;
      RandomFragments weight(format, n, k, 5);
      const bool apart = llvm::StringRef(macro).starts_with("INGOT_X_PITCH");
      for (const CudaVariant &variant : program.variants) {
        if (apart && !llvm::StringRef(variant.symbol).contains("_t"))
          continue; // decode kernels only
        Emulated gpu(built, 2);
        float *y = gpu.make<float>(tokens * roundUp(n, 32), "y");
        std::vector<const void *> operands{
            gpu.putBefore(apart ? spread : x, 140 * roundUp(k, 64), "x"), gpu.put(weight.bytes), y};
        if (program.name == "products")
          operands.push_back(gpu.put(rows));
        gpu.launch(variant.symbol, operands, batch);
        std::vector<float> got = gpu.get(y, tokens * roundUp(n, 32));
        auto [known, fresh] = first.try_emplace(variant.symbol, got);
        EXPECT_EQ(got, known->second) << macro << " " << variant.symbol;
      }
    }
  }
}

} // namespace

//===- ObjectCacheTest.cpp - Code is compiled once; caching does not change it ----===//
#include "CudaKernels.h"

#include "codegen/cuda/EmbeddedHeaders.h"

#include <map>

using namespace ingot;
using namespace ingot::codegen::cuda;
using namespace ingot::codegen::cuda::test;

namespace {

/// A code cache in memory that counts its hits.
class Memory : public ObjectCache {
public:
  std::optional<std::string> lookup(llvm::ArrayRef<std::string> texts) override {
    last = texts.vec();
    auto found = code.find(texts.vec());
    if (found == code.end())
      return std::nullopt;
    ++hits;
    return found->second;
  }
  void store(llvm::ArrayRef<std::string> texts, llvm::StringRef bytes) override {
    EXPECT_TRUE(code.emplace(texts.vec(), bytes.str()).second) << "stored twice";
  }

  std::map<std::vector<std::string>, std::string> code;
  std::vector<std::string> last;
  size_t hits = 0;
};

/// Returns two programs with different symbols.
std::vector<CudaProgram> programs() {
  return emitAll(gatherKernel("one", WeightFormat::BF16, 64, 32) +
                 gatherKernel("other", WeightFormat::BF16, 64, 64));
}

TEST(EmittedCode, ReadsFragmentsAlone) {
  std::string text = gatherKernel("k", WeightFormat::BF16, 64, 32);
  for (size_t at = 0; (at = text.find("bf16>", at)) != std::string::npos; at += 5)
    text.replace(at, 5, "bf16, panel32>");
  KernelModule module(text);
  std::string said;
  mlir::ScopedDiagnosticHandler handler(module.anchor()->getContext(),
                                        [&](mlir::Diagnostic &d) { said += d.str(); });
  EXPECT_TRUE(failed(emitFirst(module)));
  EXPECT_NE(said.find("expects matrices in the layout frag16 on this target"), std::string::npos)
      << said;
}

TEST(ObjectCache, ObjectsForTheEmulator) {
  std::vector<CudaProgram> list = programs();
  std::string problem;
  auto compile = [&](ObjectCache *kept, const char *architecture = "sm_90a") {
    auto image = compileForEmulator(list, {architecture, false, 2, kept}, problem);
    EXPECT_TRUE(succeeded(image)) << problem;
    return succeeded(image) ? *image : std::vector<char>();
  };
  Memory kept;
  std::vector<char> plain = compile(nullptr);
  EXPECT_EQ(compile(&kept), plain);
  EXPECT_EQ(kept.hits, 0u);
  EXPECT_EQ(kept.code.size(), 2u);
  EXPECT_EQ(compile(&kept), plain);
  EXPECT_EQ(kept.hits, 2u);
  list[0].source += "// changed\n";
  compile(&kept);
  EXPECT_EQ(kept.hits, 3u);
  compile(&kept, "sm_80");
  EXPECT_EQ(kept.hits, 3u) << "another architecture";
  for (auto headers : {deviceHeaders(), emulatorHeaders()})
    for (const EmbeddedHeader &header : headers)
      EXPECT_TRUE(llvm::is_contained(kept.last, header.text)) << header.name;
  for (const std::string &text : kept.last)
    EXPECT_EQ(text.find("/ingot-emulator-"), std::string::npos)
        << "the folder of one run: " << text;
}

TEST(ObjectCache, CubinsAndPtx) {
  std::vector<CudaProgram> list = programs();
  std::string problem;
  if (!Nvrtc::get(problem))
    GTEST_SKIP() << problem;
  const std::vector<std::string> architectures = {"sm_90a", "compute_80"};
  // Returns the code, and the registers of the first kernel. (The log contains the compilation time.)
  auto compile = [&](ObjectCache *kept) {
    auto compiled = compilePrograms(list, architectures, 2, problem, kept);
    EXPECT_TRUE(succeeded(compiled)) << problem;
    std::vector<std::pair<std::vector<char>, int>> found;
    if (succeeded(compiled))
      for (std::vector<CompiledProgram> &of : *compiled)
        for (CompiledProgram &one : of)
          found.emplace_back(one.code, one.kernels.empty() ? 0 : one.kernels[0].registers);
    return found;
  };
  Memory kept;
  auto plain = compile(nullptr);
  ASSERT_FALSE(plain.empty());
  EXPECT_GT(plain.front().second, 0) << "a cubin uses registers";
  EXPECT_EQ(compile(&kept), plain);
  EXPECT_EQ(kept.hits, 0u);
  EXPECT_EQ(kept.code.size(), 4u);
  EXPECT_EQ(compile(&kept), plain);
  EXPECT_EQ(kept.hits, 4u);
  for (const EmbeddedHeader &header : deviceHeaders())
    EXPECT_TRUE(llvm::is_contained(kept.last, header.text)) << header.name;
  list[1].source += "// changed\n";
  compile(&kept);
  EXPECT_EQ(kept.hits, 6u);
}

/// If a program fails to compile, nothing is stored.
TEST(ObjectCache, NothingOfWhatFails) {
  std::vector<CudaProgram> list = programs();
  list[0].source += "KERNEL void broken( {\n";
  std::string problem;
  Memory kept;
  EXPECT_TRUE(failed(compileForEmulator(list, {"sm_90a", false, 1, &kept}, problem)));
  EXPECT_NE(problem.find("one cannot be compiled"), std::string::npos) << problem;
  EXPECT_EQ(kept.code.size(), 0u);
}

} // namespace

//===- CudaCodegen.cpp - See CudaCodegen.h --------------------------------===//
#include "codegen/cuda/CudaCodegen.h"
#include "codegen/cuda/EmbeddedHeaders.h"
#include "codegen/cuda/Emitters.h"
#include "codegen/cuda/KernelText.h"
#include "codegen/cuda/MatmulShape.h"
#include "dialects/kernel/KernelOps.h"

#include "runtime/abi/KernelAbi.h"
#include "runtime/formats/DummyWeights.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <atomic>
#include <thread>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;

// device/batch.cuh repeats these layouts.
static_assert(kPageTokens == 32 && sizeof(AttentionTile) == 16 && sizeof(AttentionSplit) == 32 &&
              offsetof(AttentionSplit, slot) == 20 && offsetof(BatchView, splits) == 112 &&
              offsetof(BatchView, promptTiles) == 128 && offsetof(BatchView, ids) == 32 &&
              offsetof(BatchView, blockTable) == 72 && offsetof(BatchView, earlierIds) == 88 &&
              offsetof(BatchView, sampling) == 96 && sizeof(RowSampling) == 40 &&
              offsetof(RowSampling, least) == 16 && offsetof(RowSampling, topP) == 32 &&
              offsetof(BatchView, stateSpans) == 136 && offsetof(BatchView, stateWrites) == 152 &&
              sizeof(StateSpan) == 24 && offsetof(StateSpan, firstWrite) == 12 &&
              sizeof(StateWrite) == 8);

lm::WeightLayout ingot::codegen::cuda::matrixLayout(Operation *consumer) {
  auto matmul = dyn_cast<kernel::MatmulOp>(consumer);
  return matmul && matmul.xType().getKind() == kernel::RowKind::F32 ? lm::WeightLayout::Panel32
                                                                    : lm::WeightLayout::Fragment16;
}

kernel::KernelShape ingot::codegen::cuda::kernelShape(kernel::FuncOp kernel) {
  Operation *anchor = kernel.anchor();
  if (auto matmul = dyn_cast<kernel::MatmulOp>(anchor)) {
    const MatmulShape shape(matmul);
    return {shape.refused, shape.mostUnits};
  }
  if (!llvm::hasSingleElement(kernel.ops()))
    return {"is fused with other ops, which is not supported on GPUs"};
  kernel::KernelShape shape;
  if (auto attention = dyn_cast<kernel::AttentionOp>(anchor))
    shape.workspaceBytes = workspaceBytes(attention);
  if (auto custom = dyn_cast<kernel::CustomOp>(anchor))
    shape.refused = refusalOf(custom);
  if (auto route = dyn_cast<kernel::RouteOp>(anchor))
    shape.refused = refusalOf(route);
  if (auto group = dyn_cast<kernel::GroupRoutesOp>(anchor))
    shape.refused = refusalOf(group);
  return shape;
}

FailureOr<CudaProgram> ingot::codegen::cuda::emitKernel(kernel::FuncOp kernel,
                                                        const EmitOptions &options) {
  if (failed(kernel::expectLayout(kernel, matrixLayout(kernel.anchor()))))
    return failure();
  if (std::string why = kernelShape(kernel).refused; !why.empty())
    return kernel.anchor()->emitOpError(why);
  KernelText k(kernel);
  LogicalResult done =
      llvm::TypeSwitch<Operation *, LogicalResult>(kernel.anchor())
          .Case([&](kernel::MatmulOp op) { return emitMatmul(k, op, options); })
          .Case([&](kernel::RowwiseOp op) { return emitRowwise(k, op); })
          .Case([&](kernel::GatherOp op) { return emitGather(k, op); })
          .Case([&](kernel::RopeTableOp op) { return emitRopeTable(k, op); })
          .Case([&](kernel::Fp8RowsOp op) { return emitFp8Rows(k, op, options); })
          .Case([&](kernel::RopeAppendOp op) { return emitRopeAppend(k, op); })
          .Case([&](kernel::AttentionOp op) { return emitAttention(k, op); })
          .Case([&](kernel::CausalConvOp op) { return emitCausalConv(k, op); })
          .Case([&](kernel::CustomOp op) { return emitCustom(k, op); })
          .Case([&](kernel::RouteOp op) { return emitRoute(k, op); })
          .Case([&](kernel::GroupRoutesOp op) { return emitGroupRoutes(k, op); })
          .Case([&](kernel::CombineOp op) { return emitCombine(k, op); })
          .Case([&](kernel::ArgmaxOp op) { return emitArgmax(k, op); })
          .Case([&](kernel::ArgmaxFinishOp op) { return emitArgmaxFinish(k, op); })
          .Case([&](kernel::DrawWeighOp op) { return emitDrawWeigh(k, op); })
          .Case([&](kernel::DrawIdsOp op) { return emitDrawIds(k, op); })
          .Default([](Operation *op) { return op->emitOpError("has no CUDA code generator"); });
  if (failed(done))
    return failure();
  return k.finish();
}

CudaProgram ingot::codegen::cuda::seedProgram(WeightFormat format) {
  const SeedScales made = seedScales(format);
  CudaProgram program;
  program.name = "seed_" + std::string(numericFormat(format).name);
  program.source =
      llvm::formatv(R"(// dummy weights: {0}
#include "seed.cuh"

{8}KERNEL void __launch_bounds__(256) {1}(u8 *out, u64 seed, u64 tensor, i64 n, i64 k) {{
  seed_weight<{2}>(out, seed, tensor, n, k, {{{3}, {4}, {5}, {6}, {7}, {9}});
}
EXPORT_KERNEL({1})
)",
                    numericFormat(format).name, program.name, formatText(format), made.d, made.m,
                    made.s, made.t, floatText(kSeedFp8Scale), gridText(format),
                    numericFormat(format).packing == NumericFormat::Packing::Trits);
  CudaVariant only;
  only.symbol = program.name;
  only.threads = 256;
  only.pdl = false;
  program.variants = {only};
  return program;
}

/// Returns all texts that determine the code of a program. The first one names the layout of a cache entry (entryOf).
static std::vector<std::string> textsOf(const CudaProgram &program, const Nvrtc &nvrtc,
                                        const std::string &architecture) {
  std::vector<std::string> texts{"length, log, code", nvrtc.identity(), program.name,
                                 program.source};
  llvm::append_range(texts, Nvrtc::options(architecture));
  for (const EmbeddedHeader &header : deviceHeaders()) {
    texts.push_back(header.name);
    texts.push_back(header.text);
  }
  return texts;
}

/// Returns a cache entry: the length of the compiler's log, a line break, the log and the code.
static std::string entryOf(const CompiledProgram &compiled) {
  return std::to_string(compiled.log.size()) + "\n" + compiled.log +
         std::string(compiled.code.begin(), compiled.code.end());
}
static CompiledProgram compiledOf(StringRef entry) {
  auto [length, rest] = entry.split('\n');
  size_t bytes = 0;
  length.getAsInteger(10, bytes);
  const StringRef log = rest.take_front(bytes), code = rest.drop_front(log.size());
  return {{code.begin(), code.end()}, resourcesIn(log), log.str()};
}

FailureOr<std::vector<std::vector<CompiledProgram>>>
ingot::codegen::cuda::compilePrograms(ArrayRef<CudaProgram> programs,
                                      ArrayRef<std::string> architectures, unsigned threads,
                                      std::string &problem, ObjectCache *cache,
                                      const std::function<void(llvm::StringRef)> &underWay) {
  const Nvrtc *nvrtc = Nvrtc::get(problem);
  if (!nvrtc)
    return failure();
  struct Job {
    const CudaProgram &program;
    const std::string &architecture;
    CompiledProgram &compiled;
    std::string problem;
  };
  std::vector<std::vector<CompiledProgram>> compiled(architectures.size(),
                                                     std::vector<CompiledProgram>(programs.size()));
  std::vector<Job> jobs; // programs that are not in the cache
  for (auto [architecture, list] : llvm::zip_equal(architectures, compiled))
    for (auto [program, one] : llvm::zip_equal(programs, list)) {
      if (cache)
        if (auto entry = cache->lookup(textsOf(program, *nvrtc, architecture))) {
          one = compiledOf(*entry);
          continue;
        }
      jobs.push_back({program, architecture, one, ""});
    }
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < jobs.size();) {
      Job &job = jobs[i];
      if (underWay)
        underWay(job.program.name);
      NvrtcResult result = nvrtc->compile(job.program.source, job.program.name, job.architecture);
      if (!result.ok)
        job.problem = "kernel " + job.program.name + " cannot be compiled for " + job.architecture +
                      "\n" + result.log;
      job.compiled = {std::move(result.code), std::move(result.kernels), std::move(result.log)};
    }
    if (underWay)
      underWay("");
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min<size_t>(threads, jobs.size()); ++i)
    others.emplace_back(work);
  work();
  for (std::thread &thread : others)
    thread.join();
  for (const Job &job : jobs)
    if (!job.problem.empty()) {
      problem = job.problem;
      return failure();
    }
  if (cache)
    for (const Job &job : jobs)
      cache->store(textsOf(job.program, *nvrtc, job.architecture), entryOf(job.compiled));
  return compiled;
}

//===- WriteKernels.cpp - Writes the kernels of two models and how to launch them ----===//
//
// write-cuda-kernels FOLDER [MODEL…]
//
// For Llama shapes of 8B and 1B on sm_90a, the program writes one .cu per kernel, MODEL-FORMAT-KIND.cu, and
// kernels.json. That file has the NVRTC options, the batch's layout and the operands. For each variant, it has guards,
// grid, threads, shared memory, cluster and tensor maps. The SASS test compiles and reads the .cu files
// (tests/codegen/cuda/sass), and a sweep compiles and times them (tests/gpu/sweep.py). MODEL is 8b or 1b; moe or
// experts, which no sweep can launch yet; or tiny, which is for tests of the scripts.
//===----------------------------------------------------------------------===//
#include "ModelKernels.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/abi/Batch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace ingot;
using namespace ingot::codegen::cuda;
using namespace ingot::codegen::cuda::test;
using llvm::json::Array;
using llvm::json::Object;

namespace {

constexpr ModelShape kTiny = {"tiny", 256, 512, 4, 2, 64, 512};

Object describe(mlir::Type type) {
  if (auto rows = llvm::dyn_cast<kernel::ActivationType>(type))
    return Object{{"kind", "rows"},
                  {"element", kernel::stringifyRowKind(rows.getKind())},
                  {"row_bytes", rows.rowBytes()}};
  if (auto workspace = llvm::dyn_cast<kernel::WorkspaceType>(type))
    return Object{{"kind", "workspace"}, {"bytes", workspace.getBytes()}};
  if (auto pool = llvm::dyn_cast<kernel::KvPoolType>(type))
    return Object{{"kind", "pool"},
                  {"element", std::string(pool.info().name)},
                  {"page_bytes", pool.pageBytes()}};
  if (auto routes = llvm::dyn_cast<kernel::RoutesType>(type))
    return Object{{"kind", "routes"}, {"experts", routes.getExperts()}, {"used", routes.getUsed()}};
  auto weight = llvm::cast<lm::WeightType>(type);
  if (weight.isVectors())
    return Object{{"kind", "vector"},
                  {"bytes", weight.matrices() * roundUp(weight.rows(), kPanelRows) * 4}};
  FragmentLayout layout = kernel::fragmentLayoutOf(weight);
  return Object{{"kind", "weight"},
                {"format", llvm::StringRef(weight.numeric().name)},
                {"group", weight.numeric().isFloat() ? 0 : weight.numeric().group},
                {"rows", weight.matrices() * weight.rows()},
                {"columns", weight.columns()},
                {"bytes", layout.bytes()}};
}

Object describe(const LaunchExtent &extent) {
  const char *bases[] = {"one", "tokens", "rows", "tiles", "shares", "prompt_tiles"};
  return Object{
      {"base", bases[extent.base]}, {"multiply", extent.multiply}, {"divide", extent.divide}};
}

Object describe(const CudaVariant &variant) {
  Array maps;
  for (const TensorMapOf &map : variant.tensorMaps)
    maps.push_back(Object{
        {"operand", map.operand}, {"box_rows", map.boxRows}, {"row_bytes", int64_t(map.rowBytes)}});
  Object object{{"symbol", variant.symbol},
                {"grid", Array{describe(variant.grid[0]), describe(variant.grid[1])}},
                {"threads", variant.threads},
                {"shared", variant.sharedBytes},
                {"cluster", variant.cluster},
                {"overlap", variant.pdl},
                {"maps", std::move(maps)}};
  if (variant.maxCount != kUnlimited)
    object["most"] = variant.maxCount;
  if (variant.maxTileTokens != kUnlimited)
    object["most_tile_tokens"] = variant.maxTileTokens;
  return object;
}

/// Returns the offsets of a step's counts and lists in the kernel's last argument.
Object describeBatch() {
  return Object{{"bytes", int64_t(sizeof(BatchView))},
                {"tokens", int64_t(offsetof(BatchView, tokens))},
                {"sequences", int64_t(offsetof(BatchView, sequences))},
                {"rows", int64_t(offsetof(BatchView, rows))},
                {"ids", int64_t(offsetof(BatchView, ids))},
                {"positions", int64_t(offsetof(BatchView, positions))},
                {"sequenceOf", int64_t(offsetof(BatchView, sequenceOf))},
                {"rowTokens", int64_t(offsetof(BatchView, rowTokens))},
                {"blockTable", int64_t(offsetof(BatchView, blockTable))},
                {"blockTableStride", int64_t(offsetof(BatchView, blockTableStride))}};
}

class Writer {
public:
  explicit Writer(std::string folder) : folder(std::move(folder)) { options.wgmma = true; }

  void writeModel(const ModelShape &model, llvm::ArrayRef<WeightFormat> formats) {
    for (WeightFormat format : formats)
      for (auto &[kind, text] : projectionsOf(model, format))
        write(model.name, std::string(numericFormat(format).name), kind, text);
    for (bool fp8 : {false, true})
      write(model.name, fp8 ? "fp8" : "bf16", "attention", attentionOf(model, fp8));
  }

  void writeExperts(const ExpertShape &model, llvm::ArrayRef<WeightFormat> formats) {
    for (WeightFormat format : formats)
      for (auto &[kind, text] : expertsOf(model, format))
        write(model.name, std::string(numericFormat(format).name), kind, text);
    for (auto &[kind, text] : aroundExperts(model))
      write(model.name, "f32", kind, text);
  }

  bool finish() {
    Array nvrtc;
    for (const std::string &option : Nvrtc::options("sm_90a"))
      nvrtc.push_back(option);
    return !failed &&
           put("kernels.json",
               llvm::formatv("{0:2}\n", llvm::json::Value(Object{{"options", std::move(nvrtc)},
                                                                 {"batch", describeBatch()},
                                                                 {"kernels", std::move(kernels)}}))
                   .str());
  }

private:
  void write(const std::string &model, const std::string &format, const std::string &kind,
             const std::string &text) {
    KernelModule module(text);
    for (kernel::FuncOp kernel : module.kernels()) {
      kernel.addWorkspace(kernelShape(kernel).workspaceBytes);
      auto program = emitKernel(kernel, options);
      if (mlir::failed(program)) {
        failed = true;
        return;
      }
      const std::string name = model + "-" + format + "-" + kind;
      Array operands, variants;
      for (mlir::Type type : kernel.getArgumentTypes())
        operands.push_back(describe(type));
      for (const CudaVariant &variant : program->variants)
        variants.push_back(describe(variant));
      kernels.push_back(Object{{"name", name},
                               {"model", model},
                               {"format", format},
                               {"kind", kind},
                               {"text", name + ".cu"},
                               {"operands", std::move(operands)},
                               {"variants", std::move(variants)}});
      failed |= !put(name + ".cu", program->source);
    }
  }

  bool put(const std::string &name, llvm::StringRef content) {
    std::error_code error;
    llvm::raw_fd_ostream file(folder + "/" + name, error);
    if (error)
      llvm::errs() << folder << "/" << name << ": " << error.message() << "\n";
    else
      file << content;
    return !error;
  }

  std::string folder;
  EmitOptions options;
  Array kernels;
  bool failed = false;
};

} // namespace

int main(int count, char **arguments) {
  if (count < 2) {
    llvm::errs() << "usage: write-cuda-kernels FOLDER [MODEL…]\n";
    return 2;
  }
  llvm::SmallVector<llvm::StringRef> models(arguments + 2, arguments + count);
  if (models.empty())
    models = {"8b", "1b"};
  if (std::error_code error = llvm::sys::fs::create_directories(arguments[1])) {
    llvm::errs() << arguments[1] << ": " << error.message() << "\n";
    return 1;
  }
  using enum WeightFormat;
  Writer writer(arguments[1]);
  if (llvm::is_contained(models, "8b"))
    writer.writeModel(kModelShapes[0], {BF16, Fp8, Int8, Int4G64, Int4G128, Q4_K});
  if (llvm::is_contained(models, "1b"))
    writer.writeModel(kModelShapes[1], {BF16, Int4G64});
  if (llvm::is_contained(models, "moe"))
    writer.writeExperts(kExpertShape, {BF16, Fp8, Int4G64, Mxfp4});
  if (llvm::is_contained(models, "tiny"))
    writer.writeModel(kTiny, {Int4G64});
  return writer.finish() ? 0 : 1;
}

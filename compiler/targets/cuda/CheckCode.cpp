//===- CheckCode.cpp - See CheckCode.h ------------------------------------===//
#include "compiler/targets/cuda/CheckCode.h"
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/device/cuda/BatchImage.h"
#include "runtime/device/cuda/EmulatorDriver.h"
#include "runtime/device/cuda/StepShape.h"
#include "runtime/formats/FragmentLayout.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using kernel::RowKind;

namespace {

/// The bounds of ops on GPUs. The comments name the operations that cause a difference or exclude one.
constexpr CodeBound kBounds[] = {
    {"matmul", 4e-6},     // the order of sums; exp
    {"attention", 4e-3},  // queries, keys and weights of positions are bf16; exp2
    {"fp8_rows", 0},      // a quotient and a code
    {"argmax", 0},        // comparisons
    {"argmax_finish", 0}, // an integer
    {"draw_weigh", 0},    // its output is not compared
    {"draw_ids", 0},      // must equal the host's ids
};
/// Attention iterates over positions in chunks of 256, and projections over tokens in tiles of up to 128.
constexpr int64_t kLongestPrompt = 270;
/// The additional bound for a projection that computes the norm of its rows itself. A few values are then rounded the
/// other way.
constexpr double kOwnRows = 2e-4;
/// The additional bounds for projections with E4M3 rows. The values of these rows have relative errors of up to a
/// sixteenth, which partly cancel in a sum. A gate times the value that it gates has the errors of both factors. A sum
/// of such products has few large terms, so errors cancel less.
constexpr double kFp8Rows = 0.06, kFp8Pairs = 0.15;

class CodeOnEmulator : public CodeUnderCheck {
public:
  CodeOnEmulator(ModuleOp plan, const CodeOfArchitecture &code) : code(code) {
    builder.Finish(fb::CodeObject::Pack(builder, &code.variants));
    object = flatbuffers::GetRoot<fb::CodeObject>(builder.GetBufferPointer());
    sharing.shares = code.shared.shares, sharing.slots = code.shared.slots;
    for (auto [i, fn] : llvm::enumerate(code.kernels))
      indices[kernel::FuncOp(fn).getSymName()] = uint32_t(i);
    plan.walk([&](kernel::RopeAppendOp op) { normsHeads |= op.getQNorm() || op.getKNorm(); });
  }
  Result<void> load(int threads);

  std::string name() const override { return code.target; }
  size_t waysOf(kernel::FuncOp fn, const BatchView &batch) override {
    return waysOfKernel(fn, batch).size();
  }
  std::string nameOf(kernel::FuncOp fn, size_t way, const BatchView &batch) override;
  std::string run(kernel::FuncOp fn, size_t way, ArrayRef<Operand> operands,
                  const BatchView &batch) override;
  double allowed(kernel::FuncOp fn, size_t way, const BatchView &batch, double slack) override;
  int64_t longestPrompt() const override { return kLongestPrompt; }
  std::string textOf(kernel::FuncOp fn) override { return code.textOf(fn); }
  std::string extension() const override { return ".cu"; }

private:
  /// Variants that one step launches together.
  using Way = SmallVector<const fb::Variant *, 2>;
  std::vector<Way> waysOfKernel(kernel::FuncOp fn, const BatchView &batch) const;
  Result<void> launch(const fb::Variant &variant, const cuda::StepShape &shape,
                      ArrayRef<Operand> operands, kernel::FuncOp fn, const BatchView *view);

  const CodeOfArchitecture &code;
  flatbuffers::FlatBufferBuilder builder;
  const fb::CodeObject *object = nullptr;
  cuda::AttentionSplitting sharing;
  llvm::StringMap<uint32_t> indices; ///< by kernel
  bool normsHeads = false;
  std::unique_ptr<cuda::Driver> driver;
  cuda::Module module = nullptr;
};

} // namespace

Result<void> CodeOnEmulator::load(int threads) {
  cuda::EmulatorSetup setup;
  if (const auto target = runtime::gpuTargetNamed(code.target))
    setup.capability = target->capability;
  setup.workers = threads;
  auto opened = cuda::openEmulator(setup);
  if (!opened)
    return opened.error();
  driver = std::move(*opened);
  auto loaded =
      driver->load({reinterpret_cast<const std::byte *>(code.image.data()), code.image.size()},
                   "the check of code");
  if (!loaded)
    return loaded.error();
  module = *loaded;
  return {};
}

/// Returns the ways in which a step can launch the kernel. If the kernel has a variant for prompt tiles and one for
/// decoding tiles, a step launches both.
std::vector<CodeOnEmulator::Way> CodeOnEmulator::waysOfKernel(kernel::FuncOp fn,
                                                              const BatchView &batch) const {
  auto index = indices.find(fn.getSymName());
  if (index == indices.end())
    return {};
  const cuda::StepShape shape = cuda::StepShape::of(batch, sharing);
  auto holds = [](uint64_t most, uint64_t count) { return most == 0 || count <= most; };
  Way any, decoding, prompts;
  for (const fb::Variant *v : *object->variants()->Get(index->second)->variants())
    if (holds(v->max_tokens(), shape.tokens) && holds(v->max_rows(), shape.rows) &&
        holds(v->max_tile_tokens(), shape.tileTokens))
      (v->x()->base() == fb::GridBase::Shares        ? decoding
       : v->x()->base() == fb::GridBase::PromptTiles ? prompts
                                                     : any)
          .push_back(v);
  std::vector<Way> ways;
  for (const fb::Variant *v : any)
    ways.push_back({v});
  for (size_t i = 0; i < std::max(decoding.size(), prompts.size()); ++i) {
    Way &way = ways.emplace_back();
    for (const Way *kind : {&decoding, &prompts})
      if (!kind->empty())
        way.push_back((*kind)[std::min(i, kind->size() - 1)]);
  }
  return ways;
}

std::string CodeOnEmulator::nameOf(kernel::FuncOp fn, size_t way, const BatchView &batch) {
  std::string names;
  const Way taken = waysOfKernel(fn, batch)[way];
  for (const fb::Variant *v : taken)
    names += (names.empty() ? "" : ", ") + v->symbol()->str();
  return names == fn.getSymName() ? "" : names;
}

Result<void> CodeOnEmulator::launch(const fb::Variant &variant, const cuda::StepShape &shape,
                                    ArrayRef<Operand> operands, kernel::FuncOp fn,
                                    const BatchView *view) {
  auto how = cuda::launchOf(variant, shape);
  if (!how)
    return Error{ExitCode::Device, "E0719", "its grid is larger than a GPU supports", "", ""};
  if (how->grid[0] == 0 || how->grid[1] == 0 || how->grid[2] == 0)
    return {};
  how->overlap = false; // there is no other launch to overlap with
  auto kernel = driver->find(module, variant.symbol()->str(), variant.shared_bytes());
  if (!kernel)
    return kernel.error();
  std::vector<const void *> values;
  for (const Operand &operand : operands)
    values.push_back(operand.memory);
  values.push_back(view);
  std::vector<void *> arguments;
  for (const void *&value : values)
    arguments.push_back(&value);
  std::vector<cuda::TensorMap> maps;
  for (unsigned i = 0; variant.tensor_maps() && i < variant.tensor_maps()->size(); ++i) {
    const fb::TensorMap &map = *variant.tensor_maps()->Get(i);
    const Operand &of = operands[map.operand()];
    auto type = cast<kernel::ActivationType>(fn.getArgumentTypes()[map.operand()]);
    cuda::TensorRows rows{};
    rows.base = reinterpret_cast<cuda::Address>(of.memory);
    rows.bf16 = map.element() == fb::TensorElement::BF16;
    rows.columns = uint64_t(type.rowBytes()) / (rows.bf16 ? 2 : 1);
    rows.rows = uint64_t(of.bytes / type.rowBytes());
    rows.boxColumns = map.box_columns(), rows.boxRows = map.box_rows();
    rows.swizzle = map.swizzle();
    auto described = driver->describe(rows);
    if (!described)
      return described.error();
    maps.push_back(*described);
  }
  for (cuda::TensorMap &map : maps)
    arguments.push_back(&map);
  if (auto ok = driver->launch(*kernel, *how, arguments.data()); !ok)
    return ok;
  return driver->wait();
}

std::string CodeOnEmulator::run(kernel::FuncOp fn, size_t way, ArrayRef<Operand> operands,
                                const BatchView &batch) {
  constexpr size_t kLine = 256, kImage = 64 << 10; // enough for about forty tokens
  std::unique_ptr<std::byte, decltype(&std::free)> image(
      static_cast<std::byte *>(std::aligned_alloc(kLine, kImage)), std::free);
  const auto address = reinterpret_cast<cuda::Address>(image.get());
  if (!cuda::packBatch(batch, sharing, address, {image.get(), kImage}))
    return "its step is too large for the check";
  const auto *view = reinterpret_cast<const BatchView *>(image.get());
  const cuda::StepShape shape = cuda::StepShape::of(batch, sharing);
  const Way taken = waysOfKernel(fn, batch)[way];
  for (const fb::Variant *variant : taken)
    if (auto ok = launch(*variant, shape, operands, fn, view); !ok)
      return ok.error().what + (ok.error().why.empty() ? "" : ": " + ok.error().why);
  return "";
}

double CodeOnEmulator::allowed(kernel::FuncOp fn, size_t way, const BatchView &batch,
                               double slack) {
  const double bound = boundOf(fn, kBounds);
  if (isa<kernel::AttentionOp>(fn.anchor()))
    return slack * (bound + (normsHeads ? kRoundedKeys : 0));
  auto matmul = dyn_cast<kernel::MatmulOp>(fn.anchor());
  if (!matmul)
    return slack * bound;
  const Way taken = waysOfKernel(fn, batch)[way];
  const bool fp8 = llvm::any_of(taken, [](const fb::Variant *v) {
    return v->symbol()->string_view().ends_with("_wgmma_fp8");
  });
  return slack * bound + (isa<BlockArgument>(matmul.getX()) ? 0 : kOwnRows) +
         (!fp8                ? 0
          : matmul.getGated() ? kFp8Pairs
                              : kFp8Rows);
}

Result<CodeAgreement> compiler::checkOnEmulator(ModuleOp plan, const CodeOfArchitecture &code,
                                                int threads, double slack) {
  CodeOnEmulator own(plan, code);
  if (auto ok = own.load(threads); !ok)
    return ok.error();
  auto found = checkKernels(plan, {&own}, slack);
  if (!found)
    return found.error();
  return std::move(found->front());
}

//===- VerifyGpu.cpp - Modules and variants of GPU code --------------------===//
//
// The driver checks the contents of a module. This file checks the rest: the places of modules, that each
// module is of the kind that its target needs and contains the names of its functions, and that there is a
// variant for every step, with a grid that can be launched.
//===----------------------------------------------------------------------===//
#include "runtime/abi/Batch.h"
#include "runtime/engine/GpuTarget.h"
#include "runtime/engine/Verify.h"
#include "runtime/formats/NumericFormat.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace ingot::runtime {
namespace {

using std::to_string;

constexpr uint64_t kMostFactor = uint64_t(1) << 40; ///< same limit as for a CPU grid
constexpr uint32_t kMostThreads = 1024;             ///< per block, on every GPU
constexpr uint32_t kMostShared = 232448;            ///< after opt-in, on the GPUs that have most
                                                    ///< (9.0)
constexpr uint32_t kMostVariants = 64;              ///< per kernel
constexpr uint32_t kMostCluster = 8;                ///< in blocks, on every GPU that has clusters
constexpr uint32_t kMostTensorMaps = 8;             ///< per variant
constexpr int kLeastTensorMaps = 90;                ///< first capability that has them, and
                                                    ///< clusters
constexpr uint32_t kMostSlots = 1 << 20;            ///< of attention: KV chunks, 2^28 positions
constexpr uint16_t kElfX86 = 62, kElfCuda = 190;

class GpuVerifier {
public:
  GpuVerifier(std::span<const std::byte> segment, const fb::Program &program,
              const fb::CodeObject &code, const std::string &name)
      : segment(segment), program(program), code(code), name(name), target(code.target()->str()) {}

  Result<void> verify() {
    if (program.attention_shares() > kMostSplits || program.attention_slots() > kMostSlots)
      return bad("E0817", to_string(program.attention_shares()) + " shares of attention and " +
                              to_string(program.attention_slots()) + " slots for them");
    if (Result<void> ok = modules(); !ok)
      return ok;
    if (Result<void> ok = variants(); !ok)
      return ok;
    return seedFills();
  }

private:
  Error bad(const char *number, const std::string &why) const {
    return damaged(number, name, "code for '" + target + "': " + why);
  }

  Result<void> modules();
  bool isOfTarget(std::span<const std::byte> module) const;
  Result<void> variants();
  Result<void> variant(const fb::Variant &variant, const std::string &label);
  Result<void> guards(const fb::KernelVariants &list, const std::string &label);
  Result<void> seedFills();
  Result<void> tensorMaps(const fb::Variant &variant, unsigned kernel, const std::string &label);
  bool isRows(unsigned kernel, uint32_t operand, uint32_t ofUnit) const;

  std::span<const std::byte> moduleBytes(uint32_t index) const {
    const fb::Module *module = code.modules()->Get(index);
    return segment.subspan(module->offset(), module->size());
  }

  std::span<const std::byte> segment;
  const fb::Program &program;
  const fb::CodeObject &code;
  const std::string &name;
  std::string target;
};

bool GpuVerifier::isOfTarget(std::span<const std::byte> module) const {
  if (gpuTargetNamed(target)->kind == GpuTarget::Kind::Ptx) {
    // PTX is text. The driver reads it up to a zero byte, which must be at its end.
    std::string_view text(reinterpret_cast<const char *>(module.data()), module.size());
    return text.find('\0') == text.size() - 1 && text.find(".version") != text.npos;
  }
  uint16_t machine;
  if (module.size() < 64 || std::memcmp(module.data(),
                                        "\x7f"
                                        "ELF\x02\x01",
                                        6) != 0)
    return false;
  std::memcpy(&machine, module.data() + 18, sizeof machine);
  return machine == (gpuTargetNamed(target)->kind == GpuTarget::Kind::Cubin ? kElfCuda : kElfX86);
}

Result<void> GpuVerifier::modules() {
  if (!code.modules() || code.modules()->size() == 0)
    return bad("E0802", "it has no modules");
  if (code.kernel_symbols()->size() != 0)
    return bad("E0804", "symbols of CPU code");
  uint64_t end = 0;
  for (unsigned i = 0; i < code.modules()->size(); ++i) {
    const fb::Module *module = code.modules()->Get(i);
    if (module->offset() % 64 != 0 || module->offset() < end || module->size() == 0 ||
        module->offset() > segment.size() || module->size() > segment.size() - module->offset())
      return bad("E0802", "module " + to_string(i) + " of " + to_string(module->size()) +
                              " bytes at " + to_string(module->offset()) +
                              " is misplaced in a segment of " + to_string(segment.size()));
    end = module->offset() + module->size();
    if (!isOfTarget(moduleBytes(i)))
      return bad("E0803", "module " + to_string(i) + " has an unknown kind");
  }
  return {};
}

static bool isName(std::string_view s) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !s.empty() && letter(s[0]) && std::all_of(s.begin(), s.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9');
  });
}

/// Returns whether the module contains the name as a whole word: in a string table, or after `.entry`.
static bool mentions(std::span<const std::byte> module, std::string_view symbol) {
  std::string_view text(reinterpret_cast<const char *>(module.data()), module.size());
  auto inName = [&](size_t at) {
    return at < text.size() && (isName(text.substr(at, 1)) || (text[at] >= '0' && text[at] <= '9'));
  };
  for (size_t from = 0; from < text.size();) {
    const void *found =
        ::memmem(text.data() + from, text.size() - from, symbol.data(), symbol.size());
    if (!found)
      return false;
    size_t at = size_t(static_cast<const char *>(found) - text.data());
    if (at > 0 && !inName(at - 1) && !inName(at + symbol.size()))
      return true;
    from = at + 1;
  }
  return false;
}

/// Returns whether the variant handles only one kind of tile: prompt tiles or decode tiles.
static bool isByKind(const fb::Variant &v) {
  return v.x()->base() == fb::GridBase::Shares || v.x()->base() == fb::GridBase::PromptTiles;
}

Result<void> GpuVerifier::variant(const fb::Variant &v, const std::string &label) {
  if (v.module_() >= code.modules()->size())
    return bad("E0805", label + "module " + to_string(v.module_()) + " of " +
                            to_string(code.modules()->size()));
  std::string_view symbol = v.symbol()->string_view();
  if (!isName(symbol) || !mentions(moduleBytes(v.module_()), symbol))
    return bad("E0806", label + "its module has no function '" + std::string(symbol) + "'");
  for (const fb::Extent *extent : {v.x(), v.y(), v.z()})
    if (extent->base() > (extent == v.x() ? fb::GridBase::MAX : fb::GridBase::Tiles) ||
        extent->divide() == 0 || extent->multiply() == 0 || extent->multiply() > kMostFactor ||
        extent->divide() > kMostFactor)
      return bad("E0807", label + "a grid of base " + to_string(int(extent->base())) + " times " +
                              to_string(extent->multiply()) + " by " + to_string(extent->divide()));
  if (v.threads() == 0 || v.threads() > kMostThreads || v.threads() % 32 != 0 ||
      v.shared_bytes() > kMostShared)
    return bad("E0808", label + to_string(v.threads()) + " threads with " +
                            to_string(v.shared_bytes()) + " bytes of shared memory");
  bool fits = gpuTargetNamed(target)->capability >= kLeastTensorMaps || v.cluster() <= 1;
  if (v.cluster() > kMostCluster || !fits)
    return bad("E0811", label + "clusters of " + to_string(v.cluster()) + " blocks");
  return {};
}

/// Whether, in every launch of the kernel, the operand is a buffer of `ofUnit` rows per unit, each a
/// multiple of 64 bytes.
bool GpuVerifier::isRows(unsigned kernel, uint32_t operand, uint32_t ofUnit) const {
  const auto &buffers = *program.buffers();
  auto isRow = [&](const fb::Launch &launch) {
    if (!launch.args() || operand >= launch.args()->size())
      return false;
    const fb::Arg *arg = launch.args()->Get(operand);
    return arg->kind() == fb::ArgKind::Buffer && arg->index() < buffers.size() &&
           buffers[arg->index()]->class_() != fb::BufferClass::Fixed && ofUnit > 0 &&
           buffers[arg->index()]->per_unit() % (uint64_t(ofUnit) * 64) == 0;
  };
  for (const fb::Section *section : *program.sections())
    for (const fb::Case *one : *section->cases())
      for (const fb::Launch *launch : *one->launches())
        if (launch->kernel() == kernel && !isRow(*launch))
          return false;
  return operand < program.kernels()->Get(kernel)->args();
}

/// Checks the limits of TMA ("CUDA Driver API", cuTensorMapEncodeTiled). Rows are a multiple of 64 bytes
/// long and 64-byte aligned, as all buffers are.
Result<void> GpuVerifier::tensorMaps(const fb::Variant &v, unsigned kernel,
                                     const std::string &label) {
  if (!v.tensor_maps())
    return {};
  if (v.tensor_maps()->size() > kMostTensorMaps ||
      gpuTargetNamed(target)->capability < kLeastTensorMaps)
    return bad("E0812", label + to_string(v.tensor_maps()->size()) + " tensor maps");
  for (const fb::TensorMap *map : *v.tensor_maps()) {
    uint64_t rowBytes =
        uint64_t(map->box_columns()) * (map->element() == fb::TensorElement::BF16 ? 2 : 1);
    if (map->element() > fb::TensorElement::MAX || map->box_rows() == 0 || map->box_rows() > 256 ||
        map->box_columns() == 0 || map->box_columns() > 256 || rowBytes % 16 != 0 ||
        (map->swizzle() && rowBytes > 128))
      return bad("E0812", label + "a tensor map with boxes of " + to_string(map->box_rows()) +
                              " rows of " + to_string(map->box_columns()) + " elements of type " +
                              to_string(int(map->element())));
    if (!isRows(kernel, map->operand(), map->unit_rows()))
      return bad("E0812", label + "operand " + to_string(map->operand()) +
                              " has a tensor map but is not a buffer of " +
                              to_string(map->unit_rows()) + " rows per unit");
  }
  return {};
}

/// Checks that the last variant covers all remaining steps, and that each variant covers steps that
/// earlier ones do not. If a kernel has variants for prompt tiles and for decode tiles, both must hold
/// among the variants of each kind.
Result<void> GpuVerifier::guards(const fb::KernelVariants &list, const std::string &label) {
  auto limit = [](uint64_t most) { return most ? most : UINT64_MAX; };
  const auto &all = *list.variants();
  const bool byKind = std::any_of(all.begin(), all.end(), [](auto *v) { return isByKind(*v); });
  auto kindOf = [&](const fb::Variant *v) { return byKind ? v->x()->base() : fb::GridBase::MIN; };
  std::map<fb::GridBase, const fb::Variant *> lastOf;
  for (const fb::Variant *v : all)
    lastOf[kindOf(v)] = v;
  if (byKind && (lastOf.size() != 2 || !lastOf.count(fb::GridBase::Shares) ||
                 !lastOf.count(fb::GridBase::PromptTiles)))
    return bad("E0809",
               label + "variants must be for both kinds of attention tiles, and for nothing else");
  for (unsigned i = 0; i < all.size(); ++i)
    for (unsigned before = 0; before < i; ++before)
      if (kindOf(all[i]) == kindOf(all[before]) &&
          limit(all[i]->max_tokens()) <= limit(all[before]->max_tokens()) &&
          limit(all[i]->max_rows()) <= limit(all[before]->max_rows()) &&
          limit(all[i]->max_tile_tokens()) <= limit(all[before]->max_tile_tokens()))
        return bad("E0809", label + "variant " + to_string(i) + " is never used: variant " +
                                to_string(before) + " covers all of its steps");
  for (auto [kind, last] : lastOf)
    if (last->max_tokens() != 0 || last->max_rows() != 0 || last->max_tile_tokens() != 0)
      return bad("E0809", label + "no variant for steps beyond " + to_string(last->max_tokens()) +
                              " tokens, " + to_string(last->max_rows()) + " rows and tiles of " +
                              to_string(last->max_tile_tokens()));
  return {};
}

Result<void> GpuVerifier::variants() {
  unsigned kernels = program.kernels()->size();
  unsigned lists = code.variants() ? code.variants()->size() : 0;
  if (lists != kernels)
    return bad("E0804", "variants of " + to_string(lists) + " kernels for " + to_string(kernels));
  for (unsigned k = 0; k < kernels; ++k) {
    const fb::KernelVariants *list = code.variants()->Get(k);
    std::string label = "kernel '" + program.kernels()->Get(k)->name()->str() + "': ";
    if (list->variants()->size() > kMostVariants)
      return bad("E0804", label + to_string(list->variants()->size()) + " variants");
    for (const fb::Variant *v : *list->variants()) {
      if (Result<void> ok = variant(*v, label); !ok)
        return ok;
      if (Result<void> ok = tensorMaps(*v, k, label); !ok)
        return ok;
    }
    if (Result<void> ok = guards(*list, label); !ok)
      return ok;
  }
  return {};
}

/// Checks that there is at most one fill kernel per format, and that each can be launched.
Result<void> GpuVerifier::seedFills() {
  std::set<std::string_view> seen;
  for (unsigned i = 0; code.seed_fills() && i < code.seed_fills()->size(); ++i) {
    const fb::SeedFill *fill = code.seed_fills()->Get(i);
    std::string_view format = fill->format()->string_view();
    if (!weightFormatNamed(format) || !seen.insert(format).second)
      return bad("E0813", "a weight fill for '" + std::string(format) +
                              "', which is an unknown format or a duplicate");
    if (Result<void> ok = variant(*fill->variant(), "fill of " + std::string(format) + ": "); !ok)
      return ok;
  }
  return {};
}

} // namespace

Result<void> verifyGpuCode(std::span<const std::byte> segment, const fb::Program &program,
                           const fb::CodeObject &code, const std::string &name) {
  return GpuVerifier(segment, program, code, name).verify();
}

} // namespace ingot::runtime

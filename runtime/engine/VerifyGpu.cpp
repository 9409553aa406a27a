//===- VerifyGpu.cpp - Modules and variants of GPU code --------------------===//
//
// A driver checks what is inside a module; what is checked here is everything that ingot
// computes with: where modules lie, that each is of the kind its target says and names its
// functions, and that every step finds a variant with a grid that can be launched.
//===----------------------------------------------------------------------===//
#include "runtime/engine/GpuTarget.h"
#include "runtime/engine/Verify.h"

#include <algorithm>
#include <cstring>

namespace ingot::runtime {
namespace {

using std::to_string;

constexpr uint64_t kMostFactor = uint64_t(1) << 40; ///< as of a CPU grid
constexpr uint32_t kMostThreads = 1024;             ///< of a block, on every GPU
constexpr uint32_t kMostShared = 232448;            ///< opt-in, of the GPUs that have most (9.0)
constexpr uint32_t kMostVariants = 64;              ///< of a kernel
constexpr uint16_t kElfX86 = 62, kElfCuda = 190;

class GpuVerifier {
public:
  GpuVerifier(std::span<const std::byte> segment, const fb::Engine &program,
              const fb::CodeObject &code, const std::string &name)
      : segment(segment), program(program), code(code), name(name), target(code.target()->str()) {}

  Result<void> verify() {
    if (Result<void> ok = modules(); !ok)
      return ok;
    return variants();
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

  std::span<const std::byte> moduleBytes(uint32_t index) const {
    const fb::Module *module = code.modules()->Get(index);
    return segment.subspan(module->offset(), module->size());
  }

  std::span<const std::byte> segment;
  const fb::Engine &program;
  const fb::CodeObject &code;
  const std::string &name;
  std::string target;
};

bool GpuVerifier::isOfTarget(std::span<const std::byte> module) const {
  if (gpuTargetNamed(target)->kind == GpuTarget::Kind::Ptx) {
    // Text that ends in a zero byte: that is how the driver finds its end.
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
      return bad("E0803", "module " + to_string(i) + " is something else");
  }
  return {};
}

static bool isName(std::string_view s) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !s.empty() && letter(s[0]) && std::all_of(s.begin(), s.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9');
  });
}

/// The name as a whole word: in a table of strings, or behind `.entry`.
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

Result<void> GpuVerifier::variant(const fb::Variant &v, const std::string &label) {
  if (v.module_() >= code.modules()->size())
    return bad("E0805", label + "module " + to_string(v.module_()) + " of " +
                            to_string(code.modules()->size()));
  std::string_view symbol = v.symbol()->string_view();
  if (!isName(symbol) || !mentions(moduleBytes(v.module_()), symbol))
    return bad("E0806", label + "its module has no function '" + std::string(symbol) + "'");
  for (const fb::Extent *extent : {v.x(), v.y(), v.z()})
    // A constant 0: a variant that does nothing (of a launch that only prepares another's variant).
    if (extent->base() > fb::GridBase::MAX || extent->divide() == 0 ||
        (extent->multiply() == 0 && extent->base() != fb::GridBase::Constant) ||
        extent->multiply() > kMostFactor || extent->divide() > kMostFactor)
      return bad("E0807", label + "a grid of base " + to_string(int(extent->base())) + " times " +
                              to_string(extent->multiply()) + " by " + to_string(extent->divide()));
  if (v.threads() == 0 || v.threads() > kMostThreads || v.threads() % 32 != 0 ||
      v.shared_bytes() > kMostShared)
    return bad("E0808", label + to_string(v.threads()) + " threads with " +
                            to_string(v.shared_bytes()) + " bytes of shared memory");
  return {};
}

/// The last variant takes what is left, and each one takes something that those before do not.
Result<void> GpuVerifier::guards(const fb::KernelVariants &list, const std::string &label) {
  auto limit = [](uint64_t most) { return most ? most : UINT64_MAX; };
  const auto &all = *list.variants();
  for (unsigned i = 0; i < all.size(); ++i)
    for (unsigned before = 0; before < i; ++before)
      if (limit(all[i]->max_tokens()) <= limit(all[before]->max_tokens()) &&
          limit(all[i]->max_rows()) <= limit(all[before]->max_rows()) &&
          limit(all[i]->max_tile_tokens()) <= limit(all[before]->max_tile_tokens()))
        return bad("E0809", label + "variant " + to_string(i) + " is never used: variant " +
                                to_string(before) + " takes all of its steps");
  const fb::Variant *last = all[all.size() - 1];
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
    if (list->variants()->size() == 0 || list->variants()->size() > kMostVariants)
      return bad("E0804", label + to_string(list->variants()->size()) + " variants");
    for (const fb::Variant *v : *list->variants())
      if (Result<void> ok = variant(*v, label); !ok)
        return ok;
    if (Result<void> ok = guards(*list, label); !ok)
      return ok;
  }
  return {};
}

} // namespace

Result<void> verifyGpuCode(std::span<const std::byte> segment, const fb::Engine &program,
                           const fb::CodeObject &code, const std::string &name) {
  return GpuVerifier(segment, program, code, name).verify();
}

} // namespace ingot::runtime

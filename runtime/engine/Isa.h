//===- Isa.h - CPU levels and which code object fits this machine ---------===//
//
//   cpu:avx2     x86-64-v3
//   cpu:avx512   x86-64-v4 with AVX512-VNNI and AVX512-BF16
//
// An engine carries one code object per level it was built for. Each level reads
// the same weights; results are bit-equal within a level (`--isa` pins one).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/schema/engine_generated.h"

#include <optional>
#include <string>
#include <string_view>

namespace ingot::runtime {

enum class IsaLevel : uint8_t { Avx2, Avx512 }; ///< the later, the better
constexpr int kIsaLevelCount = 2;

/// "cpu:avx2", as in the table and after --target.
std::string_view isaTarget(IsaLevel level);
/// "avx2", as after --isa.
std::string_view isaName(IsaLevel level);
/// The level of "avx2", "cpu:avx2", …
std::optional<IsaLevel> isaNamed(std::string_view name);

/// What a CPU, with its operating system, can run.
struct CpuFeatures {
  bool avx2 = false, avx512 = false; ///< whole levels, not single extensions
  std::string name;                  ///< "AMD EPYC 9355"; for messages

  bool has(IsaLevel level) const { return level == IsaLevel::Avx2 ? avx2 : avx512; }
};
CpuFeatures hostCpu();

/// The index into `engine.code()` of the best level that `cpu` runs, or of `wanted`.
/// Errors, exit 3: E0381 nothing fits this CPU, E0382 the engine lacks `wanted`, E0383 the
/// CPU lacks `wanted`; each says what was built, what is here and how to rebuild.
Result<size_t> pickCode(const fb::Program &program, const CpuFeatures &cpu,
                        std::optional<IsaLevel> wanted = std::nullopt);

} // namespace ingot::runtime

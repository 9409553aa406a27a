//===- Isa.h - CPU levels and which code object fits this machine ---------===//
//
//   cpu:avx2         x86-64-v3
//   cpu:avxvnni      x86-64-v3 with AVX-VNNI (Alder Lake and later)
//   cpu:avx512vnni   x86-64-v4 with AVX512-VNNI (Cascade Lake, Ice Lake)
//   cpu:avx512       x86-64-v4 with AVX512-VNNI and AVX512-BF16 (Zen 4, Sapphire Rapids)
//
// An engine carries one code object per level it was built for. Each level reads
// the same weights; results are bit-equal within a level (`--isa` pins one). A new level is a row
// of the table in Isa.cpp and one in codegen/cpu/Isa.cpp (docs/extending.md).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/schema/engine_generated.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ingot::runtime {

enum class IsaLevel : uint8_t { Avx2, AvxVnni, Avx512Vnni, Avx512 }; ///< the later, the better
constexpr int kIsaLevelCount = 4;

/// All levels, the worst first.
std::span<const IsaLevel> isaLevels();

/// "cpu:avx2", as in the table and after --target.
std::string_view isaTarget(IsaLevel level);
/// "avx2", as after --isa.
std::string_view isaName(IsaLevel level);
/// The level of "avx2", "cpu:avx2", …
std::optional<IsaLevel> isaNamed(std::string_view name);
/// "avx2, avxvnni, avx512vnni and avx512"; of other words before the last.
std::string isaNames(std::string_view word);

/// What a CPU, with its operating system, can run.
struct CpuFeatures {
  bool levels[kIsaLevelCount] = {}; ///< whole levels, not single extensions
  std::string name;                 ///< "AMD EPYC 9355"; for messages

  bool has(IsaLevel level) const { return levels[int(level)]; }
  /// Nothing: it has not even AVX2.
  std::optional<IsaLevel> best() const;
  /// "avx2 and avx512"; "no level" where there is none.
  std::string names() const;
};
CpuFeatures hostCpu();

/// The index into `engine.code()` of the best level that `cpu` runs, or of `wanted`.
/// Errors, exit 3: E0381 nothing fits this CPU, E0382 the engine lacks `wanted`, E0383 the
/// CPU lacks `wanted`; each says what was built, what is here and how to rebuild.
Result<size_t> pickCode(const fb::Program &program, const CpuFeatures &cpu,
                        std::optional<IsaLevel> wanted = std::nullopt);

} // namespace ingot::runtime

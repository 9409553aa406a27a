//===- Isa.h - CPU levels, and the code object for this machine -----------===//
//
//   cpu:avx2         x86-64-v3
//   cpu:avxvnni      x86-64-v3 with AVX-VNNI (Alder Lake and later)
//   cpu:avx512vnni   x86-64-v4 with AVX512-VNNI (Cascade Lake, Ice Lake)
//   cpu:avx512       x86-64-v4 with AVX512-VNNI and AVX512-BF16 (Zen 4, Sapphire Rapids)
//   cpu:amx          the same with AMX-BF16 (Sapphire Rapids)
//
// An engine carries one code object for each level that it was built for. All levels read the same
// weights; results are bit-equal within a level (`--isa` pins one). A new level needs a row in the
// table in Isa.cpp and one in codegen/cpu/Isa.cpp (docs/extending.md).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/schema/engine_generated.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ingot::runtime {

enum class IsaLevel : uint8_t { Avx2, AvxVnni, Avx512Vnni, Avx512, Amx }; ///< from worst to best
constexpr int kIsaLevelCount = 5;

/// Returns all levels, from worst to best.
std::span<const IsaLevel> isaLevels();

/// "cpu:avx2", as in the table and as given to --target.
std::string_view isaTarget(IsaLevel level);
/// "avx2", as given to --isa.
std::string_view isaName(IsaLevel level);
/// Returns the level of "avx2", "cpu:avx2", …
std::optional<IsaLevel> isaLevelNamed(std::string_view name);
/// "avx2, avxvnni, avx512vnni, avx512 and amx"; `word` replaces "and".
std::string isaNames(std::string_view word);

/// The levels that a CPU, with its operating system, can run.
struct CpuFeatures {
  bool levels[kIsaLevelCount] = {}; ///< whole levels, not single extensions
  std::string name;                 ///< "AMD EPYC 9355"; for messages

  bool has(IsaLevel level) const { return levels[int(level)]; }
  /// Nullopt if the CPU lacks even AVX2.
  std::optional<IsaLevel> best() const;
  /// "avx2 and avx512"; "no level" if there is none.
  std::string names() const;
};
/// Returns the levels of this machine. Linux lets a process use AMX only on request, so this requests it, for all
/// threads.
CpuFeatures hostCpu();

/// Returns the index in `program.code()` of the code for `wanted` or, without it, for the best level that
/// `cpu` supports. Errors, exit code 3: E0381 no code fits this CPU; E0382 the engine lacks `wanted`;
/// E0383 the CPU lacks `wanted`. Each message lists the levels of the engine and of the CPU, and what to do.
Result<size_t> pickCode(const fb::Program &program, const CpuFeatures &cpu,
                        std::optional<IsaLevel> wanted = std::nullopt);

} // namespace ingot::runtime

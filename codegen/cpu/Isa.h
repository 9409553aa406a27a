//===- Isa.h - The x86 ISA levels that kernels are built for --------------===//
//
//   avx2         x86-64-v3: 16 registers of 8 lanes; u8 x s8 through vpmaddubsw
//   avxvnni      the same with vpdpbusd
//   avx512vnni   x86-64-v4: 32 registers of 16 lanes; vpdpbusd
//   avx512       the same with vdpbf16ps, and VBMI's byte permutes
//   amx          the same with AMX tiles for bf16
//
// avxvnni and avx512vnni compute the same bits as avx2. avx512 and amx differ where bf16 matrices are multiplied.
// Generators choose instructions only by this table, since the machine that compiles need not be one
// that runs the kernels.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/schedule/Machine.h"

#include <span>

namespace ingot::codegen::cpu {

/// Specifies how the target multiplies u8 by s8 and sums products into int32 lanes.
enum class DotKind : uint8_t { Vpdpbusd, Pmaddubsw };

/// A tile register of AMX holds this many tokens by this many values of K, or these values of K by 16 rows.
constexpr int64_t kAmxTokens = 16, kAmxK = 32;

struct Isa {
  std::string_view name;     ///< "avx2", as after --isa
  const char *cpu;           ///< LLVM's CPU name
  const char *features = ""; ///< LLVM features beyond the features of `cpu`
  int lanes;                 ///< f32 or i32 lanes of a vector register
  int registers;             ///< vector registers
  /// The level has enough registers for matmul tiles that cover all rows of a panel. At other levels, tiles with more
  /// tokens cover fewer rows.
  bool coversPanel = false;
  DotKind dot;
  bool bf16Dot = false;   ///< has vdpbf16ps
  bool vbmi = false;      ///< has vpermb, vpermi2b and vpmultishiftqb
  bool amx = false;       ///< has tdpbf16ps
  const Machine *machine; ///< the machine that schedules are chosen for
  /// Instructions are emulated in generic IR, to test a level on machines that lack it.
  bool emulated = false;
};

inline constexpr Isa kAvx2{.name = "avx2",
                           .cpu = "x86-64-v3",
                           .lanes = 8,
                           .registers = 16,
                           .dot = DotKind::Pmaddubsw,
                           .machine = &kV3};
inline constexpr Isa kAvxVnni{.name = "avxvnni",
                              .cpu = "x86-64-v3",
                              .features = "+avxvnni",
                              .lanes = 8,
                              .registers = 16,
                              .dot = DotKind::Vpdpbusd,
                              .machine = &kV3};
inline constexpr Isa kAvx512Vnni{.name = "avx512vnni",
                                 .cpu = "x86-64-v4",
                                 .features = "+avx512vnni",
                                 .lanes = 16,
                                 .registers = 32,
                                 .coversPanel = true,
                                 .dot = DotKind::Vpdpbusd,
                                 .machine = &kIceLake};
inline constexpr Isa kAvx512{.name = "avx512",
                             .cpu = "x86-64-v4",
                             .features = "+avx512vnni,+avx512bf16,+avx512vbmi",
                             .lanes = 16,
                             .registers = 32,
                             .coversPanel = true,
                             .dot = DotKind::Vpdpbusd,
                             .bf16Dot = true,
                             .vbmi = true,
                             .machine = &kZen5};

inline constexpr Isa kAmx = [] {
  Isa isa = kAvx512;
  isa.name = "amx";
  isa.features = "+avx512vnni,+avx512bf16,+avx512vbmi,+amx-tile,+amx-bf16";
  isa.amx = true;
  isa.machine = &kSapphireRapids;
  return isa;
}();

/// Returns all levels.
std::span<const Isa *const> allIsas();
/// Returns the level of that name, or nullptr if there is none.
const Isa *isaNamed(std::string_view name);

} // namespace ingot::codegen::cpu

//===- Isa.h - The x86 ISA levels that kernels are built for --------------===//
//
//   avx2         x86-64-v3: 16 registers of 8 lanes; u8 x s8 through vpmaddubsw
//   avxvnni      the same with vpdpbusd
//   avx512vnni   x86-64-v4: 32 registers of 16 lanes; vpdpbusd
//   avx512       the same with vdpbf16ps, and VBMI's byte permutes
//
// avxvnni and avx512vnni compute the same bits as avx2. avx512 differs where bf16 matrices are multiplied.
// Generators choose instructions by this table alone, since the machine that compiles need not be one
// that runs the kernels.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/schedule/Machine.h"

#include <span>

namespace ingot::cpu {

/// How the target multiplies u8 by s8 and sums products into int32 lanes.
enum class DotKind : uint8_t { Vpdpbusd, Pmaddubsw };

struct Isa {
  std::string_view name; ///< "avx2", as after --isa
  const char *cpu;       ///< LLVM's CPU name
  const char *features;  ///< LLVM features beyond those of `cpu`
  int lanes;             ///< f32 or i32 lanes of a vector register
  int registers;         ///< vector registers
  DotKind dot;
  bool bf16Dot;           ///< has vdpbf16ps
  bool vbmi;              ///< has vpermb, vpermi2b and vpmultishiftqb
  const Machine *machine; ///< the machine that schedules are chosen for
  /// Instructions are emulated in generic IR, to test a level on machines that lack it.
  bool emulated = false;
};

inline constexpr Isa kAvx2{"avx2", "x86-64-v3", "", 8, 16, DotKind::Pmaddubsw, false, false, &kV3};
inline constexpr Isa kAvxVnni{"avxvnni",         "x86-64-v3", "+avxvnni", 8,   16,
                              DotKind::Vpdpbusd, false,       false,      &kV3};
inline constexpr Isa kAvx512Vnni{"avx512vnni",      "x86-64-v4", "+avx512vnni", 16,       32,
                                 DotKind::Vpdpbusd, false,       false,         &kIceLake};
inline constexpr Isa kAvx512{"avx512", "x86-64-v4", "+avx512vnni,+avx512bf16,+avx512vbmi",
                             16,       32,          DotKind::Vpdpbusd,
                             true,     true,        &kZen5};

/// All levels.
std::span<const Isa *const> allIsas();
/// Returns the level of that name, or nullptr if there is none.
const Isa *isaNamed(std::string_view name);

} // namespace ingot::cpu

//===- Isa.h - The levels of x86 that kernels are built for ---------------===//
//
//   avx2     x86-64-v3: 16 registers of 8 lanes; u8 x s8 through vpmaddubsw
//   avx512   x86-64-v4 + VNNI + BF16: 32 registers of 16 lanes; u8 x s8 through vpdpbusd
//
// A generator asks this table what it can use and nothing else: the machine that
// compiles need not be one that runs the kernels.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string_view>

namespace ingot::cpu {

/// How the target multiplies u8 by s8 and sums products into int32 lanes.
enum class DotKind : uint8_t { Vpdpbusd, Pmaddubsw };

struct Isa {
  std::string_view name; ///< "avx2", as after --isa
  const char *cpu;       ///< of LLVM
  const char *features;  ///< of LLVM, beyond those of `cpu`
  int lanes;             ///< f32 or i32 lanes of a vector register
  int registers;         ///< vector registers
  DotKind dot;
  bool bf16Dot; ///< has vdpbf16ps
};

inline constexpr Isa kAvx2{"avx2", "x86-64-v3", "", 8, 16, DotKind::Pmaddubsw, false};
inline constexpr Isa kAvx512{"avx512",          "x86-64-v4", "+avx512vnni,+avx512bf16", 16, 32,
                             DotKind::Vpdpbusd, true};

/// The level of that name; nullptr if there is none.
const Isa *isaNamed(std::string_view name);

} // namespace ingot::cpu

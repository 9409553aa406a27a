//===- Machine.h - What the cost model believes of a CPU ------------------===//
//
// A level of instructions is compiled for one typical machine. Its numbers are constants, never
// probed: the same checkpoint gives the same engine wherever it is compiled. Only their ratios
// decide a schedule, so they need not be exact; where a machine differs, measured rows
// (TuningRows.h) take over. `ingot inspect E --roofline` measures the limits of the machine at
// hand.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string_view>

namespace ingot::cpu {

/// One core.
struct Machine {
  std::string_view name;
  double gigahertz;         ///< in vector code
  double readGbPerS;        ///< weights of a mapped file, prefetched
  double prefetchless;      ///< part of readGbPerS that is reached without prefetching
  int64_t l1Bytes, l2Bytes; ///< of data
  double l2BytesPerCycle;   ///< into registers
  double multiplyPipes;     ///< dots, f32 multiplications and fmas a cycle: they share the pipes
  double vectorPipes;       ///< vector instructions a cycle, those included
  double loadsPerCycle;     ///< of a register or a broadcast
  double issuedPerCycle;    ///< instructions of any kind, in long runs
  double groupLatency;      ///< cycles that the multipliers wait at the end of a group of 32 k
};

/// AMD Zen 5, measured: 0.90 int8 TOPS a thread of 128 operations a dot and two dots a cycle; 37 to
/// 42 GB/s a thread, 35 without prefetching where 40 are with it; 113 to 129 GB/s from L2. Five
/// instructions a cycle and four cycles a group are fitted: a tile of 6 and one of 2 are no slower
/// than two of 4.
inline constexpr Machine kZen5{"amd-zen5", 3.5, 40, 0.93, 48 << 10, 1 << 20, 33, 2, 4, 2, 5, 4};

/// A core of x86-64-v3 with 1 MiB of L2 (Skylake-SP, Zen 4): two of three vector ports multiply,
/// two loads and four instructions a cycle. Rates of memory are assumed, not measured.
inline constexpr Machine kV3{"x86-64-v3", 3.5, 20, 0.93, 32 << 10, 1 << 20, 32, 2, 3, 2, 4, 4};

/// Intel's Ice Lake server core: two ports of 512 bits, 48 KiB and 1.25 MiB of caches. Rates of memory
/// are assumed, not measured.
inline constexpr Machine kIceLake{
    "intel-icelake", 2.8, 14, 0.93, 48 << 10, 5 << 18, 48, 2, 3, 2, 4, 5};

} // namespace ingot::cpu

//===- Machine.h - CPU parameters of the cost model -----------------------===//
//
// Each ISA level is compiled for one typical machine. The properties of the machine are constants and are never probed,
// so the same checkpoint gives the same engine wherever it is compiled. Only their ratios decide a schedule, so they
// need not be exact. `ingot inspect E --roofline` measures the limits of the current machine.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string_view>

namespace ingot::codegen::cpu {

/// One core.
struct Machine {
  std::string_view name;
  double gigahertz;         ///< in vector code
  double readGbPerS;        ///< weights of a mapped file, prefetched
  double prefetchless;      ///< fraction of readGbPerS that is reached without prefetching
  int64_t l1Bytes, l2Bytes; ///< data caches
  double l2BytesPerCycle;   ///< into registers
  double multiplyPipes;     ///< dots, f32 multiplications and fmas per cycle: they share the pipes
  double vectorPipes;       ///< vector instructions per cycle, including those
  double loadsPerCycle;     ///< loads of a register or broadcasts
  double issuedPerCycle;    ///< instructions of any kind, in long runs
  double groupLatency;      ///< cycles that the multipliers stall at the end of a group of 32 k
};

/// AMD Zen 5, measured: 0.90 int8 TOPS per thread, with 128 operations per dot and two dots per
/// cycle; 37 to 42 GB/s per thread (where prefetching gives 40 GB/s, 35 are reached without it); 113 to
/// 129 GB/s from L2. Five instructions per cycle and four cycles per group are fitted to measurements: a
/// tile of 6 and one of 2 are no slower than two of 4.
inline constexpr Machine kZen5{"amd-zen5", 3.5, 40, 0.93, 48 << 10, 1 << 20, 33, 2, 4, 2, 5, 4};

/// A core of x86-64-v3 with 1 MiB of L2 (Skylake-SP, Zen 4): two of three vector ports multiply,
/// two loads and four instructions per cycle. Memory rates are assumed, not measured.
inline constexpr Machine kV3{"x86-64-v3", 3.5, 20, 0.93, 32 << 10, 1 << 20, 32, 2, 3, 2, 4, 4};

/// Intel's Ice Lake server core: two ports of 512 bits, 48 KiB and 1.25 MiB of caches. Memory rates
/// are assumed, not measured.
inline constexpr Machine kIceLake{
    "intel-icelake", 2.8, 14, 0.93, 48 << 10, 5 << 18, 48, 2, 3, 2, 4, 5};

/// Intel's Sapphire Rapids server core: the same with 2 MiB of L2, and AMX. Memory rates are assumed, not measured.
inline constexpr Machine kSapphireRapids{
    "intel-sapphirerapids", 2.8, 14, 0.93, 48 << 10, 2 << 20, 48, 2, 3, 2, 4, 5};

} // namespace ingot::codegen::cpu

//===- Isa.cpp - See Isa.h ------------------------------------------------===//
#include "runtime/engine/Isa.h"

#include <cpuid.h>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace ingot::runtime {

namespace {

bool hasV3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") &&
         __builtin_cpu_supports("movbe");
}

bool hasV4() {
  return hasV3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

bool hasAvx512() {
  return hasV4() && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16") &&
         __builtin_cpu_supports("avx512vbmi");
}

/// Requests from Linux the permission to use AMX tiles (Documentation/arch/x86/xstate.rst). Without it, their first
/// use raises SIGILL.
bool mayUseTiles() {
  constexpr long kRequestPermission = 0x1023,
                 kTileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

struct Level {
  IsaLevel id;
  std::string_view target;
  bool (*here)(); ///< whether this CPU, with its operating system, supports it
};

constexpr Level kLevels[kIsaLevelCount] = {
    {IsaLevel::Avx2, "cpu:avx2", hasV3},
    {IsaLevel::AvxVnni, "cpu:avxvnni",
     [] { return hasV3() && __builtin_cpu_supports("avxvnni") != 0; }},
    {IsaLevel::Avx512Vnni, "cpu:avx512vnni",
     [] { return hasV4() && __builtin_cpu_supports("avx512vnni") != 0; }},
    {IsaLevel::Avx512, "cpu:avx512", hasAvx512},
    {IsaLevel::Amx, "cpu:amx",
     [] {
       return hasAvx512() && __builtin_cpu_supports("amx-tile") &&
              __builtin_cpu_supports("amx-bf16") && mayUseTiles();
     }},
};

std::string listed(const std::vector<std::string_view> &names, std::string_view word) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i != 0)
      text += i + 1 == names.size() ? " " + std::string(word) + " " : ", ";
    text += names[i];
  }
  return text;
}

} // namespace

std::span<const IsaLevel> isaLevels() {
  static constexpr IsaLevel all[] = {IsaLevel::Avx2, IsaLevel::AvxVnni, IsaLevel::Avx512Vnni,
                                     IsaLevel::Avx512, IsaLevel::Amx};
  static_assert(std::size(all) == kIsaLevelCount);
  return all;
}

std::string_view isaTarget(IsaLevel level) { return kLevels[int(level)].target; }

std::string_view isaName(IsaLevel level) { return isaTarget(level).substr(4); }

std::optional<IsaLevel> isaLevelNamed(std::string_view name) {
  for (IsaLevel level : isaLevels())
    if (name == isaTarget(level) || name == isaName(level))
      return level;
  return std::nullopt;
}

std::string isaNames(std::string_view word) {
  std::vector<std::string_view> names;
  for (IsaLevel level : isaLevels())
    names.push_back(isaName(level));
  return listed(names, word);
}

std::optional<IsaLevel> CpuFeatures::best() const {
  std::optional<IsaLevel> best;
  for (IsaLevel level : isaLevels())
    if (has(level))
      best = level;
  return best;
}

std::string CpuFeatures::names() const {
  std::vector<std::string_view> names;
  for (IsaLevel level : isaLevels())
    if (has(level))
      names.push_back(isaName(level));
  return names.empty() ? "no level" : listed(names, "and");
}

static std::string brand() {
  unsigned registers[12], most = 0, unused;
  if (!__get_cpuid(0x80000000, &most, &unused, &unused, &unused) || most < 0x80000004)
    return "unknown CPU";
  for (unsigned i = 0; i < 3; ++i)
    __get_cpuid(0x80000002 + i, registers + 4 * i, registers + 4 * i + 1, registers + 4 * i + 2,
                registers + 4 * i + 3);
  const char *text = reinterpret_cast<const char *>(registers);
  std::string_view name(text, strnlen(text, sizeof registers));
  size_t from = name.find_first_not_of(' '), to = name.find_last_not_of(' ');
  return from == name.npos ? "unknown CPU" : std::string(name.substr(from, to - from + 1));
}

CpuFeatures hostCpu() {
  // The builtins check CPUID and the state that the operating system saves (XCR0).
  __builtin_cpu_init();
  CpuFeatures cpu;
  cpu.name = brand();
  for (const Level &level : kLevels)
    cpu.levels[int(level.id)] = level.here();
  return cpu;
}

static std::string builtFor(const fb::Program &program) {
  std::string list;
  for (const fb::CodeObject *code : *program.code())
    list += (list.empty() ? "" : ", ") + code->target()->str();
  return list;
}

static std::string runs(const CpuFeatures &cpu) { return cpu.name + " runs " + cpu.names(); }

Result<size_t> pickCode(const fb::Program &program, const CpuFeatures &cpu,
                        std::optional<IsaLevel> wanted) {
  std::string facts = "built for " + builtFor(program) + "; this " + runs(cpu);
  auto rebuild = [](std::string_view target) {
    return "rebuild it: ingot compile MODEL -o E --target " + std::string(target);
  };
  if (wanted && !cpu.has(*wanted))
    return Error{ExitCode::File, "E0383",
                 "this CPU cannot run --isa " + std::string(isaName(*wanted)), facts,
                 cpu.best() ? "omit --isa" : "ingot needs a CPU with AVX2"};
  std::optional<size_t> best;
  std::optional<IsaLevel> bestLevel;
  for (size_t i = 0; i < program.code()->size(); ++i) {
    std::optional<IsaLevel> level = isaLevelNamed(program.code()->Get(i)->target()->string_view());
    if (level && cpu.has(*level) && (wanted ? *level == *wanted : !best || *level > *bestLevel))
      best = i, bestLevel = level;
  }
  if (best)
    return *best;
  if (wanted)
    return Error{ExitCode::File, "E0382",
                 "the engine has no code for --isa " + std::string(isaName(*wanted)), facts,
                 rebuild(isaTarget(*wanted))};
  return Error{ExitCode::File, "E0381", "the engine does not fit this CPU", facts,
               cpu.best() ? rebuild("cpu:avx2") : "ingot needs a CPU with AVX2"};
}

} // namespace ingot::runtime

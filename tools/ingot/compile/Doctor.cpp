//===- Doctor.cpp - ingot doctor: checks of this machine -------------------===//
#include "runtime/device/cpu/HostMemory.h"
#include "runtime/engine/Inspect.h"
#include "runtime/engine/Isa.h"
#include "tools/files/Json.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/compile/DoctorModel.h"
#include "tools/ingot/engines/CompilerLibrary.h"
#include "tools/ingot/engines/EngineCache.h"
#include "tools/ingot/engines/EngineOptions.h"
#include "tools/terminal/Console.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <unistd.h>

namespace ingot::cli {

namespace {

namespace fs = std::filesystem;

struct Check {
  std::string name, status, detail; ///< status: "ok", "warning" or "error"
  std::string fix;
};

Check checkCpu() {
  const runtime::CpuFeatures cpu = runtime::hostCpu();
  const std::string name = cpu.name.empty() ? "this CPU" : cpu.name;
  if (cpu.best())
    return {"cpu", "ok", name + ": runs code for " + cpu.names(), ""};
  return {"cpu", "error", name + " has no AVX2: engines cannot run here",
          "engines can still be compiled for other machines"};
}

Check checkThreads() {
  cpu_set_t set;
  const int usable = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  const long there = sysconf(_SC_NPROCESSORS_ONLN);
  std::string detail =
      std::to_string(usable) + " of " + std::to_string(there) + " processors are available";
  return {"threads", usable == there ? "ok" : "warning", detail,
          usable == there ? "" : "an affinity mask limits this process"};
}

/// Returns an entry of /proc/meminfo ("MemAvailable:  123 kB") in bytes; 0 if it is missing.
uint64_t memoryInfo(const char *key) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(key, 0) == 0)
      return std::strtoull(line.c_str() + std::strlen(key) + 1, nullptr, 10) * 1024;
  return 0;
}

Check checkMemory() {
  const uint64_t available = cpu::availableMemory(), total = memoryInfo("MemTotal");
  const bool limited = available + (uint64_t{64} << 20) < memoryInfo("MemAvailable");
  return {"memory", available < (uint64_t{1} << 30) ? "warning" : "ok",
          runtime::humanBytes(available) + " available of " + runtime::humanBytes(total) +
              (limited ? ", by the limit of a cgroup or ulimit -v" : ""),
          available < (uint64_t{1} << 30) ? "stop other programs, or give --context and --kv-memory"
                                          : ""};
}

Check checkCompiler() {
  auto path = compilerLibraryPath();
  if (!path)
    return {"compiler", "error", path.error().why, path.error().fix};
  auto code = runAsChild({"passes", "--json"}, /*silent=*/true);
  if (!code || *code != 0)
    return {"compiler", "error", *path + " does not work",
            "LLVM and MLIR 22 must be installed: ./dev setup"};
  return {"compiler", "ok", *path, ""};
}

Check checkCache(const std::string &folder) {
  if (folder.empty())
    return {"cache", "warning", "neither XDG_CACHE_HOME nor HOME is set",
            "give --cache DIR to run checkpoints"};
  uint64_t bytes = 0, engines = 0;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure))
    if (at->path().extension() == ".ingot") {
      bytes += at->file_size(failure);
      ++engines;
    }
  fs::path existing = folder;
  while (!existing.empty() && !fs::exists(existing, failure) && existing != existing.parent_path())
    existing = existing.parent_path();
  const bool writable = access(existing.c_str(), W_OK) == 0;
  const fs::space_info space = fs::space(existing, failure);
  std::string detail = folder + ": " + std::to_string(engines) +
                       (engines == 1 ? " engine, " : " engines, ") + runtime::humanBytes(bytes) +
                       "; " + (failure ? "unknown space" : runtime::humanBytes(space.available)) +
                       " free";
  return {"cache", writable ? "ok" : "warning", detail,
          writable ? "" : "it is not writable: give --cache DIR"};
}

Result<int> doctor(const CommonOptions &common, const CompileOptions &compile) {
  const Check checks[] = {checkCpu(), checkThreads(), checkMemory(), checkCompiler(),
                          checkCache(cacheFolder(compile))};
  bool broken = false;
  std::string json = "[";
  for (const Check &check : checks) {
    broken |= check.status == "error";
    if (common.json)
      json += (json.size() > 1 ? ",\n " : "") + JsonObject()
                                                    .field("check", check.name)
                                                    .field("status", check.status)
                                                    .field("detail", check.detail)
                                                    .field("fix", check.fix)
                                                    .str();
    else
      emit((check.status == "ok"      ? "  ok       "
            : check.status == "error" ? "  ERROR    "
                                      : "  warning  ") +
           check.name + ": " + check.detail +
           (check.fix.empty() ? "" : "\n             " + check.fix) + "\n");
  }
  if (common.json)
    emit(json + "]\n");
  return broken ? static_cast<int>(ExitCode::File) : 0;
}

} // namespace

Action defineDoctor(CommandLine &command) {
  auto common = std::make_shared<CommonOptions>();
  auto model = std::make_shared<DoctorModelOptions>();
  command.option(
      "MODEL", model->model,
      "a checkpoint, or hf:ORG/NAME: check whether it would compile, and to what (default: check "
      "this machine)");
  command
      .option("--context", model->context,
              "context of the sequence whose memory is reported (default: as ingot run)")
      .range(int64_t{1}, int64_t{1} << 40);
  auto mixes = std::make_shared<bool>(false);
  command.flag("--mixes", *mixes,
               "print the compatibility matrix: features, and what each of them needs");
  common->define(command);
  command.remove(command.find("--trace")); // no engine runs
  model->compile.define(command);
  command.remove(command.find("--weights"));
  command.remove(command.find("--weights-seed"));
  command.examples(
      "  ingot doctor\n"
      "  ingot doctor hf:HuggingFaceTB/SmolLM2-135M-Instruct --context 8192     fetches no weights\n"
      "  ingot doctor ~/models/llama --quantize int4-g64\n"
      "  ingot doctor --mixes                     which features work with which devices and "
      "options\n");
  return [=]() -> Result<int> {
    if (*mixes) {
      const char *const words[] = {"ingot", "mixes", "--json"};
      return callCompiler(common->json ? 3 : 2, words);
    }
    if (model->model.empty())
      return doctor(*common, model->compile);
    model->json = common->json;
    model->quiet = common->quiet;
    return doctorModel(*model);
  };
}

} // namespace ingot::cli

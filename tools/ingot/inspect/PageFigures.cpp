//===- PageFigures.cpp - See PageFigures.h --------------------------------===//
#include "tools/ingot/inspect/PageFigures.h"

#include "runtime/engine/GpuMachine.h"
#include "runtime/engine/Inspect.h"
#include "runtime/engine/Isa.h"
#include "runtime/engine/Program.h"
#include "runtime/json/JsonText.h"
#include "tools/ingot/engines/CompilerLibrary.h"
#include "tools/ingot/measure/roofline/StepTime.h"

#include <algorithm>
#include <cmath>
#include <simdjson.h>

namespace ingot::cli {

namespace {

using runtime::JsonText;

struct PageLoad {
  const char *name;
  uint64_t sequences, tokens, positions;
};

/// Returns typical steps: decode of one sequence, a prompt, and decode of a few sequences together.
std::vector<PageLoad> loadsOf(const fb::Engine &engine) {
  const uint64_t context = std::max(1u, engine.model()->context()),
                 prompt = std::min<uint64_t>(512, context),
                 decoded = std::min<uint64_t>(128, context);
  return {{"decode", 1, 1, decoded}, {"prompt", 1, prompt, prompt}, {"batch", 8, 1, decoded}};
}

runtime::StepCounts countsOf(const PageLoad &load) {
  return {fb::Mode::Greedy, load.sequences * load.tokens, load.sequences, load.tokens};
}

/// The limits of the machine that runs the code of each target. Memory bandwidth is measured only
/// once, at the best ISA level of this CPU.
class Limits {
public:
  Limits(int threads, const MeasuredKernels &measured) : threads(threads), measured(measured) {}

  /// Returns the limits for a target and sets `source` to their origin. readGbPerS is 0 if they are
  /// not known.
  MachineLimits of(const std::string &target, std::string &source) {
    if (const auto *gpu = runtime::gpuMachineFor(target)) {
      source = std::string("data sheet of an ") + gpu->name;
      return limitsFor(target, threads);
    }
    if (target == measured.target && measured.limits.readGbPerS > 0) {
      source = "measured on this machine before and after the kernels, " + std::to_string(threads) +
               " threads: " + host.name + (measured.busy.empty() ? "" : "; " + measured.busy);
      return measured.limits;
    }
    const auto level = runtime::isaLevelNamed(target);
    if (!level || !host.has(*level)) {
      source = "this machine has no " + target;
      return {};
    }
    source = "measured on this machine now, " + std::to_string(threads) + " threads: " + host.name;
    if (read == 0)
      read = measured.limits.readGbPerS > 0 ? measured.limits.readGbPerS
                                            : measureLimits(*host.best(), threads).readGbPerS;
    MachineLimits limits = measureRates(*level, threads);
    limits.readGbPerS = read;
    return limits;
  }

private:
  int threads;
  const MeasuredKernels &measured;
  runtime::CpuFeatures host = runtime::hostCpu();
  double read = 0;
};

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t j = 0; j < 3; ++j)
      three = three << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j)
      out += i + j <= bytes.size() ? kDigits[three >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

/// Returns the concatenated IR of a program's kernels; empty if the engine has none.
std::string kernelsOf(const simdjson::dom::element &listing, size_t program) {
  std::string all;
  simdjson::dom::array kernels;
  if (listing["programs"].at(program)["kernels"].get(kernels))
    return all;
  for (simdjson::dom::element kernel : kernels) {
    std::string_view ir;
    if (!kernel["ir"].get(ir))
      all += std::string(ir) + "\n";
  }
  return all;
}

/// Returns whether the code has wgmma variants. Their results may differ in bits from the results of other variants
/// (docs/gpu-numerics.md).
bool hasWgmma(const fb::CodeObject &code) {
  for (unsigned k = 0; code.variants() && k < code.variants()->size(); ++k)
    for (const fb::Variant *variant : *code.variants()->Get(k)->variants())
      if (variant->symbol()->string_view().find("_wgmma") != std::string_view::npos)
        return true;
  return false;
}

void writeLimits(JsonText &j, const MachineLimits &limits, const std::string &source,
                 double exposedUs) {
  if (limits.readGbPerS <= 0) {
    j.key("limits").raw("null").key("no_limits").value(source);
    return;
  }
  j.key("limits").open('{').key("read").value(limits.readGbPerS);
  j.key("int8").value(limits.int8Gops).key("bf16").value(limits.bf16Gflops);
  j.key("f32").value(limits.f32Gflops).key("exposed_us").value(exposedUs);
  j.key("source").value(source).close();
}

/// Returns the first step of the entry point that runs the section; null if none does.
const fb::Step *stepOf(const fb::Program &program, unsigned section) {
  for (const fb::Step *step : *runtime::generateEntry(program).steps())
    if (step->section() == section)
      return step;
  return nullptr;
}

struct PageTarget {
  const fb::Program &program;
  const fb::CodeObject &code;
  MachineLimits limits;
  int threads;
  double exposedUs;
};

void writeLaunch(JsonText &j, const PageTarget &of, const fb::Launch &launch, const fb::Step &step,
                 const std::vector<PageLoad> &loads) {
  const fb::KernelCost *cost = of.code.costs() && launch.kernel() < of.code.costs()->size()
                                   ? of.code.costs()->Get(launch.kernel())
                                   : nullptr;
  j.open('[');
  for (const PageLoad &load : loads) {
    const StepLoad each{double(load.sequences), double(load.tokens), double(load.positions),
                        double(load.sequences)};
    KernelWork work;
    addLaunch(of.program, launch, step, cost, each, work);
    const double weights =
        weightBytesOf(of.program, launch, step, double(load.sequences * load.tokens));
    const double us = predictUs(work, cost, of.limits, of.threads);
    j.open('[').value(std::round(work.bytes)).value(std::round(weights));
    j.value(std::round(work.kvBytes)).value(std::round(work.operations));
    j.value(us > 0 ? std::round((us + of.exposedUs) * 1e3) / 1e3 : 0.0).close();
  }
  j.close();
}

void writeWork(JsonText &j, const PageTarget &of, const std::vector<PageLoad> &loads) {
  j.key("work").open('[');
  for (unsigned s = 0; s < of.program.sections()->size(); ++s) {
    const fb::Step *step = stepOf(of.program, s);
    j.open('[');
    for (const fb::Case *one : *of.program.sections()->Get(s)->cases()) {
      j.open('[');
      for (const fb::Launch *launch : *one->launches())
        if (step)
          writeLaunch(j, of, *launch, *step, loads);
      j.close();
    }
    j.close();
  }
  j.close();
}

/// Writes the index of the specialisation (case) that each stage (section) runs, for each load.
void writeChosen(JsonText &j, const fb::Program &program, const std::vector<PageLoad> &loads) {
  j.key("chosen").open('[');
  for (const PageLoad &load : loads) {
    j.open('[');
    for (const fb::Section *section : *program.sections()) {
      const fb::Case &chosen = runtime::caseFor(*section, countsOf(load));
      unsigned number = 0;
      while (section->cases()->Get(number) != &chosen)
        ++number;
      j.value(number);
    }
    j.close();
  }
  j.close();
}

} // namespace

std::string pageFigures(const runtime::EngineFile &engine, int threads,
                        const MeasuredKernels &measured) {
  const std::vector<PageLoad> loads = loadsOf(engine.table());
  simdjson::dom::parser parser;
  simdjson::dom::element listing;
  const simdjson::padded_string text(runtime::engineListing(engine));
  if (parser.parse(text).get(listing))
    listing = parser.parse(std::string_view("{}")).value_unsafe();
  Limits limits(threads, measured);
  JsonText j;
  j.open('{').key("loads").open('[');
  for (const PageLoad &load : loads) {
    j.open('{').key("name").value(load.name).key("sequences").value(load.sequences);
    j.key("tokens").value(load.tokens).key("positions").value(load.positions).close();
  }
  j.close().key("programs").open('[');
  size_t number = 0;
  for (const fb::Program *program : *engine.table().programs()) {
    const std::string kernels = kernelsOf(listing, number++);
    j.open('{');
    writeChosen(j, *program, loads);
    j.key("targets").open('[');
    for (const fb::CodeObject *code : *program->code()) {
      const std::string target = code->target()->str();
      const auto *gpu = runtime::gpuMachineFor(target);
      std::string source;
      PageTarget of{*program, *code, limits.of(target, source), threads, gpu ? gpu->exposedUs : 0};
      j.open('{').key("target").value(target);
      writeLimits(j, of.limits, source, of.exposedUs);
      const auto bytes = engine.segment(code->segment());
      const CodeListing listed =
          listCode(target, {reinterpret_cast<const char *>(bytes.data()), bytes.size()}, kernels,
                   /*batchInvariant=*/!hasWgmma(*code));
      if (listed.why.empty())
        j.key("code").value(base64(listed.packed));
      else
        j.key("code").raw("null").key("no_code").value(listed.why);
      writeWork(j, of, loads);
      j.close();
    }
    j.close().close();
  }
  j.close().key("measured").raw(measured.rows.empty() ? "null" : measured.rows);
  j.key("measured_target").value(measured.target);
  return j.close().text();
}

} // namespace ingot::cli

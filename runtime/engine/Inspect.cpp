//===- Inspect.cpp - `ingot inspect`: an engine as readable text ----------===//
#include "runtime/engine/Inspect.h"

#include "runtime/engine/GpuTarget.h"
#include "runtime/engine/WeightSummary.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <vector>

namespace ingot::runtime {
namespace {

/// Appends like printf. Strings from the file must go through `shown` first.
__attribute__((format(printf, 2, 3))) void print(std::string &out, const char *format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  out.append(line, std::min<size_t>(length < 0 ? 0 : length, sizeof line - 1));
}

/// Replaces control characters: names in a file must not reach the terminal as commands.
std::string shown(const flatbuffers::String *text) {
  std::string clean = text ? text->str().substr(0, 200) : "";
  for (char &c : clean)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      c = '?';
  return clean;
}

std::string count(double n) {
  char text[32];
  if (n >= 1e9)
    std::snprintf(text, sizeof text, "%.2f G", n / 1e9);
  else if (n >= 1e6)
    std::snprintf(text, sizeof text, "%.1f M", n / 1e6);
  else
    std::snprintf(text, sizeof text, "%.0f", n);
  return text;
}

void modelText(std::string &out, const EngineFile &engine) {
  const fb::Engine &e = engine.table();
  const fb::Model &m = *e.model();
  print(out, "%s\n", engine.path().c_str());
  print(out, "  model      %s (%s), %s parameters, %u layers of width %u, %u tokens, context %u\n",
        shown(m.name()).c_str(), shown(m.family()).c_str(), count(double(m.parameters())).c_str(),
        m.layers(), m.hidden(), m.vocab(), m.context());
  print(out, "  precision  %s\n", e.precision() == fb::Precision::Exact ? "exact" : "fast");
  print(out, "  engine     %s, format %u.%u, by ingot %s\n", humanBytes(engine.fileBytes()).c_str(),
        engine.header().major, engine.header().minor, shown(e.compiler_version()).c_str());
  if (uint64_t bytes = e.programs()->Get(0)->seed_bytes())
    print(out, "  weights    %s, generated from seed %llu at load; not in the file\n",
          humanBytes(bytes).c_str(), (unsigned long long)e.seed());
  for (const fb::Program *program : *e.programs())
    for (const fb::CodeObject *code : *program->code())
      print(out, "  target     %s, %s of code\n", shown(code->target()).c_str(),
            humanBytes(e.segments()->Get(code->segment())->size()).c_str());
  if (engine.tokenizer().empty())
    print(out, "  text       no tokenizer: the engine accepts only ids\n");
  else
    print(out, "  text       tokenizer %s (%s), %s\n", shown(e.text()->tokenizer_kind()).c_str(),
          humanBytes(engine.tokenizer().size()).c_str(),
          engine.chatTemplate().empty() ? "no chat template" : "with chat template");
}

} // namespace

std::string textTaken(const fb::Engine &engine) {
  for (unsigned i = 0; engine.provenance() && i < engine.provenance()->size(); ++i)
    if (const fb::Attribute *one = engine.provenance()->Get(i);
        one->key() && one->value() && one->key()->string_view() == kTextTaken)
      return one->value()->str();
  return "";
}

namespace {

void weightText(std::string &out, const EngineFile &engine) {
  out += "\nweights\n";
  for (const FormatSummary &f : weightsByFormat(engine))
    print(out, "  %-10s %-12s %5llu tensors %10s values %12s   %.2f bits each\n", f.format.c_str(),
          f.layout.c_str(), (unsigned long long)f.tensors, count(double(f.elements)).c_str(),
          humanBytes(f.bytes).c_str(), f.bitsPerElement());
  out += "\ntensors\n";
  for (const RoleSummary &r : weightsByRole(engine)) {
    std::string name = r.name.substr(0, 120);
    for (char &c : name)
      c = static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
    print(out, "  %-40s %-10s %14s  x%-4llu %12s\n", name.c_str(), r.format.c_str(),
          r.shape.c_str(), (unsigned long long)r.tensors, humanBytes(r.bytes).c_str());
  }
}

/// Returns the steps that use a variant: "8 tokens", "tiles of 1", "tiles of prompts".
std::string guardText(const fb::Variant &v) {
  std::string text;
  auto add = [&](const char *before, uint64_t most, const char *behind) {
    if (most)
      text +=
          (text.empty() ? "up to " : ", ") + std::string(before) + std::to_string(most) + behind;
  };
  add("", v.max_tokens(), " tokens");
  add("", v.max_rows(), " rows");
  add("tiles of ", v.max_tile_tokens(), "");
  if (v.x()->base() == fb::GridBase::Shares || v.x()->base() == fb::GridBase::PromptTiles)
    text += (text.empty() ? "tiles " : ", tiles ") +
            std::string(v.x()->base() == fb::GridBase::Shares ? "that decode" : "of prompts");
  return text.empty() ? "any step" : text;
}

/// "clusters of 2, ", or an empty string.
std::string clusterText(const fb::Variant &v) {
  return v.cluster() > 1 ? "clusters of " + std::to_string(v.cluster()) + ", " : "";
}

/// Appends the kernels of GPU code: each variant with its block.
void variantText(std::string &out, const fb::Program &e) {
  const fb::CodeObject &code = *e.code()->Get(0);
  print(out, "\nvariants of %s\n", shown(code.target()).c_str());
  for (unsigned k = 0; k < e.kernels()->size(); ++k)
    for (const fb::Variant *v : *code.variants()->Get(k)->variants())
      print(out, "  %-40s %4u threads, %6u bytes shared, %s%s\n", shown(v->symbol()).c_str(),
            v->threads(), v->shared_bytes(), clusterText(*v).c_str(), guardText(*v).c_str());
}

/// ", in the mode Greedy", or an empty string.
std::string caseText(const fb::Case &one) {
  std::string text = conditionText(one);
  return text.empty() ? text : ", " + text;
}

void programText(std::string &out, const fb::Program &e) {
  const fb::Entry &entry = generateEntry(e);
  std::vector<uint64_t> runs(e.sections()->size());
  for (const fb::Step *step : *entry.steps())
    ++runs[step->section()];
  std::vector<uint64_t> launches(e.kernels()->size());
  print(out, "\nprogram%s: %u launches per step of the model\n",
        deviceKind(e) == DeviceKind::Cuda ? " for GPUs" : "", entry.launches());
  for (unsigned s = 0; s < e.sections()->size(); ++s) {
    const fb::Section *section = e.sections()->Get(s);
    for (const fb::Case *one : *section->cases()) {
      if (one->launches()->size() != 0)
        print(out, "  %-24s %3u launches, run %llu times%s\n", shown(section->name()).c_str(),
              one->launches()->size(), (unsigned long long)runs[s], caseText(*one).c_str());
      for (const fb::Launch *launch : *one->launches())
        launches[launch->kernel()] += runs[s];
    }
  }
  out += "\nkernels\n";
  for (unsigned k = 0; k < e.kernels()->size(); ++k) {
    const fb::Kernel *kernel = e.kernels()->Get(k);
    print(out, "  %-32s %-10s %5llu launches, %llu items per %s\n", shown(kernel->name()).c_str(),
          shown(kernel->family()).c_str(), (unsigned long long)launches[k],
          (unsigned long long)kernel->grid()->factor(),
          kernel->grid()->base() == fb::GridBase::Constant ? "launch"
          : kernel->grid()->base() == fb::GridBase::Tokens ? "token"
          : kernel->grid()->base() == fb::GridBase::Rows   ? "logits row"
          : kernel->grid()->base() == fb::GridBase::Spans  ? "sequence"
                                                           : "attention tile");
  }
}

/// Appends the schedules of each code object's matmuls, and the sources of the schedules.
void scheduleText(std::string &out, const fb::Program &e) {
  for (const fb::CodeObject *code : *e.code()) {
    if (!code->costs() || gpuTargetNamed(code->target()->string_view()))
      continue; // the schedules of GPU kernels appear in their variants
    print(out, "\nschedules of %s\n", shown(code->target()).c_str());
    for (unsigned k = 0; k < code->costs()->size(); ++k)
      if (const fb::KernelCost *cost = code->costs()->Get(k);
          cost->schedule() && cost->schedule()->size())
        print(out, "  %-32s %s: %s (%s)\n", shown(e.kernels()->Get(k)->name()).c_str(),
              shown(cost->shape()).c_str(), shown(cost->schedule()).c_str(),
              shown(cost->source()).c_str());
  }
}

void memoryText(std::string &out, const EngineFile &engine, const MemoryLimits &limits,
                const fb::Program &e) {
  print(
      out,
      "\nmemory: %llu bytes fixed + %llu per token of a step + %llu per logits row + %llu per KV page of "
      "%u positions%s\n",
      (unsigned long long)e.bytes_fixed(), (unsigned long long)e.bytes_per_token(),
      (unsigned long long)e.bytes_per_row(), (unsigned long long)e.bytes_per_page(),
      e.abi()->page_tokens(),
      e.bytes_per_slot()
          ? (" + " + std::to_string(e.bytes_per_slot()) + " per slot of fixed states").c_str()
          : "");
  if (Result<MemoryPlan> planned = memoryPlan(engine, limits, e))
    out += planned->text();
  else
    out += "  " + planned.error().what + "\n";
}

} // namespace

std::string evidenceText(const EngineFile &engine) {
  const auto *evidence = engine.table().evidence();
  std::string out;
  if (engine.table().programs()->Get(0)->seed_bytes() != 0)
    print(out, "weights: generated from seed %llu at load; no checkpoint weights were checked\n",
          (unsigned long long)engine.table().seed());
  if (!evidence || evidence->size() == 0)
    return out + "evidence: none was recorded\n";
  bool plan = false, code = false;
  for (const fb::Evidence *x : *evidence) {
    plan |= shown(x->pass()).starts_with("plan of ");
    code |= shown(x->pass()).starts_with("code of ");
  }
  out += std::string("evidence: each pass over lm against the reference interpreter") +
         (plan ? ", the plan against it in the plan interpreter" : "") +
         (code ? ", compiled code against that, launch by launch" : "") + "\n";
  for (const fb::Evidence *x : *evidence)
    print(out, "  %-24s max abs %-10.3g max rel %-10.3g %s\n", shown(x->pass()).c_str(),
          x->max_abs(), x->max_rel(), shown(x->inputs()).c_str());
  for (unsigned i = 0; engine.table().provenance() && i < engine.table().provenance()->size(); ++i)
    if (const fb::Attribute *a = engine.table().provenance()->Get(i);
        shown(a->key()) == "unchecked")
      out += "  not checked: the passes inserted at " + shown(a->value()) + "\n";
  return out;
}

std::string recipeText(const EngineFile &engine) {
  std::string recipe, from;
  for (unsigned i = 0; engine.table().provenance() && i < engine.table().provenance()->size();
       ++i) {
    const fb::Attribute *a = engine.table().provenance()->Get(i);
    if (a->value() && shown(a->key()) == "recipe")
      recipe = a->value()->str();
    if (shown(a->key()) == "from")
      from = "# The compilation started from IR, which is not part of this recipe: --from " +
             shown(a->value()) + "\n";
  }
  return recipe.empty() ? "" : "# ingot compile MODEL --recipe THIS -o E\n" + from + recipe;
}

std::string inspectText(const EngineFile &engine, const MemoryLimits &limits) {
  const fb::Engine &e = engine.table();
  std::string out;
  modelText(out, engine);
  for (const fb::Program *program : *e.programs()) {
    memoryText(out, engine, limits, *program);
    programText(out, *program);
    scheduleText(out, *program);
    if (deviceKind(*program) == DeviceKind::Cuda)
      variantText(out, *program);
  }
  weightText(out, engine);
  auto provenance = [&](const auto *attributes, const char *of) {
    if (!attributes || attributes->size() == 0)
      return;
    out += std::string("\nprovenance") + of + "\n";
    for (const fb::Attribute *a : *attributes)
      print(out, "  %-24s %s\n", shown(a->key()).c_str(),
            shown(a->key()) == "recipe" ? "ingot inspect E --recipe prints it"
                                        : shown(a->value()).c_str());
  };
  provenance(e.provenance(), "");
  for (const fb::Program *program : *e.programs())
    provenance(program->provenance(), deviceKind(*program) == DeviceKind::Cuda
                                          ? " of the program for GPUs"
                                          : " of the program for CPUs");
  return out + "\n" + evidenceText(engine);
}

} // namespace ingot::runtime

//===- Diff.cpp - ingot diff ----------------------------------------------===//
//
// An engine is treated as a list of named facts (its recipe, its weights, its kernels, …), and two engines
// are compared fact by fact. The bytes of code and weights enter the facts as hashes.
//===----------------------------------------------------------------------===//
#include "tools/ingot/inspect/Diff.h"
#include "runtime/engine/ElfImage.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Inspect.h"
#include "runtime/engine/Program.h"
#include "tools/files/Json.h"
#include "tools/ingot/command/Command.h"
#include "tools/terminal/Console.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace ingot::cli {

namespace {

using runtime::EngineFile;

/// Facts of one kind, by name, in the order of the first engine.
class Facts {
public:
  void add(const std::string &name, const std::string &value) {
    auto [place, isNew] = numbers.try_emplace(name, all.size());
    if (isNew)
      all.emplace_back(name, value);
    else
      all[place->second].second +=
          "; " + value; // a repeated key (patterns, disabled passes) forms a list
  }
  const std::string *find(const std::string &name) const {
    auto found = numbers.find(name);
    return found == numbers.end() ? nullptr : &all[found->second].second;
  }
  const std::vector<std::pair<std::string, std::string>> &list() const { return all; }

private:
  std::vector<std::pair<std::string, std::string>> all;
  std::map<std::string, size_t> numbers;
};

/// The parts, in the order in which they are printed.
constexpr const char *kParts[] = {"model", "recipe",   "provenance", "weights",  "kernels",
                                  "code",  "launches", "memory",     "evidence", "text"};
using Parts = std::map<std::string, Facts>;

std::string hashed(std::span<const std::byte> bytes) {
  return formatted("%016llx",
                   static_cast<unsigned long long>(XXH3_64bits(bytes.data(), bytes.size())));
}

std::string textOf(const flatbuffers::String *text) { return text ? text->str() : ""; }

/// Adds the keys of a recipe. A list may span several lines.
void addRecipe(const std::string &recipe, Facts &to) {
  std::string key, value;
  auto end = [&] {
    if (!key.empty())
      to.add(key, value);
    key.clear();
  };
  for (size_t at = 0; at < recipe.size();) {
    const size_t stop = std::min(recipe.find('\n', at), recipe.size());
    const std::string line = recipe.substr(at, stop - at);
    at = stop + 1;
    const size_t equals = line.find(" = ");
    if (!line.empty() && line[0] >= 'a' && line[0] <= 'z' && equals != std::string::npos) {
      end();
      key = line.substr(0, equals), value = line.substr(equals + 3);
    } else if (!key.empty()) {
      value += line[0] == ' ' ? line.substr(1) : line;
    }
  }
  end();
}

template <typename Attributes>
void addProvenance(const Attributes *attributes, const std::string &device, Parts &to) {
  for (unsigned i = 0; attributes && i < attributes->size(); ++i) {
    const std::string key = textOf(attributes->Get(i)->key()),
                      value = textOf(attributes->Get(i)->value());
    if (key == "recipe")
      addRecipe(value, to["recipe"]);
    else
      to["provenance"].add(device + key, value);
  }
}

void addWeights(const EngineFile &engine, const fb::Program &program, const std::string &device,
                bool numbers, Facts &to) {
  for (const fb::Weight *weight : *program.weights()) {
    std::string shape;
    for (unsigned i = 0; weight->shape() && i < weight->shape()->size(); ++i)
      shape += (i ? "x" : "") + std::to_string(weight->shape()->Get(i));
    std::string value = shape + " " + weight->format()->str() + ", " + grouped(weight->size()) +
                        " bytes as " + fb::EnumNameWeightLayout(weight->layout());
    if (weight->source() == fb::WeightSource::Seed)
      value += ", generated from the seed";
    else if (numbers)
      value += ", content " + hashed(engine.weightData(*weight));
    to.add(device + weight->name()->str(), value);
  }
}

/// Returns the hashes of a kernel's variants, each of which has a module.
std::string codeOf(const EngineFile &engine, const fb::CodeObject &code, unsigned kernel) {
  std::string all;
  if (!code.variants() || kernel >= code.variants()->size())
    return all;
  const auto segment = engine.segment(code.segment());
  for (const fb::Variant *variant : *code.variants()->Get(kernel)->variants()) {
    const fb::Module *module = code.modules()->Get(variant->module_());
    all += (all.empty() ? "" : " ") + hashed(segment.subspan(module->offset(), module->size()));
  }
  return all;
}

/// Returns the size of each function in CPU code, measured up to the next function. Hashes would be less
/// useful, because the bytes hold distances to constants, which change whenever another function does.
std::map<std::string, uint64_t, std::less<>> functionSizes(const EngineFile &engine,
                                                           const fb::CodeObject &code) {
  std::map<std::string, uint64_t, std::less<>> sizes;
  auto image = runtime::parseElf(engine.segment(code.segment()), code.target()->str());
  if (!image)
    return sizes; // GPU code, which codeOf handles
  std::vector<runtime::ElfImage::Symbol> functions = image->symbols;
  std::sort(functions.begin(), functions.end(),
            [](const auto &a, const auto &b) { return a.address < b.address; });
  for (size_t i = 0; i < functions.size(); ++i) {
    uint64_t end = i + 1 < functions.size() ? functions[i + 1].address : 0;
    for (const runtime::ElfImage::Load &load : image->loads)
      if (!end && load.execute && functions[i].address >= load.address)
        end = load.address + load.fileSize;
    sizes.emplace(functions[i].name, end - functions[i].address);
  }
  return sizes;
}

void addKernels(const EngineFile &engine, const fb::Program &program, const std::string &device,
                Parts &to) {
  std::vector<std::map<std::string, uint64_t, std::less<>>> sizes;
  for (const fb::CodeObject *code : *program.code())
    sizes.push_back(functionSizes(engine, *code));
  for (unsigned k = 0; k < program.kernels()->size(); ++k) {
    const fb::Kernel *kernel = program.kernels()->Get(k);
    std::string value = textOf(kernel->family()) + ", " + std::to_string(kernel->args()) +
                        " operands, " + grouped(kernel->scratch_bytes()) + " bytes of scratch";
    size_t index = 0;
    for (const fb::CodeObject *code : *program.code()) {
      const fb::KernelCost *cost =
          code->costs() && k < code->costs()->size() ? code->costs()->Get(k) : nullptr;
      if (cost && cost->schedule() && cost->schedule()->size())
        value += "; " + code->target()->str() + ": " + textOf(cost->shape()) + ", " +
                 textOf(cost->schedule());
      const auto &ofLevel = sizes[index++];
      if (auto size = ofLevel.find(kernel->name()->string_view()); size != ofLevel.end())
        value += "; " + code->target()->str() + ": " + grouped(size->second) + " bytes of code";
      if (const std::string bytes = codeOf(engine, *code, k); !bytes.empty())
        value += "; " + code->target()->str() + ": code " + bytes;
    }
    to["kernels"].add(device + kernel->name()->str(), value);
  }
  for (const fb::CodeObject *code : *program.code()) {
    const auto bytes = engine.segment(code->segment());
    to["code"].add(code->target()->str(), grouped(bytes.size()) + " bytes, " + hashed(bytes));
  }
}

void addLaunches(const fb::Program &program, const std::string &device, Facts &to) {
  for (const fb::Section *section : *program.sections())
    for (const fb::Case *one : *section->cases()) {
      std::string names;
      for (const fb::Launch *launch : *one->launches())
        names += " " + program.kernels()->Get(launch->kernel())->name()->str();
      const std::string when = runtime::conditionText(*one);
      to.add(device + section->name()->str() + (when.empty() ? "" : ", " + when),
             std::to_string(one->launches()->size()) + " launches:" + names);
    }
}

void addMemory(const fb::Program &program, const std::string &device, Facts &to) {
  const std::pair<const char *, uint64_t> figures[] = {
      {"fixed", program.bytes_fixed()},
      {"per token of a step", program.bytes_per_token()},
      {"per logits row", program.bytes_per_row()},
      {"per KV page", program.bytes_per_page()},
      {"per slot", program.bytes_per_slot()},
      {"weights generated at load", program.seed_bytes()}};
  for (auto [name, bytes] : figures)
    to.add(device + name, grouped(bytes) + " bytes");
}

/// Collects the facts of an engine. With `numbers`, weights are hashed too, which reads all of them.
Parts factsOf(const EngineFile &engine, bool numbers) {
  Parts parts;
  const fb::Engine &table = engine.table();
  const fb::Model &model = *table.model();
  Facts &facts = parts["model"];
  facts.add("name", model.name()->str());
  facts.add("family", model.family()->str());
  facts.add("layers", std::to_string(model.layers()));
  facts.add("parameters", grouped(model.parameters()));
  facts.add("context", grouped(model.context()));
  facts.add("vocabulary", grouped(model.vocab()));
  parts["provenance"].add("compiler", table.compiler_version()->str());
  addProvenance(table.provenance(), "", parts);
  for (const fb::Program *program : *table.programs()) {
    const std::string device = table.programs()->size() == 1                       ? ""
                               : runtime::deviceKind(*program) == DeviceKind::Cuda ? "GPU "
                                                                                   : "CPU ";
    addProvenance(program->provenance(), device, parts);
    addWeights(engine, *program, device, numbers, parts["weights"]);
    addKernels(engine, *program, device, parts);
    addLaunches(*program, device, parts["launches"]);
    addMemory(*program, device, parts["memory"]);
  }
  for (unsigned i = 0; table.evidence() && i < table.evidence()->size(); ++i) {
    const fb::Evidence *one = table.evidence()->Get(i);
    parts["evidence"].add(textOf(one->pass()), formatted("max rel %.3g", one->max_rel()) + " (" +
                                                   textOf(one->inputs()) + ")");
  }
  if (const auto bytes = engine.tokenizer(); !bytes.empty())
    parts["text"].add("tokenizer", hashed(bytes));
  if (const auto words = engine.chatTemplate(); !words.empty())
    parts["text"].add("chat template",
                      hashed(std::as_bytes(std::span(words.data(), words.size()))));
  return parts;
}

/// Returns whether the stored weights have the same bytes, according to the hashes in the engines.
bool sameWeightSegments(const fb::Engine &a, const fb::Engine &b) {
  auto hashes = [](const fb::Engine &engine) {
    std::vector<std::pair<uint64_t, uint64_t>> all;
    for (const fb::Segment *segment : *engine.segments())
      if (segment->kind() == fb::SegmentKind::Weights)
        all.emplace_back(segment->hash_lo(), segment->hash_hi());
    return all;
  };
  return hashes(a) == hashes(b);
}

struct Difference {
  std::string part, name;
  const std::string *first, *second; ///< null: absent from that engine
};

std::vector<Difference> differences(Parts &a, Parts &b) {
  std::vector<Difference> all;
  for (const char *part : kParts) {
    for (const auto &[name, value] : a[part].list()) {
      const std::string *other = b[part].find(name);
      if (!other || *other != value)
        all.push_back({part, name, &value, other});
    }
    for (const auto &[name, value] : b[part].list())
      if (!a[part].find(name))
        all.push_back({part, name, nullptr, &value});
  }
  return all;
}

std::string text(const std::vector<Difference> &all, const std::string &first,
                 const std::string &second) {
  if (all.empty())
    return first + " and " + second + " have the same contents\n";
  constexpr size_t kShown = 16; // differences per part
  std::string out = "- " + first + "\n+ " + second + "\n";
  std::map<std::string, size_t> counts;
  for (const Difference &one : all)
    ++counts[one.part];
  std::string part;
  size_t shown = 0;
  for (const Difference &one : all) {
    if (one.part != part)
      part = one.part, shown = 0, out += "\n" + part + ": " + grouped(counts[part]) + " differ\n";
    if (++shown > kShown) {
      if (shown == kShown + 1)
        out += "  and " + grouped(counts[part] - kShown) + " more: --json shows all\n";
      continue;
    }
    out += "  " + one.name + "\n";
    if (one.first)
      out += "    - " + *one.first + "\n";
    if (one.second)
      out += "    + " + *one.second + "\n";
  }
  return out;
}

std::string json(const std::vector<Difference> &all) {
  std::string list;
  for (const Difference &one : all) {
    JsonObject object;
    object.field("part", one.part).field("name", one.name);
    one.first ? object.field("first", *one.first) : object.raw("first", "null");
    one.second ? object.field("second", *one.second) : object.raw("second", "null");
    list += (list.empty() ? "" : ",\n ") + object.str();
  }
  return JsonObject().field("equal", all.empty()).raw("differences", "[" + list + "]").str() + "\n";
}

} // namespace

Result<int> diff(const std::string &first, const std::string &second, bool asJson) {
  auto a = EngineFile::open(first);
  if (!a)
    return a.error();
  auto b = EngineFile::open(second);
  if (!b)
    return b.error();
  const bool numbers = !sameWeightSegments((*a)->table(), (*b)->table());
  Parts ofA = factsOf(**a, numbers), ofB = factsOf(**b, numbers);
  const std::vector<Difference> all = differences(ofA, ofB);
  emit(asJson ? json(all) : text(all, first, second));
  return all.empty() ? 0 : 1;
}

Action defineDiff(CommandLine &command) {
  auto paths = std::make_shared<std::pair<std::string, std::string>>();
  auto asJson = std::make_shared<bool>(false);
  command.option("FIRST", paths->first, "an engine file").required();
  command.option("SECOND", paths->second, "another engine file").required();
  command.flag("--json", *asJson, "the differences as JSON");
  command.examples("  ingot diff before.ingot after.ingot\n"
                   "The exit code is 0 if they are the same, else 1.\n");
  return [=] { return diff(paths->first, paths->second, *asJson); };
}

} // namespace ingot::cli

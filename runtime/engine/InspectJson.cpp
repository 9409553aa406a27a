//===- InspectJson.cpp - `ingot inspect --json`: everything, stable keys --===//
#include "runtime/engine/Inspect.h"
#include "runtime/engine/Program.h"
#include "runtime/engine/WeightSummary.h"
#include "runtime/json/JsonText.h"

#include <cstdio>

namespace ingot::runtime {
namespace {

std::string_view view(const flatbuffers::String *text) {
  return text ? text->string_view() : std::string_view();
}

void writeModel(JsonText &j, const fb::Engine &e) {
  const fb::Model &m = *e.model();
  j.key("model").open('{').key("name").value(view(m.name())).key("family").value(view(m.family()));
  j.key("parameters").value(m.parameters()).key("vocab").value(m.vocab());
  j.key("hidden").value(m.hidden()).key("layers").value(m.layers());
  j.key("context").value(m.context()).close();
}

void writeSegments(JsonText &j, const fb::Engine &e) {
  j.key("segments").open('[');
  for (const fb::Segment *s : *e.segments()) {
    char hash[40];
    std::snprintf(hash, sizeof hash, "%016llx%016llx", (unsigned long long)s->hash_hi(),
                  (unsigned long long)s->hash_lo());
    j.open('{').key("kind").value(fb::EnumNameSegmentKind(s->kind()));
    j.key("offset").value(s->offset()).key("size").value(s->size()).key("hash").value(hash).close();
  }
  j.close();
}

void writeTargets(JsonText &j, const fb::Engine &root, const fb::Program &e) {
  j.key("targets").open('[');
  for (const fb::CodeObject *code : *e.code()) {
    j.open('{').key("target").value(view(code->target()));
    j.key("code_bytes").value(root.segments()->Get(code->segment())->size());
    if (code->modules())
      j.key("modules").value(code->modules()->size());
    j.close();
  }
  j.close();
}

void writeExtent(JsonText &j, const char *key, const fb::Extent &extent) {
  j.key(key).open('[').value(fb::EnumNameGridBase(extent.base()));
  j.value(extent.multiply()).value(extent.divide()).close();
}

/// Writes the variants of a kernel in GPU code. Each dimension of the grid is [base, multiply, divide].
void writeVariants(JsonText &j, const fb::KernelVariants &list) {
  j.key("variants").open('[');
  for (const fb::Variant *v : *list.variants()) {
    j.open('{').key("symbol").value(view(v->symbol())).key("max_tokens").value(v->max_tokens());
    j.key("max_rows").value(v->max_rows()).key("max_tile_tokens").value(v->max_tile_tokens());
    writeExtent(j, "x", *v->x());
    writeExtent(j, "y", *v->y());
    writeExtent(j, "z", *v->z());
    j.key("threads").value(v->threads()).key("shared_bytes").value(v->shared_bytes());
    j.key("overlap").value(v->overlap()).key("cluster").value(v->cluster());
    j.key("tensor_maps").open('[');
    for (unsigned i = 0; v->tensor_maps() && i < v->tensor_maps()->size(); ++i) {
      const fb::TensorMap *map = v->tensor_maps()->Get(i);
      j.open('{').key("operand").value(map->operand());
      j.key("element").value(fb::EnumNameTensorElement(map->element()));
      j.key("box_rows").value(map->box_rows()).key("box_columns").value(map->box_columns());
      j.key("swizzle").value(map->swizzle()).key("unit_rows").value(map->unit_rows()).close();
    }
    j.close().close();
  }
  j.close();
}

/// Writes the schedule of a matmul for each level.
void writeSchedules(JsonText &j, const fb::Program &e, unsigned kernel) {
  j.key("schedules").open('[');
  for (const fb::CodeObject *code : *e.code()) {
    const fb::KernelCost *cost = code->costs() ? code->costs()->Get(kernel) : nullptr;
    if (!cost || !cost->schedule() || cost->schedule()->size() == 0)
      continue;
    j.open('{').key("target").value(view(code->target())).key("shape").value(view(cost->shape()));
    j.key("schedule")
        .value(view(cost->schedule()))
        .key("source")
        .value(view(cost->source()))
        .close();
  }
  j.close();
}

/// Writes the cost of a launch, by target (engine.fbs: KernelCost).
void writeCosts(JsonText &j, const fb::Program &e, unsigned kernel) {
  j.key("costs").open('[');
  for (const fb::CodeObject *code : *e.code()) {
    const fb::KernelCost *cost = code->costs() ? code->costs()->Get(kernel) : nullptr;
    if (!cost)
      continue;
    j.open('{').key("target").value(view(code->target()));
    j.key("arithmetic").value(fb::EnumNameArithmetic(cost->arithmetic()));
    j.key("per_row").value(cost->per_row());
    j.key("bytes_per_unit").value(cost->bytes_per_unit());
    j.key("operations_per_unit").value(cost->operations_per_unit());
    j.key("bytes_per_position").value(cost->bytes_per_position());
    j.key("operations_per_position").value(cost->operations_per_position());
    j.key("predicted").open('[');
    for (unsigned i = 0; cost->predicted() && i < cost->predicted()->size(); ++i) {
      const fb::Prediction *point = cost->predicted()->Get(i);
      j.open('{').key("tokens").value(point->tokens()).key("core_ns").value(point->core_ns());
      j.key("bytes").value(point->bytes()).close();
    }
    j.close().close();
  }
  j.close();
}

void writeKernels(JsonText &j, const fb::Program &e) {
  j.key("kernels").open('[');
  for (unsigned i = 0; i < e.kernels()->size(); ++i) {
    const fb::Kernel *k = e.kernels()->Get(i);
    j.open('{').key("name").value(view(k->name())).key("family").value(view(k->family()));
    j.key("grid").open('{').key("base").value(fb::EnumNameGridBase(k->grid()->base()));
    j.key("factor").value(k->grid()->factor()).close();
    j.key("partition").value(fb::EnumNamePartition(k->partition()));
    j.key("args").value(k->args()).key("scratch_bytes").value(k->scratch_bytes());
    if (deviceKind(e) == DeviceKind::Cuda)
      writeVariants(j, *e.code()->Get(0)->variants()->Get(i));
    writeSchedules(j, e, i);
    writeCosts(j, e, i);
    j.close();
  }
  j.close();
}

void writeFormats(JsonText &j, const EngineFile &engine) {
  j.key("weight_formats").open('[');
  for (const FormatSummary &f : weightsByFormat(engine)) {
    j.open('{').key("format").value(f.format).key("layout").value(f.layout);
    j.key("tensors").value(f.tensors).key("elements").value(f.elements);
    j.key("bytes").value(f.bytes).close();
  }
  j.close();
}

void writeWeights(JsonText &j, const fb::Program &e) {
  j.key("weights").open('[');
  for (const fb::Weight *w : *e.weights()) {
    bool seeded = w->source() == fb::WeightSource::Seed;
    j.open('{').key("name").value(view(w->name())).key("format").value(view(w->format()));
    j.key("layout").value(layoutName(w->layout())).key("shape").open('[');
    for (uint64_t n : *w->shape())
      j.value(n);
    j.close();
    if (!seeded)
      j.key("segment").value(w->segment());
    j.key("offset").value(w->offset());
    j.key("size").value(w->size()).key("source").value(seeded ? "seed" : "stored").close();
  }
  j.close();
}

/// Written only if weights are generated from a seed.
void writeSeed(JsonText &j, const fb::Engine &root, const fb::Program &e) {
  if (e.seed_bytes() == 0)
    return;
  j.key("seed_weights").open('{').key("seed").value(root.seed());
  j.key("bytes").value(e.seed_bytes()).close();
}

void writeLaunches(JsonText &j, const fb::Program &e, const fb::Case &one) {
  j.key("launches").open('[');
  for (const fb::Launch *launch : *one.launches()) {
    j.open('{').key("kernel").value(view(e.kernels()->Get(launch->kernel())->name()));
    j.key("barrier").value(launch->barrier()).key("args").open('[');
    for (unsigned i = 0; launch->args() && i < launch->args()->size(); ++i)
      j.open('[')
          .value(fb::EnumNameArgKind(launch->args()->Get(i)->kind()))
          .value(launch->args()->Get(i)->index())
          .close();
    j.close().close();
  }
  j.close();
}

void writeSections(JsonText &j, const fb::Program &e) {
  j.key("sections").open('[');
  for (const fb::Section *section : *e.sections()) {
    j.open('{').key("name").value(view(section->name())).key("cases").open('[');
    for (const fb::Case *one : *section->cases()) {
      j.open('{').key("when").open('[');
      for (unsigned i = 0; one->when() && i < one->when()->size(); ++i) {
        const fb::Condition &condition = *one->when()->Get(i);
        j.open('{').key("quantity").value(fb::EnumNameQuantity(condition.quantity()));
        if (condition.quantity() == fb::Quantity::Mode)
          j.key("is").value(fb::EnumNameMode(fb::Mode(condition.value())));
        else
          j.key("most").value(condition.value());
        j.close();
      }
      j.close();
      writeLaunches(j, e, *one);
      j.close();
    }
    j.close().close();
  }
  j.close();
}

void writeNumbers(JsonText &j, const char *key, const flatbuffers::Vector<uint32_t> *numbers) {
  j.key(key).open('[');
  for (unsigned i = 0; numbers && i < numbers->size(); ++i)
    j.value(numbers->Get(i));
  j.close();
}

void writeEntries(JsonText &j, const fb::Program &e) {
  j.key("entries").open('[');
  for (const fb::Entry *entry : *e.entries()) {
    j.open('{').key("name").value(view(entry->name())).key("launches").value(entry->launches());
    j.key("modes").open('[');
    for (fb::Mode mode : *entry->modes())
      j.value(fb::EnumNameMode(mode));
    j.close().key("steps").open('[');
    for (const fb::Step *step : *entry->steps()) {
      j.open('{').key("section").value(step->section()).key("layer").value(step->layer());
      writeNumbers(j, "weights", step->weights());
      writeNumbers(j, "states", step->states());
      j.close();
    }
    j.close().key("outputs").open('[');
    for (const fb::Output *output : *entry->outputs()) {
      j.open('{').key("role").value(fb::EnumNameOutputRole(output->role()));
      j.key("encoding").value(fb::EnumNameEncoding(output->encoding()));
      j.key("buffer").value(output->buffer()).close();
    }
    j.close().close();
  }
  j.close();
}

void writeMemory(JsonText &j, const EngineFile &engine, const MemoryLimits &limits,
                 const fb::Program &e) {
  j.key("memory").open('{').key("bytes_per_token").value(e.bytes_per_token());
  j.key("bytes_per_row").value(e.bytes_per_row()).key("bytes_fixed").value(e.bytes_fixed());
  j.key("bytes_per_page")
      .value(e.bytes_per_page())
      .key("page_tokens")
      .value(e.abi()->page_tokens());
  if (e.bytes_per_slot())
    j.key("bytes_per_slot").value(e.bytes_per_slot());
  j.close();
  if (Result<MemoryPlan> planned = memoryPlan(engine, limits, e))
    j.key("statement").raw(planned->json());
  j.key("states").open('[');
  for (const fb::State *state : *e.states()) {
    j.open('{').key("name").value(view(state->name()));
    j.key("kind").value(fb::EnumNameStateKind(state->kind())).key("window").value(state->window());
    if (state->kind() == fb::StateKind::Fixed)
      j.key("slot_bytes").value(state->slot_bytes());
    else
      j.key("page_bytes").value(state->page_bytes());
    j.key("streams").open('[');
    for (const fb::Stream *stream : *state->streams()) {
      j.open('{').key("name").value(view(stream->name())).key("heads").value(stream->heads());
      j.key("width").value(stream->width()).key("format").value(view(stream->format())).close();
    }
    j.close().close();
  }
  j.close().key("buffers").open('[');
  for (const fb::Buffer *b : *e.buffers()) {
    j.open('{').key("name").value(view(b->name())).key("class");
    j.value(fb::EnumNameBufferClass(b->class_())).key("bytes_per_unit").value(b->per_unit());
    j.key("offset").value(b->offset()).close();
  }
  j.close();
}

void writeText(JsonText &j, const EngineFile &engine) {
  const fb::Text *text = engine.table().text();
  j.key("tokenizer")
      .value(engine.tokenizer().empty() ? std::string_view("none") : view(text->tokenizer_kind()));
  j.key("chat_template").value(!engine.chatTemplate().empty());
  if (const fb::SpecialTokens *s = text ? text->special() : nullptr) {
    j.key("special_tokens").open('{').key("bos").value(s->bos()).key("pad").value(s->pad());
    j.key("unknown").value(s->unknown()).key("add_bos").value(s->add_bos()).key("eos").open('[');
    for (unsigned i = 0; s->eos() && i < s->eos()->size(); ++i)
      j.value(s->eos()->Get(i));
    j.close();
    for (const auto &[name, ids] :
         {std::pair("prefix", engine.textPrefix()), std::pair("suffix", engine.textSuffix())}) {
      j.key(name).open('[');
      for (int32_t id : ids)
        j.value(id);
      j.close();
    }
    j.close();
  }
}

void writeEvidence(JsonText &j, const fb::Engine &e) {
  j.key("evidence").open('[');
  for (unsigned i = 0; e.evidence() && i < e.evidence()->size(); ++i) {
    const fb::Evidence *x = e.evidence()->Get(i);
    j.open('{').key("pass").value(view(x->pass())).key("inputs").value(view(x->inputs()));
    j.key("max_abs").value(x->max_abs()).key("max_rel").value(x->max_rel()).close();
  }
  j.close();
}

void writeProvenance(JsonText &j,
                     const flatbuffers::Vector<flatbuffers::Offset<fb::Attribute>> *attributes) {
  j.key("provenance").open('{');
  for (unsigned i = 0; attributes && i < attributes->size(); ++i)
    j.key(view(attributes->Get(i)->key())).value(view(attributes->Get(i)->value()));
  j.close();
}

void writeProgram(JsonText &j, const EngineFile &engine, const MemoryLimits &limits,
                  const fb::Program &program) {
  j.open('{').key("device").value(deviceKindName(deviceKind(program)));
  writeMemory(j, engine, limits, program);
  writeTargets(j, engine.table(), program);
  writeKernels(j, program);
  writeSections(j, program);
  writeEntries(j, program);
  writeSeed(j, engine.table(), program);
  writeWeights(j, program);
  writeProvenance(j, program.provenance());
  j.close();
}

} // namespace

std::string inspectJson(const EngineFile &engine, const MemoryLimits &limits) {
  const fb::Engine &e = engine.table();
  JsonText j;
  j.open('{').key("format").value(std::to_string(engine.header().major) + "." +
                                  std::to_string(engine.header().minor));
  j.key("file_bytes").value(engine.fileBytes());
  j.key("compiler_version").value(view(e.compiler_version()));
  j.key("precision").value(e.precision() == fb::Precision::Exact ? "exact" : "fast");
  writeModel(j, e);
  writeText(j, engine);
  writeFormats(j, engine);
  j.key("programs").open('[');
  for (const fb::Program *program : *e.programs())
    writeProgram(j, engine, limits, *program);
  j.close();
  writeSegments(j, e);
  writeProvenance(j, e.provenance());
  writeEvidence(j, e);
  return j.close().text() + "\n";
}

std::string evidenceJson(const EngineFile &engine) {
  JsonText j;
  j.open('{');
  writeSeed(j, engine.table(), *engine.table().programs()->Get(0));
  writeEvidence(j, engine.table());
  return j.close().text() + "\n";
}

} // namespace ingot::runtime

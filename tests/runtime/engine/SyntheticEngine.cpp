//===- SyntheticEngine.cpp - See SyntheticEngine.h ------------------------===//
#include "SyntheticEngine.h"

#include "runtime/engine/Hash.h"
#include "runtime/engine/Memory.h"
#include "runtime/formats/PanelLayout.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace ingot::test {
namespace {

constexpr uint32_t kVocab = 40, kHidden = 64;

std::unique_ptr<fb::KernelT> kernel(std::string name, fb::GridBase base, uint64_t factor,
                                    uint32_t args) {
  auto k = std::make_unique<fb::KernelT>();
  k->name = std::move(name);
  k->family = "rowwise";
  k->grid = std::make_unique<fb::GridT>();
  k->grid->base = base;
  k->grid->factor = factor;
  k->args = args;
  k->scratch_bytes = 100;
  return k;
}

std::unique_ptr<fb::BufferT> buffer(std::string name, fb::BufferClass kind, uint64_t size,
                                    uint64_t offset) {
  auto b = std::make_unique<fb::BufferT>();
  b->name = std::move(name);
  b->class_ = kind;
  b->per_unit = size;
  b->offset = offset;
  return b;
}

/// Appends a weight.
void addWeight(Program &table, std::string name, WeightFormat format, std::vector<uint64_t> shape) {
  auto w = std::make_unique<fb::WeightT>();
  w->name = std::move(name);
  w->format = numericFormat(format).name;
  w->layout = shape.size() == 1 ? fb::WeightLayout::VectorF32 : fb::WeightLayout::Panel32;
  w->segment = 2;
  if (!table.weights.empty())
    w->offset = table.weights.back()->offset + table.weights.back()->size;
  w->size =
      shape.size() == 1 ? f32RowBytes(shape[0]) : panelLayout(format, shape[0], shape[1]).bytes();
  w->shape = std::move(shape);
  table.weights.push_back(std::move(w));
}

std::unique_ptr<fb::SectionT> section(std::string name, uint32_t kernel,
                                      std::vector<fb::Arg> args) {
  auto s = std::make_unique<fb::SectionT>();
  s->name = std::move(name);
  auto launch = std::make_unique<fb::LaunchT>();
  launch->kernel = kernel;
  launch->args = std::move(args);
  s->cases.push_back(std::make_unique<fb::CaseT>());
  s->cases[0]->launches.push_back(std::move(launch));
  return s;
}

void addStep(Program &program, uint32_t section, std::vector<uint32_t> weights,
             std::vector<uint32_t> states, int layer) {
  auto s = std::make_unique<fb::StepT>();
  s->section = section;
  s->weights = std::move(weights);
  s->states = std::move(states);
  s->layer = layer;
  entryOf(program).steps.push_back(std::move(s));
}

void addProgram(Program &t) {
  using fb::Arg;
  using fb::ArgKind;
  t.kernels.push_back(kernel("copy_rows", fb::GridBase::Tokens, 1, 3));
  t.kernels.push_back(kernel("attend", fb::GridBase::Tiles, 2, 3));
  t.buffers.push_back(buffer("x", fb::BufferClass::PerToken, 256, 0));
  t.buffers.push_back(buffer("y", fb::BufferClass::PerToken, 256, 256));
  t.buffers.push_back(buffer("logits", fb::BufferClass::PerRow, 256, 0));
  t.buffers.push_back(buffer("constants", fb::BufferClass::Fixed, 64, 0));
  t.entries.push_back(std::make_unique<fb::EntryT>());
  t.entries[0]->name = "generate";
  t.entries[0]->modes = {fb::Mode::Logits};
  addOutput(t, fb::OutputRole::Logits, fb::Encoding::F32, 2);
  addWeight(t, "token_embd.weight", WeightFormat::Q8_0, {kVocab, kHidden});
  addWeight(t, "blk.0.attn.weight", WeightFormat::Q4_1, {kHidden, kHidden});
  addWeight(t, "blk.1.attn.weight", WeightFormat::Q4_1, {kHidden, kHidden});
  addWeight(t, "output_norm.weight", WeightFormat::F32, {kHidden});
  t.sections.push_back(section(
      "embed", 0, {Arg(ArgKind::Weight, 0), Arg(ArgKind::Buffer, 0), Arg(ArgKind::Buffer, 3)}));
  t.sections.push_back(section(
      "layer", 1, {Arg(ArgKind::LayerWeight, 0), Arg(ArgKind::State, 0), Arg(ArgKind::Buffer, 0)}));
  t.sections.push_back(section(
      "head", 0, {Arg(ArgKind::Weight, 3), Arg(ArgKind::Buffer, 0), Arg(ArgKind::Buffer, 2)}));
  addStep(t, 0, {}, {}, -1);
  addStep(t, 1, {1}, {0}, 0);
  addStep(t, 1, {2}, {1}, 1);
  addStep(t, 2, {}, {}, -1);
  for (int layer = 0; layer < 2; ++layer) {
    auto state = std::make_unique<fb::StateT>();
    state->name = "kv." + std::to_string(layer);
    for (const char *name : {"k", "v"}) {
      auto stream = std::make_unique<fb::StreamT>();
      stream->name = name, stream->heads = 2, stream->width = 32, stream->format = "bf16";
      state->streams.push_back(std::move(stream));
    }
    state->page_bytes = 2 * 2 * 32 * 32 * 2;
    t.states.push_back(std::move(state));
  }
}

void addText(Table &t) {
  t.text = std::make_unique<fb::TextT>();
  t.text->tokenizer_segment = 3;
  t.text->tokenizer_kind = "kitoken";
  t.text->chat_template_segment = 4;
  t.text->special = std::make_unique<fb::SpecialTokensT>();
  t.text->special->bos = 1;
  t.text->special->eos = {2, 3};
  t.generation = std::make_unique<fb::GenerationDefaultsT>();
  auto source = std::make_unique<fb::AttributeT>();
  source->key = "source.hash";
  source->value = "0123456789abcdef";
  t.provenance.push_back(std::move(source));
  auto evidence = std::make_unique<fb::EvidenceT>();
  evidence->pass = "fuse";
  evidence->inputs = "seeded slice";
  evidence->max_abs = 1e-6;
  t.evidence.push_back(std::move(evidence));
}

Table syntheticTable() {
  Table t;
  t.compiler_version = "0.1.0";
  t.model = std::make_unique<fb::ModelT>();
  t.model->name = "synthetic";
  t.model->family = "llama";
  t.model->vocab = kVocab;
  t.model->hidden = kHidden;
  t.model->layers = 2;
  t.model->context = 256;
  t.model->parameters = 2 * kHidden * kHidden + kVocab * kHidden;
  t.programs.push_back(std::make_unique<Program>());
  Program &program = *t.programs.back();
  program.abi = std::make_unique<fb::AbiT>();
  program.abi->page_tokens = 32, program.abi->attention_tile = 16;
  program.abi->greedy_rows = 64, program.abi->read_block = 128;
  for (uint32_t i = 0; i < 2; ++i) {
    auto code = std::make_unique<fb::CodeObjectT>();
    code->target = i == 0 ? "cpu:avx2" : "cpu:avx512";
    code->segment = i;
    code->kernel_symbols = {"copy_rows", "attend"};
    program.code.push_back(std::move(code));
  }
  addProgram(program);
  addText(t);
  return t;
}

/// Fills a weight with bytes that depend on the weight and the variant.
void fillWeight(std::span<std::byte> bytes, uint64_t seed) {
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (std::byte &b : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    b = static_cast<std::byte>(state >> 56);
  }
}

void append(std::string &file, std::string_view bytes) {
  file.resize(runtime::nextSegment(file.size()), '\0');
  file += bytes;
}

} // namespace

Synthetic syntheticEngine(unsigned variant) {
  Synthetic s;
  s.table = syntheticTable();
  s.sources.push_back(compiler::segmentOf(fb::SegmentKind::Code, codeObject("plain")));
  s.sources.push_back(compiler::segmentOf(fb::SegmentKind::Code, codeObject("plain")));
  compiler::SegmentSource weights{fb::SegmentKind::Weights, 0, {}};
  for (const auto &w : s.table.programs[0]->weights) {
    weights.jobs.push_back(
        {w->offset, w->size, [seed = w->offset + 1000 * variant](std::span<std::byte> to) {
           fillWeight(to, seed);
           return Result<void>();
         }});
    weights.size = w->offset + w->size;
  }
  s.sources.push_back(std::move(weights));
  s.sources.push_back(compiler::segmentOf(fb::SegmentKind::Tokenizer, "a tokenizer's bytes"));
  s.sources.push_back(compiler::segmentOf(fb::SegmentKind::ChatTemplate, "{{ messages }}"));
  return s;
}

Program &cpuProgram(Table &table) { return *table.programs[0]; }
fb::EntryT &entryOf(Program &program) { return *program.entries[0]; }

fb::OutputT &outputOf(Program &program, fb::OutputRole role) {
  for (auto &output : entryOf(program).outputs)
    if (output->role == role)
      return *output;
  ADD_FAILURE() << "there is no such output";
  return *entryOf(program).outputs[0];
}

fb::OutputT &addOutput(Program &program, fb::OutputRole role, fb::Encoding encoding,
                       size_t buffer) {
  auto output = std::make_unique<fb::OutputT>();
  output->role = role, output->encoding = encoding, output->buffer = uint32_t(buffer);
  entryOf(program).outputs.push_back(std::move(output));
  return *entryOf(program).outputs.back();
}

void seedMatrices(Table &table) {
  Program &program = cpuProgram(table);
  table.seed = 7;
  program.seed_bytes = 0;
  for (uint32_t i = 0; i < 3; ++i) {
    fb::WeightT &weight = *program.weights[i];
    weight.source = fb::WeightSource::Seed;
    weight.tensor = i;
    weight.segment = 0;
    weight.offset = program.seed_bytes;
    program.seed_bytes += weight.size;
  }
}

Synthetic seededEngine() {
  Synthetic s = syntheticEngine();
  seedMatrices(s.table);
  fb::WeightT &vector = *s.table.programs[0]->weights[3];
  compiler::SegmentSource &weights = s.sources[2];
  weights.jobs.erase(weights.jobs.begin(), weights.jobs.begin() + 3);
  weights.size = weights.jobs[0].size;
  weights.jobs[0].offset = vector.offset = 0;
  return s;
}

std::string codeObject(const std::string &name) {
  return readFile(std::string(INGOT_TEST_OBJECTS) + "/kernels_" + name + ".so");
}

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

void writeFile(const std::string &path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
}

Folder::Folder() {
  std::string pattern = std::filesystem::temp_directory_path() / "ingot-test-XXXXXX";
  path = ::mkdtemp(pattern.data());
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> list;
  for (const auto &entry : std::filesystem::directory_iterator(path))
    list.push_back(entry.path().filename());
  std::sort(list.begin(), list.end());
  return list;
}

std::string validEngine(unsigned variant) {
  Folder folder;
  Synthetic s = syntheticEngine(variant);
  auto written = compiler::writeEngine(folder / "e", std::move(s.table), std::move(s.sources));
  EXPECT_TRUE(written) << written.error().format();
  return readFile(folder / "e");
}

/// Cubins are ELF files of machine 190. Nothing else in them is checked here.
static std::string gpuModule(bool ptx) {
  if (ptx)
    return std::string(".version 8.0\n.entry copy_rows()\n.entry attend()\n") + '\0';
  std::string cubin = codeObject("plain");
  cubin[18] = char(190);
  return cubin;
}

static std::unique_ptr<fb::VariantT> gpuVariant(const std::string &symbol, uint64_t maxTokens) {
  auto v = std::make_unique<fb::VariantT>();
  v->symbol = symbol;
  v->max_tokens = maxTokens;
  v->x = std::make_unique<fb::Extent>(fb::GridBase::Tokens, 1, 2);
  v->y = std::make_unique<fb::Extent>(fb::GridBase::Constant, 3, 1);
  v->z = std::make_unique<fb::Extent>(fb::GridBase::Constant, 1, 1);
  v->threads = 128;
  return v;
}

fb::TensorMapT &addTensorMap(fb::VariantT &variant) {
  auto map = std::make_unique<fb::TensorMapT>();
  map->operand = 1;
  map->element = fb::TensorElement::BF16;
  map->box_rows = 64;
  map->box_columns = 64;
  map->swizzle = true;
  variant.tensor_maps.push_back(std::move(map));
  return *variant.tensor_maps.back();
}

void withCluster(Table &t) {
  fb::VariantT &variant = *withGpuProgram(t).code[0]->variants[0]->variants[0];
  variant.cluster = 2;
  addTensorMap(variant);
}

void withShares(Table &t) {
  Program &program = withGpuProgram(t);
  program.attention_shares = 64, program.attention_slots = 4096;
  auto &variants = program.code[0]->variants[0]->variants;
  for (size_t i = 0; i < variants.size(); ++i) {
    variants[i]->max_tokens = 0;
    *variants[i]->x = {i ? fb::GridBase::Shares : fb::GridBase::PromptTiles, 2, 1};
  }
}

static size_t addRows(Program &program, const char *name, uint64_t bytes) {
  program.buffers.push_back(buffer(name, fb::BufferClass::PerRow, bytes, program.bytes_per_row));
  program.bytes_per_row += bytes;
  return program.buffers.size() - 1;
}

void withMaxima(Table &t) {
  Program &program = cpuProgram(t);
  addOutput(program, fb::OutputRole::Keys, fb::Encoding::Key, addRows(program, "greedy_keys", 64));
  addOutput(program, fb::OutputRole::Maxima, fb::Encoding::F32,
            addRows(program, "logit_maxima", 128));
  entryOf(program).modes.push_back(fb::Mode::Greedy);
}

fb::StateT &addFixedState(Program &program) {
  auto stream = std::make_unique<fb::StreamT>();
  stream->name = "x", stream->heads = 2, stream->width = 64, stream->format = "f32";
  auto state = std::make_unique<fb::StateT>();
  state->name = "conv.0";
  state->kind = fb::StateKind::Fixed;
  state->slot_bytes = 512;
  state->streams.push_back(std::move(stream));
  program.states.push_back(std::move(state));
  program.bytes_per_slot += 512;
  return *program.states.back();
}

void withIds(Program &program) {
  const size_t ids = addRows(program, "ids", 64);
  auto found = section("ids", 0,
                       {fb::Arg(fb::ArgKind::Buffer, 3), fb::Arg(fb::ArgKind::Buffer, 2),
                        fb::Arg(fb::ArgKind::Buffer, uint32_t(ids))});
  found->cases[0]->when.push_back(std::make_unique<fb::ConditionT>());
  found->cases[0]->when[0]->value = uint64_t(fb::Mode::Greedy);
  found->cases.push_back(std::make_unique<fb::CaseT>());
  program.sections.push_back(std::move(found));
  addStep(program, uint32_t(program.sections.size()) - 1, {}, {}, -1);
  addOutput(program, fb::OutputRole::Ids, fb::Encoding::I32, ids);
  entryOf(program).modes.push_back(fb::Mode::Greedy);
}

Program &withGpuProgram(Table &t) {
  if (t.programs.size() > 1)
    return *t.programs[1];
  auto program = std::make_unique<Program>(cpuProgram(t));
  program->code.clear();
  for (bool ptx : {false, true}) {
    auto code = std::make_unique<fb::CodeObjectT>();
    code->target = ptx ? "cuda:compute_80" : "cuda:sm_90a";
    code->segment = uint32_t(t.segments.size());
    t.segments.push_back(std::make_unique<fb::SegmentT>());
    code->modules.push_back(std::make_unique<fb::ModuleT>());
    code->modules[0]->size = gpuModule(ptx).size();
    for (const char *symbol : {"copy_rows", "attend"}) {
      code->variants.push_back(std::make_unique<fb::KernelVariantsT>());
      auto &list = code->variants.back()->variants;
      if (code->variants.size() == 1)
        list.push_back(gpuVariant(symbol, 8));
      list.push_back(gpuVariant(symbol, 0));
    }
    program->code.push_back(std::move(code));
  }
  t.programs.push_back(std::move(program));
  return *t.programs[1];
}

std::string assemble(const Change &before, const Change &after,
                     const std::function<void(std::vector<std::string> &)> &segments) {
  // Take a valid engine apart.
  static const std::string bytes = validEngine();
  AlignedBytes valid(bytes);
  auto engine = runtime::EngineFile::fromMemory(valid.span(), runtime::VerifyLevel::Everything);
  EXPECT_TRUE(engine);
  Table table;
  (*engine)->table().UnPackTo(&table);
  std::vector<std::string> contents;
  for (size_t i = 0; i < table.segments.size(); ++i) {
    auto bytes = (*engine)->segment(i);
    contents.emplace_back(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  }

  if (before)
    before(table);
  for (bool ptx = false; contents.size() < table.segments.size(); ptx = true)
    contents.push_back(gpuModule(ptx));
  if (segments)
    segments(contents);
  auto pack = [&] {
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceDefaults(true);
    fb::FinishEngineBuffer(builder, fb::Engine::Pack(builder, &table));
    return std::string(reinterpret_cast<const char *>(builder.GetBufferPointer()),
                       builder.GetSize());
  };
  uint64_t end = sizeof(runtime::EngineHeader) + pack().size();
  for (size_t i = 0; i < contents.size(); ++i) {
    fb::SegmentT &segment = *table.segments[i];
    runtime::Hash128 hash = runtime::hash128(std::as_bytes(std::span(contents[i])));
    segment.offset = runtime::nextSegment(end);
    segment.size = contents[i].size();
    segment.hash_lo = hash.low;
    segment.hash_hi = hash.high;
    end = segment.offset + segment.size;
  }
  if (after)
    after(table);

  std::string file(sizeof(runtime::EngineHeader), '\0'), packed = pack();
  file += packed;
  for (const std::string &bytes : contents)
    append(file, bytes);
  append(file, "");
  runtime::EngineHeader header{};
  std::memcpy(header.magic, runtime::kMagic, 8);
  header.major = runtime::kFormatMajor;
  header.minor = runtime::kFormatMinor;
  header.fileSize = file.size();
  header.tableOffset = sizeof header;
  header.tableSize = packed.size();
  std::memcpy(file.data(), &header, sizeof header);
  sealHeader(file);
  return file;
}

void sealHeader(std::string &file) {
  runtime::EngineHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  if (header.tableOffset <= file.size() && header.tableSize <= file.size() - header.tableOffset)
    header.tableHash = runtime::hash128(
        std::as_bytes(std::span(file)).subspan(header.tableOffset, header.tableSize));
  header.checksum = runtime::headerChecksum(header);
  std::memcpy(file.data(), &header, sizeof header);
}

AlignedBytes::AlignedBytes(std::string_view bytes)
    : data(static_cast<std::byte *>(
               std::aligned_alloc(4096, runtime::nextSegment(std::max<size_t>(bytes.size(), 1)))),
           std::free),
      size(bytes.size()) {
  std::memcpy(data.get(), bytes.data(), bytes.size());
}

} // namespace ingot::test

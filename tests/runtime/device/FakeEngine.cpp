//===- FakeEngine.cpp - Table, weights and reference of the fake model ----===//
#include "tests/runtime/device/FakeEngine.h"

#include "runtime/abi/Batch.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace ingot::test {

namespace {

constexpr int64_t kModulus = 8191;
constexpr float kLayerWeights[2] = {129, 4001};
constexpr uint64_t kVectorBytes = 128; ///< 32 floats

constexpr uint32_t kLogits = 3; ///< buffer index

std::unique_ptr<fb::KernelT> kernel(const char *name, fb::GridBase base, uint64_t factor,
                                    fb::Partition partition, uint32_t args, uint64_t scratch = 0) {
  auto result = std::make_unique<fb::KernelT>();
  result->name = name;
  result->family = "test";
  result->grid = std::make_unique<fb::GridT>();
  result->grid->base = base;
  result->grid->factor = factor;
  result->partition = partition;
  result->args = args;
  result->scratch_bytes = scratch;
  return result;
}

std::unique_ptr<fb::LaunchT>
launch(uint32_t kernel, std::vector<std::pair<fb::ArgKind, uint32_t>> args, bool barrier = true) {
  auto result = std::make_unique<fb::LaunchT>();
  result->kernel = kernel;
  result->barrier = barrier;
  for (auto [kind, index] : args)
    result->args.emplace_back(kind, index);
  return result;
}

} // namespace

void addOutput(fb::ProgramT &program, fb::OutputRole role, fb::Encoding encoding, uint32_t buffer) {
  auto output = std::make_unique<fb::OutputT>();
  output->role = role, output->encoding = encoding, output->buffer = buffer;
  program.entries.front()->outputs.push_back(std::move(output));
}

namespace {

void addProgram(fb::ProgramT &program) {
  using Base = fb::GridBase;
  constexpr auto Contiguous = fb::Partition::Contiguous, Cyclic = fb::Partition::Cyclic;
  program.kernels.push_back(kernel("embed", Base::Tokens, 1, Contiguous, 1));
  program.kernels.push_back(kernel("constants", Base::Constant, 5, Cyclic, 1));
  program.kernels.push_back(kernel("append", Base::Tokens, 1, Cyclic, 2));
  program.kernels.push_back(kernel("attend", Base::Tiles, 1, Cyclic, 3, 16 * sizeof(int64_t)));
  program.kernels.push_back(kernel("residual", Base::Tokens, 1, Contiguous, 2));
  program.kernels.push_back(kernel("head", Base::Rows, 4, Contiguous, 4));

  enum { Hidden, Attended, Constants, Logits };
  constexpr auto Buf = fb::ArgKind::Buffer;
  auto section = [&](const char *name) -> fb::SectionT & {
    program.sections.push_back(std::make_unique<fb::SectionT>());
    program.sections.back()->name = name;
    program.sections.back()->cases.push_back(std::make_unique<fb::CaseT>());
    return *program.sections.back();
  };
  fb::SectionT &begin = section("begin");
  begin.cases[0]->launches.push_back(launch(0, {{Buf, Hidden}}, /*barrier=*/false));
  begin.cases[0]->launches.push_back(launch(1, {{Buf, Constants}}));
  fb::SectionT &layer = section("layer");
  layer.cases[0]->launches.push_back(launch(2, {{Buf, Hidden}, {fb::ArgKind::State, 0}}));
  layer.cases[0]->launches.push_back(
      launch(3, {{Buf, Attended}, {fb::ArgKind::State, 0}, {fb::ArgKind::LayerWeight, 0}}));
  layer.cases[0]->launches.push_back(launch(4, {{Buf, Attended}, {Buf, Hidden}}));
  fb::SectionT &end = section("end");
  end.cases[0]->launches.push_back(
      launch(5, {{Buf, Hidden}, {Buf, Constants}, {fb::ArgKind::Weight, 2}, {Buf, Logits}}));

  program.entries.push_back(std::make_unique<fb::EntryT>());
  fb::EntryT &entry = *program.entries.back();
  entry.name = "generate";
  entry.modes = {fb::Mode::Logits};
  for (uint32_t sectionIndex : {0u, 1u, 1u, 2u}) {
    auto step = std::make_unique<fb::StepT>();
    step->section = sectionIndex;
    if (sectionIndex == 1) {
      step->layer = entry.steps.size() == 1 ? 0 : 1;
      step->states = {uint32_t(step->layer)};
      step->weights = {uint32_t(step->layer)};
    }
    entry.steps.push_back(std::move(step));
  }
}

void addMemory(fb::ProgramT &program) {
  auto buffer = [&](const char *name, fb::BufferClass bufferClass, uint64_t perUnit,
                    uint64_t offset) {
    auto result = std::make_unique<fb::BufferT>();
    result->name = name;
    result->class_ = bufferClass;
    result->per_unit = perUnit;
    result->offset = offset;
    program.buffers.push_back(std::move(result));
  };
  buffer("hidden", fb::BufferClass::PerToken, 64, 0);
  buffer("attended", fb::BufferClass::PerToken, 64, 64);
  buffer("constants", fb::BufferClass::Fixed, 64, 0);
  buffer("logits", fb::BufferClass::PerRow, (kFakeVocab + 31) / 32 * 32 * 4, 0);
  addOutput(program, fb::OutputRole::Logits, fb::Encoding::F32, kLogits);
  for (int layer = 0; layer < 2; ++layer) {
    auto state = std::make_unique<fb::StateT>();
    state->name = "kv." + std::to_string(layer);
    for (const char *name : {"k", "v"}) {
      auto stream = std::make_unique<fb::StreamT>();
      stream->name = name, stream->heads = 1, stream->width = 16, stream->format = "f32";
      state->streams.push_back(std::move(stream));
    }
    state->page_bytes = 2 * 32 * 16 * sizeof(float);
    program.states.push_back(std::move(state));
  }
}

/// Adds a first launch of each layer that updates a per-sequence number with each token.
void addRecurrence(fb::ProgramT &program) {
  const auto kernelIndex = uint32_t(program.kernels.size());
  program.kernels.push_back(kernel("recur", fb::GridBase::Spans, 1, fb::Partition::Contiguous, 2));
  auto &launches = program.sections[1]->cases[0]->launches;
  launches.insert(launches.begin(),
                  launch(kernelIndex, {{fb::ArgKind::Buffer, 0}, {fb::ArgKind::State, 1}}));
  for (uint32_t layer = 0; layer < 2; ++layer) {
    auto stream = std::make_unique<fb::StreamT>();
    stream->name = "h", stream->heads = 1, stream->width = 9, stream->format = "f32";
    auto state = std::make_unique<fb::StateT>();
    state->name = "rec." + std::to_string(layer);
    state->kind = fb::StateKind::Fixed;
    state->slot_bytes = 64;
    state->streams.push_back(std::move(stream));
    program.entries[0]->steps[1 + layer]->states.push_back(uint32_t(program.states.size()));
    program.states.push_back(std::move(state));
  }
}

/// Adds a last launch that writes hidden states for the runtime.
void addHidden(fb::ProgramT &program) {
  program.kernels.push_back(kernel("states", fb::GridBase::Rows, 1, fb::Partition::Contiguous, 2));
  auto rows = std::make_unique<fb::BufferT>();
  rows->name = "states";
  rows->class_ = fb::BufferClass::PerRow;
  rows->per_unit = 128;
  rows->offset = program.buffers[kLogits]->per_unit;
  addOutput(program, fb::OutputRole::Hidden, fb::Encoding::F32, uint32_t(program.buffers.size()));
  program.sections.back()->cases[0]->launches.push_back(
      launch(uint32_t(program.kernels.size()) - 1,
             {{fb::ArgKind::Buffer, 0}, {fb::ArgKind::Buffer, uint32_t(program.buffers.size())}}));
  program.buffers.push_back(std::move(rows));
}

/// Adds weights 0 and 1 for the layers, and weight 2 for the head, which starts with the vocabulary size.
std::string addWeights(fb::ProgramT &program, uint32_t segment) {
  std::string bytes(3 * kVectorBytes, '\0');
  auto put = [&](size_t weight, size_t index, float value) {
    std::memcpy(bytes.data() + weight * kVectorBytes + index * sizeof(float), &value,
                sizeof(float));
  };
  put(0, 7, kLayerWeights[0]);
  put(1, 7, kLayerWeights[1]);
  put(2, 0, float(kFakeVocab));
  for (uint64_t i = 0; i < 3; ++i) {
    auto weight = std::make_unique<fb::WeightT>();
    weight->name = "w" + std::to_string(i);
    weight->format = "f32";
    weight->layout = fb::WeightLayout::VectorF32;
    weight->shape = {32};
    weight->segment = segment;
    weight->offset = i * kVectorBytes;
    weight->size = kVectorBytes;
    program.weights.push_back(std::move(weight));
  }
  return bytes;
}

} // namespace

std::string fakeTokenizerJson() {
  std::string vocab;
  for (int id = 0; id < 94; ++id) {
    char c = char('!' + id);
    vocab += std::string("\"") + (c == '"' || c == '\\' ? "\\" : "") + c +
             "\":" + std::to_string(id) + ",";
  }
  vocab += "\"\\u0120\":94,\"\\u00c3\":95,\"<eos>\":96";
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":96,)"
         R"("content":"<eos>","single_word":false,"lstrip":false,"rstrip":false,)"
         R"("normalized":false,"special":true}],"normalizer":null,"pre_tokenizer":)"
         R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false},)"
         R"("post_processor":null,"decoder":{"type":"ByteLevel","add_prefix_space":false,)"
         R"("trim_offsets":true,"use_regex":false},"model":{"type":"BPE","dropout":null,)"
         R"("unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,)"
         R"("fuse_unk":false,"byte_fallback":false,"vocab":{)" +
         vocab + R"(},"merges":[]}})";
}

std::string writeFakeEngine(const std::string &name, const FakeOptions &options) {
  fb::EngineT engine;
  engine.compiler_version = "test";
  engine.model = std::make_unique<fb::ModelT>();
  engine.model->name = "fake";
  engine.model->family = "fake";
  engine.model->vocab = kFakeVocab;
  engine.model->hidden = options.states ? uint32_t(kFakeStates) : 1;
  engine.model->layers = 2;
  engine.model->context = options.context;
  engine.programs.push_back(std::make_unique<fb::ProgramT>());
  fb::ProgramT &program = *engine.programs.back();
  program.abi = std::make_unique<fb::AbiT>();
  program.abi->page_tokens = kPageTokens;
  program.abi->attention_tile = kAttentionTile;
  addProgram(program);
  addMemory(program);
  if (options.states)
    addHidden(program);
  if (options.recurrent)
    addRecurrence(program);

  std::ifstream file(INGOT_FAKE_KERNELS, std::ios::binary);
  std::stringstream code;
  code << file.rdbuf();
  program.code.push_back(std::make_unique<fb::CodeObjectT>());
  program.code.back()->target = "cpu:avx2";
  program.code.back()->segment = 0;
  for (const auto &k : program.kernels)
    program.code.back()->kernel_symbols.push_back(k->name);

  std::vector<compiler::SegmentSource> sources;
  sources.push_back(compiler::segmentOf(fb::SegmentKind::Code, code.str()));
  sources.push_back(compiler::segmentOf(fb::SegmentKind::Weights, addWeights(program, 1)));
  engine.text = std::make_unique<fb::TextT>();
  engine.text->special = std::make_unique<fb::SpecialTokensT>();
  engine.text->special->eos = {kFakeEos};
  if (!options.tokenizerBytes.empty()) {
    sources.push_back(compiler::segmentOf(fb::SegmentKind::Tokenizer, options.tokenizerBytes));
    engine.text->tokenizer_segment = 2;
    engine.text->tokenizer_kind = options.tokenizerKind;
  }
  if (options.addCode)
    options.addCode(engine, sources);
  if (options.change)
    options.change(engine);

  std::string path = testing::TempDir() + "ingot-" + std::to_string(getpid()) + "-" + name;
  auto written = compiler::writeEngine(path, std::move(engine), std::move(sources));
  EXPECT_TRUE(written) << written.error().format();
  return path;
}

namespace {

/// Returns the hidden value of the last of `ids` after the layers.
int64_t fakeHidden(std::span<const int32_t> ids, bool recurrent = false) {
  std::vector<int64_t> hidden(ids.begin(), ids.end());
  for (float weight : kLayerWeights) {
    int64_t r = 0;
    for (size_t q = 0; recurrent && q < hidden.size(); ++q) {
      r = (r * 29 + hidden[q] + 11) % kModulus;
      hidden[q] = (hidden[q] + r) % kModulus;
    }
    std::vector<int64_t> next(hidden.size());
    int64_t h = 0; // it folds over the past only, so it is causal
    for (size_t q = 0; q < hidden.size(); ++q) {
      int64_t k = hidden[q], v = hidden[q] + int64_t(q % 5);
      next[q] = h = (h * 31 + k * 3 + v + int64_t(q) * 7 + int64_t(weight)) % kModulus;
    }
    hidden = std::move(next);
  }
  return hidden.back();
}

} // namespace

std::vector<float> fakeState(std::span<const int32_t> ids) {
  const int64_t h = fakeHidden(ids);
  std::vector<float> state;
  for (int64_t k = 0; k < kFakeStates; ++k)
    state.push_back(float((h * (7 + 13 * k) + k * k * 101 + 17) % 127 - 63));
  return state;
}

std::vector<float> fakeLogits(std::span<const int32_t> ids, bool recurrent) {
  const int64_t hidden = fakeHidden(ids, recurrent);
  int64_t constants = 0;
  for (int64_t i = 0; i < 5; ++i)
    constants += i * 11 + 1;
  std::vector<float> logits;
  for (int64_t v = 0; v < kFakeVocab; ++v)
    logits.push_back(float((hidden * (v + 3) + v * v * 7 + constants) % 1009) / 64.0f);
  return logits;
}

std::vector<int32_t> fakeGreedy(std::vector<int32_t> ids, int64_t count, bool stopAtEos,
                                bool recurrent) {
  std::vector<int32_t> answer;
  while (int64_t(answer.size()) < count) {
    std::vector<float> logits = fakeLogits(ids, recurrent);
    int32_t id = int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
    if (stopAtEos && id == kFakeEos)
      break;
    answer.push_back(id);
    ids.push_back(id);
  }
  return answer;
}

std::vector<int32_t> fakePrompt(int64_t length, int seed) {
  std::vector<int32_t> ids;
  uint32_t state = uint32_t(seed) * 2654435761u + 1;
  for (int64_t i = 0; i < length; ++i) {
    state = state * 1664525u + 1013904223u;
    ids.push_back(int32_t((state >> 16) % 95));
  }
  return ids;
}

} // namespace ingot::test

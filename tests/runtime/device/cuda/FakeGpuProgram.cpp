//===- FakeGpuProgram.cpp - See FakeGpuProgram.h -------------------------------===//
#include "tests/runtime/device/cuda/FakeGpuProgram.h"

#include <dlfcn.h>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace ingot::test {

namespace {

using Base = fb::GridBase;

std::string objectBytes() {
  std::ifstream file(INGOT_FAKE_GPU_KERNELS, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::unique_ptr<fb::VariantT> variant(const char *symbol, fb::Extent x,
                                      fb::Extent y = {Base::Constant, 1, 1}) {
  auto v = std::make_unique<fb::VariantT>();
  v->symbol = symbol;
  v->x = std::make_unique<fb::Extent>(x);
  v->y = std::make_unique<fb::Extent>(y);
  v->z = std::make_unique<fb::Extent>(Base::Constant, 1, 1);
  v->threads = 64;
  v->shared_bytes = 1024;
  v->overlap = true;
  return v;
}

/// Adds one list of variants per kernel of FakeEngine.cpp, in the same order.
void addVariants(fb::CodeObjectT &code, bool recurrent, bool greedy, bool draws) {
  auto list = [&]() -> std::vector<std::unique_ptr<fb::VariantT>> & {
    code.variants.push_back(std::make_unique<fb::KernelVariantsT>());
    return code.variants.back()->variants;
  };
  const fb::Extent tokens(Base::Tokens, 1, 1), one(Base::Constant, 1, 1);
  auto &embed = list();
  embed.push_back(variant("embed_4", tokens));
  embed.back()->max_tokens = 4;
  embed.push_back(variant("embed_any", tokens));
  list().push_back(variant("constants", one));
  list().push_back(variant("append", fb::Extent(Base::Tokens, 1, 2)));
  auto &attend = list();
  attend.push_back(variant("attend_prompts", fb::Extent(Base::PromptTiles, 1, 1)));
  attend.push_back(variant("attend_shares", fb::Extent(Base::Shares, 1, 1)));
  list().push_back(variant("residual", tokens));
  list().push_back(variant("head", fb::Extent(Base::Constant, 4, 1), fb::Extent(Base::Rows, 1, 1)));
  if (recurrent)
    list().push_back(variant("recur", fb::Extent(Base::Spans, 1, 1)));
  const fb::Extent rows(Base::Rows, 1, 1);
  if (greedy)
    for (const char *name : {"argmax", "argmax_finish"})
      list().push_back(variant(name, rows));
  if (draws)
    list().push_back(variant("draw_ids", rows));
}

/// Adds buffers for keys and ids after the logits, with one 64-byte line per row each. Adds a
/// specialisation that finds greedy ids and, with `draws`, one that samples and has the same first launch.
void addIds(fb::ProgramT &program, bool draws) {
  fb::EntryT &entry = *program.entries.front();
  const uint32_t logits = entry.outputs.front()->buffer, keys = uint32_t(program.buffers.size()),
                 argmax = uint32_t(program.kernels.size());
  for (uint64_t i = 0; i < 2; ++i) {
    auto buffer = std::make_unique<fb::BufferT>();
    buffer->name = i ? "ids" : "keys";
    buffer->class_ = fb::BufferClass::PerRow;
    buffer->per_unit = 64;
    buffer->offset = program.buffers[logits]->per_unit + 64 * i;
    program.buffers.push_back(std::move(buffer));
  }
  auto addKernel = [&](const char *name) {
    auto kernel = std::make_unique<fb::KernelT>();
    kernel->name = name;
    kernel->grid = std::make_unique<fb::GridT>();
    kernel->grid->base = Base::Rows;
    kernel->grid->factor = 1;
    kernel->args = 2;
    program.kernels.push_back(std::move(kernel));
  };
  auto section = std::make_unique<fb::SectionT>();
  section->name = "ids";
  auto addCase = [&](fb::Mode mode, uint32_t second) {
    auto one = std::make_unique<fb::CaseT>();
    one->when.push_back(std::make_unique<fb::ConditionT>());
    one->when.back()->value = uint64_t(mode);
    for (uint32_t kernel : {argmax, second}) {
      auto launch = std::make_unique<fb::LaunchT>();
      launch->kernel = kernel;
      const uint32_t first = kernel == argmax ? logits : keys;
      launch->args = {fb::Arg(fb::ArgKind::Buffer, first),
                      fb::Arg(fb::ArgKind::Buffer, first == keys ? keys + 1 : keys)};
      one->launches.push_back(std::move(launch));
    }
    section->cases.push_back(std::move(one));
    entry.modes.push_back(mode);
  };
  addKernel("argmax");
  addKernel("argmax_finish");
  addCase(fb::Mode::Greedy, argmax + 1);
  if (draws) {
    addKernel("draw_ids");
    addCase(fb::Mode::Drawn, argmax + 2);
  }
  section->cases.push_back(std::make_unique<fb::CaseT>());
  auto step = std::make_unique<fb::StepT>();
  step->section = uint32_t(program.sections.size());
  program.sections.push_back(std::move(section));
  entry.steps.push_back(std::move(step));
  addOutput(program, fb::OutputRole::Ids, fb::Encoding::I32, keys + 1);
}

std::string moduleFor(const std::string &target) {
  if (target.find("compute_") != target.npos) {
    std::string text = ".version 8.0\n// object " INGOT_FAKE_GPU_KERNELS "\n";
    for (const char *name :
         {"embed_4", "embed_any", "constants", "append", "attend_prompts", "attend_shares",
          "residual", "head", "recur", "argmax", "argmax_finish", "draw_ids"})
      text += std::string(".entry ") + name + "()\n";
    return text + '\0';
  }
  std::string bytes = objectBytes();
  bytes[18] = char(190); // EM_CUDA; the fake driver turns it back
  return bytes;
}

} // namespace

FakeOptions withGpuProgram(std::vector<std::string> targets, bool alone, bool greedy, bool draws) {
  FakeOptions options;
  options.addCode = [=](fb::EngineT &engine, std::vector<compiler::SegmentSource> &sources) {
    auto program = std::make_unique<fb::ProgramT>(*engine.programs.front());
    program->code.clear();
    const bool recurrent = program->kernels.back()->name == "recur";
    program->attention_shares = kFakeShares, program->attention_slots = 4 * kFakeShares;
    if (greedy)
      addIds(*program, draws);
    for (const std::string &target : targets) {
      auto code = std::make_unique<fb::CodeObjectT>();
      code->target = target;
      code->segment = uint32_t(sources.size());
      std::string bytes = moduleFor(target);
      code->modules.push_back(std::make_unique<fb::ModuleT>());
      code->modules.back()->size = bytes.size();
      addVariants(*code, recurrent, greedy, draws);
      sources.push_back(compiler::segmentOf(fb::SegmentKind::Code, std::move(bytes)));
      program->code.push_back(std::move(code));
    }
    if (alone)
      engine.programs.clear();
    engine.programs.push_back(std::move(program));
  };
  return options;
}

int32_t fakeDraw(int32_t best, const RowSampling &how, int64_t position) {
  if (how.scale == 0.0)
    return best;
  const double told = double(how.seed * 7 + how.choice * 3) + how.scale * 16 - how.least * 8 +
                      how.topK + double(how.topP) * 64;
  return int32_t((best + int64_t(told) + position * 5) % kFakeVocab);
}

std::string fakeLibcuda() { return INGOT_FAKE_LIBCUDA; }

FakeCuda &fakeCuda() {
  static void *library = dlopen(INGOT_FAKE_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
  return *static_cast<FakeCuda *>(dlsym(library, "fakeCuda"));
}

FakeCuda &freshFakeCuda() { return fakeCuda() = FakeCuda(); }

} // namespace ingot::test

//===- InspectTest.cpp - The memory plan and the descriptions -------------===//
#include "SyntheticEngine.h"

#include "runtime/engine/Inspect.h"
#include "runtime/json/JsonText.h"

#include <gtest/gtest.h>
#include <limits>
#include <simdjson.h>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

struct Opened {
  Opened()
      : bytes(validEngine()), engine(*EngineFile::fromMemory(bytes.span(), VerifyLevel::Table)) {}
  AlignedBytes bytes;
  std::shared_ptr<EngineFile> engine;
};

TEST(MemoryPlan, IsTheSumOfItsParts) {
  Opened e;
  MemoryLimits limits{
      .context = 100, .maxSeqs = 3, .maxBatchTokens = 50, .logitsRows = 2, .threads = 4};
  auto s = memoryPlan(*e.engine, limits);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->mapped, e.engine->fileBytes());
  EXPECT_EQ(s->arena, 64u + 50 * 512 + 2 * 256);
  EXPECT_EQ(s->pages, 3u * 4);
  EXPECT_EQ(s->kv, 12 * e.engine->table().programs()->Get(0)->bytes_per_page());
  EXPECT_EQ(s->scratch, 4u * 128); // 100 bytes in 64-byte lines
  EXPECT_EQ(s->batch, 50u * 12 + 2 * 4 + (50 / 16 + 3) * 16 + 12 * 4);
  EXPECT_EQ(s->total(), s->mapped + s->arena + s->kv + s->scratch + s->batch);
  EXPECT_NE(s->text().find("12 pages of 32 positions: 3 x 100"), std::string::npos) << s->text();
}

TEST(MemoryPlan, FixedStatesHaveSlotsForSequencesAndTheCache) {
  AlignedBytes bytes(assemble([](Table &t) { addFixedState(cpuProgram(t)); }));
  auto engine = *EngineFile::fromMemory(bytes.span(), VerifyLevel::Table);
  const fb::Program &program = *engine->table().programs()->Get(0);
  EXPECT_EQ(program.bytes_per_slot(), 512u);
  MemoryLimits limits{.context = 256, .maxSeqs = 3, .maxBatchTokens = 50, .logitsRows = 2};
  auto s = memoryPlan(*engine, limits);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->pages, 3u * 8);
  EXPECT_EQ(s->slots, 3u + 1 + 24 / 8);
  EXPECT_EQ(s->states, s->slots * 512);
  EXPECT_EQ(s->groupOf, (std::vector<uint32_t>{0, 0, 1})) << "the slots are one group more";
  EXPECT_EQ(s->total(), s->mapped + s->arena + s->kv + s->states + s->scratch + s->batch);
  EXPECT_NE(s->text().find("7 slots of 512 B"), std::string::npos) << s->text();
  EXPECT_NE(s->json().find("\"slots\":7"), std::string::npos) << s->json();
  EXPECT_EQ(memoryPlan(*Opened().engine, limits)->states, 0u);
  // The prefix cache takes at most a quarter of the pages' memory.
  EXPECT_EQ(slotsFor(4, 1000, 1000 * 64, 512), 4u + 1 + 1000 * 64 / 4 / 512);
}

/// Gives the second layer a window, and therefore a separate section.
void secondLayerSees(Program &program, uint32_t window) {
  program.states[1]->window = window;
  program.sections.push_back(std::make_unique<fb::SectionT>(*program.sections[1]));
  program.sections.back()->name = "local";
  program.entries[0]->steps[2]->section = uint32_t(program.sections.size() - 1);
}

/// On any device, a layer with a window has pages for the window, a step and a block.
TEST(MemoryPlan, WindowsHavePagesOfTheirOwn) {
  AlignedBytes bytes(assemble([](Table &t) {
    secondLayerSees(cpuProgram(t), 40);
    withGpuProgram(t);
  }));
  auto opened = EngineFile::fromMemory(bytes.span(), VerifyLevel::Table);
  ASSERT_TRUE(opened) << opened.error().format();
  const EngineFile &engine = **opened;
  AlignedBytes plainBytes(assemble([](Table &t) { withGpuProgram(t); }));
  auto plain = *EngineFile::fromMemory(plainBytes.span(), VerifyLevel::Table);
  const uint64_t page = 8192; // per layer
  MemoryLimits limits{.context = 1024, .maxSeqs = 3, .maxBatchTokens = 64, .logitsRows = 2};
  for (DeviceKind kind : {DeviceKind::Cpu, DeviceKind::Cuda}) {
    const fb::Program &program = *programFor(engine.table(), kind);
    auto s = memoryPlan(engine, limits, program);
    ASSERT_TRUE(s);
    ASSERT_EQ(s->groups.size(), 2u);
    EXPECT_EQ(s->groupOf, (std::vector<uint32_t>{0, 1}));
    EXPECT_EQ(s->groups[0].pages, 3u * 32);
    EXPECT_EQ(s->groups[1].window, 40u);
    const uint64_t each = (40 + 127 + 32 + 64 + 31) / 32 + 1; // 10
    EXPECT_EQ(s->groups[1].pages, 3 * each);
    EXPECT_EQ(s->kv, (96 + 3 * each) * page);
    EXPECT_NE(s->text().find("96 pages of 32 positions: 3 x 1024, 30 pages for windows of 40"),
              std::string::npos)
        << s->text();
    // There is one more block table and, on a GPU, one more view of the batch.
    auto without = memoryPlan(*plain, limits, *programFor(plain->table(), kind));
    EXPECT_EQ(s->batch - without->batch, 96 * 4 + (kind == DeviceKind::Cuda ? 512 : 0));
    // Each group gets its part of --kv-memory.
    limits.kvBytes = 21 * page;
    auto part = memoryPlan(engine, limits, program);
    limits.kvBytes.reset();
    EXPECT_EQ(part->groups[0].pages, 16u);
    EXPECT_EQ(part->groups[1].pages, 5u);
    // If window plus step is no shorter than the context, there is only one group.
    MemoryLimits few = limits;
    few.context = 256;
    EXPECT_EQ(memoryPlan(engine, few, program)->groups.size(), 1u);
    // A launch reads the block table of its state's group.
    const auto &steps = *program.entries()->Get(0)->steps();
    auto read = [&](unsigned step) {
      const fb::Section &section = *program.sections()->Get(steps[step]->section());
      return s->groupRead(*section.cases()->Get(0)->launches()->Get(0), *steps[step]);
    };
    EXPECT_EQ(read(0), 0u);
    EXPECT_EQ(read(1), 0u);
    EXPECT_EQ(read(2), 1u);
  }
}

TEST(MemoryPlan, DefaultsComeFromTheModel) {
  Opened e;
  auto s = memoryPlan(*e.engine, {.maxSeqs = 2});
  ASSERT_TRUE(s);
  EXPECT_EQ(s->limits.context, 256u);
  EXPECT_EQ(s->limits.logitsRows, 2u);
  EXPECT_EQ(s->pages, 16u);
}

TEST(MemoryPlan, KvMemorySetsThePages) {
  Opened e;
  uint64_t page = e.engine->table().programs()->Get(0)->bytes_per_page();
  auto s = memoryPlan(*e.engine, {.maxSeqs = 100, .kvBytes = 5 * page + 7});
  ASSERT_TRUE(s);
  EXPECT_EQ(s->pages, 5u);
  EXPECT_EQ(s->kv, 5 * page);
  auto none = memoryPlan(*e.engine, {.kvBytes = page - 1});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "E0389");
}

TEST(MemoryPlan, RefusesWhatCannotBe) {
  Opened e;
  constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();
  for (MemoryLimits limits :
       {MemoryLimits{.maxSeqs = kHuge}, MemoryLimits{.context = kHuge},
        MemoryLimits{.maxBatchTokens = kHuge / 2}, MemoryLimits{.logitsRows = kHuge / 256},
        MemoryLimits{.threads = kHuge}}) {
    auto s = memoryPlan(*e.engine, limits);
    ASSERT_FALSE(s);
    EXPECT_EQ(s.error().code, "E0386");
    EXPECT_EQ(s.error().exit, ExitCode::File);
  }
}

TEST(Inspect, JsonIsValidAndComplete) {
  Opened e;
  std::string text = inspectJson(*e.engine, {.maxSeqs = 2, .threads = 2});
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  ASSERT_EQ(parser.parse(text).get(json), simdjson::SUCCESS) << text;
  EXPECT_EQ(std::string_view(json["model"]["name"]), "synthetic");
  EXPECT_EQ(std::string_view(json["precision"]), "fast");
  EXPECT_EQ(uint64_t(json["file_bytes"]), e.engine->fileBytes());
  auto program = json["programs"].at(0);
  EXPECT_EQ(std::string_view(program["device"]), "cpu");
  EXPECT_EQ(program["targets"].get_array().size(), 2u);
  EXPECT_EQ(program["weights"].get_array().size(), 4u);
  EXPECT_EQ(uint64_t(program["entries"].at(0)["launches"]), 4u);
  EXPECT_EQ(uint64_t(program["entries"].at(0)["steps"].at(2)["states"].at(0)), 1u);
  EXPECT_EQ(std::string_view(program["entries"].at(0)["outputs"].at(0)["role"]), "Logits");
  EXPECT_EQ(std::string_view(program["states"].at(1)["streams"].at(1)["format"]), "bf16");
  EXPECT_EQ(uint64_t(program["statement"]["total"]),
            memoryPlan(*e.engine, {.maxSeqs = 2, .threads = 2})->total());
  EXPECT_EQ(std::string_view(json["provenance"]["source.hash"]), "0123456789abcdef");
  EXPECT_EQ(std::string_view(json["evidence"].at(0)["pass"]), "fuse");
  EXPECT_EQ(uint64_t(json["special_tokens"]["eos"].at(1)), 3u);
}

TEST(Inspect, TextSaysWhatPeopleAskFor) {
  Opened e;
  std::string text = inspectText(*e.engine, {});
  for (const char *part : {"synthetic (llama)", "cpu:avx512", "q4_1", "blk.*.attn.weight", "x2",
                           "copy_rows", "4 launches per step", "KV cache", "source.hash", "fuse"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Inspect, SaysWhichWeightsAreMadeAtLoad) {
  AlignedBytes bytes(assemble(seedMatrices));
  auto engine = EngineFile::fromMemory(bytes.span(), VerifyLevel::Table);
  ASSERT_TRUE(engine) << engine.error().format();
  uint64_t size = (*engine)->table().programs()->Get(0)->seed_bytes();
  EXPECT_EQ(memoryPlan(**engine, {})->seeded, size);
  for (const std::string &text : {inspectText(**engine, {}), evidenceText(**engine)})
    EXPECT_NE(text.find("generated from seed 7 at load"), std::string::npos) << text;
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  ASSERT_EQ(parser.parse(inspectJson(**engine, {})).get(json), simdjson::SUCCESS);
  EXPECT_EQ(uint64_t(json["programs"].at(0)["seed_weights"]["seed"]), 7u);
  EXPECT_EQ(uint64_t(json["programs"].at(0)["seed_weights"]["bytes"]), size);
  EXPECT_EQ(std::string_view(json["programs"].at(0)["weights"].at(0)["source"]), "seed");
  EXPECT_EQ(std::string_view(json["programs"].at(0)["weights"].at(3)["source"]), "stored");

  Opened plain;
  EXPECT_EQ(inspectText(*plain.engine, {}).find("generated from seed"), std::string::npos);
  EXPECT_EQ(inspectJson(*plain.engine, {}).find("seed_weights"), std::string::npos);
}

TEST(Inspect, ShowsEveryProgram) {
  AlignedBytes bytes(assemble([](Table &t) { withGpuProgram(t); }));
  auto engine = EngineFile::fromMemory(bytes.span(), VerifyLevel::Table);
  ASSERT_TRUE(engine) << engine.error().format();
  std::string text = inspectText(**engine, {});
  for (const char *part : {"cpu:avx2", "cuda:sm_90a", "cuda:compute_80", "copied to the GPU",
                           "program for GPUs", "128 threads", "up to 8 tokens"})
    EXPECT_NE(text.find(part), text.npos) << part << " in\n" << text;
  simdjson::dom::parser parser;
  std::string json = inspectJson(**engine, {});
  simdjson::dom::element root;
  ASSERT_FALSE(parser.parse(json).get(root)) << json;
  auto program = root["programs"].at(1);
  EXPECT_EQ(std::string_view(program["targets"].at(0)["target"]), "cuda:sm_90a");
  EXPECT_EQ(uint64_t(program["kernels"].at(0)["variants"].at(0)["max_tokens"]), 8u);
  EXPECT_EQ(uint64_t(program["statement"]["on_device"]),
            uint64_t(program["statement"]["allocated"]) -
                uint64_t(program["statement"]["staging"]));
}

/// The memory plan covers weights, arena, KV and batch on the GPU, and page-locked host memory.
TEST(MemoryPlan, OfAGpu) {
  AlignedBytes bytes(assemble([](Table &t) { withGpuProgram(t); }));
  auto engine = EngineFile::fromMemory(bytes.span(), VerifyLevel::Table);
  ASSERT_TRUE(engine);
  const fb::Program &program = *programFor((*engine)->table(), DeviceKind::Cuda);
  auto s = memoryPlan(**engine, {.maxSeqs = 2, .maxBatchTokens = 50}, program);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->uploaded, (s->weights + 255) / 256 * 256);
  EXPECT_EQ(s->scratch, 0u);
  EXPECT_EQ(s->taken(), s->uploaded + s->arena + s->kv + s->batch);
  EXPECT_EQ(s->staging,
            kUploadPieces * kUploadPiece + 2 * (s->batch + 2 * sizeof(int32_t)) + 2 * 256);
  EXPECT_EQ(s->needed(), s->taken());
  EXPECT_EQ(s->text().find("reserve"), std::string::npos);
  auto reserving = memoryPlan(**engine, {.maxSeqs = 2, .reserved = 512 << 20}, program);
  ASSERT_TRUE(reserving);
  EXPECT_EQ(reserving->needed(), reserving->taken() + (512 << 20));
  EXPECT_NE(reserving->text().find("reserve     512.0 MiB   left free"), std::string::npos)
      << reserving->text();
  EXPECT_NE(reserving->json().find("\"reserved\":536870912"), std::string::npos);
  // Without an explicit limit, steps have more tokens on a GPU.
  EXPECT_EQ(reserving->limits.maxBatchTokens, 2048u);
  EXPECT_EQ(memoryPlan(**engine, {.maxSeqs = 2})->limits.maxBatchTokens, 512u);
}

TEST(Inspect, NamesCannotCarryTerminalCommands) {
  AlignedBytes bytes(assemble([](Table &t) {
    t.model->name = "evil\x1b[2J\n<script>";
    t.provenance[0]->value = "\xff\xfe\"\\";
  }));
  auto engine = EngineFile::fromMemory(bytes.span(), VerifyLevel::Everything);
  ASSERT_TRUE(engine) << engine.error().format();
  EXPECT_EQ(inspectText(**engine, {}).find('\x1b'), std::string::npos);
  std::string json = inspectJson(**engine, {});
  simdjson::dom::parser parser;
  simdjson::dom::element parsed;
  ASSERT_EQ(parser.parse(json).get(parsed), simdjson::SUCCESS);
  EXPECT_EQ(std::string_view(parsed["model"]["name"]), "evil\x1b[2J\n<script>");
}

size_t count(const std::string &text, std::string_view part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++found;
  return found;
}

/// Returns the text of the data element `id`.
std::string dataOf(const std::string &page, const std::string &id) {
  const std::string begin = "id=\"" + id + "\">";
  const size_t at = page.find(begin) + begin.size();
  return page.substr(at, page.find("</script>", at) - at);
}

TEST(Inspect, HtmlIsSelfContained) {
  Opened e;
  std::string page = inspectHtml(*e.engine, {}, "{\"loads\":[]}");
  EXPECT_NE(page.find("blk.0.attn.weight"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  for (const char *outside : {"https:", " src=", "@import", "url(", "<link", "fetch(", "innerHTML"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  simdjson::dom::parser parser;
  EXPECT_EQ(parser.parse(dataOf(page, "engine")).error(), simdjson::SUCCESS);
  EXPECT_EQ(dataOf(page, "more"), "{\"loads\":[]}");
  EXPECT_EQ(dataOf(page, "listing"), "") << "its compiler left none";
}

/// Names in a checkpoint cannot add elements to the page.
TEST(Inspect, NamesAreNoHtml) {
  constexpr const char *kEvil = "</script><script>evil()</script></title><!-- <img onerror=evil()>";
  AlignedBytes bytes(assemble([&](Table &t) {
    t.model->name = kEvil;
    t.provenance[0]->value = kEvil;
    cpuProgram(t).weights[0]->name = kEvil;
    cpuProgram(t).buffers[0]->name = kEvil;
    cpuProgram(t).kernels[0]->family = kEvil;
    t.evidence.push_back(std::make_unique<fb::EvidenceT>());
    t.evidence.back()->pass = kEvil;
  }));
  auto engine = EngineFile::fromMemory(bytes.span(), VerifyLevel::Everything);
  ASSERT_TRUE(engine) << engine.error().format();
  const std::string page =
                        inspectHtml(**engine, {}, std::string("{\"measured\":\"") + kEvil + "\"}"),
                    plain = inspectHtml(*Opened().engine, {}, "{}");
  for (const char *part : {"<script", "</script", "</title", "<!--", "<img"})
    EXPECT_EQ(count(page, part), count(plain, part)) << part;
  simdjson::dom::parser parser;
  simdjson::dom::element parsed;
  ASSERT_EQ(parser.parse(dataOf(page, "engine")).get(parsed), simdjson::SUCCESS);
  EXPECT_EQ(std::string_view(parsed["model"]["name"]), kEvil);
}

TEST(JsonText, EscapesAndSeparates) {
  JsonText j;
  j.open('{').key("a\"b").value("x\ny\\").key("n").open('[').value(1).value(-2).value(true);
  j.value(0.5).value(std::numeric_limits<double>::quiet_NaN()).open('{').close().close().close();
  EXPECT_EQ(j.text(), "{\"a\\\"b\":\"x\\u000ay\\\\\",\"n\":[1,-2,true,0.5,null,{}]}");
  JsonText utf;
  utf.value("\xc3\xa9\xc0\x80\xed\xa0\x80\xf0\x9f\x98\x80");
  EXPECT_EQ(utf.text(), "\"\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
                        "\xf0\x9f\x98\x80\"");
}

TEST(HumanBytes, Units) {
  EXPECT_EQ(humanBytes(0), "0 B");
  EXPECT_EQ(humanBytes(1023), "1023 B");
  EXPECT_EQ(humanBytes(1536), "1.5 KiB");
  EXPECT_EQ(humanBytes(105 << 20), "105.0 MiB");
  EXPECT_EQ(humanBytes(~uint64_t(0)), "16.0 EiB");
}

} // namespace

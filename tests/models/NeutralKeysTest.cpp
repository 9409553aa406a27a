//===- NeutralKeysTest.cpp - Keys that do not change the model -------------===//
//
// The keys are rope keys that the rope's type does not use, GGUF keys that llama.cpp does not read or that have no
// effect, and lists with one entry per layer. The tests also cover the number of positions that a stretched rope gives
// a model.
//===----------------------------------------------------------------------===//
#include "compiler/import/OpenCheckpoint.h"
#include "tests/SourceDir.h"
#include "tests/models/TinyCheckpoints.h"

using namespace ingot;
using import::MetaArray;
using import::MetaValue;

namespace {

using Keys = std::vector<std::pair<std::string, MetaValue>>;

std::string importedWith(const std::string &tiny, const Keys &keys) {
  tests::Changed changed(tiny);
  for (const auto &[key, value] : keys)
    changed.checkpoint.metadata[key] = value;
  return changed.import();
}

int64_t contextOf(const import::Checkpoint &checkpoint) {
  mlir::MLIRContext context;
  Error why;
  auto module = models::importModel(context, checkpoint, why);
  EXPECT_TRUE(mlir::succeeded(module)) << why.format();
  if (mlir::failed(module))
    return 0;
  int64_t positions = 0;
  (*module)->walk([&](mlir::Operation *op) {
    if (auto most = op->getAttrOfType<mlir::IntegerAttr>("max_positions"))
      positions = most.getInt();
  });
  return positions;
}

int64_t contextWith(const std::string &tiny, const Keys &keys) {
  tests::Changed changed(tiny);
  for (const auto &[key, value] : keys)
    changed.checkpoint.metadata[key] = value;
  return contextOf(changed.checkpoint);
}

MetaValue text(const char *value) { return std::string(value); }

constexpr char kLlama[] = "mistral-old-config", kGguf[] = "llama-gguf-mixed";

/// Returns the rope keys of a config.json and the context that it declares.
Keys rope(const char *type, double factor, int64_t original, int64_t context) {
  Keys keys = {{"rope_scaling.rope_type", text(type)},
               {"rope_scaling.factor", factor},
               {"max_position_embeddings", context}};
  if (original)
    keys.emplace_back("rope_scaling.original_max_position_embeddings", original);
  return keys;
}

} // namespace

TEST(StretchedContext, IsWhatTheRopeWasStretchedTo) {
  const struct {
    const char *type;
    int64_t original, context, expected;
  } cases[] = {
      {"yarn", 64, 64, 256},    {"yarn", 64, 256, 256},
      {"yarn", 64, 512, 512},   {"yarn", 0, 64, 256},
      {"linear", 0, 64, 256},   {"linear", 64, 64, 256},
      {"linear", 64, 256, 256}, {"linear", 64, 512, 512},
      {"dynamic", 64, 64, 64}, // HF's rope changes with the length of the text
      {"default", 64, 64, 64},
  };
  for (const auto &one : cases) {
    SCOPED_TRACE(std::string(one.type) + ", " + std::to_string(one.context));
    EXPECT_EQ(contextWith(kLlama, rope(one.type, 4, one.original, one.context)), one.expected);
  }
  Keys llama3 = rope("llama3", 8, 64,
                     64); // vLLM also uses the key: Llama 3.2's factor exceeds its context
  llama3.emplace_back("rope_scaling.low_freq_factor", 1.0);
  llama3.emplace_back("rope_scaling.high_freq_factor", 4.0);
  EXPECT_EQ(contextWith(kLlama, llama3), 64);
  EXPECT_NE(importedWith(kLlama, rope("yarn", 1e9, 64, 64)).find("E0298"), std::string::npos);
}

TEST(StretchedContext, OfAGguf) {
  for (const char *type : {"yarn", "linear"})
    for (auto [context, expected] : {std::pair(64, 256), {256, 256}, {512, 512}}) {
      SCOPED_TRACE(std::string(type) + ", " + std::to_string(context));
      EXPECT_EQ(contextWith(kGguf, {{"llama.rope.scaling.type", text(type)},
                                    {"llama.rope.scaling.factor", 4.0},
                                    {"llama.rope.scaling.original_context_length", int64_t(64)},
                                    {"llama.context_length", int64_t(context)}}),
                expected);
    }
}

TEST(StretchedContext, OfPublishedModels) {
  const std::pair<const char *, int64_t> contexts[] = {
      {"Qwen2.5-7B-Instruct-yarn", 131072},
      {"Qwen2.5-7B-Instruct", 32768},
      {"gemma-3-4b-it", 131072}, // its key includes the factor of its linear rope
      {"Llama-3.2-1B", 131072},
      {"Phi-4-mini-instruct", 131072},
      {"gpt-oss-20b", 131072},
      {"Ministral-3-3B-Instruct-2512", 262144}};
  for (auto [name, expected] : contexts) {
    SCOPED_TRACE(name);
    auto opened =
        import::openCheckpoint(test::sourceDir() + "/tests/models/published/" + name + ".json");
    ASSERT_TRUE(opened) << opened.error().format();
    EXPECT_EQ(contextOf(**opened), expected);
  }
}

TEST(NeutralKeys, OfARopeThatHasNoUseForThem) {
  const std::string plain = importedWith(kLlama, {});
  for (const char *type : {"default", "mrope"})
    EXPECT_EQ(importedWith(kLlama, {{"rope_scaling.rope_type", text(type)},
                                    {"rope_scaling.factor", 4.0},
                                    {"rope_scaling.attention_factor", 1.5},
                                    {"rope_scaling.original_max_position_embeddings", int64_t(32)},
                                    {"rope_scaling.alpha", 1000.0},
                                    {"rope_scaling.mscale", 0.7}}),
              plain)
        << type;
  // alpha stretches the base only in HunYuan's class.
  EXPECT_EQ(importedWith(kLlama, {{"rope_scaling.type", text("dynamic")},
                                  {"rope_scaling.factor", 4.0},
                                  {"rope_scaling.alpha", 1000.0}}),
            plain);
}

TEST(NeutralKeys, OfYarnInEverySpelling) {
  auto yarn = [](Keys more) {
    more.emplace_back("rope_scaling.rope_type", text("yarn"));
    more.emplace_back("rope_scaling.factor", 4.0);
    more.emplace_back("rope_scaling.original_max_position_embeddings", int64_t(16));
    return importedWith(kLlama, more);
  };
  const std::string own = yarn({});
  EXPECT_EQ(yarn({{"rope_scaling.attention_factor", 1.1386294361119891}}), own);
  EXPECT_EQ(yarn({{"rope_scaling.attn_factor", 0.878}}), own);
  EXPECT_EQ(yarn({{"rope_scaling.extrapolation_factor", 1.0},
                  {"rope_scaling.apply_yarn_scaling", false},
                  {"rope_scaling.mscale", 0.7}}),
            own);
  const std::string one = yarn({{"rope_scaling.attention_factor", 1.0}});
  EXPECT_NE(one, own);
  EXPECT_EQ(yarn({{"rope_scaling.mscale", 1.0}, {"rope_scaling.mscale_all_dim", 1.0}}), one);
  EXPECT_EQ(yarn({{"rope_scaling.mscale", 0.7},
                  {"rope_scaling.mscale_all_dim", 1.0},
                  {"rope_scaling.attn_factor", 0.5},
                  {"rope_scaling.attention_factor", 1.0}}),
            one);
}

TEST(NeutralKeys, OfYarnInAGguf) {
  auto yarn = [](Keys more) {
    more.emplace_back("llama.rope.scaling.type", text("yarn"));
    more.emplace_back("llama.rope.scaling.factor", 4.0);
    more.emplace_back("llama.rope.scaling.original_context_length", int64_t(16));
    return importedWith(kGguf, more);
  };
  const std::string own = yarn({});
  for (double said : {0.878, 1.0, 1.1386294361119891}) // llama.cpp writes 1 if it knows no factor
    EXPECT_EQ(yarn({{"llama.rope.scaling.yarn_attn_factor", said}}), own) << said;
  EXPECT_NE(yarn({{"llama.rope.scaling.yarn_attn_factor", 1.3}}), own);
  for (double said : {-1.0, 0.0, 1.0})
    EXPECT_EQ(yarn({{"llama.rope.scaling.yarn_ext_factor", said}}), own) << said;
}

TEST(NeutralKeys, OfAGguf) {
  const std::string plain = importedWith(kGguf, {});
  EXPECT_NE(plain.find("lm.model"), std::string::npos) << plain;
  const Keys keys = {{"llama.rope.scale_linear", 1.0},
                     {"llama.vocab_size", int64_t(4096)},
                     {"llama.attention.sliding_window", int64_t(4096)},
                     {"llama.attention.causal", true},
                     {"llama.attention.clamp_kqv", 0.0},
                     {"llama.attention.scale", 0.0},
                     {"llama.logit_scale", 1.0},
                     {"llama.rope.scaling.yarn_ext_factor", 0.0},
                     {"llama.attn_rot_embd", int64_t(24)},
                     {"llama.expert_used_count", int64_t(0)},
                     {"llama.some_new_switch", false},
                     {"llama.some_new_count", int64_t(0)},
                     {"llama.some_new_name", text("")}};
  for (const auto &key : keys)
    EXPECT_EQ(importedWith(kGguf, {key}), plain) << key.first;
  EXPECT_EQ(importedWith(kGguf, keys), plain);
  const std::string stretched = importedWith(kGguf, {{"llama.rope.scaling.factor", 2.0}});
  EXPECT_NE(stretched, plain);
  EXPECT_EQ(importedWith(kGguf, {{"llama.rope.scale_linear", 2.0}}), stretched);
  EXPECT_NE(importedWith(kGguf, {{"llama.attention.causal", false}}).find("E0298"),
            std::string::npos);
  EXPECT_NE(importedWith(kGguf, {{"llama.some_new_count", int64_t(3)}}).find("E0294"),
            std::string::npos);
}

TEST(NeutralKeys, ListsOfEqualEntries) {
  auto list = [](int64_t value) { return MetaArray(std::vector<int64_t>{value, value}); };
  for (const std::string name : {"llama-gguf-mixed", "qwen2-gguf", "granite-gguf", "gemma2-gguf",
                                 "qwen3moe-gguf", "gpt-oss-gguf", "lfm2-gguf-mixed"}) {
    SCOPED_TRACE(name);
    tests::Changed changed(name);
    const std::string scope = changed.checkpoint.architecture + ".";
    for (const auto &[key, value] : tests::Changed(name).checkpoint.metadata)
      if (const auto *number = std::get_if<int64_t>(&value);
          number && key.starts_with(scope) && !key.ends_with("block_count"))
        changed.checkpoint.metadata[key] = list(*number);
      else if (const double *real = std::get_if<double>(&value); real && key.starts_with(scope))
        changed.checkpoint.metadata[key] = MetaArray(std::vector<double>{*real, *real, *real});
    EXPECT_EQ(changed.import(), tests::Changed(name).import());
  }
  EXPECT_NE(
      importedWith(kGguf, {{"llama.feed_forward_length", MetaArray(std::vector<int64_t>{96, 32})}})
          .find("found 96 (layer 0), 32 (layer 1), supported: one value for all layers"),
      std::string::npos);
}

TEST(Hybrids, WhoseLayersAllAttend) {
  // llama.cpp's converter gives such a GGUF these names, with the same keys and tensors.
  const std::string plain = tests::Changed("granite4-gguf").import();
  EXPECT_NE(plain.find("lm.model"), std::string::npos) << plain;
  for (const std::string architecture : {"granitemoe", "granitehybrid"}) {
    SCOPED_TRACE(architecture);
    tests::Changed changed("granite4-gguf");
    import::Metadata renamed;
    for (auto &[key, value] : changed.checkpoint.metadata)
      renamed[key.starts_with("granite.") ? architecture + key.substr(strlen("granite")) : key] =
          value;
    renamed[architecture + ".expert_used_count"] = int64_t(2); // the model has no experts
    changed.checkpoint.metadata = renamed;
    changed.checkpoint.architecture = architecture;
    std::string module = changed.import();
    if (const size_t family = module.find("\"granitemoe\""); family != std::string::npos)
      module.replace(family, strlen("\"granitemoe\""), "\"granite\"");
    EXPECT_EQ(module, plain);
  }
}

TEST(Hybrids, OtherLayersAreRefusedByNumber) {
  tests::Changed folder("granite4-old-config");
  folder.checkpoint.metadata["layer_types"] =
      MetaArray(std::vector<std::string>{"attention", "mamba"});
  EXPECT_NE(folder.import().find("found mamba in layers 1, supported: attention in all layers"),
            std::string::npos);
  folder.checkpoint.metadata.erase("layer_types"); // the class's default is Mamba
  EXPECT_NE(folder.import().find("found mamba in layers 0, 1"), std::string::npos);
  tests::Changed gguf("granite4-gguf");
  gguf.checkpoint.metadata["granite.attention.head_count_kv"] =
      MetaArray(std::vector<int64_t>{1, 0});
  EXPECT_NE(gguf.import().find("found 1 (layer 0), 0 (layer 1), supported: one value"),
            std::string::npos);
}

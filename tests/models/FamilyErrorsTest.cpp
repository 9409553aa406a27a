//===- FamilyErrorsTest.cpp - Refusals of families and their messages -----===//
//
// Takes a valid one-layer model in memory and breaks one thing at a time: each model must be
// refused with its own code and a message that names the culprit.
//===----------------------------------------------------------------------===//
#include "compiler/reference/Interpreter.h"
#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"
#include "models/Family.h"
#include "tests/SourceDir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

using namespace ingot;
using import::Checkpoint;

namespace {

const std::vector<std::byte> kZeros(64 * 1024);

void addTensor(Checkpoint &checkpoint, const std::string &name, std::vector<int64_t> shape,
               WeightFormat format = WeightFormat::F32) {
  import::Tensor tensor{name, format, std::move(shape), {}};
  tensor.data = std::span(kZeros).first(static_cast<size_t>(tensor.elements()) * 4);
  auto at = std::ranges::lower_bound(checkpoint.tensors, name, {}, &import::Tensor::name);
  checkpoint.tensors.insert(at, std::move(tensor));
}

void removeTensor(Checkpoint &checkpoint, const std::string &name) {
  std::erase_if(checkpoint.tensors, [&](const auto &tensor) { return tensor.name == name; });
}

Checkpoint hfLlama() {
  Checkpoint c;
  c.container = import::Container::Safetensors;
  c.architecture = "LlamaForCausalLM";
  c.name = "in-memory";
  c.metadata = {{"hidden_size", int64_t(8)},
                {"num_hidden_layers", int64_t(1)},
                {"num_attention_heads", int64_t(2)},
                {"num_key_value_heads", int64_t(1)},
                {"intermediate_size", int64_t(12)},
                {"max_position_embeddings", int64_t(32)},
                {"rms_norm_eps", 1e-5},
                {"vocab_size", int64_t(16)},
                {"dtype", std::string("float16")},
                {"tie_word_embeddings", true}};
  addTensor(c, "model.embed_tokens.weight", {16, 8});
  addTensor(c, "model.norm.weight", {8});
  std::string layer = "model.layers.0.";
  for (const char *norm : {"input_layernorm", "post_attention_layernorm"})
    addTensor(c, layer + norm + ".weight", {8});
  addTensor(c, layer + "self_attn.q_proj.weight", {8, 8});
  addTensor(c, layer + "self_attn.k_proj.weight", {4, 8});
  addTensor(c, layer + "self_attn.v_proj.weight", {4, 8});
  addTensor(c, layer + "self_attn.o_proj.weight", {8, 8});
  addTensor(c, layer + "mlp.gate_proj.weight", {12, 8});
  addTensor(c, layer + "mlp.up_proj.weight", {12, 8});
  addTensor(c, layer + "mlp.down_proj.weight", {8, 12});
  return c;
}

void expectImport(const Checkpoint &checkpoint) {
  mlir::MLIRContext context;
  Error why;
  EXPECT_TRUE(mlir::succeeded(models::importModel(context, checkpoint, why))) << why.format();
}

void expectRefusal(const Checkpoint &checkpoint, const std::string &code,
                   const std::string &mention) {
  mlir::MLIRContext context;
  Error why;
  ASSERT_TRUE(mlir::failed(models::importModel(context, checkpoint, why)));
  EXPECT_EQ(why.code, code) << why.format();
  EXPECT_EQ(why.exit, ExitCode::File);
  EXPECT_NE(why.format().find(mention), std::string::npos) << why.format();
  EXPECT_FALSE(why.why.empty());
  EXPECT_FALSE(why.fix.empty());
}

} // namespace

TEST(FamilyErrors, TheBaseIsSound) { expectImport(hfLlama()); }

TEST(FamilyErrors, UnknownArchitectureIsRefusedByNameWithTheList) {
  Checkpoint c = hfLlama();
  c.architecture = "BertModel";
  expectRefusal(c, "E0293", "'BertModel'");
  expectRefusal(c, "E0293", "llama, LlamaForCausalLM, ");
  for (const models::Family &family : models::families())
    for (llvm::StringRef architecture : family.architectures)
      expectRefusal(c, "E0293", architecture.str());
}

TEST(FamilyErrors, EveryFamilyIsInTheDocuments) {
  std::ifstream file(test::sourceDir() + "/docs/models.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const models::Family &family : models::families())
    EXPECT_NE(page.find("\n| " + family.name.str() + " |"), std::string::npos) << family.name.str();
}

TEST(FamilyErrors, AKeyThatNobodyReads) {
  Checkpoint c = hfLlama();
  c.metadata["logit_temperature"] = 2.0;
  expectRefusal(c, "E0294", "'logit_temperature'");
}

TEST(FamilyErrors, AllKeysThatNobodyReadsAreNamedAtOnce) {
  Checkpoint c = hfLlama();
  c.metadata["logit_temperature"] = 2.0;
  c.metadata["attention_sink"] = true;
  expectRefusal(c, "E0294", "'attention_sink', 'logit_temperature'");
  expectRefusal(c, "E0294", "--ignore-key 'attention_sink' --ignore-key 'logit_temperature'");
}

TEST(FamilyErrors, KeysOfFineTunesAreHarmless) {
  Checkpoint c = hfLlama();
  for (const char *key : {"unsloth_version", "tokenizer_class", "auto_map.AutoModelForCausalLM"})
    c.metadata[key] = std::string("2026.1");
  for (const char *key : {"_attn_implementation_autoset", "output_attentions", "torchscript",
                          "is_decoder", "do_sample", "use_sliding_window", "unsloth_fixed"})
    c.metadata[key] = false;
  for (const char *key : {"max_length", "sep_token_id"})
    c.metadata[key] = int64_t(7);
  for (const char *key : {"temperature", "top_p", "hidden_dropout", "neftune_noise_alpha"})
    c.metadata[key] = 0.7;
  c.metadata["partial_rotary_factor"] = 1.0;
  c.metadata["layer_types"] = import::MetaArray(std::vector<std::string>{"full_attention"});
  expectImport(c);
  c.metadata["partial_rotary_factor"] = 0.5;
  expectRefusal(c, "E0298", "'partial_rotary_factor'");
}

TEST(FamilyErrors, WhatTransformersHasDefaultsForMayBeMissing) {
  Checkpoint c = hfLlama();
  c.metadata.erase("max_position_embeddings");
  c.metadata["rope_scaling.rope_type"] = std::string("llama3");
  c.metadata["rope_scaling.factor"] = 8.0;
  c.metadata["rope_scaling.low_freq_factor"] = 1.0;
  c.metadata["rope_scaling.high_freq_factor"] = 4.0;
  expectImport(c);
  c.architecture = "mistral"; // the model_type, if there are no architectures
  expectImport(c);
  c.metadata.erase("num_key_value_heads"); // Mistral's default is 8; there are 2 heads here
  expectRefusal(c, "E0298", "'num_attention_heads'");
}

TEST(FamilyErrors, AKeyThatIsNullChangesNothing) {
  Checkpoint c = hfLlama();
  c.metadata["quantization_config"] = std::monostate();
  expectImport(c);
}

TEST(FamilyErrors, KeysThatChangeNothing) {
  Checkpoint c = hfLlama();
  c.metadata["use_qk_norm"] = true; // keys of other classes, which HF's Llama ignores
  c.metadata["shared_expert_intermediate_size"] = int64_t(0);
  c.metadata["logit_temperature"] = false; // unknown, and off
  c.metadata["unsloth_version"] = std::string("2026.1");
  expectImport(c);
  EXPECT_EQ(models::passedOver(c),
            "logit_temperature false, shared_expert_intermediate_size 0, use_qk_norm true");
  c = hfLlama();
  c.architecture = "PhiForCausalLM"; // its class reads this key
  c.metadata["layer_norm_eps"] = 1e-5;
  c.metadata["qk_layernorm"] = true;
  expectRefusal(c, "E0298", "'qk_layernorm'");
  expectRefusal(c, "E0298", "found true, supported: false");
}

TEST(FamilyErrors, AKeyOfALayerEach) {
  Checkpoint c = hfLlama();
  c.metadata["num_key_value_heads"] = import::MetaArray(std::vector<int64_t>{1});
  c.metadata["rms_norm_eps"] = import::MetaArray(std::vector<double>{1e-5, 1e-5});
  c.metadata["attention_bias"] = import::MetaArray(std::vector<bool>{false, false});
  expectImport(c);
  c.metadata["num_key_value_heads"] = import::MetaArray(std::vector<int64_t>{1, 2, 1, 1});
  expectRefusal(c, "E0298",
                "found 1 (layers 0, 2, 3), 2 (layer 1), supported: one value for all layers");
  c.metadata["num_key_value_heads"] = import::MetaArray(std::vector<int64_t>{});
  expectRefusal(c, "E0298", "found an empty list");
}

TEST(FamilyErrors, AMissingKey) {
  Checkpoint c = hfLlama();
  c.metadata.erase("intermediate_size");
  expectRefusal(c, "E0206", "'intermediate_size'");
}

TEST(FamilyErrors, AKeyOfTheWrongType) {
  Checkpoint c = hfLlama();
  c.metadata["hidden_size"] = std::string("eight");
  expectRefusal(c, "E0207", "'hidden_size'");
}

TEST(FamilyErrors, AMissingTensor) {
  Checkpoint c = hfLlama();
  removeTensor(c, "model.layers.0.mlp.up_proj.weight");
  expectRefusal(c, "E0295", "'model.layers.0.mlp.up_proj.weight'");
  addTensor(c, "transformer.layers.0.mlp.up_proj.weight", {12, 8});
  expectRefusal(c, "E0295", "among them 'transformer.layers.0.mlp.up_proj.weight'");
}

TEST(FamilyErrors, AMissingTensorUnderAnotherName) {
  Checkpoint c = hfLlama();
  for (import::Tensor &tensor : c.tensors)
    tensor.name = "tower." + tensor.name;
  expectRefusal(c, "E0295", "among them 'tower.model.embed_tokens.weight'");
  expectRefusal(c, "E0295", "as in the published model");
  c = hfLlama();
  removeTensor(c, "model.layers.0.mlp.up_proj.weight");
  expectRefusal(c, "E0295", "if files are missing, download them");
}

TEST(FamilyErrors, TensorsThatTransformersPassesOver) {
  for (const char *architecture :
       {"LlamaForCausalLM", "MistralForCausalLM", "SeedOssForCausalLM"}) {
    SCOPED_TRACE(architecture);
    Checkpoint c = hfLlama();
    c.architecture = architecture;
    c.metadata["head_dim"] = int64_t(4);
    c.metadata["attention_bias"] = false;
    for (const char *name :
         {"model.rotary_emb.inv_freq", "model.layers.0.self_attn.rotary_emb.inv_freq",
          "v_head.summary.weight", "v_head.summary.bias", "value_head.weight"})
      addTensor(c, name, {2});
    expectImport(c);
    addTensor(c, "score.weight", {2, 8}); // belongs to another class
    expectRefusal(c, "E0296", "'score.weight'");
  }
}

TEST(FamilyErrors, AnUntiedHeadThatIsMissing) {
  Checkpoint c = hfLlama();
  c.metadata["tie_word_embeddings"] = false;
  expectRefusal(c, "E0295", "'lm_head.weight'");
  expectRefusal(c, "E0295", "'tie_word_embeddings' is false");
  c.metadata.erase("tie_word_embeddings"); // false is the family's default
  expectRefusal(c, "E0295", "set \"tie_word_embeddings\": true");
}

TEST(FamilyErrors, ABiasThatTheConfigurationPromises) {
  Checkpoint c = hfLlama();
  c.metadata["mlp_bias"] = true;
  expectRefusal(c, "E0295", "'model.layers.0.mlp.gate_proj.bias'");
}

TEST(FamilyErrors, ABiasThatTheConfigurationDenies) {
  Checkpoint c = hfLlama();
  addTensor(c, "model.layers.0.self_attn.q_proj.bias", {8});
  expectRefusal(c, "E0296", "'model.layers.0.self_attn.q_proj.bias'");
}

TEST(FamilyErrors, LayersBehindTheLastAreLeftOut) {
  Checkpoint c = hfLlama();
  addTensor(c, "model.layers.1.input_layernorm.weight", {8});
  expectImport(c);
  addTensor(c, "model.layers.0.self_attn.q_proj.bias", {8}); // still found
  expectRefusal(c, "E0296", "'model.layers.0.self_attn.q_proj.bias'");
}

TEST(FamilyErrors, OnlyMistralHasAWindow) {
  auto windowOf = [](const Checkpoint &checkpoint) {
    mlir::MLIRContext context;
    Error why;
    auto module = models::importModel(context, checkpoint, why);
    EXPECT_TRUE(mlir::succeeded(module)) << why.format();
    int64_t window = -1;
    if (mlir::succeeded(module))
      (*module)->walk([&](lm::AttentionOp op) { window = int64_t(op.getWindow()); });
    return window;
  };
  Checkpoint c = hfLlama();
  c.metadata["sliding_window"] = int64_t(4);
  EXPECT_EQ(windowOf(c), 0); // HF's LlamaForCausalLM ignores it
  c.architecture = "MistralForCausalLM";
  EXPECT_EQ(windowOf(c), 4);
  c.metadata["sliding_window"] = std::monostate();
  EXPECT_EQ(windowOf(c), 0);
  c.metadata.erase("sliding_window"); // MistralConfig's default applies
  EXPECT_EQ(windowOf(c), 4096);
}

TEST(FamilyErrors, ActivationsByEveryName) {
  using Kind = lm::ActivationKind;
  const std::pair<const char *, Kind> names[] = {{"silu", Kind::Silu},
                                                 {"swish", Kind::Silu},
                                                 {"gelu", Kind::Gelu},
                                                 {"gelu_pytorch_tanh", Kind::GeluTanh},
                                                 {"gelu_new", Kind::GeluTanh},
                                                 {"gelu_fast", Kind::GeluTanh},
                                                 {"quick_gelu", Kind::QuickGelu},
                                                 {"relu", Kind::Relu},
                                                 {"relu2", Kind::Relu2},
                                                 {"mish", Kind::Mish}};
  for (auto [name, kind] : names) {
    SCOPED_TRACE(name);
    Checkpoint c = hfLlama();
    c.metadata["hidden_act"] = std::string(name);
    mlir::MLIRContext context;
    Error why;
    auto module = models::importModel(context, c, why);
    ASSERT_TRUE(mlir::succeeded(module)) << why.format();
    int found = 0;
    (*module)->walk([&](lm::ActivationOp op) { found += op.getKind() == kind; });
    EXPECT_EQ(found, 1);
  }
}

TEST(FamilyErrors, AWrongShape) {
  Checkpoint c = hfLlama();
  removeTensor(c, "model.layers.0.self_attn.k_proj.weight");
  addTensor(c, "model.layers.0.self_attn.k_proj.weight", {8, 4});
  expectRefusal(c, "E0297", "found 8x4, the configuration requires 4x8");
}

TEST(FamilyErrors, AQuantisedNorm) {
  Checkpoint c = hfLlama();
  removeTensor(c, "model.norm.weight");
  addTensor(c, "model.norm.weight", {8}, WeightFormat::Q8_0);
  expectRefusal(c, "E0299", "found q8_0");
}

static void expectHead(const Checkpoint &checkpoint, const std::string &tensor) {
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler silent(&context, [](mlir::Diagnostic &) {});
  Error why;
  auto module = models::importModel(context, checkpoint, why);
  ASSERT_TRUE(mlir::succeeded(module)) << why.format();
  auto model = *(*module)->getOps<lm::ModelOp>().begin();
  auto head = mlir::SymbolTable(model).lookup<lm::WeightOp>("output");
  EXPECT_EQ(head ? mlir::cast<mlir::StringAttr>(*head.getSource()).str()
                 : "model.embed_tokens.weight",
            tensor);
}

TEST(FamilyErrors, ATiedHeadThatDiffers) {
  Checkpoint c = hfLlama();
  addTensor(c, "lm_head.weight", {16, 8});
  expectImport(c); // the same bytes are harmless
  std::vector<std::byte> ones(16 * 8 * 4, std::byte(1));
  for (auto &tensor : c.tensors)
    if (tensor.name == "lm_head.weight")
      tensor.data = ones;
  expectHead(c, "lm_head.weight"); // as in HF 5 and vLLM
  c.metadata["tie_word_embeddings"] = false;
  expectHead(c, "lm_head.weight");
  removeTensor(c, "lm_head.weight");
  expectRefusal(c, "E0295", "set \"tie_word_embeddings\": true");
  c.metadata["tie_word_embeddings"] = true;
  expectHead(c, "model.embed_tokens.weight");
}

struct BadValue {
  const char *key;
  import::MetaValue value;
  const char *mention;
};

TEST(FamilyErrors, ValuesThatAreNotSupported) {
  const BadValue values[] = {
      {"num_hidden_layers", int64_t(0), "found 0"},
      {"hidden_size", int64_t(-8), "found -8"},
      {"vocab_size", int64_t(1) << 40, "found 1099511627776"},
      {"rms_norm_eps", -1.0, "'rms_norm_eps'"},
      {"num_key_value_heads", int64_t(3), "multiples of the 3 KV heads"},
      {"head_dim", int64_t(5), "even sizes"},
      {"hidden_act", std::string("tanh"), "found 'tanh', supported: silu"},
      {"rope_scaling.rope_type", std::string("ntk"),
       "found 'ntk', supported: default, linear, llama3, yarn, longrope, dynamic, mrope"},
      {"rope_scaling.type", std::string("proportional"), "found 'proportional'"},
      {"rope_interleaved", true, "supported: false"},
  };
  for (const BadValue &bad : values) {
    SCOPED_TRACE(bad.key);
    Checkpoint c = hfLlama();
    c.metadata[bad.key] = bad.value;
    expectRefusal(c, "E0298", bad.mention);
  }
}

TEST(FamilyErrors, ScalingNeedsItsNumbers) {
  Checkpoint c = hfLlama();
  c.metadata["rope_scaling.rope_type"] = std::string("llama3");
  expectRefusal(c, "E0206", "'rope_scaling.factor'");
  c.metadata["rope_scaling.rope_type"] = std::string("yarn");
  expectRefusal(c, "E0206", "'rope_scaling.factor'");
  c.metadata["rope_scaling.rope_type"] = std::string("longrope");
  expectRefusal(c, "E0298", "'rope_scaling.long_factor'");
}

TEST(FamilyErrors, GemmaLayerTypesMustCoverAllLayers) {
  Checkpoint c = hfLlama();
  c.architecture = "Gemma3ForCausalLM";
  c.metadata["layer_types"] =
      import::MetaArray(std::vector<std::string>{"sliding_attention", "full_attention"});
  expectRefusal(c, "E0298", "found 2 layers, supported: 1 layers");
  c.metadata["layer_types"] = import::MetaArray(std::vector<std::string>{"chunked_attention"});
  expectRefusal(c, "E0298", "'chunked_attention'");
}

TEST(FamilyErrors, AConfigurationAloneImportsForRandomWeights) {
  Checkpoint c = hfLlama();
  c.tensors.clear();
  mlir::MLIRContext context;
  Error why;
  auto module = models::importModel(context, c, why);
  ASSERT_TRUE(mlir::succeeded(module)) << why.format();
  auto model = *(*module)->getOps<lm::ModelOp>().begin();
  auto embedding = mlir::SymbolTable(model).lookup<lm::WeightOp>("token_embd");
  EXPECT_EQ(embedding.getType().getFormat(), WeightFormat::F16); // the dtype of the configuration
}

namespace {

Checkpoint hfGptNeox(int64_t packedRows = 24) {
  Checkpoint c;
  c.container = import::Container::Safetensors;
  c.architecture = "GPTNeoXForCausalLM";
  c.metadata = {{"hidden_size", int64_t(8)},         {"num_hidden_layers", int64_t(1)},
                {"num_attention_heads", int64_t(2)}, {"intermediate_size", int64_t(12)},
                {"vocab_size", int64_t(16)},         {"rotary_pct", 0.5}};
  addTensor(c, "gpt_neox.embed_in.weight", {16, 8});
  addTensor(c, "embed_out.weight", {16, 8});
  std::string layer = "gpt_neox.layers.0.";
  auto addBoth = [&](const std::string &name, std::vector<int64_t> shape) {
    addTensor(c, name + ".bias", {shape.front()});
    addTensor(c, name + ".weight", std::move(shape));
  };
  addBoth("gpt_neox.final_layer_norm", {8});
  addBoth(layer + "input_layernorm", {8});
  addBoth(layer + "post_attention_layernorm", {8});
  addBoth(layer + "attention.query_key_value", {packedRows, 8});
  addBoth(layer + "attention.dense", {8, 8});
  addBoth(layer + "mlp.dense_h_to_4h", {12, 8});
  addBoth(layer + "mlp.dense_4h_to_h", {8, 12});
  return c;
}

} // namespace

TEST(FamilyErrors, APackedTensorOfAnotherSize) {
  expectImport(hfGptNeox());
  expectRefusal(hfGptNeox(20), "E0297",
                "found 20x8, the configuration requires 8x8, from rows 8 to 23 of it");
  expectRefusal(hfGptNeox(30), "E0850",
                "'gpt_neox.layers.0.attention.query_key_value.bias' is only partly used");
  Checkpoint c = hfGptNeox();
  removeTensor(c, "gpt_neox.layers.0.attention.query_key_value.weight");
  expectRefusal(c, "E0295", "'gpt_neox.layers.0.attention.query_key_value.weight'");
}

TEST(FamilyErrors, MasksOfOldFilesAreKnownToGptNeoxAlone) {
  Checkpoint c = hfGptNeox();
  c.unread = {{"gpt_neox.layers.0.attention.bias", "BOOL"}};
  addTensor(c, "gpt_neox.layers.0.attention.masked_bias", {1});
  expectImport(c);
  c.unread.push_back({"gpt_neox.mask", "U8"});
  expectRefusal(c, "E0218", "'gpt_neox.mask' has the type U8");
  Checkpoint llama = hfLlama();
  llama.unread = {{"model.layers.0.self_attn.q_proj.weight", "U8"}};
  removeTensor(llama, "model.layers.0.self_attn.q_proj.weight");
  expectRefusal(llama, "E0218", "'model.layers.0.self_attn.q_proj.weight' has the type U8");
}

TEST(FamilyErrors, HeadsOfGptNeoxFillTheHiddenRows) {
  Checkpoint c = hfGptNeox();
  c.metadata["num_attention_heads"] = int64_t(3);
  expectRefusal(c, "E0298", "multiples of the 3 heads");
  c = hfGptNeox();
  c.metadata["rotary_pct"] = 0.25; // a quarter of 4 is one number
  expectRefusal(c, "E0298", "even sizes");
}

namespace {

/// Returns a model of two layers: a convolution, then attention.
Checkpoint hfLfm2(std::vector<int64_t> convolution = {8, 1, 3}) {
  Checkpoint c;
  c.container = import::Container::Safetensors;
  c.architecture = "Lfm2ForCausalLM";
  c.metadata = {
      {"hidden_size", int64_t(8)},
      {"num_hidden_layers", int64_t(2)},
      {"num_attention_heads", int64_t(2)},
      {"num_key_value_heads", int64_t(1)},
      {"intermediate_size", int64_t(18)},
      {"block_multiple_of", int64_t(8)},
      {"vocab_size", int64_t(16)},
      {"layer_types", import::MetaArray(std::vector<std::string>{"conv", "full_attention"})}};
  addTensor(c, "model.embed_tokens.weight", {16, 8});
  addTensor(c, "model.embedding_norm.weight", {8});
  addTensor(c, "model.layers.0.conv.in_proj.weight", {24, 8});
  addTensor(c, "model.layers.0.conv.conv.weight", std::move(convolution));
  addTensor(c, "model.layers.0.conv.out_proj.weight", {8, 8});
  const std::string attention = "model.layers.1.self_attn.";
  addTensor(c, attention + "q_proj.weight", {8, 8});
  addTensor(c, attention + "k_proj.weight", {4, 8});
  addTensor(c, attention + "v_proj.weight", {4, 8});
  addTensor(c, attention + "out_proj.weight", {8, 8});
  addTensor(c, attention + "q_layernorm.weight", {4});
  addTensor(c, attention + "k_layernorm.weight", {4});
  for (const char *layer : {"model.layers.0.", "model.layers.1."}) {
    addTensor(c, std::string(layer) + "operator_norm.weight", {8});
    addTensor(c, std::string(layer) + "ffn_norm.weight", {8});
    addTensor(c, std::string(layer) + "feed_forward.w1.weight", {16, 8}); // 12, in multiples of 8
    addTensor(c, std::string(layer) + "feed_forward.w3.weight", {16, 8});
    addTensor(c, std::string(layer) + "feed_forward.w2.weight", {8, 16});
  }
  return c;
}

} // namespace

TEST(FamilyErrors, AConvolutionOfAnotherShape) {
  expectImport(hfLfm2());
  expectImport(hfLfm2({8, 3})); // as in a GGUF
  expectRefusal(hfLfm2({8, 1, 4}), "E0297", "found 8x1x4, the configuration requires 8x1x3");
  expectRefusal(hfLfm2({3, 8}), "E0297", "found 3x8"); // the same number of elements
  Checkpoint c = hfLfm2();
  c.metadata["conv_L_cache"] = int64_t(1);
  expectRefusal(c, "E0298", "found 1, supported: 2");
}

namespace {

/// Returns a GGUF whose only layer is a convolution. `kvHeads` may contradict that.
Checkpoint ggufLfm2(std::vector<int64_t> kvHeads, const std::string &outputNorm) {
  Checkpoint c;
  c.container = import::Container::Gguf;
  c.architecture = "lfm2";
  c.metadata = {{"lfm2.block_count", int64_t(1)},
                {"lfm2.context_length", int64_t(32)},
                {"lfm2.embedding_length", int64_t(8)},
                {"lfm2.feed_forward_length", int64_t(12)},
                {"lfm2.attention.head_count", int64_t(2)},
                {"lfm2.attention.head_count_kv", import::MetaArray(std::move(kvHeads))},
                {"lfm2.attention.layer_norm_rms_epsilon", 1e-5},
                {"lfm2.shortconv.l_cache", int64_t(3)}};
  addTensor(c, "token_embd.weight", {16, 8});
  addTensor(c, outputNorm, {8});
  const std::string layer = "blk.0.";
  addTensor(c, layer + "attn_norm.weight", {8});
  addTensor(c, layer + "ffn_norm.weight", {8});
  addTensor(c, layer + "shortconv.in_proj.weight", {24, 8});
  addTensor(c, layer + "shortconv.conv.weight", {8, 3});
  addTensor(c, layer + "shortconv.out_proj.weight", {8, 8});
  addTensor(c, layer + "ffn_gate.weight", {12, 8});
  addTensor(c, layer + "ffn_up.weight", {12, 8});
  addTensor(c, layer + "ffn_down.weight", {8, 12});
  return c;
}

} // namespace

TEST(FamilyErrors, KvHeadsOfLfm2InAGguf) {
  expectImport(ggufLfm2({0}, "token_embd_norm.weight"));
  expectImport(ggufLfm2({0}, "output_norm.weight")); // as ollama names it
  expectRefusal(ggufLfm2({0, 1}, "token_embd_norm.weight"), "E0298",
                "found 2 layers, supported: a list of 1");
  expectRefusal(ggufLfm2({1}, "token_embd_norm.weight"), "E0295", "'blk.0.attn_q.weight'");
  Checkpoint c = ggufLfm2({0, 1, 2}, "token_embd_norm.weight");
  c.metadata["lfm2.block_count"] = int64_t(3);
  expectRefusal(c, "E0298", "found 1 and 2, supported: one number, or 0");
}

TEST(FamilyErrors, LayersOfLfm2) {
  Checkpoint c = hfLfm2();
  c.metadata["layer_types"] = import::MetaArray(std::vector<std::string>{"conv", "mamba"});
  expectRefusal(c, "E0298", "'mamba'");
  c.metadata["layer_types"] = import::MetaArray(std::vector<std::string>{"conv"});
  expectRefusal(c, "E0298", "found 1 layers, supported: 2 layers");
  c.metadata.erase("layer_types");
  c.metadata["full_attn_idxs"] = import::MetaArray(std::vector<int64_t>{1});
  expectImport(c);
  c.metadata["block_auto_adjust_ff_dim"] = false;
  expectRefusal(c, "E0297", "the configuration requires 18x8");
  c.metadata["intermediate_size"] = int64_t(16);
  expectImport(c);
  c.metadata["theta"] = c.metadata["rope_theta"] = 1e6;
  expectImport(c);
}

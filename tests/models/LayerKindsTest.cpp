//===- LayerKindsTest.cpp - Layers that share a kind and layers that do not ----===//
#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Linear.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"
#include "tests/models/TinyCheckpoints.h"

#include "compiler/import/OpenCheckpoint.h"
#include "compiler/reference/Interpreter.h"
#include "models/Family.h"

#include <gtest/gtest.h>

using namespace ingot;

namespace {

struct Imported {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  lm::ModelOp model;
  lm::LayersOp layers;

  explicit Imported(const char *name) {
    auto checkpoint = import::openCheckpoint(tests::tinyCheckpoint(name).model);
    EXPECT_TRUE(checkpoint);
    Error why;
    auto imported = models::importModel(context, **checkpoint, why);
    EXPECT_TRUE(mlir::succeeded(imported)) << why.format();
    module = std::move(*imported);
    model = *module->getOps<lm::ModelOp>().begin();
    module->walk([&](lm::LayersOp op) { layers = op; });
  }

  std::vector<std::string> kinds() {
    std::vector<std::string> names;
    for (auto kind : layers.getKinds().getAsRange<mlir::FlatSymbolRefAttr>())
      names.push_back(kind.getValue().str());
    return names;
  }
};

} // namespace

// The model has seven layers, and the sixth has no window. Layers 1, 2 and 5 have other formats.
TEST(LayerKinds, WindowAndFormatsMakeKinds) {
  Imported gemma("gemma3-gguf-mixed");
  EXPECT_EQ(gemma.kinds(), (std::vector<std::string>{"local0", "local1", "local1", "local0",
                                                     "local0", "global", "local0"}));
  gemma.module->walk([&](lm::AttentionOp op) {
    auto kind = op->getParentOfType<lm::LayerKindOp>();
    EXPECT_EQ(op.getWindow(), kind.getSymName() == "global" ? 0u : 9u);
  });
}

TEST(LayerKinds, EqualLayersShareOne) {
  EXPECT_EQ(Imported("llama-biases-sharded").kinds(), std::vector<std::string>(3, "layer"));
}

TEST(LayerKinds, EveryWeightArgumentNamesItsRole) {
  Imported llama("llama-biases-sharded");
  std::vector<std::string> roles;
  auto kind = *llama.model.getBody().getOps<lm::LayerKindOp>().begin();
  for (unsigned i = 3; i < kind.getNumArguments(); ++i)
    roles.push_back(kind.getArgAttrOfType<mlir::StringAttr>(i, lm::kRoleAttr).str());
  EXPECT_EQ(roles,
            (std::vector<std::string>{"attn_norm", "attn_q", "attn_q_bias", "attn_k", "attn_k_bias",
                                      "attn_v", "attn_v_bias", "rope_freqs", "attn_output",
                                      "attn_output_bias", "ffn_norm", "ffn_gate", "ffn_gate_bias",
                                      "ffn_up", "ffn_up_bias", "ffn_down", "ffn_down_bias"}));
}

// Vectors are f32 whatever the file's format, and record that format.
TEST(LayerKinds, VectorsAreF32) {
  Imported llama("llama-biases-sharded");
  auto norm = mlir::SymbolTable(llama.model).lookup<lm::WeightOp>("blk.1.attn_norm");
  ASSERT_TRUE(norm);
  EXPECT_EQ(norm.getType().getFormat(), WeightFormat::F32);
  EXPECT_EQ(norm.getStored()->getId(), WeightFormat::BF16);
  EXPECT_EQ(lm::rowsOf(*norm.getSource()),
            std::vector<TensorRows>{{"model.layers.1.input_layernorm.weight"}});
}

TEST(LayerKinds, TiedHeadsReadTheEmbedding) {
  auto headOf = [](Imported &imported) {
    std::string head;
    imported.module->walk([&](lm::LinearOp op) {
      if (op->getParentOfType<lm::EntryOp>())
        head = op.getWeight().getDefiningOp<lm::GetWeightOp>().getWeight().str();
    });
    return head;
  };
  Imported tied("llama3-tied"), untied("llama-old-config");
  EXPECT_EQ(headOf(tied), "token_embd");
  EXPECT_EQ(headOf(untied), "output");
}

// A stored head that differs from the embedding is used, whatever the configuration says and whatever its
// type.
TEST(LayerKinds, TiedHeadsOfTheirOwn) {
  const auto imported = [](const char *name, WeightFormat format, bool same) {
    tests::Changed c("llama3-tied");
    import::Tensor head = c.tensor("model.embed_tokens.weight");
    const std::vector<std::byte> numbers(
        static_cast<size_t>(head.elements() * numericFormat(format).bits / 8));
    if (!same)
      head.format = format, head.data = numbers;
    c.add(head, name);
    std::string said;
    mlir::MLIRContext context;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      said += diagnostic.str();
      return mlir::success();
    });
    Error why;
    std::ranges::sort(c.checkpoint.tensors, {}, &import::Tensor::name);
    auto module = models::importModel(context, c.checkpoint, why);
    EXPECT_TRUE(mlir::succeeded(module)) << why.format();
    std::string text;
    if (mlir::succeeded(module))
      llvm::raw_string_ostream(text) << **module;
    return std::pair(text.find("lm.weight @output :") != std::string::npos, said);
  };
  EXPECT_EQ(imported("lm_head.weight", WeightFormat::BF16, true), std::pair(false, std::string()));
  for (WeightFormat format : {WeightFormat::F32, WeightFormat::F16, WeightFormat::BF16}) {
    const auto [own, said] = imported("lm_head.weight", format, false);
    EXPECT_TRUE(own);
    EXPECT_NE(said.find("'tie_word_embeddings' is true, but the checkpoint has a separate head"),
              std::string::npos)
        << said;
  }
}

//===- ExpertsTest.cpp - Layouts of experts and their errors ----------------===//
//
// TinyCheckpointsTest.cpp checks the numbers of every layout against HF's. This test covers layouts that are
// no longer written, derived from current ones, and errors.
//===----------------------------------------------------------------------===//
#include "tests/models/TinyCheckpoints.h"

using namespace ingot;

using tests::Changed;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Experts, StacksAreReferences) {
  const std::string fused = Changed("mixtral-fused").import();
  EXPECT_HAS(fused, "lm.weight @blk.0.ffn_up_exps");
  EXPECT_HAS(fused, "#lm.rows<\"model.layers.0.mlp.experts.gate_up_proj\" from 14 [5 by 28, 14]>");
  EXPECT_HAS(fused, "source = \"model.layers.0.mlp.experts.down_proj\"");
  const std::string turned = Changed("gpt-oss-old-config").import();
  EXPECT_HAS(turned, "gate_up_proj\" matrix 4 transposed from 1 [14 by 2]");
  EXPECT_HAS(turned, "gate_up_proj_bias\" from 1 [5 by 28, 14 by 2]>");
  const std::string packed = Changed("gpt-oss-mxfp4").import();
  EXPECT_HAS(packed, "gate_up_proj\" from 1 [3 by 64, 32 by 2]>");
}

/// The layout of Qwen3-VL's text model.
TEST(Experts, StacksWithColumnsFirst) {
  Changed c("qwen3moe-fused");
  for (import::Tensor &tensor : c.checkpoint.tensors)
    if (tensor.shape.size() == 3)
      std::swap(tensor.shape[1], tensor.shape[2]);
  EXPECT_HAS(c.import(), "experts.gate_up_proj\" matrix 4 transposed from 10 [10]>");
}

/// Column permutations of experts: gate and up share one if theirs are equal, and so do all experts.
TEST(Experts, OrdersOfColumns) {
  const std::string own = Changed("mixtral-gptq-act-order").import();
  EXPECT_HAS(own, "lm.weight @blk.0.ffn_gate_exps : !lm.weight<3x64x64, int4z_g32>");
  EXPECT_HAS(own, "lm.weight @blk.0.ffn_gate_exps_columns : !lm.weight<192, f32> {values =");
  EXPECT_EQ(own.find("@blk.0.ffn_up_exps_columns"), std::string::npos);
  EXPECT_HAS(own, "lm.weight @blk.1.ffn_up_exps_columns : !lm.weight<192, f32> {values =");
  EXPECT_HAS(own, " of %");
  EXPECT_HAS(own, "lm.weight @output_columns : !lm.weight<64, f32> {values =");
  const std::string one = Changed("qwen3moe-ct-act-order").import();
  EXPECT_EQ(one.find("exps_columns : !lm.weight<256, f32>"), std::string::npos);
  EXPECT_HAS(one, "lm.weight @blk.0.ffn_down_exps_columns : !lm.weight<64, f32> {values =");
  EXPECT_EQ(one.find("@output_columns"), std::string::npos);
}

TEST(Experts, AnOrderOfOtherColumns) {
  Changed c("mixtral-gptq-act-order");
  c.tensor("model.layers.1.block_sparse_moe.experts.1.w2.columns").shape = {32};
  const std::string why = c.import();
  EXPECT_HAS(why, "E0297");
  EXPECT_HAS(why, "experts.1.w2.columns' has the wrong shape");
}

/// A config.json of the transformers class does not say whether weights are normalised.
TEST(Experts, Qwen3VlNormalisesWithoutAKey) {
  Changed c("qwen3-vl-moe-fused");
  EXPECT_HAS(c.import(), "#lm.normalize<sum>");
  c.checkpoint.metadata["model_type"] = std::string("qwen3_moe");
  EXPECT_EQ(c.import().find("#lm.normalize<sum>"), std::string::npos);
}

TEST(Experts, CountsOfEachLayerAreOne) {
  auto with = [](std::vector<int64_t> counts) {
    Changed c("hunyuan-moe-old-config");
    c.checkpoint.metadata["moe_topk"] = import::MetaArray(std::move(counts));
    return c.import();
  };
  EXPECT_HAS(with({2, 2}), "!lm.routes<5, 2>");
  EXPECT_HAS(with({3, 2}), "'moe_topk' is not supported");
  EXPECT_HAS(with({}), "'moe_topk' is not supported");
}

/// GGUFs of 2023 have one tensor per expert.
TEST(Experts, ApartInGguf) {
  Changed old("mixtral-gguf");
  for (const char *name : {"ffn_gate", "ffn_up", "ffn_down"})
    for (const char *layer : {"blk.0.", "blk.1."}) {
      const std::string stack = std::string(layer) + name + "_exps.weight";
      const import::Tensor whole = old.tensor(stack);
      old.drop(stack);
      const size_t bytes = whole.data.size() / 5;
      for (size_t e = 0; e < 5; ++e) {
        import::Tensor one = whole;
        one.shape.erase(one.shape.begin());
        one.data = whole.data.subspan(e * bytes, bytes);
        old.add(one, layer + std::string(name) + "." + std::to_string(e) + ".weight");
      }
    }
  EXPECT_HAS(old.import(), "#lm.rows<\"blk.1.ffn_down.0.weight\", \"blk.1.ffn_down.1.weight\"");
}

TEST(Experts, GateAndUpInOneTensorOfAGguf) {
  Changed fused("qwen3moe-gguf");
  std::vector<std::byte> bytes(1 << 16);
  for (const char *layer : {"blk.0.", "blk.1."}) {
    import::Tensor both = fused.tensor(std::string(layer) + "ffn_gate_exps.weight");
    both.shape[1] *= 2;
    both.data = std::span(bytes).first(2 * both.data.size());
    fused.drop(std::string(layer) + "ffn_gate_exps.weight");
    fused.drop(std::string(layer) + "ffn_up_exps.weight");
    fused.add(both, std::string(layer) + "ffn_gate_up_exps.weight");
  }
  EXPECT_HAS(fused.import(), "#lm.rows<\"blk.1.ffn_gate_up_exps.weight\" from 10 [5 by 20, 10]>");
}

TEST(Experts, OneThatIsMissing) {
  Changed c("qwen3moe-old-config");
  c.drop("model.layers.1.mlp.experts.3.up_proj.weight");
  const std::string why = c.import();
  EXPECT_HAS(why, "E0295");
  EXPECT_HAS(why, "'model.layers.1.mlp.experts.3.up_proj.weight'");
  Changed gguf("qwen3moe-gguf");
  gguf.drop("blk.1.ffn_gate_exps.weight");
  EXPECT_HAS(gguf.import(), "'blk.1.ffn_gate_exps.weight'");
}

TEST(Experts, OneTooMany) {
  Changed c("qwen3moe-old-config");
  c.add(c.tensor("model.layers.1.mlp.experts.3.up_proj.weight"),
        "model.layers.1.mlp.experts.5.up_proj.weight");
  const std::string why = c.import();
  EXPECT_HAS(why, "E0296");
  EXPECT_HAS(why, "'model.layers.1.mlp.experts.5.up_proj.weight'");
}

TEST(Experts, WrongShapesNameTheTensor) {
  Changed apart("qwen3moe-old-config");
  std::ranges::swap(apart.tensor("model.layers.0.mlp.experts.2.down_proj.weight").shape[0],
                    apart.tensor("model.layers.0.mlp.experts.2.down_proj.weight").shape[1]);
  const std::string why = apart.import();
  EXPECT_HAS(why, "E0297");
  EXPECT_HAS(why, "'model.layers.0.mlp.experts.2.down_proj.weight'");
  EXPECT_HAS(why, "found 10x24, the configuration requires 24x10");

  Changed fewer("mixtral-fused");
  fewer.checkpoint.metadata["num_local_experts"] = int64_t(4);
  EXPECT_HAS(fewer.import(), "'model.layers.0.mlp.gate.weight'");
  Changed narrow("mixtral-fused");
  narrow.checkpoint.metadata["intermediate_size"] = int64_t(7);
  EXPECT_HAS(narrow.import(), "found 5x28x24, the configuration requires 5x14x24");
  Changed across("gpt-oss-old-config");
  across.tensor("model.layers.0.mlp.experts.gate_up_proj").shape = {5, 28, 24};
  EXPECT_HAS(across.import(), "found 5x28x24, the configuration requires 5x24x28");
}

TEST(Experts, NumbersOfThemThatDoNotFit) {
  Changed more("qwen3moe-old-config");
  more.checkpoint.metadata["num_experts_per_tok"] = int64_t(6);
  const std::string why = more.import();
  EXPECT_HAS(why, "E0298");
  EXPECT_HAS(why, "found 6, supported: at most 5 (the number of experts)");
  Changed two("qwen3moe-old-config");
  two.checkpoint.metadata["num_local_experts"] = int64_t(6);
  EXPECT_HAS(two.import(), "'num_local_experts' is not supported");
  Changed groups("glm4-moe-old-config");
  groups.checkpoint.metadata["n_group"] = int64_t(2);
  EXPECT_HAS(groups.import(), "equal groups of the 5 experts");
}

TEST(Experts, AShapeAloneHasThem) {
  Changed shape("glm4-moe-old-config");
  shape.checkpoint.tensors.clear();
  EXPECT_HAS(shape.import(), "!lm.weight<5x10x24, bf16>");
}

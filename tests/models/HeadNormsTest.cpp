//===- HeadNormsTest.cpp - Head norms with a weight per head --------------===//
//
// TinyCheckpointsTest.cpp checks the numbers against HF's. This test checks where the weights come from, and
// errors.
//===----------------------------------------------------------------------===//
#include "tests/models/TinyCheckpoints.h"

using namespace ingot;
using tests::Changed;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(HeadNorms, TensorsOfHeadsAreOneVector) {
  const std::string apart = Changed("stablelm-parallel").import(),
                    rows = Changed("cohere-qknorm").import();
  EXPECT_HAS(apart, "lm.weight @blk.1.attn_q_norm : !lm.weight<36, f32>");
  EXPECT_HAS(apart, "#lm.rows<\"model.layers.1.self_attn.q_layernorm.norms.0.weight\", "
                    "\"model.layers.1.self_attn.q_layernorm.norms.1.weight\", ");
  EXPECT_HAS(rows, "lm.weight @blk.1.attn_k_norm : !lm.weight<20, f32>");
  EXPECT_HAS(rows, "#lm.rows<\"model.layers.1.self_attn.k_norm.weight\" [20]>");
}

TEST(HeadNorms, OneThatIsMissing) {
  Changed apart("stablelm-parallel");
  apart.drop("model.layers.1.self_attn.q_layernorm.norms.2.weight");
  const std::string why = apart.import();
  EXPECT_HAS(why, "E0295");
  EXPECT_HAS(why, "'model.layers.1.self_attn.q_layernorm.norms.2.weight'");
}

TEST(HeadNorms, OneTooMany) {
  Changed apart("stablelm-parallel");
  apart.add(apart.tensor("model.layers.1.self_attn.q_layernorm.norms.2.weight"),
            "model.layers.1.self_attn.q_layernorm.norms.3.weight");
  EXPECT_HAS(apart.import(), "'model.layers.1.self_attn.q_layernorm.norms.3.weight'");
}

TEST(HeadNorms, OfAnotherShape) {
  Changed turned("cohere-qknorm");
  turned.tensor("model.layers.0.self_attn.q_norm.weight").shape = {10, 4};
  EXPECT_HAS(turned.import(), "found 10x4, the configuration requires 4x10");
}

/// llama.cpp's converter of 2026 leaves the norms out of the 12B model's file. Without them the result would be wrong.
TEST(HeadNorms, AGgufOfStableLm12BWithoutThem) {
  Changed lost("stablelm-parallel-gguf");
  for (const char *layer : {"blk.0.", "blk.1."})
    for (const char *norm : {"attn_q_norm.weight", "attn_k_norm.weight"})
      lost.drop(std::string(layer) + norm);
  const std::string why = lost.import();
  EXPECT_HAS(why, "E0295");
  EXPECT_HAS(why, "'blk.0.attn_q_norm.weight'");
}

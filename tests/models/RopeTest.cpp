//===- RopeTest.cpp - Rotary frequencies against HF transformers ----------===//
#include "models/Rope.h"

#include <gtest/gtest.h>

using namespace ingot::models;

static void expectNear(const std::vector<float> &found, const std::vector<float> &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 4e-7f * expected[i]) << i;
}

// Numbers from transformers.modeling_rope_utils, whose f32 pow is off by up to 4e-7.
TEST(Rope, Default) {
  Rope rope;
  rope.base = 100000;
  expectNear(ropeFrequencies(rope, 10),
             {1.0f, 0.100000001f, 0.00999999885f, 0.000999999698f, 9.99999902e-05f});
}

TEST(Rope, Linear) {
  Rope rope;
  rope.base = 1000000;
  rope.scaling = Rope::Scaling::Linear;
  rope.factor = 8;
  expectNear(ropeFrequencies(rope, 6), {0.125f, 0.00124999986f, 1.2499996e-05f});
}

// Llama 3.2's own numbers: low frequencies are divided by 32, high ones are unchanged, and two lie
// between.
TEST(Rope, Llama3) {
  Rope rope;
  rope.base = 500000;
  rope.scaling = Rope::Scaling::Llama3;
  rope.factor = 32;
  rope.lowFrequencyFactor = 1;
  rope.highFrequencyFactor = 4;
  rope.originalContext = 8192;
  expectNear(ropeFrequencies(rope, 64), {1.0f,
                                         0.663601279f,
                                         0.440366626f,
                                         0.292227834f,
                                         0.193922758f,
                                         0.128687382f,
                                         0.0853971019f,
                                         0.0566696189f,
                                         0.0376060307f,
                                         0.0249554086f,
                                         0.0165604409f,
                                         0.0109895291f,
                                         0.00729266508f,
                                         0.00483942125f,
                                         0.00321144611f,
                                         0.00129054801f,
                                         0.000429556705f,
                                         9.70828623e-05f,
                                         1.94616387e-05f,
                                         1.29147675e-05f,
                                         8.57025589e-06f,
                                         5.68723226e-06f,
                                         3.77405445e-06f,
                                         2.50446715e-06f,
                                         1.66196742e-06f,
                                         1.10288363e-06f,
                                         7.31874934e-07f,
                                         4.85673127e-07f,
                                         3.22293289e-07f,
                                         2.1387423e-07f,
                                         1.41927202e-07f,
                                         9.41830649e-08f});
}

TEST(Rope, DivisorsDivide) {
  Rope rope;
  expectNear(ropeFrequencies(rope, 4, {2.0f, 8.0f}), {0.5f, 0.01f / 8.0f});
}

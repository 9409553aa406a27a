//===- SafetensorsTest.cpp - Contents of valid safetensors files ----------===//
#include "compiler/import/containers/Safetensors.h"
#include "compiler/import/checkpoint/Dequantize.h"
#include "compiler/import/methods/Quantized.h"
#include "tests/checkpoints/SafetensorsImage.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::import;
using namespace ingot::test;

namespace {

TEST(Safetensors, TensorsAndScalars) {
  std::string bytes = SafetensorsImage::valid().bytes();
  CheckpointBuilder builder(Container::Safetensors);
  auto names = readSafetensors(std::as_bytes(std::span(bytes)), "m", builder);
  ASSERT_TRUE(names) << names.error().format();
  EXPECT_EQ(*names, (std::vector<std::string>{"a", "b", "c"}));
  auto checkpoint = builder.finish("");
  const Tensor *a = checkpoint->find("a"), *b = checkpoint->find("b"), *c = checkpoint->find("c");
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(a->format, WeightFormat::F32);
  EXPECT_EQ(b->shape, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(b->format, WeightFormat::BF16);
  EXPECT_EQ(c->shape, std::vector<int64_t>{1}) << "a scalar is a vector of one";
  EXPECT_EQ(a->data.size(), 24u);
  EXPECT_EQ(c->data.data() + c->data.size(), std::as_bytes(std::span(bytes)).data() + bytes.size());
  EXPECT_TRUE(checkpoint->metadata.empty()) << "__metadata__ says nothing about the model";
}

TEST(Safetensors, EntriesMayComeInAnyOrder) {
  SafetensorsImage image = SafetensorsImage::valid();
  std::swap(image.entries[1], image.entries[3]);
  std::string bytes = image.bytes();
  CheckpointBuilder builder(Container::Safetensors);
  EXPECT_TRUE(readSafetensors(std::as_bytes(std::span(bytes)), "m", builder));
}

TEST(Safetensors, DataNeedsNoAlignment) {
  SafetensorsImage image;
  image.header = R"({"h":{"dtype":"F16","shape":[1],"data_offsets":[0,2]},)"
                 R"("f":{"dtype":"F32","shape":[1,1],"data_offsets":[2,6]}})";
  float value = 1.25f;
  image.data = std::string(6, '\0');
  std::memcpy(image.data.data() + 2, &value, sizeof value);
  std::string bytes = image.bytes();
  CheckpointBuilder builder(Container::Safetensors);
  ASSERT_TRUE(readSafetensors(std::as_bytes(std::span(bytes)), "m", builder));
  auto checkpoint = builder.finish("");
  float read = 0;
  ASSERT_TRUE(dequantizeRow(WeightFormat::F32, tensorRow(*checkpoint->find("f"), 0), {&read, 1}));
  EXPECT_EQ(read, value);
}

// Checkpoints of transformers before 4.40 contain masks. The importer locates their bytes, and a family must recognise
// them by name.
TEST(Safetensors, MasksAreKeptByName) {
  SafetensorsImage image;
  image.header = R"({"m":{"dtype":"BOOL","shape":[1,1,2,2],"data_offsets":[0,4]},)"
                 R"("h":{"dtype":"F16","shape":[1],"data_offsets":[4,6]}})";
  image.data = std::string(6, '\0');
  std::string bytes = image.bytes();
  CheckpointBuilder builder(Container::Safetensors);
  auto names = readSafetensors(std::as_bytes(std::span(bytes)), "m", builder);
  ASSERT_TRUE(names);
  EXPECT_EQ(names->size(), 2u);        // an index lists both
  ASSERT_TRUE(readQuantized(builder)); // no quantised weight uses it
  auto checkpoint = builder.finish("");
  ASSERT_EQ(checkpoint->tensors.size(), 1u);
  EXPECT_EQ(checkpoint->find("m"), nullptr);
  ASSERT_NE(checkpoint->findUnread("m"), nullptr);
  EXPECT_EQ(checkpoint->findUnread("m")->type, "BOOL");
  EXPECT_EQ(checkpoint->findUnread("h"), nullptr);
}

} // namespace

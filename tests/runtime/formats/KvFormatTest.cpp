//===- KvFormatTest.cpp - The table of KV formats ---------------------------===//
#include "runtime/formats/KvFormat.h"

#include <gtest/gtest.h>

using namespace ingot;

TEST(KvFormat, NamesFindTheirRows) {
  for (KvFormat format : {KvFormat::F32, KvFormat::BF16, KvFormat::F16, KvFormat::Int8,
                          KvFormat::FP8, KvFormat::Int4}) {
    const KvFormatInfo &info = kvFormat(format);
    EXPECT_EQ(info.id, format) << info.name;
    EXPECT_EQ(kvFormatNamed(info.name), format);
    EXPECT_TRUE(info.cpu || info.gpu) << info.name;
  }
  EXPECT_EQ(kvFormatNamed("int3"), std::nullopt);
  EXPECT_EQ(kvFormatNamed(""), std::nullopt);
}

TEST(KvFormat, BytesOfAVector) {
  EXPECT_EQ(kvFormat(KvFormat::F32).vectorBytes(64), 256);
  EXPECT_EQ(kvFormat(KvFormat::F16).vectorBytes(80), 160);
  EXPECT_EQ(kvFormat(KvFormat::Int8).vectorBytes(64), 64 + 4);
  // 4-bit codes with a 16-bit scale for each group of 32. The last group is partial.
  const KvFormatInfo &narrow = kvFormat(KvFormat::Int4);
  EXPECT_EQ(narrow.scalesOf(65), 3);
  EXPECT_EQ(narrow.valueBytes(65), 33);
  EXPECT_EQ(narrow.vectorBytes(65), 33 + 6);
}

TEST(KvFormat, ListsAreRowsInOrder) {
  EXPECT_EQ(kvFormatNames(isOfCpus, "and"), "f32, bf16, f16, int8 and int4");
  EXPECT_EQ(kvFormatNames(isOfGpus, "or"), "bf16 or fp8");
  EXPECT_EQ(
      kvFormatNames([](const KvFormatInfo &format) { return format.id == KvFormat::F16; }, "or"),
      "f16");
  EXPECT_EQ(kvFormatNames([](const KvFormatInfo &) { return false; }, "or"), "");
}

//===- PackedTensorsTest.cpp - Packed tensors are used in full and only once ----===//
#include "compiler/import/checkpoint/RowSource.h"
#include "models/ModelBuilder.h"
#include "models/ModelErrors.h"

#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

using namespace ingot;
using models::ModelBuilder;

namespace {

/// A model whose layer has one packed tensor, and a family's importer reduced to what is tested.
struct Packed : ::testing::Test {
  Packed() {
    checkpoint.container = import::Container::Safetensors;
    checkpoint.tensors = {{"embed", WeightFormat::F16, {8, 4}, std::span(zeros).first(64)},
                          {"qkv", WeightFormat::F16, {18, 4}, std::span(zeros).first(144)}};
  }

  /// Makes a weight of each of these selections of rows of qkv. Returns the error, if there is one.
  std::string take(const std::vector<TensorRows> &weights, int64_t rows = 6) {
    mlir::MLIRContext context;
    ModelBuilder model(context, checkpoint, {"test", 8, 4, 16});
    models::EntryWeights entry;
    entry.embedding = entry.output = model.weight("token_embd", "embed", {8, 4});
    float ones[4] = {1, 1, 1, 1};
    entry.outputNorm = model.values("norm", ones);
    for (auto [i, weight] : llvm::enumerate(weights))
      model.weight("w" + std::to_string(i), weight, {rows, 4});
    for (const std::string &name : unread)
      model.takeUnread(name);
    Error why;
    if (mlir::succeeded(model.finish(entry, why)))
      return "";
    EXPECT_FALSE(why.why.empty());
    EXPECT_FALSE(why.fix.empty());
    return why.format();
  }

  const std::vector<std::byte> zeros = std::vector<std::byte>(256);
  import::Checkpoint checkpoint;
  std::vector<std::string> unread;
};

TensorRows heads(int64_t which) { return {"qkv", -1, RowOrder::ofHeads(2 * which, 3, 2, 6)}; }

} // namespace

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(Packed, AllRowsOnceAreFine) {
  EXPECT_EQ(take({heads(0), heads(1), heads(2)}), "");
  EXPECT_EQ(take({{"qkv"}}, 18), "");
}

TEST_F(Packed, RowsThatNobodyTakes) {
  std::string why = take({heads(0), heads(2)});
  EXPECT_HAS(why, "error[E0850]: the tensor 'qkv' is only partly used");
  EXPECT_HAS(why, "uses 12 of its 18 rows; the first unused row is 2");
}

TEST_F(Packed, RowsThatAreTakenTwice) {
  EXPECT_HAS(take({heads(0), heads(1), heads(1)}),
             "error[E0851]: row 2 of the tensor 'qkv' is used twice");
  EXPECT_HAS(take({{"qkv", -1, RowOrder::range(0, 12)}, {"qkv", -1, RowOrder::range(11, 7)}}),
             "E0297"); // 7 rows for a weight of 6 are reported first
}

TEST_F(Packed, RowsBehindTheLast) {
  checkpoint.tensors[1].shape = {12, 4};
  checkpoint.tensors[1].data = std::span(zeros).first(96);
  EXPECT_HAS(take({heads(0), heads(1), heads(2)}),
             "found 12x4, the configuration requires 6x4, from rows 0 to 13 of it");
}

TEST_F(Packed, ARowOfAnotherWidth) {
  checkpoint.tensors[1].shape = {24, 3};
  EXPECT_HAS(take({heads(0), heads(1), heads(2)}), "E0297");
}

TEST_F(Packed, TensorsOfTwoFormatsAreNoWeight) {
  checkpoint.tensors.push_back({"v", WeightFormat::F32, {6, 4}, std::span(zeros).first(96)});
  mlir::MLIRContext context;
  ModelBuilder model(context, checkpoint, {"test", 8, 4, 16});
  EXPECT_FALSE(model.weight("w", {TensorRows{"qkv"}, TensorRows{"v"}}, {24, 4}));
  Error why;
  ASSERT_TRUE(mlir::failed(model.finish({}, why)));
  EXPECT_EQ(why.code, "E0854");
  EXPECT_HAS(why.format(), "'qkv' and 'v' have different formats");
}

TEST_F(Packed, JoinedTensorsAreOneWeight) {
  checkpoint.tensors.push_back({"v", WeightFormat::F16, {6, 4}, std::span(zeros).first(48)});
  mlir::MLIRContext context;
  ModelBuilder model(context, checkpoint, {"test", 8, 4, 16});
  lm::WeightOp weight = model.weight("w", {TensorRows{"v"}, TensorRows{"qkv"}}, {24, 4});
  ASSERT_TRUE(weight);
  EXPECT_EQ(lm::rowsOf(*weight.getSource()),
            (std::vector<TensorRows>{TensorRows{"v"}, TensorRows{"qkv"}}));
}

TEST_F(Packed, MasksAreKnownOrRefused) {
  checkpoint.unread = {{"mask", "BOOL"}};
  std::string why = take({{"qkv"}}, 18);
  EXPECT_HAS(why, "error[E0218]: tensor 'mask' has the type BOOL");
  unread = {"mask", "one that is not there"};
  EXPECT_EQ(take({{"qkv"}}, 18), "");
}

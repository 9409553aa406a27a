//===- Float8Test.cpp - fp8 checkpoints: their scales, keys and errors ----------===//
#include "compiler/import/OpenCheckpoint.h"
#include "compiler/import/checkpoint/Checkpoint.h"
#include "compiler/import/checkpoint/Dequantize.h"
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/SafetensorsImage.h"
#include "tests/compiler/import/TemporaryFolder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::import;
using namespace ingot::test;

namespace {

using Opened = Result<std::shared_ptr<Checkpoint>>;

constexpr char kFp8[] =
    R"("quant_method": "fp8", "activation_scheme": "dynamic", "modules_to_not_convert": ["lm_head"])";
constexpr char kBlocks[] =
    R"("quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": [128, 128])";

/// Returns the configuration of a compressed-tensors checkpoint, as llm-compressor writes it.
std::string compressed(const std::string &strategy, const std::string &more = "",
                       const std::string &group = "") {
  std::string block = strategy == "block" ? "[128, 128]" : "null";
  return R"("quant_method": "compressed-tensors", "format": "float-quantized", "quantization_status": "compressed",
    "ignore": ["lm_head"], "kv_cache_scheme": null, "global_compression_ratio": 1.2, "sparsity_config": {},
    "transform_config": {}, "version": "0.12.2", "config_groups": {"group_0": {"format": "float-quantized",
      "targets": ["Linear"], "output_activations": null,
      "input_activations": {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": true, "symmetric": true,
                            "observer": null, "observer_kwargs": {}},
      "weights": {"num_bits": 8, "type": "float", "strategy": ")" +
         strategy +
         R"(", "symmetric": true, "dynamic": false, "observer": "minmax", "observer_kwargs": {"a": 1},
                  "actorder": null, "group_size": null, "block_structure": )" +
         block + R"(})" + group + "}}" + more;
}

std::string bytesOf(const std::vector<float> &numbers) {
  return {reinterpret_cast<const char *>(numbers.data()), numbers.size() * 4};
}

/// Builder of a folder: the valid configuration with a quantization_config, and fp8 tensors.
struct Fp8Folder {
  CheckpointFiles files = validFolder();
  SafetensorsImage image;

  explicit Fp8Folder(const std::string &quantization) {
    std::string config = validConfig();
    if (!quantization.empty())
      config.insert(config.rfind('}'), ", \"quantization_config\": {" + quantization + "}");
    files.files["config.json"] = config;
  }
  Fp8Folder &add(const std::string &name, const std::string &dtype,
                 const std::vector<int64_t> &shape, const std::string &bytes) {
    image.add(name, dtype, shape, bytes.size());
    image.data.replace(image.data.size() - bytes.size(), bytes.size(), bytes);
    return *this;
  }
  /// Adds a weight with codes 0, 1, 2, …, none of which is NaN.
  Fp8Folder &weight(int64_t n, int64_t k, const std::string &name = "w.weight") {
    std::string codes;
    for (int64_t i = 0; i < n * k; ++i)
      codes += static_cast<char>(i % 127);
    return add(name, "F8_E4M3", {n, k}, codes);
  }
  Fp8Folder &scales(const std::vector<int64_t> &shape, const std::vector<float> &numbers,
                    const std::string &name = "w.weight_scale") {
    return add(name, "F32", shape, bytesOf(numbers));
  }
  Opened open() {
    files.files["model.safetensors"] = image.bytes();
    return openCheckpoint(writeCheckpoint(files, folder.path("m")));
  }
  std::string code() {
    Opened opened = open();
    return opened ? "opened" : opened.error().code;
  }

  TemporaryFolder folder;
};

float e4m3(int code) {
  int exponent = code >> 3 & 15, mantissa = code & 7;
  return exponent ? std::ldexp(float(8 + mantissa), exponent - 10)
                  : std::ldexp(float(mantissa), -9);
}

/// Checks that every number of "w.weight" is its code times its scale, `scaleOf(row, k)`.
template <typename ScaleOf>
void expectNumbers(const Checkpoint &checkpoint, WeightFormat format, ScaleOf scaleOf) {
  const Tensor *w = checkpoint.find("w.weight");
  ASSERT_TRUE(w);
  EXPECT_EQ(w->format, format);
  int64_t n = w->shape[0], k = w->shape[1];
  std::vector<float> row(static_cast<size_t>(k));
  for (int64_t r = 0; r < n; ++r) {
    ASSERT_TRUE(dequantizeRow(*w, r, row));
    for (int64_t i = 0; i < k; ++i)
      ASSERT_EQ(row[size_t(i)], scaleOf(r, i) * e4m3(int((r * k + i) % 127))) << r << ", " << i;
  }
  EXPECT_TRUE(checkFinite(*w));
  EXPECT_EQ(checkpoint.tensors.size(), 1u) << "scales are no tensors of the model";
  for (const std::string &key : checkpoint.unusedKeys())
    EXPECT_FALSE(key.starts_with("quantization_config")) << key;
}

std::vector<float> someScales(size_t count) {
  std::vector<float> scales;
  for (size_t i = 0; i < count; ++i)
    scales.push_back(0.001f * float(i + 1) + 0x1p-20f);
  return scales;
}

TEST(Float8, BlocksOfDeepSeek) {
  std::vector<float> scales = someScales(6);
  Opened opened =
      Fp8Folder(kBlocks).weight(130, 260).scales({2, 3}, scales, "w.weight_scale_inv").open();
  ASSERT_TRUE(opened) << opened.error().format();
  expectNumbers(**opened, WeightFormat::Fp8Block128,
                [&](int64_t r, int64_t k) { return scales[size_t(r / 128 * 3 + k / 128)]; });
  EXPECT_EQ((*opened)->layerFormat, WeightFormat::Fp8Block128);
}

TEST(Float8, ATensorsScale) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {1}, {1, 1}}) {
    Fp8Folder folder(kFp8);
    folder.weight(3, 5).scales(shape, {0.25f}).add("w.input_scale", "F32", {}, bytesOf({1}));
    folder.add("m.k_scale", "F32", {}, bytesOf({1}));
    Opened opened = folder.open();
    ASSERT_TRUE(opened) << opened.error().format();
    expectNumbers(**opened, WeightFormat::Fp8Tensor, [](int64_t, int64_t) { return 0.25f; });
  }
}

TEST(Float8, CompressedTensors) {
  std::vector<float> scales = someScales(3);
  for (std::vector<int64_t> shape : {std::vector<int64_t>{3}, {3, 1}}) {
    Opened opened = Fp8Folder(compressed("channel")).weight(3, 5).scales(shape, scales).open();
    ASSERT_TRUE(opened) << opened.error().format();
    expectNumbers(**opened, WeightFormat::Fp8,
                  [&](int64_t r, int64_t) { return scales[size_t(r)]; });
  }
  Opened tensor = Fp8Folder(compressed("tensor")).weight(3, 5).scales({1}, {0.5f}).open();
  ASSERT_TRUE(tensor) << tensor.error().format();
  expectNumbers(**tensor, WeightFormat::Fp8Tensor, [](int64_t, int64_t) { return 0.5f; });
  Opened block = Fp8Folder(compressed("block")).weight(3, 129).scales({1, 2}, {0.5f, 3}).open();
  ASSERT_TRUE(block) << block.error().format();
  expectNumbers(**block, WeightFormat::Fp8Block128,
                [](int64_t, int64_t k) { return k < 128 ? 0.5f : 3.0f; });
}

/// bf16 scales, which llm-compressor writes, convert to f32 exactly.
TEST(Float8, HalfScales) {
  uint16_t halves[] = {0x3c80, 0x3a01, 0x0080};
  std::string bytes(reinterpret_cast<char *>(halves), sizeof halves);
  Opened opened = Fp8Folder(compressed("channel"))
                      .weight(3, 5)
                      .add("w.weight_scale", "BF16", {3, 1}, bytes)
                      .open();
  ASSERT_FALSE(opened) << "2^-126 is no scale";
  EXPECT_EQ(opened.error().code, "E0472");
  halves[2] = 0x4200;
  bytes.assign(reinterpret_cast<char *>(halves), sizeof halves);
  opened = Fp8Folder(compressed("channel"))
               .weight(3, 5)
               .add("w.weight_scale", "BF16", {3, 1}, bytes)
               .open();
  ASSERT_TRUE(opened) << opened.error().format();
  const float expected[] = {0x1p-6f, 0x1.02p-11f, 32};
  expectNumbers(**opened, WeightFormat::Fp8, [&](int64_t r, int64_t) { return expected[r]; });
}

TEST(Float8, ShapesAlone) {
  CheckpointFiles files = Fp8Folder(kBlocks).files;
  files.open = "config.json";
  files.files.erase("model.safetensors");
  TemporaryFolder folder;
  Opened opened = openCheckpoint(writeCheckpoint(files, folder.path("m")));
  ASSERT_TRUE(opened) << opened.error().format();
  EXPECT_EQ((*opened)->layerFormat, WeightFormat::Fp8Block128);
}

TEST(Float8, ScalesThatAreNotThere) {
  EXPECT_EQ(Fp8Folder("").weight(3, 5).scales({}, {1}).code(), "E0470") << "no quantization_config";
  EXPECT_EQ(Fp8Folder(kFp8).weight(3, 5).code(), "E0470");
  EXPECT_EQ(Fp8Folder(kFp8).weight(3, 5).scales({}, {1}).scales({}, {1}, "v.weight_scale").code(),
            "E0470")
      << "of nothing";
  EXPECT_EQ(
      Fp8Folder(kFp8).weight(3, 5).scales({}, {1}).scales({}, {1}, "w.weight_scale_inv").code(),
      "E0470")
      << "twice";
}

TEST(Float8, ShapesOfScales) {
  EXPECT_EQ(Fp8Folder(kFp8).weight(3, 5).scales({3}, {1, 1, 1}).code(), "E0471");
  EXPECT_EQ(Fp8Folder(kBlocks).weight(130, 5).scales({1, 2}, {1, 1}).code(), "E0471")
      << "transposed";
  EXPECT_EQ(Fp8Folder(compressed("channel")).weight(3, 5).scales({1, 3}, {1, 1, 1}).code(),
            "E0471");
  EXPECT_EQ(Fp8Folder(compressed("channel")).weight(3, 5).scales({1}, {1}).code(), "E0471");
  EXPECT_EQ(Fp8Folder(kFp8).add("w.weight", "F8_E4M3", {3}, "abc").scales({1}, {1}).code(), "E0471")
      << "a vector";
  EXPECT_EQ(Fp8Folder(kFp8).weight(1, 1).weight(1, 1, "w.weight_scale").code(), "E0471")
      << "scales of fp8";
}

TEST(Float8, NumbersThatAreNoScales) {
  for (float bad : {std::nanf(""), float(INFINITY), 0.0f, -1.0f, 1e-40f, 1e38f}) {
    Opened opened =
        Fp8Folder(compressed("channel")).weight(3, 5).scales({3, 1}, {1, 1, bad}).open();
    ASSERT_FALSE(opened) << bad;
    EXPECT_EQ(opened.error().code, "E0472");
    EXPECT_TRUE(opened.error().why.starts_with("number 2 of 3 is ")) << opened.error().why;
  }
}

TEST(Float8, CodesThatAreNoNumbers) {
  for (char nan : {'\x7f', '\xff'}) {
    std::string codes(15, '\x7e');
    codes[7] = nan;
    Opened opened =
        Fp8Folder(kFp8).add("w.weight", "F8_E4M3", {3, 5}, codes).scales({}, {1}).open();
    ASSERT_TRUE(opened) << opened.error().format();
    Result<void> checked = checkFinite((*opened)->tensors.front());
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, "E0208");
    EXPECT_TRUE(checked.error().why.starts_with("first at row 1, column 2 of 3 x 5 (fp8_tensor)"))
        << checked.error().why;
  }
  EXPECT_EQ(Fp8Folder(kFp8)
                .add("w.weight", "F8_E5M2", {3, 5}, std::string(15, 'a'))
                .scales({}, {1})
                .code(),
            "E0218");
}

TEST(Float8, ConfigurationsThatMeanSomethingElse) {
  auto code = [](const std::string &quantization) {
    return Fp8Folder(quantization).weight(3, 5).scales({}, {1}).code();
  };
  EXPECT_EQ(code(R"("quant_method": "fp8", "fmt": "e5m2")"), "E0473");
  EXPECT_EQ(code(R"("quant_method": "fp8", "activation_scheme": "odd")"), "E0473");
  EXPECT_EQ(code(R"("quant_method": "fp8", "weight_block_size": [64, 128])"), "E0473");
  EXPECT_EQ(code(R"("quant_method": "fp8", "weight_block_size": 128)"), "E0473");
  EXPECT_EQ(code(compressed("group")), "E0473");
  EXPECT_EQ(
      code(
          R"("quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": {})"),
      "E0473");
  auto with = [&](const std::string &from, const std::string &to) {
    std::string text = compressed("tensor");
    return code(text.replace(text.rfind(from), from.size(), to));
  };
  EXPECT_EQ(with(R"("num_bits": 8)", R"("num_bits": 4)"), "E0473");
  EXPECT_EQ(with(R"("type": "float")", R"("type": "int")"), "E0473");
  EXPECT_EQ(with(R"("symmetric": true)", R"("symmetric": false)"), "E0473");
  EXPECT_EQ(with(R"("dynamic": false)", R"("dynamic": true)"), "E0473");
  EXPECT_EQ(
      with(R"("sparsity_config": {})", R"("sparsity_config": {"format": "sparse-24-bitmask"})"),
      "E0473");
  EXPECT_EQ(code(R"("quant_method": "compressed-tensors", "format": "int-quantized")"), "E0473")
      << "it says nothing of weights";
  EXPECT_EQ(code(compressed("tensor", R"(, "transform_config": {"config_groups": {"u": 1}})")),
            "E0473")
      << "weights were rotated";
}

/// Unknown keys are left to the families, which refuse them by name.
TEST(Float8, UnknownKeysStay) {
  Opened opened = Fp8Folder(std::string(kFp8) + R"(, "rotation": "hadamard")")
                      .weight(3, 5)
                      .scales({}, {1})
                      .open();
  ASSERT_TRUE(opened) << opened.error().format();
  std::vector<std::string> unused = (*opened)->unusedKeys();
  EXPECT_TRUE(std::ranges::find(unused, "quantization_config.rotation") != unused.end());
}

} // namespace

//===- QuantizedTest.cpp - Quantised checkpoints, number by number ----------===//
//
// tests/checkpoints/quantized_golden.bin has matrices as GPTQ, AWQ, compressed-tensors, gpt-oss and
// bitsandbytes store them, with the numbers that they represent (make_quantized_golden.py there). The
// importer must return those numbers bit for bit, in the format that the table below expects, and must refuse
// by name what it cannot read.
//===----------------------------------------------------------------------===//
#include "compiler/import/checkpoint/Dequantize.h"
#include "compiler/import/checkpoint/RowSource.h"
#include "tests/compiler/import/QuantizedGolden.h"

#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

using namespace ingot;
using namespace ingot::import;
using namespace ingot::test;

namespace {

const std::map<std::string, WeightFormat> kExpected = {
    {"gptq-2-g64", WeightFormat::Int4ZG64},
    {"gptq-2-symmetric", WeightFormat::Int4G128},
    {"gptq-3-g32", WeightFormat::Int4ZG32},
    {"gptq-4-g128", WeightFormat::Int4G128},
    {"gptq-4-g32-asymmetric", WeightFormat::Int4ZG32},
    {"gptq-4-v2", WeightFormat::Int4ZG64},
    {"gptq-4-row", WeightFormat::Int4G128},
    {"gptq-4-bf16", WeightFormat::Int4ZBG128},
    {"gptq-4-f32", WeightFormat::Int4ZFG32},
    {"gptq-8-g128", WeightFormat::Int8F},
    {"gptq-8-asymmetric", WeightFormat::Int8ZF},
    {"awq-g128", WeightFormat::Int4ZG128},
    {"awq-g32", WeightFormat::Int4ZG32},
    {"ct-pack-4-channel", WeightFormat::Int4BG128},
    {"ct-pack-4-group", WeightFormat::Int4BG32},
    {"ct-pack-4-asymmetric", WeightFormat::Int4ZBG32},
    {"ct-pack-4-f16", WeightFormat::Int4ZG32},
    {"ct-pack-8-group", WeightFormat::Int8ZF},
    {"ct-int-channel", WeightFormat::Int8F},
    {"ct-int-asymmetric", WeightFormat::Int8ZF},
    {"ct-naive-tensor", WeightFormat::Int8F},
    {"ct-mxfp4", WeightFormat::Mxfp4},
    {"gpt-oss-mxfp4", WeightFormat::Mxfp4},
    {"bitsandbytes-int8", WeightFormat::Int8F},
    {"ct-nvfp4", WeightFormat::Nvfp4},
    {"modelopt-nvfp4", WeightFormat::Nvfp4},
    {"modelopt-nvfp4-uncalibrated", WeightFormat::Nvfp4},
    {"modelopt-fp8", WeightFormat::Fp8Tensor},
    {"modelopt-fp8-block", WeightFormat::Fp8Block128},
    {"modelopt-fp8-channel", WeightFormat::Fp8},
    {"modelopt-mxfp8", WeightFormat::BF16},
    {"bitsandbytes-nf4", WeightFormat::Nf4},
    {"bitsandbytes-nf4-nested", WeightFormat::Nf4},
    {"bitsandbytes-fp4", WeightFormat::Fp4},
    {"gptq-act-order", WeightFormat::Int4G32},
    {"gptq-act-order-v2", WeightFormat::Int4ZG32},
    {"ct-act-order", WeightFormat::Int4BG32},
    {"mlx-4-g64", WeightFormat::Int4MG64},
    {"mlx-4-g32-bf16", WeightFormat::Int4MBG32},
    {"mlx-4-g128-bf16", WeightFormat::Int4MBG64},
    {"mlx-2", WeightFormat::Int4MG32},
    {"mlx-3", WeightFormat::Int4MBG64},
    {"mlx-5", WeightFormat::Int8MG32},
    {"mlx-6-own", WeightFormat::Int8MBG32},
    {"mlx-8", WeightFormat::Int8MBG32},
    {"mlx-mxfp4", WeightFormat::Mxfp4},
    {"mlx-nvfp4", WeightFormat::Nvfp4},
    {"mlx-mxfp8", WeightFormat::BF16},
    {"ct-mxfp8", WeightFormat::BF16},
    {"fp8-stack-block", WeightFormat::Fp8Block128},
    {"fp8-stack", WeightFormat::Fp8Tensor},
};

/// Allowed errors, relative to the largest magnitude among the value's 64 neighbours: one rounding of f32, or
/// tables whose numbers are not integers (NumericFormat.cpp). All other methods must give the reference's
/// numbers bit for bit.
const std::map<std::string, double> kOff = {{"ct-nvfp4", 0x1p-23},
                                            {"bitsandbytes-nf4", 0.00283},
                                            {"bitsandbytes-nf4-nested", 0.00283},
                                            {"bitsandbytes-fp4", 0.00313}};

/// Returns the largest visible magnitude among the 64 values around position k.
double largestAround(const std::vector<float> &row, int64_t k) {
  double largest = 0;
  for (size_t i = size_t(k / 64 * 64); i < std::min(row.size(), size_t(k / 64 * 64 + 64)); ++i)
    largest = std::max(largest, double(std::abs(row[i])));
  return largest;
}

/// Undoes the sorting of columns. Positions without a source column are NaN.
std::vector<float> unsorted(const std::vector<float> &row, const std::vector<float> &columns) {
  std::vector<float> result(row.size(), std::numeric_limits<float>::quiet_NaN());
  for (size_t k = 0; k < row.size(); ++k)
    result.at(size_t(columns[k])) = row[k];
  return result;
}

/// bf16 and f16 scales could by chance fit a smaller type, but none of these do.
TEST(Quantized, EveryMatrixEqualsTheReferenceBitForBit) {
  const std::map<std::string, Golden> goldens = GoldenFile().read();
  ASSERT_EQ(goldens.size(), kExpected.size());
  for (const auto &[name, golden] : goldens) {
    TemporaryFolder folder;
    Opened opened = open(golden, folder);
    ASSERT_TRUE(opened) << name << ": " << opened.error().format();
    const Tensor *matrix = (*opened)->find(golden.matrix);
    ASSERT_TRUE(matrix) << name;
    const Tensor *columns = (*opened)->find("w.columns");
    EXPECT_EQ(columns != nullptr, name.find("act-order") != std::string::npos) << name;
    EXPECT_EQ((*opened)->tensors.size(), columns ? 2u : 1u)
        << name << ": its parts are no tensors of the model";
    EXPECT_TRUE((*opened)->unread.empty()) << name;
    EXPECT_EQ(numericFormat(matrix->format).name, numericFormat(kExpected.at(name)).name) << name;
    EXPECT_TRUE(numericFormat(matrix->format).isScaledFloat() ||
                (matrix->maker && matrix->data.empty()))
        << name << ": nothing is made before it is read";
    EXPECT_TRUE(checkFinite(*matrix)) << name;
    const int64_t k = matrix->shape.back(), rows = matrix->elements() / k;
    ASSERT_EQ(size_t(rows * k), golden.values.size()) << name;
    std::vector<float> row(static_cast<size_t>(k)), places(row.size());
    std::iota(places.begin(), places.end(), 0.0f);
    if (columns) {
      ASSERT_TRUE(RowSource(*columns).read(0, places));
    }
    for (int64_t r = 0; r < rows; ++r) {
      ASSERT_TRUE(dequantizeRow(*matrix, r, row)) << name;
      if (columns)
        row = unsorted(row, places);
      for (int64_t i = 0; i < k; ++i) { // -0 of E2M1 is 0, since twice the number is an integer
        const float wanted = golden.values[size_t(r * k + i)];
        if (auto off = kOff.find(name); off != kOff.end())
          ASSERT_NEAR(row[size_t(i)], wanted, off->second * 1.01 * largestAround(row, i))
              << name << " " << r << ", " << i;
        else
          ASSERT_EQ(row[size_t(i)], wanted) << name << " " << r << ", " << i;
      }
    }
    for (const std::string &key : (*opened)->unusedKeys())
      EXPECT_FALSE(key.starts_with("quantization")) << name << ": " << key;
  }
}

/// Checks the rows of a matrix whose columns were sorted, restored to their order, against the wanted
/// numbers.
void expectOrderedRows(const Checkpoint &checkpoint, const std::string &name,
                       std::span<const float> wanted) {
  const Tensor *matrix = checkpoint.find(name + ".weight"),
               *columns = checkpoint.find(name + ".columns");
  ASSERT_TRUE(matrix && columns) << name;
  const auto k = size_t(matrix->shape[1]);
  std::vector<float> row(k), places(k);
  ASSERT_TRUE(RowSource(*columns).read(0, places));
  EXPECT_FALSE(std::ranges::is_sorted(places));
  for (int64_t r = 0; r < matrix->shape[0]; ++r) {
    ASSERT_TRUE(dequantizeRow(*matrix, r, row)) << name;
    EXPECT_TRUE(std::ranges::equal(unsorted(row, places), wanted.subspan(size_t(r) * k, k)))
        << name << " row " << r;
  }
}

/// Checks the rows that a reference selects against the wanted numbers.
void expectRows(const Checkpoint &checkpoint, const std::vector<TensorRows> &parts,
                std::span<const float> wanted, const std::string &what) {
  Result<RowSource> source = RowSource::find(checkpoint, parts);
  ASSERT_TRUE(source) << what << source.error().format();
  std::vector<float> numbers(static_cast<size_t>(source->rows() * source->columns()));
  ASSERT_EQ(numbers.size(), wanted.size()) << what;
  ASSERT_TRUE(source->read(0, numbers)) << what;
  EXPECT_TRUE(std::ranges::equal(numbers, wanted)) << what;
}

/// Any matrix of a stack can be read, and so can a selection of its rows in a given order. Gate and up of gpt-oss
/// alternate.
TEST(Quantized, MatricesOfAStack) {
  for (const char *name : {"gpt-oss-mxfp4", "fp8-stack-block", "fp8-stack"}) {
    const Golden golden = GoldenFile().read().at(name);
    TemporaryFolder folder;
    Opened opened = open(golden, folder);
    ASSERT_TRUE(opened) << name << opened.error().format();
    const Tensor &stack = *(*opened)->find(golden.matrix);
    ASSERT_EQ(stack.shape.size(), 3u) << name;
    const int64_t n = stack.shape[1], k = stack.shape[2];
    for (int64_t e = 0; e < stack.shape[0]; ++e) {
      const std::span<const float> matrix =
          std::span(golden.values).subspan(size_t(e * n * k), size_t(n * k));
      expectRows(**opened, {{golden.matrix, e}}, matrix, name);
      std::vector<float> odd;
      for (int64_t row = 1; row < n; row += 2)
        odd.insert(odd.end(), matrix.begin() + row * k, matrix.begin() + (row + 1) * k);
      expectRows(**opened, {{golden.matrix, e, {1, {{n / 2, 2}}}}}, odd, name);
    }
  }
}

/// Experts of a layer that are stored as separate tensors get one format, so that they can form a stack. The format can
/// hold the scales and zero points of all of them.
TEST(Quantized, ExpertsHaveOneFormat) {
  const std::map<std::string, Golden> goldens = GoldenFile().read();
  Golden both = goldens.at("gptq-4-g128"),
         second = goldens.at("gptq-4-bf16"); // different scales, and zero points
  both.replace("\"sym\": true", "\"sym\": false");
  for (Golden *expert : {&both, &second})
    for (StoredTensor &tensor : expert->tensors)
      tensor.name.replace(0, 1, expert == &both ? "e.experts.0.up" : "e.experts.1.up");
  std::erase_if(both.tensors,
                [](const StoredTensor &tensor) { return tensor.name.ends_with(".bias"); });
  both.tensors.insert(both.tensors.end(), second.tensors.begin(), second.tensors.end());
  both.values.insert(both.values.end(), second.values.begin(), second.values.end());
  TemporaryFolder folder;
  Opened opened = open(both, folder);
  ASSERT_TRUE(opened) << opened.error().format();
  EXPECT_EQ((*opened)->tensors.front().format, WeightFormat::Int4ZFG32);
  expectRows(**opened, {{"e.experts.0.up.weight"}, {"e.experts.1.up.weight"}}, both.values,
             "experts");
}

/// Experts and heads can have column permutations like any matrix, without a change of their
/// format.
TEST(Quantized, OrderedColumnsOfExpertsAndHeads) {
  for (const char *name : {"gptq-act-order", "gptq-act-order-v2", "ct-act-order"})
    for (const std::string owner : {"e.experts.3.up", "lm_head"}) {
      Golden golden = GoldenFile().read().at(name);
      for (StoredTensor &tensor : golden.tensors)
        tensor.name.replace(0, 1, owner);
      TemporaryFolder folder;
      Opened opened = open(golden, folder);
      ASSERT_TRUE(opened) << opened.error().format();
      const Tensor *matrix = (*opened)->find(owner + ".weight");
      EXPECT_EQ(matrix->format, kExpected.at(name));
      EXPECT_TRUE((*opened)->notes.empty());
      expectOrderedRows(**opened, owner, golden.values);
    }
}

/// Some experts may have their columns in the original order: these get no permutation.
TEST(Quantized, OrderedColumnsOfSomeExperts) {
  Golden golden = GoldenFile().read().at("gptq-act-order"), second = golden;
  for (Golden *expert : {&golden, &second})
    for (StoredTensor &tensor : expert->tensors)
      tensor.name.replace(0, 1, expert == &golden ? "e.experts.0.up" : "e.experts.1.up");
  auto *groups = reinterpret_cast<int32_t *>(second["e.experts.1.up.g_idx"].bytes.data());
  for (int32_t k = 0; k < 160; ++k)
    groups[k] = k / 32;
  golden.tensors.insert(golden.tensors.end(), second.tensors.begin(), second.tensors.end());
  TemporaryFolder folder;
  Opened opened = open(golden, folder);
  ASSERT_TRUE(opened) << opened.error().format();
  EXPECT_TRUE((*opened)->find("e.experts.0.up.columns"));
  EXPECT_FALSE((*opened)->find("e.experts.1.up.columns"));
  EXPECT_EQ((*opened)->find("e.experts.1.up.weight")->format, WeightFormat::Int4G32);
  expectOrderedRows(**opened, "e.experts.0.up", golden.values);
}

/// A scale covers 16 or 32 values. Rows have as many such groups as they have scales.
TEST(Quantized, RowsThatEndInsideOfAGroup) {
  for (const auto &[name, codes, scales, size] :
       {std::tuple{"ct-mxfp4", "w.weight_packed", "w.weight_scale", "32"},
        std::tuple{"ct-mxfp8", "w.weight", "w.weight_scale", "32"},
        std::tuple{"modelopt-nvfp4", "w.weight", "w.weight_scale", "16"}}) {
    Golden golden = GoldenFile().read().at(name);
    StoredTensor &stored = golden[codes], &scale = golden[scales];
    const int64_t bytes = int64_t(stored.bytes.size());
    stored.shape = {bytes / 4, 4}; // 4 or 8 values
    scale.shape = {bytes / 4, 1};
    scale.bytes.resize(size_t(bytes / 4), scale.bytes.front());
    TemporaryFolder folder;
    Opened opened = open(golden, folder);
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().code, "E0477") << opened.error().format();
    EXPECT_NE(opened.error().what.find("ends inside a group"), std::string::npos)
        << opened.error().format();
    EXPECT_NE(opened.error().why.find(std::string("values, groups of ") + size), std::string::npos)
        << opened.error().format();
  }
}

/// Groups of uneven sizes are not a column order that can be sorted.
TEST(Quantized, OrderedColumnsOfUnevenGroups) {
  Golden golden = GoldenFile().read().at("gptq-act-order");
  auto *groups = reinterpret_cast<int32_t *>(golden["w.g_idx"].bytes.data());
  groups[0] = (groups[0] + 1) % 5;
  TemporaryFolder folder;
  Opened opened = open(golden, folder);
  ASSERT_TRUE(opened) << opened.error().format();
  EXPECT_EQ((*opened)->find("w.weight")->format, WeightFormat::F16);
  EXPECT_EQ((*opened)->notes.size(), 1u);
}

/// If the columns of one expert cannot be sorted, the other experts are converted to floats as well, because a stack
/// has one format.
TEST(Quantized, OrderedColumnsOfUnevenGroupsOfAnExpert) {
  const Golden stored = GoldenFile().read().at("gptq-act-order");
  Golden all = stored;
  all.tensors.clear();
  for (int expert = 0; expert < 3; ++expert) {
    Golden one = stored;
    auto *groups = reinterpret_cast<int32_t *>(one["w.g_idx"].bytes.data());
    for (int32_t k = 0; expert == 1 && k < 160; ++k)
      groups[k] = k / 32;
    if (expert == 2)
      groups[0] = (groups[0] + 1) % 5;
    for (StoredTensor &tensor : one.tensors) {
      tensor.name.replace(0, 1, "e.experts." + std::to_string(expert) + ".up");
      all.tensors.push_back(tensor);
    }
  }
  TemporaryFolder folder;
  Opened opened = open(all, folder);
  ASSERT_TRUE(opened) << opened.error().format();
  for (int expert = 0; expert < 3; ++expert) {
    const std::string name = "e.experts." + std::to_string(expert) + ".up";
    EXPECT_EQ((*opened)->find(name + ".weight")->format, WeightFormat::F16);
    EXPECT_EQ((*opened)->find(name + ".columns") != nullptr, expert == 0);
  }
  std::vector<float> rounded;
  for (float value : stored.values)
    rounded.push_back(float(_Float16(value)));
  expectOrderedRows(**opened, "e.experts.0.up", rounded);
}

TEST(Quantized, TheOldFileOfGptq) {
  Golden golden = GoldenFile().read().at("gptq-4-g32-asymmetric");
  golden.replace("\"quant_method\": \"gptq\", ", ""); // AutoGPTQ did not write it
  TemporaryFolder folder;
  Opened opened = open(golden, folder, "quantize_config.json");
  ASSERT_TRUE(opened) << opened.error().format();
  EXPECT_EQ((*opened)->find("w.weight")->format, WeightFormat::Int4ZG32);
}

TEST(Quantized, TheOwnFileOfModelOpt) {
  for (const char *name : {"modelopt-nvfp4", "modelopt-fp8-block"}) {
    Golden golden = GoldenFile().read().at(name);
    golden.replace("{\"quant_method\": \"modelopt\", ", "{\"producer\": {\"name\": \"modelopt\"}, "
                                                        "\"quantization\": {");
    golden.config += "}";
    TemporaryFolder folder;
    Opened opened = open(golden, folder, "hf_quant_config.json");
    ASSERT_TRUE(opened) << name << opened.error().format();
    EXPECT_EQ((*opened)->find("w.weight")->format, kExpected.at(name));
  }
}

/// Covers code tables that differ from bitsandbytes', and a state that does not match its codes.
TEST(Quantized, FourBitsOfAnotherKind) {
  const Golden golden = GoldenFile().read().at("bitsandbytes-nf4");
  Golden map = golden;
  map["w.weight.quant_map"].bytes[4 * 3 + 2] ^= 1;
  EXPECT_EQ(codeOf(map), "E0478");
  const auto with = [&](const std::string &what, const std::string &by) {
    Golden odd = golden;
    std::string &state = odd["w.weight.quant_state.bitsandbytes__nf4"].bytes;
    state.replace(state.find(what), what.size(), by);
    odd["w.weight.quant_state.bitsandbytes__nf4"].shape = {int64_t(state.size())};
    return codeOf(odd);
  };
  EXPECT_EQ(with("[12, 192]", "[12, 192, 1]"), "E0477");
  EXPECT_EQ(with("[12, 192]", "[12, 191]"), "E0477");
  EXPECT_EQ(with("[12, 192]", "[9223372036854775807, 192]"), "E0477");
  EXPECT_EQ(with("\"nf4\"", "\"fp4\""), "E0477");
  EXPECT_EQ(with("64", "63"), "E0477");
  EXPECT_EQ(with("{", "["), "E0275");
}

TEST(Quantized, WhatIsNotAsItIsStoredIsSaid) {
  for (const char *name :
       {"bitsandbytes-nf4", "bitsandbytes-fp4", "gptq-act-order", "modelopt-nvfp4"}) {
    TemporaryFolder folder;
    Opened opened = open(GoldenFile().read().at(name), folder);
    ASSERT_TRUE(opened);
    EXPECT_EQ((*opened)->notes.size(), kOff.contains(name) ? 1u : 0u) << name;
  }
}

struct Refusal {
  const char *golden, *what, *by, *code;
};

TEST(Quantized, ConfigurationsThatMeanSomethingElse) {
  const std::map<std::string, Golden> goldens = GoldenFile().read();
  for (const Refusal &each : {
           Refusal{"gptq-4-g128", "\"gptq\"", "\"aqlm\"", "E0473"},
           Refusal{"gptq-4-g128", "\"bits\": 4", "\"bits\": 5", "E0473"},
           Refusal{"gptq-4-g128", "\"bits\": 4", "\"bits\": \"4\"", "E0473"},
           Refusal{"gptq-4-g128", "\"group_size\": 128", "\"group_size\": 0", "E0473"},
           Refusal{"gptq-4-g128", "\"bits\": 4", "\"bits\": 4, \"dynamic\": {\"a\": {\"bits\": 8}}",
                   "E0473"},
           Refusal{"gptq-4-g128", "\"checkpoint_format\": \"gptq\"",
                   "\"checkpoint_format\": \"marlin\"", "E0473"},
           Refusal{"gptq-4-g128", "\"bits\": 4", "\"bits\": 8", "E0477"},
           Refusal{"gptq-4-g128", "\"group_size\": 128", "\"group_size\": 64", "E0477"},
           Refusal{"awq-g128", "\"version\": \"gemm\"", "\"version\": \"gemv\"", "E0473"},
           Refusal{"awq-g128", "\"bits\": 4", "\"bits\": 8", "E0473"},
           Refusal{"ct-pack-4-group", "\"format\": \"pack-quantized\"", "\"format\": \"marlin-24\"",
                   "E0473"},
           Refusal{"ct-pack-4-group", "\"transform_config\": {}",
                   "\"transform_config\": {\"config_groups\": {\"R1\": {\"type\": \"hadamard\"}}}",
                   "E0473"},
           Refusal{"ct-pack-4-group", "\"sparsity_config\": {}",
                   "\"sparsity_config\": {\"format\": \"sparse-24-bitmask\"}", "E0473"},
           Refusal{"ct-pack-4-group", "\"actorder\": null", "\"actorder\": \"odd\"", "E0473"},
           Refusal{"ct-pack-4-group", "\"num_bits\": 4", "\"num_bits\": 2", "E0473"},
           Refusal{"bitsandbytes-int8", "\"fp4\"", "\"af4\"", "E0473"},
           Refusal{"mlx-4-g64", "\"bits\": 4", "\"bits\": 7", "E0473"},
           Refusal{"mlx-4-g64", "\"bits\": 4", "\"bits\": 6", "E0477"},
           Refusal{"mlx-mxfp4", "\"mxfp4\"", "\"mxfp6\"", "E0473"},
           Refusal{"modelopt-fp8", "\"FP8\"", "\"INT4_AWQ\"", "E0473"},
           Refusal{"modelopt-fp8", "\"FP8\"", "\"FP8_PB_WO\"", "E0471"},
           Refusal{"ct-nvfp4", "\"format\": \"nvfp4-pack-quantized\", \"quantization_status\"",
                   "\"format\": \"nvfp8\", \"quantization_status\"", "E0473"},
       }) {
    Golden golden = goldens.at(each.golden);
    golden.replace(each.what, each.by);
    EXPECT_EQ(codeOf(golden), each.code) << each.golden << ": " << each.by;
  }
}

TEST(Quantized, PartsThatDoNotFit) {
  const std::map<std::string, Golden> goldens = GoldenFile().read();
  struct Part {
    const char *golden, *tensor;
  };
  for (const Part &each :
       {Part{"gptq-4-g128", "w.scales"}, Part{"gptq-4-g128", "w.qzeros"},
        Part{"awq-g128", "w.scales"}, Part{"awq-g128", "w.qzeros"},
        Part{"ct-pack-4-asymmetric", "w.weight_scale"},
        Part{"ct-pack-4-asymmetric", "w.weight_shape"},
        Part{"gpt-oss-mxfp4", "e.gate_up_proj_scales"}, Part{"ct-mxfp4", "w.weight_scale"},
        Part{"ct-nvfp4", "w.weight_scale"}, Part{"modelopt-nvfp4", "w.weight_scale"},
        Part{"mlx-mxfp8", "w.weight"}, Part{"mlx-4-g64", "w.biases"},
        Part{"bitsandbytes-nf4-nested", "w.weight.absmax"},
        Part{"bitsandbytes-nf4-nested", "w.weight.nested_absmax"},
        Part{"bitsandbytes-nf4-nested", "w.weight.quant_map"}}) {
    Golden missing = goldens.at(each.golden);
    std::erase_if(missing.tensors,
                  [&](const StoredTensor &tensor) { return tensor.name == each.tensor; });
    EXPECT_EQ(codeOf(missing), "E0477") << each.golden << " without " << each.tensor;
    Golden odd = goldens.at(each.golden);
    odd[each.tensor].shape.push_back(1);
    odd[each.tensor].shape.push_back(1);
    EXPECT_EQ(codeOf(odd), "E0477") << each.golden << ", another shape of " << each.tensor;
    Golden typed = goldens.at(each.golden);
    typed[each.tensor].dtype = "BOOL";
    typed[each.tensor].shape = {int64_t(typed[each.tensor].bytes.size())};
    EXPECT_EQ(codeOf(typed), "E0477") << each.golden << ", another type of " << each.tensor;
  }
  Golden powers = goldens.at("ct-mxfp8");
  std::ranges::reverse(powers["w.weight_scale"].shape);
  EXPECT_EQ(codeOf(powers), "E0477");
  std::erase_if(powers.tensors, [](const StoredTensor &tensor) { return tensor.dtype == "U8"; });
  EXPECT_EQ(codeOf(powers), "E0470");
  Golden shape = goldens.at("ct-pack-4-asymmetric");
  shape["w.weight_shape"].bytes[9] ^= 1; // 256 more columns
  EXPECT_EQ(codeOf(shape), "E0477");
}

/// Covers sizes whose sums overflow. A group size near the largest integer means the whole row.
TEST(Quantized, SizesThatOverflow) {
  Golden row = GoldenFile().read().at("gptq-4-row");
  row.replace("\"group_size\": -1", "\"group_size\": 9223372036854775708");
  TemporaryFolder folder;
  Opened opened = open(row, folder);
  ASSERT_TRUE(opened) << opened.error().format();
  EXPECT_EQ((*opened)->find("w.weight")->format, WeightFormat::Int4G128);
  Golden awq = GoldenFile().read().at("awq-g128");
  awq.replace("\"group_size\": 128", "\"group_size\": 9223372036854775807");
  EXPECT_EQ(codeOf(awq), "E0477");
  for (int64_t k : {INT64_MAX, INT64_MIN, int64_t(-1), int64_t(0)}) {
    Golden shape = GoldenFile().read().at("ct-pack-4-group");
    std::memcpy(shape["w.weight_shape"].bytes.data() + 8, &k, sizeof k);
    EXPECT_EQ(codeOf(shape), "E0477") << k;
  }
}

/// A per-matrix factor that is stored twice is refused, because only one of the two would be used.
TEST(Quantized, TwoFactorsOfOneMatrix) {
  for (const auto &[name, tensor] : {std::pair{"modelopt-nvfp4", "w.weight_scale_2"},
                                     std::pair{"ct-nvfp4", "w.weight_global_scale"}}) {
    Golden golden = GoldenFile().read().at(name);
    golden[tensor].shape = {2};
    golden[tensor].bytes += golden[tensor].bytes;
    EXPECT_EQ(codeOf(golden), "E0477") << name;
  }
}

TEST(Quantized, ColumnsOfGroupsThatAreNotThere) {
  for (int32_t group : {2, -1}) {
    Golden golden = GoldenFile().read().at("gptq-4-g128");
    std::memcpy(golden["w.g_idx"].bytes.data() + 4 * 5, &group, 4);
    EXPECT_EQ(codeOf(golden), "E0477") << group;
  }
}

TEST(Quantized, AZeroPointThatIsAmbiguous) {
  Golden golden = GoldenFile().read().at("gptq-4-g32-asymmetric");
  golden["w.qzeros"].bytes[0] |= 15;
  EXPECT_EQ(codeOf(golden), "E0478");
  Golden v2 = GoldenFile().read().at("gptq-4-v2"); // states its version
  v2["w.qzeros"].bytes[0] |= 15;
  EXPECT_EQ(codeOf(v2), "opened");
}

TEST(Quantized, GroupsThatNoFormatHas) {
  Golden golden = GoldenFile().read().at("gptq-4-row"); // one group of 104, declared as six of 20
  golden.replace("\"group_size\": -1", "\"group_size\": 20");
  for (const char *part : {"w.qzeros", "w.scales"}) {
    std::string bytes;
    for (int i = 0; i < 6; ++i)
      bytes += golden[part].bytes;
    golden[part].bytes = bytes, golden[part].shape[0] = 6;
  }
  EXPECT_EQ(codeOf(golden), "E0477");
}

/// A scale that is NaN or infinite is reported with its position.
TEST(Quantized, ScalesAreChecked) {
  Golden golden = GoldenFile().read().at("awq-g32");
  golden["w.scales"].bytes[3] = 0x7c, golden["w.scales"].bytes[2] = 0;
  TemporaryFolder folder;
  Opened opened = open(golden, folder);
  ASSERT_TRUE(opened) << opened.error().format();
  Result<void> checked = checkFinite(*(*opened)->find("w.weight"));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, "E0208");
  EXPECT_NE(checked.error().why.find("row 1, column 0"), std::string::npos) << checked.error().why;
}

/// docs/models.md lists exactly the methods that are read.
TEST(Quantized, TheDocumentedMethods) {
  Golden golden = GoldenFile().read().at("awq-g32");
  golden.replace("\"awq\"", "\"odd\"");
  TemporaryFolder folder;
  Opened opened = open(golden, folder);
  ASSERT_FALSE(opened);
  std::string known = opened.error().why; // "…; supported: gptq, awq, …"
  known = known.substr(known.rfind(": ") + 2) + ", ";
  std::ifstream file(test::sourceDir() + "/docs/models.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  size_t rows = 0;
  for (size_t at = 0, end; (end = known.find(", ", at)) != std::string::npos; at = end + 2) {
    ++rows;
    EXPECT_NE(text.find("\n| `" + known.substr(at, end - at) + "` |"), std::string::npos)
        << known.substr(at, end - at);
  }
  EXPECT_GE(rows, 7u);
}

/// Tensors of unsupported types that no quantised weight uses are refused as before.
TEST(Quantized, IntegersOfNobody) {
  Golden golden = GoldenFile().read().at("awq-g32");
  golden.tensors.push_back({"other", "I32", {2}, std::string(8, '\0')});
  EXPECT_EQ(codeOf(golden), "E0218");
}

} // namespace

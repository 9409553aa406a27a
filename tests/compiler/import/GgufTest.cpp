//===- GgufTest.cpp - Contents of valid GGUF files ------------------------===//
#include "compiler/import/containers/Gguf.h"
#include "compiler/import/OpenCheckpoint.h"
#include "compiler/import/checkpoint/Dequantize.h"
#include "compiler/import/checkpoint/RowSource.h"
#include "runtime/formats/E4M3.h"
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/GgufImage.h"
#include "tests/compiler/import/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::import;
using namespace ingot::test;

namespace {

std::shared_ptr<Checkpoint> openImage(const std::string &bytes, const TemporaryFolder &folder) {
  std::string path = writeCheckpoint(
      {.open = "tiny-model.gguf", .files = {{"tiny-model.gguf", bytes}}}, folder.path("g"));
  Result<std::shared_ptr<Checkpoint>> opened = openCheckpoint(path);
  EXPECT_TRUE(opened) << (opened ? "" : opened.error().format());
  return opened ? *opened : nullptr;
}

TEST(Gguf, MetadataOfEveryType) {
  TemporaryFolder folder;
  GgufImage image = GgufImage::valid();
  const std::pair<uint32_t, std::string> integers[] = {
      {0, little<uint8_t>(200)},          {1, little<int8_t>(-5)},
      {2, little<uint16_t>(60000)},       {3, little<int16_t>(-300)},
      {4, little<uint32_t>(1u << 31)},    {5, little<int32_t>(-9)},
      {10, little<uint64_t>(1ull << 40)}, {11, little<int64_t>(-(1ll << 40))}};
  for (const auto &[type, value] : integers) {
    image.entries.push_back(ggufEntry("i" + std::to_string(type), type, value));
    image.entries.push_back(ggufArray("a" + std::to_string(type), type, 1, value));
  }
  image.entries.push_back(ggufEntry("f64", 12, little(0.1)));
  image.entries.push_back(ggufArray("af64", 12, 1, little(0.1)));
  auto checkpoint = openImage(image.bytes(), folder);
  ASSERT_TRUE(checkpoint);

  EXPECT_EQ(checkpoint->container, Container::Gguf);
  EXPECT_EQ(checkpoint->architecture, "llama");
  EXPECT_EQ(checkpoint->name, "Tiny");
  EXPECT_EQ(*checkpoint->integer("llama.block_count"), 7);
  EXPECT_EQ(*checkpoint->integer("llama.big"), INT64_MAX);
  EXPECT_EQ(*checkpoint->number("llama.rope.freq_base"), 10000.5);
  EXPECT_EQ(*checkpoint->number("f64"), 0.1);
  EXPECT_TRUE(*checkpoint->boolean("tokenizer.ggml.add_bos_token"));
  const std::pair<const char *, int64_t> expected[] = {
      {"0", 200},       {"1", -5}, {"2", 60000},      {"3", -300},
      {"4", 1ll << 31}, {"5", -9}, {"10", 1ll << 40}, {"11", -(1ll << 40)}};
  for (const auto &[type, value] : expected) {
    EXPECT_EQ(*checkpoint->integer(std::string("i") + type), value);
    EXPECT_EQ(std::get<std::vector<int64_t>>(*checkpoint->array(std::string("a") + type)),
              std::vector<int64_t>{value});
  }
  using Strings = std::vector<std::string>;
  EXPECT_EQ(std::get<Strings>(*checkpoint->array("tokenizer.ggml.tokens")),
            (Strings{"a", "", "\xff"}));
  EXPECT_EQ(std::get<std::vector<double>>(*checkpoint->array("tokenizer.ggml.scores")),
            (std::vector<double>{0.5, -1.0}));
  EXPECT_EQ(std::get<std::vector<double>>(*checkpoint->array("af64")), std::vector<double>{0.1});
  EXPECT_EQ(std::get<std::vector<bool>>(*checkpoint->array("llama.flags")),
            (std::vector<bool>{true, false, true}));
}

TEST(Gguf, TensorsAreSortedOutermostFirstAndInTheFile) {
  TemporaryFolder folder;
  GgufImage image = GgufImage::valid();
  std::swap(image.tensors[0], image.tensors[2]); // records may come in any order
  auto checkpoint = openImage(image.bytes(), folder);
  ASSERT_TRUE(checkpoint);
  ASSERT_EQ(checkpoint->tensors.size(), 3u);
  const Tensor *a = checkpoint->find("a"), *b = checkpoint->find("b"), *c = checkpoint->find("c");
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(checkpoint->find("d"), nullptr);
  EXPECT_EQ(a->shape, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(a->format, WeightFormat::F32);
  EXPECT_EQ(b->shape, (std::vector<int64_t>{2, 32}));
  EXPECT_EQ(b->format, WeightFormat::Q4_0);
  EXPECT_EQ(b->data.size(), 36u);
  EXPECT_EQ(c->format, WeightFormat::F16);

  std::vector<float> row(8);
  ASSERT_TRUE(dequantizeRow(a->format, tensorRow(*a, 1), row));
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(row[i], static_cast<float>(8 + i) - 7.5f);
  row.resize(32);
  ASSERT_TRUE(dequantizeRow(b->format, tensorRow(*b, 1), row));
  for (int i = 0; i < 16; ++i) { // GgufImage's codes are j in the low nibble and 15-j in the high
    EXPECT_EQ(row[i], static_cast<float>(i - 8));
    EXPECT_EQ(row[16 + i], static_cast<float>(15 - i - 8));
  }
}

// Projectors and adapters lie next to models. Each error points to the model.
TEST(Gguf, ProjectorsAndAdaptersAreNoModels) {
  TemporaryFolder folder;
  const std::tuple<const char *, const char *, const char *> kinds[] = {
      {"clip", "mmproj", "text model"},
      {"clip", "model", "text model"},
      {"llama", "adapter", "llama-export-lora"},
      {"llama", "vocab", "model's own file"}};
  for (const auto &[architecture, type, hint] : kinds) {
    GgufImage image = GgufImage::valid();
    image.entries[0] = ggufEntry("general.architecture", 8, ggufText(architecture));
    image.entries.push_back(ggufEntry("general.type", 8, ggufText(type)));
    auto opened = openCheckpoint(writeCheckpoint(
        {.open = "m.gguf", .files = {{"m.gguf", image.bytes()}}}, folder.path("g")));
    ASSERT_FALSE(opened) << type;
    EXPECT_EQ(opened.error().code, "E0260");
    EXPECT_NE(opened.error().fix.find(hint), std::string::npos) << opened.error().format();
  }
}

/// An NVFP4 matrix has one factor, and a stack has one factor per matrix. Factors for activations are dropped.
TEST(Gguf, FactorsOfNvfp4) {
  const auto open = [](std::vector<uint64_t> shape, std::vector<float> factors) {
    TemporaryFolder folder;
    GgufImage image = GgufImage::valid();
    const size_t blocks = size_t(2 * factors.size());
    image.tensors = {{"a.weight", shape, 40, 0, {}},
                     {"a.input_scale", {1}, 0, 0, {}},
                     {"a.scale", {factors.size()}, 0, 0, {}}};
    std::string weight(36 * blocks, '\x22'); // the code of 1 in E2M1, under scales of 2^-3 * 1.25
    std::string scales(4 * factors.size(), '\0');
    std::memcpy(scales.data(), factors.data(), scales.size());
    const auto add = [&](size_t tensor, std::string bytes) {
      bytes.resize((bytes.size() + 31) / 32 * 32);
      image.tensors[tensor].offset = image.data.size();
      image.data += bytes;
    };
    image.data.clear();
    add(0, weight), add(1, std::string(4, '\0')), add(2, scales);
    auto opened = openCheckpoint(writeCheckpoint(
        {.open = "m.gguf", .files = {{"m.gguf", image.bytes()}}}, folder.path("g")));
    EXPECT_TRUE(opened) << opened.error().format();
    EXPECT_EQ((*opened)->tensors.size(), 1u);
    std::vector<float> values(128 * factors.size());
    EXPECT_TRUE(RowSource((*opened)->tensors.front()).read(0, values));
    return values;
  };
  const float one = f32FromE4M3(0x22);
  EXPECT_EQ(open({64, 2}, {0.5f}), std::vector<float>(128, one / 2));
  std::vector<float> stack(256, 3 * one);
  std::fill_n(stack.begin(), 128, 0.0f); // an expert that no calibration data reached
  EXPECT_EQ(open({64, 2, 2}, {0.0f, 3.0f}), stack);
}

// Blocks of 64 and of 128 values have the same type number. Only their size distinguishes them.
TEST(Gguf, BlocksOfQ2AreToldByTheirRoom) {
  const auto read = [](uint64_t k, uint64_t rows, size_t bytesOfFirst, size_t bytesOfLast) {
    GgufImage image = GgufImage::valid();
    image.tensors = {{"a", {k, rows}, 42, 0, {}}, {"b", {k, rows}, 42, bytesOfFirst, {}}};
    image.data = std::string(bytesOfFirst + bytesOfLast, '\0');
    const std::string bytes = image.bytes();
    CheckpointBuilder builder(Container::Gguf);
    const Result<void> result = readGguf(std::as_bytes(std::span(bytes)), "t.gguf", builder);
    return result ? std::string(builder.tensors()[0].maker ? "128" : "64")
                  : result.error().code + ": " + result.error().why;
  };
  EXPECT_EQ(read(256, 16, 16 * 72, 16 * 72), "64");
  EXPECT_EQ(read(256, 16, 16 * 68, 16 * 68), "128");
  EXPECT_EQ(read(256, 1, 96, 72), "64") << "the first fits both, the last one";
  EXPECT_EQ(read(256, 1, 96, 68), "128") << "the first fits both, the last one";
  EXPECT_EQ(read(192, 16, 16 * 54, 16 * 54), "64") << "rows that are no whole blocks of 128";
  const std::string both = read(256, 1, 96, 96), mixed = read(256, 16, 16 * 72, 16 * 68),
                    neither = read(256, 16, 16 * 60, 16 * 60),
                    cut = read(256, 16, 16 * 72, 16 * 60);
  EXPECT_TRUE(both.starts_with("E0845")) << both;
  EXPECT_NE(both.find("has 96 bytes: blocks of 64 values take 72, blocks of 128 take 68"),
            std::string::npos)
      << both;
  EXPECT_TRUE(mixed.starts_with("E0845")) << mixed;
  EXPECT_NE(mixed.find("'a' has 1152 bytes"), std::string::npos) << mixed;
  EXPECT_NE(mixed.find("'b' has 1088 bytes"), std::string::npos) << mixed;
  EXPECT_TRUE(neither.starts_with("E0845")) << neither;
  EXPECT_NE(neither.find("has 960 bytes: blocks of 64 values take 1152, blocks of 128 take 1088"),
            std::string::npos);
  EXPECT_TRUE(cut.starts_with("E0220")) << cut;
}

/// Values are d (q - 1), with one scale per 128 values, for matrices and stacks.
TEST(Gguf, NumbersOfWideBlocksOfQ2) {
  TemporaryFolder folder;
  GgufImage image = GgufImage::valid();
  image.tensors = {{"t", {256, 2, 3}, 42, 0, {}}};
  image.data.clear();
  std::vector<float> wanted;
  for (int block = 0; block < 12; ++block) {
    const auto scale = static_cast<_Float16>(0.125f * float(block + 1));
    image.data += little(std::bit_cast<uint16_t>(scale));
    for (int i = 0; i < 32; ++i) {
      const auto codes = static_cast<uint8_t>(i * 37 + block * 11);
      image.data += static_cast<char>(codes);
      for (int place = 0; place < 4; ++place)
        wanted.push_back(float(scale) * float((codes >> 2 * place & 3) - 1));
    }
  }
  auto checkpoint = openImage(image.bytes(), folder);
  ASSERT_TRUE(checkpoint);
  const Tensor &tensor = *checkpoint->find("t");
  EXPECT_EQ(tensor.format, WeightFormat::Q2_0);
  EXPECT_TRUE(checkFinite(tensor));
  std::vector<float> row(256);
  for (int64_t r = 0; r < 6; ++r) {
    ASSERT_TRUE(dequantizeRow(tensor, r, row));
    EXPECT_TRUE(std::ranges::equal(row, std::span(wanted).subspan(size_t(256 * r), 256))) << r;
  }
  image.data[size_t(34 * 7 + 1)] = '\x7c'; // infinity: block 7 is the second of row 3
  image.data[size_t(34 * 7)] = '\0';
  checkpoint = openImage(image.bytes(), folder);
  ASSERT_TRUE(checkpoint);
  const Result<void> checked = checkFinite(*checkpoint->find("t"));
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().why.find("row 3, column 128"), std::string::npos)
      << checked.error().why;
}

TEST(Gguf, EveryReadableTypeAndNoOther) {
  const std::pair<uint32_t, WeightFormat> readable[] = {
      {0, WeightFormat::F32},      {1, WeightFormat::F16},      {2, WeightFormat::Q4_0},
      {3, WeightFormat::Q4_1},     {6, WeightFormat::Q5_0},     {7, WeightFormat::Q5_1},
      {8, WeightFormat::Q8_0},     {12, WeightFormat::Q4_K},    {13, WeightFormat::Q5_K},
      {14, WeightFormat::Q6_K},    {30, WeightFormat::BF16},    {10, WeightFormat::Q2_K},
      {11, WeightFormat::Q3_K},    {16, WeightFormat::IQ2_XXS}, {17, WeightFormat::IQ2_XS},
      {18, WeightFormat::IQ3_XXS}, {19, WeightFormat::IQ1_S},   {20, WeightFormat::IQ4_NL},
      {21, WeightFormat::IQ3_S},   {22, WeightFormat::IQ2_S},   {23, WeightFormat::IQ4_XS},
      {29, WeightFormat::IQ1_M},   {34, WeightFormat::TQ1_0},   {35, WeightFormat::TQ2_0},
      {39, WeightFormat::Mxfp4},   {40, WeightFormat::Nvfp4},   {41, WeightFormat::Q1_0},
      {42, WeightFormat::Q2_0}};
  int read = 0;
  for (uint32_t type = 0; type < 64; ++type) {
    GgufImage image = GgufImage::valid();
    const auto *known = std::find_if(std::begin(readable), std::end(readable),
                                     [&](const auto &entry) { return entry.first == type; });
    bool isReadable = known != std::end(readable);
    image.tensors = {{"t", {256, 3}, type, 0, {}}};
    const int64_t rowBytes = !isReadable  ? 0
                             : type == 40 ? 4 * 36
                                          : storedRowBytes(known->second, 256);
    image.data = std::string(isReadable ? static_cast<size_t>(3 * rowBytes) : 64, '\0');
    std::string bytes = image.bytes();
    CheckpointBuilder builder(Container::Gguf);
    Result<void> result = readGguf(std::as_bytes(std::span(bytes)), "t.gguf", builder);
    EXPECT_EQ(bool(result), isReadable) << type;
    if (result) {
      EXPECT_EQ(builder.finish("")->tensors.at(0).format, known->second);
      ++read;
    } else {
      EXPECT_TRUE(result.error().code == "E0218" || result.error().code == "E0219") << type;
      EXPECT_NE(result.error().what.find("'t'"), std::string::npos);
    }
  }
  EXPECT_EQ(read, 28);
}

/// Version 2 is read with everything that version 3 may contain; all others are refused by name.
TEST(Gguf, Versions) {
  const auto read = [](uint32_t version) {
    GgufImage image = GgufImage::valid();
    image.version = version;
    const std::string bytes = image.bytes();
    CheckpointBuilder builder(Container::Gguf);
    return readGguf(std::as_bytes(std::span(bytes)), "t.gguf", builder);
  };
  EXPECT_TRUE(read(2));
  EXPECT_TRUE(read(3));
  EXPECT_EQ(read(0).error().code, "E0233");
  EXPECT_EQ(read(1).error().code, "E0233");
  EXPECT_NE(read(1).error().why.find("version 1, with lengths"), std::string::npos);
  EXPECT_EQ(read(4).error().code, "E0234");
  for (uint32_t swapped : {0x01000000u, 0x02000000u, 0x03000000u}) {
    EXPECT_EQ(read(swapped).error().code, "E0232");
    EXPECT_NE(read(swapped).error().what.find("big-endian"), std::string::npos);
  }
}

TEST(Gguf, AlignmentAndPaddingAtTheEnd) {
  TemporaryFolder folder;
  GgufImage image = GgufImage::valid();
  image.alignment = 256;
  image.entries.push_back(ggufEntry("general.alignment", 4, little<uint32_t>(256)));
  image.tensors.resize(2);
  image.tensors[1].offset = 256;
  image.data.insert(128, std::string(128, '\0'));
  image.data.resize(256 + 36);
  EXPECT_TRUE(openImage(image.bytes(), folder)) << "no padding after the last tensor";
  image.data.resize(512);
  EXPECT_TRUE(openImage(image.bytes(), folder)) << "full padding";
}

TEST(Gguf, ContentHashSeesEveryByte) {
  TemporaryFolder folder;
  std::string bytes = GgufImage::valid().bytes();
  auto first = openImage(bytes, folder), same = openImage(bytes, folder);
  ASSERT_TRUE(first && same);
  EXPECT_EQ(first->contentHash.size(), 32u);
  EXPECT_EQ(first->contentHash, same->contentHash);
  bytes.back() ^= 1;
  auto other = openImage(bytes, folder);
  ASSERT_TRUE(other);
  EXPECT_NE(first->contentHash, other->contentHash);
}

TEST(Gguf, TensorsOutliveTheFilesName) {
  TemporaryFolder folder;
  auto checkpoint = openImage(GgufImage::valid().bytes(), folder);
  ASSERT_TRUE(checkpoint);
  std::filesystem::remove_all(folder.path("g"));
  EXPECT_TRUE(checkFinite(*checkpoint->find("a")));
}

} // namespace

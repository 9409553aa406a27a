//===- MutationTest.cpp - Every truncation and thousands of bit flips -----===//
//
// A damaged file is either refused or, if the damage is in a value that cannot be checked, read as
// another valid file. In that case every tensor lies inside the file and can be read to its end
// (the sanitizer build detects violations).
//===----------------------------------------------------------------------===//
#include "compiler/import/checkpoint/Dequantize.h"
#include "compiler/import/config/ConfigJson.h"
#include "compiler/import/config/Wrapper.h"
#include "compiler/import/containers/Gguf.h"
#include "compiler/import/containers/Safetensors.h"
#include "compiler/import/methods/Quantized.h"
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/GgufImage.h"
#include "tests/checkpoints/SafetensorsImage.h"

#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace ingot;
using namespace ingot::import;
using namespace ingot::test;

namespace {

using Reader = std::function<Result<void>(const std::string &, CheckpointBuilder &)>;

Result<void> readAsGguf(const std::string &bytes, CheckpointBuilder &builder) {
  return readGguf(std::as_bytes(std::span(bytes)), "m.gguf", builder);
}

/// Reads a part of a split model other than the first.
Result<void> readAsPart(const std::string &bytes, CheckpointBuilder &builder) {
  auto part = readGgufPart(std::as_bytes(std::span(bytes)), "m.gguf", /*first=*/false, builder);
  return part ? Result<void>() : Result<void>(part.error());
}

Result<void> readAsSafetensors(const std::string &bytes, CheckpointBuilder &builder) {
  auto names = readSafetensors(std::as_bytes(std::span(bytes)), "m.safetensors", builder);
  return names ? Result<void>() : Result<void>(names.error());
}

Result<void> readAsConfig(const std::string &bytes, CheckpointBuilder &builder) {
  Result<void> read = readConfig(bytes, "config.json", builder);
  return read ? unwrapConfig(builder, "config.json") : read;
}

/// Reads `bytes` and uses every number of every tensor. Returns true if the file was accepted.
bool readThrough(const Reader &reader, const std::string &bytes) {
  // Copy to a buffer of the exact size, so that the sanitizer sees reads past the end.
  const std::string copy(bytes.begin(), bytes.end());
  CheckpointBuilder builder(Container::Gguf);
  Result<void> read = reader(copy, builder);
  if (read)
    read = readQuantized(builder);
  if (!read) {
    EXPECT_TRUE(read.error().code.starts_with("E02") || read.error().code.starts_with("E047") ||
                read.error().code.starts_with("E084"))
        << read.error().format();
    EXPECT_EQ(read.error().exit, ExitCode::File);
    return false;
  }
  auto checkpoint = builder.finish("");
  std::span<const std::byte> file = std::as_bytes(std::span(copy));
  for (const Tensor &tensor : checkpoint->tensors) {
    EXPECT_GE(tensor.data.data(), file.data());
    EXPECT_LE(tensor.data.data() + tensor.data.size(), file.data() + file.size());
    std::vector<float> row(static_cast<size_t>(tensor.shape.back()));
    for (int64_t i = 0; i < tensor.elements() / tensor.shape.back(); ++i)
      EXPECT_TRUE(dequantizeRow(tensor, i, row));
    (void)checkFinite(tensor);
  }
  return true;
}

void sweep(const Reader &reader, const std::string &valid, unsigned seed) {
  ASSERT_TRUE(readThrough(reader, valid));
  for (size_t length = 0; length < valid.size(); ++length)
    EXPECT_FALSE(readThrough(reader, valid.substr(0, length))) << "cut to " << length;
  std::mt19937 random(seed);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string flipped = valid;
    flipped[random() % flipped.size()] ^= static_cast<char>(1 << random() % 8);
    refused += !readThrough(reader, flipped);
  }
  EXPECT_GT(refused, 200) << "flips in a header are seen";
  for (int i = 0; i < 2000; ++i) { // damage whole words, such as counts, lengths and offsets
    std::string changed = valid;
    size_t at = random() % changed.size(), size = std::min<size_t>(8, changed.size() - at);
    static constexpr uint64_t kWords[] = {0,       ~0ull,      1ull << 63, 1ull << 32,
                                          1 << 16, 0x7FFFFFFF, 255,        1ull << 61};
    std::memcpy(changed.data() + at, &kWords[random() % std::size(kWords)], size);
    readThrough(reader, changed);
  }
}

TEST(Mutation, Gguf) { sweep(readAsGguf, GgufImage::valid().bytes(), 1); }

TEST(Mutation, GgufPart) { sweep(readAsPart, validSplitGguf().files["m-00003-of-00003.gguf"], 4); }

TEST(Mutation, Safetensors) { sweep(readAsSafetensors, SafetensorsImage::valid().bytes(), 2); }

TEST(Mutation, Config) { sweep(readAsConfig, validConfig(), 3); }

TEST(Mutation, WrappersConfig) {
  sweep(readAsConfig,
        R"({"architectures": ["W"], "tie_word_embeddings": true, "text_config": )" + validConfig() +
            "}",
        5);
}

} // namespace

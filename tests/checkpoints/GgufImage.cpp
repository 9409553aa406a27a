//===- GgufImage.cpp - Writing GGUF ---------------------------------------===//
#include "tests/checkpoints/GgufImage.h"

namespace ingot::test {

std::string ggufText(const std::string &text) { return little<uint64_t>(text.size()) + text; }

std::string ggufEntry(const std::string &key, uint32_t type, const std::string &value) {
  return ggufText(key) + little(type) + value;
}

std::string ggufArray(const std::string &key, uint32_t type, uint64_t count,
                      const std::string &elements) {
  return ggufEntry(key, 9, little(type) + little(count) + elements);
}

std::string GgufTensor::record() const {
  std::string bytes = ggufText(name) + little(dims.value_or(static_cast<uint32_t>(extents.size())));
  for (uint64_t extent : extents)
    bytes += little(extent);
  return bytes + little(type) + little(offset);
}

GgufImage GgufImage::valid() {
  GgufImage image;
  image.entries = {
      ggufEntry("general.architecture", 8, ggufText("llama")),
      ggufEntry("general.name", 8, ggufText("Tiny")),
      ggufEntry("general.quantization_version", 4, little<uint32_t>(2)),
      ggufEntry("llama.block_count", 4, little<uint32_t>(7)),
      ggufEntry("llama.rope.freq_base", 6, little(10000.5f)),
      ggufEntry("tokenizer.ggml.add_bos_token", 7, little<uint8_t>(1)),
      ggufArray("tokenizer.ggml.tokens", 8, 3, ggufText("a") + ggufText("") + ggufText("\xff")),
      ggufArray("tokenizer.ggml.scores", 6, 2, little(0.5f) + little(-1.0f)),
      ggufArray("tokenizer.ggml.token_type", 5, 2, little<int32_t>(-1) + little<int32_t>(3)),
      ggufArray("llama.flags", 7, 3, std::string("\1\0\1", 3)),
      ggufEntry("llama.big", 10, little<uint64_t>(INT64_MAX)),
  };
  image.tensors = {{"a", {8, 4}, 0, 0, {}}, {"b", {32, 2}, 2, 128, {}}, {"c", {16, 2}, 1, 192, {}}};
  for (int i = 0; i < 32; ++i)
    image.data += little(static_cast<float>(i) - 7.5f);
  for (int block = 0; block < 2; ++block) {
    image.data += little<uint16_t>(0x3C00); // d = 1
    for (int j = 0; j < 16; ++j)
      image.data += static_cast<char>(j | (15 - j) << 4);
  }
  image.data += std::string(28, '\0');
  for (int i = 0; i < 32; ++i)
    image.data += little(static_cast<uint16_t>(0x3C00 + i));
  return image;
}

std::string GgufImage::head() const {
  return magic + little(version) + little(tensorCount.value_or(tensors.size())) +
         little(keyCount.value_or(entries.size()));
}

std::string GgufImage::keys() const {
  std::string bytes = head();
  for (const std::string &entry : entries)
    bytes += entry;
  return bytes;
}

std::string GgufImage::bytes() const {
  std::string bytes = keys();
  for (const GgufTensor &tensor : tensors)
    bytes += tensor.record();
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment, '\0');
  return bytes + data;
}

} // namespace ingot::test

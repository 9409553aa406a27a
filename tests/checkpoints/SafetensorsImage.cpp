//===- SafetensorsImage.cpp - Writing safetensors -------------------------===//
#include "tests/checkpoints/SafetensorsImage.h"
#include "tests/checkpoints/GgufImage.h" // little()

namespace ingot::test {

void SafetensorsImage::add(const std::string &name, const std::string &dtype,
                           const std::vector<int64_t> &shape, size_t bytes) {
  std::string extents;
  for (int64_t extent : shape)
    extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  entries.push_back("\"" + name + "\": {\"dtype\": \"" + dtype + "\", \"shape\": [" + extents +
                    "], \"data_offsets\": [" + std::to_string(data.size()) + ", " +
                    std::to_string(data.size() + bytes) + "]}");
  for (size_t i = 0; i < bytes; ++i)
    data += static_cast<char>(i % 50); // finite in every type
}

SafetensorsImage SafetensorsImage::valid() {
  SafetensorsImage image;
  image.entries = {R"("__metadata__": {"format": "pt"})"};
  image.add("a", "F32", {2, 3}, 24);
  image.add("b", "BF16", {4, 2}, 16);
  image.add("c", "F16", {}, 2);
  return image;
}

std::string SafetensorsImage::bytes() const {
  std::string text = "{";
  for (const std::string &entry : entries)
    text += (text.size() > 1 ? ", " : "") + entry;
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (header)
    text = *header;
  return little<uint64_t>(length.value_or(text.size())) + text + data;
}

} // namespace ingot::test

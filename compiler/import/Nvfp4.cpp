//===- Nvfp4.cpp - See Nvfp4.h ---------------------------------------------===//
#include "compiler/import/Nvfp4.h"
#include "compiler/import/Dequantize.h"
#include "compiler/import/ImportErrors.h"
#include "compiler/import/RawTensors.h"
#include "runtime/formats/E4M3.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ingot::import {

namespace {

constexpr int64_t kGroup = 16, kGroupBytes = 8;

class MadeOfNvfp4 : public BlockMaker {
public:
  explicit MadeOfNvfp4(Nvfp4Source source) : source(std::move(source)) {}

  void make(int64_t first, int64_t count, std::byte *out) const override {
    const int64_t groups = source.columns / kGroup, inBlock = 16;
    for (int64_t row = first; row < first + count; ++row)
      for (int64_t g = 0; g < groups; g += inBlock) {
        const float d = 0.5f * source.factors[static_cast<size_t>(row / source.rowsOfMatrix)];
        std::memcpy(out, &d, sizeof d);
        std::byte *scales = out + sizeof d, *codes = scales + inBlock;
        out = codes + inBlock * kGroupBytes;
        std::fill(scales, out, std::byte(0));
        for (int64_t i = 0; i < std::min(inBlock, groups - g); ++i) {
          scales[i] = static_cast<std::byte>(scaleOf(row, g + i));
          copyCodes(row, g + i, codes + i * kGroupBytes);
        }
      }
  }

  int64_t firstNotFinite(int64_t first, int64_t count) const override {
    const int64_t groups = source.columns / kGroup;
    for (int64_t row = first; row < first + count; ++row) {
      const bool factor =
          std::isfinite(source.factors[static_cast<size_t>(row / source.rowsOfMatrix)]);
      for (int64_t g = 0; g < groups; ++g)
        if (!factor || isE4M3NaN(scaleOf(row, g)))
          return row * source.columns + g * kGroup;
    }
    return -1;
  }

  const Nvfp4Source source;

private:
  bool isGguf() const { return source.scales.empty(); }
  /// Of a GGUF: the 64 values that hold group g, and which of four it is there.
  const std::byte *ggufBlock(int64_t row, int64_t g) const {
    return source.codes.data() +
           (row * (source.columns / kGgufNvfp4Values) + g / 4) * kGgufNvfp4Bytes;
  }
  uint8_t scaleOf(int64_t row, int64_t g) const {
    if (!isGguf())
      return static_cast<uint8_t>(
          source.scales[static_cast<size_t>(row * (source.columns / kGroup) + g)]);
    const auto stored = static_cast<uint8_t>(ggufBlock(row, g)[g % 4]) & 0x7f;
    return static_cast<uint8_t>(stored == 0x7f ? 0 : stored);
  }
  void copyCodes(int64_t row, int64_t g, std::byte *to) const {
    if (!isGguf()) {
      std::memcpy(to, source.codes.data() + row * (source.columns / 2) + g * kGroupBytes,
                  kGroupBytes);
      return;
    }
    const std::byte *from = ggufBlock(row, g) + 4 + g % 4 * kGroupBytes;
    const auto code = [from](int64_t k) { return from[k % 8] >> (k / 8 * 4) & std::byte(15); };
    for (int64_t j = 0; j < kGroupBytes; ++j)
      to[j] = code(2 * j) | code(2 * j + 1) << 4;
  }
};

} // namespace

std::shared_ptr<const BlockMaker> makeNvfp4(Nvfp4Source source) {
  return std::make_shared<MadeOfNvfp4>(std::move(source));
}

std::shared_ptr<const BlockMaker> withFactors(const Tensor &tensor, std::vector<float> factors) {
  Nvfp4Source source = static_cast<const MadeOfNvfp4 &>(*tensor.maker).source;
  source.rowsOfMatrix = tensor.elements() / source.columns / static_cast<int64_t>(factors.size());
  source.factors = std::move(factors);
  return makeNvfp4(std::move(source));
}

Result<void> attachNvfp4Factors(CheckpointBuilder &builder) {
  constexpr std::string_view kWeight = ".weight";
  std::map<std::string, const Tensor *, std::less<>> byName;
  for (const Tensor &tensor : builder.tensors())
    byName.emplace(tensor.name, &tensor);
  std::set<std::string, std::less<>> taken;
  for (Tensor &tensor : builder.tensors()) {
    if (tensor.format != WeightFormat::Nvfp4 || !tensor.name.ends_with(kWeight))
      continue;
    const std::string base = tensor.name.substr(0, tensor.name.size() - kWeight.size());
    taken.insert(base + ".input_scale");
    auto found = byName.find(base + ".scale");
    if (found == byName.end())
      continue;
    const Tensor &scale = *found->second;
    const int64_t matrices = tensor.shape.size() == 3 ? tensor.shape.front() : 1;
    if (scale.format != WeightFormat::F32 || scale.elements() != matrices)
      return refuse(cause::quantPart, line("the scale of ", inQuotes(tensor.name), " is odd"),
                    line("found ", printedShape(scale.shape), " ", numericFormat(scale.format).name,
                         ", expected: ", matrices, " f32"),
                    "convert the checkpoint again with a current converter");
    std::vector<float> factors(static_cast<size_t>(matrices));
    if (auto read = dequantizeRow(scale.format, scale.data, factors); !read)
      return read;
    tensor.maker = withFactors(tensor, std::move(factors));
    taken.insert(scale.name);
  }
  std::erase_if(builder.tensors(),
                [&](const Tensor &tensor) { return taken.contains(tensor.name); });
  return {};
}

} // namespace ingot::import

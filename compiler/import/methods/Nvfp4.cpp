//===- Nvfp4.cpp - See Nvfp4.h ---------------------------------------------===//
#include "compiler/import/methods/Nvfp4.h"
#include "compiler/import/checkpoint/Dequantize.h"
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/parts/GroupMaker.h"
#include "compiler/import/parts/RawTensors.h"
#include "runtime/formats/E4M3.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ingot::import {

namespace {

constexpr int64_t kGroup = 16, kGroupBytes = 8;

class MadeOfNvfp4 : public GroupMaker {
public:
  explicit MadeOfNvfp4(Nvfp4Source from)
      : GroupMaker(from.columns, kGroup, from.codes, from.scales), source(std::move(from)) {}

  const Nvfp4Source source;

protected:
  std::byte *makeRow(int64_t row, std::byte *out) const override {
    constexpr int64_t inBlock = 16;
    for (int64_t g = 0; g < groupsOfRow(); g += inBlock) {
      const float d = 0.5f * factorOf(row);
      std::memcpy(out, &d, sizeof d);
      std::byte *const itsScales = out + sizeof d, *const itsCodes = itsScales + inBlock;
      out = itsCodes + inBlock * kGroupBytes;
      std::fill(itsScales, out, std::byte(0));
      for (int64_t i = 0; i < std::min(inBlock, groupsOfRow() - g); ++i) {
        itsScales[i] = static_cast<std::byte>(scale(row, g + i));
        copyCodes(row, g + i, itsCodes + i * kGroupBytes);
      }
    }
    return out;
  }
  int64_t notFiniteIn(int64_t row, int64_t g) const override {
    return !std::isfinite(factorOf(row)) || isE4M3NaN(scale(row, g)) ? 0 : -1;
  }

private:
  float factorOf(int64_t row) const {
    return source.factors[static_cast<size_t>(row / source.rowsOfMatrix)];
  }
  bool isGguf() const { return scales.empty(); }
  /// Returns the block of 64 values of a GGUF that contains group g. Within the block, it is group g % 4.
  const std::byte *ggufBlock(int64_t row, int64_t g) const {
    return codes.data() + (row * (columns / kGgufNvfp4Values) + g / 4) * kGgufNvfp4Bytes;
  }
  uint8_t scale(int64_t row, int64_t g) const {
    if (!isGguf())
      return scaleOf(row, g);
    const auto stored = static_cast<uint8_t>(ggufBlock(row, g)[g % 4]) & 0x7f;
    return static_cast<uint8_t>(stored == 0x7f ? 0 : stored);
  }
  void copyCodes(int64_t row, int64_t g, std::byte *to) const {
    if (!isGguf()) {
      std::memcpy(to, codesOf(row, g, 4), kGroupBytes);
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
      return refuse(cause::quantPart, line("the scale of ", inQuotes(tensor.name), " is invalid"),
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

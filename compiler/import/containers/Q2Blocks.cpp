//===- Q2Blocks.cpp - See Q2Blocks.h ---------------------------------------===//
#include "compiler/import/containers/Q2Blocks.h"
#include "compiler/import/blocks/Bytes.h"
#include "compiler/import/blocks/Codes.h"

#include <cmath>
#include <cstring>

namespace ingot::import {

namespace {

constexpr int64_t kScaleBytes = 2, kHalfCodes = (kWideQ2Bytes - kScaleBytes) / 2;

class MadeOfWideQ2 : public BlockMaker {
public:
  MadeOfWideQ2(int64_t columns, std::span<const std::byte> blocks)
      : inRow(columns / kWideQ2Values), blocks(blocks) {}

  void make(int64_t first, int64_t count, std::byte *out) const override {
    for (int64_t i = first * inRow; i < (first + count) * inRow; ++i)
      for (int64_t half = 0; half < 2; ++half) {
        std::memcpy(out, at(i), kScaleBytes);
        std::memcpy(out + kScaleBytes, at(i) + kScaleBytes + half * kHalfCodes, kHalfCodes);
        out += kScaleBytes + kHalfCodes;
      }
  }

  int64_t firstNotFinite(int64_t first, int64_t count) const override {
    for (int64_t i = first * inRow; i < (first + count) * inRow; ++i)
      if (!std::isfinite(f16ToF32(load<uint16_t>(at(i)))))
        return i * kWideQ2Values;
    return -1;
  }

private:
  const std::byte *at(int64_t block) const { return blocks.data() + block * kWideQ2Bytes; }

  const int64_t inRow;
  const std::span<const std::byte> blocks;
};

} // namespace

std::shared_ptr<const BlockMaker> makeOfWideQ2(int64_t columns, std::span<const std::byte> blocks) {
  return std::make_shared<MadeOfWideQ2>(columns, blocks);
}

} // namespace ingot::import

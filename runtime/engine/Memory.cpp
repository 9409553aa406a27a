//===- Memory.cpp - See Memory.h ------------------------------------------===//
#include "runtime/engine/Memory.h"

#include "runtime/engine/Header.h"

#include <algorithm>
#include <limits>

namespace ingot::runtime {

static constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();

std::optional<uint64_t> checkedMul(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product) || product > kMost)
    return std::nullopt;
  return product;
}

std::optional<uint64_t> checkedAdd(uint64_t a, uint64_t b) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum) || sum > kMost)
    return std::nullopt;
  return sum;
}

uint64_t elementBytes(fb::ElementType type) {
  switch (type) {
  case fb::ElementType::F32:
    return 4;
  case fb::ElementType::BF16:
  case fb::ElementType::F16:
    return 2;
  case fb::ElementType::Int8:
  case fb::ElementType::Fp8:
    return 1;
  }
  return 0;
}

uint64_t kvScaleBytes(fb::ElementType type) { return elementBytes(type) == 1 ? 4 : 0; }

std::optional<uint64_t> kvPageBytes(uint64_t kvHeads, uint64_t headDim, uint64_t pageTokens,
                                    fb::ElementType type) {
  std::optional<uint64_t> bytes = checkedMul(elementBytes(type), headDim);
  if (bytes && *bytes != 0)
    bytes = checkedAdd(*bytes, kvScaleBytes(type));
  for (uint64_t factor : {uint64_t(2), kvHeads, pageTokens})
    if (bytes)
      bytes = checkedMul(*bytes, factor);
  return bytes;
}

std::optional<MemoryCoefficients> memoryCoefficients(const fb::Engine &engine) {
  MemoryCoefficients sums;
  for (const fb::Buffer *buffer : *engine.buffers()) {
    uint64_t *most = nullptr;
    switch (buffer->class_()) {
    case fb::BufferClass::PerToken:
      most = &sums.perToken;
      break;
    case fb::BufferClass::PerRow:
      most = &sums.perRow;
      break;
    case fb::BufferClass::Fixed:
      most = &sums.fixed;
      break;
    }
    std::optional<uint64_t> end = checkedAdd(buffer->offset(), buffer->per_unit());
    if (!most || !end)
      return std::nullopt;
    *most = std::max(*most, *end);
  }
  for (const fb::KvSlot *slot : *engine.kv_slots()) {
    auto page = kvPageBytes(slot->kv_heads(), slot->head_dim(), engine.page_tokens(), slot->type());
    auto sum = page ? checkedAdd(sums.perPage, *page) : std::nullopt;
    if (!sum)
      return std::nullopt;
    sums.perPage = *sum;
  }
  return sums;
}

std::optional<uint64_t> seedBytes(const fb::Engine &engine) {
  std::optional<uint64_t> sum = 0;
  for (const fb::Weight *weight : *engine.weights()) {
    if (weight->source() != fb::WeightSource::Seed)
      continue;
    std::optional<uint64_t> whole = checkedAdd(weight->size(), kWeightAlignment - 1);
    sum = whole ? checkedAdd(*sum, *whole / kWeightAlignment * kWeightAlignment) : std::nullopt;
    if (!sum)
      break;
  }
  return sum;
}

uint64_t launchesPerStep(const fb::Engine &engine) {
  uint64_t launches = 0;
  for (const fb::Step *step : *engine.steps())
    launches += engine.sections()->Get(step->section())->launches()->size();
  return launches;
}

} // namespace ingot::runtime

//===- Memory.cpp - See Memory.h ------------------------------------------===//
#include "runtime/engine/Memory.h"

#include "runtime/engine/Header.h"
#include "runtime/engine/Program.h"
#include "runtime/formats/FixedState.h"
#include "runtime/formats/KvFormat.h"

#include <algorithm>
#include <limits>
#include <vector>

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

std::optional<uint64_t> pageBytes(std::span<const StreamShape> streams, uint64_t pageTokens) {
  constexpr uint64_t kWidest = uint64_t(1) << 32; // times a 32-bit factor, it still fits 64 bits
  std::optional<uint64_t> sum = 0;
  for (const StreamShape &stream : streams) {
    const std::optional<KvFormat> format = kvFormatNamed(stream.format);
    if (!format || stream.heads == 0 || stream.width == 0 || stream.width > kWidest)
      return std::nullopt;
    auto bytes =
        checkedMul(uint64_t(kvFormat(*format).vectorBytes(int64_t(stream.width))), stream.heads);
    bytes = bytes ? checkedMul(*bytes, pageTokens) : std::nullopt;
    sum = bytes ? checkedAdd(*sum, *bytes) : std::nullopt;
    if (!sum)
      return std::nullopt;
  }
  return sum;
}

std::optional<uint64_t> pageBytes(const fb::State &state, uint64_t pageTokens) {
  std::vector<StreamShape> streams;
  for (const fb::Stream *stream : *state.streams())
    streams.push_back({stream->heads(), stream->width(), stream->format()->string_view()});
  return pageBytes(streams, pageTokens);
}

std::optional<uint64_t> slotBytes(const fb::State &state) {
  std::optional<uint64_t> sum = 0;
  for (const fb::Stream *stream : *state.streams()) {
    const uint64_t values = uint64_t(stream->heads()) * stream->width(); // of 32 bits each
    if (values == 0 || values > kMost / 8 || stream->format()->string_view() != "f32")
      return std::nullopt;
    sum = checkedAdd(*sum, uint64_t(fixedStreamBytes(stream->heads(), stream->width())));
    if (!sum)
      return std::nullopt;
  }
  return sum;
}

std::optional<MemoryCoefficients> memoryCoefficients(const fb::Program &program) {
  MemoryCoefficients sums;
  for (const fb::Buffer *buffer : *program.buffers()) {
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
  for (const fb::State *state : *program.states()) {
    const bool fixed = state->kind() == fb::StateKind::Fixed;
    auto bytes = fixed ? slotBytes(*state) : pageBytes(*state, program.abi()->page_tokens());
    uint64_t &all = fixed ? sums.perSlot : sums.perPage;
    auto sum = bytes ? checkedAdd(all, *bytes) : std::nullopt;
    if (!sum)
      return std::nullopt;
    all = *sum;
  }
  return sums;
}

std::optional<uint64_t> seedBytes(const fb::Program &program) {
  std::optional<uint64_t> sum = 0;
  for (const fb::Weight *weight : *program.weights()) {
    if (weight->source() != fb::WeightSource::Seed)
      continue;
    std::optional<uint64_t> whole = checkedAdd(weight->size(), kWeightAlignment - 1);
    sum = whole ? checkedAdd(*sum, *whole / kWeightAlignment * kWeightAlignment) : std::nullopt;
    if (!sum)
      break;
  }
  return sum;
}

uint64_t launchesOf(const fb::Entry &entry, const fb::Program &program) {
  uint64_t launches = 0;
  for (const fb::Step *step : *entry.steps())
    launches += caseFor(*program.sections()->Get(step->section()), StepCounts()).launches()->size();
  return launches;
}

} // namespace ingot::runtime

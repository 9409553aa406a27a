//===- KvState.cpp - Keys and values that the interpreter has seen --------===//
#include "compiler/reference/KvState.h"

#include "compiler/reference/Weights.h"

#include <bit>
#include <cassert>
#include <cmath>

using namespace ingot::reference;

float ingot::reference::roundTo(KvFormat format, float value) {
  if (format == KvFormat::F16)
    return static_cast<float>(static_cast<_Float16>(value));
  if (format == KvFormat::BF16 && std::isfinite(value)) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    bits += 0x7FFFu + ((bits >> 16) & 1u);
    return std::bit_cast<float>(bits & 0xFFFF0000u);
  }
  return value;
}

void KvState::append(int64_t slot, int64_t sequence, int64_t position, std::span<const float> k,
                     std::span<const float> v) {
  Rows &own = rows[{slot, sequence}];
  size_t width = k.size();
  auto past = pasts.find(sequence);
  if (own.length < position && past != pasts.end()) {
    uint64_t key = past->second.seed * 1000003u + static_cast<uint64_t>(slot);
    for (; own.length < std::min(position, past->second.length); ++own.length)
      for (size_t i = 0; i < width; ++i) {
        uint64_t index = static_cast<uint64_t>(own.length) * width + i;
        own.k.push_back(roundTo(format, 4 * uniform(key, 2 * index) - 2));
        own.v.push_back(roundTo(format, 4 * uniform(key, 2 * index + 1) - 2));
      }
  }
  assert(own.length >= position && "positions of a sequence come in order");
  own.k.resize(static_cast<size_t>(position) * width);
  own.v.resize(static_cast<size_t>(position) * width);
  for (size_t i = 0; i < width; ++i) {
    own.k.push_back(roundTo(format, k[i]));
    own.v.push_back(roundTo(format, v[i]));
  }
  own.length = position + 1;
}

const KvState::Rows *KvState::find(int64_t slot, int64_t sequence) const {
  auto found = rows.find({slot, sequence});
  return found == rows.end() ? nullptr : &found->second;
}

void KvState::pretendPast(int64_t sequence, int64_t length, uint64_t seed) {
  pasts[sequence] = {length, seed};
}

void KvState::forget(int64_t sequence) {
  pasts.erase(sequence);
  std::erase_if(rows, [&](const auto &entry) { return entry.first.second == sequence; });
}

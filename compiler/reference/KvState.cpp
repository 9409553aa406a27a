//===- KvState.cpp - Keys and values that the interpreter has seen --------===//
#include "compiler/reference/KvState.h"

#include "compiler/reference/Rounding.h"
#include "compiler/reference/Weights.h"

#include <algorithm>
#include <cassert>

using namespace ingot::reference;

static float roundTo(KvFormat format, float value) {
  switch (format) {
  case KvFormat::F32:
    return value;
  case KvFormat::BF16:
    return roundToBf16(value);
  case KvFormat::F16:
    return roundToF16(value);
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

//===- KvState.cpp - The interpreter's state of sequences -----------------===//
#include "compiler/reference/KvState.h"

#include "compiler/reference/Rounding.h"
#include "compiler/reference/Weights.h"
#include "runtime/formats/KvInt4.h"
#include "runtime/formats/KvInt8.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace ingot;
using namespace ingot::reference;

/// See KvInt4.h.
static void roundScaledInt4(std::span<float> vector, bool ofK) {
  if (ofK) {
    transformHadamard(vector);
    for (float &value : vector)
      value /= static_cast<float>(kvInt8Block(static_cast<int64_t>(vector.size())));
  }
  for (size_t at = 0; at < vector.size(); at += kKvInt4Group) {
    const std::span<float> group = vector.subspan(at, kKvInt4Group);
    float largest = 0;
    for (float value : group)
      largest = std::max(largest, std::abs(value));
    const float scale = roundToF16(largest / 7), inverse = 7 / largest;
    for (float &value : group)
      value = std::isfinite(inverse) ? std::nearbyint(value * inverse) * scale : 0;
  }
  if (ofK)
    transformHadamard(vector);
}

/// Rounds the vectors of all heads of one position.
static void roundVectors(KvFormat format, std::span<float> values, int64_t heads, bool ofK) {
  switch (format) {
  case KvFormat::F32:
    return;
  case KvFormat::BF16:
    std::ranges::transform(values, values.begin(), roundToBf16);
    return;
  case KvFormat::F16:
    std::ranges::transform(values, values.begin(), roundToF16);
    return;
  case KvFormat::FP8:
    for (size_t width = values.size() / size_t(heads), at = 0; at < values.size(); at += width)
      roundScaledE4m3(values.subspan(at, width));
    return;
  case KvFormat::Int4:
    for (size_t width = values.size() / size_t(heads), at = 0; at < values.size(); at += width)
      roundScaledInt4(values.subspan(at, width), ofK);
    return;
  case KvFormat::Int8:
    for (size_t width = values.size() / size_t(heads), at = 0; at < values.size(); at += width)
      roundScaledInt8(values.subspan(at, width), ofK);
    return;
  }
}

static void appendRounded(KvFormat format, std::vector<float> &rows, std::span<const float> values,
                          int64_t heads, bool ofK) {
  rows.insert(rows.end(), values.begin(), values.end());
  roundVectors(format, std::span(rows).last(values.size()), heads, ofK);
}

void KvState::append(int64_t slot, int64_t sequence, int64_t position, std::span<const float> k,
                     std::span<const float> v, int64_t kvHeads) {
  Rows &own = rows[{slot, sequence}];
  assert(kvHeads >= 1 && k.size() % size_t(kvHeads) == 0 && v.size() % size_t(kvHeads) == 0 &&
         "heads have one width");
  auto past = pasts.find(sequence);
  if (own.length < position && past != pasts.end()) {
    uint64_t key = past->second.seed * 1000003u + static_cast<uint64_t>(slot);
    std::vector<float> dummyK(k.size()), dummyV(v.size());
    for (; own.length < std::min(position, past->second.length); ++own.length) {
      auto draw = [&](std::vector<float> &values, uint64_t stream) {
        const uint64_t first = static_cast<uint64_t>(own.length) * values.size();
        for (size_t i = 0; i < values.size(); ++i)
          values[i] = 4 * uniform(key, 2 * (first + i) + stream) - 2;
      };
      draw(dummyK, 0), draw(dummyV, 1);
      appendRounded(format, own.k, dummyK, kvHeads, /*ofK=*/true);
      appendRounded(format, own.v, dummyV, kvHeads, /*ofK=*/false);
    }
  }
  assert(own.length >= position && "positions of a sequence come in order");
  own.k.resize(static_cast<size_t>(position) * k.size());
  own.v.resize(static_cast<size_t>(position) * v.size());
  appendRounded(format, own.k, k, kvHeads, /*ofK=*/true);
  appendRounded(format, own.v, v, kvHeads, /*ofK=*/false);
  own.length = position + 1;
}

const KvState::Rows *KvState::find(int64_t slot, int64_t sequence) const {
  auto found = rows.find({slot, sequence});
  return found == rows.end() ? nullptr : &found->second;
}

std::vector<float> KvState::fixedAt(int64_t slot, int64_t sequence, int64_t position,
                                    size_t size) const {
  std::vector<float> values(size, 0.0f);
  auto own = fixed.find({slot, sequence});
  if (position == 0)
    return values;
  if (own != fixed.end())
    if (auto kept = own->second.find(position); kept != own->second.end())
      return kept->second;
  auto past = pasts.find(sequence);
  assert(past != pasts.end() && position <= past->second.length &&
         "positions of a sequence come in order");
  uint64_t key = past->second.seed * 1000003u + static_cast<uint64_t>(slot);
  for (size_t i = 0; i < size; ++i)
    values[i] = 4 * uniform(key, static_cast<uint64_t>(position) * size + i) - 2;
  return values;
}

void KvState::keepFixed(int64_t slot, int64_t sequence, int64_t position,
                        std::vector<float> values) {
  auto &own = fixed[{slot, sequence}];
  own.erase(own.lower_bound(position), own.end());
  own[position] = std::move(values);
}

void KvState::pretendPast(int64_t sequence, int64_t length, uint64_t seed) {
  pasts[sequence] = {length, seed};
}

void KvState::forget(int64_t sequence) {
  pasts.erase(sequence);
  auto isIts = [&](const auto &entry) { return entry.first.second == sequence; };
  std::erase_if(rows, isIts);
  std::erase_if(fixed, isIts);
}

//===- IdsLaunch.cpp - Ids of logits rows -----------------------------------===//
//
// Keys have the same bytes as in compiled code. The contents of the sums that draw_weigh passes to draw_ids are private
// to the two kernels, so the interpreter stores a hash of the logits instead. With this hash, the interpreter checks
// that sums are 0 before and after, that draw_weigh runs before draw_ids, and that both launches use the same logits.
//===----------------------------------------------------------------------===//
#include "compiler/reference/interpreter/Launch.h"
#include "dialects/kernel/ops/Ids.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;
using kernel::ActivationType;

int32_t interpreter::drawnId(std::span<const float> logits, int64_t position) {
  const float largest = *std::ranges::max_element(logits);
  double total = 0;
  for (float logit : logits)
    total += std::exp(double(logit) - double(largest));
  double left = double(uniform(0x5eed, uint64_t(position))) * total;
  for (size_t i = 0; i < logits.size(); ++i)
    if ((left -= std::exp(double(logits[i]) - double(largest))) < 0)
      return int32_t(i);
  return int32_t(logits.size()) - 1;
}

void interpreter::raiseKey(std::byte *at, std::span<const float> logits) {
  uint64_t key;
  std::memcpy(&key, at, sizeof key);
  for (size_t i = 0; i < logits.size(); ++i)
    key = std::max(key, keyOf(logits[i], int64_t(i)));
  std::memcpy(at, &key, sizeof key);
}

/// Reads the key of a row.
static uint64_t keyAt(const std::byte *at) {
  uint64_t key;
  std::memcpy(&key, at, sizeof key);
  return key;
}

Result<void> interpreter::run(Launch &launch, kernel::ArgmaxOp op) {
  for (int64_t r = 0; r < launch.units(/*perRow=*/true); ++r) {
    const Items items = launch.itemOf(op, r);
    const std::vector<float> logits = launch.read(op.getLogits(), r, items);
    raiseKey(launch.bytes(op.getKeys(), r, items, true, true), logits);
  }
  return {};
}

Result<void> interpreter::run(Launch &launch, kernel::ArgmaxFinishOp op) {
  for (int64_t r = 0; r < launch.units(/*perRow=*/true); ++r) {
    std::byte *key = launch.bytes(op.getKeys(), r, Items::one(r), true, true);
    const int32_t id = idOf(keyAt(key));
    std::memset(key, 0, sizeof(uint64_t));
    std::memcpy(launch.bytes(op.getIds(), r, Items::one(r), false, true), &id, sizeof id);
  }
  return {};
}

/// Returns a non-zero hash of the logits and their key.
static uint64_t markOf(std::span<const float> logits, uint64_t key) {
  uint64_t mark = key * 2 + 1;
  for (float logit : logits) {
    uint32_t bits;
    std::memcpy(&bits, &logit, sizeof bits);
    mark = (mark ^ bits) * 0x100000001b3u;
  }
  return mark | 1;
}

Result<void> interpreter::run(Launch &launch, kernel::DrawWeighOp op) {
  for (int64_t r = 0; r < launch.units(/*perRow=*/true); ++r) {
    const std::vector<float> logits = launch.read(op.getLogits(), r, Items::one(r));
    const uint64_t key = keyAt(launch.bytes(op.getKeys(), r, Items::one(r), true, false));
    std::byte *sums = launch.bytes(op.getSums(), r, Items::one(r), true, true);
    const uint64_t mark = markOf(logits, key) + keyAt(sums);
    std::memcpy(sums, &mark, sizeof mark);
  }
  return {};
}

Result<void> interpreter::run(Launch &launch, kernel::DrawIdsOp op) {
  for (int64_t r = 0; r < launch.units(/*perRow=*/true); ++r) {
    const std::vector<float> logits = launch.read(op.getLogits(), r, Items::one(r));
    std::byte *key = launch.bytes(op.getKeys(), r, Items::one(r), true, true),
              *sums = launch.bytes(op.getSums(), r, Items::one(r), true, true);
    uint64_t largest = 0;
    for (size_t i = 0; i < logits.size(); ++i)
      largest = std::max(largest, keyOf(logits[i], int64_t(i)));
    if (keyAt(key) != largest || keyAt(sums) != markOf(logits, largest))
      launch.interpreter.findings.add(
          "E0885", launch.interpreter.timeline.current() + " samples from sums of other logits",
          "row " + std::to_string(r) + ": keys and sums are not those of the logits that it reads");
    const int64_t token = launch.batch.logitsRows[size_t(r)];
    const int32_t id = drawnId(logits, launch.batch.positions[size_t(token)]);
    std::memset(key, 0, sizeof(uint64_t));
    std::memset(sums, 0, size_t(cast<ActivationType>(op.getSums().getType()).rowBytes()));
    std::memcpy(launch.bytes(op.getIds(), r, Items::one(r), false, true), &id, sizeof id);
  }
  return {};
}

//===- AttentionSplits.cpp - See AttentionSplits.h ------------------------===//
#include "runtime/device/cuda/AttentionSplits.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace ingot::cuda {

static int64_t divideUp(int64_t a, int64_t b) { return a / b + (a % b != 0); }

AttentionSplitting AttentionSplitting::of(const fb::Program &program) {
  AttentionSplitting sharing{program.attention_shares(), program.attention_slots(), 0};
  for (const fb::State *state : *program.states()) {
    if (state->kind() != fb::StateKind::Paged)
      continue;
    if (state->window() == 0) {
      sharing.window = 0;
      break;
    }
    sharing.window = std::max<int64_t>(sharing.window, state->window());
  }
  return sharing;
}

bool decodes(std::span<const AttentionTile> tiles, size_t i) {
  return tiles[i].tokens == 1 && (i == 0 || tiles[i - 1].sequence != tiles[i].sequence);
}

int64_t assignSplits(std::span<const AttentionTile> tiles, const AttentionSplitting &sharing,
                     AttentionSplit *to) {
  assert(sharing.shares <= kMostSplits && "the verifier bounds their number");
  // A window may begin anywhere in a chunk.
  const int64_t inWindow = divideUp(sharing.window, kChunkPositions) + 1;
  auto runsOf = [&](const AttentionTile &tile) {
    int64_t chunks = tile.firstPosition / kChunkPositions + 1;
    return sharing.window ? std::min(chunks, inWindow) : chunks;
  };
  int64_t chunks = 0;
  for (const AttentionTile &tile : tiles)
    chunks += runsOf(tile);
  const int64_t most = sharing.shares ? divideUp(chunks, sharing.shares) : chunks; // per split

  AttentionSplit *next = to;
  int64_t slots = 0;
  int32_t counters = 0;
  auto deal = [&](const AttentionTile &tile) {
    const int64_t own = runsOf(tile);
    int64_t of = divideUp(own, most);
    if (of > 1 && slots + own > sharing.slots)
      of = 1;
    for (int64_t index = 0; index < of; ++index)
      *next++ = {tile.firstToken, tile.sequence,  tile.firstPosition,    int32_t(index),
                 int32_t(of),     int32_t(slots), of > 1 ? counters : 0, 0};
    if (of > 1)
      slots += own, ++counters;
  };
  // Each long tile has more than 1/`shares` of all chunks, so there are fewer than `shares` of
  // them.
  std::array<const AttentionTile *, kMostSplits> longOnes;
  auto end = longOnes.begin();
  for (const AttentionTile &tile : tiles)
    if (runsOf(tile) > most) {
      assert(end != longOnes.end() && "fewer than `shares` tiles are long");
      *end++ = &tile;
    }
  std::sort(longOnes.begin(), end, [&](const AttentionTile *a, const AttentionTile *b) {
    return std::pair(runsOf(*b), a) < std::pair(runsOf(*a), b);
  });
  for (auto tile = longOnes.begin(); tile != end; ++tile)
    deal(**tile);
  for (const AttentionTile &tile : tiles)
    if (runsOf(tile) <= most)
      deal(tile);
  assert(next - to <= int64_t(tiles.size()) + sharing.shares && slots <= sharing.slots &&
         "more splits or chunks than there is room for");
  return next - to;
}

} // namespace ingot::cuda

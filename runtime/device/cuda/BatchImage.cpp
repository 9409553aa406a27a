//===- BatchImage.cpp - See BatchImage.h ------------------------------------===//
#include "runtime/device/cuda/BatchImage.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace ingot::cuda {

namespace {

constexpr uint64_t kLine = 256;
static_assert(sizeof(BatchView) <= kViewBytes && kViewBytes % kLine == 0);

class Packer {
public:
  Packer(Address device, std::span<std::byte> host) : device(device), host(host) {}

  /// Reserves room for `count` values; null if there is none left. Sets `address` to their address
  /// on the device.
  template <typename T> T *take(uint64_t count, const T *&address) {
    at = (at + kLine - 1) / kLine * kLine;
    if (at > host.size() || count > (host.size() - at) / sizeof(T)) {
      full = true;
      return nullptr;
    }
    address = reinterpret_cast<const T *>(device + at);
    T *memory = reinterpret_cast<T *>(host.data() + at);
    at += count * sizeof(T);
    return memory;
  }

  template <typename T> void copy(const T *from, int64_t count, const T *&address) {
    if (T *to = take(uint64_t(count), address); to && count)
      std::memcpy(to, from, size_t(count) * sizeof(T));
  }

  /// Gives back the last `count` values that were taken.
  template <typename T> void giveBack(uint64_t count) { at -= full ? 0 : count * sizeof(T); }

  uint64_t bytes() const { return full ? 0 : at; }

private:
  Address device;
  std::span<std::byte> host;
  uint64_t at = 0;
  bool full = false;
};

} // namespace

/// Writes the tiles ordered by kind, and the splits of the decode tiles.
static void packTiles(const BatchView &batch, const AttentionSplitting &sharing, Packer &packer,
                      BatchView &view) {
  const std::span from(batch.attentionTiles, size_t(batch.tiles));
  AttentionTile *const tiles = packer.take(from.size(), view.attentionTiles);
  if (!tiles)
    return;
  AttentionTile *end = tiles;
  for (bool decoding : {false, true}) {
    if (decoding)
      view.promptTiles = end - tiles;
    for (size_t i = 0; i < from.size(); ++i)
      if (decodes(from, i) == decoding)
        *end++ = from[i];
  }
  const std::span decoding(tiles + view.promptTiles, end);
  const uint64_t most = decoding.empty() ? 0 : decoding.size() + uint64_t(sharing.shares);
  if (AttentionSplit *splits = packer.take(most, view.splits)) {
    view.splitCount = assignSplits(decoding, sharing, splits);
    packer.giveBack<AttentionSplit>(most - uint64_t(view.splitCount));
  }
}

uint64_t packBatch(const BatchView &batch, const AttentionSplitting &sharing, Address device,
                   std::span<std::byte> host, size_t groups) {
  // Rows and pages of the block table that the step can reach.
  int64_t sequences = 0, pages = 0;
  for (int64_t i = 0; i < batch.tiles; ++i) {
    const AttentionTile &tile = batch.attentionTiles[i];
    sequences = std::max<int64_t>(sequences, tile.sequence + 1);
    pages = std::max(pages, (tile.firstPosition + tile.tokens + kPageTokens - 1) / kPageTokens);
  }
  pages = std::min(pages, batch.blockTableStride);

  BatchView view = batch;
  const std::byte *self = nullptr;
  Packer packer(device, host);
  std::byte *const views = packer.take(groups * kViewBytes, self);
  packer.copy(batch.ids, batch.tokens, view.ids);
  packer.copy(batch.positions, batch.tokens, view.positions);
  packer.copy(batch.sequenceOf, batch.tokens, view.sequenceOf);
  packer.copy(batch.rowTokens, batch.rows, view.rowTokens);
  packTiles(batch, sharing, packer, view);
  if (batch.sampling)
    packer.copy(batch.sampling, batch.rows, view.sampling);
  if (batch.stateSpans) {
    packer.copy(batch.stateSpans, batch.spanCount, view.stateSpans);
    int64_t writes = 0;
    for (int64_t i = 0; i < batch.spanCount; ++i)
      writes += batch.stateSpans[i].writes;
    packer.copy(batch.stateWrites, writes, view.stateWrites);
  }
  view.groupTables = nullptr; // a host pointer: a launch's view has its group's table as blockTable
  view.sequences = sequences;
  view.blockTableStride = pages;
  assert((groups == 1 || batch.groupTables) && "states in groups need a table each");
  for (size_t group = 0; group < groups; ++group) {
    const int32_t *from = group ? batch.groupTables[group] : batch.blockTable;
    if (int32_t *table = packer.take(uint64_t(sequences * pages), view.blockTable))
      for (int64_t row = 0; row < sequences; ++row)
        std::memcpy(table + row * pages, from + row * batch.blockTableStride,
                    size_t(pages) * sizeof(int32_t));
    if (packer.bytes() != 0) // all other lists are in place
      std::memcpy(views + group * kViewBytes, &view, sizeof view);
  }
  return packer.bytes();
}

} // namespace ingot::cuda

//===- KernelBatch.cpp - See KernelBatch.h ---------------------------------===//
#include "tools/ingot/measure/KernelBatch.h"

#include "runtime/formats/KvFormat.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

namespace ingot::cli {

namespace {

int64_t pagesFor(int64_t positions) { return (positions + kPageTokens - 1) / kPageTokens; }

/// Kernels may read the positions of a window in blocks of this size (docs/scheduling.md).
constexpr int64_t kWindowBlock = 128;

/// Writes `count` values in the format. Integer codes are arbitrary bytes; E4M3 codes have a
/// magnitude below 2.
void fillValues(std::byte *to, uint64_t count, KvFormat format, std::mt19937 &random) {
  if (!kvFormat(format).isPlain()) {
    const auto kept = std::byte{static_cast<unsigned char>(format == KvFormat::FP8 ? 0xBF : 0xFF)};
    for (int64_t i = 0; i < kvFormat(format).valueBytes(int64_t(count)); ++i)
      to[i] = static_cast<std::byte>(random()) & kept;
    return;
  }
  std::uniform_real_distribution<float> number(-1, 1);
  for (uint64_t i = 0; i < count; ++i) {
    const float x = number(random);
    if (format == KvFormat::F32) {
      std::memcpy(to + 4 * i, &x, 4);
    } else {
      const auto half = static_cast<_Float16>(x);
      const auto bits = format == KvFormat::F16
                            ? std::bit_cast<uint16_t>(half)
                            : static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
      std::memcpy(to + 2 * i, &bits, 2);
    }
  }
}

/// Writes `count` scales of 1/64.
void fillScales(std::byte *to, uint64_t count, int bits) {
  const float scale = 1.0F / 64;
  const auto half = static_cast<_Float16>(scale);
  for (uint64_t i = 0; i < count; ++i)
    if (bits == 32)
      std::memcpy(to + 4 * i, &scale, 4);
    else
      std::memcpy(to + 2 * i, &half, 2);
}

/// Appends a page of a state: the values of its streams, then their scales.
void addPage(const fb::State &state, std::mt19937 &random, std::vector<std::byte> &page) {
  size_t at = page.size();
  page.resize(at + state.page_bytes());
  auto formatOf = [](const fb::Stream *stream) {
    return kvFormat(*kvFormatNamed(stream->format()->string_view()));
  };
  auto vectorsOf = [](const fb::Stream *stream) { return uint64_t{stream->heads()} * kPageTokens; };
  for (const fb::Stream *stream : *state.streams()) {
    fillValues(page.data() + at, vectorsOf(stream) * stream->width(), formatOf(stream).id, random);
    at += vectorsOf(stream) * static_cast<uint64_t>(formatOf(stream).valueBytes(stream->width()));
  }
  for (const fb::Stream *stream : *state.streams()) {
    const uint64_t scales =
        vectorsOf(stream) * static_cast<uint64_t>(formatOf(stream).scalesOf(stream->width()));
    fillScales(page.data() + at, scales, formatOf(stream).scaleBits);
    at += scales * static_cast<uint64_t>(formatOf(stream).scaleBits) / 8;
  }
}

/// Returns one page of each state of the group, concatenated in PageMover's order.
std::vector<std::byte> pageOf(const runtime::Executor &executor, size_t group) {
  const auto &states = *executor.program().states();
  std::vector<std::byte> page;
  std::mt19937 random{1};
  for (unsigned s = 0; s < states.size(); ++s)
    if (executor.memory().groupOf[s] == group)
      addPage(*states[s], random, page);
  return page;
}

} // namespace

int64_t pagesOfEach(const runtime::KvPages &group, const BenchStep &step) {
  const int64_t all = pagesFor(step.context);
  if (!group.window)
    return all;
  const auto window = static_cast<int64_t>(group.window);
  return std::min(all, pagesFor(window + step.tokens + kWindowBlock) + 1);
}

bool KernelBatch::fits(const BenchStep &step) const {
  const runtime::MemoryLimits &limits = memory.limits;
  auto within = [](int64_t count, uint64_t most) { return static_cast<uint64_t>(count) <= most; };
  const uint64_t rows = limits.logitsRows ? limits.logitsRows : limits.maxSeqs;
  return within(step.sequences, limits.maxSeqs) && within(step.rows(), rows) &&
         within(step.allTokens(), limits.maxBatchTokens) && within(step.context, limits.context) &&
         std::ranges::all_of(memory.groups, [&](const runtime::KvPages &group) {
           return within(step.sequences * pagesOfEach(group, step), group.pages);
         });
}

const BatchView &KernelBatch::fill(const BenchStep &step) {
  ids.clear(), positions.clear(), sequenceOf.clear(), rowTokens.clear(), tiles.clear();
  spans.clear(), writes.clear();
  std::mt19937 random{0};
  std::uniform_int_distribution<int32_t> any(0, static_cast<int32_t>(vocab) - 1);
  const auto first = static_cast<int32_t>(step.context - step.tokens);
  for (int32_t s = 0; s < step.sequences; ++s) {
    const auto row = static_cast<int32_t>(ids.size());
    for (int32_t i = 0; i < step.tokens; ++i) {
      ids.push_back(any(random));
      positions.push_back(first + i);
      sequenceOf.push_back(s);
    }
    for (int32_t i = 0; i < step.tokens; i += kAttentionTile)
      tiles.push_back(
          {row + i, static_cast<int32_t>(std::min(kAttentionTile, step.tokens - i)), s, first + i});
    rowTokens.push_back(static_cast<int32_t>(ids.size()) - 1);
    if (memory.slots) {
      spans.push_back({row, static_cast<int32_t>(step.tokens), s, s, 1, 0});
      writes.push_back({static_cast<int32_t>(ids.size()) - 1, s});
    }
  }
  const int64_t stride = pagesFor(step.context);
  tables.assign(memory.groups.size(), {});
  tableOf.clear();
  for (size_t g = 0; g < tables.size(); ++g) {
    const int64_t each = pagesOfEach(memory.groups[g], step);
    for (int64_t s = 0; s < step.sequences; ++s)
      for (int64_t page = 0; page < stride; ++page)
        tables[g].push_back(static_cast<int32_t>(s * each + page % each));
    tableOf.push_back(tables[g].data());
  }
  view = {};
  view.tokens = step.allTokens();
  view.sequences = step.sequences;
  view.rows = static_cast<int64_t>(rowTokens.size());
  view.tiles = static_cast<int64_t>(tiles.size());
  view.ids = ids.data();
  view.positions = positions.data();
  view.sequenceOf = sequenceOf.data();
  view.rowTokens = rowTokens.data();
  view.attentionTiles = tiles.data();
  view.blockTable = tableOf.front();
  view.blockTableStride = stride;
  view.groupTables = tableOf.data();
  if (memory.slots) {
    view.stateSpans = spans.data();
    view.spanCount = step.sequences;
    view.stateWrites = writes.data();
  }
  return view;
}

void fillPages(runtime::Executor &executor) {
  runtime::PageMover *mover = executor.pageMover();
  for (size_t g = 0; mover && g < executor.memory().groups.size(); ++g) {
    const std::vector<std::byte> page = pageOf(executor, g);
    mover->load(g, page.data(), 0);
    for (uint64_t to = 1; to < executor.memory().groups[g].pages; ++to)
      mover->copy(g, 0, static_cast<int32_t>(to));
  }
}

} // namespace ingot::cli

//===- MemoryPlan.cpp - The memory plan of Inspect.h ----------------------===//
#include "runtime/abi/Batch.h"
#include "runtime/engine/Inspect.h"
#include "runtime/engine/Memory.h"
#include "runtime/formats/PanelLayout.h"
#include "runtime/json/JsonText.h"
#include "runtime/kv/KvGroup.h"

#include <algorithm>
#include <cassert>
#include <cstdio>

namespace ingot::runtime {
namespace {

/// A sum of products that records whether anything overflowed.
class Sum {
public:
  Sum &add(uint64_t a, uint64_t b = 1) {
    std::optional<uint64_t> product = checkedMul(a, b);
    total = product && total ? checkedAdd(*total, *product) : std::nullopt;
    return *this;
  }
  std::optional<uint64_t> total = 0;
};

uint64_t divideUp(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

Error tooLarge(const std::string &why) {
  return {ExitCode::File, "E0386", "these limits need more memory than a machine can have", why,
          "lower --context, --max-seqs, --max-batch-tokens or --kv-memory"};
}

/// Returns the number of pages that a sequence at the limits holds.
uint64_t pagesHeld(const MemoryPlan &s, uint64_t window) {
  constexpr uint64_t kWhole = uint64_t(1) << 40; // beyond this, a window saves nothing
  if (window == 0 || window > kWhole || s.limits.maxBatchTokens > kWhole ||
      s.limits.context > kWhole)
    return divideUp(s.limits.context, s.pageTokens);
  return uint64_t(mostPagesHeld(int64_t(window), int64_t(s.limits.context), int64_t(s.pageTokens),
                                int64_t(s.limits.maxBatchTokens)));
}

/// Groups states by their windows.
void formGroups(const fb::Program &program, MemoryPlan &s) {
  const uint64_t whole = pagesHeld(s, 0);
  std::vector<uint64_t> windows; // of paged states
  for (const fb::State *state : *program.states()) {
    if (state->kind() == fb::StateKind::Fixed)
      continue;
    windows.push_back(pagesHeld(s, state->window()) < whole ? state->window() : 0);
  }
  std::vector<uint64_t> distinct = windows;
  // 0 first, then in descending order.
  std::ranges::sort(distinct, {}, [](uint64_t window) { return ~(window - 1); });
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.empty())
    distinct.push_back(0);
  for (uint64_t window : distinct)
    s.groups.push_back({window, 0, 0});
  size_t paged = 0;
  for (const fb::State *state : *program.states()) {
    if (state->kind() == fb::StateKind::Fixed) {
      s.groupOf.push_back(uint32_t(s.groups.size()));
      continue;
    }
    auto group = size_t(std::ranges::find(distinct, windows[paged++]) - distinct.begin());
    assert(group < s.groups.size() && "each window has a group");
    s.groupOf.push_back(uint32_t(group));
    s.groups[group].pageBytes += state->page_bytes();
  }
}

} // namespace

uint64_t slotsFor(uint64_t sequences, uint64_t pages, uint64_t kvBytes, uint64_t slotBytes) {
  assert(slotBytes != 0 && "an engine without fixed states needs no slots");
  return sequences + 1 + std::min(pages / kSnapshotPages, kvBytes / 4 / slotBytes);
}

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3; at -= 3)
    digits.insert(at - 3, ",");
  return digits;
}

std::string humanBytes(uint64_t bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024; ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

Result<MemoryPlan> memoryPlan(const EngineFile &engine, const MemoryLimits &limits) {
  return memoryPlan(engine, limits, *engine.table().programs()->Get(0));
}

Result<MemoryPlan> memoryPlan(const EngineFile &engine, const MemoryLimits &limits,
                              const fb::Program &program) {
  DeviceKind kind = deviceKind(program);
  MemoryPlan s;
  s.kind = kind;
  s.limits = limits;
  s.limits.lock &= kind == DeviceKind::Cpu; // a GPU's memory is never paged out
  if (s.limits.context == 0)
    s.limits.context = std::min<uint64_t>(engine.table().model()->context(), kDefaultContext);
  if (s.limits.maxBatchTokens == 0)
    s.limits.maxBatchTokens =
        kind == DeviceKind::Cuda ? kDefaultGpuBatchTokens : kDefaultBatchTokens;
  if (s.limits.logitsRows == 0)
    s.limits.logitsRows = s.limits.maxSeqs;
  s.mapped = engine.fileBytes();
  for (const fb::Segment *segment : *engine.table().segments())
    if (segment->kind() == fb::SegmentKind::Weights)
      s.weights += segment->size();
  s.read = storedWeightBytes(engine.table(), program);
  s.seeded = program.seed_bytes();

  s.pageTokens = program.abi()->page_tokens();
  uint64_t pagesPerSequence = divideUp(s.limits.context, s.pageTokens);
  formGroups(program, s);
  // Pages and bytes of one sequence at the limits: pages are divided among the groups in this
  // proportion.
  std::vector<uint64_t> each;
  Sum sequence, kv;
  for (const KvPages &group : s.groups) {
    each.push_back(pagesHeld(s, group.window));
    sequence.add(each.back(), group.pageBytes);
  }
  bool empty = false;
  for (size_t g = 0; g < s.groups.size(); ++g) {
    std::optional<uint64_t> pages = checkedMul(s.limits.maxSeqs, each[g]);
    if (s.limits.kvBytes && sequence.total.value_or(0) != 0)
      pages =
          uint64_t(static_cast<unsigned __int128>(*s.limits.kvBytes) * each[g] / *sequence.total);
    empty |= pages == 0;
    s.groups[g].pages = pages.value_or(0);
    kv.add(pages.value_or(UINT64_MAX), s.groups[g].pageBytes);
  }
  if (empty)
    return Error{ExitCode::File, "E0389", "the KV memory is smaller than one page",
                 std::to_string(s.limits.kvBytes.value_or(0)) + " bytes were given, one page of " +
                     std::to_string(s.pageTokens) + " positions needs " +
                     std::to_string(program.bytes_per_page()),
                 "raise --kv-memory"};

  Sum states;
  s.slotBytes = program.bytes_per_slot();
  if (s.slotBytes != 0) {
    s.slots = slotsFor(s.limits.maxSeqs, s.groups.front().pages, kv.total.value_or(0), s.slotBytes);
    states.add(s.slots, s.slotBytes);
  }
  uint64_t scratch = 0;
  for (const fb::Kernel *kernel : *program.kernels())
    if (kind == DeviceKind::Cpu)
      scratch = std::max(scratch, divideUp(kernel->scratch_bytes(), 64) * 64);
  Sum arena, threads, batch, upload, staging, all;
  arena.add(program.bytes_fixed())
      .add(program.bytes_per_token(), s.limits.maxBatchTokens)
      .add(program.bytes_per_row(), s.limits.logitsRows);
  threads.add(scratch, s.limits.threads);
  // Ids, position and sequence of a token; rows; attention tiles; block tables (Batch.h).
  batch.add(12, s.limits.maxBatchTokens).add(4, s.limits.logitsRows);
  batch.add(sizeof(AttentionTile), s.limits.maxBatchTokens / kAttentionTile)
      .add(sizeof(AttentionTile), s.limits.maxSeqs)
      .add(4 * s.groups.size(),
           checkedMul(s.limits.maxSeqs, pagesPerSequence).value_or(UINT64_MAX));
  constexpr uint64_t kHead = offsetof(BatchView, stateSpans); // the rest is for fixed states
  if (s.slotBytes != 0)                                       // a snapshot may follow each token
    batch.add(sizeof(StateSpan), s.limits.maxSeqs)
        .add(sizeof(StateWrite), s.limits.maxBatchTokens)
        .add(kind == DeviceKind::Cuda ? sizeof(BatchView) - kHead + uint64_t(2) * 256 : 0);
  if (kind == DeviceKind::Cuda) {
    for (uint32_t segment : weightSegments(program))
      upload.add(roundUp(int64_t(engine.table().segments()->Get(segment)->size()), 256));
    batch.add(sizeof(RowSampling), s.limits.logitsRows)
        .add(sizeof(AttentionSplit), s.limits.maxSeqs)
        .add(sizeof(AttentionSplit), program.attention_shares())
        .add(kHead + 9 * 256)               // each list starts on a 256-byte line,
        .add(2 * 256, s.groups.size() - 1); // and so do the view and block table of each further
                                            // group
    staging.add(kUploadPieces, kUploadPiece)
        .add(2, batch.total.value_or(UINT64_MAX)) // two steps may be in flight
        .add(2 * sizeof(int32_t), s.limits.logitsRows)
        .add(program.bytes_per_row(), s.limits.logitsRows);
  }
  for (const Sum *part : {&arena, &kv, &states, &threads, &batch, &upload, &staging})
    all.add(part->total.value_or(UINT64_MAX));
  all.add(s.mapped).add(s.seeded).add(limits.swapBytes).add(limits.reserved);
  if (!all.total)
    return tooLarge(std::to_string(s.limits.maxSeqs) + " sequences of " +
                    std::to_string(s.limits.context) + " positions, " +
                    std::to_string(s.limits.maxBatchTokens) + " tokens a step, " +
                    std::to_string(s.limits.threads) + " threads" +
                    (s.seeded ? ", " + humanBytes(s.seeded) + " of weights from the seed" : ""));
  s.pages = s.groups.front().pages;
  s.arena = *arena.total;
  s.kv = *kv.total;
  s.states = *states.total;
  s.scratch = *threads.total;
  s.batch = *batch.total;
  s.uploaded = *upload.total;
  s.staging = *staging.total;
  return s;
}

/// ", 304 pages for windows of 512"
static std::string windowsText(const std::vector<KvPages> &groups) {
  std::string text;
  for (const KvPages &group : groups)
    if (group.window)
      text += ", " + std::to_string(group.pages) + " pages for windows of " +
              std::to_string(group.window);
  return text;
}

std::string MemoryPlan::text() const {
  auto line = [](const char *part, uint64_t bytes, const std::string &how) {
    char text[160];
    std::snprintf(text, sizeof text, "  %-10s %10s   %s\n", part, humanBytes(bytes).c_str(),
                  how.c_str());
    return std::string(text);
  };
  auto number = [](uint64_t n) { return std::to_string(n); };
  bool gpu = kind == DeviceKind::Cuda;
  return line("engine", mapped, "mapped from the file, " + humanBytes(weights) + " of it weights") +
         (gpu ? line("weights", uploaded, "copied to the GPU") : "") +
         (seeded ? line("weights", seeded, "generated from the seed at load") : "") +
         line("arena", arena,
              number(limits.maxBatchTokens) + " tokens a step, " + number(limits.logitsRows) +
                  " logits rows") +
         line("KV cache", kv,
              number(pages) + " pages of " + number(pageTokens) + " positions: " +
                  number(limits.maxSeqs) + " x " + number(limits.context) + windowsText(groups)) +
         (slots ? line("state", states,
                       number(slots) + " slots of " + humanBytes(slotBytes) +
                           ": one a sequence, drafts, prefix cache")
                : "") +
         (gpu ? line("staging", staging, "page-locked memory of the host")
              : line("scratch", scratch, number(limits.threads) + " threads")) +
         (limits.swapBytes
              ? line("swap", limits.swapBytes, "KV pages of waiting requests, on the host")
              : "") +
         line("batch", batch, "ids, positions, block tables") +
         (limits.reserved
              ? line("reserve", limits.reserved, "left free: code, graphs, the driver's heaps")
              : "") +
         (limits.lock
              ? line("locked", lockable(), "of all that, never paged out; ulimit -l must allow it")
              : "") +
         line("total", total(),
              (gpu ? humanBytes(taken()) + " on the GPU"
                   : humanBytes(allocated()) + " beside the mapped file") +
                  "; the program itself has about " + humanBytes(kProgramBytes) + " more");
}

std::string MemoryPlan::json() const {
  JsonText j;
  j.open('{').key("mapped").value(mapped).key("weights").value(weights);
  j.key("seeded").value(seeded).key("arena").value(arena);
  j.key("kv").value(kv).key("scratch").value(scratch).key("batch").value(batch);
  if (kind == DeviceKind::Cuda)
    j.key("uploaded").value(uploaded).key("staging").value(staging).key("on_device").value(taken());
  if (limits.reserved)
    j.key("reserved").value(limits.reserved);
  if (limits.swapBytes)
    j.key("swap").value(limits.swapBytes);
  if (limits.lock)
    j.key("locked").value(lockable());
  j.key("allocated").value(allocated()).key("total").value(total());
  j.key("program").value(kProgramBytes);
  j.key("pages").value(pages).key("page_tokens").value(pageTokens);
  if (slots)
    j.key("state").value(states).key("slots").value(slots).key("slot_bytes").value(slotBytes);
  j.key("limits").open('{').key("context").value(limits.context);
  j.key("max_seqs").value(limits.maxSeqs).key("max_batch_tokens").value(limits.maxBatchTokens);
  j.key("logits_rows").value(limits.logitsRows).key("threads").value(limits.threads);
  return j.close().close().text();
}

uint32_t MemoryPlan::groupRead(const fb::Launch &launch, const fb::Step &step) const {
  uint32_t read = 0;
  for (unsigned i = 0; launch.args() && i < launch.args()->size(); ++i) {
    const fb::Arg &arg = *launch.args()->Get(i);
    if (arg.kind() != fb::ArgKind::State)
      continue;
    if (uint32_t group = groupOf[step.states()->Get(arg.index())]; group < groups.size())
      read = group; // fixed states belong to none
  }
  return read;
}

uint64_t placeInArena(const fb::Buffer &buffer, const MemoryLimits &limits) {
  switch (buffer.class_()) {
  case fb::BufferClass::PerToken:
    return buffer.offset() * limits.maxBatchTokens;
  case fb::BufferClass::PerRow:
    return buffer.offset() * limits.logitsRows;
  case fb::BufferClass::Fixed:
    break;
  }
  return buffer.offset();
}

} // namespace ingot::runtime

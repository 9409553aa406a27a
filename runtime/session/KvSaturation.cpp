#include "runtime/session/KvSaturation.h"

#include "runtime/schema/engine_generated.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ingot::runtime {

KvSaturation::KvSaturation(Executor &executor) : mover(executor.pageMover()) {
  const auto &states = *executor.program().states();
  const MemoryPlan &memory = executor.memory();
  auto isF16 = [](const fb::State *state) {
    return state->streams()->Get(0)->format()->string_view() == "f16";
  };
  if (!mover || std::ranges::none_of(states, isF16))
    return;
  groups.resize(memory.groups.size());
  begun.assign(groups.size(), -1);
  for (uint32_t i = 0; i < states.size(); ++i)
    if (states[i]->kind() == fb::StateKind::Paged)
      groups[memory.groupOf[i]].push_back({states[i]->page_bytes(), isF16(states[i])});
}

void KvSaturation::afterStep(const BatchView &batch) {
  if (groups.empty() || batch.tokens == 0)
    return;
  const int64_t positions = int64_t(batch.positions[batch.tokens - 1]) + 1;
  const int64_t row = int64_t(batch.sequenceOf[0]) * batch.blockTableStride;
  for (size_t g = 0; g < groups.size(); ++g) {
    const int32_t *table = (batch.groupTables ? batch.groupTables[g] : batch.blockTable) + row;
    for (int64_t i = next; i < positions / kPageTokens; ++i)
      look(g, table[i]);
    begun[g] = positions % kPageTokens ? table[positions / kPageTokens] : -1;
  }
  next = positions / kPageTokens;
}

int64_t KvSaturation::finish() {
  for (size_t g = 0; g < begun.size(); ++g)
    if (begun[g] >= 0)
      look(g, std::exchange(begun[g], -1));
  return count;
}

void KvSaturation::look(size_t group, int32_t number) {
  page.resize(mover->pageBytes(group));
  mover->save(group, number, page.data());
  const std::byte *at = page.data();
  for (const Slot &slot : groups[group]) {
    for (uint64_t i = 0; slot.isF16 && i + 2 <= slot.bytes; i += 2) {
      uint16_t bits;
      std::memcpy(&bits, at + i, 2);
      count += (bits & 0x7fff) == 0x7bff;
    }
    at += slot.bytes;
  }
}

} // namespace ingot::runtime

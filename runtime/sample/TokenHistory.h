//===- TokenHistory.h - Which ids a request has seen, for the penalties ---===//
//
// A penalty touches the distinct ids of prompt and output only, so this keeps
// just those (open addressing over a table sized when the request arrives):
// memory and time grow with the request and not with the vocabulary, and
// nothing is allocated while tokens are drawn.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::runtime {

class TokenHistory {
public:
  struct Entry {
    int32_t id;
    int32_t inPrompt; ///< occurrences
    int32_t inOutput;
  };

  TokenHistory() = default;
  /// Room for the prompt and `maxNew` further ids.
  TokenHistory(std::span<const int32_t> prompt, int64_t maxNew);

  /// Counts one id of the output.
  void add(int32_t id) { ++find(id).inOutput; }
  /// The distinct ids, in the order of their first appearance.
  std::span<const Entry> entries() const { return distinct; }

private:
  Entry &find(int32_t id);

  std::vector<Entry> distinct;
  std::vector<int32_t> slots; ///< index into `distinct`, or -1
};

} // namespace ingot::runtime

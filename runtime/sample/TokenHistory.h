//===- TokenHistory.h - Ids seen by a request, for penalties --------------===//
//
// A penalty affects only the distinct tokens of prompt and output, so only these are stored. They are in a hash table
// with open addressing. Its size is fixed when the request arrives. Memory and time therefore grow with the request,
// not with the vocabulary, and nothing is allocated while tokens are sampled. With a window, tokens that have left it
// are no longer counted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::runtime {

class TokenHistory {
public:
  struct Entry {
    int32_t id;
    int32_t inPrompt; ///< number of occurrences in the prompt
    int32_t inOutput; ///< number of occurrences in the output
  };

  TokenHistory() = default;
  /// Reserves room for the prompt and `maxNew` further tokens, of which the last `window` count; -1: all.
  TokenHistory(std::span<const int32_t> prompt, int64_t maxNew, int64_t window = -1);

  /// Counts one token of the output.
  void add(int32_t id) { count(id, /*output=*/true); }
  /// Returns the distinct tokens, in order of first appearance. A token that has left the window has no occurrences.
  std::span<const Entry> entries() const { return distinct; }

private:
  struct Seen {
    int32_t id;
    bool output;
  };
  Entry &find(int32_t id);
  void count(int32_t id, bool output);

  std::vector<Entry> distinct;
  std::vector<int32_t> slots; ///< index into `distinct`, or -1
  int64_t window = -1;
  std::vector<Seen> recent; ///< the tokens in the window; a ring once it is full
  size_t oldest = 0;
};

} // namespace ingot::runtime

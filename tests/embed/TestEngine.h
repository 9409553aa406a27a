//===- TestEngine.h - The engine that users of libingot are tested on --------===//
//
// The fake engine of the runtime's tests with a tokenizer and a chat template. This header knows
// standard types alone, so that a file with ingot.hpp can include it: the runtime's own headers
// have other classes of the same names.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::test {

/// Writes it to `path`.
void writeTestEngine(const std::string &path);

constexpr int32_t kTestVocab = 97, kTestEos = 96;
/// Greedy ids after the prompt; stops before kTestEos if asked.
std::vector<int32_t> expectedIds(const std::vector<int32_t> &prompt, int64_t count,
                                 bool stopAtEos = false);
/// Some prompt of that length.
std::vector<int32_t> testPrompt(int64_t length, int seed);
/// Logits after the last of `ids`.
std::vector<float> expectedLogits(const std::vector<int32_t> &ids);

} // namespace ingot::test

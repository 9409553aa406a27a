//===- TestEngine.h - The engine that users of libingot are tested on --------===//
//
// This is the fake engine of the runtime's tests, with a tokenizer and a chat template. The header uses only standard
// types, so a file that includes ingot.hpp can include it too. The runtime's own headers would clash, because they
// define other classes of the same names.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::test {

/// Writes the engine to `path`.
void writeTestEngine(const std::string &path);

constexpr int32_t kTestVocab = 97, kTestEos = 96;
/// Returns the greedy ids after the prompt, up to but excluding kTestEos if `stopAtEos`.
std::vector<int32_t> expectedIds(const std::vector<int32_t> &prompt, int64_t count,
                                 bool stopAtEos = false);
/// Returns a prompt of the given length that depends on `seed`.
std::vector<int32_t> testPrompt(int64_t length, int seed);
/// Returns the logits after the last of `ids`.
std::vector<float> expectedLogits(const std::vector<int32_t> &ids);

} // namespace ingot::test

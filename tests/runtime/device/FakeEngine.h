//===- FakeEngine.h - A small engine that needs no compiler ---------------===//
//
// FakeKernels.c behind a real engine file: 97 ids, 2 layers with a state each. What it
// must answer is computed here in plain form.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/engine/EngineWriter.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ingot::test {

constexpr int32_t kFakeVocab = 97;
constexpr int32_t kFakeEos = 96; ///< 0 … 93: '!' … '~', 94: ' ', 95: the byte C3 (half a character)

struct FakeOptions {
  uint32_t context = 2048;
  bool states = false;    ///< it tells hidden states, of kFakeStates values
  bool recurrent = false; ///< its layers have a state of fixed size beside the other
  std::string tokenizerKind, tokenizerBytes; ///< empty: none
  /// Code for other devices, segments behind the others.
  std::function<void(fb::EngineT &, std::vector<compiler::SegmentSource> &)> addCode;
  std::function<void(fb::EngineT &)> change; ///< last touches to the table
};

/// Adds an output to the program's entry.
void addOutput(fb::ProgramT &program, fb::OutputRole role, fb::Encoding encoding, uint32_t buffer);

/// Writes the engine into the test's temporary folder; the path.
std::string writeFakeEngine(const std::string &name, const FakeOptions &options = {});

/// A byte-level BPE without merges: one id per byte that the model can say.
std::string fakeTokenizerJson();

/// Logits after the last of `ids`; `recurrent`: of a model made so.
std::vector<float> fakeLogits(std::span<const int32_t> ids, bool recurrent = false);
/// The hidden state of the last of `ids`.
constexpr int64_t kFakeStates = 4;
std::vector<float> fakeState(std::span<const int32_t> ids);
/// `count` greedy ids after the prompt; stops before kFakeEos if asked.
std::vector<int32_t> fakeGreedy(std::vector<int32_t> prompt, int64_t count, bool stopAtEos,
                                bool recurrent = false);

/// A prompt of `length` ids that depends on `seed`, without kFakeEos.
std::vector<int32_t> fakePrompt(int64_t length, int seed);

} // namespace ingot::test

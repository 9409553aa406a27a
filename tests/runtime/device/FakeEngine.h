//===- FakeEngine.h - A small engine that needs no compiler ---------------===//
//
// A real engine file around FakeKernels.c: 97 ids, 2 layers with a state each. The
// functions below compute the expected answers directly.
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
  bool states = false;                       ///< it outputs hidden states of kFakeStates values
  bool recurrent = false;                    ///< its layers also have a state of fixed size
  std::string tokenizerKind, tokenizerBytes; ///< empty: none
  /// Adds code for other devices, in segments after the others.
  std::function<void(fb::EngineT &, std::vector<compiler::SegmentSource> &)> addCode;
  std::function<void(fb::EngineT &)> change; ///< final changes to the table
};

/// Adds an output to the program's entry point.
void addOutput(fb::ProgramT &program, fb::OutputRole role, fb::Encoding encoding, uint32_t buffer);

/// Writes the engine into the test's temporary folder and returns its path.
std::string writeFakeEngine(const std::string &name, const FakeOptions &options = {});

/// Returns a byte-level BPE without merges: one id per byte that the model can produce.
std::string fakeTokenizerJson();

/// Returns the logits after the last of `ids`. `recurrent` refers to FakeOptions::recurrent.
std::vector<float> fakeLogits(std::span<const int32_t> ids, bool recurrent = false);
/// Number of values of a hidden state. fakeState() returns the hidden state of the last of `ids`.
constexpr int64_t kFakeStates = 4;
std::vector<float> fakeState(std::span<const int32_t> ids);
/// Returns up to `count` greedy ids after the prompt, ending before kFakeEos if `stopAtEos`.
std::vector<int32_t> fakeGreedy(std::vector<int32_t> prompt, int64_t count, bool stopAtEos,
                                bool recurrent = false);

/// Returns a prompt of `length` ids that depends on `seed` and does not contain kFakeEos.
std::vector<int32_t> fakePrompt(int64_t length, int seed);

} // namespace ingot::test

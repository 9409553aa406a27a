//===- Call.h - A request of Triton as one of libingot -----------------------===//
//
// Inputs have the names that clients of TensorRT-LLM's backends use, `sampling_parameters` and the
// names inside it those of vLLM's. Each name has one line in the table of Call.cpp.
//===----------------------------------------------------------------------===//
#pragma once

#include "deploy/triton/Value.h"

#include <span>

namespace ingot::triton {

/// ingot_request with all that it points at.
struct Call {
  Call() { ingot_request_init(&request, sizeof request); }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  ingot_request request;
  std::string prompt, messages, variables, grammarKind, grammar;
  bool hasPrompt = false, hasMessages = false, hasIds = false;
  std::vector<int32_t> ids, stopIds;
  int64_t length = -1; ///< of `ids` that count; -1: all
  std::vector<std::string> stops, badTexts;
  std::vector<std::vector<int32_t>> stopWords, badWords;
  bool streaming = false;
  bool echo = false; ///< the answer begins with the prompt

  /// Reads inputs and parameters. `ignoreUnknown`: parameters that nobody knows are not refused.
  Outcome read(TRITONBACKEND_Request *given, bool batched, bool ignoreUnknown);
  /// What needs the engine's tokenizer, and pointers. Then `request` can be enqueued.
  Outcome finish(ingot_executor *executor);

  /// With `echo`: the prompt as text and as ids. After finish().
  std::string echoedText;
  std::vector<int32_t> echoedIds;

private:
  Outcome set(const Value &value);
  Outcome setJson(const std::string &json);
  Outcome readGrammar();
  Outcome tokenize(ingot_executor *executor);
  Outcome echoPrompt(ingot_executor *executor);

  std::vector<const char *> stopPointers;
  std::vector<ingot_id_list> badPointers;
  friend struct Option;
};

/// What the configuration of a model says of an input or output.
struct Port {
  const char *name;
  const char *type; ///< "TYPE_INT32"
  std::vector<int64_t> dims;
};
/// All inputs that a configuration may list, in the order in which one is completed.
std::span<const Port> inputPorts();
/// Whether a configuration may give an input that type.
bool acceptsType(const Port &input, std::string_view type);

} // namespace ingot::triton

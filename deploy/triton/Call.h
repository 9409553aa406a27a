//===- Call.h - Converts Triton requests to libingot requests ----------------===//
//
// Inputs have the names that clients of TensorRT-LLM's backends use. `sampling_parameters` and the names inside it are
// the same as in vLLM's backend. Each name has one line in the table in Call.cpp.
//===----------------------------------------------------------------------===//
#pragma once

#include "deploy/triton/Value.h"

#include <span>

namespace ingot::triton {

/// An ingot_request and the data it points to.
struct Call {
  Call() { ingot_request_init(&request, sizeof request); }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  ingot_request request;
  std::string prompt, messages, variables, grammarKind, grammar;
  bool hasPrompt = false, hasMessages = false, hasIds = false;
  std::vector<int32_t> ids, stopIds;
  int64_t length = -1; ///< number of `ids` to use; -1: all
  std::vector<std::string> stops, badTexts;
  std::vector<std::vector<int32_t>> stopWords, badWords;
  bool streaming = false;
  bool echo = false; ///< the answer begins with the prompt

  /// Reads inputs and parameters. `ignoreUnknown`: unknown parameters are not refused.
  Outcome read(TRITONBACKEND_Request *given, bool batched, bool ignoreUnknown);
  /// Does the work that needs the engine's tokenizer, and sets pointers. After it, `request` can be
  /// enqueued.
  Outcome finish(ingot_executor *executor);

  /// With `echo`, and after finish(): the prompt as text and as token ids.
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

/// An input or output as a model's configuration describes it.
struct Port {
  const char *name;
  const char *type; ///< "TYPE_INT32"
  std::vector<int64_t> dims;
};
/// Returns all inputs that a configuration may list. A configuration without inputs gets them in this order.
std::span<const Port> inputPorts();
/// Returns whether a configuration may give the input this type.
bool acceptsType(const Port &input, std::string_view type);

} // namespace ingot::triton

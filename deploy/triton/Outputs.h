//===- Outputs.h - Answers as tensors ----------------------------------------===//
//
// If a request streams, each part of an answer is one response. Otherwise all answers of a request
// form one response, in which each answer is a row. Names and shapes are the same as in TensorRT-LLM.
//===----------------------------------------------------------------------===//
#pragma once

#include "deploy/triton/Failure.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::triton {

/// A part of an answer, or all of it.
struct Part {
  int32_t choice = 0;
  int32_t finish = INGOT_FINISH_NONE;
  std::string text;
  std::vector<int32_t> ids;
  std::vector<float> logprobs; ///< of `ids`, or empty
  double logprobSum = 0;       ///< of the answer so far
  int64_t promptTokens = 0, cachedTokens = 0;
  int64_t newTokens = 0; ///< of the answer so far

  /// Appends the content of `output`.
  void append(const ingot_output &output);
};

/// One tensor of a response, as bytes.
struct Tensor {
  std::vector<int64_t> shape; ///< without the batch dimension
  std::string data;
};

struct OutputPort {
  const char *name;
  const char *type; ///< in config.pbtxt
  TRITONSERVER_DataType code;
  std::vector<int64_t> dims;
  /// Present only if log-probabilities were requested.
  bool needsLogprobs;
  void (*write)(std::span<const Part> rows, Tensor &into);
};
/// Returns all outputs, in the order in which they are added to a configuration without outputs.
std::span<const OutputPort> outputPorts();

/// Finds the outputs that a request wants. Unknown names are refused.
Outcome wantedOutputs(TRITONBACKEND_Request *request, std::vector<const OutputPort *> &into);

/// Writes `rows` into a response.
Outcome writeOutputs(TRITONBACKEND_Response *response, std::span<const OutputPort *const> ports,
                     std::span<const Part> rows, bool batched, bool logprobs);

} // namespace ingot::triton

//===- Outputs.h - What answers are as tensors -------------------------------===//
//
// While a request streams, each part of an answer is a response. Otherwise all answers of a request
// are one response, in which each answer is a row. Names and shapes are those of TensorRT-LLM.
//===----------------------------------------------------------------------===//
#pragma once

#include "deploy/triton/Failure.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::triton {

/// Some more of an answer, or all of it.
struct Part {
  int32_t choice = 0;
  int32_t finish = INGOT_FINISH_NONE;
  std::string text;
  std::vector<int32_t> ids;
  std::vector<float> logprobs; ///< of `ids`, or empty
  double logprobSum = 0;       ///< of the answer so far
  int64_t promptTokens = 0, cachedTokens = 0;
  int64_t newTokens = 0; ///< so far

  /// Adds what `output` has to what is there.
  void append(const ingot_output &output);
};

/// One tensor of a response, as bytes.
struct Tensor {
  std::vector<int64_t> shape; ///< without the batch
  std::string data;
};

struct OutputPort {
  const char *name;
  const char *type; ///< in config.pbtxt
  TRITONSERVER_DataType code;
  std::vector<int64_t> dims;
  /// It is there only where log-probabilities were asked for.
  bool needsLogprobs;
  void (*write)(std::span<const Part> rows, Tensor &into);
};
/// All of them, in the order in which a configuration is completed.
std::span<const OutputPort> outputPorts();

/// The outputs that a request wants; names that nobody knows are refused.
Outcome wantedOutputs(TRITONBACKEND_Request *request, std::vector<const OutputPort *> &into);

/// Puts `rows` into a response.
Outcome writeOutputs(TRITONBACKEND_Response *response, std::span<const OutputPort *const> ports,
                     std::span<const Part> rows, bool batched, bool logprobs);

} // namespace ingot::triton

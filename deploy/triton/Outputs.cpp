//===- Outputs.cpp - Tensors of responses ------------------------------------===//
#include "deploy/triton/Outputs.h"

#include <algorithm>
#include <cstring>

namespace ingot::triton {

void Part::append(const ingot_output &output) {
  choice = output.choice;
  finish = output.finish_reason;
  text.append(output.text, output.text_size);
  ids.insert(ids.end(), output.ids, output.ids + output.id_count);
  if (output.logprobs_per_id)
    for (size_t i = 0; i < output.id_count; ++i) {
      logprobs.push_back(output.logprobs[i * output.logprobs_per_id].logprob);
      logprobSum += double(logprobs.back());
    }
  promptTokens = output.prompt_tokens;
  cachedTokens = output.cached_tokens;
  newTokens = output.new_tokens;
}

namespace {

void appendText(std::string_view text, std::string &data) {
  const uint32_t size = uint32_t(text.size());
  data.append(reinterpret_cast<const char *>(&size), sizeof size);
  data.append(text);
}

template <typename T> void appendNumber(T value, std::string &data) {
  data.append(reinterpret_cast<const char *>(&value), sizeof value);
}

/// Writes a tensor [rows].
template <typename Each> void column(std::span<const Part> rows, Tensor &into, Each &&each) {
  into.shape = {int64_t(rows.size())};
  for (const Part &row : rows)
    each(row, into.data);
}

/// Writes a tensor [rows, longest], padded with `filler`.
template <typename T>
void table(std::span<const Part> rows, Tensor &into, const std::vector<T> Part::*member, T filler) {
  size_t longest = 0;
  for (const Part &row : rows)
    longest = std::max(longest, (row.*member).size());
  into.shape = {int64_t(rows.size()), int64_t(longest)};
  for (const Part &row : rows) {
    for (const T value : row.*member)
      appendNumber(value, into.data);
    for (size_t i = (row.*member).size(); i < longest; ++i)
      appendNumber(filler, into.data);
  }
}

const char *nameOfFinish(int32_t reason) {
  switch (reason) {
  case INGOT_FINISH_STOP:
    return "stop";
  case INGOT_FINISH_LENGTH:
    return "length";
  case INGOT_FINISH_CANCELLED:
    return "cancelled";
  case INGOT_FINISH_ERROR:
    return "error";
  default:
    return "";
  }
}

} // namespace

std::span<const OutputPort> outputPorts() {
  using Rows = std::span<const Part>;
  static constexpr int32_t kPadId = -1;
  static const std::vector<OutputPort> kPorts = {
      {"text_output",
       "TYPE_STRING",
       TRITONSERVER_TYPE_BYTES,
       {-1},
       false,
       [](Rows rows, Tensor &into) {
         column(rows, into, [](const Part &row, std::string &d) { appendText(row.text, d); });
       }},
      {"finish_reason",
       "TYPE_STRING",
       TRITONSERVER_TYPE_BYTES,
       {-1},
       false,
       [](Rows rows, Tensor &into) {
         column(rows, into,
                [](const Part &row, std::string &d) { appendText(nameOfFinish(row.finish), d); });
       }},
      {"output_ids",
       "TYPE_INT32",
       TRITONSERVER_TYPE_INT32,
       {-1, -1},
       false,
       [](Rows rows, Tensor &into) { table(rows, into, &Part::ids, kPadId); }},
      {"sequence_length",
       "TYPE_INT32",
       TRITONSERVER_TYPE_INT32,
       {-1},
       false,
       [](Rows rows, Tensor &into) {
         column(rows, into,
                [](const Part &row, std::string &d) { appendNumber(int32_t(row.ids.size()), d); });
       }},
      {"sequence_index",
       "TYPE_INT32",
       TRITONSERVER_TYPE_INT32,
       {-1},
       false,
       [](Rows rows, Tensor &into) {
         column(rows, into, [](const Part &row, std::string &d) { appendNumber(row.choice, d); });
       }},
      {"batch_index",
       "TYPE_INT32",
       TRITONSERVER_TYPE_INT32,
       {1},
       false,
       [](Rows, Tensor &into) {
         into.shape = {1};
         appendNumber(int32_t(0), into.data);
       }},
      {"cum_log_probs",
       "TYPE_FP32",
       TRITONSERVER_TYPE_FP32,
       {-1},
       true,
       [](Rows rows, Tensor &into) {
         column(rows, into,
                [](const Part &row, std::string &d) { appendNumber(float(row.logprobSum), d); });
       }},
      {"output_log_probs",
       "TYPE_FP32",
       TRITONSERVER_TYPE_FP32,
       {-1, -1},
       true,
       [](Rows rows, Tensor &into) { table(rows, into, &Part::logprobs, 0.0f); }},
      {"num_input_tokens",
       "TYPE_INT32",
       TRITONSERVER_TYPE_INT32,
       {1},
       false,
       [](Rows rows, Tensor &into) {
         into.shape = {1};
         appendNumber(int32_t(rows.front().promptTokens), into.data);
       }},
      {"num_cached_tokens",
       "TYPE_INT32",
       TRITONSERVER_TYPE_INT32,
       {1},
       false,
       [](Rows rows, Tensor &into) {
         into.shape = {1};
         appendNumber(int32_t(rows.front().cachedTokens), into.data);
       }},
      {"num_output_tokens",
       "TYPE_INT32",
       TRITONSERVER_TYPE_INT32,
       {-1},
       false,
       [](Rows rows, Tensor &into) {
         column(rows, into,
                [](const Part &row, std::string &d) { appendNumber(int32_t(row.newTokens), d); });
       }},
  };
  return kPorts;
}

Outcome wantedOutputs(TRITONBACKEND_Request *request, std::vector<const OutputPort *> &into) {
  uint32_t count = 0;
  if (Outcome failed = taken(TRITONBACKEND_RequestOutputCount(request, &count)))
    return failed;
  for (uint32_t i = 0; i < count; ++i) {
    const char *name = nullptr;
    if (Outcome failed = taken(TRITONBACKEND_RequestOutputName(request, i, &name)))
      return failed;
    const auto known = std::ranges::find_if(
        outputPorts(), [&](const OutputPort &port) { return !std::strcmp(port.name, name); });
    if (known == outputPorts().end())
      return badRequest("E0954", std::string("there is no output '") + name + "'",
                        "docs/triton.md lists those that there are", "ask for others");
    into.push_back(&*known);
  }
  return {};
}

Outcome writeOutputs(TRITONBACKEND_Response *response, std::span<const OutputPort *const> ports,
                     std::span<const Part> rows, bool batched, bool logprobs) {
  for (const OutputPort *port : ports) {
    if (port->needsLogprobs && !logprobs)
      continue;
    Tensor tensor;
    port->write(rows, tensor);
    if (batched)
      tensor.shape.insert(tensor.shape.begin(), 1);
    TRITONBACKEND_Output *output = nullptr;
    if (Outcome failed =
            taken(TRITONBACKEND_ResponseOutput(response, &output, port->name, port->code,
                                               tensor.shape.data(), uint32_t(tensor.shape.size()))))
      return failed;
    void *buffer = nullptr;
    TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
    int64_t memoryId = 0;
    if (Outcome failed = taken(
            TRITONBACKEND_OutputBuffer(output, &buffer, tensor.data.size(), &memory, &memoryId)))
      return failed;
    if (memory == TRITONSERVER_MEMORY_GPU)
      return badRequest("E0958", std::string("the output '") + port->name + "' cannot be written",
                        "the client wants it in the memory of GPU " + std::to_string(memoryId) +
                            ", and this backend writes host memory",
                        "register system memory for outputs");
    if (!tensor.data.empty())
      std::memcpy(buffer, tensor.data.data(), tensor.data.size());
  }
  return {};
}

} // namespace ingot::triton

//===- Settings.h - What config.pbtxt says of a model ------------------------===//
//
// Triton gives the configuration as JSON. Here it is read, checked, and completed where it lists no
// inputs or outputs: a config.pbtxt of `backend: "ingot"` is enough.
//===----------------------------------------------------------------------===//
#pragma once

#include "deploy/triton/Failure.h"

#include <simdjson.h>

#include <string>
#include <string_view>

namespace ingot::triton {

struct Settings {
  /// Of a model whose version lies in `folder`.
  static Outcome read(std::string_view json, const std::string &folder, Settings &into);

  /// For ingot_executor_open; points into this.
  ingot_config config() const;

  std::string engine;     ///< path
  bool batched = false;   ///< max_batch_size > 0: the first dimension of all tensors is the batch
  bool decoupled = false; ///< a request may have more than one response
  int64_t checkPeriodMs = 20;           ///< between two looks at who has cancelled
  bool ignoreUnknownParameters = false; ///< of requests

private:
  Outcome readParameters(const simdjson::dom::element &json, const std::string &folder);
  Outcome readPorts(const simdjson::dom::element &json) const;

  ingot_config limits;
  std::string device, isa, chatTemplate;
  bool hasTemplate = false;
  friend struct Parameter;
};

/// The configuration with inputs, outputs and the decoupled policy where it has none; empty if it
/// lacks nothing.
std::string completed(std::string_view json);

} // namespace ingot::triton

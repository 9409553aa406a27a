//===- Settings.h - A model's settings in config.pbtxt -----------------------===//
//
// Triton passes the configuration as JSON. This file reads and checks it, and completes it if it
// lists no inputs or outputs, so a config.pbtxt of `backend: "ingot"` is enough.
//===----------------------------------------------------------------------===//
#pragma once

#include "deploy/triton/Failure.h"

#include <simdjson.h>

#include <string>
#include <string_view>

namespace ingot::triton {

struct Settings {
  /// Reads the settings of a model. `folder` is the folder of the model's version.
  static Outcome read(std::string_view json, const std::string &folder, Settings &into);

  /// Returns the configuration for ingot_executor_open. It points into this object.
  ingot_config config() const;

  std::string engine;     ///< path
  bool batched = false;   ///< max_batch_size > 0: the first dimension of all tensors is the batch
  bool decoupled = false; ///< a request may have more than one response
  int64_t checkPeriodMs = 20;           ///< time between checks for cancelled requests
  bool ignoreUnknownParameters = false; ///< in requests

private:
  Outcome readParameters(const simdjson::dom::element &json, const std::string &folder);
  Outcome readPorts(const simdjson::dom::element &json) const;

  ingot_config limits;
  std::string device, isa, chatTemplate;
  bool hasTemplate = false;
  friend struct Parameter;
};

/// Returns the configuration with missing inputs, outputs and decoupled policy added; empty if
/// nothing is missing.
std::string completed(std::string_view json);

} // namespace ingot::triton

//===- ExporterKeys.h - Exporter keys that do not affect the weights -------===//
#pragma once

#include "compiler/import/methods/QuantConfig.h"

namespace ingot::import {

/// Marks the keys that programs which write GPTQ or AWQ tensors leave in quantization_config. They describe how the
/// weights were computed, which kernels should run them, and which modules are quantised, which the tensors show as
/// well.
void markExporterKeys(const QuantConfig &config);

} // namespace ingot::import

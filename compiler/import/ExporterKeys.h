//===- ExporterKeys.h - Keys that say nothing about the numbers ------------===//
#pragma once

#include "compiler/import/QuantConfig.h"

namespace ingot::import {

/// Marks the keys of quantization_config that programs which write GPTQ's and AWQ's tensors leave there: how the weights were
/// found, with what they are to be run, and which modules are quantised, which the tensors show.
void markExporterKeys(const QuantConfig &config);

} // namespace ingot::import

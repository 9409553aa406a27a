//===- SimulationJson.h - Simulation results as JSON -----------------------===//
#pragma once

#include "runtime/schedule/simulate/Tally.h"
#include "tools/files/Json.h"

namespace ingot::cli {

/// Writes the fields that results of one replica and of many share, under the same names.
void writeSimulation(JsonObject &json, const runtime::SimulationResult &result);
/// Returns percentiles in milliseconds; with `mean`, the mean is the first field.
std::string percentilesJson(const runtime::Percentiles &p, bool mean = false);

} // namespace ingot::cli

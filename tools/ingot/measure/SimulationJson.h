//===- SimulationJson.h - What a simulation saw, as JSON -------------------===//
#pragma once

#include "runtime/schedule/simulate/Tally.h"
#include "tools/ingot/Json.h"

namespace ingot::cli {

/// The fields that one replica and many have in common, under the same names.
void writeSimulation(JsonObject &json, const runtime::SimulationResult &result);
/// Milliseconds; with `mean`, as the first field.
std::string percentilesJson(const runtime::Percentiles &p, bool mean = false);

} // namespace ingot::cli

//===- LaunchLimits.h - What a launch may ask of an architecture --------------===//
#pragma once

#include "emulator/host/Emulator.h"

namespace ingot::emulator {

/// Empty, or why a GPU of `arch` would refuse the launch (CUDA C Programming Guide, "Compute
/// Capabilities").
std::string launchProblem(const Launch &launch, int arch);

} // namespace ingot::emulator

//===- LaunchLimits.h - Limits of a launch, by architecture -------------------===//
#pragma once

#include "emulator/host/Emulator.h"

namespace ingot::emulator {

/// Returns why a GPU of `arch` would refuse the launch, or "" (CUDA C Programming Guide, "Compute Capabilities").
std::string launchProblem(const Launch &launch, int arch);

} // namespace ingot::emulator

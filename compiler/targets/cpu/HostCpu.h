//===- HostCpu.h - The host CPU, as named in tuning rows ------------------===//
#pragma once

#include "codegen/cpu/schedule/TuningRows.h"

namespace ingot::compiler {

/// The result of cpuid: vendor, family and model, and the brand for display.
cpu::CpuName hostCpuName();

} // namespace ingot::compiler

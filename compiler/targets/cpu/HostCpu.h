//===- HostCpu.h - Which CPU this is, as tuning rows name it --------------===//
#pragma once

#include "codegen/cpu/schedule/TuningRows.h"

namespace ingot::compiler {

/// What cpuid says: vendor, family and model, and the brand for people.
cpu::CpuName hostCpuName();

} // namespace ingot::compiler

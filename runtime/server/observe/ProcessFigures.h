//===- ProcessFigures.h - Resource usage of this process -------------------===//
#pragma once

#include <string>

namespace ingot::observe {

/// Returns the families that Prometheus' client libraries export for a process:
/// process_cpu_seconds_total, process_resident_memory_bytes, process_virtual_memory_bytes,
/// process_open_fds, process_max_fds, process_start_time_seconds. Values come from /proc/self. Values that cannot be
/// read are left out.
std::string processExposition();

} // namespace ingot::observe

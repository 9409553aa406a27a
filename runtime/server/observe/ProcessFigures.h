//===- ProcessFigures.h - What this process takes of the machine -----------===//
#pragma once

#include <string>

namespace ingot::observe {

/// The families that Prometheus' client libraries give of a process: process_cpu_seconds_total,
/// process_resident_memory_bytes, process_virtual_memory_bytes, process_open_fds, process_max_fds,
/// process_start_time_seconds. From /proc/self; what cannot be read is left out.
std::string processExposition();

} // namespace ingot::observe

//===- Metrics.h - An engine's metrics on Triton's metrics page --------------===//
//
// Metric families belong to the backend; each value belongs to a model and its version. A server
// that was built without metrics provides no families, which is not an error.
//===----------------------------------------------------------------------===//
#pragma once

#include "deploy/triton/Failure.h"

#include <array>
#include <cstdint>
#include <string>

namespace ingot::triton {

constexpr size_t kMetrics = 8;

class MetricFamilies {
public:
  MetricFamilies();
  ~MetricFamilies();
  MetricFamilies(const MetricFamilies &) = delete;
  MetricFamilies &operator=(const MetricFamilies &) = delete;

  std::array<TRITONSERVER_MetricFamily *, kMetrics> families = {}; ///< nullptr: none
};

class Metrics {
public:
  Metrics(const MetricFamilies &families, const std::string &model, const std::string &version);
  ~Metrics();
  Metrics(const Metrics &) = delete;
  Metrics &operator=(const Metrics &) = delete;

  /// Reports the current values. Returns whether the executor has requests that run or wait. Only one thread may
  /// call this at a time.
  bool update(ingot_executor *executor);

private:
  std::array<TRITONSERVER_Metric *, kMetrics> metrics = {};
  std::array<double, kMetrics> reported = {}; ///< last values of counters, which take increments
};

} // namespace ingot::triton

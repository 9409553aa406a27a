//===- Metrics.h - What Triton's metrics page shows of an engine -------------===//
//
// Families belong to the backend, values to a model and its version. A server that was built
// without metrics gives none, which is no error.
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

  /// Takes the values of now. From one thread at a time.
  void update(ingot_executor *executor);

private:
  std::array<TRITONSERVER_Metric *, kMetrics> metrics = {};
  std::array<double, kMetrics> told = {}; ///< of counters, which take differences
};

} // namespace ingot::triton

//===- Metrics.cpp - Families of metrics and their values --------------------===//
#include "deploy/triton/Metrics.h"

namespace ingot::triton {

namespace {

struct Metric {
  const char *name, *help;
  TRITONSERVER_MetricKind kind;
  double (*value)(const ingot_stats &);
};

constexpr TRITONSERVER_MetricKind kGauge = TRITONSERVER_METRIC_KIND_GAUGE;
constexpr TRITONSERVER_MetricKind kCounter = TRITONSERVER_METRIC_KIND_COUNTER;
constexpr Metric kAll[kMetrics] = {
    {"ingot_requests_running", "Requests that take part in steps", kGauge,
     [](const ingot_stats &s) { return double(s.running); }},
    {"ingot_requests_waiting", "Requests that wait for room", kGauge,
     [](const ingot_stats &s) { return double(s.waiting); }},
    {"ingot_kv_pages_used", "KV pages in use", kGauge,
     [](const ingot_stats &s) { return double(s.kv_pages_used); }},
    {"ingot_kv_pages", "KV pages that there are", kGauge,
     [](const ingot_stats &s) { return double(s.kv_pages); }},
    {"ingot_prompt_tokens", "Prompt tokens taken in", kCounter,
     [](const ingot_stats &s) { return double(s.prompt_tokens); }},
    {"ingot_new_tokens", "New tokens", kCounter,
     [](const ingot_stats &s) { return double(s.new_tokens); }},
    {"ingot_prefix_hit_tokens", "Prompt tokens found in the prefix cache", kCounter,
     [](const ingot_stats &s) { return double(s.prefix_hits); }},
    {"ingot_preemptions", "Requests put aside for want of KV pages", kCounter,
     [](const ingot_stats &s) { return double(s.preemptions); }},
};

} // namespace

MetricFamilies::MetricFamilies() {
  for (size_t i = 0; i < kMetrics; ++i)
    if (Outcome failed = taken(
            TRITONSERVER_MetricFamilyNew(&families[i], kAll[i].kind, kAll[i].name, kAll[i].help))) {
      families[i] = nullptr;
      log(TRITONSERVER_LOG_VERBOSE, "ingot: no metrics: " + failed->text);
    }
}

MetricFamilies::~MetricFamilies() {
  for (TRITONSERVER_MetricFamily *family : families)
    if (family)
      expectFine(TRITONSERVER_MetricFamilyDelete(family), "MetricFamilyDelete");
}

Metrics::Metrics(const MetricFamilies &families, const std::string &model,
                 const std::string &version) {
  const TRITONSERVER_Parameter *labels[] = {
      TRITONSERVER_ParameterNew("model", TRITONSERVER_PARAMETER_STRING, model.c_str()),
      TRITONSERVER_ParameterNew("version", TRITONSERVER_PARAMETER_STRING, version.c_str())};
  for (size_t i = 0; i < kMetrics; ++i)
    if (families.families[i])
      if (Outcome failed = taken(TRITONSERVER_MetricNew(&metrics[i], families.families[i], labels,
                                                        std::size(labels)))) {
        metrics[i] = nullptr;
        log(TRITONSERVER_LOG_WARN, "ingot: no metrics of '" + model + "': " + failed->text);
      }
  for (const TRITONSERVER_Parameter *label : labels)
    TRITONSERVER_ParameterDelete(const_cast<TRITONSERVER_Parameter *>(label));
}

Metrics::~Metrics() {
  for (TRITONSERVER_Metric *metric : metrics)
    if (metric)
      expectFine(TRITONSERVER_MetricDelete(metric), "MetricDelete");
}

bool Metrics::update(ingot_executor *executor) {
  ingot_stats stats = {};
  stats.struct_size = sizeof stats;
  if (ingot_stats_get(executor, &stats))
    return false;
  for (size_t i = 0; i < kMetrics; ++i) {
    if (!metrics[i])
      continue;
    const double value = kAll[i].value(stats);
    if (kAll[i].kind == kGauge) {
      expectFine(TRITONSERVER_MetricSet(metrics[i], value), "MetricSet");
    } else if (value > reported[i]) {
      expectFine(TRITONSERVER_MetricIncrement(metrics[i], value - reported[i]), "MetricIncrement");
      reported[i] = value;
    }
  }
  return stats.running || stats.waiting;
}

} // namespace ingot::triton

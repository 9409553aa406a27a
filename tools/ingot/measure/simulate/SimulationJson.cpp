//===- SimulationJson.cpp - See SimulationJson.h ----------------------------===//
#include "tools/ingot/measure/simulate/SimulationJson.h"

namespace ingot::cli {

std::string percentilesJson(const runtime::Percentiles &p, bool mean) {
  JsonObject json;
  if (mean)
    json.field("mean", p.mean * 1e3);
  return json.field("p50", p.p50 * 1e3)
      .field("p90", p.p90 * 1e3)
      .field("p99", p.p99 * 1e3)
      .field("max", p.most * 1e3)
      .str();
}

void writeSimulation(JsonObject &json, const runtime::SimulationResult &r) {
  json.field("requests", r.requests)
      .field("seconds", r.seconds)
      .field("requests_per_s", r.requestsPerSecond)
      .field("tokens_per_s", r.tokensPerSecond)
      .field("goodput_per_s", r.goodput)
      .raw("ttft_ms", percentilesJson(r.ttft))
      .raw("ttft_short_ms", percentilesJson(r.shortTtft))
      .raw("ttft_long_ms", percentilesJson(r.longTtft))
      .raw("itl_ms", percentilesJson(r.itl))
      .field("longest_wait_ms", r.longestWait * 1e3)
      .field("fairness", r.fairness)
      .field("kv_waste", r.waste)
      .field("kv_use", r.poolUse)
      .field("steps", r.stats.steps)
      .field("preemptions", r.stats.preemptions)
      .field("swaps", r.stats.swaps)
      .field("prefix_queries", r.stats.prefixQueries)
      .field("prefix_hits", r.stats.prefixHits);
}

} // namespace ingot::cli

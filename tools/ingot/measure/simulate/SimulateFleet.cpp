//===- SimulateFleet.cpp - See SimulateFleet.h ------------------------------===//
#include "tools/ingot/measure/simulate/SimulateFleet.h"

#include "tools/ingot/measure/simulate/SimulationJson.h"
#include "tools/terminal/Console.h"

#include <algorithm>
#include <charconv>

namespace ingot::cli {

namespace {

using namespace runtime;

constexpr int64_t kMostReplicas = 1024;
constexpr int64_t kMostFound = 128; ///< limit of --find-replicas without --replicas

Error wrong(std::string what, std::string why, std::string fix) {
  return {ExitCode::Usage, "E0176", std::move(what), std::move(why), std::move(fix)};
}

RoutePolicy policyNamed(const std::string &name) {
  return name == "random"        ? RoutePolicy::Random
         : name == "round-robin" ? RoutePolicy::RoundRobin
         : name == "two-choices" ? RoutePolicy::TwoChoices
         : name == "prefix"      ? RoutePolicy::Prefix
         : name == "session"     ? RoutePolicy::Session
                                 : RoutePolicy::Least;
}

/// Parses "120" or "3@120".
bool parseFailure(const std::string &text, ReplicaFailure &failure) {
  const size_t at = text.find('@');
  const char *first = text.data(), *last = first + text.size();
  if (at != text.npos) {
    auto [end, bad] = std::from_chars(first, first + at, failure.replica);
    if (bad != std::errc() || end != first + at || failure.replica < 0)
      return false;
    first += at + 1;
  }
  auto [end, bad] = std::from_chars(first, last, failure.at);
  return bad == std::errc() && end == last && failure.at >= 0 && failure.at <= 1e9;
}

/// Returns the fraction of looked-up prompt tokens that the prefix cache had.
double hitRate(const ScheduleStats &stats) {
  return stats.prefixQueries ? double(stats.prefixHits) / double(stats.prefixQueries) : 0;
}

/// One run, a row of the table.
struct Run {
  std::string router;
  double rate;
  int64_t replicas;
  int64_t promptTokens;
  FleetResult result;

  int64_t all() const { return result.whole.requests + result.failed; }
  double goodShare() const { return all() ? double(result.whole.good) / double(all()) : 0; }
  double hitRate() const { return ingot::cli::hitRate(result.whole.stats); }
  double paidHours() const { return result.paid / 3600; }
  /// Returns the cost of a million tokens if the whole price of the run is divided among `tokens` tokens.
  double costOf(int64_t tokens, double pricePerHour) const {
    return tokens > 0 ? paidHours() * pricePerHour / double(tokens) * 1e6 : 0;
  }
  int64_t allTokens() const { return promptTokens + result.whole.outputTokens; }
};

class Fleets {
public:
  Fleets(const FleetOptions &options, const SimulationSetup &setup) : options(options) {
    base.replica = setup;
    base.router = options.router;
    base.network = options.networkMs / 1e3;
    base.routerRequest = options.routerMs / 1e3;
    base.routerToken = options.routerTokenUs / 1e6;
    base.restartSeconds = options.restartS;
    base.scaling.least = options.leastReplicas;
    base.scaling.target = options.targetRequests;
    base.scaling.startSeconds = options.startS;
    base.scaling.downSeconds = options.downS;
  }

  Result<void> check();
  const Run &run(const FleetLoad &load, const std::string &router, int64_t replicas);
  /// Finds the smallest sufficient number of replicas and adds it as a row of its own. The number is 0 if the maximum
  /// is too small.
  void find(const FleetLoad &load, const std::string &router);

  std::string json() const;
  std::string table() const;

  std::vector<int64_t> counts; ///< the replica counts to simulate

private:
  struct Found {
    std::string router;
    double rate;
    int64_t replicas; ///< 0: even the maximum is too few
  };

  bool does(const FleetLoad &load, const std::string &router, int64_t replicas) {
    return run(load, router, replicas).goodShare() >= options.within;
  }
  std::string json(const Run &run) const;
  std::string header() const;
  std::string row(const Run &run) const;
  std::string details(const Run &run) const;
  bool routerWorks() const { return base.routerRequest > 0 || base.routerToken > 0; }
  bool limited() const { return base.replica.ttftLimit > 0 || base.replica.itlLimit > 0; }

  const FleetOptions &options;
  FleetSetup base;
  std::vector<Run> runs;
  std::vector<Found> found;
};

Result<void> Fleets::check() {
  counts = options.replicas;
  if (counts.empty())
    counts = {options.find ? kMostFound : 1};
  const auto fewest = std::ranges::min(counts);
  if (options.find && counts.size() > 1)
    return wrong("--find-replicas needs exactly one number of replicas",
                 "--replicas is the maximum to try",
                 "give --replicas " + std::to_string(std::ranges::max(counts)));
  if (options.find && !limited())
    return wrong("--find-replicas needs a target",
                 "requests count as good if they meet --ttft-ms and --itl-ms",
                 "give one of them, or both");
  for (const std::string &text : options.failures) {
    ReplicaFailure failure;
    if (!parseFailure(text, failure))
      return wrong("invalid --fail-replica-at: " + text,
                   "expected SECONDS, or REPLICA@SECONDS for a replica other than the first",
                   "give --fail-replica-at 120, or 3@120");
    if (failure.replica >= fewest)
      return wrong("there is no replica " + std::to_string(failure.replica) + " to fail",
                   "there are " + std::to_string(fewest) + ", numbered from 0", "raise --replicas");
    base.failures.push_back(failure);
  }
  if (options.find && std::ranges::any_of(base.failures, [](auto &one) { return one.replica > 0; }))
    return wrong("--find-replicas starts with one replica",
                 "so only the first can fail in all runs", "give --fail-replica-at S");
  if (options.leastReplicas > 0 && options.targetRequests <= 0)
    return wrong("--min-replicas has no effect", "all replicas run all the time",
                 "give --target-requests, too, which starts and stops them");
  if (options.targetRequests > 0 && options.leastReplicas > fewest)
    return wrong("--min-replicas is larger than the maximum",
                 "--replicas is " + std::to_string(fewest), "raise --replicas");
  return {};
}

const Run &Fleets::run(const FleetLoad &load, const std::string &router, int64_t replicas) {
  FleetSetup setup = base;
  setup.replicas = replicas;
  setup.router.policy = policyNamed(router);
  setup.scaling.least = std::min(setup.scaling.least, replicas);
  int64_t prompts = 0;
  for (const SimulatedRequest &one : load.requests)
    prompts += one.promptTokens;
  runs.push_back({router, load.rate, replicas, prompts, simulateFleet(load.requests, setup)});
  return runs.back();
}

void Fleets::find(const FleetLoad &load, const std::string &router) {
  const int64_t most = counts.front();
  int64_t tooFew = 0, enough = 1; // doubles, then bisects between the two
  while (!does(load, router, enough)) {
    tooFew = enough;
    if (enough == most) {
      found.push_back({router, load.rate, 0});
      return;
    }
    enough = std::min(2 * enough, most);
  }
  while (enough - tooFew > 1) {
    const int64_t middle = (tooFew + enough) / 2;
    (does(load, router, middle) ? enough : tooFew) = middle;
  }
  found.push_back({router, load.rate, enough});
}

std::string Fleets::json(const Run &run) const {
  const FleetResult &r = run.result;
  JsonObject json;
  json.field("replicas", run.replicas).field("router", run.router);
  json.raw("rate", run.rate > 0 ? jsonNumber(run.rate) : "null");
  writeSimulation(json, r.whole);
  json.field("ttft_mean_ms", r.whole.ttft.mean * 1e3)
      .raw("tpot_ms", percentilesJson(r.whole.tpot, true))
      .raw("e2e_ms", percentilesJson(r.whole.e2e, true))
      .field("good_share", run.goodShare())
      .field("prompt_tokens", run.promptTokens)
      .field("output_tokens", r.whole.outputTokens)
      .field("cache_hit_rate", run.hitRate())
      .field("failed", r.failed)
      .field("resent", r.resent)
      .field("imbalance", r.imbalance)
      .field("replicas_most", r.mostUp)
      .field("replica_hours", run.paidHours())
      .field("router_cores", r.whole.seconds > 0 ? r.router / r.whole.seconds : 0);
  if (options.pricePerHour > 0)
    json.field("cost_per_million_tokens", run.costOf(run.allTokens(), options.pricePerHour))
        .field("cost_per_million_output_tokens",
               run.costOf(r.whole.outputTokens, options.pricePerHour));
  std::string each;
  for (const ReplicaFigures &one : r.replicas)
    each += (each.empty() ? "" : ",") +
            JsonObject()
                .field("requests", one.requests)
                .field("busy", r.whole.seconds > 0 ? one.busy / r.whole.seconds : 0)
                .field("kv_use", one.poolUse)
                .field("kv_use_most", one.mostPoolUse)
                .field("cache_hit_rate", hitRate(one.stats))
                .field("preemptions", one.stats.preemptions)
                .str();
  return json.raw("each", "[" + each + "]").str();
}

std::string Fleets::json() const {
  std::string text = "[";
  for (const Run &run : runs)
    text += (text.size() > 1 ? ",\n " : "") + json(run);
  text += "]\n";
  if (!options.find)
    return text;
  std::string needed;
  for (const Found &one : found)
    needed += (needed.empty() ? "" : ",") +
              JsonObject()
                  .field("router", one.router)
                  .raw("rate", one.rate > 0 ? jsonNumber(one.rate) : "null")
                  .raw("replicas", one.replicas ? std::to_string(one.replicas) : "null")
                  .str();
  text.pop_back();
  return "{\"needed\": [" + needed + "],\n\"runs\": " + text + "}\n";
}

std::string Fleets::row(const Run &run) const {
  const SimulationResult &w = run.result.whole;
  auto ms = [](const Percentiles &p, const char *pattern) {
    return formatted(pattern, p.mean * 1e3, p.p50 * 1e3, p.p90 * 1e3, p.p99 * 1e3);
  };
  std::string text =
      formatted("| %lld | %s | ", static_cast<long long>(run.replicas), run.router.c_str());
  text += run.rate > 0 ? formatted("%g", run.rate) : "";
  text += formatted(" | %.1f | ", w.tokensPerSecond);
  if (limited())
    text += formatted("%.2f | %.1f%% | ", w.goodput, 100 * run.goodShare());
  text += ms(w.ttft, "%.0f / %.0f / %.0f / %.0f | ") + ms(w.tpot, "%.1f / %.1f / %.1f / %.1f | ") +
          formatted("%.1f / %.1f / %.1f | %.1f%% | %llu | %.2f | %.0f%% |", w.e2e.p50, w.e2e.p90,
                    w.e2e.p99, 100 * run.hitRate(),
                    static_cast<unsigned long long>(w.stats.preemptions), run.result.imbalance,
                    100 * w.poolUse);
  if (!options.failures.empty())
    text += formatted(" %lld / %lld |", static_cast<long long>(run.result.failed),
                      static_cast<long long>(run.result.resent));
  if (options.targetRequests > 0)
    text += formatted(" %.2f |", run.paidHours());
  if (routerWorks())
    text += formatted(" %.2f |", w.seconds > 0 ? run.result.router / w.seconds : 0);
  if (options.pricePerHour > 0)
    text += formatted(" %.3f / %.3f |", run.costOf(run.allTokens(), options.pricePerHour),
                      run.costOf(w.outputTokens, options.pricePerHour));
  return text + "\n";
}

std::string Fleets::header() const {
  std::string text = "| replicas | router | rate | tokens/s |", line = "|---:|---|---:|---:|";
  auto add = [&](bool wanted, const char *names, const char *lines) {
    if (wanted)
      text += std::string(" ") + names, line += lines;
  };
  add(limited(), "goodput/s | good |", "---:|---:|");
  add(true,
      "TTFT mean / p50 / p90 / p99 ms | TPOT mean / p50 / p90 / p99 ms | e2e p50 / p90 / p99 s | "
      "cache hits | preempted | imbalance | KV use |",
      "---:|---:|---:|---:|---:|---:|---:|");
  add(!options.failures.empty(), "failed / sent again |", "---:|");
  add(options.targetRequests > 0, "replica-hours |", "---:|");
  add(routerWorks(), "router cores |", "---:|");
  add(options.pricePerHour > 0, "cost per million tokens, of answers |", "---:|");
  return text + "\n" + line + "\n";
}

/// Formats a run replica by replica.
std::string Fleets::details(const Run &run) const {
  std::string text = formatted("\nEach of the %lld behind %s:\n\n",
                               static_cast<long long>(run.replicas), run.router.c_str()) +
                     "| replica | requests | busy | cache hits | preempted | KV use, most |\n"
                     "|---:|---:|---:|---:|---:|---:|\n";
  size_t number = 0;
  for (const ReplicaFigures &one : run.result.replicas)
    text +=
        formatted("| %zu | %lld | %.0f%% | %.1f%% | %llu | %.0f%%, %.0f%% |\n", number++,
                  static_cast<long long>(one.requests),
                  run.result.whole.seconds > 0 ? 100 * one.busy / run.result.whole.seconds : 0,
                  100 * hitRate(one.stats), static_cast<unsigned long long>(one.stats.preemptions),
                  100 * one.poolUse, 100 * one.mostPoolUse);
  return text;
}

std::string Fleets::table() const {
  std::string text = header();
  for (const Run &run : runs)
    text += row(run);
  if (options.details)
    for (const Run &run : runs)
      text += details(run);
  if (!found.empty())
    text += "\n";
  for (const Found &one : found) {
    text += one.router + (one.rate > 0 ? formatted(", %g a second", one.rate) : "") + ": ";
    text += one.replicas ? std::to_string(one.replicas) + " replica" + (one.replicas > 1 ? "s" : "")
                         : "more than " + std::to_string(counts.front()) + " replicas";
    text += formatted(" for %g%% of the requests within the limits\n", 100 * options.within);
  }
  return text;
}

} // namespace

void FleetOptions::define(CommandLine &command) {
  const char *group = "Many replicas behind a router (docs/many-machines.md)";
  auto add = [&](Option option) {
    own.push_back(option.group(group));
    return option;
  };
  auto number = [&](const char *name, auto &value, const char *help, double least, double most) {
    add(command.option(name, value, help).range(least, most));
  };
  add(command
          .option("--replicas", replicas, "number of replicas; several are compared (default: 1)")
          .separatedBy(',')
          .takesOne()
          .range(int64_t{1}, kMostReplicas));
  add(command
          .option("--router", routers,
                  "random, round-robin, least (fewest unfinished requests), two-choices, prefix, "
                  "session; several are compared (default: least)")
          .separatedBy(',')
          .takesOne()
          .oneOf({"random", "round-robin", "least", "two-choices", "prefix", "session"}));
  add(command
          .option("--router-block", router.blockTokens, "prefix: tokens of a block (default: 16)")
          .range(int64_t{1}, int64_t{64}));
  add(command
          .option("--router-blocks", router.blocks,
                  "prefix: blocks that are remembered for each replica (default: 32768)")
          .range(int64_t{0}, int64_t{1} << 26));
  number("--load-factor", router.loadFactor,
         "prefix: a replica with more load than F x the least + S gets no requests (default: 1.25)",
         0, 1e6);
  number("--load-slack", router.loadSlack, "the S of --load-factor (default: 4)", 0, 1e9);
  add(command.option("--router-seed", router.seed, "seed of random and two-choices (default: 1)"));
  number("--network-ms", networkMs, "latency between router and replica, one way", 0, 1e6);
  number("--router-ms", routerMs, "time of the router per request", 0, 1e6);
  number("--router-token-us", routerTokenUs, "time of the router per token of an answer", 0, 1e9);
  add(command
          .option("--fail-replica-at", failures,
                  "[R@]S: replica R (default: 0) fails after S seconds; repeatable")
          .separatedBy(',')
          .takesOne());
  number("--restart-s", restartS, "time until it is back, with an empty cache (default: 10)", 0,
         1e9);
  number("--target-requests", targetRequests,
         "scale: as many replicas as needed for this many requests each", 0.01, 1e6);
  add(command
          .option("--min-replicas", leastReplicas,
                  "scale: minimum (default: 0), and initial number")
          .range(int64_t{0}, kMostReplicas));
  number("--start-s", startS, "scale: time until a new replica accepts requests (default: 30)", 0,
         1e9);
  number("--down-s", downS, "scale: stop replicas after this time of lower load (default: 60)", 0,
         1e9);
  number("--price-per-hour", pricePerHour,
         "price of a replica, to compute the cost per million tokens", 0, 1e9);
  add(command.flag("--find-replicas", find,
                   "find the fewest replicas that meet --ttft-ms and --itl-ms"));
  number("--within", within,
         "with --find-replicas: the share of requests that must meet them (default: 0.99)", 0, 1);
  add(command.flag("--details", details, "print each replica, too (--json always has them)"));
}

bool FleetOptions::given() const { return std::ranges::any_of(own, &Option::given); }

Result<std::string> simulateFleets(const FleetOptions &options, const std::vector<FleetLoad> &loads,
                                   const SimulationSetup &setup, const std::string &title,
                                   bool json) {
  Fleets fleets(options, setup);
  if (auto checked = fleets.check(); !checked)
    return checked.error();
  for (const FleetLoad &load : loads)
    for (const std::string &router : options.routers)
      if (options.find)
        fleets.find(load, router);
      else
        for (int64_t replicas : fleets.counts)
          fleets.run(load, router, replicas);
  return json ? fleets.json() : title + fleets.table();
}

} // namespace ingot::cli

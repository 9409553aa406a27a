//===- Simulate.cpp - ingot simulate ---------------------------------------===//
//
// Runs the scheduler under a virtual clock (runtime/schedule/simulate) with an engine's own costs,
// or those of a file, and compares policies on the same requests. Nothing is computed: it answers
// in moments what a service would show in hours.
//===----------------------------------------------------------------------===//
#include "runtime/abi/Batch.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Isa.h"
#include "runtime/schedule/simulate/Simulator.h"
#include "runtime/session/EngineCost.h"
#include "tools/ingot/Command.h"
#include "tools/ingot/Console.h"
#include "tools/ingot/EngineOptions.h"
#include "tools/ingot/Files.h"
#include "tools/ingot/Json.h"
#include "tools/ingot/measure/SimulationFiles.h"

#include <algorithm>

namespace ingot::cli {

namespace {

using namespace runtime;

struct SimulateOptions {
  std::string engine, cost, trace;
  std::string isa;
  int threads = 2;
  LimitOptions limits;
  double rate = 0, burst = 8;
  int64_t closed = 0;
  SyntheticLoad load;
  std::vector<std::string> orders{"priority"}, chunks{"balanced", "whole"}, prompts{"shortest"};
  double ttftMs = 0, itlMs = 0, targetTtftMs = 0, targetItlMs = 0;
  uint64_t pageBytes = 0;
  bool bursty = false, json = false;
};

Error wrong(std::string what, std::string why, std::string fix) {
  return {ExitCode::Usage, "E0140", std::move(what), std::move(why), std::move(fix)};
}

/// Costs, pages and limits, before any policy.
Result<SimulationSetup> setupOf(const SimulateOptions &options) {
  SimulationSetup setup;
  setup.rows = options.limits.maxSeqs ? options.limits.maxSeqs : 32;
  setup.limits.maxBatchTokens =
      std::max(setup.rows, options.limits.maxBatchTokens ? options.limits.maxBatchTokens : 512);
  setup.limits.logitsRows = setup.rows;
  setup.limits.prefillChunk = setup.limits.maxBatchTokens;
  setup.context = options.limits.context ? options.limits.context : 4096;
  setup.pageBytes = options.pageBytes;
  if (options.engine.empty()) {
    auto text = readFile(options.cost);
    if (!text)
      return text.error();
    auto table = parseCost(*text, options.cost);
    if (!table)
      return table.error();
    setup.cost = std::move(*table);
  } else {
    auto engine = EngineFile::open(options.engine);
    if (!engine)
      return engine.error();
    const fb::Engine &table = (*engine)->table();
    const fb::Program &program = *table.programs()->Get(0);
    const auto context = static_cast<int64_t>(table.model()->context());
    setup.context = std::min(setup.context, context);
    setup.pageBytes = program.bytes_per_page();
    for (const fb::CodeObject *code : *program.code())
      if (setup.cost.points.empty() || options.isa.empty() ||
          code->target()->string_view() == "cpu:" + options.isa)
        if (auto costs = engineCost(program, code->target()->string_view(), options.threads,
                                    setup.limits.maxBatchTokens);
            !costs.points.empty())
          setup.cost = std::move(costs); // the last is the best level
    if (setup.cost.points.empty())
      return Error{ExitCode::File, "E0141", "the engine has no costs to go by",
                   "no code in it says what a launch takes",
                   "compile it again for cpu, or give measured ones: ingot simulate --cost F"};
  }
  setup.pages = setup.rows * ((setup.context + kPageTokens - 1) / kPageTokens);
  if (options.limits.kvMemory) {
    if (!setup.pageBytes)
      return wrong("--kv-memory needs to know what a page takes", "--cost says times alone",
                   "give --page-bytes as well");
    setup.pages = static_cast<int64_t>(options.limits.kvMemory / setup.pageBytes);
  }
  setup.swapBytes = options.limits.swap.value_or(0);
  setup.closed = options.closed > 0;
  setup.ttftLimit = options.ttftMs / 1e3;
  setup.itlLimit = options.itlMs / 1e3;
  setup.policy.prefixCache = !options.limits.noPrefixCache;
  setup.policy.chunks.targetItl = options.targetItlMs / 1e3;
  setup.policy.chunks.targetTtft = options.targetTtftMs / 1e3;
  return setup;
}

Result<std::vector<SimulatedRequest>> requestsOf(const SimulateOptions &options,
                                                 const SimulationSetup &setup) {
  std::vector<SimulatedRequest> requests;
  if (!options.trace.empty()) {
    auto text = readFile(options.trace);
    if (!text)
      return text.error();
    auto recorded = parseTrace(*text, options.trace);
    if (!recorded)
      return recorded.error();
    requests = std::move(*recorded);
  } else {
    SyntheticLoad load = options.load;
    load.arrivals = options.closed   ? Arrivals::Closed
                    : options.bursty ? Arrivals::Bursty
                                     : Arrivals::Poisson;
    load.rate = options.rate > 0 ? options.rate : 1;
    load.burstiness = options.burst;
    if (options.closed)
      load.users = options.closed;
    load.mostTokens = std::min(setup.context, setup.pages * kPageTokens);
    if (load.longTokens > 0 && load.longEvery == 0)
      load.longEvery = 10;
    if (load.prefixTokens > 0 && load.prefixes == 0)
      load.prefixes = 1;
    requests = synthesize(load);
  }
  const SequenceMemory memory(setup.pages, setup.rows, setup.context, kPageTokens);
  for (size_t i = 0; i < requests.size(); ++i) {
    const SimulatedRequest &one = requests[i];
    if (memory.fits(Scheduler::positionsFor(one.promptTokens, one.outputTokens)))
      continue;
    return wrong("request " + std::to_string(i + 1) + " can never fit",
                 std::to_string(one.promptTokens) + " prompt tokens and " +
                     std::to_string(one.outputTokens) + " new ones; the context has " +
                     std::to_string(setup.context) + " positions, the pool " +
                     std::to_string(setup.pages * kPageTokens),
                 "raise --context, --max-seqs or --kv-memory");
  }
  return requests;
}

std::string percentiles(const Percentiles &p) {
  return JsonObject()
      .field("p50", p.p50 * 1e3)
      .field("p90", p.p90 * 1e3)
      .field("p99", p.p99 * 1e3)
      .field("max", p.most * 1e3)
      .str();
}

/// What a run goes by, as it was named.
struct Policy {
  std::string order, chunks, prompts;
};

std::string json(const Policy &policy, const SimulationResult &r) {
  return JsonObject()
      .field("policy", policy.order)
      .field("chunks", policy.chunks)
      .field("prompts", policy.prompts)
      .field("requests", r.requests)
      .field("seconds", r.seconds)
      .field("requests_per_s", r.requestsPerSecond)
      .field("tokens_per_s", r.tokensPerSecond)
      .field("goodput_per_s", r.goodput)
      .raw("ttft_ms", percentiles(r.ttft))
      .raw("ttft_short_ms", percentiles(r.shortTtft))
      .raw("ttft_long_ms", percentiles(r.longTtft))
      .raw("itl_ms", percentiles(r.itl))
      .field("longest_wait_ms", r.longestWait * 1e3)
      .field("fairness", r.fairness)
      .field("kv_waste", r.waste)
      .field("kv_use", r.poolUse)
      .field("steps", r.stats.steps)
      .field("preemptions", r.stats.preemptions)
      .field("swaps", r.stats.swaps)
      .field("prefix_queries", r.stats.prefixQueries)
      .field("prefix_hits", r.stats.prefixHits)
      .str();
}

std::string header(bool classes) {
  std::string text = "| policy | chunks | tokens/s | goodput/s | TTFT p50 / p99 ms | ITL p50 / p99 "
                     "ms | fairness | longest wait ms | KV waste | KV use | preempted |";
  std::string line = "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|";
  if (classes) {
    text += " prompts | TTFT short p50 / p99 ms | TTFT long p50 / p99 ms |";
    line += "---|---:|---:|";
  }
  return text + "\n" + line + "\n";
}

std::string row(const Policy &policy, const SimulationResult &r, bool classes) {
  std::string text = formatted(
      "| %s | %s | %.1f | %.2f | %.0f / %.0f | %.1f / %.1f | %.2f | %.0f | %.1f%% | %.0f%% | %llu |",
      policy.order.c_str(), policy.chunks.c_str(), r.tokensPerSecond, r.goodput, r.ttft.p50 * 1e3,
      r.ttft.p99 * 1e3, r.itl.p50 * 1e3, r.itl.p99 * 1e3, r.fairness, r.longestWait * 1e3,
      r.waste * 100, r.poolUse * 100, static_cast<unsigned long long>(r.stats.preemptions));
  if (classes)
    text += formatted(" %s | %.0f / %.0f | %.0f / %.0f |", policy.prompts.c_str(),
                      r.shortTtft.p50 * 1e3, r.shortTtft.p99 * 1e3, r.longTtft.p50 * 1e3,
                      r.longTtft.p99 * 1e3);
  return text + "\n";
}

/// What is simulated, in a line above the table.
std::string loadText(const SimulateOptions &options, size_t requests,
                     const SimulationSetup &setup) {
  const SyntheticLoad &load = options.load;
  std::string text = std::to_string(requests) + " requests ";
  if (!options.trace.empty())
    text += "of " + options.trace;
  else
    text += (options.closed ? "of " + std::to_string(options.closed) + " users, one after the other"
                            : formatted("%g", options.rate > 0 ? options.rate : 1) + " a second" +
                                  (options.bursty ? " in bursts" : "")) +
            formatted(", %g prompt tokens and %g new ones in the mean", load.promptTokens,
                      load.outputTokens);
  return text + "; at most " + std::to_string(setup.rows) + " sequences and " +
         std::to_string(setup.limits.maxBatchTokens) + " tokens a step\n\n";
}

Result<int> simulateAll(const SimulateOptions &options) {
  if (options.engine.empty() == options.cost.empty())
    return wrong("there is nothing to take times from, or too much",
                 "the costs of steps come from an engine or from a file",
                 "give ENGINE, or --cost F");
  auto setup = setupOf(options);
  if (!setup)
    return setup.error();
  auto requests = requestsOf(options, *setup);
  if (!requests)
    return requests.error();
  const bool classes =
      options.prompts.size() > 1 || std::ranges::any_of(*requests, &SimulatedRequest::isLong);
  std::vector<Policy> policies;
  for (const std::string &order : options.orders)
    for (const std::string &chunks : options.chunks)
      for (const std::string &prompts : options.prompts)
        policies.push_back({order, chunks, prompts});
  std::string text =
      options.json ? "[" : loadText(options, requests->size(), *setup) + header(classes);
  for (const Policy &policy : policies) {
    setup->policy.order = policy.order == "fcfs"   ? QueueOrder::Arrival
                          : policy.order == "fair" ? QueueOrder::Fair
                                                   : QueueOrder::Priority;
    setup->policy.chunks.rule = policy.chunks == "whole" ? ChunkRule::Whole : ChunkRule::Balanced;
    setup->policy.chunks.order =
        policy.prompts == "arrival" ? PromptOrder::Arrival : PromptOrder::Shortest;
    setup->policy.chunks.loneStep = policy.prompts == "arrival" ? 0 : kLoneStep;
    const SimulationResult result = simulate(*requests, *setup);
    if (options.json)
      text += (text.size() > 1 ? ",\n " : "") + json(policy, result);
    else
      text += row(policy, result, classes);
  }
  emit(text + (options.json ? "]\n" : ""));
  return 0;
}

} // namespace

Action defineSimulate(CommandLine &command) {
  auto options = std::make_shared<SimulateOptions>();
  SimulateOptions &o = *options;
  auto number = [&](const char *name, auto &value, const char *help, double least, double most) {
    command.option(name, value, help).range(least, most);
  };
  command.option("ENGINE", o.engine, "an engine, whose costs the clock goes by");
  command.option("--cost", o.cost,
                 "costs of steps instead: {\"points\": [[tokens, seconds], ...]}");
  command.option("--trace", o.trace,
                 "recorded requests, a JSON object a line (docs/scheduling.md)");
  number("--rate", o.rate, "requests a second (default: 1)", 1e-6, 1e6);
  command.flag("--bursty", o.bursty, "in bursts: gamma intervals");
  number("--burst", o.burst, "variance of bursts, in that of Poisson's (default: 8)", 1, 1e4);
  number("--users", o.closed, "a closed loop of so many users instead of a rate", 1, 100000);
  number("--tenants", o.load.users, "users that requests of an open load belong to, in turns", 1,
         100000);
  number("--requests", o.load.requests, "how many (default: 200)", 1, 1e6);
  number("--prompt-tokens", o.load.promptTokens, "mean length of prompts (default: 512)", 1, 1e6);
  number("--output-tokens", o.load.outputTokens, "mean length of answers (default: 256)", 1, 1e6);
  number("--spread", o.load.spread, "sigma of their logarithms (default: 0.8)", 0, 3);
  number("--prefix-tokens", o.load.prefixTokens, "tokens that all prompts begin with", 0, 1e6);
  number("--long-tokens", o.load.longTokens, "length of a second class of prompts", 1, 1e6);
  number("--long-every", o.load.longEvery, "one of so many requests has such a one (default: 10)",
         1, 1e6);
  command.option("--seed", o.load.seed, "of the requests (default: 1)");
  command.option("--policy", o.orders, "fcfs, priority, fair (default: priority)")
      .separatedBy(',')
      .takesOne()
      .oneOf({"fcfs", "priority", "fair"});
  command.option("--chunks", o.chunks, "balanced, whole (default: both)")
      .separatedBy(',')
      .takesOne()
      .oneOf({"balanced", "whole"});
  command
      .option("--prompts", o.prompts,
              "who gets a step's prompt tokens: shortest; arrival, in steps as long as they "
              "take (default: shortest)")
      .separatedBy(',')
      .takesOne()
      .oneOf({"shortest", "arrival"});
  number("--ttft-ms", o.ttftMs, "goodput counts requests whose first id comes within", 0, 1e9);
  number("--itl-ms", o.itlMs, "and whose mean time between ids is within", 0, 1e9);
  number("--target-ttft-ms", o.targetTtftMs, "target that prompts are cut for", 0, 1e9);
  number("--target-itl-ms", o.targetItlMs, "likewise, between ids", 0, 1e9);
  o.limits.define(command);
  command.option("--page-bytes", o.pageBytes, "of a KV page, with --cost").bytes();
  number("--threads", o.threads, "that the engine's costs are shared by (default: 2)", 1, 4096);
  command.option("--isa", o.isa, "level of the engine's code (default: the best it has)")
      .oneOf({"avx2", "avx512"});
  command.flag("--json", o.json, "machine-readable");
  command.examples(
      "  ingot simulate smollm2.ingot --rate 2 --policy fcfs,fair --tenants 4\n"
      "  ingot simulate smollm2.ingot --users 32 --prompt-tokens 128 --output-tokens 64 "
      "--spread 0\n"
      "  ingot simulate smollm2.ingot --rate 2 --prompt-tokens 30 --output-tokens 20 "
      "--long-tokens 4000 --prompts shortest,arrival\n"
      "  ingot simulate smollm2.ingot --trace day.jsonl --ttft-ms 1000 --itl-ms 100 "
      "--json\n");
  return [options] { return simulateAll(*options); };
}

} // namespace ingot::cli

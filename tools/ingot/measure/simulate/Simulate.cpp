//===- Simulate.cpp - ingot simulate ---------------------------------------===//
//
// Runs the scheduler under a virtual clock (runtime/schedule/simulate), with the costs of an engine or of a file, and
// compares policies on the same requests. No model runs, so results that would take a service hours take moments.
//===----------------------------------------------------------------------===//
#include "runtime/abi/Batch.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Isa.h"
#include "runtime/schedule/simulate/Simulator.h"
#include "runtime/session/EngineCost.h"
#include "tools/files/Files.h"
#include "tools/files/Json.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/engines/EngineOptions.h"
#include "tools/ingot/measure/simulate/SimulateFleet.h"
#include "tools/ingot/measure/simulate/SimulationFiles.h"
#include "tools/ingot/measure/simulate/SimulationJson.h"
#include "tools/terminal/Console.h"

#include <algorithm>

namespace ingot::cli {

namespace {

using namespace runtime;

struct SimulateOptions {
  std::string engine, cost, trace;
  std::string isa;
  int threads = 2;
  LimitOptions limits;
  std::vector<double> rates{1};
  double burst = 8;
  int64_t closed = 0;
  SyntheticLoad load;
  double zipf = 1;
  FleetOptions fleet;
  std::vector<std::string> orders{"priority"}, chunks, prompts{"shortest"};
  double ttftMs = 0, itlMs = 0, targetTtftMs = 0, targetItlMs = 0;
  uint64_t pageBytes = 0;
  bool bursty = false, json = false;
};

Error wrong(std::string what, std::string why, std::string fix) {
  return {ExitCode::Usage, "E0176", std::move(what), std::move(why), std::move(fix)};
}

/// Returns the setup without a policy: costs, pages and limits.
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
          setup.cost = std::move(costs); // the last code object is the best level
    if (setup.cost.points.empty())
      return Error{ExitCode::File, "E0177", "the engine has no cost model",
                   "none of its code has launch costs",
                   "compile it again for cpu, or give measured costs: ingot simulate --cost F"};
  }
  setup.pages = setup.rows * ((setup.context + kPageTokens - 1) / kPageTokens);
  if (options.limits.kvMemory) {
    if (!setup.pageBytes)
      return wrong("--kv-memory needs the size of a page", "--cost has only times",
                   "give --page-bytes, too");
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

Result<std::vector<SimulatedRequest>> requestsOf(const SimulateOptions &options, double rate,
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
    load.rate = rate;
    load.burstiness = options.burst;
    if (options.closed)
      load.users = options.closed;
    load.mostTokens = std::min(setup.context, setup.pages * kPageTokens);
    if (load.longTokens > 0 && load.longEvery == 0)
      load.longEvery = 10;
    if (load.prefixTokens > 0 && load.prefixes == 0)
      load.prefixes = 1;
    if (load.prefixes > 1)
      load.zipf = options.zipf;
    requests = synthesize(load);
  }
  const SequenceMemory memory(setup.pages, setup.rows, setup.context, kPageTokens);
  for (size_t i = 0; i < requests.size(); ++i) {
    const SimulatedRequest &one = requests[i];
    if (memory.fits(Scheduler::positionsFor(one.promptTokens, one.outputTokens)))
      continue;
    return Error{ExitCode::Usage, "E0185", "request " + std::to_string(i + 1) + " can never fit",
                 std::to_string(one.promptTokens) + " prompt tokens and " +
                     std::to_string(one.outputTokens) + " new ones; the context has " +
                     std::to_string(setup.context) + " positions, the pool " +
                     std::to_string(setup.pages * kPageTokens),
                 "raise --context, --max-seqs or --kv-memory"};
  }
  return requests;
}

/// The policy of a run, by the names that the user gave.
struct Policy {
  std::string order, chunks, prompts;
};

std::string json(const Policy &policy, const SimulationResult &r) {
  JsonObject json;
  json.field("policy", policy.order)
      .field("chunks", policy.chunks)
      .field("prompts", policy.prompts);
  writeSimulation(json, r);
  return json.str();
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

std::string ratesText(const std::vector<double> &rates) {
  std::string text;
  for (double rate : rates)
    text += (text.empty() ? "" : ", ") + formatted("%g", rate);
  return text;
}

/// Returns the line above the table, which describes the load.
std::string loadText(const SimulateOptions &options, size_t requests,
                     const SimulationSetup &setup) {
  const SyntheticLoad &load = options.load;
  std::string text = std::to_string(requests) + " requests ";
  if (!options.trace.empty())
    text += "of " + options.trace;
  else
    text += (options.closed
                 ? "of " + std::to_string(options.closed) + " users, one after the other"
                 : ratesText(options.rates) + " a second" + (options.bursty ? " in bursts" : "")) +
            formatted(", %g prompt tokens and %g new ones in the mean", load.promptTokens,
                      load.outputTokens);
  if (options.trace.empty() && load.turns > 1)
    text += formatted(", conversations of %g turns, %g s apart", load.turns, load.think);
  if (options.trace.empty() && load.prefixes > 1)
    text += formatted(", after %lld system prompts of %lld (Zipf %g)",
                      static_cast<long long>(load.prefixes),
                      static_cast<long long>(load.prefixTokens), options.zipf);
  return text + "; at most " + std::to_string(setup.rows) + " sequences and " +
         std::to_string(setup.limits.maxBatchTokens) + " tokens a step\n\n";
}

/// Checks that the options agree with each other and that the load fits into the context.
Result<void> checkLoad(const SimulateOptions &options) {
  if (options.engine.empty() == options.cost.empty())
    return wrong("exactly one of ENGINE and --cost must be given",
                 "the costs of steps come from an engine or from a file",
                 "give ENGINE, or --cost F");
  if (options.closed && options.load.turns > 1)
    return wrong("--users and --turns cannot be combined",
                 "users of a closed loop send requests immediately, turns follow after a delay",
                 "give --rate, for all turns together, instead of --users");
  if (options.load.prefixes > 0 && options.load.prefixTokens == 0)
    return wrong("--prefixes has no length", "--prefix-tokens sets the length of system prompts",
                 "give --prefix-tokens 512");
  return {};
}

/// Sets the policy of a row in `setup`.
void set(const Policy &policy, SimulationSetup &setup) {
  setup.policy.order = policy.order == "fcfs"   ? QueueOrder::Arrival
                       : policy.order == "fair" ? QueueOrder::Fair
                                                : QueueOrder::Priority;
  setup.policy.chunks.rule = policy.chunks == "whole" ? ChunkRule::Whole : ChunkRule::Balanced;
  setup.policy.chunks.order =
      policy.prompts == "arrival" ? PromptOrder::Arrival : PromptOrder::Shortest;
  setup.policy.chunks.loneStep = policy.prompts == "arrival" ? 0 : kLoneStep;
}

/// Simulates one service, with a row for each policy.
std::string simulateOne(const SimulateOptions &options,
                        const std::vector<SimulatedRequest> &requests, SimulationSetup &setup) {
  std::vector<std::string> chunks = options.chunks;
  if (chunks.empty())
    chunks = {"balanced", "whole"};
  const bool classes =
      options.prompts.size() > 1 || std::ranges::any_of(requests, &SimulatedRequest::isLong);
  std::string text =
      options.json ? "[" : loadText(options, requests.size(), setup) + header(classes);
  for (const std::string &order : options.orders)
    for (const std::string &rule : chunks)
      for (const std::string &prompts : options.prompts) {
        const Policy policy{order, rule, prompts};
        set(policy, setup);
        const SimulationResult result = simulate(requests, setup);
        if (options.json)
          text += (text.size() > 1 ? ",\n " : "") + json(policy, result);
        else
          text += row(policy, result, classes);
      }
  return text + (options.json ? "]\n" : "");
}

/// Simulates many replicas, with one policy.
Result<std::string> simulateMany(const SimulateOptions &options,
                                 const std::vector<FleetLoad> &loads, SimulationSetup &setup) {
  if (options.orders.size() > 1 || options.chunks.size() > 1 || options.prompts.size() > 1)
    return wrong("replicas share one policy", "rows compare routers and numbers of replicas",
                 "give --policy, --chunks and --prompts one value each");
  set({options.orders.front(), options.chunks.empty() ? "balanced" : options.chunks.front(),
       options.prompts.front()},
      setup);
  return simulateFleets(options.fleet, loads, setup,
                        loadText(options, loads.front().requests.size(), setup), options.json);
}

Result<int> simulateAll(const SimulateOptions &options) {
  if (auto checked = checkLoad(options); !checked)
    return checked.error();
  auto setup = setupOf(options);
  if (!setup)
    return setup.error();
  std::vector<FleetLoad> loads;
  bool follows = false;
  const bool timed = options.trace.empty() && !options.closed; // arrivals follow --rate
  for (double rate : timed ? options.rates : std::vector<double>{0}) {
    auto requests = requestsOf(options, rate, *setup);
    if (!requests)
      return requests.error();
    for (const SimulatedRequest &one : *requests)
      follows |= one.follows >= 0;
    loads.push_back({rate, std::move(*requests)});
  }
  if (!options.fleet.given() && loads.size() == 1 && !follows) {
    emit(simulateOne(options, loads.front().requests, *setup));
    return 0;
  }
  auto text = simulateMany(options, loads, *setup);
  if (!text)
    return text.error();
  emit(*text);
  return 0;
}

} // namespace

Action defineSimulate(CommandLine &command) {
  auto options = std::make_shared<SimulateOptions>();
  SimulateOptions &o = *options;
  auto number = [&](const char *name, auto &value, const char *help, double least, double most) {
    command.option(name, value, help).range(least, most);
  };
  command.option("ENGINE", o.engine, "an engine, whose costs drive the clock");
  command.option("--cost", o.cost,
                 "use these costs of steps instead: {\"points\": [[tokens, seconds], ...]}");
  command.option("--trace", o.trace,
                 "recorded requests, one JSON object per line (docs/scheduling.md)");
  command.option("--rate", o.rates, "requests per second; several are compared (default: 1)")
      .separatedBy(',')
      .takesOne()
      .range(1e-6, 1e6);
  command.flag("--bursty", o.bursty, "in bursts: gamma intervals");
  number("--burst", o.burst, "variance of bursts, relative to Poisson's (default: 8)", 1, 1e4);
  number("--users", o.closed, "a closed loop of this many users instead of a rate", 1, 100000);
  number("--tenants", o.load.users,
         "number of users to which requests of an open load belong, in turn", 1, 100000);
  number("--requests", o.load.requests, "number of requests (default: 200)", 1, 1e6);
  number("--prompt-tokens", o.load.promptTokens, "mean length of prompts (default: 512)", 1, 1e6);
  number("--output-tokens", o.load.outputTokens, "mean length of answers (default: 256)", 1, 1e6);
  number("--spread", o.load.spread, "sigma of their logarithms (default: 0.8)", 0, 3);
  number("--prefix-tokens", o.load.prefixTokens, "tokens that all prompts begin with", 0, 1e6);
  number("--prefixes", o.load.prefixes, "number of system prompts of that length (default: 1)", 1,
         1e6);
  number("--zipf", o.zipf, "the k-th is chosen in proportion to k^-Z (default: 1)", 0, 10);
  number("--turns", o.load.turns,
         "mean turns of a conversation, each with all before it as its prompt (default: 1)", 1,
         1e4);
  number("--think-s", o.load.think, "mean seconds from an answer to the next turn (default: 10)", 0,
         1e6);
  number("--long-tokens", o.load.longTokens, "length of a second class of prompts", 1, 1e6);
  number("--long-every", o.load.longEvery,
         "one of this many requests has such a prompt (default: 10)", 1, 1e6);
  command.option("--seed", o.load.seed, "seed of the requests (default: 1)");
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
              "which prompts get a step's tokens: shortest first, or by arrival, in steps of any "
              "length (default: shortest)")
      .separatedBy(',')
      .takesOne()
      .oneOf({"shortest", "arrival"});
  number("--ttft-ms", o.ttftMs, "goodput counts requests whose first id comes within", 0, 1e9);
  number("--itl-ms", o.itlMs, "and whose mean time between ids is within", 0, 1e9);
  number("--target-ttft-ms", o.targetTtftMs, "target for which prompts are chunked", 0, 1e9);
  number("--target-itl-ms", o.targetItlMs, "likewise, for the time between ids", 0, 1e9);
  o.fleet.define(command);
  o.limits.define(command);
  command.option("--page-bytes", o.pageBytes, "bytes of a KV page, with --cost").bytes();
  number("--threads", o.threads, "threads that share the engine's costs (default: 2)", 1, 4096);
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
      "--json\n"
      "  ingot simulate smollm2.ingot --replicas 8 --router least,prefix --rate 20 --turns 5 "
      "--prefixes 20 --prefix-tokens 512\n"
      "  ingot simulate smollm2.ingot --find-replicas --rate 10,100 --router prefix --ttft-ms 500 "
      "--price-per-hour 0.2\n");
  return [options] { return simulateAll(*options); };
}

} // namespace ingot::cli

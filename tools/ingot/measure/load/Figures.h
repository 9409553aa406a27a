//===- Figures.h - What a load run measured --------------------------------===//
//
// Names and definitions are those of vLLM's `bench serve`, so that results can be put side by side:
//
//   ttft   from sending a request to its first text
//   tpot   (end - first text) / (tokens - 1), of requests with two tokens or more
//   itl    between two pieces of text
//   e2el   from sending to the last byte
//
// Percentiles are linear between ranks and deviations are of the population, as NumPy has them.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot::load {

enum class End : uint8_t { Completed, Failed, Left };

/// Of one request; seconds, from the start of the run.
struct Outcome {
  End end = End::Failed;
  double start = 0, firstText = 0, finish = 0; ///< firstText 0: there was none
  std::vector<float> gaps;                     ///< between pieces of text
  int64_t inputTokens = 0, outputTokens = 0;
  std::string error;
};

/// Milliseconds that a good request keeps to; "itl" is of its longest gap.
struct Goodput {
  std::optional<double> ttft, tpot, itl, e2el;
  bool any() const { return ttft || tpot || itl || e2el; }
};
/// "ttft:500,tpot:50". E0586 (exit 2).
Result<Goodput> parseGoodput(const std::string &text);

struct Spread {
  double mean = 0, median = 0, deviation = 0;
  std::vector<double> percentiles; ///< as asked
};
Spread spread(std::vector<double> values, const std::vector<double> &percentiles);

struct Figures {
  double duration = 0;
  int64_t completed = 0, failed = 0, left = 0;
  int64_t inputTokens = 0, outputTokens = 0;
  std::optional<double> requestGoodput;
  double requestThroughput = 0, outputThroughput = 0, totalThroughput = 0;
  double peakOutput = 0;        ///< tokens in the best second
  int64_t peakRequests = 0;     ///< at once
  Spread ttft, tpot, itl, e2el; ///< ms
};
Figures figures(const std::vector<Outcome> &outcomes, double duration, const Goodput &goodput,
                const std::vector<double> &percentiles);

/// What the run was, for its result file.
struct RunFacts {
  std::string date, backend, model;
  int64_t requests = 0;
  double rate = 0; ///< per second; 0: no limit
  double burstiness = 1;
  std::optional<int64_t> users;
  std::vector<double> percentiles;
};

/// vLLM's result object; with `outcomes`, each request's figures too.
std::string resultJson(const Figures &figures, const RunFacts &facts,
                       const std::vector<Outcome> *outcomes);
std::string resultTable(const Figures &figures, const RunFacts &facts);

} // namespace ingot::load

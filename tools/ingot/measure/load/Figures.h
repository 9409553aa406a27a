//===- Figures.h - Results of a load run -----------------------------------===//
//
// Names and definitions are the same as in vLLM's `bench serve`, so results can be compared directly:
//
//   ttft   from sending a request to its first text
//   tpot   (end - first text) / (tokens - 1), for requests with two tokens or more
//   itl    between two consecutive pieces of text
//   e2el   from sending to the last byte
//
// As in NumPy, percentiles are interpolated linearly between ranks, and standard deviations are population standard
// deviations.
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

/// The outcome of one request. Times are in seconds from the start of the run.
struct Outcome {
  End end = End::Failed;
  double start = 0, firstText = 0, finish = 0; ///< firstText 0: no text came
  std::vector<float> gaps;                     ///< between pieces of text
  int64_t inputTokens = 0, outputTokens = 0;
  std::string error;
};

/// The limits of a good request, in milliseconds; `itl` limits its longest gap between pieces of
/// text.
struct Goodput {
  std::optional<double> ttft, tpot, itl, e2el;
  bool any() const { return ttft || tpot || itl || e2el; }
};
/// Parses "ttft:500,tpot:50". Errors: E0586, exit 2.
Result<Goodput> parseGoodput(const std::string &text);

struct Spread {
  double mean = 0, median = 0, deviation = 0;
  std::vector<double> percentiles; ///< those requested
};
Spread spread(std::vector<double> values, const std::vector<double> &percentiles);

struct Figures {
  double duration = 0;
  int64_t completed = 0, failed = 0, left = 0;
  int64_t inputTokens = 0, outputTokens = 0;
  std::optional<double> requestGoodput;
  double requestThroughput = 0, outputThroughput = 0, totalThroughput = 0;
  double peakOutput = 0;        ///< tokens in the best second
  int64_t peakRequests = 0;     ///< highest number at once
  Spread ttft, tpot, itl, e2el; ///< ms
};
Figures figures(const std::vector<Outcome> &outcomes, double duration, const Goodput &goodput,
                const std::vector<double> &percentiles);

/// The facts about a run, for its result file.
struct RunFacts {
  std::string date, backend, model;
  int64_t requests = 0;
  double rate = 0; ///< per second; 0: no limit
  double burstiness = 1;
  std::optional<int64_t> users;
  std::vector<double> percentiles;
};

/// Returns vLLM's result object; with `outcomes`, includes each request's figures.
std::string resultJson(const Figures &figures, const RunFacts &facts,
                       const std::vector<Outcome> *outcomes);
std::string resultTable(const Figures &figures, const RunFacts &facts);

} // namespace ingot::load

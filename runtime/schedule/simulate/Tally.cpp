//===- Tally.cpp - See Tally.h ---------------------------------------------===//
#include "runtime/schedule/simulate/Tally.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ingot::runtime {

namespace {

/// Returns percentiles by selection instead of sorting, because there is a time for nearly every token.
Percentiles percentilesOf(std::vector<double> values) {
  if (values.empty())
    return {};
  Percentiles out;
  out.mean = std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
  auto from = values.begin();
  auto at = [&](double share) {
    const auto rank =
        values.begin() + long(std::min(values.size() - 1, size_t(share * double(values.size()))));
    std::nth_element(from, rank, values.end());
    from = rank; // the next rank is not before this one
    return *rank;
  };
  out.p50 = at(0.5);
  out.p90 = at(0.9);
  out.p99 = at(0.99);
  out.most = *std::max_element(from, values.end());
  return out;
}

} // namespace

void Tally::start(RequestTimes &own, double now) {
  own.started = now;
  sums.longestWait = std::max(sums.longestWait, now - own.arrival);
}

void Tally::id(const SimulatedRequest &request, RequestTimes &own, double now) {
  if (own.first < 0) {
    own.first = now;
    (request.isLong ? longTtft : shortTtft).push_back(now - own.arrival);
  } else {
    itl.push_back(now - own.last);
  }
  own.last = now;
  ++own.ids;
}

void Tally::end(const RequestTimes &own) {
  ++sums.requests;
  sums.outputTokens += own.ids;
  const double mean = own.ids > 1 ? (own.last - own.first) / double(own.ids - 1) : 0;
  if (own.ids > 1)
    tpot.push_back(mean);
  e2e.push_back(own.last - own.arrival);
  sums.good += (ttftLimit <= 0 || own.first - own.arrival <= ttftLimit) &&
               (itlLimit <= 0 || mean <= itlLimit);
}

SimulationResult Tally::result(double seconds) {
  SimulationResult result = sums;
  result.seconds = seconds;
  result.goodput = double(result.good);
  if (seconds > 0) {
    result.requestsPerSecond = double(result.requests) / seconds;
    result.tokensPerSecond = double(result.outputTokens) / seconds;
    result.goodput /= seconds;
  }
  result.shortTtft = percentilesOf(shortTtft);
  result.longTtft = percentilesOf(longTtft);
  shortTtft.insert(shortTtft.end(), longTtft.begin(), longTtft.end());
  result.ttft = percentilesOf(std::move(shortTtft));
  result.itl = percentilesOf(std::move(itl));
  result.tpot = percentilesOf(std::move(tpot));
  result.e2e = percentilesOf(std::move(e2e));
  double sum = 0, squares = 0;
  for (auto [user, tokens] : servedOf)
    sum += tokens, squares += tokens * tokens;
  if (squares > 0)
    result.fairness = sum * sum / (double(servedOf.size()) * squares);
  return result;
}

} // namespace ingot::runtime

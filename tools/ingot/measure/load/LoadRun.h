//===- LoadRun.h - Clients of a server, many at once, in one thread --------===//
//
//   closed loop   --users N: each asks again when its answer is whole
//   open loop     --rate R: requests come when they come (gamma-distributed gaps; burstiness 1 is a
//                 Poisson process); with users too, no more than those at once, the rest wait here
//
// One thread, so that it can share a machine with what it measures.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/http/client/Client.h"
#include "tools/ingot/measure/load/Figures.h"
#include "tools/ingot/measure/load/Prompts.h"

#include <functional>

namespace ingot::load {

struct Target {
  http::ServerUrl server;
  Route route = Route::Completions;
  std::string model, apiKey;
  std::string more; ///< members of every body: ",\"temperature\":0"
};

struct LoadOptions {
  std::optional<int64_t> users;
  double rate = 0; ///< requests a second; 0: as the users allow
  double burstiness = 1;
  int64_t requests = 100;
  double duration = 0;   ///< seconds after which none begins; 0: no end but `requests`
  double disconnect = 0; ///< share of clients that leave at a random time
  uint64_t seed = 0;
  std::function<void(int64_t ended)> progress; ///< after each
};

struct RunResult {
  std::vector<Outcome> outcomes; ///< in the order of their starts
  double duration = 0;           ///< from the first start to the last end
};

/// The whole body of a request.
std::string wholeBody(const Target &target, const Prompt &prompt);

RunResult runLoad(const Target &target, Prompts prompts, const LoadOptions &options);

/// One request, before a run: its outcome and status.
struct Probe {
  int status = 0;
  std::string body; ///< of an answer other than 200
  Outcome outcome;
};
Probe probe(const Target &target, const Prompt &prompt);

} // namespace ingot::load

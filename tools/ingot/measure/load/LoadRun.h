//===- LoadRun.h - Many concurrent clients of a server ---------------------===//
//
//   closed loop   --users N: each user sends the next request when its answer is complete
//   open loop     --rate R: requests arrive with gamma-distributed gaps (burstiness 1 is a Poisson
//                 process); with --users too, at most N are in flight and the rest wait here
//
// All clients run in one thread, so the load can share a machine with the server it measures.
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
  std::string more; ///< extra members of every body: ",\"temperature\":0"
};

struct LoadOptions {
  std::optional<int64_t> users;
  double rate = 0; ///< requests per second; 0: as fast as the users allow
  double burstiness = 1;
  int64_t requests = 100;
  double duration = 0;   ///< seconds after which no request starts; 0: only `requests` ends the run
  double disconnect = 0; ///< fraction of clients that leave at a random time
  uint64_t seed = 0;
  std::function<void(int64_t ended)> progress; ///< called after each request
};

struct RunResult {
  std::vector<Outcome> outcomes; ///< in the order of their starts
  double duration = 0;           ///< from the first start to the last end
};

/// Returns the complete body of a request.
std::string wholeBody(const Target &target, const Prompt &prompt);

RunResult runLoad(const Target &target, Prompts prompts, const LoadOptions &options);

/// The status and outcome of one request before a run.
struct Probe {
  int status = 0;
  std::string body; ///< body of an answer with a status other than 200
  Outcome outcome;
};
Probe probe(const Target &target, const Prompt &prompt);

} // namespace ingot::load

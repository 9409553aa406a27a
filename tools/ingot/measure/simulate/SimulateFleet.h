//===- SimulateFleet.h - ingot simulate with a router and replicas ---------===//
//
// The part of `ingot simulate` for many machines: its options, the runs that they request, and the
// report. docs/many-machines.md has the reasons.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/simulate/Fleet.h"
#include "tools/options/CommandLine.h"

#include <functional>
#include <string>
#include <vector>

namespace ingot::cli {

struct FleetOptions {
  std::vector<int64_t> replicas;
  std::vector<std::string> routers{"least"};
  std::vector<std::string> failures; ///< "[R@]S"
  runtime::RouterOptions router;
  double networkMs = 0, routerMs = 0, routerTokenUs = 0;
  double restartS = 10;
  int64_t leastReplicas = 0;
  double targetRequests = 0, startS = 30, downS = 60;
  double pricePerHour = 0, within = 0.99;
  bool find = false, details = false;

  void define(CommandLine &command);
  /// Returns whether any of these options was given.
  bool given() const;

private:
  std::vector<Option> own;
};

/// One load and its label in the rows.
struct FleetLoad {
  double rate = 0; ///< requests per second; 0: recorded, or a closed loop
  std::vector<runtime::SimulatedRequest> requests;
};

/// Returns a table, or JSON, of all runs that the options request. `title` is the line above the
/// table. Errors: E0176.
Result<std::string> simulateFleets(const FleetOptions &options, const std::vector<FleetLoad> &loads,
                                   const runtime::SimulationSetup &setup, const std::string &title,
                                   bool json);

} // namespace ingot::cli

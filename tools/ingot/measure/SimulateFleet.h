//===- SimulateFleet.h - ingot simulate with a router and replicas ---------===//
//
// What `ingot simulate` says of many machines: its options, the runs that they ask for, and how
// those are told. docs/many-machines.md has the reasons.
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
  /// Whether any of them was given.
  bool given() const;

private:
  std::vector<Option> own;
};

/// One load, with what its rows say of it.
struct FleetLoad {
  double rate = 0; ///< 0: recorded, or a closed loop
  std::vector<runtime::SimulatedRequest> requests;
};

/// A table, or JSON, of all runs that the options ask for. `title`: a line above the table. E0140.
Result<std::string> simulateFleets(const FleetOptions &options, const std::vector<FleetLoad> &loads,
                                   const runtime::SimulationSetup &setup, const std::string &title,
                                   bool json);

} // namespace ingot::cli

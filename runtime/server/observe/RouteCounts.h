//===- RouteCounts.h - http_requests_total ---------------------------------===//
//
// Counts requests by route and status. Both labels have fixed sets of values, so clients cannot
// create series. An unknown path or status counts as "other".
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/observe/RequestRecord.h"

#include <map>
#include <mutex>

namespace ingot::observe {

class RouteCounts final : public RequestObserver {
public:
  void ended(const std::shared_ptr<const RequestRecord> &record) override;
  /// Returns the metric family in the exposition format.
  std::string exposition() const;

private:
  mutable std::mutex mutex;
  std::map<std::pair<std::string, int>, uint64_t> counts; ///< status 0: other
};

} // namespace ingot::observe

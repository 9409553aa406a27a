//===- RouteCounts.h - http_requests_total ---------------------------------===//
//
// Requests by route and status. Both labels are of fixed sets (a client's path or a status that is
// none of them counts as "other"), so that no client can make series.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/observe/RequestRecord.h"

#include <map>
#include <mutex>

namespace ingot::observe {

class RouteCounts final : public RequestObserver {
public:
  void ended(const std::shared_ptr<const RequestRecord> &record) override;
  /// The family in the exposition format.
  std::string exposition() const;

private:
  mutable std::mutex mutex;
  std::map<std::pair<std::string, int>, uint64_t> counts; ///< status 0: other
};

} // namespace ingot::observe

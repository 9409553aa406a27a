//===- RouteCounts.cpp - See RouteCounts.h ----------------------------------===//
#include "runtime/server/observe/RouteCounts.h"

#include <algorithm>

namespace ingot::observe {

namespace {
constexpr int kStatuses[] = {200, 204, 400, 401, 403, 404, 405, 408, 413,
                             415, 422, 429, 431, 499, 500, 501, 503};
} // namespace

void RouteCounts::ended(const std::shared_ptr<const RequestRecord> &record) {
  const bool known = std::ranges::find(kStatuses, record->status) != std::end(kStatuses);
  std::lock_guard lock(mutex);
  ++counts[{record->route, known ? record->status : 0}];
}

std::string RouteCounts::exposition() const {
  std::string out = "# HELP http_requests_total Requests answered, by route and status; 499: the "
                    "client left first.\n# TYPE http_requests_total counter\n";
  std::lock_guard lock(mutex);
  for (const auto &[key, count] : counts)
    out += "http_requests_total{route=\"" + key.first + "\",status=\"" +
           (key.second ? std::to_string(key.second) : "other") + "\"} " + std::to_string(count) +
           "\n";
  return out;
}

} // namespace ingot::observe

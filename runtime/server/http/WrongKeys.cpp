//===- WrongKeys.cpp - See WrongKeys.h --------------------------------------===//
#include "runtime/server/http/WrongKeys.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

namespace ingot::http {

/// Returns the address, or the first 64 bits of an IPv6 address.
static std::string networkOf(const std::string &client) {
  boost::system::error_code ec;
  const auto address = boost::asio::ip::make_address(client, ec);
  if (ec || !address.is_v6())
    return client;
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  return boost::asio::ip::make_address_v6(bytes).to_string();
}

std::chrono::milliseconds WrongKeys::note(const std::string &client, Clock::time_point now) {
  if (first.count() <= 0)
    return {};
  const std::string network = networkOf(client);
  if (seen.size() >= kMostAddresses && !seen.contains(network)) {
    std::erase_if(seen, [&](const auto &one) { return now - one.second.last > kForgottenAfter; });
    if (seen.size() >= kMostAddresses)
      seen.erase(seen.begin());
  }
  Entry &entry = seen[network];
  if (now - entry.last > kForgottenAfter)
    entry.count = 0;
  entry.last = now;
  entry.count = std::min(entry.count + 1, kFree + 32);
  std::chrono::milliseconds wait{};
  for (int i = kFree; i < entry.count && wait < most; ++i)
    wait = std::min(most, wait.count() ? 2 * wait : first);
  return wait;
}

} // namespace ingot::http

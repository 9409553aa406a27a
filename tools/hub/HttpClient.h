//===- HttpClient.h - One request, one answer -----------------------------===//
//
// libcurl behind a narrow door. Why libcurl: TLS with the system's roots, proxies, HTTP/2 and odd
// servers are its daily work, and every Debian has it. Why it is opened at run time (dlopen of
// libcurl.so.4): it brings some thirty libraries, and `ingot` needs none of them to run an engine.
//
// Redirects are not followed here: whoever does decides at each hop whom it tells the token
// (HubClient.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace ingot::hub {

/// What came back.
struct HttpAnswer {
  int status = 0;                             ///< 0: no answer began
  std::map<std::string, std::string> headers; ///< names in lower case, of the last answer alone
  std::string body;                           ///< unless a sink took it; at most kMostBody bytes
  std::string location;                       ///< where a redirect leads, absolute; or empty
  std::string failure;                        ///< why the transfer ended early; empty: it is whole
  bool refused = false;                       ///< the sink ended it
  bool unreachable = false;                   ///< no connection came about

  /// Empty if there is none.
  std::string header(const std::string &name) const;
  bool succeeded() const { return status >= 200 && status < 300 && failure.empty(); }
};

constexpr size_t kMostBody = size_t(64) << 20;

struct HttpRequest {
  std::string url;
  bool head = false;
  std::string token;                           ///< sent as it is to this very host; empty: none
  uint64_t from = 0;                           ///< first byte that is wanted
  std::optional<uint64_t> upTo = std::nullopt; ///< last byte, counted too; none: to the end
  /// Takes the bytes of a successful body as they come; status and headers are there. False ends the transfer.
  std::function<bool(const HttpAnswer &, std::span<const char>)> sink = nullptr;
};

/// One connection at a time, which is kept and used again. Not for several threads at once.
class HttpClient {
public:
  /// E0161 (exit 70): there is no libcurl.
  static Result<std::unique_ptr<HttpClient>> open();
  ~HttpClient();

  HttpAnswer send(const HttpRequest &request);

private:
  struct Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace ingot::hub

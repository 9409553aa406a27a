//===- HttpClient.h - HTTP requests through libcurl -----------------------===//
//
// This is a narrow interface to libcurl. Why libcurl: it handles TLS with the system's roots, proxies,
// HTTP/2 and odd servers, and every Debian has it. Why it is opened at run time (dlopen of libcurl.so.4):
// it pulls in some thirty libraries, and `ingot` needs none of them to run an engine.
//
// This client does not follow redirects. HubClient does, and decides at each hop whether that host gets
// the token.
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

/// The response to a request.
struct HttpAnswer {
  int status = 0;                             ///< 0: no answer began
  std::map<std::string, std::string> headers; ///< names in lower case; only of the last answer
  std::string body;                           ///< unless a sink took it; at most kMostBody bytes
  std::string location;                       ///< where a redirect leads, absolute; or empty
  std::string failure;                        ///< why the transfer ended early; empty: complete
  bool refused = false;                       ///< the sink ended it
  bool unreachable = false;                   ///< no connection could be made

  /// Returns the header's value; empty if there is none.
  std::string header(const std::string &name) const;
  bool succeeded() const { return status >= 200 && status < 300 && failure.empty(); }
};

constexpr size_t kMostBody = size_t(64) << 20;

struct HttpRequest {
  std::string url;
  bool head = false;
  std::string token;                           ///< sent unchanged to the host of `url`; empty: none
  uint64_t from = 0;                           ///< first byte that is wanted
  std::optional<uint64_t> upTo = std::nullopt; ///< last byte, inclusive; none: to the end
  /// Takes the bytes of a successful body as they arrive; status and headers are already set. Returning false
  /// ends the transfer.
  std::function<bool(const HttpAnswer &, std::span<const char>)> sink = nullptr;
};

/// Has one connection at a time, which is kept and reused. Not thread-safe.
class HttpClient {
public:
  /// Errors: E0161 (exit 70): libcurl is not installed.
  static Result<std::unique_ptr<HttpClient>> open();
  ~HttpClient();

  HttpAnswer send(const HttpRequest &request);

private:
  struct Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace ingot::hub

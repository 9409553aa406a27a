//===- HttpClient.h - HTTP requests through libcurl -----------------------===//
//
// This is a narrow interface to libcurl. We use libcurl because it handles TLS with the system's root certificates,
// proxies, HTTP/2 and odd servers, and because every Debian has it. We open it at run time (dlopen of libcurl.so.4)
// because it pulls in some thirty libraries, and `ingot` needs none of them to run an engine.
//
// This client does not follow redirects. HubClient follows them, and decides at each hop whether to send the token
// to that host.
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
  std::map<std::string, std::string> headers; ///< of the last response; names in lower case
  std::string body;                           ///< unless a sink took it; at most kMostBody bytes
  std::string location;                       ///< absolute URL that a redirect leads to; or empty
  std::string failure;                        ///< why the transfer ended early; empty: complete
  bool refused = false;                       ///< the sink ended the transfer
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

/// A client with one connection at a time, which is kept open and reused. Not thread-safe.
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

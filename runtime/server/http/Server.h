//===- Server.h - HTTP/1.1 server ------------------------------------------===//
//
// This is the transport only. It handles bytes, limits and clients, but no models, and no JSON except the JSON of
// errors.
//
//   client -- TCP/TLS --> connection --(HttpRequest, Responder)--> handler --> … any thread …
//          <-- bytes  --             <--  send / write / finish  --------
//
// One thread (Boost.Asio) runs all connections. The handler is called on it and must return soon:
// it passes work to other threads and keeps the responder. A responder may be used from any thread
// at any time, even after the client has gone; its functions then do nothing, and `onGone` has been
// called.
//
// Protocol errors of clients are answered here, in OpenAI's error format, before the handler sees
// them: 400 (malformed, smuggling), 401 (key), 403 (Host header), 408 (too slow), 413 (body), 431
// (header), 503 (draining, too many connections).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// A request that the transport refused and that never reached the handler.
struct RefusedRequest {
  int status;
  std::string_view code, id, client; ///< valid during the call
};

struct ServerOptions {
  std::string host = "127.0.0.1"; ///< an address of this machine; "::" or "0.0.0.0": all addresses
  uint16_t port = 8000;           ///< 0: any free port (see Server::port)
  /// Keys that clients may send as `Authorization: Bearer KEY`, as `x-api-key: KEY`, or as the
  /// password in a browser (`Basic`). Empty: no key is needed, which only loopback hosts allow
  /// (E0537).
  std::vector<std::string> apiKeys = {};
  std::vector<std::string> openPaths = {}; ///< paths served without a key ("/health")
  /// Origins of pages that may use the server from a browser. "localhost": http and https of every loopback name and
  /// port; "*": all. Empty: CORS is off.
  std::vector<std::string> allowedOrigins = {};
  /// Host headers that are served in addition to loopback addresses, `localhost` and `host`; the
  /// check protects against DNS rebinding. A server that listens on other addresses than loopback and
  /// has a key accepts any Host header.
  std::vector<std::string> allowedHosts = {};
  std::string tlsCertificate = {}, tlsKey = {}; ///< PEM files; set both or none
  size_t maxConnections = 1024;
  size_t maxRefusing = 1024; ///< excess connections that get a 503; any further ones are closed
  size_t maxHeaderBytes = 16 << 10;
  size_t maxBodyBytes = 8 << 20;
  std::chrono::milliseconds headerTimeout{10'000}, bodyTimeout{30'000}, sendTimeout{30'000},
      idleTimeout{75'000};
  /// First and longest delay of the answers to repeated wrong keys (WrongKeys.h).
  std::chrono::milliseconds wrongKeyDelay{50}, longestKeyDelay{2000};
  size_t maxBacklogBytes = 4 << 20; ///< bytes of one response that the client has not yet accepted
  std::chrono::milliseconds pingInterval{15'000}; ///< for streams, while nothing else is sent
  /// Receives refused requests, for logs and counts. It runs on the server's thread and must return
  /// at once.
  std::function<void(const RefusedRequest &)> onRefusal = {};
};

struct HttpRequest {
  std::string method; ///< "GET", "POST"
  std::string path;   ///< decoded, without the query; begins with '/'
  std::string query;  ///< as sent, without '?'
  Headers headers;    ///< names in lower case
  std::string body;
  std::string id;     ///< the client's X-Request-Id if isCleanId() accepts it, otherwise a new id
  std::string client; ///< address, without port
  int apiKey = -1;    ///< number of the key (KeyRing), initially its index; -1: none was needed
  /// Returns the first header of this name (lower case), or "".
  std::string_view header(std::string_view name) const;
};

/// One response. Call either send(), or begin(), then write() any number of times, then finish().
/// Thread-safe. A responder that is destroyed without an answer answers 500.
class Responder {
public:
  virtual ~Responder() = default;
  /// Sends a whole response. X-Request-Id, Content-Length and the CORS headers are added.
  virtual void send(int status, std::string_view contentType, std::string body,
                    Headers headers = {}) = 0;
  /// Begins a streamed response (chunked; for HTTP/1.0 clients it ends with the connection). For
  /// "text/event-stream", comment pings keep it alive.
  virtual void begin(int status, std::string_view contentType, Headers headers = {}) = 0;
  /// Queues bytes; never blocks. A client that leaves more than maxBacklogBytes unread, or accepts
  /// nothing for sendTimeout, is dropped.
  virtual void write(std::string bytes) = 0;
  virtual void finish() = 0;
  /// Sets a callback, which replaces an earlier one. It runs once, on the server's thread, if the
  /// client leaves or is dropped before the response has been sent. If the client has left already, it
  /// runs at once.
  virtual void onGone(std::function<void()> callback) = 0;
  virtual bool gone() const = 0;
};

using Handler = std::function<void(HttpRequest, std::shared_ptr<Responder>)>;

/// Event counts since the server started.
struct ServerStats {
  uint64_t accepted = 0, refused = 0, requests = 0, badRequests = 0, droppedSlow = 0;
  size_t connections = 0; ///< now
};

class Server {
public:
  /// Binds and listens. The server's own thread serves once start() is called. Errors: E0550
  /// (address or port), E0537 (key needed), E0551 (bad key), E0552 (TLS files), all exit 2.
  static Result<std::unique_ptr<Server>> create(const ServerOptions &options, Handler handler);
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;
  virtual void start() = 0;
  /// Runs `work` on the server's thread.
  virtual void post(std::function<void()> work) = 0;
  /// Replaces the keys and reloads the TLS files. Requests need one of the new keys from now on,
  /// and new connections use the new certificate. On E0551 or E0552 nothing changes.
  virtual Result<void> renew(const std::vector<std::string> &apiKeys) = 0;
  /// From now on, refuses all requests except those for openPaths with this status and body, on old
  /// and new connections. Each refused request is the last of its connection. Responses under way
  /// continue, and idle connections close. The server keeps listening, so that clients get the
  /// refusal and /health can report the state.
  virtual void drain(int status, std::string body) = 0;
  /// Waits until no response is under way. Returns false if that takes longer than `atMost`.
  virtual bool waitUntilIdle(std::chrono::milliseconds atMost) = 0;
  /// Drops all connections and ends the thread.
  virtual void stop() = 0;
  virtual ServerStats stats() const = 0;
};

/// Returns {"error":{"message":…,"type":…,"param":…,"code":…}}. An empty param or code becomes null.
std::string errorBody(std::string_view message, std::string_view type, std::string_view param,
                      std::string_view code);

} // namespace ingot::http

//===- Server.h - HTTP/1.1 in front of a service ---------------------------===//
//
// The transport, and nothing else: it knows bytes, limits and clients, no JSON, no models.
//
//   client -- TCP/TLS --> connection --(Request, Responder)--> handler --> … any thread …
//          <-- bytes  --             <--  send / write / finish  --------
//
// One thread runs all connections (Boost.Asio); the handler is called on it and must return soon:
// it hands work on and keeps the responder. A responder may be used from any thread, at any time,
// also after the client has gone: then calls do nothing, and `onGone` has been called.
//
// What a client can do wrong is answered here, in OpenAI's error shape, before the handler sees it:
// 400 (malformed, smuggling), 401 (key), 403 (Host header), 408 (too slow), 413 (body), 431 (header),
// 503 (draining, too many connections).
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

/// A request that was answered here and never reached the handler.
struct RefusedRequest {
  int status;
  std::string_view code, id, client; ///< valid during the call
};

struct ServerOptions {
  std::string host = "127.0.0.1"; ///< an address of this machine; "::" and "0.0.0.0" for all
  uint16_t port = 8000;           ///< 0: any free one (Server::port says which)
  /// Whoever sends `Authorization: Bearer KEY` or `x-api-key: KEY` with one of them may come in, or
  /// gives it to a browser as password (`Basic`); empty: everybody. A host other than a loopback one needs a key (E0551).
  std::vector<std::string> apiKeys = {};
  std::vector<std::string> openPaths = {}; ///< answered without a key ("/health")
  /// Values of Origin that browsers of other sites may use; "localhost": http and https of every loopback
  /// name and port; "*" for all. Empty: CORS is off.
  std::vector<std::string> allowedOrigins = {};
  /// Host headers that are served besides addresses of loopback, `localhost` and `host` (against DNS
  /// rebinding). A server that listens elsewhere and has a key takes any.
  std::vector<std::string> allowedHosts = {};
  std::string tlsCertificate = {}, tlsKey = {}; ///< PEM files; both or none
  size_t maxConnections = 1024;
  size_t maxRefusing = 1024; ///< more that are told at once that there are too many; others are cut
  size_t maxHeaderBytes = 16 << 10;
  size_t maxBodyBytes = 8 << 20;
  std::chrono::milliseconds headerTimeout{10'000}, bodyTimeout{30'000}, sendTimeout{30'000},
      idleTimeout{75'000};
  /// How long the answer to a wrong key waits after some of them (WrongKeys.h), and at most.
  std::chrono::milliseconds wrongKeyDelay{50}, longestKeyDelay{2000};
  size_t maxBacklogBytes = 4 << 20;               ///< of one response, not yet taken by the client
  std::chrono::milliseconds pingInterval{15'000}; ///< of streams, while nothing else is sent
  /// For logs and counts; on the server's thread, must return at once.
  std::function<void(const RefusedRequest &)> onRefusal = {};
};

struct Request {
  std::string method; ///< "GET", "POST"
  std::string path;   ///< decoded, without the query; begins with '/'
  std::string query;  ///< as sent, without '?'
  Headers headers;    ///< names in lower case
  std::string body;
  std::string id;     ///< X-Request-Id as the client gave it (if it is clean), or a new one
  std::string client; ///< address, without port
  int apiKey = -1;    ///< number of the key (KeyRing), at first its index; -1: none was needed
  /// The first header of that name (lower case), or "".
  std::string_view header(std::string_view name) const;
};

/// One response. Exactly one of: send(); or begin(), any number of write(), finish(). Thread-safe.
/// A responder that is destroyed without an answer answers 500.
class Responder {
public:
  virtual ~Responder() = default;
  /// A whole response. X-Request-Id, Content-Length and the CORS headers are added.
  virtual void send(int status, std::string_view contentType, std::string body,
                    Headers headers = {}) = 0;
  /// A streamed one (chunked; closes instead where the client speaks HTTP/1.0). For
  /// "text/event-stream", comment pings keep it alive.
  virtual void begin(int status, std::string_view contentType, Headers headers = {}) = 0;
  /// Queues bytes; never blocks. A client that leaves more than maxBacklogBytes unread, or takes
  /// nothing for sendTimeout, is dropped.
  virtual void write(std::string bytes) = 0;
  virtual void finish() = 0;
  /// Called once, on the server's thread, if the client goes (or is dropped) before the response is
  /// out; at once if it has gone already. Replaces an earlier one.
  virtual void onGone(std::function<void()> callback) = 0;
  virtual bool gone() const = 0;
};

using Handler = std::function<void(Request, std::shared_ptr<Responder>)>;

/// Counts since the start.
struct ServerStats {
  uint64_t accepted = 0, refused = 0, requests = 0, badRequests = 0, droppedSlow = 0;
  size_t connections = 0; ///< now
};

class Server {
public:
  /// Binds and listens; serves from its own thread when start() is called. Errors: E0550 (address
  /// or port), E0551 (key needed), E0552 (TLS files), all exit 2.
  static Result<std::unique_ptr<Server>> create(const ServerOptions &options, Handler handler);
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;
  virtual void start() = 0;
  /// Runs `work` on the server's thread.
  virtual void post(std::function<void()> work) = 0;
  /// Keys and certificates anew: requests need one of these keys from now on, and new connections get
  /// what the TLS files hold now. E0551, E0552: nothing has changed.
  virtual Result<void> renew(const std::vector<std::string> &apiKeys) = 0;
  /// Requests from now on, on old connections and new ones, are answered by `refusal` (status, body) but
  /// for openPaths, and each is its connection's last; responses under way go on. Idle connections
  /// close. (It goes on listening, so that clients are told, and /health can say it.)
  virtual void drain(int status, std::string body) = 0;
  /// True once no response is under way, false if that took longer.
  virtual bool waitUntilIdle(std::chrono::milliseconds atMost) = 0;
  /// Drops what is left and ends the thread.
  virtual void stop() = 0;
  virtual ServerStats stats() const = 0;
};

/// {"error":{"message":…,"type":…,"param":…,"code":…}}; an empty param or code is null.
std::string errorBody(std::string_view message, std::string_view type, std::string_view param,
                      std::string_view code);

} // namespace ingot::http

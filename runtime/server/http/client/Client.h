//===- Client.h - An asynchronous HTTP client ------------------------------===//
//
// A client that measures a server, or sends data to one, must not be the bottleneck. It uses one
// thread (Boost.Asio), keeps and reuses connections, and passes on bodies as they arrive.
//
//   ClientLoop loop(url);
//   loop.send({.method = "POST", .path = "/v1/completions", .body = …}, {.onData = …, .onEnd = …});
//   loop.after(10ms, [&] { … });
//   loop.run();                 // until no request or timer is left
//
// The client uses HTTP/1.1 without TLS. A response may be chunked, of known length, or end with its
// connection. Except for stop(), all functions must be called on the thread that calls run().
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

struct ServerUrl {
  std::string host;
  uint16_t port = 80;
  std::string path; ///< prefix of every request's path, without a final '/'; may be empty
};

/// Parses "http://host:port/path", with or without "http://". Fails with E0582 (exit 2) if the URL is
/// malformed or is https.
Result<ServerUrl> parseUrl(std::string_view text);

struct ClientRequest {
  std::string method = "GET";
  std::string path; ///< begins with '/'
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::chrono::milliseconds timeout{600'000}; ///< for the whole request
};

/// Callbacks, called in this order. onEnd is called exactly once, last.
struct ClientEvents {
  std::function<void(int status)> onHead = {};
  std::function<void(std::string_view)> onData = {}; ///< a piece of the body, as it arrives
  /// `failure`: empty if the response is complete, otherwise one line with the reason.
  std::function<void(const std::string &failure)> onEnd = {};
};

class ClientLoop {
public:
  using Ticket = uint64_t;

  explicit ClientLoop(ServerUrl server);
  ~ClientLoop();
  ClientLoop(const ClientLoop &) = delete;
  ClientLoop &operator=(const ClientLoop &) = delete;

  Ticket send(ClientRequest request, ClientEvents events);
  /// Closes the request's connection, as a client that leaves does. No callbacks of the request
  /// follow. Does nothing if the request has ended.
  void abandon(Ticket ticket);
  void after(std::chrono::nanoseconds delay, std::function<void()> work);
  void run();
  /// Makes run() return soon. May be called from any thread.
  void stop();

  /// A whole response, for callers that send a single request. ask() runs the loop.
  struct Answer {
    int status = 0;
    std::string body, failure;
  };
  Answer ask(ClientRequest request);

private:
  class Core;
  std::unique_ptr<Core> core;
};

} // namespace ingot::http

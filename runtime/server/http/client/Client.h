//===- Client.h - Many HTTP requests from one thread -----------------------===//
//
// What measures a server, or sends it something, must not be what is slow: one thread (Boost.Asio),
// connections that are kept and taken again, bodies handed on as they arrive.
//
//   ClientLoop loop(url);
//   loop.send({.method = "POST", .path = "/v1/completions", .body = …}, {.onData = …, .onEnd = …});
//   loop.after(10ms, [&] { … });
//   loop.run();                 // until nothing is under way and no timer is left
//
// HTTP/1.1 without TLS; a response may be chunked, of known length, or end with its connection.
// Everything here is used from the thread that calls run(), but for stop().
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
  std::string path; ///< in front of every request's, without a '/' at its end; may be empty
};

/// "http://host:port/path", with or without "http://". E0582 (exit 2) if it cannot be read, or is
/// https.
Result<ServerUrl> parseUrl(std::string_view text);

struct ClientRequest {
  std::string method = "GET";
  std::string path; ///< begins with '/'
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::chrono::milliseconds timeout{600'000}; ///< for all of it
};

/// Called in this order, onEnd once and last.
struct ClientEvents {
  std::function<void(int status)> onHead = {};
  std::function<void(std::string_view)> onData = {}; ///< of the body, as it comes
  /// `failure`: empty if the response came whole; else one line.
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
  /// Closes the request's connection as a client that leaves does; none of its events follows.
  /// Nothing if it has ended.
  void abandon(Ticket ticket);
  void after(std::chrono::nanoseconds delay, std::function<void()> work);
  void run();
  /// run() returns soon; from any thread.
  void stop();

  /// A whole response, for what needs but one. Runs the loop.
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

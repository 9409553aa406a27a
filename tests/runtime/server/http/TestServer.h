//===- TestServer.h - A server with a handler for tests -------------------===//
//
//   /echo             the request as it arrived, line by line, then the body
//   /health           "ok"
//   /hold             keeps the responder until release() or until its client leaves
//   /tokens?N         a stream of N numbers, one per step of an engine thread: "data: i\n\n"
//   /flood            writes 64 KiB a step until its client has left
//   /begin            begins an event stream and stays silent
//   /half             begins an event stream with half an event
//   /never, /throw    drops the responder; throws
//   /break            begins a stream and drops the responder
//===----------------------------------------------------------------------===//
#pragma once

#include "RawClient.h"
#include "runtime/server/http/Server.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <vector>

namespace ingot::http {

/// Polls the condition. Returns true as soon as it holds, false after the limit.
template <typename Condition>
bool soon(Condition condition, std::chrono::milliseconds limit = kPatience) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class TestServer {
public:
  explicit TestServer(ServerOptions options = {}, std::chrono::microseconds step = {});
  ~TestServer();

  uint16_t port() const { return server->port(); }
  RawClient client(int receiveBuffer = 0) const { return RawClient(port(), receiveBuffer); }
  /// Returns whether a well-behaved client gets its answer.
  bool serves(std::string_view lines = "") const;

  size_t held();
  /// Answers all requests that /hold keeps.
  void release(const std::string &body = "released");
  /// Returns the number of unfinished streams of the engine thread.
  size_t streams();

  std::atomic<int> gone{0}; ///< calls of onGone
  std::unique_ptr<Server> server;

private:
  struct Stream {
    std::shared_ptr<Responder> responder;
    std::shared_ptr<std::atomic<bool>> left;
    int next = 0, end = 0;
    bool flood = false;
  };
  void handle(HttpRequest request, std::shared_ptr<Responder> responder);
  void runEngine();

  std::chrono::microseconds step;
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<std::shared_ptr<Responder>> kept;
  std::vector<Stream> active;
  bool ending = false;
  std::thread engine;
};

/// Returns the body of /tokens?n.
std::string tokens(int n);

} // namespace ingot::http

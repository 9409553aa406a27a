//===- Connection.h - A client connection -----------------------------------===//
//
//   Handshake ─▶ Waiting ─▶ Header ─▶ Body ─▶ Answering ─▶ (Waiting | Flushing ─▶ Lingering) ─▶
//   Closed
//
// After several wrong keys, a connection is Delayed between Header and the refusal (WrongKeys.h).
//
// Requests are processed one at a time. Pipelined input stays in `input` until the previous response
// has been sent. A read is always in flight, even during a response, because it detects a client
// that leaves. Only while `input` is full is there no read; tick() then polls for such a client.
//
// Flushing and Lingering close a connection without a TCP reset, because a reset could destroy the
// last response for a client that is still sending. After Flushing nothing more is sent, and input
// is discarded for a while.
//
// Everything here runs on the server's thread. Each entry point is guarded: an exception (out of
// memory) costs this connection, not the server.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/http/Exchange.h"
#include "runtime/server/http/RequestReader.h"
#include "runtime/server/http/ResponseText.h"
#include "runtime/server/http/Wire.h"

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace ingot::http {

struct ServerCore;
using Clock = std::chrono::steady_clock;

enum class Phase {
  Handshake,
  Waiting,
  Header,
  Body,
  Delayed, ///< a refusal that is sent later
  Answering,
  Flushing,
  Lingering,
  Closed
};

class Connection : public std::enable_shared_from_this<Connection> {
public:
  Connection(ServerCore &core, std::unique_ptr<Wire> wire, std::string client);

  void start();
  /// Answers the first request with the refusal, whatever it is, and closes the connection.
  void startRefused(const Refusal &refusal);
  /// Sends the pending output of the exchange.
  void pump();
  /// Checks deadlines. It is called every ServerCore::tickPeriod.
  void tick(Clock::time_point now);
  /// Closes the connection now if no request is under way, otherwise after the response.
  void drain();
  /// `reset`: discards unsent output.
  void close(bool reset = false);

  // Completions that the wire calls.
  void onHandshake(ErrorCode ec);
  void onRead(ErrorCode ec, size_t bytes);
  void onWritten(ErrorCode ec, size_t bytes);

  bool overLimit = false; ///< maxConnections is exceeded, so this connection is only refused
  /// The position in ServerCore::evictable while this connection may be closed for a new one.
  std::optional<std::list<Connection *>::iterator> evictablePlace;
  Clock::time_point phaseBegan{};

private:
  template <typename Work> void guarded(Work work);
  void setPhase(Phase next, std::chrono::milliseconds limit);
  void process();
  bool processOnce();
  void readMore();
  void judge();
  std::optional<Refusal> whyRefused(const RequestHead &head);
  bool answerPreflight(const RequestHead &head);
  void refuse(const Refusal &refusal, bool mayContinue);
  void refuseLater(const Refusal &refusal, bool mayContinue, std::chrono::milliseconds wait);
  void holdBody(size_t bytes);
  void dispatch();

  void append(std::string bytes);
  void appendData(std::string_view data);
  void flush();
  void took(size_t bytes);
  void onDrained();
  void endResponse();
  void lost();
  bool hasLeft();
  void pingIfSilent(Clock::time_point now);

  ServerCore &core;
  std::unique_ptr<Wire> wire;
  const std::string client;
  Phase phase = Phase::Waiting;
  Clock::time_point deadline = Clock::time_point::max();
  std::unique_ptr<boost::asio::steady_timer> delay; ///< timer of a delayed refusal

  // Input.
  RequestReader reader;
  std::string input; ///< read but not yet parsed
  std::unique_ptr<char[]> landing;
  size_t landingSize = 0;
  bool reading = false, paused = false, ended = false;
  size_t heldBody = 0; ///< this request's share of ServerCore::bodyBytes
  int apiKey = -1;

  // Output.
  std::shared_ptr<Exchange> exchange;
  ResponseFrame frame;
  bool bodyless = false;     ///< only the head of this response is sent
  bool events = false;       ///< the response is server-sent events, kept alive by pings
  bool betweenEvents = true; ///< the last event is complete, so a ping may follow
  bool responseDone = false; ///< the whole response is in `output`
  bool breaksOff = false;    ///< the response ends early
  std::deque<std::string> output;
  size_t outputOffset = 0;  ///< bytes of output.front() already sent
  size_t unsentPayload = 0; ///< unsent part of Exchange's backlog
  bool writing = false;
  Clock::time_point sendDeadline = Clock::time_point::max();
  Clock::time_point lastSent{};
};

} // namespace ingot::http

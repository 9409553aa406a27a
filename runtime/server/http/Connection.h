//===- Connection.h - One client --------------------------------------------===//
//
//   Handshake ─▶ Waiting ─▶ Header ─▶ Body ─▶ Answering ─▶ (Waiting | Flushing ─▶ Lingering) ─▶
//   Closed
//
// and Delayed between Header and the refusal of one wrong key among many (WrongKeys.h).
//
// Requests are taken one after the other: what a client sends ahead stays in `input` until the
// response before it is out. A read is under way all the time, also while a response is, because
// that is how a client that leaves is noticed; only when `input` is full does polling take its
// place.
//
// Flushing and Lingering end a connection without the reset that would take the last response from
// a client that is still sending: nothing more is sent, and what comes is thrown away for a while.
//
// Everything here runs on the server's thread. Each entry is guarded: an exception (there is no
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
  Delayed, ///< a refusal that is told later
  Answering,
  Flushing,
  Lingering,
  Closed
};

class Connection : public std::enable_shared_from_this<Connection> {
public:
  Connection(ServerCore &core, std::unique_ptr<Wire> wire, std::string client);

  void start();
  /// Answers with a refusal whatever comes, and ends.
  void startRefused(const Refusal &refusal);
  /// The exchange has something to send.
  void pump();
  /// Looks at deadlines; called every ServerCore::tickPeriod.
  void tick(Clock::time_point now);
  /// Closes if no request is under way; else the connection ends with the response.
  void drain();
  /// `reset`: what is still to be sent is thrown away.
  void close(bool reset = false);

  // From the wire.
  void onHandshake(ErrorCode ec);
  void onRead(ErrorCode ec, size_t bytes);
  void onWritten(ErrorCode ec, size_t bytes);

  bool overLimit = false; ///< one more than there may be; it is only being told so
  /// The place in ServerCore::evictable while this may be closed for a newcomer.
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
  std::unique_ptr<boost::asio::steady_timer> delay; ///< of a refusal

  // Coming in.
  RequestReader reader;
  std::string input; ///< read and not yet taken
  std::unique_ptr<char[]> landing;
  size_t landingSize = 0;
  bool reading = false, paused = false, ended = false;
  size_t heldBody = 0; ///< of ServerCore::bodyBytes
  int apiKey = -1;

  // Going out.
  std::shared_ptr<Exchange> exchange;
  ResponseFrame frame;
  bool bodyless = false;     ///< of this response nothing but the head is sent
  bool events = false;       ///< server-sent events, kept alive by pings
  bool betweenEvents = true; ///< the last one is whole: a ping may follow
  bool responseDone = false; ///< all of it is in `output`
  bool breaksOff = false;    ///< it ends in the middle
  std::deque<std::string> output;
  size_t outputOffset = 0;  ///< of output.front(), already sent
  size_t unsentPayload = 0; ///< of Exchange's backlog
  bool writing = false;
  Clock::time_point sendDeadline = Clock::time_point::max();
  Clock::time_point lastSent{};
};

} // namespace ingot::http

//===- Exchange.h - One response, between the handler's threads and ours --===//
//
// The engine's thread calls write() for each of its streams after every step; it must not pay for
// sockets, and the server's thread must not be woken thirty times for one step:
//
//   engine's thread    write() ─▶ Exchange::pending ─▶ Mailbox (once, until it is emptied)
//                                                          │ wakes (once, until it is emptied)
//   server's thread                                        ▼
//                      Connection::pump() ◀── all that is pending, as one chunk
//
// Where all cores are busy, a thread that is woken takes the core of the one that woke it: without
// more it would be woken by each of thirty writes, and send between them. So bytes of a stream are
// fetched kBurst after the first; a response's beginning and a whole one are fetched at once.
//
// No Boost here: the handles are used from everywhere.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/http/Server.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ingot::http {

class Connection;
class Exchange;

/// Longer than a step's writes to all its streams, far shorter than a step.
inline constexpr std::chrono::microseconds kBurst{200};

/// Exchanges with something to send. Outlives the server: responders may.
class Mailbox {
public:
  /// `post` runs work on the server's thread; it may be called from any.
  explicit Mailbox(std::function<void(std::function<void()>)> post) : post(std::move(post)) {}

  void put(std::shared_ptr<Exchange> exchange, bool urgent);
  std::vector<std::shared_ptr<Exchange>> takeAll();
  /// On the server's thread: at once. Elsewhere: later, there; after close(): here.
  void runOnServer(std::function<void()> work);
  void setThread(std::thread::id id) { thread = id; }
  /// What fetches the mail, at once and in a moment; called on the server's thread.
  void setReader(std::function<void()> now, std::function<void()> soon) {
    onMail = std::move(now);
    onStreamMail = std::move(soon);
  }
  /// The server ends: nothing is taken any more.
  void close();

private:
  std::mutex mutex;
  std::vector<std::shared_ptr<Exchange>> ready;
  bool woken = false, wokenSoon = false; ///< takeAll() is on its way
  bool closed = false;
  std::function<void(std::function<void()>)> post;
  std::function<void()> onMail, onStreamMail;
  std::atomic<std::thread::id> thread{};
};

/// What a handler has added since the last look.
struct Outgoing {
  bool head = false;  ///< status, contentType and headers are new
  bool whole = false; ///< send(): data is the body
  int status = 0;
  std::string contentType;
  Headers headers;
  std::string data;
  bool finished = false;
  bool overflowed = false; ///< more than maxBacklogBytes were left unread
  bool broken = false;     ///< the responder ended in the middle of a stream
};

class Exchange : public std::enable_shared_from_this<Exchange> {
public:
  Exchange(std::shared_ptr<Mailbox> mailbox, size_t maxBacklogBytes)
      : mailbox(std::move(mailbox)), maxBacklogBytes(maxBacklogBytes) {}

  // Any thread.
  void send(int status, std::string_view contentType, std::string body, Headers headers);
  void begin(int status, std::string_view contentType, Headers headers);
  void write(std::string bytes);
  void finish();
  void abandon();
  void onGone(std::function<void()> callback);
  bool gone() const { return left.load(std::memory_order_acquire); }

  // The server's thread.
  Outgoing take();
  /// Bytes of write() that the client's socket took.
  void taken(size_t bytes) { backlog.fetch_sub(bytes, std::memory_order_relaxed); }
  void clientLeft();
  void responseIsOut();
  Connection *connection = nullptr; ///< null when that is closed, or done with this

private:
  enum class Stage { Nothing, Streaming, Finished };
  void notify(std::unique_lock<std::mutex> lock, bool urgent = true);

  std::shared_ptr<Mailbox> mailbox;
  const size_t maxBacklogBytes;
  std::atomic<size_t> backlog{0};
  std::atomic<bool> left{false};

  std::mutex mutex; ///< guards what follows
  Stage stage = Stage::Nothing;
  bool inMailbox = false;
  bool over = false; ///< out, or gone
  Outgoing pending;
  std::function<void()> goneCallback;
};

/// The handle that a handler holds; without an answer it answers 500.
class ExchangeResponder final : public Responder {
public:
  explicit ExchangeResponder(std::shared_ptr<Exchange> exchange) : exchange(std::move(exchange)) {}
  ~ExchangeResponder() override { exchange->abandon(); }
  ExchangeResponder(const ExchangeResponder &) = delete;
  ExchangeResponder &operator=(const ExchangeResponder &) = delete;

  void send(int status, std::string_view contentType, std::string body, Headers headers) override {
    exchange->send(status, contentType, std::move(body), std::move(headers));
  }
  void begin(int status, std::string_view contentType, Headers headers) override {
    exchange->begin(status, contentType, std::move(headers));
  }
  void write(std::string bytes) override { exchange->write(std::move(bytes)); }
  void finish() override { exchange->finish(); }
  void onGone(std::function<void()> callback) override { exchange->onGone(std::move(callback)); }
  bool gone() const override { return exchange->gone(); }

private:
  std::shared_ptr<Exchange> exchange;
};

} // namespace ingot::http

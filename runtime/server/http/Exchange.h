//===- Exchange.h - Passes a response from handlers to the server's thread ===//
//
// The engine's thread calls write() for each of its streams after every step. It must not spend
// time on sockets, and the server's thread must not wake thirty times per step:
//
//   engine's thread    write() ─▶ Exchange::pending ─▶ Mailbox (once, until it is emptied)
//                                                          │ wakes (once, until it is emptied)
//   server's thread                                        ▼
//                      Connection::pump() ◀── all pending bytes, as one chunk
//
// If all cores are busy, a woken thread takes the core of the thread that woke it. Each of thirty
// writes would then wake the server's thread, which would send before the next write. Bytes of a
// stream are therefore fetched kBurst after the first write. The beginning of a response and a whole
// response are fetched at once.
//
// This header does not include Boost, because many sources include it for the handles.
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

/// Longer than the writes of one step to all streams, and far shorter than a step.
inline constexpr std::chrono::microseconds kBurst{200};

/// The exchanges with something to send. May outlive the server, because responders may.
class Mailbox {
public:
  /// `post` runs work on the server's thread. It may be called from any thread.
  explicit Mailbox(std::function<void(std::function<void()>)> post) : post(std::move(post)) {}

  void put(std::shared_ptr<Exchange> exchange, bool urgent);
  std::vector<std::shared_ptr<Exchange>> takeAll();
  /// Runs work on the server's thread: at once if this is the server's thread, otherwise later. After
  /// close(), the work runs on the calling thread.
  void runOnServer(std::function<void()> work);
  void setThread(std::thread::id id) { thread = id; }
  /// Sets the functions that empty the mailbox at once and after kBurst. They run on the server's
  /// thread.
  void setReader(std::function<void()> now, std::function<void()> soon) {
    onMail = std::move(now);
    onStreamMail = std::move(soon);
  }
  /// Stops delivery, because the server is shutting down.
  void close();

private:
  std::mutex mutex;
  std::vector<std::shared_ptr<Exchange>> ready;
  bool woken = false, wokenSoon = false; ///< a call of onMail or onStreamMail is scheduled
  bool closed = false;
  std::function<void(std::function<void()>)> post;
  std::function<void()> onMail, onStreamMail;
  std::atomic<std::thread::id> thread{};
};

/// Output that a handler has added since the last take().
struct Outgoing {
  bool head = false;  ///< status, contentType and headers are new
  bool whole = false; ///< send(): data is the body
  int status = 0;
  std::string contentType;
  Headers headers;
  std::string data;
  bool finished = false;
  bool overflowed = false; ///< the client left more than maxBacklogBytes unread
  bool broken = false;     ///< the responder was destroyed in the middle of a stream
};

class Exchange : public std::enable_shared_from_this<Exchange> {
public:
  Exchange(std::shared_ptr<Mailbox> mailbox, size_t maxBacklogBytes)
      : mailbox(std::move(mailbox)), maxBacklogBytes(maxBacklogBytes) {}

  // These functions may be called from any thread.
  void send(int status, std::string_view contentType, std::string body, Headers headers);
  void begin(int status, std::string_view contentType, Headers headers);
  void write(std::string bytes);
  void finish();
  void abandon();
  void onGone(std::function<void()> callback);
  bool gone() const { return left.load(std::memory_order_acquire); }

  // These functions are called on the server's thread only.
  Outgoing take();
  /// Reports bytes of write() that the client's socket accepted.
  void taken(size_t bytes) { backlog.fetch_sub(bytes, std::memory_order_relaxed); }
  void clientLeft();
  void responseIsOut();
  Connection *connection = nullptr; ///< null once the connection is closed or the exchange is over

private:
  enum class Stage { Nothing, Streaming, Finished };
  void notify(std::unique_lock<std::mutex> lock, bool urgent = true);

  std::shared_ptr<Mailbox> mailbox;
  const size_t maxBacklogBytes;
  std::atomic<size_t> backlog{0};
  std::atomic<bool> left{false};

  std::mutex mutex; ///< guards the fields below
  Stage stage = Stage::Nothing;
  bool inMailbox = false;
  bool over = false; ///< the response is out, or the client is gone
  Outgoing pending;
  std::function<void()> goneCallback;
};

/// The handle that a handler holds. If it is destroyed without an answer, the client gets a 500.
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

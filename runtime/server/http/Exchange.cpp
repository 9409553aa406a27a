//===- Exchange.cpp - Passing a response between two threads --------------===//
#include "runtime/server/http/Exchange.h"

#include <utility>

namespace ingot::http {

void Mailbox::put(std::shared_ptr<Exchange> exchange, bool urgent) {
  std::lock_guard lock(mutex);
  if (closed)
    return;
  ready.push_back(std::move(exchange));
  // The work is posted under the lock, so that close() cannot run in between.
  if (urgent && !std::exchange(woken, true))
    post(onMail);
  else if (!urgent && !woken && !std::exchange(wokenSoon, true))
    post(onStreamMail);
}

std::vector<std::shared_ptr<Exchange>> Mailbox::takeAll() {
  std::lock_guard lock(mutex);
  woken = wokenSoon = false;
  return std::exchange(ready, {});
}

void Mailbox::runOnServer(std::function<void()> work) {
  if (std::this_thread::get_id() != thread.load()) {
    std::lock_guard lock(mutex);
    if (!closed) {
      post(std::move(work));
      return;
    }
  }
  work();
}

void Mailbox::close() {
  std::vector<std::shared_ptr<Exchange>> dropped;
  std::lock_guard lock(mutex);
  closed = true;
  dropped.swap(ready);
}

/// `lock` holds the exchange's mutex. If several writes precede a fetch by the server's thread, only
/// the first one notifies the mailbox.
void Exchange::notify(std::unique_lock<std::mutex> lock, bool urgent) {
  const bool first = !std::exchange(inMailbox, true);
  lock.unlock();
  if (first)
    mailbox->put(shared_from_this(), urgent);
}

void Exchange::send(int status, std::string_view contentType, std::string body, Headers headers) {
  std::unique_lock lock(mutex);
  if (over || stage != Stage::Nothing)
    return;
  stage = Stage::Finished;
  pending.head = pending.whole = pending.finished = true;
  pending.status = status;
  pending.contentType = contentType;
  pending.headers = std::move(headers);
  pending.data = std::move(body);
  notify(std::move(lock));
}

void Exchange::begin(int status, std::string_view contentType, Headers headers) {
  std::unique_lock lock(mutex);
  if (over || stage != Stage::Nothing)
    return;
  stage = Stage::Streaming;
  pending.head = true;
  pending.status = status;
  pending.contentType = contentType;
  pending.headers = std::move(headers);
  notify(std::move(lock));
}

void Exchange::write(std::string bytes) {
  std::unique_lock lock(mutex);
  if (over || stage != Stage::Streaming || bytes.empty() || pending.overflowed)
    return;
  if (backlog.fetch_add(bytes.size(), std::memory_order_relaxed) + bytes.size() > maxBacklogBytes) {
    pending.overflowed = true;
    pending.data.clear();
  } else if (pending.data.empty()) {
    pending.data = std::move(bytes);
  } else {
    pending.data += bytes;
  }
  notify(std::move(lock), false);
}

void Exchange::finish() {
  std::unique_lock lock(mutex);
  if (over || stage != Stage::Streaming)
    return;
  stage = Stage::Finished;
  pending.finished = true;
  notify(std::move(lock));
}

void Exchange::abandon() {
  std::unique_lock lock(mutex);
  if (over || stage == Stage::Finished)
    return;
  if (stage == Stage::Nothing) {
    lock.unlock();
    send(500, "application/json",
         errorBody("the service did not answer this request", "server_error", "", "no_answer"), {});
    return;
  }
  stage = Stage::Finished;
  pending.broken = true;
  notify(std::move(lock));
}

void Exchange::onGone(std::function<void()> callback) {
  std::unique_lock lock(mutex);
  if (left) {
    lock.unlock();
    if (callback)
      mailbox->runOnServer(std::move(callback));
    return;
  }
  if (over)
    return;
  std::swap(goneCallback, callback);
  lock.unlock(); // the old callback is destroyed later, because its captures may call this exchange
}

Outgoing Exchange::take() {
  std::lock_guard lock(mutex);
  inMailbox = false;
  return std::exchange(pending, {});
}

void Exchange::clientLeft() {
  std::function<void()> callback;
  Outgoing dropped;
  {
    std::lock_guard lock(mutex);
    if (std::exchange(over, true))
      return;
    left.store(true, std::memory_order_release);
    callback.swap(goneCallback);
    std::swap(dropped, pending);
  }
  if (callback)
    callback();
}

void Exchange::responseIsOut() {
  // The callback owns the handler's state, so it is destroyed outside the lock.
  std::function<void()> callback;
  std::lock_guard lock(mutex);
  over = true;
  callback.swap(goneCallback);
}

} // namespace ingot::http

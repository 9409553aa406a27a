//===- ObservedResponder.cpp - See ObservedResponder.h ----------------------===//
#include "runtime/server/api/ObservedResponder.h"

#include "runtime/device/Trace.h"

namespace ingot::api {

namespace {
constexpr int kClientLeft = 499; ///< the status that nginx and others log if the client has left
} // namespace

ObservedResponder::ObservedResponder(std::shared_ptr<http::Responder> inner,
                                     std::shared_ptr<observe::RequestRecord> record,
                                     std::shared_ptr<const observe::Observers> observers)
    : inner(std::move(inner)), record(std::move(record)), observers(std::move(observers)) {}

std::shared_ptr<ObservedResponder>
ObservedResponder::wrap(std::shared_ptr<http::Responder> inner,
                        std::shared_ptr<observe::RequestRecord> record,
                        std::shared_ptr<const observe::Observers> observers) {
  std::shared_ptr<ObservedResponder> self(
      new ObservedResponder(std::move(inner), std::move(record), std::move(observers)));
  self->inner->onGone([weak = std::weak_ptr(self)] {
    if (auto alive = weak.lock())
      alive->left();
  });
  return self;
}

ObservedResponder::~ObservedResponder() {
  // Without an answer, the transport sends 500.
  end(record->status ? record->status : record->gone ? kClientLeft : 500);
}

void ObservedResponder::left() {
  record->gone = true;
  std::function<void()> closed;
  {
    std::lock_guard lock(mutex);
    closed = std::move(callback);
    callback = nullptr;
  }
  if (closed)
    closed();
}

void ObservedResponder::onGone(std::function<void()> wanted) {
  {
    std::lock_guard lock(mutex);
    callback = std::move(wanted);
  }
  if (record->gone)
    left();
}

void ObservedResponder::addTrace(http::Headers &headers) const {
  if (!record->trace.spanId.empty())
    headers.emplace_back("traceparent", record->trace.header());
}

void ObservedResponder::send(int status, std::string_view contentType, std::string body,
                             http::Headers headers) {
  addTrace(headers);
  inner->send(status, contentType, std::move(body), std::move(headers));
  end(record->gone ? kClientLeft : status);
}

void ObservedResponder::begin(int status, std::string_view contentType, http::Headers headers) {
  record->status = record->gone ? kClientLeft : status;
  addTrace(headers);
  inner->begin(status, contentType, std::move(headers));
}

void ObservedResponder::finish() {
  inner->finish();
  end(record->status);
}

void ObservedResponder::end(int status) {
  if (ended.exchange(true))
    return;
  record->status = status;
  record->end = runtime::nowNanoseconds();
  for (const auto &observer : *observers)
    observer->ended(record);
}

} // namespace ingot::api

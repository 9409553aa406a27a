//===- ObservedResponder.h - Records the outcome of a response -------------===//
#pragma once

#include "runtime/server/http/Server.h"
#include "runtime/server/observe/RequestRecord.h"

#include <mutex>

namespace ingot::api {

/// Forwards all calls to a responder, and notifies the observers when the response is complete, the
/// client has left, or the responder is destroyed.
class ObservedResponder final : public http::Responder {
public:
  static std::shared_ptr<ObservedResponder>
  wrap(std::shared_ptr<http::Responder> inner, std::shared_ptr<observe::RequestRecord> record,
       std::shared_ptr<const observe::Observers> observers);
  ~ObservedResponder() override;

  void send(int status, std::string_view contentType, std::string body,
            http::Headers headers) override;
  void begin(int status, std::string_view contentType, http::Headers headers) override;
  void write(std::string bytes) override { inner->write(std::move(bytes)); }
  void finish() override;
  void onGone(std::function<void()> callback) override;
  bool gone() const override { return inner->gone(); }

private:
  ObservedResponder(std::shared_ptr<http::Responder> inner,
                    std::shared_ptr<observe::RequestRecord> record,
                    std::shared_ptr<const observe::Observers> observers);
  void left();
  void end(int status);
  void addTrace(http::Headers &headers) const;

  std::shared_ptr<http::Responder> inner;
  std::shared_ptr<observe::RequestRecord> record;
  std::shared_ptr<const observe::Observers> observers;
  std::atomic<bool> ended{false};
  std::mutex mutex; ///< guards `callback`
  std::function<void()> callback;
};

} // namespace ingot::api

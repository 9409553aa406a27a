//===- SpanExporter.h - Exports traces to an OpenTelemetry collector -------===//
//
// Sends OTLP in JSON over HTTP, without an SDK: POST <url>/v1/traces. The exporter has its own thread,
// which sends the collected requests once there are ExportOptions::batch of them, or after
// ExportOptions::interval. If the collector is slow, unreachable or overloaded (429, 502, 503, 504),
// the thread retries with growing pauses. Requests that the collector does not accept in
// ExportOptions::tries attempts are dropped and counted. New requests are dropped and counted while
// the queue is full. No request ever waits for the exporter.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/http/client/Client.h"
#include "runtime/server/observe/RequestRecord.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace ingot::observe {

struct ExportOptions {
  std::string url; ///< the collector's, such as "http://127.0.0.1:4318"; "/v1/traces" is added
  std::string version;
  size_t queue = 4096;
  size_t batch = 256;
  int tries = 5;
  std::chrono::milliseconds interval{1000}, timeout{5000}, firstPause{1000}, longestPause{30'000};
  /// Called on the exporter's thread, once with the reason when sending begins to fail, and once with
  /// "" when it works again.
  std::function<void(const std::string &)> onTrouble;
};

struct ExportCounts {
  uint64_t sent = 0, dropped = 0; ///< requests
};

class SpanExporter final : public RequestObserver {
public:
  /// Fails with E0582 if the URL is malformed. An unreachable collector is not an error, since it may
  /// start later.
  static Result<std::shared_ptr<SpanExporter>> create(ExportOptions options);
  /// Tries once to send the waiting requests, for at most two seconds.
  ~SpanExporter() override;

  void ended(const std::shared_ptr<const RequestRecord> &record) override;
  ExportCounts counts() const;

private:
  using Batch = std::vector<std::shared_ptr<const RequestRecord>>;
  SpanExporter(ExportOptions options, http::ServerUrl url)
      : options(std::move(options)), url(std::move(url)) {}
  void run();
  void deliver(const Batch &batch);
  enum class Sent { Taken, Refused, Later };
  Sent send(const std::string &body, std::string &why, bool last);
  void report(const std::string &trouble);

  const ExportOptions options;
  const http::ServerUrl url;

  mutable std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::shared_ptr<const RequestRecord>> waiting;
  ExportCounts counted;
  bool stopping = false;
  bool troubled = false; ///< used by the thread only
  std::thread thread;
};

} // namespace ingot::observe

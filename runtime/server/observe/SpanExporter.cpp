//===- SpanExporter.cpp - Batches, retries and pauses ------------------------===//
#include "runtime/server/observe/SpanExporter.h"

#include "runtime/server/observe/Spans.h"

#include <algorithm>

namespace ingot::observe {

namespace {

/// Returns whether OTLP/HTTP defines the status as retryable.
bool comesBack(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

constexpr std::chrono::milliseconds kLastTimeout{2000};

} // namespace

Result<std::shared_ptr<SpanExporter>> SpanExporter::create(ExportOptions options) {
  auto url = http::parseUrl(options.url);
  if (!url)
    return url.error();
  std::shared_ptr<SpanExporter> exporter(new SpanExporter(std::move(options), std::move(*url)));
  exporter->thread = std::thread([raw = exporter.get()] { raw->run(); });
  return exporter;
}

SpanExporter::~SpanExporter() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  wake.notify_one();
  thread.join();
}

void SpanExporter::ended(const std::shared_ptr<const RequestRecord> &record) {
  if (!record->trace.sampled || record->trace.spanId.empty())
    return;
  bool full = false;
  {
    std::lock_guard lock(mutex);
    if (waiting.size() >= options.queue) {
      ++counted.dropped;
      return;
    }
    waiting.push_back(record);
    full = waiting.size() == options.batch;
  }
  if (full)
    wake.notify_one();
}

ExportCounts SpanExporter::counts() const {
  std::lock_guard lock(mutex);
  return counted;
}

void SpanExporter::run() {
  while (true) {
    Batch batch;
    {
      std::unique_lock lock(mutex);
      wake.wait_for(lock, options.interval,
                    [&] { return stopping || waiting.size() >= options.batch; });
      while (!waiting.empty() && batch.size() < options.batch) {
        batch.push_back(std::move(waiting.front()));
        waiting.pop_front();
      }
      if (batch.empty() && stopping)
        return;
    }
    if (!batch.empty())
      deliver(batch);
  }
}

void SpanExporter::deliver(const Batch &batch) {
  const std::string body = tracesJson(batch, options.version);
  std::string why;
  auto pause = options.firstPause;
  for (int attempt = 1;; ++attempt) {
    bool last;
    {
      std::lock_guard lock(mutex);
      last = stopping;
    }
    const Sent sent = send(body, why, last);
    std::unique_lock lock(mutex);
    if (sent == Sent::Taken) {
      counted.sent += batch.size();
      lock.unlock();
      return report("");
    }
    if (sent == Sent::Refused || attempt == options.tries || stopping) {
      counted.dropped += batch.size();
      if (stopping) { // the remaining requests would fail as well
        counted.dropped += waiting.size();
        waiting.clear();
      }
      lock.unlock();
      return report(why);
    }
    lock.unlock();
    report(why);
    lock.lock();
    wake.wait_for(lock, pause, [&] { return stopping; });
    pause = std::min(pause * 2, options.longestPause);
  }
}

SpanExporter::Sent SpanExporter::send(const std::string &body, std::string &why, bool last) {
  http::ClientLoop client(url);
  http::ClientRequest request;
  request.method = "POST";
  request.path = "/v1/traces";
  request.headers = {{"Content-Type", "application/json"},
                     {"User-Agent", "ingot/" + options.version}};
  request.body = body;
  request.timeout = last ? std::min(kLastTimeout, options.timeout) : options.timeout;
  const auto answer = client.ask(std::move(request));
  if (!answer.failure.empty()) {
    why = answer.failure;
    return Sent::Later;
  }
  if (answer.status >= 200 && answer.status < 300)
    return Sent::Taken;
  why = "status " + std::to_string(answer.status);
  return comesBack(answer.status) ? Sent::Later : Sent::Refused;
}

void SpanExporter::report(const std::string &trouble) {
  if (troubled == !trouble.empty())
    return;
  troubled = !trouble.empty();
  if (options.onTrouble)
    options.onTrouble(trouble);
}

} // namespace ingot::observe

//===- RequestRecord.h - The record of one request -------------------------===//
//
// A record is filled in while its request passes through the server. When the response has been sent
// or the client has left, the record is reported once to the log (RequestLog.h), the traces
// (SpanExporter.h) and the counts (RouteCounts.h).
//
//   Api::handle ──▶ record ──▶ reading thread ──▶ AnswerStream ──▶ ended ──▶ every RequestObserver
//
// One thread at a time writes to the record, and passes it on with the request. Times are nanoseconds
// of the steady clock (runtime/device/Trace.h); 0 means that the event did not happen.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/observe/TraceContext.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ingot::observe {

struct RequestRecord {
  std::string id;     ///< X-Request-Id
  std::string method; ///< one of a fixed set; "" if the transport refused
  std::string route; ///< a route of the server; "other" if unknown, "none" if the transport refused
  std::string path;  ///< as requested, at most 256 bytes of client text
  std::string client; ///< the client's address
  std::string model;  ///< name of a served model; or ""
  TraceContext trace; ///< the caller's context, and the span of this request
  bool generates = false, stream = false;
  int status = 0;                   ///< 499: the client left before the response began
  std::atomic<bool> gone{false};    ///< the client left
  std::string errorCode;            ///< "E0505"; or ""
  std::vector<std::string> leftOut; ///< unused parts of the request: "tools[1]: web_search"
  std::string body;                 ///< the request's body, with --log-prompts only; cut at 64 KiB

  int64_t wallBegin = 0; ///< nanoseconds since the epoch
  uint64_t begin = 0, scheduled = 0, firstToken = 0, lastToken = 0, end = 0;
  int64_t promptTokens = 0, newTokens = 0, cachedTokens = 0;
  int32_t choices = 1;
  std::vector<const char *> finishReasons; ///< of the choices that have ended

  // The settings in force: the request's own, or the engine's defaults.
  int64_t maxTokens = -1;
  double temperature = 0, topP = 1;
  int32_t topK = 0;
};

/// Receives the record of every request once. It may be called from any thread, and must return at
/// once.
class RequestObserver {
public:
  virtual ~RequestObserver() = default;
  virtual void ended(const std::shared_ptr<const RequestRecord> &record) = 0;
};

using Observers = std::vector<std::shared_ptr<RequestObserver>>;

} // namespace ingot::observe

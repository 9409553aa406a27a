//===- RequestRecord.h - What is known of one request ----------------------===//
//
// Filled on the way of a request through the server, told once, when its response is out or its
// client gone: to the log (RequestLog.h), the traces (SpanExporter.h), the counts (RouteCounts.h).
//
//   Api::handle ──▶ record ──▶ reading thread ──▶ AnswerStream ──▶ ended ──▶ every RequestObserver
//
// One thread at a time writes to it: each hands it on with the request. Times are nanoseconds of
// the steady clock (runtime/device/Trace.h), 0 where a thing did not happen.
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
  std::string method; ///< of a fixed set; "" where the transport refused
  std::string route; ///< one of the server's own; "other" for what is none, "none" of the transport
  std::string path;  ///< as asked for, at most 256 bytes: a client's text
  std::string client; ///< address
  std::string model;  ///< name of a model that is served; or ""
  TraceContext trace; ///< of the caller, with a span of our own
  bool generates = false, stream = false;
  int status = 0;                ///< 499: the client left before there was one
  std::atomic<bool> gone{false}; ///< the client left
  std::string errorCode;         ///< "E0505"; or ""
  std::vector<std::string>
      leftOut;      ///< parts of the request that were not used: "tools[1]: web_search"
  std::string body; ///< of the request, only with --log-prompts; cut at 64 KiB

  int64_t wallBegin = 0; ///< nanoseconds of the epoch
  uint64_t begin = 0, scheduled = 0, firstToken = 0, lastToken = 0, end = 0;
  int64_t promptTokens = 0, newTokens = 0, cachedTokens = 0;
  int32_t choices = 1;
  std::vector<const char *> finishReasons; ///< of the choices that ended

  // What the request asked for, where it said so or the engine's defaults did.
  int64_t maxTokens = -1;
  double temperature = 0, topP = 1;
  int32_t topK = 0;
};

/// Hears of every request once. Called from any thread; must return at once.
class RequestObserver {
public:
  virtual ~RequestObserver() = default;
  virtual void ended(const std::shared_ptr<const RequestRecord> &record) = 0;
};

using Observers = std::vector<std::shared_ptr<RequestObserver>>;

} // namespace ingot::observe

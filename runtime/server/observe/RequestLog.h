//===- RequestLog.h - One line for each request, never in the way ----------===//
//
// Lines are written by a thread of its own: whoever reads them slowly, or not at all, costs the
// server nothing but lines. What finds the queue full is dropped and counted; a line says how many
// when there is room again.
//
//   {"time":"2026-01-31T12:00:00.123Z","event":"request","id":"…","method":"POST","route":"/v1/…",
//    "status":200,"client":"127.0.0.1","model":"…","stream":true,"prompt_tokens":…,"cached_tokens":…,
//    "new_tokens":…,"queue_ms":…,"ttft_ms":…,"total_ms":…,"finish_reason":"stop"}
//
// What the transport refuses (a wrong key, a broken request) has a line the first time, and then one
// a second and client with a count: who asks ten thousand times a second shall not fill a disk.
//
//   {"time":"…","event":"refusals","client":"10.0.0.9","status":"401","code":"invalid_api_key",
//    "requests":"13979"}
//
// What a client sent is bounded and escaped: a line stays a line, and no byte of it can move a
// terminal's cursor. Prompts and answers are never in it, but for the request's body where it was
// kept (--log-prompts).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/server/observe/RequestRecord.h"

#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace ingot::observe {

enum class LogFormat : uint8_t { Text, Json };

struct LogOptions {
  LogFormat format = LogFormat::Text;
  std::string file;    ///< appended to; empty: stderr
  size_t queue = 8192; ///< entries that may wait
  int descriptor = -1; ///< instead of a file, not closed; for tests
};

class RequestLog final : public RequestObserver {
public:
  /// E0580 (exit 3) if the file cannot be opened.
  static Result<std::shared_ptr<RequestLog>> open(const LogOptions &options);
  /// Writes what waits, for a second at most.
  ~RequestLog() override;

  void ended(const std::shared_ptr<const RequestRecord> &record) override;
  using Fields = std::vector<std::pair<std::string, std::string>>;
  /// A line about the server: "start", "stop", "reload", …
  void event(std::string name, Fields fields);
  /// Opens the file anew, after it was renamed (SIGHUP); keeps the old one if that fails.
  void reopen();
  uint64_t dropped() const;

private:
  struct Entry {
    int64_t time; ///< ns of the epoch
    std::shared_ptr<const RequestRecord> request;
    std::string name; ///< of an event
    Fields fields;
  };
  /// Of one client, status and code, since the last line that told.
  struct Refusals {
    uint64_t requests = 0;
    uint64_t tellAt; ///< steady ns
  };
  using Refused = std::array<std::string, 3>; ///< client, status, code
  explicit RequestLog(const LogOptions &options) : options(options) {}
  void put(Entry entry);
  /// Whether it is summed up with others, and needs no line of its own.
  bool counted(const RequestRecord &record);
  /// Lines of sums whose second is over, or of all.
  std::string tellRefusals(bool all);
  void run();
  /// False: time is up. `missed`: lines that could not be written.
  bool write(std::string_view text, uint64_t &missed);

  LogOptions options;
  int descriptor = -1;

  mutable std::mutex mutex;
  std::condition_variable wake;
  std::deque<Entry> waiting;
  std::map<Refused, Refusals> refusals;
  uint64_t lost = 0, told = 0;
  bool cut = false; ///< the last line that was written lacks its end
  bool stopping = false, reopening = false;
  uint64_t stopBy = 0; ///< steady ns
  std::thread thread;
};

/// Of one request, without its line feed.
std::string requestLine(const RequestRecord &record, int64_t time, LogFormat format);
/// "2026-01-31T12:00:00.123Z"
std::string timeText(int64_t nanoseconds);

} // namespace ingot::observe

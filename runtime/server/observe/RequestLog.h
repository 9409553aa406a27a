//===- RequestLog.h - A non-blocking log with one line per request ---------===//
//
// The log has its own thread that writes the lines, so a slow or stalled reader of the log costs the
// server lines but no time. If the queue is full, new entries are dropped and counted. A line reports
// the count when there is room again.
//
//   {"time":"2026-01-31T12:00:00.123Z","event":"request","id":"…","method":"POST","route":"/v1/…",
//    "status":200,"client":"127.0.0.1","model":"…","stream":true,"prompt_tokens":…,"cached_tokens":…,
//    "new_tokens":…,"queue_ms":…,"ttft_ms":…,"total_ms":…,"finish_reason":"stop"}
//
// The first request of a client that the transport refuses (wrong key, malformed request) gets a line.
// After that, the client gets one line per second with a count, so a client that sends ten thousand
// requests a second cannot fill a disk.
//
//   {"time":"…","event":"refusals","client":"10.0.0.9","status":"401","code":"invalid_api_key",
//    "requests":"13979"}
//
// Text from clients is bounded and escaped, so that a line stays one line and no byte of it can move
// a terminal's cursor. Prompts and answers are not logged, except that --log-prompts adds the
// request's body.
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
  std::string file;    ///< path to append to; empty: stderr
  size_t queue = 8192; ///< entries that may wait
  int descriptor = -1; ///< used instead of a file and not closed; for tests
};

class RequestLog final : public RequestObserver {
public:
  /// Fails with E0580 (exit 3) if the file cannot be opened.
  static Result<std::shared_ptr<RequestLog>> open(const LogOptions &options);
  /// Writes the waiting entries, for at most one second.
  ~RequestLog() override;

  void ended(const std::shared_ptr<const RequestRecord> &record) override;
  using Fields = std::vector<std::pair<std::string, std::string>>;
  /// Logs a line about the server: "start", "stop", "reload", …
  void event(std::string name, Fields fields);
  /// Reopens the file after it was renamed (SIGHUP). Keeps the old one if that fails.
  void reopen();
  uint64_t dropped() const;

private:
  struct Entry {
    int64_t time; ///< ns since the epoch
    std::shared_ptr<const RequestRecord> request;
    std::string name; ///< name of an event
    Fields fields;
  };
  /// Refusals of one client, status and code since the last line about them.
  struct Refusals {
    uint64_t requests = 0;
    uint64_t reportAt; ///< steady ns
  };
  using Refused = std::array<std::string, 3>; ///< client, status, code
  explicit RequestLog(const LogOptions &options) : options(options) {}
  void put(Entry entry);
  /// Counts a refusal. Returns true if it is part of a sum and needs no line of its own.
  bool counted(const RequestRecord &record);
  /// Returns lines for the sums of seconds that are over. `all`: for all sums.
  std::string reportRefusals(bool all);
  void run();
  /// Returns false if time is up. `missed`: lines that could not be written.
  bool write(std::string_view text, uint64_t &missed);

  LogOptions options;
  int descriptor = -1;

  mutable std::mutex mutex;
  std::condition_variable wake;
  std::deque<Entry> waiting;
  std::map<Refused, Refusals> refusals;
  uint64_t lost = 0, reported = 0;
  bool cut = false; ///< the last line written is incomplete
  bool stopping = false, reopening = false;
  uint64_t stopBy = 0; ///< steady ns
  std::thread thread;
};

/// Returns the line of one request, without a line feed.
std::string requestLine(const RequestRecord &record, int64_t time, LogFormat format);
/// Returns a time in the format of "2026-01-31T12:00:00.123Z".
std::string timeText(int64_t nanoseconds);

} // namespace ingot::observe

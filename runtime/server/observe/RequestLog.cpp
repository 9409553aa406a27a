//===- RequestLog.cpp - The writing thread and the format of lines ----------===//
#include "runtime/server/observe/RequestLog.h"

#include "runtime/device/Trace.h"
#include "runtime/json/JsonText.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace ingot::observe {

using runtime::JsonText;

namespace {

int64_t wallNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int openFile(const std::string &path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

double milliseconds(uint64_t from, uint64_t to) {
  // Two decimals are precise enough for the clock and the reader.
  return from && to > from ? double((to - from) / 10'000) / 100.0 : 0.0;
}

/// Returns a JSON string. In addition to JSON's escapes, the control characters U+0080 to U+009F
/// are escaped, because some terminals obey them.
std::string quoted(std::string_view text) {
  std::string out = JsonText().value(text).text();
  for (size_t at = 0; (at = out.find('\xC2', at)) != std::string::npos; ++at)
    if (const auto next = static_cast<unsigned char>(out[at + 1]); next >= 0x80 && next < 0xA0) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", next);
      out.replace(at, 2, escape);
    }
  return out;
}

/// Returns a client's text with JSON's escapes, for a line of the text format.
std::string plain(std::string_view text) {
  const std::string out = quoted(text);
  return out.substr(1, out.size() - 2);
}

std::string finishReasons(const RequestRecord &record) {
  std::string text;
  for (const char *reason : record.finishReasons)
    if (text.find(reason) == std::string::npos)
      text += (text.empty() ? "" : ",") + std::string(reason);
  return text;
}

std::string jsonLine(const RequestRecord &r, int64_t time) {
  JsonText json;
  json.open('{').key("time").value(timeText(time)).key("event").value("request");
  json.key("id").raw(quoted(r.id));
  if (!r.method.empty())
    json.key("method").value(r.method);
  json.key("route").value(r.route);
  if (r.route == "other")
    json.key("path").raw(quoted(r.path));
  json.key("status").value(r.status).key("client").value(r.client);
  if (!r.model.empty())
    json.key("model").value(r.model);
  if (r.generates) {
    json.key("stream").value(r.stream).key("prompt_tokens").value(r.promptTokens);
    json.key("cached_tokens").value(r.cachedTokens).key("new_tokens").value(r.newTokens);
    if (r.scheduled)
      json.key("queue_ms").value(milliseconds(r.begin, r.scheduled));
    if (r.firstToken)
      json.key("ttft_ms").value(milliseconds(r.begin, r.firstToken));
  }
  json.key("total_ms").value(milliseconds(r.begin, r.end));
  if (!r.finishReasons.empty())
    json.key("finish_reason").value(finishReasons(r));
  if (!r.errorCode.empty())
    json.key("error").value(r.errorCode);
  if (!r.leftOut.empty()) {
    json.key("left_out").open('[');
    for (const std::string &part : r.leftOut)
      json.raw(quoted(part));
    json.close();
  }
  if (r.gone)
    json.key("client_left").value(true);
  if (!r.trace.traceId.empty())
    json.key("trace_id").value(r.trace.traceId);
  if (!r.body.empty())
    json.key("body").raw(quoted(r.body));
  return json.close().text();
}

std::string textLine(const RequestRecord &r, int64_t time) {
  char number[64];
  std::string line = timeText(time) + " " + plain(r.id) + " " + plain(r.client) + " " +
                     (r.method.empty() ? "-" : r.method) + " " +
                     (r.route == "other" ? plain(r.path) : r.route) + " " +
                     std::to_string(r.status);
  auto add = [&](const char *format, double value) {
    std::snprintf(number, sizeof number, format, value);
    line += number;
  };
  if (!r.model.empty())
    line += " " + plain(r.model);
  if (r.generates && r.promptTokens) {
    line += " prompt=" + std::to_string(r.promptTokens) +
            " cached=" + std::to_string(r.cachedTokens) + " new=" + std::to_string(r.newTokens);
    if (r.scheduled)
      add(" queue=%.1fms", milliseconds(r.begin, r.scheduled));
    if (r.firstToken)
      add(" ttft=%.1fms", milliseconds(r.begin, r.firstToken));
  }
  add(" total=%.1fms", milliseconds(r.begin, r.end));
  if (!r.finishReasons.empty())
    line += " " + finishReasons(r);
  if (!r.errorCode.empty())
    line += " " + plain(r.errorCode);
  for (const std::string &part : r.leftOut)
    line += " left-out=\"" + plain(part) + "\"";
  if (r.gone)
    line += " client-left";
  if (!r.body.empty())
    line += " body=\"" + plain(r.body) + "\"";
  return line;
}

std::string eventLine(const std::string &name, const RequestLog::Fields &fields, int64_t time,
                      LogFormat format) {
  if (format == LogFormat::Json) {
    JsonText json;
    json.open('{').key("time").value(timeText(time)).key("event").value(name);
    for (const auto &[key, value] : fields)
      json.key(key).raw(quoted(value));
    return json.close().text();
  }
  std::string line = timeText(time) + " " + name;
  for (const auto &[key, value] : fields)
    line += " " + key + "=" + plain(value);
  return line;
}

} // namespace

std::string timeText(int64_t nanoseconds) {
  const time_t seconds = nanoseconds / 1'000'000'000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const size_t used = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + used, sizeof text - used, ".%03dZ", int(nanoseconds / 1'000'000 % 1000));
  return text;
}

std::string requestLine(const RequestRecord &record, int64_t time, LogFormat format) {
  return format == LogFormat::Json ? jsonLine(record, time) : textLine(record, time);
}

Result<std::shared_ptr<RequestLog>> RequestLog::open(const LogOptions &options) {
  std::shared_ptr<RequestLog> log(new RequestLog(options));
  log->descriptor = options.descriptor >= 0 ? options.descriptor : STDERR_FILENO;
  if (!options.file.empty() && (log->descriptor = openFile(options.file)) < 0)
    return Error{ExitCode::File, "E0580", "the log cannot be written: " + options.file,
                 std::strerror(errno), "give a file in a folder that exists: --log-file F"};
  log->thread = std::thread([raw = log.get()] { raw->run(); });
  return log;
}

RequestLog::~RequestLog() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
    stopBy = runtime::nowNanoseconds() + 1'000'000'000;
  }
  wake.notify_one();
  if (thread.joinable())
    thread.join();
  if (!options.file.empty() && descriptor >= 0)
    ::close(descriptor);
}

void RequestLog::ended(const std::shared_ptr<const RequestRecord> &record) {
  // These routes are polled often, so successes are not logged.
  if (record->status < 400 &&
      (record->route == "/health" || record->route == "/metrics" || record->route == "/ping"))
    return;
  if (record->route == "none" && counted(*record))
    return;
  put({wallNow(), record, {}, {}});
}

/// Nanoseconds between two lines about one client's refusals.
constexpr uint64_t kRefusalPeriod = 1'000'000'000;
/// The number of clients that are reported separately. All others are reported together.
constexpr size_t kMostRefused = 1024;

bool RequestLog::counted(const RequestRecord &record) {
  std::lock_guard lock(mutex);
  Refused who{record.client, std::to_string(record.status), record.errorCode};
  auto found = refusals.find(who);
  if (found == refusals.end()) {
    const bool tooMany = refusals.size() >= kMostRefused;
    if (tooMany)
      who[0] = "others";
    const auto [added, first] =
        refusals.try_emplace(who, Refusals{0, runtime::nowNanoseconds() + kRefusalPeriod});
    if (!tooMany)
      return false;
    found = added;
  }
  ++found->second.requests;
  return true;
}

std::string RequestLog::reportRefusals(bool all) {
  std::string text;
  const uint64_t now = runtime::nowNanoseconds();
  std::lock_guard lock(mutex);
  for (auto one = refusals.begin(); one != refusals.end();) {
    auto &[who, sum] = *one;
    if (!all && now < sum.reportAt) {
      ++one;
    } else if (sum.requests == 0) { // no refusals in the last period
      one = refusals.erase(one);
    } else {
      text += eventLine("refusals",
                        {{"client", who[0]},
                         {"status", who[1]},
                         {"code", who[2]},
                         {"requests", std::to_string(sum.requests)}},
                        wallNow(), options.format) +
              "\n";
      sum = {0, now + kRefusalPeriod};
      ++one;
    }
  }
  return text;
}

void RequestLog::event(std::string name, Fields fields) {
  put({wallNow(), nullptr, std::move(name), std::move(fields)});
}

void RequestLog::put(Entry entry) {
  bool first = false;
  {
    std::lock_guard lock(mutex);
    if (waiting.size() >= options.queue) {
      ++lost;
      return;
    }
    first = waiting.empty();
    waiting.push_back(std::move(entry));
  }
  if (first)
    wake.notify_one();
}

void RequestLog::reopen() {
  std::lock_guard lock(mutex);
  reopening = true;
  wake.notify_one();
}

uint64_t RequestLog::dropped() const {
  std::lock_guard lock(mutex);
  return lost;
}

void RequestLog::run() {
  std::deque<Entry> taken;
  while (true) {
    uint64_t missing = 0;
    bool leaving, anew;
    {
      std::unique_lock lock(mutex);
      auto work = [&] { return stopping || reopening || !waiting.empty(); };
      if (refusals.empty())
        wake.wait(lock, work);
      else
        wake.wait_for(lock, std::chrono::nanoseconds(kRefusalPeriod / 4), work);
      leaving = stopping;
      anew = std::exchange(reopening, false);
      // Take few at a time, because entries taken here no longer count towards the queue's limit.
      for (size_t i = 0; i < 64 && !waiting.empty(); ++i) {
        taken.push_back(std::move(waiting.front()));
        waiting.pop_front();
      }
      if (leaving && taken.empty() && refusals.empty())
        return;
      missing = lost - reported;
    }
    if (anew && !options.file.empty())
      if (const int fresh = openFile(options.file); fresh >= 0) {
        ::close(descriptor);
        descriptor = fresh;
      }
    std::string text = reportRefusals(leaving);
    for (const Entry &entry : taken)
      text += (entry.request ? requestLine(*entry.request, entry.time, options.format)
                             : eventLine(entry.name, entry.fields, entry.time, options.format)) +
              "\n";
    if (missing)
      text += eventLine("log_lines_dropped", {{"lines", std::to_string(missing)}}, wallNow(),
                        options.format) +
              "\n";
    taken.clear();
    if (text.empty())
      continue;
    uint64_t missed = 0;
    const bool goesOn = write(text, missed);
    {
      std::lock_guard lock(mutex);
      if (missed == 0)
        reported += missing;
      else // the line that reports earlier losses may be among the missed lines
        lost += missed - (missing ? 1 : 0);
    }
    if (!goesOn)
      return;
  }
}

/// Writes text. A pipe that poll() reports as ready accepts PIPE_BUF bytes without blocking, so even
/// a pipe that nobody reads cannot keep the process from exiting. Returns false if time is up.
bool RequestLog::write(std::string_view text, uint64_t &missed) {
  const std::string whole = cut ? "\n" + std::string(text) : std::string();
  if (cut) // keep the incomplete line apart from the new text
    text = whole;
  while (!text.empty()) {
    pollfd ready{descriptor, POLLOUT, 0};
    if (poll(&ready, 1, 100) == 0) {
      std::lock_guard lock(mutex);
      if (stopping && runtime::nowNanoseconds() > stopBy)
        return false;
      continue;
    }
    const ssize_t done = ::write(descriptor, text.data(), std::min<size_t>(text.size(), 4096));
    if (done < 0 && errno != EINTR && errno != EAGAIN) {
      // The disk is full or the reader has left. These lines are lost; the next may succeed.
      missed = uint64_t(std::ranges::count(text, '\n')) - (cut && text.size() == whole.size());
      return true;
    }
    if (done > 0) {
      cut = text[size_t(done) - 1] != '\n';
      text.remove_prefix(size_t(done));
    }
  }
  return true;
}

} // namespace ingot::observe

//===- ServerLog.h - Log, traces and messages of `ingot serve` -------------===//
//
// The server writes a log (one line per request), traces, and messages about itself. The messages
// go to stderr as notes. If the log is JSON on stderr too, they become lines of the log, so stderr
// stays JSON.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/observe/RequestLog.h"
#include "runtime/server/observe/SpanExporter.h"
#include "tools/options/CommandLine.h"

namespace ingot::cli {

struct ServerLogOptions {
  std::string log = "text"; ///< text, json, none
  std::string file, collector;
  bool prompts = false;

  void define(CommandLine &command);
};

class ServerLog {
public:
  /// Opens the log and starts threads; block signals first. Errors: E0580: the log file; E0582: the collector's URL;
  /// E0581: --log-prompts without a log.
  static Result<ServerLog> open(const ServerLogOptions &options, bool quiet,
                                const std::string &version);

  observe::Observers observers() const;
  bool traces() const { return exporter != nullptr; }
  /// Writes a message to stderr and, if events are logged, as an event with its fields.
  void say(const std::string &words, const std::string &name,
           observe::RequestLog::Fields fields) const;
  /// Reports an error of the running server.
  void say(const Error &error) const;
  /// Reopens the log file, which may have been renamed. Called after SIGHUP.
  void reopen() const;
  /// Returns the metric families of /metrics for lost log lines and spans.
  std::string metrics() const;

private:
  std::shared_ptr<observe::RequestLog> log;
  std::shared_ptr<observe::SpanExporter> exporter;
  bool onlyEvents = false; ///< stderr carries the JSON log
  bool keepsEvents = false;
};

} // namespace ingot::cli

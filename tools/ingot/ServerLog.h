//===- ServerLog.h - What `ingot serve` says while it runs -----------------===//
//
// Its log (one line a request), its traces, and its words about itself. Those go to stderr as
// notes; where the log is JSON on stderr too, they are lines of it, so that stderr stays JSON.
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
  /// E0580 a log file, E0582 a collector's address, E0581 --log-prompts without a log. Threads are
  /// started: block signals first.
  static Result<ServerLog> open(const ServerLogOptions &options, bool quiet,
                                const std::string &version);

  observe::Observers observers() const;
  bool traces() const { return exporter != nullptr; }
  /// To stderr, and as an event with its fields where events are kept.
  void say(const std::string &words, const std::string &name,
           observe::RequestLog::Fields fields) const;
  /// An error of the running server.
  void say(const Error &error) const;
  /// After SIGHUP: the log file may have been renamed.
  void reopen() const;
  /// Families for /metrics: what did not get through.
  std::string metrics() const;

private:
  std::shared_ptr<observe::RequestLog> log;
  std::shared_ptr<observe::SpanExporter> exporter;
  bool onlyEvents = false; ///< stderr is the log's, in JSON
  bool keepsEvents = false;
};

} // namespace ingot::cli

//===- ServerLog.cpp - See ServerLog.h --------------------------------------===//
#include "tools/ingot/serve/ServerLog.h"

#include "tools/terminal/Console.h"

namespace ingot::cli {

void ServerLogOptions::define(CommandLine &command) {
  const char *group = "Observation";
  command.option("--log", log, "one line per request on stderr: text, json or none")
      .oneOf({"text", "json", "none"})
      .showDefault()
      .group(group);
  command.option("--log-file", file, "append the log to this file instead (SIGHUP reopens it)")
      .group(group);
  command
      .flag("--log-prompts", prompts,
            "log the bodies of requests; otherwise the log has no text of requests")
      .group(group);
  command
      .option("--otlp", collector, "send traces to this OpenTelemetry collector (http://HOST:4318)")
      .group(group);
}

Result<ServerLog> ServerLog::open(const ServerLogOptions &options, bool quiet,
                                  const std::string &version) {
  ServerLog out;
  const bool wanted = options.log != "none" && !(quiet && options.file.empty());
  if (options.prompts && !wanted)
    return Error{ExitCode::Usage, "E0581", "--log-prompts needs a log", "",
                 "omit --log none and --quiet, or give --log-file F"};
  if (wanted) {
    observe::LogOptions log;
    log.format = options.log == "json" ? observe::LogFormat::Json : observe::LogFormat::Text;
    log.file = options.file;
    auto opened = observe::RequestLog::open(log);
    if (!opened)
      return opened.error();
    out.log = std::move(*opened);
    out.onlyEvents = options.file.empty() && log.format == observe::LogFormat::Json;
    out.keepsEvents = !options.file.empty() || out.onlyEvents;
  }
  if (!options.collector.empty()) {
    observe::ExportOptions exporting;
    exporting.url = options.collector;
    exporting.version = version;
    exporting.onTrouble = [voice = out](const std::string &why) {
      if (why.empty())
        voice.say("traces can be sent again", "traces_sent", {});
      else
        voice.say("traces cannot be sent: " + why, "traces_not_sent", {{"why", why}});
    };
    auto exporter = observe::SpanExporter::create(std::move(exporting));
    if (!exporter)
      return exporter.error();
    out.exporter = std::move(*exporter);
  }
  return out;
}

observe::Observers ServerLog::observers() const {
  observe::Observers all;
  if (log)
    all.push_back(log);
  if (exporter)
    all.push_back(exporter);
  return all;
}

void ServerLog::say(const std::string &words, const std::string &name,
                    observe::RequestLog::Fields fields) const {
  // The event is logged before the message is printed. If a client waits for "serving on" on stderr
  // and then sends requests, their log lines therefore follow the event.
  if (keepsEvents)
    log->event(name, std::move(fields));
  if (!onlyEvents)
    note(words);
}

void ServerLog::say(const Error &error) const {
  if (keepsEvents)
    log->event("error", {{"code", error.code}, {"what", error.what}, {"why", error.why}});
  if (!onlyEvents)
    printError(error);
}

void ServerLog::reopen() const {
  if (log)
    log->reopen();
}

std::string ServerLog::metrics() const {
  std::string out;
  auto counter = [&](const char *name, const char *help, uint64_t value) {
    out += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " counter\n" + name +
           " " + std::to_string(value) + "\n";
  };
  if (log)
    counter("ingot:log_lines_dropped_total", "Lines of the log that could not be written in time.",
            log->dropped());
  if (exporter) {
    const observe::ExportCounts counts = exporter->counts();
    counter("ingot:traces_sent_total", "Traces that the collector accepted.", counts.sent);
    counter("ingot:traces_dropped_total", "Traces that the collector did not accept.",
            counts.dropped);
  }
  return out;
}

} // namespace ingot::cli

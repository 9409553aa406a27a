//===- Serve.cpp - ingot serve: engines behind an HTTP server ---------------===//
//
// The port is bound before a model is loaded, so a problem with it is reported at once. It is
// opened to clients when all models are ready.
//
//   SIGTERM, SIGINT   new requests are refused and running ones may finish within --drain; a second
//                     signal ends the rest
//   a failed engine   has the effect of SIGTERM, but the engine's requests end at once and the exit code is 4,
//                     so that a supervisor restarts the process
//   SIGHUP            keys and certificates are read again; every engine file is opened again, verified,
//                     and replaces the old engine; requests in flight finish on the engine on which they
//                     began
//===----------------------------------------------------------------------===//
#include "runtime/server/http/Server.h"
#include "tools/files/Files.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/serve/ServeModels.h"
#include "tools/terminal/Console.h"

#include <algorithm>
#include <csignal>

namespace ingot::cli {

namespace {

struct ServeOptions : ServeModels {
  http::ServerOptions http;
  std::string apiKeyFile;
  bool openMetrics = false;
  int64_t drainSeconds = 30;
};

/// Returns the signals that a server handles. They are blocked in every thread, and the main thread takes
/// them with sigtimedwait.
sigset_t serverSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGTERM, SIGINT, SIGHUP})
    sigaddset(&set, signal);
  return set;
}

Result<std::vector<std::string>> readKeys(const ServeOptions &options) {
  std::vector<std::string> keys = options.http.apiKeys;
  if (options.apiKeyFile.empty())
    return keys;
  auto text = readFile(options.apiKeyFile);
  if (!text)
    return text.error();
  for (size_t at = 0; at < text->size();) {
    size_t end = std::min(text->find('\n', at), text->size());
    std::string key = text->substr(at, end - at);
    key.erase(0, key.find_first_not_of(" \t"));
    key.erase(key.find_last_not_of(" \t\r") + 1);
    if (!key.empty() && key.front() != '#')
      keys.push_back(std::move(key));
    at = end + 1;
  }
  if (keys.empty())
    return Error{ExitCode::Usage, "E0553", options.apiKeyFile + " has no keys", "",
                 "write one key per line; # starts a comment"};
  return keys;
}

/// Returns the next signal, or 0 as soon as a model has failed.
int nextSignal(const sigset_t &signals, const service::ModelRegistry &models,
               std::shared_ptr<const Error> &failure) {
  constexpr timespec kLook{.tv_sec = 0, .tv_nsec = 250'000'000};
  while (true) {
    if (int signal = sigtimedwait(&signals, nullptr, &kLook); signal > 0)
      return signal;
    if ((failure = models.failure()))
      return 0;
  }
}

/// Returns the metric families of /metrics for the transport's counters.
std::string connectionMetrics(const http::ServerStats &stats) {
  std::string out;
  auto family = [&](const std::string &name, const char *help, const char *type, uint64_t value) {
    out += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n" + name + " " +
           std::to_string(value) + "\n";
  };
  family("ingot:connections", "Open connections.", "gauge", stats.connections);
  family("ingot:connections_total", "Connections accepted.", "counter", stats.accepted);
  family("ingot:connections_refused_total", "Connections beyond the limit.", "counter",
         stats.refused);
  family("ingot:http_bad_requests_total", "Requests rejected by the transport: 400, 401, 403, …",
         "counter", stats.badRequests);
  family("ingot:slow_clients_dropped_total", "Clients that did not read their answers.", "counter",
         stats.droppedSlow);
  return out;
}

/// Reloads keys and certificates from their files. A file that cannot be read changes nothing.
void renewAccess(const ServeOptions &options, const std::vector<std::string> &given,
                 http::Server &server, const ServerLog &log) {
  ServeOptions now = options;
  now.http.apiKeys = given;
  auto keys = readKeys(now);
  auto renewed = keys ? server.renew(*keys) : Result<void>(keys.error());
  if (renewed)
    return;
  log.say(renewed.error());
  log.say("keys and certificates are unchanged", "renew_failed", {});
}

/// Reopens the engine files. A file that cannot be opened leaves the old engine in place.
void reload(const ServeOptions &options, const std::vector<ModelSource> &sources,
            service::ModelRegistry &models, const api::Post &post, const ServerLog &log) {
  for (const ModelSource &source : sources) {
    auto model = openVerified(options, source, post);
    if (!model) {
      log.say(model.error());
      log.say("the previous engine continues to serve", "reload_failed", {{"model", source.name}});
      continue;
    }
    log.say("reloaded " + (*model)->name(), "reload", {{"model", (*model)->name()}});
    models.add(std::move(*model));
  }
}

Result<int> serve(ServeOptions options) {
  const sigset_t signals = serverSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr); // later threads inherit the mask
  const std::vector<std::string> givenKeys = options.http.apiKeys;
  auto keys = readKeys(options);
  if (!keys)
    return keys.error();
  options.http.apiKeys = std::move(*keys);
  options.http.openPaths = {"/health", "/ping"};
  if (options.openMetrics)
    options.http.openPaths.push_back("/metrics");

  auto sources = modelSources(options);
  if (!sources)
    return sources.error();

  auto log = ServerLog::open(options.log, options.engine.common.quiet, INGOT_VERSION);
  if (!log)
    return log.error();
  std::unique_ptr<api::Api> routes;
  options.http.onRefusal = [&routes](const http::RefusedRequest &refused) {
    routes->refused(refused);
  };
  auto server = http::Server::create(
      options.http, [&](http::HttpRequest request, std::shared_ptr<http::Responder> responder) {
        routes->handle(std::move(request), std::move(responder));
      });
  if (!server)
    return server.error();
  api::Post post = [&server](std::function<void()> work) { (*server)->post(std::move(work)); };
  auto opened = openModels(options, *sources, post);
  if (!opened)
    return opened.error();
  std::shared_ptr<service::ModelRegistry> models = std::move(*opened);
  api::ApiOptions apiOptions;
  apiOptions.version = INGOT_VERSION;
  apiOptions.observers = log->observers();
  apiOptions.trace = log->traces();
  apiOptions.keepBodies = options.log.prompts;
  apiOptions.moreMetrics = [&server, &log] {
    return connectionMetrics((*server)->stats()) + log->metrics();
  };
  routes = std::make_unique<api::Api>(models, std::move(apiOptions), post);
  (*server)->start();
  const std::string url = std::string(options.http.tlsCertificate.empty() ? "http" : "https") +
                          "://" + options.http.host + ":" + std::to_string((*server)->port());
  log->say("serving on " + url, "start", {{"url", url}, {"version", INGOT_VERSION}});
  for (const auto &model : models->all())
    if (model->chatTemplate())
      log->say(model->name() + ": " + text::describeFormat(model->outputFormat(/*tools=*/true)),
               "formats",
               {{"model", model->name()},
                {"tools", model->outputFormat(true).tools},
                {"reasoning", model->outputFormat(true).reasoning}});

  int signal = 0;
  std::shared_ptr<const Error> failure;
  while ((signal = nextSignal(signals, *models, failure)) == SIGHUP) {
    log->reopen();
    renewAccess(options, givenKeys, **server, *log);
    reload(options, *sources, *models, post, *log);
  }
  if (failure)
    log->say(*failure);
  log->say("draining: running requests have " + std::to_string(options.drainSeconds) + " s",
           "drain",
           {{"signal", failure             ? "none"
                       : signal == SIGTERM ? "SIGTERM"
                                           : "SIGINT"}});
  routes->setDraining();
  (*server)->drain(
      503,
      failure
          ? api::apiError(*failure).body()
          : api::ApiError{503, "the server is shutting down", "", errors::kShuttingDown}.body());
  for (const auto &model : models->all())
    model->service().refuseWaiting();
  // A second signal ends the wait. After a failure, /health stays reachable for at least one
  // second.
  for (int64_t tenths = 0; tenths < options.drainSeconds * 10; ++tenths) {
    const bool idle = (*server)->waitUntilIdle(std::chrono::milliseconds(100));
    if (idle && (!failure || tenths >= 10))
      break;
    const timespec rest{.tv_sec = 0, .tv_nsec = idle ? 100'000'000 : 0};
    if (int again = sigtimedwait(&signals, nullptr, &rest); again == SIGTERM || again == SIGINT)
      break;
  }
  (*server)->stop();
  routes.reset();
  const bool ended = models->stopAll();
  if (!failure && (failure = models->failure())) // failed in the meantime
    log->say(*failure);
  if (!failure && !ended) {
    failure = std::make_shared<Error>(
        Error{ExitCode::Device, errors::kStepHangs, "a step of the engine does not end",
              "the server ended without waiting for it", "start it again"});
    log->say(*failure);
  }
  log->say("stopped", "stop", {});
  if (!failure)
    return 0;
  for (const auto &model : models->all())
    if (model->service().stop(0))
      (void)model->service().writeTrace();
  // Skip the exit handlers, because a thread may hang and a device's own library may wait for it.
  log = Error{}; // flushes the pending log lines
  std::_Exit(int(failure->exit));
}

} // namespace

Action defineServe(CommandLine &command) {
  auto options = std::make_shared<ServeOptions>();
  options->defineEngine(command);
  const char *service = ServeModels::kGroup;
  command.option("--host", options->http.host, "address to listen on").showDefault().group(service);
  command.option("--port", options->http.port, "port; 0: any free one")
      .showDefault()
      .group(service);
  options->defineService(command);
  command
      .option("--drain", options->drainSeconds,
              "seconds for running requests to finish at shutdown")
      .range(int64_t{0}, int64_t{86400})
      .showDefault()
      .group(service);
  const char *access = "Access";
  command.option("--api-key", options->http.apiKeys, "a key that clients must send (repeatable)")
      .takesOne()
      .group(access);
  command
      .option("--api-key-file", options->apiKeyFile,
              "a file with one key per line; # starts a comment")
      .group(access);
  command
      .flag("--open-metrics", options->openMetrics,
            "answer /metrics without a key, for scrapers that send none; also while draining")
      .group(access);
  command
      .option(
          "--allowed-origin", options->http.allowedOrigins,
          "an origin whose pages may call the server (CORS; repeatable); localhost: pages of this "
          "machine, on any port; *: all")
      .takesOne()
      .group(access);
  command
      .option("--allowed-host", options->http.allowedHosts,
              "a Host header to accept in addition to this machine's (repeatable)")
      .takesOne()
      .group(access);
  auto certificate =
      command.option("--tls-cert", options->http.tlsCertificate, "PEM file: serve https")
          .group(access);
  command.option("--tls-key", options->http.tlsKey, "PEM file of its key")
      .needs(certificate)
      .group(access);
  command.examples(
      "  ingot serve smollm2.ingot\n"
      "  ingot serve smollm2.ingot --port 8080 --api-key-file keys.txt --max-seqs 64\n"
      "  curl localhost:8000/v1/chat/completions -H 'Content-Type: application/json' \\\n"
      "    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}]}'\n");
  return [options] { return serve(*options); };
}

} // namespace ingot::cli

//===- Serve.cpp - ingot serve: engines behind an HTTP server ---------------===//
//
// The port is bound before a model is loaded, so that what is wrong with it is said at once, and
// opened to clients when all models are ready.
//
//   SIGTERM, SIGINT   new requests are refused, what runs may finish within --drain; a second one
//                     ends the rest
//   a failed engine   as SIGTERM, but what asked it ends at once, and the exit code is 4: whoever
//                     watches over the process starts it again
//   SIGHUP            keys and certificates are read again; every engine file is opened again,
//                     verified, and takes over; requests under way finish on the engine that they
//                     began with
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/HostMemory.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Inspect.h"
#include "runtime/server/api/Api.h"
#include "runtime/server/http/Server.h"
#include "tools/ingot/Command.h"
#include "tools/ingot/Console.h"
#include "tools/ingot/EngineOptions.h"
#include "tools/ingot/Files.h"
#include "tools/ingot/KvBudget.h"
#include "tools/ingot/ServedOptions.h"
#include "tools/ingot/ServerLog.h"

#include <algorithm>
#include <csignal>

namespace ingot::cli {

namespace {

struct ServeOptions {
  EngineOptions engine;
  http::ServerOptions http;
  std::vector<std::string> moreModels; ///< NAME=PATH
  std::vector<std::string> kvMemory;   ///< SIZE or NAME=SIZE
  ServedOptions served;
  std::string modelName, apiKeyFile;
  ServerLogOptions log;
  bool fair = false, openMetrics = false;
  double itlMs = 0, ttftMs = 0;
  int64_t queueRequests = 256, queueTokens = 1'000'000, drainSeconds = 30;
  double stepLimit = -1;
};

struct ModelSource {
  std::string name, path;
  uint64_t kvMemory = 0; ///< 0: what a single model gets
};

/// Signals that a server listens to; blocked in every thread, taken by sigwait in the main one.
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
                 "write one key a line; # begins a comment"};
  return keys;
}

Result<std::shared_ptr<service::ServedModel>>
openModel(const ServeOptions &options, const ModelSource &source, const api::Post &post) {
  EngineOptions engine = options.engine;
  engine.model = source.path;
  engine.limits.kvMemory = source.kvMemory;
  runtime::SessionOptions session;
  session.fair = options.fair;
  session.targetItl = options.itlMs * 1e-3;
  session.targetTtft = options.ttftMs * 1e-3;
  service::ServiceOptions service;
  service.queueRequests = options.queueRequests;
  service.queueTokens = options.queueTokens;
  service.stepLimit = options.stepLimit;
  service.dispatch = post;
  auto model = options.served.open(std::move(engine), source.name, session, std::move(service));
  if (model)
    (*model)->prepareGrammars();
  return model;
}

/// What each model gets of the memory for KV pages. Several share it.
Result<void> shareKv(const ServeOptions &options, std::vector<ModelSource> &sources) {
  std::vector<KvUser> users;
  for (const ModelSource &source : sources) {
    EngineOptions engine = options.engine;
    engine.model = source.path;
    auto path = engine.enginePath();
    if (!path)
      return path.error();
    auto file = runtime::EngineFile::open(*path);
    if (!file)
      return file.error();
    auto need = runtime::kvNeed(*path, engine.withLimits(ServedOptions::defaults({})));
    if (!need)
      return need.error();
    const std::string own = (*file)->table().model()->name()->str();
    users.push_back({{source.name.empty() ? own : source.name, fileStem(source.path)}, *need});
  }
  // A device whose memory is taken at once: each takes its part of what is left.
  if (options.kvMemory.empty() && std::ranges::any_of(users, [](auto &user) { return !user.need; }))
    return {};
  auto shares = divideKv(options.kvMemory, users, cpu::availableMemory());
  if (!shares)
    return shares.error();
  for (size_t i = 0; i < sources.size(); ++i)
    sources[i].kvMemory = (*shares)[i];
  return {};
}

/// E0557 where what all models take does not fit what was free before; says the sum.
Result<void> checkSum(const ServeOptions &options, const service::ModelRegistry &models,
                      uint64_t available) {
  if (models.all().size() < 2)
    return {};
  uint64_t kv = 0, all = 0;
  std::string parts;
  for (const auto &model : models.all()) {
    const runtime::MemoryStatement &use = model->session().memory();
    kv += use.kv;
    all += use.allocated();
    parts += (parts.empty() ? "" : ", ") + model->name() + " " + runtime::humanBytes(use.kv);
  }
  const std::string sum = runtime::humanBytes(kv) + " KV of " +
                          std::to_string(models.all().size()) + " models (" + parts +
                          "), with working memory " + runtime::humanBytes(all);
  if (available && all > available &&
      models.all().front()->session().memory().kind == runtime::DeviceKind::Cpu)
    return Error{ExitCode::File, "E0557", "the models do not fit the free memory together",
                 sum + "; " + runtime::humanBytes(available) + " are free",
                 "lower --kv-memory, --swap or --max-seqs, or serve fewer models"};
  options.engine.common.say(
      sum + (available ? " of " + runtime::humanBytes(available) + " free" : std::string()));
  return {};
}

/// The next of the signals, or 0 as soon as a model has failed.
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

/// Families for /metrics: what the transport counts.
std::string connectionMetrics(const http::ServerStats &stats) {
  std::string out;
  auto family = [&](const std::string &name, const char *help, const char *type, uint64_t value) {
    out += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n" + name + " " +
           std::to_string(value) + "\n";
  };
  family("ingot:connections", "Open connections.", "gauge", stats.connections);
  family("ingot:connections_total", "Connections taken.", "counter", stats.accepted);
  family("ingot:connections_refused_total", "Connections beyond the limit.", "counter",
         stats.refused);
  family("ingot:http_bad_requests_total", "Requests that the transport refused: 400, 401, 403, …",
         "counter", stats.badRequests);
  family("ingot:slow_clients_dropped_total", "Clients that did not read their answers.", "counter",
         stats.droppedSlow);
  return out;
}

/// A model of a file whose every byte is as it was written. Weights are not looked at when an
/// engine is opened; here there is time for that, since the old one serves meanwhile.
Result<std::shared_ptr<service::ServedModel>>
openVerified(const ServeOptions &options, const ModelSource &source, const api::Post &post) {
  EngineOptions engine = options.engine;
  engine.model = source.path;
  auto path = engine.enginePath();
  if (!path)
    return path.error();
  auto file = runtime::EngineFile::open(*path, runtime::VerifyLevel::Everything);
  if (!file)
    return file.error();
  auto model = openModel(options, source, post);
  if (model && (*model)->session().engine().header().tableHash != (*file)->header().tableHash)
    return Error{ExitCode::File, "E0558", *path + " was replaced while it was verified", "",
                 "send SIGHUP again"};
  return model;
}

/// Keys and certificates as their files are now; what cannot be read changes nothing.
void renewAccess(const ServeOptions &options, const std::vector<std::string> &given,
                 http::Server &server, const ServerLog &log) {
  ServeOptions now = options;
  now.http.apiKeys = given;
  auto keys = readKeys(now);
  auto renewed = keys ? server.renew(*keys) : Result<void>(keys.error());
  if (renewed)
    return;
  log.say(renewed.error());
  log.say("keys and certificates stay as they were", "renew_failed", {});
}

/// Opens what the files hold now; a file that cannot be opened leaves the old engine in place.
void reload(const ServeOptions &options, const std::vector<ModelSource> &sources,
            service::ModelRegistry &models, const api::Post &post, const ServerLog &log) {
  for (const ModelSource &source : sources) {
    auto model = openVerified(options, source, post);
    if (!model) {
      log.say(model.error());
      log.say("the engine that was there goes on serving", "reload_failed",
              {{"model", source.name}});
      continue;
    }
    log.say("reloaded " + (*model)->name(), "reload", {{"model", (*model)->name()}});
    models.add(std::move(*model));
  }
}

Result<int> serve(ServeOptions options) {
  const sigset_t signals = serverSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr); // inherited by all threads that come
  const std::vector<std::string> givenKeys = options.http.apiKeys;
  auto keys = readKeys(options);
  if (!keys)
    return keys.error();
  options.http.apiKeys = std::move(*keys);
  options.http.openPaths = {"/health", "/ping"};
  if (options.openMetrics)
    options.http.openPaths.push_back("/metrics");

  std::vector<ModelSource> sources{{options.modelName, options.engine.model}};
  for (const std::string &more : options.moreModels) {
    const size_t sign = more.find('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == more.size())
      return Error{ExitCode::Usage, "E0554", "--model cannot be read: " + more, "",
                   "give NAME=PATH, as --model small=smollm2.ingot"};
    sources.push_back({more.substr(0, sign), more.substr(sign + 1)});
  }

  auto log = ServerLog::open(options.log, options.engine.common.quiet, INGOT_VERSION);
  if (!log)
    return log.error();
  std::unique_ptr<api::Api> routes;
  options.http.onRefusal = [&routes](const http::RefusedRequest &refused) {
    routes->refused(refused);
  };
  auto server = http::Server::create(
      options.http, [&](http::Request request, std::shared_ptr<http::Responder> responder) {
        routes->handle(std::move(request), std::move(responder));
      });
  if (!server)
    return server.error();
  api::Post post = [&server](std::function<void()> work) { (*server)->post(std::move(work)); };
  auto models = std::make_shared<service::ModelRegistry>();
  const uint64_t available = cpu::availableMemory();
  if (auto shared = shareKv(options, sources); !shared)
    return shared.error();
  for (ModelSource &source : sources) {
    auto model = openModel(options, source, post);
    if (!model)
      return model.error();
    if (source.name.empty())
      source.name = (*model)->name();
    else if (models->find(source.name) && models->all().size())
      return Error{ExitCode::Usage, "E0555", "two models have the name " + source.name, "",
                   "give another name: --model NAME=PATH"};
    models->add(std::move(*model));
  }
  if (auto fits = checkSum(options, *models, available); !fits)
    return fits.error();
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

  int signal = 0;
  std::shared_ptr<const Error> failure;
  while ((signal = nextSignal(signals, *models, failure)) == SIGHUP) {
    log->reopen();
    renewAccess(options, givenKeys, **server, *log);
    reload(options, sources, *models, post, *log);
  }
  if (failure)
    log->say(*failure);
  log->say("draining: requests under way have " + std::to_string(options.drainSeconds) + " s",
           "drain",
           {{"signal", failure             ? "none"
                       : signal == SIGTERM ? "SIGTERM"
                                           : "SIGINT"}});
  routes->setDraining();
  (*server)->drain(503,
                   failure ? api::apiError(*failure).body()
                           : api::ApiError{503, "the server is shutting down", "", "E0561"}.body());
  for (const auto &model : models->all())
    model->service().refuseWaiting();
  // A second signal ends the wait. After a failure there is a second for those who ask for /health.
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
  if (!failure && (failure = models->failure())) // meanwhile
    log->say(*failure);
  if (!failure && !ended) {
    failure = std::make_shared<Error>(Error{ExitCode::Device, "E0725",
                                            "a step of the engine does not end",
                                            "the server has ended without it", "start it again"});
    log->say(*failure);
  }
  log->say("stopped", "stop", {});
  if (!failure)
    return 0;
  for (const auto &model : models->all())
    if (model->service().stop(0))
      (void)model->service().writeTrace();
  // A thread that hangs is no company for what ends at a program's end: a device's own library may
  // wait for it.
  log = Error{}; // what is not written yet is
  std::_Exit(int(failure->exit));
}

} // namespace

Action defineServe(CommandLine &command) {
  auto options = std::make_shared<ServeOptions>();
  options->engine.define(command);
  // Here it is of all models together, or of one by name.
  Option kvMemory = command.find("--kv-memory");
  const std::string limits = kvMemory.group();
  command.remove(kvMemory);
  command
      .option("--kv-memory", options->kvMemory,
              "bytes for KV pages of all models, as 800M or 2GiB, which share them by need; "
              "NAME=SIZE: of one of them (default: half of the free memory, of a GPU's half of "
              "what is left)")
      .takesOne()
      .group(limits);
  const char *service = "Service";
  command.option("--host", options->http.host, "address to listen on").showDefault().group(service);
  command.option("--port", options->http.port, "port; 0: any free one")
      .showDefault()
      .group(service);
  command
      .option("--model-name", options->modelName,
              "what requests call the model (default: its name in the engine)")
      .group(service);
  command.option("--model", options->moreModels, "NAME=PATH: one more engine (repeatable)")
      .takesOne()
      .group(service);
  command.option("--queue", options->queueRequests, "requests that may wait; more are answered 429")
      .range(int64_t{0}, int64_t{1} << 20)
      .showDefault()
      .group(service);
  command.option("--queue-tokens", options->queueTokens, "prompt tokens that may wait")
      .range(int64_t{1}, int64_t{1} << 40)
      .showDefault()
      .group(service);
  command.option("--ttft-ms", options->ttftMs, "first tokens that are wanted within this time")
      .notNegative()
      .group(service);
  command
      .option("--itl-ms", options->itlMs,
              "time between two tokens to keep to, when prompts come in (default: at most about "
              "twice that of a step without them)")
      .notNegative()
      .group(service);
  command
      .flag("--fair", options->fair,
            "keys, or users within one, share alike (default: who comes first)")
      .group(service);
  command.option("--drain", options->drainSeconds, "seconds that running requests have at the end")
      .range(int64_t{0}, int64_t{86400})
      .showDefault()
      .group(service);
  command
      .option("--step-limit", options->stepLimit,
              "seconds after which a step of the engine counts as hung, and the server ends "
              "(default: 20 times "
              "what its costs say of the longest, 60 at least); 0: never")
      .range(0.0, 1e6)
      .group(service);
  options->served.define(command, service);
  options->log.define(command);
  const char *access = "Access";
  command.option("--api-key", options->http.apiKeys, "a key that clients must give (repeatable)")
      .takesOne()
      .group(access);
  command
      .option("--api-key-file", options->apiKeyFile,
              "a file with one key a line; # begins a comment")
      .group(access);
  command
      .flag("--open-metrics", options->openMetrics,
            "answer /metrics without a key, for scrapers that send none; also while draining")
      .group(access);
  command
      .option("--allowed-origin", options->http.allowedOrigins,
              "a site whose pages may call (CORS; repeatable; * for all)")
      .takesOne()
      .group(access);
  command
      .option("--allowed-host", options->http.allowedHosts,
              "a Host header to serve besides this machine's (repeatable)")
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

//===- ServeModels.cpp - See ServeModels.h ------------------------------------===//
#include "tools/ingot/serve/ServeModels.h"

#include "runtime/device/cpu/HostMemory.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Inspect.h"
#include "tools/ingot/serve/KvBudget.h"

#include <algorithm>

namespace ingot::cli {

namespace {

Result<std::shared_ptr<service::ServedModel>>
openModel(const ServeModels &options, const ModelSource &source, const api::Post &post) {
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

/// Divides the memory for KV pages among the models.
Result<void> shareKv(const ServeModels &options, std::vector<ModelSource> &sources) {
  std::vector<KvUser> users;
  uint64_t locked = 0; // bytes of locked weights, which are not available to KV pages
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
    if (options.engine.limits.lock)
      locked += (*file)->fileBytes();
    users.push_back({{source.name.empty() ? own : source.name, fileStem(source.path)}, *need});
  }
  // A need of 0 means that a model runs on a device where free memory determines the size. Each model then takes
  // its part of the remaining memory when it opens.
  if (options.kvMemory.empty() && std::ranges::any_of(users, [](auto &user) { return !user.need; }))
    return {};
  uint64_t available = cpu::availableMemory();
  if (available > locked)
    available -= locked;
  auto shares = divideKv(options.kvMemory, users, available);
  if (!shares)
    return shares.error();
  for (size_t i = 0; i < sources.size(); ++i)
    sources[i].kvMemory = (*shares)[i];
  return {};
}

/// Reports the total memory of all models. Errors: E0557: it exceeds the memory that was free
/// before.
Result<void> checkSum(const ServeModels &options, const service::ModelRegistry &models,
                      uint64_t available) {
  if (models.all().size() < 2)
    return {};
  uint64_t kv = 0, all = 0;
  std::string parts;
  for (const auto &model : models.all()) {
    const runtime::MemoryPlan &use = model->session().memory();
    kv += use.kv;
    all += use.kept();
    parts += (parts.empty() ? "" : ", ") + model->name() + " " + runtime::humanBytes(use.kv);
  }
  const std::string sum = runtime::humanBytes(kv) + " KV of " +
                          std::to_string(models.all().size()) + " models (" + parts +
                          "), with working memory " + runtime::humanBytes(all);
  if (available && all > available &&
      models.all().front()->session().memory().kind == DeviceKind::Cpu)
    return Error{ExitCode::File, "E0562", "the models do not fit the free memory together",
                 sum + "; " + runtime::humanBytes(available) + " are free",
                 "lower --kv-memory, --swap or --max-seqs, or serve fewer models"};
  options.engine.common.say(
      sum + (available ? " of " + runtime::humanBytes(available) + " free" : std::string()));
  return {};
}

} // namespace

Result<std::vector<ModelSource>> modelSources(const ServeModels &options) {
  std::vector<ModelSource> sources{{options.modelName, options.engine.model}};
  for (const std::string &more : options.moreModels) {
    const size_t sign = more.find('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == more.size())
      return Error{ExitCode::Usage, "E0554", "--model cannot be read: " + more, "",
                   "give NAME=PATH, such as --model small=smollm2.ingot"};
    sources.push_back({more.substr(0, sign), more.substr(sign + 1)});
  }
  if (options.served.rules.anyName && sources.size() > 1)
    return Error{ExitCode::Usage, "E0564", "--any-model-name works only with one model",
                 std::to_string(sources.size()) +
                     " models are served, and requests select one by name",
                 "omit --any-model-name, or all but one --model"};
  return sources;
}

Result<std::shared_ptr<service::ModelRegistry>>
openModels(const ServeModels &options, std::vector<ModelSource> &sources, const api::Post &post) {
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
  return models;
}

Result<std::shared_ptr<service::ServedModel>>
openVerified(const ServeModels &options, const ModelSource &source, const api::Post &post) {
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

void ServeModels::defineEngine(CommandLine &command) {
  engine.define(command);
  // In a server the option applies to all models together, or to one by name.
  Option single = command.find("--kv-memory");
  const std::string limits = single.group();
  command.remove(single);
  command
      .option(
          "--kv-memory", kvMemory,
          "bytes for KV pages of all models, such as 800M or 2GiB, shared as needed; NAME=SIZE: "
          "for one model (default: half of the free memory, on a GPU half of the rest)")
      .takesOne()
      .group(limits);
}

void ServeModels::defineService(CommandLine &command) {
  const char *service = kGroup;
  command
      .option("--model-name", modelName,
              "the model name in requests (default: its name in the engine)")
      .group(service);
  command.option("--model", moreModels, "NAME=PATH: one more engine (repeatable)")
      .takesOne()
      .group(service);
  command
      .option("--queue", queueRequests,
              "maximum of waiting requests; further ones are answered 429")
      .range(int64_t{0}, int64_t{1} << 20)
      .showDefault()
      .group(service);
  command.option("--queue-tokens", queueTokens, "maximum of waiting prompt tokens")
      .range(int64_t{1}, int64_t{1} << 40)
      .showDefault()
      .group(service);
  command.option("--ttft-ms", ttftMs, "target for the time to the first token")
      .notNegative()
      .group(service);
  command
      .option("--itl-ms", itlMs,
              "target for the time between two tokens while prompts arrive (default: at most about "
              "twice that of a step without prompts)")
      .notNegative()
      .group(service);
  command
      .flag("--fair", fair,
            "share equally between keys, or between users of one key (default: first come, first "
            "served)")
      .group(service);
  command
      .option(
          "--step-limit", stepLimit,
          "seconds after which a step of the engine counts as hung, and the server ends (default: "
          "20 times the predicted longest step, at least 60); 0: never")
      .range(0.0, 1e6)
      .group(service);
  served.define(command, service);
  log.define(command);
}

} // namespace ingot::cli

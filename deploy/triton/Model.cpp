//===- Model.cpp - Loading, running and unloading a model --------------------===//
#include "deploy/triton/Model.h"

#include <chrono>

namespace ingot::triton {

namespace {

struct MessageOwner {
  void operator()(TRITONSERVER_Message *message) const {
    expectFine(TRITONSERVER_MessageDelete(message), "MessageDelete");
  }
};
using MessagePtr = std::unique_ptr<TRITONSERVER_Message, MessageOwner>;

constexpr uint32_t kConfigVersion = 1;

Outcome configOf(TRITONBACKEND_Model *model, std::string &json) {
  TRITONSERVER_Message *message = nullptr;
  if (Outcome failed = taken(TRITONBACKEND_ModelConfig(model, kConfigVersion, &message)))
    return failed;
  const MessagePtr owned(message);
  const char *base = nullptr;
  size_t size = 0;
  if (Outcome failed = taken(TRITONSERVER_MessageSerializeToJson(message, &base, &size)))
    return failed;
  json.assign(base, size);
  return {};
}

Outcome complete(TRITONBACKEND_Model *model, std::string &json) {
  bool wanted = false;
  if (Outcome failed = taken(TRITONBACKEND_ModelAutoCompleteConfig(model, &wanted)))
    return failed;
  const std::string more = wanted ? completed(json) : std::string();
  if (more.empty())
    return {};
  TRITONSERVER_Message *message = nullptr;
  if (Outcome failed =
          taken(TRITONSERVER_MessageNewFromSerializedJson(&message, more.data(), more.size())))
    return failed;
  const MessagePtr owned(message);
  if (Outcome failed = taken(TRITONBACKEND_ModelSetConfig(model, kConfigVersion, message)))
    return failed;
  return configOf(model, json); // as the server accepted it
}

} // namespace

uint64_t steadyNow() {
  return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::steady_clock::now().time_since_epoch())
                      .count());
}

Outcome Model::open(TRITONBACKEND_Model *given, std::unique_ptr<Model> &into) {
  std::unique_ptr<Model> model(new Model());
  const char *name = nullptr, *location = nullptr;
  uint64_t version = 0;
  TRITONBACKEND_ArtifactType type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  std::string json;
  if (Outcome failed = taken(TRITONBACKEND_ModelName(given, &name)))
    return failed;
  if (Outcome failed = taken(TRITONBACKEND_ModelVersion(given, &version)))
    return failed;
  if (Outcome failed = taken(TRITONBACKEND_ModelRepository(given, &type, &location)))
    return failed;
  if (Outcome failed = configOf(given, json))
    return failed;
  if (Outcome failed = complete(given, json))
    return failed;
  model->name = name;
  model->version = std::to_string(version);
  if (Outcome failed =
          Settings::read(json, std::string(location) + "/" + model->version, model->itsSettings))
    return failed;
  if (Outcome failed = model->openEngine())
    return failed;
  TRITONBACKEND_Backend *backend = nullptr;
  void *families = nullptr;
  if (Outcome failed = taken(TRITONBACKEND_ModelBackend(given, &backend)))
    return failed;
  if (Outcome failed = taken(TRITONBACKEND_BackendState(backend, &families)))
    return failed;
  model->metrics = std::make_unique<Metrics>(*static_cast<MetricFamilies *>(families), model->name,
                                             model->version);
  model->metrics->update(model->itsExecutor);
  model->watcher = std::thread([self = model.get()] { self->watch(); });
  into = std::move(model);
  return {};
}

Outcome Model::openEngine() {
  const ingot_config config = itsSettings.config();
  ingot_error *error = nullptr;
  if (ingot_executor_open(itsSettings.engine.c_str(), &config, &itsExecutor, &error))
    return failureOf(IngotErrorPtr(error).get());
  ingot_model is = {};
  is.struct_size = sizeof is;
  ingot_model_get(itsExecutor, &is);
  log(TRITONSERVER_LOG_INFO, "ingot: '" + name + "' version " + version + ": " + is.name + " as " +
                                 is.target + " on " + is.device + ", context " +
                                 std::to_string(is.context) + ", " + std::to_string(is.max_seqs) +
                                 " sequences a step, " + std::to_string(is.kv_bytes / (1 << 20)) +
                                 " MiB of KV pages, loaded in " +
                                 std::to_string(int64_t(is.load_ms)) + " ms");
  if (*is.remark)
    log(TRITONSERVER_LOG_WARN, "ingot: '" + name + "': " + is.remark);
  return {};
}

Model::~Model() {
  if (watcher.joinable()) {
    itsUnderWay.wake(stopping);
    watcher.join();
  }
  ingot_executor_close(itsExecutor); // ends its output thread
}

void Model::execute(TRITONBACKEND_ModelInstance *instance,
                    std::span<TRITONBACKEND_Request *> requests) {
  const uint64_t now = steadyNow();
  for (TRITONBACKEND_Request *request : requests)
    Answer::start(*this, instance, request, now);
}

void Model::unload(TRITONBACKEND_ModelInstance *instance) {
  for (const uint64_t id : itsUnderWay.unload(instance))
    ingot_cancel(itsExecutor, id);
  itsUnderWay.waitUntilNone(instance);
}

void Model::watch() {
  for (;;) {
    itsUnderWay.waitForNew(stopping);
    for (bool idle = false; !idle;) {
      itsUnderWay.waitFor(itsSettings.checkPeriodMs, stopping);
      idle = itsUnderWay.none(); // read before the update, so that the last update includes the end
      for (const uint64_t id : itsUnderWay.newlyCancelled())
        ingot_cancel(itsExecutor, id);
      // An answer may reach its client before the executor counts its end, so the executor's counts must agree.
      idle &= !metrics->update(itsExecutor);
      if (itsUnderWay.stopped(stopping))
        return;
    }
  }
}

} // namespace ingot::triton

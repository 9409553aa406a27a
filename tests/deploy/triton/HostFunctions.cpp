//===- HostFunctions.cpp - The functions that the backend calls --------------===//
#include "tests/deploy/triton/HostObjects.h"

#include <utility>

using namespace ingot::test;

namespace {

std::atomic<int64_t> alive = 0;
std::atomic<uint32_t> minorVersion = 19;
std::mutex recordMutex;
std::vector<std::string> violations, logged;
std::map<std::string, double> metricValues;

TRITONSERVER_Error *error(TRITONSERVER_Error_Code code, const std::string &text) {
  return TRITONSERVER_ErrorNew(code, text.c_str());
}

} // namespace

namespace ingot::test {

Counted::Counted() { ++alive; }
Counted::~Counted() { --alive; }

void violation(const std::string &what) {
  const std::lock_guard lock(recordMutex);
  violations.push_back(what);
}
std::vector<std::string> hostViolations() {
  const std::lock_guard lock(recordMutex);
  return std::exchange(violations, {});
}
std::vector<std::string> hostLog() {
  const std::lock_guard lock(recordMutex);
  return std::exchange(logged, {});
}
int64_t hostObjects() { return alive; }
void setHostMinorVersion(uint32_t minor) { minorVersion = minor; }
std::optional<double> hostMetric(const std::string &name) {
  const std::lock_guard lock(recordMutex);
  const auto found = metricValues.find(name);
  return found == metricValues.end() ? std::nullopt : std::optional(found->second);
}

} // namespace ingot::test

extern "C" {

TRITONSERVER_Error *TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char *message) {
  auto *made = new TRITONSERVER_Error;
  made->code = code;
  made->text = message;
  return made;
}
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error *gone) { delete gone; }
TRITONSERVER_Error_Code TRITONSERVER_ErrorCode(TRITONSERVER_Error *of) { return of->code; }
const char *TRITONSERVER_ErrorMessage(TRITONSERVER_Error *of) { return of->text.c_str(); }

TRITONSERVER_Error *TRITONSERVER_LogMessage(TRITONSERVER_LogLevel level, const char *, const int,
                                            const char *message) {
  if (level == TRITONSERVER_LOG_ERROR)
    violation(std::string("logged as an error: ") + message);
  const std::lock_guard lock(recordMutex);
  logged.emplace_back(message);
  return nullptr;
}

TRITONSERVER_Error *TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message **message,
                                                              const char *base, size_t size) {
  *message = new TRITONSERVER_Message;
  (*message)->json.assign(base, size);
  return nullptr;
}
TRITONSERVER_Error *TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message *message,
                                                        const char **base, size_t *size) {
  *base = message->json.data();
  *size = message->json.size();
  return nullptr;
}
TRITONSERVER_Error *TRITONSERVER_MessageDelete(TRITONSERVER_Message *message) {
  delete message;
  return nullptr;
}

TRITONSERVER_Parameter *TRITONSERVER_ParameterNew(const char *name,
                                                  const TRITONSERVER_ParameterType type,
                                                  const void *value) {
  if (type != TRITONSERVER_PARAMETER_STRING)
    violation("a label that is no string");
  auto *made = new TRITONSERVER_Parameter;
  made->name = name;
  made->value = static_cast<const char *>(value);
  return made;
}
void TRITONSERVER_ParameterDelete(TRITONSERVER_Parameter *parameter) { delete parameter; }
TRITONSERVER_Error *TRITONSERVER_MetricFamilyNew(TRITONSERVER_MetricFamily **family,
                                                 const TRITONSERVER_MetricKind kind,
                                                 const char *name, const char *) {
  *family = new TRITONSERVER_MetricFamily;
  (*family)->kind = kind;
  (*family)->name = name;
  return nullptr;
}
TRITONSERVER_Error *TRITONSERVER_MetricFamilyDelete(TRITONSERVER_MetricFamily *family) {
  if (family->metrics)
    violation("a family of metrics went before its metrics");
  delete family;
  return nullptr;
}
TRITONSERVER_Error *TRITONSERVER_MetricNew(TRITONSERVER_Metric **metric,
                                           TRITONSERVER_MetricFamily *family,
                                           const TRITONSERVER_Parameter **labels,
                                           const uint64_t count) {
  *metric = new TRITONSERVER_Metric;
  (*metric)->family = family;
  ++family->metrics;
  std::string key = family->name + "{";
  for (uint64_t i = 0; i < count; ++i)
    key += (i ? "," : "") + labels[i]->name + "=" + labels[i]->value;
  (*metric)->key = key + "}";
  const std::lock_guard lock(recordMutex);
  metricValues[(*metric)->key] = 0;
  return nullptr;
}
TRITONSERVER_Error *TRITONSERVER_MetricDelete(TRITONSERVER_Metric *metric) {
  --metric->family->metrics;
  delete metric;
  return nullptr;
}
TRITONSERVER_Error *TRITONSERVER_MetricIncrement(TRITONSERVER_Metric *metric, double value) {
  if (metric->family->kind == TRITONSERVER_METRIC_KIND_COUNTER && value < 0)
    return error(TRITONSERVER_ERROR_INVALID_ARG, "a counter cannot go down");
  const std::lock_guard lock(recordMutex);
  metricValues[metric->key] += value;
  return nullptr;
}
TRITONSERVER_Error *TRITONSERVER_MetricSet(TRITONSERVER_Metric *metric, double value) {
  if (metric->family->kind != TRITONSERVER_METRIC_KIND_GAUGE)
    return error(TRITONSERVER_ERROR_UNSUPPORTED, "a counter cannot be set");
  const std::lock_guard lock(recordMutex);
  metricValues[metric->key] = value;
  return nullptr;
}

TRITONSERVER_Error *TRITONBACKEND_ApiVersion(uint32_t *major, uint32_t *minor) {
  *major = 1;
  *minor = minorVersion;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_BackendState(TRITONBACKEND_Backend *backend, void **state) {
  *state = backend->state;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_BackendSetState(TRITONBACKEND_Backend *backend, void *state) {
  backend->state = state;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
    TRITONBACKEND_BackendAttribute *attributes, const TRITONSERVER_InstanceGroupKind kind,
    const uint64_t, const uint64_t *, const uint64_t) {
  attributes->preferred = kind;
  return nullptr;
}

TRITONSERVER_Error *TRITONBACKEND_ModelName(TRITONBACKEND_Model *model, const char **name) {
  *name = model->name.c_str();
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelVersion(TRITONBACKEND_Model *, uint64_t *version) {
  *version = 1;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelRepository(TRITONBACKEND_Model *model,
                                                  TRITONBACKEND_ArtifactType *type,
                                                  const char **location) {
  *type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = model->folder.c_str();
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelConfig(TRITONBACKEND_Model *model, const uint32_t version,
                                              TRITONSERVER_Message **config) {
  if (version != 1)
    return error(TRITONSERVER_ERROR_UNSUPPORTED, "version 1 alone");
  return TRITONSERVER_MessageNewFromSerializedJson(config, model->config.data(),
                                                   model->config.size());
}
TRITONSERVER_Error *TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model *model,
                                                          bool *complete) {
  *complete = model->autoComplete;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model *model, const uint32_t,
                                                 TRITONSERVER_Message *config) {
  if (!model->initialising || !model->autoComplete)
    return error(TRITONSERVER_ERROR_INVALID_ARG, "the configuration cannot be set now");
  model->config = config->json;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelBackend(TRITONBACKEND_Model *model,
                                               TRITONBACKEND_Backend **backend) {
  *backend = model->backend;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelState(TRITONBACKEND_Model *model, void **state) {
  *state = model->state;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelSetState(TRITONBACKEND_Model *model, void *state) {
  model->state = state;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance *instance,
                                                    TRITONSERVER_InstanceGroupKind *kind) {
  *kind = instance->kind;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance *instance,
                                                     TRITONBACKEND_Model **model) {
  *model = instance->model;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance *instance,
                                                     void **state) {
  *state = instance->state;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance *instance,
                                                        void *state) {
  instance->state = state;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportStatistics(
    TRITONBACKEND_ModelInstance *instance, TRITONBACKEND_Request *request, const bool success,
    const uint64_t executeStart, const uint64_t computeStart, const uint64_t computeEnd,
    const uint64_t executeEnd) {
  if (std::exchange(request->reported, true))
    violation("statistics of a request were reported twice");
  if (!(executeStart && executeStart <= computeStart && computeStart <= computeEnd &&
        computeEnd <= executeEnd))
    violation("times are not in order");
  const std::lock_guard lock(instance->mutex);
  ++(success ? instance->statistics.success : instance->statistics.failure);
  instance->statistics.computeNs += computeEnd - computeStart;
  return nullptr;
}
TRITONSERVER_Error *
TRITONBACKEND_ModelInstanceReportBatchStatistics(TRITONBACKEND_ModelInstance *instance,
                                                 const uint64_t, const uint64_t, const uint64_t,
                                                 const uint64_t, const uint64_t) {
  const std::lock_guard lock(instance->mutex);
  ++instance->statistics.batches;
  return nullptr;
}

TRITONSERVER_Error *TRITONBACKEND_RequestInputCount(TRITONBACKEND_Request *request,
                                                    uint32_t *count) {
  *count = uint32_t(request->inputs.size());
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_RequestInputByIndex(TRITONBACKEND_Request *request,
                                                      const uint32_t index,
                                                      TRITONBACKEND_Input **input) {
  *input = &request->inputs.at(index);
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request *request,
                                                     uint32_t *count) {
  *count = uint32_t(request->content.outputs.size());
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request *request,
                                                    const uint32_t index, const char **name) {
  *name = request->content.outputs.at(index).c_str();
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_RequestParameterCount(TRITONBACKEND_Request *request,
                                                        uint32_t *count) {
  *count = uint32_t(request->content.parameters.size());
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_RequestParameter(TRITONBACKEND_Request *request,
                                                   const uint32_t index, const char **key,
                                                   TRITONSERVER_ParameterType *type,
                                                   const void **value) {
  const HostRequest::Parameter &parameter = request->content.parameters.at(index);
  *key = parameter.name.c_str();
  *type = TRITONSERVER_PARAMETER_STRING;
  *value = parameter.text.c_str();
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_RequestRelease(TRITONBACKEND_Request *request, uint32_t flags) {
  if (flags != TRITONSERVER_REQUEST_RELEASE_ALL)
    violation("a request was released with other flags");
  if (!request->reported)
    violation("a request was released before its statistics");
  const auto conversation = request->conversation;
  delete request;
  conversation->release();
  return nullptr;
}

TRITONSERVER_Error *TRITONBACKEND_InputProperties(TRITONBACKEND_Input *input, const char **name,
                                                  TRITONSERVER_DataType *type,
                                                  const int64_t **shape, uint32_t *dimensions,
                                                  uint64_t *size, uint32_t *buffers) {
  const HostRequest::Input &is = *input->input;
  *name = is.name.c_str();
  *type = is.tensor.type;
  *shape = is.tensor.shape.data();
  *dimensions = uint32_t(is.tensor.shape.size());
  *size = is.tensor.data.size();
  *buffers = uint32_t(is.buffers.size());
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_InputBuffer(TRITONBACKEND_Input *input, const uint32_t index,
                                              const void **buffer, uint64_t *size,
                                              TRITONSERVER_MemoryType *memory, int64_t *memoryId) {
  const std::string &is = input->input->buffers.at(index);
  *buffer = is.data();
  *size = is.size();
  *memory = input->input->memory;
  *memoryId = 0;
  return nullptr;
}

TRITONSERVER_Error *TRITONBACKEND_ResponseFactoryNew(TRITONBACKEND_ResponseFactory **factory,
                                                     TRITONBACKEND_Request *request) {
  *factory = new TRITONBACKEND_ResponseFactory;
  (*factory)->conversation = request->conversation;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ResponseFactoryDelete(TRITONBACKEND_ResponseFactory *factory) {
  delete factory;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ResponseFactorySendFlags(TRITONBACKEND_ResponseFactory *factory,
                                                           const uint32_t flags) {
  factory->conversation->receive({{}, {}, (flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0});
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ResponseFactoryIsCancelled(TRITONBACKEND_ResponseFactory *factory,
                                                             bool *cancelled) {
  *cancelled = factory->conversation->cancelled;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ResponseNewFromFactory(TRITONBACKEND_Response **response,
                                                         TRITONBACKEND_ResponseFactory *factory) {
  *response = new TRITONBACKEND_Response;
  (*response)->factory = factory;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ResponseDelete(TRITONBACKEND_Response *response) {
  delete response;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response *response,
                                                 TRITONBACKEND_Output **output, const char *name,
                                                 const TRITONSERVER_DataType type,
                                                 const int64_t *shape, const uint32_t dimensions) {
  const auto [entry, fresh] = response->outputs.try_emplace(name);
  if (!fresh)
    violation(std::string("the output '") + name + "' was made twice");
  entry->second.tensor.type = type;
  entry->second.tensor.shape.assign(shape, shape + dimensions);
  *output = &entry->second;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output *output, void **buffer,
                                               const uint64_t size, TRITONSERVER_MemoryType *memory,
                                               int64_t *memoryId) {
  output->tensor.data.resize(size);
  *buffer = output->tensor.data.data();
  *memory = TRITONSERVER_MEMORY_CPU;
  *memoryId = 0;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ResponseSend(TRITONBACKEND_Response *response,
                                               const uint32_t flags, TRITONSERVER_Error *failed) {
  HostResponse sent;
  sent.final = (flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0;
  if (failed)
    sent.error = HostError{failed->code, failed->text};
  for (auto &[name, output] : response->outputs)
    sent.outputs.emplace(name, std::move(output.tensor));
  if (response->factory->finished)
    violation("a response after the final one");
  response->factory->finished |= sent.final;
  const auto conversation = response->factory->conversation;
  delete response;
  conversation->receive(std::move(sent));
  return nullptr;
}

} // extern "C"

//===- TritonHost.cpp - Loads the backend and sends it requests --------------===//
#include "tests/deploy/triton/HostObjects.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace ingot::test {

std::vector<std::string> HostTensor::texts() const {
  std::vector<std::string> all;
  std::string_view rest = data;
  while (rest.size() >= 4) {
    uint32_t size = 0;
    std::memcpy(&size, rest.data(), 4);
    all.emplace_back(rest.substr(4, size));
    rest.remove_prefix(4 + size);
  }
  return all;
}

namespace {
template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}
} // namespace

HostRequest &HostRequest::tensor(const char *name, TRITONSERVER_DataType type,
                                 std::vector<int64_t> shape, std::string data) {
  inputs.push_back({name, {type, std::move(shape), std::move(data)}, {}});
  return *this;
}
HostRequest &HostRequest::text(const char *name, const std::vector<std::string> &values) {
  std::string data;
  for (const std::string &value : values) {
    const uint32_t size = uint32_t(value.size());
    data.append(reinterpret_cast<const char *>(&size), 4).append(value);
  }
  return tensor(name, TRITONSERVER_TYPE_BYTES, {int64_t(values.size())}, std::move(data));
}
HostRequest &HostRequest::ids(const char *name, const std::vector<int32_t> &values) {
  return tensor(name, TRITONSERVER_TYPE_INT32, {int64_t(values.size())}, bytesOf(values));
}
HostRequest &HostRequest::uint64(const char *name, uint64_t value) {
  return tensor(name, TRITONSERVER_TYPE_UINT64, {1}, bytesOf(std::vector{value}));
}
HostRequest &HostRequest::fp32(const char *name, float value) {
  return tensor(name, TRITONSERVER_TYPE_FP32, {1}, bytesOf(std::vector{value}));
}
HostRequest &HostRequest::flag(const char *name, bool value) {
  return tensor(name, TRITONSERVER_TYPE_BOOL, {1}, std::string(1, char(value)));
}
HostRequest &HostRequest::parameter(const std::string &name, const std::string &value) {
  parameters.push_back({name, value});
  return *this;
}
HostRequest &HostRequest::want(const char *output) {
  outputs.emplace_back(output);
  return *this;
}

void Conversation::receive(HostResponse response) {
  if (onResponse)
    onResponse(response);
  const std::lock_guard lock(mutex);
  if (finished)
    violation("a response after the final one");
  finished = response.final;
  all.push_back(std::move(response));
  changed.notify_all();
}
void Conversation::release() {
  const std::lock_guard lock(mutex);
  if (released)
    violation("a request was released twice");
  if (!finished)
    violation("a request was released before its final response");
  released = true;
  changed.notify_all();
}
void Conversation::wait() {
  std::unique_lock lock(mutex);
  if (!changed.wait_for(lock, std::chrono::seconds(120), [&] { return finished && released; })) {
    std::fputs("a request was not answered in two minutes\n", stderr);
    std::abort();
  }
}
bool Conversation::over() {
  const std::lock_guard lock(mutex);
  return finished && released;
}
std::vector<HostResponse> Conversation::responses() {
  wait();
  return all;
}
std::optional<HostError> Conversation::error() { return responses().back().error; }
std::string Conversation::text() {
  std::string text;
  for (const HostResponse &response : responses())
    if (const auto found = response.outputs.find("text_output"); found != response.outputs.end())
      for (const std::string &piece : found->second.texts())
        text += piece;
  return text;
}
std::vector<int32_t> Conversation::ids() {
  std::vector<int32_t> ids;
  for (const HostResponse &response : responses())
    if (const auto found = response.outputs.find("output_ids"); found != response.outputs.end())
      for (const int32_t id : found->second.values<int32_t>())
        ids.push_back(id);
  return ids;
}

template <typename T> T *HostBackend::entry(const char *name) {
  void *symbol = dlsym(library, name);
  if (!symbol) {
    std::fprintf(stderr, "the backend has no %s\n", name);
    std::abort();
  }
  return reinterpret_cast<T *>(symbol);
}

namespace {
std::optional<HostError> taken(TRITONSERVER_Error *error) {
  if (!error)
    return {};
  HostError is{error->code, error->text};
  delete error;
  return is;
}
void expectFine(TRITONSERVER_Error *error, const char *what) {
  if (const auto failed = taken(error))
    violation(std::string(what) + " failed: " + failed->text);
}
} // namespace

HostBackend::HostBackend(const std::string &path) : backend(new TRITONBACKEND_Backend) {
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); // as the server does
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
  if (const auto failed =
          taken(entry<decltype(TRITONBACKEND_Initialize)>("TRITONBACKEND_Initialize")(backend)))
    violation("TRITONBACKEND_Initialize failed: " + failed->text);
}

HostBackend::~HostBackend() {
  expectFine(entry<decltype(TRITONBACKEND_Finalize)>("TRITONBACKEND_Finalize")(backend),
             "TRITONBACKEND_Finalize");
  delete backend;
  dlclose(library);
}

TRITONSERVER_InstanceGroupKind HostBackend::preferredKind() {
  TRITONBACKEND_BackendAttribute attributes;
  expectFine(entry<decltype(TRITONBACKEND_GetBackendAttribute)>(
                 "TRITONBACKEND_GetBackendAttribute")(backend, &attributes),
             "TRITONBACKEND_GetBackendAttribute");
  return attributes.preferred;
}

std::unique_ptr<HostModel> HostBackend::load(const std::string &folder, const std::string &config,
                                             const Options &options, HostError *error) {
  std::unique_ptr<HostModel> loaded(new HostModel());
  loaded->host = this;
  loaded->model = new TRITONBACKEND_Model;
  loaded->model->backend = backend;
  loaded->model->name = folder.substr(folder.rfind('/') + 1);
  loaded->model->folder = folder;
  loaded->model->config = config;
  loaded->model->autoComplete = options.autoComplete;
  auto refused = [&](const std::optional<HostError> &failed) {
    if (failed && error)
      *error = *failed;
    else if (failed)
      violation("the model was refused: " + failed->text);
    return failed.has_value();
  };
  if (refused(taken(entry<decltype(TRITONBACKEND_ModelInitialize)>("TRITONBACKEND_ModelInitialize")(
          loaded->model)))) {
    delete std::exchange(loaded->model, nullptr); // never initialised, so not finalised
    return nullptr;
  }
  loaded->model->initialising = false;
  for (int i = 0; i < options.instances; ++i) {
    auto *instance = new TRITONBACKEND_ModelInstance;
    instance->model = loaded->model;
    instance->kind = options.kind;
    if (refused(taken(entry<decltype(TRITONBACKEND_ModelInstanceInitialize)>(
            "TRITONBACKEND_ModelInstanceInitialize")(instance)))) {
      delete instance;
      return nullptr; // the destructor finalises the model
    }
    loaded->instances.push_back(instance);
  }
  return loaded;
}

HostModel::~HostModel() { unload(); }

void HostModel::unload() {
  for (TRITONBACKEND_ModelInstance *instance : std::exchange(instances, {})) {
    expectFine(host->entry<decltype(TRITONBACKEND_ModelInstanceFinalize)>(
                   "TRITONBACKEND_ModelInstanceFinalize")(instance),
               "TRITONBACKEND_ModelInstanceFinalize");
    delete instance;
  }
  if (TRITONBACKEND_Model *gone = std::exchange(model, nullptr)) {
    expectFine(
        host->entry<decltype(TRITONBACKEND_ModelFinalize)>("TRITONBACKEND_ModelFinalize")(gone),
        "TRITONBACKEND_ModelFinalize");
    delete gone;
  }
}

std::string HostModel::config() const { return model->config; }

HostStatistics HostModel::statistics(int instance) const {
  TRITONBACKEND_ModelInstance &of = *instances[size_t(instance)];
  const std::lock_guard lock(of.mutex);
  return of.statistics;
}

namespace {
TRITONBACKEND_Request *make(const HostRequest &content,
                            std::shared_ptr<Conversation> conversation) {
  auto *request = new TRITONBACKEND_Request;
  request->content = content;
  if (request->content.outputs.empty())
    request->content.outputs = {"text_output", "finish_reason", "output_ids", "sequence_index"};
  for (HostRequest::Input &input : request->content.inputs) {
    const std::string &data = input.tensor.data;
    const size_t half = content.cutBuffers ? data.size() / 2 : data.size();
    input.buffers = {data.substr(0, half)};
    if (half < data.size())
      input.buffers.push_back(data.substr(half));
    request->inputs.push_back({&input});
  }
  request->conversation = std::move(conversation);
  return request;
}
} // namespace

std::shared_ptr<Conversation> HostModel::send(const HostRequest &content, int instance,
                                              std::shared_ptr<Conversation> conversation) {
  if (!conversation)
    conversation = std::make_shared<Conversation>();
  TRITONBACKEND_Request *request = make(content, conversation);
  expectFine(host->entry<decltype(TRITONBACKEND_ModelInstanceExecute)>(
                 "TRITONBACKEND_ModelInstanceExecute")(instances[size_t(instance)], &request, 1),
             "TRITONBACKEND_ModelInstanceExecute");
  return conversation;
}

std::vector<std::shared_ptr<Conversation>>
HostModel::sendAll(const std::vector<HostRequest> &contents, int instance) {
  std::vector<std::shared_ptr<Conversation>> conversations;
  std::vector<TRITONBACKEND_Request *> requests;
  for (const HostRequest &content : contents) {
    conversations.push_back(std::make_shared<Conversation>());
    requests.push_back(make(content, conversations.back()));
  }
  expectFine(host->entry<decltype(TRITONBACKEND_ModelInstanceExecute)>(
                 "TRITONBACKEND_ModelInstanceExecute")(instances[size_t(instance)], requests.data(),
                                                       uint32_t(requests.size())),
             "TRITONBACKEND_ModelInstanceExecute");
  return conversations;
}

} // namespace ingot::test

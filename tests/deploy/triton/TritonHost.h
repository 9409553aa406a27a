//===- TritonHost.h - The server's side of Triton's backend interface --------===//
//
// Implements enough of Triton Inference Server to load the backend, send requests and inspect the
// responses: the functions of deploy/triton/TritonApi.h, written from their documentation. The
// program exports them to the backend that it opens. Anything the interface forbids (a response
// after the final one, a request released twice, leaked objects) is recorded as a violation.
//===----------------------------------------------------------------------===//
#pragma once

#pragma GCC visibility push(default) // the backend resolves these symbols in the program
#include "deploy/triton/TritonApi.h"
#pragma GCC visibility pop

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ingot::test {

struct HostTensor {
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
  std::vector<int64_t> shape;
  std::string data;

  template <typename T> std::vector<T> values() const {
    std::vector<T> all(data.size() / sizeof(T));
    if (!all.empty())
      std::memcpy(all.data(), data.data(), all.size() * sizeof(T));
    return all;
  }
  std::vector<std::string> texts() const;
};

struct HostError {
  TRITONSERVER_Error_Code code;
  std::string text;
};

struct HostResponse {
  std::map<std::string, HostTensor> outputs;
  std::optional<HostError> error;
  bool final = false;
};

/// A client's request.
class HostRequest {
public:
  HostRequest &text(const char *name, const std::vector<std::string> &values);
  HostRequest &text(const char *name, const std::string &value) {
    return text(name, std::vector<std::string>{value});
  }
  HostRequest &ids(const char *name, const std::vector<int32_t> &values);
  HostRequest &int32(const char *name, int32_t value) { return ids(name, {value}); }
  HostRequest &uint64(const char *name, uint64_t value);
  HostRequest &fp32(const char *name, float value);
  HostRequest &flag(const char *name, bool value);
  HostRequest &tensor(const char *name, TRITONSERVER_DataType type, std::vector<int64_t> shape,
                      std::string data);
  HostRequest &parameter(const std::string &name, const std::string &value);
  HostRequest &want(const char *output);

  struct Input {
    std::string name;
    HostTensor tensor;
    std::vector<std::string> buffers; ///< the data, in pieces
    TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
  };
  struct Parameter {
    std::string name, text;
  };
  std::vector<Input> inputs;
  std::vector<Parameter> parameters;
  std::vector<std::string> outputs; ///< requested names; empty: all
  bool cutBuffers = false;          ///< splits inputs into two buffers
};

/// The responses to a request, as its client sees them.
class Conversation {
public:
  /// Called with each response on the thread that sends it.
  std::function<void(const HostResponse &)> onResponse;

  void cancel() { cancelled = true; }
  /// Blocks until the final response has come and the request is released.
  void wait();
  bool over();
  std::vector<HostResponse> responses(); ///< after wait()
  /// Returns the error of the final response.
  std::optional<HostError> error();
  /// Returns the concatenated texts of all responses.
  std::string text();
  std::vector<int32_t> ids();

  // The server's side.
  std::atomic<bool> cancelled = false;
  void receive(HostResponse response);
  void release();

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<HostResponse> all;
  bool finished = false, released = false;
};

struct HostStatistics {
  uint64_t success = 0, failure = 0, batches = 0;
  uint64_t computeNs = 0;
};

class HostModel;

/// The backend, opened and initialised.
class HostBackend {
public:
  explicit HostBackend(const std::string &library);
  ~HostBackend();

  struct Options {
    int instances = 1;
    TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
    bool autoComplete = true;
  };
  /// Loads a model. `folder` is NAME in the model repository. Returns null and sets `error` if the
  /// backend refuses it.
  std::unique_ptr<HostModel> load(const std::string &folder, const std::string &config,
                                  const Options &options, HostError *error = nullptr);
  std::unique_ptr<HostModel> load(const std::string &folder, const std::string &config,
                                  HostError *error = nullptr) {
    return load(folder, config, Options(), error);
  }

  /// Returns the instance kind that the backend prefers if a model does not specify one.
  TRITONSERVER_InstanceGroupKind preferredKind();

private:
  friend class HostModel;
  template <typename T> T *entry(const char *name);
  void *library = nullptr;
  TRITONBACKEND_Backend *backend = nullptr;
};

class HostModel {
public:
  ~HostModel();
  HostModel(const HostModel &) = delete;
  HostModel &operator=(const HostModel &) = delete;

  std::shared_ptr<Conversation> send(const HostRequest &request, int instance = 0,
                                     std::shared_ptr<Conversation> conversation = nullptr);
  /// Sends several requests in one call of the backend.
  std::vector<std::shared_ptr<Conversation>> sendAll(const std::vector<HostRequest> &requests,
                                                     int instance = 0);
  /// Unloads the model as the server does, even while requests are in flight.
  void unload();
  std::string config() const;
  HostStatistics statistics(int instance = 0) const;

private:
  friend class HostBackend;
  HostModel() = default;
  HostBackend *host = nullptr;
  TRITONBACKEND_Model *model = nullptr;
  std::vector<TRITONBACKEND_ModelInstance *> instances;
};

/// Returns the value of a metric such as "ingot_new_tokens{model=m,version=1}".
std::optional<double> hostMetric(const std::string &name);
/// Returns the backend's violations of the interface since the last call.
std::vector<std::string> hostViolations();
/// Returns the number of live interface objects: errors, messages, requests, responses, factories …
int64_t hostObjects();
/// Returns the lines that the backend has logged since the last call.
std::vector<std::string> hostLog();
/// Sets the minor version that TRITONBACKEND_ApiVersion returns.
void setHostMinorVersion(uint32_t minor);

} // namespace ingot::test

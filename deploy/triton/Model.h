//===- Model.h - A model that Triton has loaded ------------------------------===//
//
// A model has one executor, and all requests share its steps. All instances of the model use this executor, since a
// second one would add nothing. Two instances accept requests on two threads of Triton, but there is still one KV cache
// and one set of engine threads.
//===----------------------------------------------------------------------===//
#pragma once

#include "deploy/triton/Metrics.h"
#include "deploy/triton/Settings.h"
#include "deploy/triton/UnderWay.h"

#include <thread>

namespace ingot::triton {

/// Returns the time in nanoseconds of the clock that Triton uses.
uint64_t steadyNow();

class Model {
public:
  /// Completes and reads the configuration, and opens the engine.
  static Outcome open(TRITONBACKEND_Model *given, std::unique_ptr<Model> &into);
  /// Must run after the model's instances are gone.
  ~Model();
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;

  /// Takes ownership of the requests; does not wait for them.
  void execute(TRITONBACKEND_ModelInstance *instance, std::span<TRITONBACKEND_Request *> requests);
  /// Cancels the requests of an instance and waits until they have ended.
  void unload(TRITONBACKEND_ModelInstance *instance);

  const Settings &settings() const { return itsSettings; }
  ingot_executor *executor() const { return itsExecutor; }
  UnderWay &underWay() { return itsUnderWay; }

private:
  Model() = default;
  Outcome openEngine();
  void watch();

  std::string name, version;
  Settings itsSettings;
  ingot_executor *itsExecutor = nullptr;
  UnderWay itsUnderWay;
  std::unique_ptr<Metrics> metrics;
  bool stopping = false; ///< under itsUnderWay's lock
  std::thread watcher;   ///< cancels requests for clients, updates metrics
};

} // namespace ingot::triton

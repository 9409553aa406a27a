//===- Model.h - A model that Triton has loaded ------------------------------===//
//
// A model has one executor, whose steps all requests share: instances add nothing to that, so they
// share it too. Two of them take requests on two threads of Triton; they are neither two copies of
// the KV cache nor two sets of threads.
//===----------------------------------------------------------------------===//
#pragma once

#include "deploy/triton/Metrics.h"
#include "deploy/triton/Settings.h"
#include "deploy/triton/UnderWay.h"

#include <thread>

namespace ingot::triton {

/// Nanoseconds, as Triton counts them.
uint64_t steadyNow();

class Model {
public:
  /// Completes and reads the configuration, and opens the engine.
  static Outcome open(TRITONBACKEND_Model *given, std::unique_ptr<Model> &into);
  /// After its instances.
  ~Model();
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;

  /// Takes the requests; does not wait for them.
  void execute(TRITONBACKEND_ModelInstance *instance, std::span<TRITONBACKEND_Request *> requests);
  /// Cancels what an instance has under way, and waits for the ends.
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
  std::thread watcher;   ///< cancels what clients have cancelled, tells metrics
};

} // namespace ingot::triton

//===- Backend.cpp - Entry points that Triton calls --------------------------===//
//
// Each entry point converts exceptions to errors, so none reaches the server.
//===----------------------------------------------------------------------===//
#include "deploy/triton/Model.h"

#include <exception>

using namespace ingot::triton;

namespace {

template <typename Body> TRITONSERVER_Error *guarded(Body &&body) noexcept {
  try {
    return give(body());
  } catch (const std::exception &thrown) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, thrown.what());
  }
}

Outcome checkVersion() {
  uint32_t major = 0, minor = 0;
  if (Outcome failed = taken(TRITONBACKEND_ApiVersion(&major, &minor)))
    return failed;
  if (major == TRITONBACKEND_API_VERSION_MAJOR && minor >= INGOT_TRITONBACKEND_LEAST_MINOR)
    return {};
  return failure(
      TRITONSERVER_ERROR_UNSUPPORTED, "E0965", "the server's backend API is incompatible",
      "its backend API is " + std::to_string(major) + "." + std::to_string(minor) +
          ", needed is 1." + std::to_string(INGOT_TRITONBACKEND_LEAST_MINOR) + " or a later 1.x",
      "take a Triton Inference Server of 2023-10 or later");
}

Model *modelOf(TRITONBACKEND_ModelInstance *instance) {
  void *state = nullptr;
  expectFine(TRITONBACKEND_ModelInstanceState(instance, &state), "ModelInstanceState");
  return static_cast<Model *>(state);
}

Outcome checkKind(TRITONBACKEND_ModelInstance *instance) {
  TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_AUTO;
  if (Outcome failed = taken(TRITONBACKEND_ModelInstanceKind(instance, &kind)))
    return failed;
  if (kind != TRITONSERVER_INSTANCEGROUPKIND_GPU)
    return {};
  return failure(TRITONSERVER_ERROR_UNSUPPORTED, "E0966", "the model asks for instances on GPUs",
                 "an engine says itself which device it is for, and its instances share it",
                 "write instance_group [ { kind: KIND_CPU } ] in config.pbtxt, or no group");
}

} // namespace

extern "C" {

TRITONSERVER_Error *TRITONBACKEND_Initialize(TRITONBACKEND_Backend *backend) {
  return guarded([&]() -> Outcome {
    if (Outcome failed = checkVersion())
      return failed;
    auto families = std::make_unique<MetricFamilies>();
    if (Outcome failed = taken(TRITONBACKEND_BackendSetState(backend, families.get())))
      return failed;
    families.release();
    log(TRITONSERVER_LOG_INFO, std::string("ingot: libingot ") + ingot_version());
    return {};
  });
}

TRITONSERVER_Error *TRITONBACKEND_Finalize(TRITONBACKEND_Backend *backend) {
  return guarded([&]() -> Outcome {
    void *state = nullptr;
    Outcome failed = taken(TRITONBACKEND_BackendState(backend, &state));
    delete static_cast<MetricFamilies *>(state);
    return failed;
  });
}

TRITONSERVER_Error *TRITONBACKEND_GetBackendAttribute(TRITONBACKEND_Backend *,
                                                      TRITONBACKEND_BackendAttribute *attributes) {
  // If config.pbtxt has no instance group, there is one instance, also if the server sees GPUs.
  return TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
      attributes, TRITONSERVER_INSTANCEGROUPKIND_CPU, 1, nullptr, 0);
}

TRITONSERVER_Error *TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model *given) {
  return guarded([&]() -> Outcome {
    std::unique_ptr<Model> model;
    if (Outcome failed = Model::open(given, model))
      return failed;
    if (Outcome failed = taken(TRITONBACKEND_ModelSetState(given, model.get())))
      return failed;
    model.release();
    return {};
  });
}

TRITONSERVER_Error *TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model *given) {
  return guarded([&]() -> Outcome {
    void *state = nullptr;
    Outcome failed = taken(TRITONBACKEND_ModelState(given, &state));
    delete static_cast<Model *>(state);
    return failed;
  });
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance *instance) {
  return guarded([&]() -> Outcome {
    if (Outcome failed = checkKind(instance))
      return failed;
    TRITONBACKEND_Model *model = nullptr;
    void *state = nullptr;
    if (Outcome failed = taken(TRITONBACKEND_ModelInstanceModel(instance, &model)))
      return failed;
    if (Outcome failed = taken(TRITONBACKEND_ModelState(model, &state)))
      return failed;
    return taken(TRITONBACKEND_ModelInstanceSetState(instance, state));
  });
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance *instance) {
  return guarded([&]() -> Outcome {
    if (Model *model = modelOf(instance)) // null if the instance was refused
      model->unload(instance);
    return {};
  });
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance *instance,
                                                       TRITONBACKEND_Request **requests,
                                                       const uint32_t count) {
  // An error would leave all requests with the server, including those under way.
  modelOf(instance)->execute(instance, {requests, count});
  return nullptr;
}

} // extern "C"

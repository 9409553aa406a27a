//===- HostObjects.h - The objects behind the interface's handles ------------===//
#pragma once

#include "tests/deploy/triton/TritonHost.h"

namespace ingot::test {

/// Base class that counts live objects.
struct Counted {
  Counted();
  ~Counted();
  Counted(const Counted &) = delete;
  Counted &operator=(const Counted &) = delete;
};

void violation(const std::string &what);

} // namespace ingot::test

struct TRITONSERVER_Error : ingot::test::Counted {
  TRITONSERVER_Error_Code code;
  std::string text;
};
struct TRITONSERVER_Message : ingot::test::Counted {
  std::string json;
};
struct TRITONSERVER_Parameter : ingot::test::Counted {
  std::string name, value;
};
struct TRITONSERVER_MetricFamily : ingot::test::Counted {
  TRITONSERVER_MetricKind kind;
  std::string name;
  std::atomic<int> metrics = 0;
};
struct TRITONSERVER_Metric : ingot::test::Counted {
  TRITONSERVER_MetricFamily *family;
  std::string key;
};
struct TRITONBACKEND_Backend : ingot::test::Counted {
  void *state = nullptr;
};
struct TRITONBACKEND_BackendAttribute {
  TRITONSERVER_InstanceGroupKind preferred = TRITONSERVER_INSTANCEGROUPKIND_AUTO;
};
struct TRITONBACKEND_Model : ingot::test::Counted {
  TRITONBACKEND_Backend *backend;
  std::string name, folder, config;
  bool autoComplete = true, initialising = true;
  void *state = nullptr;
};
struct TRITONBACKEND_ModelInstance : ingot::test::Counted {
  TRITONBACKEND_Model *model;
  TRITONSERVER_InstanceGroupKind kind;
  void *state = nullptr;
  std::mutex mutex;
  ingot::test::HostStatistics statistics;
};
struct TRITONBACKEND_Input {
  ingot::test::HostRequest::Input *input;
};
struct TRITONBACKEND_Request : ingot::test::Counted {
  ingot::test::HostRequest content;
  std::vector<TRITONBACKEND_Input> inputs;
  std::shared_ptr<ingot::test::Conversation> conversation;
  bool reported = false;
};
struct TRITONBACKEND_ResponseFactory : ingot::test::Counted {
  std::shared_ptr<ingot::test::Conversation> conversation;
  bool finished = false;
};
struct TRITONBACKEND_Output {
  ingot::test::HostTensor tensor;
};
struct TRITONBACKEND_Response : ingot::test::Counted {
  TRITONBACKEND_ResponseFactory *factory;
  std::map<std::string, TRITONBACKEND_Output> outputs;
};

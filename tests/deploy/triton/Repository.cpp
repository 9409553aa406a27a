//===- Repository.cpp - The fixture of the backend's tests -------------------===//
#include "tests/deploy/triton/Repository.h"

#include <filesystem>

#include <unistd.h>

namespace ingot::test {

Library::Library(const std::string &path) {
  ingot_config config;
  ingot_config_init(&config, sizeof config);
  config.threads = 1;
  config.max_seqs = 4;
  ingot_error *error = nullptr;
  if (ingot_executor_open(path.c_str(), &config, &executor, &error)) {
    std::fputs(ingot_error_text(error), stderr);
    std::abort();
  }
}

Reference Library::answer(const std::function<void(ingot_request &)> &set) const {
  ingot_request request;
  ingot_request_init(&request, sizeof request);
  set(request);
  uint64_t id = 0;
  ingot_error *error = nullptr;
  Reference is;
  if (ingot_enqueue(executor, &request, &id, &error)) {
    ADD_FAILURE() << ingot_error_text(error);
    ingot_error_free(error);
    return is;
  }
  is.ids.resize(size_t(request.choices));
  is.texts.resize(is.ids.size());
  is.logprobs.resize(is.ids.size());
  is.finish.resize(is.ids.size());
  for (bool last = false; !last;) {
    ingot_outputs *outputs = nullptr;
    ingot_await(executor, id, -1, &outputs, nullptr);
    for (size_t i = 0; i < ingot_outputs_count(outputs); ++i) {
      ingot_output output = {};
      output.struct_size = sizeof output;
      ingot_outputs_get(outputs, i, &output);
      const size_t choice = size_t(output.choice);
      is.ids[choice].insert(is.ids[choice].end(), output.ids, output.ids + output.id_count);
      is.texts[choice].append(output.text, output.text_size);
      for (size_t k = 0; output.logprobs_per_id && k < output.id_count; ++k)
        is.logprobs[choice].push_back(output.logprobs[k * output.logprobs_per_id].logprob);
      is.finish[choice] = output.finish_reason;
      last = output.is_last;
    }
    ingot_outputs_free(outputs);
  }
  return is;
}

void BackendTest::SetUpTestSuite() {
  folder = testing::TempDir() + "triton-" + std::to_string(getpid()) + "/fake";
  std::filesystem::create_directories(folder + "/1");
  engine = folder + "/1/model.ingot";
  writeTestEngine(engine);
}

void BackendTest::TearDownTestSuite() {
  std::filesystem::remove_all(std::filesystem::path(folder).parent_path());
}

void BackendTest::SetUp() {
  hostViolations();
  hostLog();
  backend = std::make_unique<HostBackend>(INGOT_TRITON_BACKEND);
}

void BackendTest::TearDown() {
  backend.reset();
  EXPECT_EQ(hostObjects(), 0) << "something was left behind";
  EXPECT_EQ(hostViolations(), std::vector<std::string>());
}

std::string BackendTest::config(const std::vector<std::pair<std::string, std::string>> &parameters,
                                const std::string &more) {
  std::string json =
      R"({"name":"fake","backend":"ingot","max_batch_size":0,"input":[],"output":[],)"
      R"("parameters":{)";
  for (size_t i = 0; i < parameters.size(); ++i)
    json += (i ? ",\"" : "\"") + parameters[i].first + R"(":{"string_value":")" +
            parameters[i].second + "\"}";
  return json + "}" + more + "}";
}

HostError BackendTest::refusal(const std::string &config, HostBackend::Options options) {
  HostError error{TRITONSERVER_ERROR_UNKNOWN, "it was loaded"};
  EXPECT_FALSE(backend->load(folder, config, options, &error));
  return error;
}

HostRequest BackendTest::ids(int seed, int32_t count, bool stream) {
  HostRequest request;
  request.ids("input_ids", testPrompt(12, seed))
      .int32("request_output_len", count)
      .flag("ignore_eos", true)
      .flag("streaming", stream);
  return request;
}

} // namespace ingot::test

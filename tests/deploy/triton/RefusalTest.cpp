//===- RefusalTest.cpp - What the backend refuses, and with which error ------===//
#include "tests/deploy/triton/Repository.h"

#include <cmath>
#include <filesystem>

using namespace ingot::test;

TEST_F(BackendTest, aFullQueueIsUnavailable) {
  const auto model = load(config({{"threads", "1"}, {"max_seqs", "1"}, {"queue_requests", "1"}}));
  std::vector<std::shared_ptr<Conversation>> all;
  for (int i = 0; i < 12; ++i)
    all.push_back(model->send(ids(i, 1500, false)));
  size_t refused = 0;
  for (const auto &conversation : all)
    if (const auto error = conversation->error()) {
      EXPECT_EQ(error->code, TRITONSERVER_ERROR_UNAVAILABLE);
      EXPECT_TRUE(holds(error->text, "E0560"));
      ++refused;
    }
  EXPECT_GT(refused, 0u);
  EXPECT_LT(refused, all.size());
}

TEST_F(BackendTest, onlyDecoupledModelsStream) {
  const auto model =
      load(config({{"threads", "1"}}, R"(,"model_transaction_policy":{"decoupled":false})"));
  EXPECT_TRUE(holds(errorOf(model->send(ids(1, 5, true))).text, "error[E0950]"));
  EXPECT_EQ(model->send(ids(1, 5, false))->ids(), expected(1, 5));
}

TEST_F(BackendTest, batchesHaveOneRow) {
  const auto model = load(R"({"name":"fake","max_batch_size":8,"parameters":{},)"
                          R"("model_transaction_policy":{"decoupled":true}})");
  HostRequest one;
  one.tensor("text_input", TRITONSERVER_TYPE_BYTES, {1, 1}, std::string("\4\0\0\0Once", 8))
      .tensor("max_tokens", TRITONSERVER_TYPE_INT32, {1, 1}, std::string("\5\0\0\0", 4))
      .tensor("min_tokens", TRITONSERVER_TYPE_INT32, {1}, std::string("\1\0\0\0", 4)); // reshaped
  const auto answer = model->send(one)->responses().at(0).outputs.at("text_output");
  EXPECT_EQ(answer.shape, (std::vector<int64_t>{1, 1}));
  HostRequest two;
  two.tensor("text_input", TRITONSERVER_TYPE_BYTES, {2, 1}, std::string("\1\0\0\0a\1\0\0\0b", 10));
  EXPECT_TRUE(holds(errorOf(model->send(two)).text, "error[E0952]"));
}

TEST_F(BackendTest, badConfigurationsAreRefused) {
  const struct {
    std::string config;
    const char *number, *word;
  } kCases[] = {
      {config({{"gpt_model_path", "/engines"}}), "E0960", "known: engine, threads"},
      {config({{"threads", "many"}}), "E0961", "'many'"},
      {config({{"threads", "-1"}}), "E0961", "at least 0"},
      {config({{"kv_memory", "2 GB"}}), "E0961", "800M or 2GiB"},
      {config({{"kv_memory", "99999999999999999999"}}), "E0961", "bytes"},
      {config({{"prefix_cache", "yes"}}), "E0961", "true or false"},
      {config({{"step_limit", "nan"}}), "E0961", "not negative"},
      {config({{"chat_template", "none.jinja"}}), "E0961", "a file"},
      {config({{"engine", ""}}), "E0961", "not empty"},
      {config({{"unknown_request_parameters", "keep"}}), "E0961", "refuse or ignore"},
      {config({{"context", "100000"}}), "E0501", "100000"},
      {config({{"device", "tpu"}}), "E0", "tpu"},
      {config({}, R"(,"sequence_batching":{})"), "E0964", "prefix cache"},
      {R"({"input":[{"name":"text","data_type":"TYPE_STRING"}]})", "E0963", "'text'"},
      {R"({"input":[{"name":"max_tokens","data_type":"TYPE_STRING"}]})", "E0963", "TYPE_INT32"},
      {R"({"output":[{"name":"generation_logits","data_type":"TYPE_FP32"}]})", "E0963", "unknown"},
      {R"({"output":[{"name":"text_output","data_type":"TYPE_INT32"}]})", "E0963", "TYPE_STRING"},
      {"{", "E0962", "JSON"},
  };
  for (const auto &[config, number, word] : kCases) {
    const HostError error = refusal(config);
    EXPECT_TRUE(holds(error.text, number)) << config;
    EXPECT_TRUE(holds(error.text, word)) << config;
    EXPECT_EQ(error.code == TRITONSERVER_ERROR_INTERNAL, config == "{")
        << config; // the server is at fault
  }
  EXPECT_TRUE(
      holds(refusal(config(), {.kind = TRITONSERVER_INSTANCEGROUPKIND_GPU}).text, "error[E0966]"));
  EXPECT_TRUE(
      load(R"({"input":[{"name":"max_tokens","data_type":"TYPE_INT64"}],"parameters":{}})"));
}

TEST_F(BackendTest, badEnginesAreRefused) {
  EXPECT_EQ(refusal(config({{"engine", "none.ingot"}})).code, TRITONSERVER_ERROR_NOT_FOUND);
  const std::string path = folder + "/1/damaged.ingot";
  std::filesystem::copy_file(engine, path, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const HostError error = refusal(config({{"engine", "damaged.ingot"}}));
  EXPECT_EQ(error.code, TRITONSERVER_ERROR_UNSUPPORTED);
  EXPECT_TRUE(holds(error.text, "error[E03"));
  EXPECT_TRUE(load(config({{"engine", engine}}))); // an absolute path
  EXPECT_TRUE(load(config({}, R"(,"default_model_filename":"model.ingot")")));
  EXPECT_EQ(refusal(config({}, R"(,"default_model_filename":"x.ingot")")).code,
            TRITONSERVER_ERROR_NOT_FOUND);
}

TEST_F(BackendTest, badRequestsAreRefused) {
  const auto model = load();
  auto with = [](auto &&add) {
    HostRequest request;
    request.text("text_input", "Once").int32("max_tokens", 3);
    add(request);
    return request;
  };
  using R = HostRequest;
  const std::pair<HostRequest, const char *> kCases[] = {
      {HostRequest().int32("max_tokens", 3), "E0956"},
      {with([](R &r) { r.ids("input_ids", {1}); }), "E0956"},
      {with([](R &r) { r.fp32("temprature", 1); }), "E0954"},
      {with([](R &r) { r.parameter("temprature", "1"); }), "E0954"},
      {with([](R &r) { r.want("context_logits"); }), "E0954"},
      {with([](R &r) { r.flag("return_context_logits", true); }), "E0969"},
      {with([](R &r) { r.tensor("temperature", TRITONSERVER_TYPE_FP16, {1}, "ab"); }), "E0951"},
      {with([](R &r) { r.tensor("temperature", TRITONSERVER_TYPE_FP32, {1}, "ab"); }), "E0951"},
      {with([](R &r) { r.tensor("top_k", TRITONSERVER_TYPE_INT32, {-1}, "abcd"); }), "E0951"},
      {with([](R &r) {
         r.tensor("stop_words", TRITONSERVER_TYPE_BYTES, {1 << 30, 1 << 30, 1 << 30}, "abcd");
       }),
       "E0951"},
      {with([](R &r) { r.tensor("stop_words", TRITONSERVER_TYPE_BYTES, {1}, "ab"); }), "E0951"},
      {with([](R &r) {
         r.tensor("stop_words", TRITONSERVER_TYPE_BYTES, {1}, std::string("\377\0\0\0ab", 6));
       }),
       "E0951"},
      {with([](R &r) {
         r.tensor("stop_words", TRITONSERVER_TYPE_BYTES, {1}, std::string("\1\0\0\0abc", 7));
       }),
       "E0951"},
      {with([](R &r) { r.text("stop_words", std::string("a\0b", 3)); }), "E0953"},
      {with([](R &r) { r.text("temperature", "warm"); }), "E0953"},
      {with([](R &r) { r.fp32("temperature", std::nanf("")); }), "E0953"},
      {with([](R &r) { r.fp32("max_tokens", 3); }), "E0953"},
      {with([](R &r) { r.int32("max_tokens", -2); }), "E0953"},
      {with([](R &r) { r.int32("stream", 1); }), "E0953"},
      {with([](R &r) { r.ids("top_k", {1, 2}); }), "E0953"},
      {with([](R &r) { r.ids("top_k", {}); }), "E0953"},
      {with([](R &r) { r.ids("stop_words_list", {1, 2}); }), "E0953"},
      {with([](R &r) {
         const int32_t rows[] = {1, 2, 9, -1}; // an offset past the end
         r.tensor("bad_words_list", TRITONSERVER_TYPE_INT32, {2, 2},
                  std::string(reinterpret_cast<const char *>(rows), sizeof rows));
       }),
       "E0953"},
      {with([](R &r) { r.text("sampling_parameters", "[1]"); }), "E0955"},
      {with([](R &r) { r.text("sampling_parameters", "{"); }), "E0955"},
      {with([](R &r) { r.text("sampling_parameters", R"({"best_of": 2})"); }), "E0954"},
      {with([](R &r) { r.text("sampling_parameters", R"({"stop": ["a", 1]})"); }), "E0953"},
      {with([](R &r) { r.text("sampling_parameters", R"({"n": {}})"); }), "E0953"},
      {with([](R &r) { r.text("sampling_parameters", R"({"sampling_parameters": "{}"})"); }),
       "E0954"},
      {with([](R &r) { r.text("guided_decoding_guide_type", "structural_tag"); }), "E0957"},
      {with([](R &r) {
         r.text("guided_decoding_guide_type", "regex").text("guided_decoding_guide", "(");
       }),
       "E062"},
      {with([](R &r) { r.int32("num_return_sequences", 0); }), "E0577"},
      {with([](R &r) { r.fp32("top_p", 2); }), "E0510"},
      {with([](R &r) { r.int32("beam_width", 99); }), "E05"},
      {HostRequest().ids("input_ids", {1, 5000}), "E0504"},
      {HostRequest().ids("input_ids", {1, 5000}).flag("exclude_input_in_output", false), "E05"},
      {HostRequest().ids("input_ids", {}), "E0503"},
      {HostRequest().ids("input_ids", {1}).int32("input_lengths", 2), "E0953"},
      {HostRequest().text("text_input", ""), "E0503"},
      {HostRequest().text("text_input", std::vector<std::string>{"a", "b"}), "E0953"},
      {HostRequest().text("messages", "[}"), "E0"},
      {HostRequest().text("messages", "[]").flag("exclude_input_in_output", false), "E0969"},
  };
  uint64_t failures = 0;
  for (const auto &[request, number] : kCases) {
    const HostError error = errorOf(model->send(request));
    EXPECT_TRUE(holds(error.text, number)) << request.inputs.back().name;
    EXPECT_EQ(error.code, TRITONSERVER_ERROR_INVALID_ARG) << error.text;
    EXPECT_EQ(model->statistics().failure, ++failures);
  }
  HostRequest gpu = with([](R &) {});
  gpu.inputs[0].memory = TRITONSERVER_MEMORY_GPU;
  EXPECT_TRUE(holds(errorOf(model->send(gpu)).text, "GPU 0"));
  EXPECT_EQ(model->send(ids(1, 5))->ids(),
            expected(1, 5)); // none of the refusals changed the model
}

TEST_F(BackendTest, olderServersAreRefused) {
  setHostMinorVersion(15);
  {
    const HostBackend older(INGOT_TRITON_BACKEND);
  }
  setHostMinorVersion(16);
  {
    const HostBackend old(INGOT_TRITON_BACKEND);
  }
  setHostMinorVersion(19);
  const auto violations = hostViolations();
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_TRUE(holds(violations[0], "its backend API is 1.15, needed is 1.16"));
}

//===- BackendTest.cpp - The Triton backend under a fake server --------------===//
#include "tests/deploy/triton/Repository.h"

#include <algorithm>
#include <thread>

using namespace ingot::test;
using namespace std::chrono_literals;

namespace {

/// Returns the tensor `name` of each response.
std::vector<HostTensor> tensors(Conversation &conversation, const std::string &name) {
  std::vector<HostTensor> all;
  for (const HostResponse &response : conversation.responses())
    if (const auto found = response.outputs.find(name); found != response.outputs.end())
      all.push_back(found->second);
  return all;
}

} // namespace

TEST_F(BackendTest, streamsWhatTheLibraryAnswers) {
  const auto model = load();
  const Library library(engine);
  for (const std::string &prompt : {std::string("Once upon"), std::string("a\0b", 3)}) {
    const Reference wanted = library.answer([&](ingot_request &request) {
      request.prompt = prompt.data();
      request.prompt_size = prompt.size();
      request.max_tokens = 1500;
      request.ignore_eos = 1;
    });
    HostRequest request;
    request.text("text_input", prompt).int32("max_tokens", 1500).flag("ignore_eos", true);
    const auto whole = model->send(request);
    EXPECT_EQ(whole->responses().size(), 1u);
    EXPECT_EQ(whole->text(), wanted.texts[0]);
    EXPECT_EQ(whole->ids(), wanted.ids[0]);
    const auto streamed = model->send(request.flag("stream", true));
    const std::vector<HostResponse> responses = streamed->responses();
    EXPECT_GT(responses.size(), 1u);
    EXPECT_EQ(streamed->text(), wanted.texts[0]);
    EXPECT_EQ(streamed->ids(), wanted.ids[0]);
    for (const HostResponse &response : responses) {
      EXPECT_FALSE(response.error);
      const bool last = &response == &responses.back();
      EXPECT_EQ(response.final, last);
      EXPECT_EQ(response.outputs.at("finish_reason").texts()[0], last ? "length" : "");
    }
  }
}

TEST_F(BackendTest, idsInAndIdsOut) {
  const auto model = load();
  std::vector<int32_t> padded = testPrompt(12, 3);
  padded.resize(20, 0);
  HostRequest request;
  request.ids("input_ids", padded)
      .int32("input_lengths", 12)
      .int32("request_output_len", 30)
      .int32("end_id", -1)
      .int32("pad_id", 0)
      .flag("ignore_eos", true)
      .want("output_ids")
      .want("sequence_length");
  request.cutBuffers = true; // a tensor may arrive in several buffers
  const auto conversation = model->send(request);
  const HostResponse response = conversation->responses().at(0);
  EXPECT_EQ(response.outputs.size(), 2u); // only the requested outputs
  EXPECT_EQ(response.outputs.at("output_ids").values<int32_t>(), expected(3, 30));
  EXPECT_EQ(response.outputs.at("output_ids").shape, (std::vector<int64_t>{1, 30}));
  EXPECT_EQ(response.outputs.at("sequence_length").values<int32_t>(), std::vector<int32_t>{30});
}

TEST_F(BackendTest, optionsOfThreeKindsAreTheSame) {
  const auto model = load();
  const Library library(engine);
  const Reference wanted = library.answer([](ingot_request &request) {
    request.prompt = "Once";
    request.prompt_size = 4;
    request.max_tokens = 30;
    request.temperature = 1.5f;
    request.top_p = 0.9f;
    request.top_k = 20;
    request.repetition_penalty = 1.25f;
    request.seed = 0xFFFFFFFFFFFFFFF1u;
    request.ignore_eos = 1;
  });
  HostRequest tensors;
  tensors.text("text_input", "Once")
      .int32("max_tokens", 30)
      .fp32("temperature", 1.5f)
      .fp32("runtime_top_p", 0.9f)
      .int32("top_k", 20)
      .fp32("repetition_penalty", 1.25f)
      .uint64("random_seed", 0xFFFFFFFFFFFFFFF1u)
      .flag("ignore_eos", true);
  EXPECT_EQ(model->send(tensors)->ids(), wanted.ids[0]);
  HostRequest json;
  json.text("text_input", "Once")
      .text("sampling_parameters",
            R"({"max_tokens": 30, "temperature": "1.5", "top_p": 0.9, "top_k": 20, "n": 1,
                "repetition_penalty": 1.25, "seed": 18446744073709551601, "ignore_eos": true,
                "stop": null, "presence_penalty": 0})");
  EXPECT_EQ(model->send(json)->ids(), wanted.ids[0]);
  HostRequest parameters;
  parameters.text("text_input", "Once")
      .parameter("max_tokens", "30")
      .parameter("temperature", "1.5")
      .parameter("top_p", "0.9")
      .parameter("top_k", "20")
      .parameter("repetition_penalty", "1.25")
      .parameter("seed", "18446744073709551601")
      .parameter("ignore_eos", "true")
      .parameter("triton_final_response", "x"); // reserved by the server
  EXPECT_EQ(model->send(parameters)->ids(), wanted.ids[0]);
}

TEST_F(BackendTest, chatGoesThroughTheTemplate) {
  const auto model = load();
  const Library library(engine);
  const char *const messages = R"([{"role":"user","content":"Hi"}])";
  const Reference wanted = library.answer([&](ingot_request &request) {
    request.messages = messages;
    request.template_variables = R"({"name":"X"})";
    request.max_tokens = 10;
  });
  HostRequest request;
  request.text("messages", messages)
      .text("template_variables", R"({"name":"X"})")
      .int32("max_tokens", 10);
  EXPECT_EQ(model->send(request)->text(), wanted.texts[0]);
}

TEST_F(BackendTest, choicesAndBeamsAreRows) {
  const auto model = load();
  const Library library(engine);
  auto drawn = [](ingot_request &request) {
    request.prompt = "Once";
    request.prompt_size = 4;
    request.max_tokens = 12;
    request.temperature = 2;
    request.choices = 3;
    request.ignore_eos = 1;
  };
  HostRequest request;
  request.text("text_input", "Once")
      .int32("max_tokens", 12)
      .fp32("temperature", 2)
      .int32("num_return_sequences", 3)
      .flag("ignore_eos", true);
  const Reference wanted = library.answer(drawn);
  const auto gathered = model->send(request);
  EXPECT_EQ(tensors(*gathered, "text_output").at(0).texts(), wanted.texts);
  EXPECT_EQ(tensors(*gathered, "sequence_index").at(0).values<int32_t>(),
            (std::vector<int32_t>{0, 1, 2}));
  const auto streamed = model->send(request.flag("stream", true));
  std::vector<std::string> texts(3);
  for (const HostResponse &response : streamed->responses())
    texts.at(size_t(response.outputs.at("sequence_index").values<int32_t>().at(0))) +=
        response.outputs.at("text_output").texts().at(0);
  EXPECT_EQ(texts, wanted.texts);

  HostRequest beams;
  beams.ids("input_ids", testPrompt(12, 1))
      .int32("request_output_len", 8)
      .int32("beam_width", 3)
      .fp32("len_penalty", 0.5f)
      .flag("early_stopping", true);
  const Reference best = library.answer([](ingot_request &request) {
    static const std::vector<int32_t> prompt = testPrompt(12, 1);
    request.prompt_ids = prompt.data();
    request.prompt_id_count = prompt.size();
    request.max_tokens = 8;
    request.choices = request.beam_width = 3;
    request.length_penalty = 0.5f;
    request.stop_beams = INGOT_STOP_EARLY;
  });
  const auto found = model->send(beams);
  EXPECT_EQ(tensors(*found, "text_output").at(0).texts(), best.texts);
  EXPECT_EQ(tensors(*found, "output_ids").at(0).shape.at(0), 3);
  EXPECT_EQ(model->send(beams.int32("beam_width", 1))->ids(),
            expected(1, 8)); // the last value wins
}

TEST_F(BackendTest, logProbabilitiesAndCounts) {
  const auto model = load();
  const Library library(engine);
  const Reference wanted = library.answer([](ingot_request &request) {
    request.prompt = "Once";
    request.prompt_size = 4;
    request.max_tokens = 9;
    request.logprobs = 0;
    request.ignore_eos = 1;
  });
  double sum = 0;
  for (const float one : wanted.logprobs[0])
    sum += double(one);
  for (const bool stream : {false, true}) {
    HostRequest request;
    request.text("text_input", "Once")
        .int32("max_tokens", 9)
        .flag("return_log_probs", true)
        .flag("ignore_eos", true)
        .flag("stream", stream)
        .want("output_log_probs")
        .want("cum_log_probs")
        .want("num_input_tokens")
        .want("num_output_tokens")
        .want("batch_index");
    const auto conversation = model->send(request);
    std::vector<float> logprobs;
    for (const HostTensor &tensor : tensors(*conversation, "output_log_probs"))
      for (const float one : tensor.values<float>())
        logprobs.push_back(one);
    EXPECT_EQ(logprobs, wanted.logprobs[0]);
    EXPECT_FLOAT_EQ(tensors(*conversation, "cum_log_probs").back().values<float>().at(0),
                    float(sum));
    EXPECT_EQ(tensors(*conversation, "num_input_tokens").back().values<int32_t>().at(0), 4);
    EXPECT_EQ(tensors(*conversation, "num_output_tokens").back().values<int32_t>().at(0), 9);
    EXPECT_EQ(tensors(*conversation, "batch_index").back().values<int32_t>().at(0), 0);
  }
  HostRequest without;
  without.text("text_input", "Once").int32("max_tokens", 2).want("output_log_probs");
  EXPECT_TRUE(tensors(*model->send(without), "output_log_probs").empty());
}

TEST_F(BackendTest, wordsThatStopAndWordsThatAreBad) {
  const auto model = load();
  const std::vector<int32_t> free = expected(1, 30);
  const Library library(engine);
  const std::string all = model->send(ids(1, 30, false))->text();
  HostRequest stopped = ids(1, 30);
  stopped.text("stop_words", std::vector<std::string>{"", all.substr(10, 3)});
  const auto conversation = model->send(stopped);
  EXPECT_EQ(conversation->text(), all.substr(0, all.find(all.substr(10, 3))));
  EXPECT_EQ(tensors(*conversation, "finish_reason").back().texts().at(0), "stop");

  // The format is [[w w …], [ends … -1]]. Here there is one stop word of one id.
  HostRequest byId = ids(1, 30);
  byId.tensor("stop_words_list", TRITONSERVER_TYPE_INT32, {2, 2}, [&] {
    const int32_t rows[] = {free[5], 0, 1, -1};
    return std::string(reinterpret_cast<const char *>(rows), sizeof rows);
  }());
  const std::vector<int32_t> cut(free.begin(), std::ranges::find(free, free[5]));
  EXPECT_EQ(model->send(byId)->ids(), cut);

  HostRequest bad = ids(1, 30);
  bad.text("bad_words", all.substr(0, 1));
  const auto other = model->send(bad)->ids();
  EXPECT_EQ(other.size(), 30u);
  EXPECT_EQ(std::ranges::count(other, free[0]), 0);
}

TEST_F(BackendTest, answersMayBeginWithThePrompt) {
  const auto model = load();
  HostRequest request;
  request.text("text_input", "Once").int32("max_tokens", 8).flag("ignore_eos", true);
  const std::string answer = model->send(request)->text();
  const std::vector<int32_t> answerIds = model->send(request)->ids();
  for (const bool stream : {false, true}) {
    HostRequest echo = request;
    echo.flag("exclude_input_in_output", false).flag("stream", stream);
    EXPECT_EQ(model->send(echo)->text(), "Once" + answer);
    EXPECT_EQ(model->send(echo)->ids().size(), 4 + answerIds.size());
  }
}

TEST_F(BackendTest, manyAtOnceAreAllAnswered) {
  const auto model = load(config({{"threads", "1"}, {"max_seqs", "4"}, {"queue_requests", "1000"}}),
                          {.instances = 2});
  std::vector<HostRequest> batch;
  for (int i = 0; i < 24; ++i)
    batch.push_back(ids(i, 5 + i, i % 3 != 0));
  std::vector<std::vector<std::shared_ptr<Conversation>>> all(2);
  std::vector<std::thread> threads; // calls two instances concurrently
  for (int instance = 0; instance < 2; ++instance)
    threads.emplace_back(
        [&, instance] { all[size_t(instance)] = model->sendAll(batch, instance); });
  for (std::thread &thread : threads)
    thread.join();
  for (const auto &conversations : all)
    for (size_t i = 0; i < conversations.size(); ++i)
      EXPECT_EQ(conversations[i]->ids(), expected(int(i), 5 + int(i))) << i;
  for (int instance = 0; instance < 2; ++instance) {
    const HostStatistics statistics = model->statistics(instance);
    EXPECT_EQ(statistics.success, 24u);
    EXPECT_EQ(statistics.batches, 24u);
    EXPECT_EQ(statistics.failure, 0u);
    EXPECT_GT(statistics.computeNs, 0u);
  }
}

TEST_F(BackendTest, instancesShareOneExecutor) {
  const auto one = load();
  const auto pages = hostMetric("ingot_kv_pages{model=fake,version=1}");
  ASSERT_TRUE(pages && *pages > 0);
  auto opened = [] { // opening an engine writes a log line
    size_t count = 0;
    for (const std::string &line : hostLog())
      count += line.find("KV pages") != line.npos;
    return count;
  };
  EXPECT_EQ(opened(), 1u);
  const auto two = load(config({{"threads", "1"}}), {.instances = 5});
  EXPECT_EQ(opened(), 1u);
}

TEST_F(BackendTest, metricsFollow) {
  const auto model =
      load(config({{"threads", "1"}, {"cancellation_check_period_ms", "1"}, {"max_seqs", "4"}}));
  model->send(ids(1, 30))->wait();
  const std::string labels = "{model=fake,version=1}";
  for (int i = 0; i < 10000 && hostMetric("ingot_requests_running" + labels) != 0.0; ++i)
    std::this_thread::sleep_for(1ms);
  for (int i = 0; i < 10000 && hostMetric("ingot_new_tokens" + labels) != 30.0; ++i)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(hostMetric("ingot_new_tokens" + labels), 30.0);
  EXPECT_EQ(hostMetric("ingot_prompt_tokens" + labels), 12.0);
  EXPECT_EQ(hostMetric("ingot_requests_waiting" + labels), 0.0);
}

TEST_F(BackendTest, cancelledRequestsEndAtOnce) {
  const auto model =
      load(config({{"threads", "1"}, {"max_seqs", "1"}, {"cancellation_check_period_ms", "1"}}));
  // This request is cancelled before it starts.
  const auto never = std::make_shared<Conversation>();
  never->cancel();
  EXPECT_EQ(errorOf(model->send(ids(1, 30), 0, never)).code, TRITONSERVER_ERROR_CANCELLED);
  // This request is cancelled while it streams: onResponse runs before the second response is made.
  const auto streaming = std::make_shared<Conversation>();
  streaming->onResponse = [&](const HostResponse &) { streaming->cancel(); };
  const HostError error = errorOf(model->send(ids(2, 1900), 0, streaming));
  EXPECT_EQ(error.code, TRITONSERVER_ERROR_CANCELLED);
  EXPECT_TRUE(holds(error.text, "error[E0968]"));
  EXPECT_LT(streaming->ids().size(), 1900u);
  // These requests are cancelled while they run or wait, with no outputs. The watch thread notices it.
  std::vector<std::shared_ptr<Conversation>> waiting;
  for (int i = 0; i < 3; ++i)
    waiting.push_back(model->send(ids(i, 1900, false)));
  for (const auto &conversation : waiting)
    conversation->cancel();
  for (const auto &conversation : waiting)
    EXPECT_EQ(errorOf(conversation).code, TRITONSERVER_ERROR_CANCELLED);
  EXPECT_EQ(model->send(ids(4, 10))->ids(), expected(4, 10)); // the next request is answered
  EXPECT_EQ(model->statistics().failure, 5u);
  EXPECT_EQ(model->statistics().success, 1u);
}

TEST_F(BackendTest, unloadingEndsWhatRuns) {
  for (int round = 0; round < 2; ++round) { // the model can be loaded again
    auto model = load(config({{"threads", "1"}, {"max_seqs", "2"}}), {.instances = 2});
    std::vector<std::shared_ptr<Conversation>> all;
    for (int i = 0; i < 8; ++i)
      all.push_back(model->send(ids(i, 1900, i % 2), i % 2));
    model->unload();
    size_t cancelled = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(all[i]->over());
      if (const auto error = all[i]->error()) {
        EXPECT_EQ(error->code, TRITONSERVER_ERROR_UNAVAILABLE);
        EXPECT_TRUE(holds(error->text, "error[E0967]"));
        ++cancelled;
      } else {
        EXPECT_EQ(all[i]->ids(), expected(int(i), 1900));
      }
    }
    EXPECT_GT(cancelled, 0u);
  }
}

TEST_F(BackendTest, aConfigurationOfNothingIsCompleted) {
  const auto model = load(config());
  for (const char *part :
       {R"({"name":"text_input","data_type":"TYPE_STRING","dims":[1],"optional":true})",
        R"({"name":"output_ids","data_type":"TYPE_INT32","dims":[-1,-1]})",
        R"("model_transaction_policy":{"decoupled":true})", R"("name":"fake")"})
    EXPECT_TRUE(holds(model->config(), part));
  const std::string own = config({}, R"(,"model_transaction_policy":{"decoupled":false})");
  EXPECT_TRUE(holds(load(own)->config(), R"("decoupled":false)"));
  EXPECT_EQ(load(own, {.autoComplete = false})->config(), own);
  EXPECT_EQ(backend->preferredKind(), TRITONSERVER_INSTANCEGROUPKIND_CPU);
}

TEST_F(BackendTest, textThatIsNoUtf8IsAnswered) {
  const auto model = load();
  const Library library(engine);
  const std::string prompt = "a\xff\xfe\xc3";
  const Reference wanted = library.answer([&](ingot_request &request) {
    request.prompt = prompt.data();
    request.prompt_size = prompt.size();
    request.max_tokens = 10;
  });
  HostRequest request;
  request.text("text_input", prompt).int32("max_tokens", 10);
  EXPECT_EQ(model->send(request)->ids(), wanted.ids[0]);
}

TEST_F(BackendTest, unknownParametersMayBeIgnored) {
  const auto model = load(config({{"threads", "1"}, {"unknown_request_parameters", "ignore"}}));
  EXPECT_EQ(model->send(ids(1, 5).parameter("x-request-id", "7"))->ids(), expected(1, 5));
}

//===- StressTest.cpp - Random requests in any order -------------------------===//
//
// Two threads draw requests (valid and invalid), cancellations, unloads and loads from fixed seeds.
// Each request is answered exactly once, greedy requests get the right ids, and no object leaks.
//===----------------------------------------------------------------------===//
#include "tests/deploy/triton/Repository.h"

#include <random>
#include <thread>

using namespace ingot::test;

namespace {

class Stress : public BackendTest {
protected:
  struct Sent {
    std::shared_ptr<Conversation> conversation;
    std::vector<int32_t> expected; ///< empty: any answer is right
  };

  /// Returns a request that may be invalid.
  static HostRequest senseless(std::mt19937 &random) {
    static constexpr const char *kNames[] = {"text_input",
                                             "input_ids",
                                             "messages",
                                             "max_tokens",
                                             "temperature",
                                             "top_p",
                                             "stop_words",
                                             "beam_width",
                                             "bad_words",
                                             "seed",
                                             "stop_words_list",
                                             "stream",
                                             "end_id",
                                             "min_tokens",
                                             "n",
                                             "nonsense",
                                             "sampling_parameters",
                                             "logprobs",
                                             "input_lengths",
                                             "num_return_sequences",
                                             "guided_decoding_guide_type"};
    HostRequest request;
    request.int32("max_tokens", 5);
    if (random() % 2)
      request.text("text_input", "Once");
    for (unsigned count = random() % 4; count; --count) {
      std::string data(random() % 24, '\0');
      for (char &byte : data)
        byte = char(random() % 3 ? random() % 4 : random());
      std::vector<int64_t> shape(random() % 3);
      for (int64_t &extent : shape)
        extent = int64_t(random() % 5) - 1;
      request.tensor(kNames[random() % std::size(kNames)], TRITONSERVER_DataType(random() % 16),
                     shape, data);
    }
    request.cutBuffers = random() % 2;
    return request;
  }

  static void drive(HostModel &model, int instance, unsigned seed, std::vector<Sent> &sent) {
    std::mt19937 random(seed);
    for (int step = 0; step < 40; ++step) {
      const int prompt = int(random() % 10);
      const int32_t count = 1 + int32_t(random() % 60);
      switch (random() % 4) {
      case 0:
        sent.push_back({model.send(senseless(random), instance), {}});
        break;
      case 1: { // cancels itself at a random response
        const auto conversation = std::make_shared<Conversation>();
        conversation->onResponse = [left = random() % 8,
                                    raw = conversation.get()](const HostResponse &) mutable {
          if (left-- == 0)
            raw->cancel();
        };
        sent.push_back({model.send(ids(prompt, 400), instance, conversation), {}});
        break;
      }
      case 2: // cancels an older request from outside
        if (!sent.empty())
          sent[random() % sent.size()].conversation->cancel();
        break;
      default:
        sent.push_back(
            {model.send(ids(prompt, count, random() % 2), instance), expected(prompt, count)});
      }
    }
  }
};

} // namespace

TEST_F(Stress, everythingIsAnsweredOnce) {
  for (unsigned round = 0; round < 6; ++round) {
    const auto model = load(config({{"threads", "1"},
                                    {"max_seqs", round % 2 ? "1" : "4"},
                                    {"context", "512"},
                                    {"queue_requests", "40"},
                                    {"cancellation_check_period_ms", "1"}}),
                            {.instances = 2});
    std::vector<Sent> sent[2];
    std::thread other([&] { drive(*model, 1, 2 * round + 1, sent[1]); });
    drive(*model, 0, 2 * round, sent[0]);
    other.join();
    if (round % 3 == 0)
      model->unload(); // while requests are in flight
    for (const std::vector<Sent> &all : sent)
      for (const Sent &one : all) {
        const auto error = one.conversation->error();
        EXPECT_TRUE(!error || error->code != TRITONSERVER_ERROR_INTERNAL) << error->text;
        if (!error && !one.expected.empty())
          EXPECT_EQ(one.conversation->ids(), one.expected);
      }
  }
}

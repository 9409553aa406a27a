//===- OverheadBench.cpp - Cost of the backend in addition to libingot -----------===//
//
//   triton-overhead ENGINE [REQUESTS [TOKENS [TOGETHER]]]
//
// Sends the same streamed requests alternately through libingot's callbacks and through the backend
// in the test host. It compares the processor time of the thread that delivers outputs. A busy
// machine does not change this time: it only makes fewer responses with more tokens each. The time
// includes the work of the test host, which keeps every response, and none of the real server's.
//===----------------------------------------------------------------------===//
#include "tests/deploy/triton/TritonHost.h"

#include <ingot.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>

#include <unistd.h>

using namespace ingot::test;

namespace {

const std::vector<int32_t> kPrompt = {1, 2, 3, 4, 5, 6, 7, 8};

/// Returns the processor time of the calling thread.
double threadSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

struct Cost {
  double cpu = 0;       ///< seconds of the output thread
  double wall = 0;      ///< seconds
  size_t responses = 0; ///< number that `cpu` covers
  uint64_t tokens = 0;
  std::optional<double> at; ///< thread time at this round's last output

  /// Called on the output thread for each output.
  void output() {
    const double now = threadSeconds();
    if (at) { // counting starts at a round's first output
      cpu += now - *at;
      ++responses;
    }
    at = now;
  }
};

template <typename Body> void measure(Cost &cost, Body &&body) {
  cost.at.reset();
  const auto start = std::chrono::steady_clock::now();
  body();
  cost.wall += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void direct(ingot_executor *executor, int requests, int tokens, Cost &cost) {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int left;
    Cost &cost;
  } state{{}, {}, requests, cost};
  measure(cost, [&] {
    for (int i = 0; i < requests; ++i) {
      ingot_request request;
      ingot_request_init(&request, sizeof request);
      request.prompt_ids = kPrompt.data();
      request.prompt_id_count = kPrompt.size();
      request.max_tokens = tokens;
      request.ignore_eos = 1;
      request.streaming = 1;
      request.user = &state;
      request.on_output = [](void *user, const ingot_output *output) {
        State &to = *static_cast<State *>(user);
        const std::lock_guard lock(to.mutex);
        to.cost.output();
        to.cost.tokens += output->id_count;
        to.left -= output->is_last;
        to.changed.notify_all();
      };
      uint64_t id = 0;
      ingot_error *error = nullptr;
      if (ingot_enqueue(executor, &request, &id, &error)) {
        std::fputs(ingot_error_text(error), stderr);
        std::exit(1);
      }
    }
    std::unique_lock lock(state.mutex);
    state.changed.wait(lock, [&] { return state.left == 0; });
  });
}

void throughBackend(HostModel &model, int requests, int tokens, Cost &cost) {
  std::vector<HostRequest> all(static_cast<size_t>(requests));
  for (HostRequest &request : all)
    request.ids("input_ids", kPrompt)
        .int32("max_tokens", tokens)
        .flag("ignore_eos", true)
        .flag("stream", true)
        .want("text_output")
        .want("output_ids");
  std::vector<std::shared_ptr<Conversation>> conversations;
  measure(cost, [&] {
    for (const HostRequest &request : all) {
      conversations.push_back(std::make_shared<Conversation>());
      conversations.back()->onResponse = [&](const HostResponse &) { cost.output(); };
      model.send(request, 0, conversations.back());
    }
    for (const auto &conversation : conversations)
      conversation->wait();
  });
  for (const auto &conversation : conversations) {
    if (const auto error = conversation->error()) {
      std::fprintf(stderr, "%s\n", error->text.c_str());
      std::exit(1);
    }
  }
  cost.tokens += uint64_t(requests) * uint64_t(tokens);
}

void show(const char *name, const Cost &cost) {
  std::printf(
      "%-8s %8llu tokens in %6zu outputs, %6.2f us of processor an output, %7.2f us of time a "
      "token\n",
      name, static_cast<unsigned long long>(cost.tokens), cost.responses,
      cost.cpu / double(cost.responses) * 1e6, cost.wall / double(cost.tokens) * 1e6);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fputs("usage: triton-overhead ENGINE [REQUESTS [TOKENS [TOGETHER]]]\n", stderr);
    return 2;
  }
  const int requests = argc > 2 ? std::atoi(argv[2]) : 64,
            tokens = argc > 3 ? std::atoi(argv[3]) : 200;
  const char *const together = argc > 4 ? argv[4] : "4";
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("triton-" + std::to_string(getpid())) / "m";
  fs::create_directories(folder);

  ingot_config config;
  ingot_config_init(&config, sizeof config);
  config.threads = 1;
  config.max_seqs = std::atoi(together);
  ingot_executor *executor = nullptr;
  ingot_error *error = nullptr;
  if (ingot_executor_open(argv[1], &config, &executor, &error)) {
    std::fputs(ingot_error_text(error), stderr);
    return 1;
  }
  Cost alone, under;
  {
    HostBackend backend(INGOT_TRITON_BACKEND);
    const auto model = backend.load(
        folder, R"({"parameters":{"engine":{"string_value":")" + fs::absolute(argv[1]).string() +
                    R"("},"threads":{"string_value":"1"},"max_seqs":{"string_value":")" + together +
                    R"("}}})");
    Cost warm;
    direct(executor, requests, tokens, warm);
    throughBackend(*model, requests, tokens, warm);
    for (int round = 0; round < 5; ++round) {
      direct(executor, requests, tokens, alone);
      throughBackend(*model, requests, tokens, under);
    }
  }
  ingot_executor_close(executor);
  fs::remove_all(folder.parent_path());
  show("libingot", alone);
  show("backend", under);
  std::printf("the backend adds %.2f us of processor to an output\n",
              (under.cpu / double(under.responses) - alone.cpu / double(alone.responses)) * 1e6);
  return 0;
}
